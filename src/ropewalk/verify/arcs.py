"""Which way bridges lead while something is down, and what of that stays the same.

There may be thousands of bridges and as many failures: of each failure only the bridges are looked
at again that it touches.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ropewalk.federation.facts import Bridge, Federation
from ropewalk.federation.topics import common

Leaving = dict[str, list["Arc"]]
"""By the broker that they leave, in the order of the bridges."""


class Arc(NamedTuple):
    """A bridge in one direction, as it is connected now."""

    number: int
    bridge: Bridge
    far: str
    outward: bool
    connection: int
    near: str
    """The prefix of names that it carries, and what they have instead at its far end."""
    beyond: str


class Layout:
    """What of a federation's bridges does not depend on what is down."""

    def __init__(self, federation: Federation) -> None:
        self.bridges, self.known = federation.bridges, federation.brokers
        self.connections = connections_of(federation)
        self.kinds = [one.kind for one in self.bridges]
        self.remembers = any(one in ("federation", "leaf") for one in self.kinds)
        self.bound = [one.kind == "binding" and one.from_ == one.to for one in self.bridges]
        """Whether it leads from one exchange of a broker to another."""
        self.binds = any(self.bound)
        self.far = [far_ends(one, self.known) for one in self.bridges]
        self.choosy = {
            end for one in self.bridges if one.addresses for end in (one.to, *one.addresses)
        }
        """Brokers of which the failure makes somebody connect elsewhere."""
        self.ends: dict[str, set[str]] = {}
        self._at: dict[str, list[int]] = {}
        self._of: dict[int, list[int]] = {}
        self._names: dict[tuple[int, bool, str], str | None] = {}
        """Floods cross a bridge again and again, in every failure."""
        for i, bridge in enumerate(self.bridges):
            ends = dict.fromkeys((bridge.from_, bridge.to, *bridge.addresses))
            for end in ends:
                self.ends.setdefault(end, set()).update(ends)
                self._at.setdefault(end, []).append(i)
            self._of.setdefault(self.connections[i], []).append(i)

    def name_beyond(self, arc: Arc, name: str) -> str | None:
        """What a topic is called at the far end of a bridge; None if it does not carry it."""
        key = (arc.number, arc.outward, name)
        if key not in self._names:
            one = arc.bridge
            self._names[key] = renamed(name, one.patterns, arc.near, arc.beyond, one.except_)
        return self._names[key]

    def touched(self, brokers: Iterable[str], connections: Iterable[int]) -> set[int]:
        """Bridges that may lead elsewhere when brokers fail, or connections are made otherwise."""
        found = {i for one in brokers for i in self._at.get(one, ())}
        return found.union(i for one in connections for i in self._of.get(one, ()))

    def leaving(
        self,
        down: Collection[str],
        connected: Mapping[int, str],
        cut: Collection[int],
        usual: Leaving | None = None,
    ) -> Leaving:
        """Arcs with some brokers down; `usual` is what is there with nothing down.

        `connected` tells connections that have chosen a broker of their addresses, by their
        number; those in `cut` have none.
        """
        numbers: Iterable[int] = range(len(self.bridges))
        made: Leaving = {}
        if usual is not None:
            touched = self.touched(down, (*connected, *cut))
            near = {end for i in touched for end in (self.bridges[i].from_, *self.far[i])}
            made = dict(usual)
            for one in near & usual.keys():
                made[one] = [arc for arc in usual[one] if arc.number not in touched]
            numbers = sorted(touched)
        for i in numbers:
            if self.connections[i] not in cut:
                for start, arc in self._arcs(i, down, connected):
                    made.setdefault(start, []).append(arc)
        if usual is not None:
            for one in near & made.keys():
                made[one].sort(key=lambda arc: arc.number)
        return made

    def _arcs(
        self, number: int, down: Collection[str], connected: Mapping[int, str]
    ) -> Iterator[tuple[str, Arc]]:
        bridge, connection = self.bridges[number], self.connections[number]
        far = self._far_end(number, connected.get(connection), down)
        if far is None or bridge.from_ in down:
            return
        local, remote = bridge.prefixes.local, bridge.prefixes.remote
        if bridge.direction in ("out", "both"):
            yield bridge.from_, Arc(number, bridge, far, True, connection, local, remote)
        if bridge.direction in ("in", "both"):
            yield far, Arc(number, bridge, bridge.from_, False, connection, remote, local)

    def _far_end(self, number: int, chosen: str | None, down: Collection[str]) -> str | None:
        """The broker it is connected to: the chosen one, else the first address that is up."""
        bridge, ends = self.bridges[number], self.far[number]
        if bridge.to == bridge.from_:
            return bridge.to  # a binding, or a shovel from a queue to an exchange beside it
        if chosen in ends and chosen not in down:
            return chosen
        return next((end for end in ends if end not in down), None)


def renamed(
    name: str, patterns: Sequence[str], near: str, far: str, excepts: Sequence[str] = ()
) -> str | None:
    """A topic name on the other side of a bridge, or None if the bridge does not carry it.

    >>> renamed("site/prices", ["prices"], "site/", "hub/"), renamed("news", ["prices"], "", "")
    ('hub/prices', None)
    """
    if not name.startswith(near):
        return None
    rest = name[len(near) :]
    carried = any(_matches(pattern, rest) for pattern in patterns)
    return far + rest if carried and not any(_matches(one, rest) for one in excepts) else None


def _matches(pattern: str, name: str) -> bool:
    # A wildcard in front does not stand for a name that begins with $: these are the broker's own.
    return common(pattern, name) == name and not (name[:1] == "$" and pattern[:1] in ("#", "+"))


def parts(leaving: Leaving, without: str = "") -> dict[str, str]:
    """Brokers that bridges join, whatever they carry, by one that stands for all of them.

    `without` is a kind of bridge that does not count.
    """
    part: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    for near, arcs in leaving.items():
        for arc in arcs:
            if arc.bridge.kind == without:
                continue
            for end in (near, arc.far):
                members.setdefault(part.setdefault(end, end), [end])
            one, other = part[near], part[arc.far]
            if one != other:
                moved = members.pop(other)
                members[one] += moved
                part.update(dict.fromkeys(moved, one))
    return part


def far_ends(bridge: Bridge, known: Collection[str]) -> tuple[str, ...]:
    """The brokers that a bridge may be connected to, in the order of its addresses."""
    ends = (bridge.to, *(one for one in bridge.addresses if one in known))
    return tuple(dict.fromkeys(end for end in ends if end != bridge.from_))


def connections_of(federation: Federation) -> list[int]:
    """For each bridge the first one of its connection: of its broker, with its name and kind."""
    first: dict[tuple[str, str, str, str], int] = {}
    return [
        first.setdefault((one.from_, one.to, one.kind, one.name), i) if one.name else i
        for i, one in enumerate(federation.bridges)
    ]
