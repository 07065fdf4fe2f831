"""What bridges carry: from whoever may send it to whoever gets it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ropewalk.federation.bridges import Bridge

CARRIERS = ("bridge", "shovel", "leaf", "federation")


@dataclass(slots=True)
class Carried:
    """The ends of a topic that bridges carry, in the order of the bridges."""

    publishers: dict[str, None] = field(default_factory=dict)
    subscribers: dict[str, None] = field(default_factory=dict)
    entry: str = ""
    """Where the first bridge that carries it was read."""


def carried(bridges: Iterable[Bridge]) -> dict[str, Carried]:
    """Topics by what bridges carry.

    >>> found = carried([Bridge(from_="a", to="b", patterns=("t/#",))])
    >>> list(found["t/#"].publishers), list(found["t/#"].subscribers)
    (['a'], ['b'])
    """
    found: dict[str, Carried] = {}
    for bridge in bridges:
        if bridge.kind not in CARRIERS:
            continue
        entry = bridge.written.get("entry", "")
        for near, far, topics in _sides(bridge):
            for sent, got in topics:
                of = found.setdefault(sent, Carried(entry=entry))
                of.publishers[near] = None
                # Who gets it under another name is a subscriber of the first name as well.
                of.subscribers[far] = None
                found.setdefault(got, Carried(entry=entry)).subscribers[far] = None
    return found


def _sides(bridge: Bridge) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Sender, receiver and the names of what is carried at each of them."""
    local, remote = bridge.prefixes.local, bridge.prefixes.remote
    names = [(_joined(local, one), _joined(remote, one)) for one in bridge.patterns]
    if bridge.direction in ("out", "both"):
        yield bridge.from_, bridge.to, names
    if bridge.direction in ("in", "both"):
        yield bridge.to, bridge.from_, [(far, near) for near, far in names]


def _joined(prefix: str, pattern: str) -> str:
    """A prefix and a pattern as one pattern: a prefix may end within a level."""
    if pattern in ("#", "+") and prefix and not prefix.endswith("/"):
        return prefix  # what follows within the level cannot be said: the prefix stands for it
    return prefix + pattern
