"""What was really up and down during a run, and who could reach whom; nobody inside knows this."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from ropewalk.federation.arrays import Graph
from ropewalk.overlay.simulate.journal import Journal

Links = frozenset[int]


@dataclass(frozen=True, slots=True)
class Spell:
    """A time in which nothing went up or down."""

    from_us: int
    until_us: int
    links: Links
    """Links that were down themselves."""
    away: frozenset[int]
    """Brokers whose agents were away."""


class Truth:
    """The spells of a run, and reachability in each."""

    def __init__(self, graph: Graph, journal: Journal, end_us: int) -> None:
        self._ends = [(int(a), int(b)) for a, b in graph.ends]
        self._transit = graph.transit.tolist()
        self._arcs: list[list[tuple[int, int]]] = [[] for _ in range(graph.brokers)]
        for e, (a, b) in enumerate(self._ends):
            self._arcs[a].append((e, b))
            self._arcs[b].append((e, a))
        told = [(us, links, away) for us, _, _, links, away in journal.of("truth")]
        states = [(0, frozenset[int](), frozenset[int]()), *told]
        until = [us for us, _, _ in told] + [end_us]
        self.spells = [
            Spell(us, until_us, links, away)
            for (us, links, away), until_us in zip(states, until, strict=True)
            if until_us > us or until_us == end_us
        ]
        self._starts = [spell.from_us for spell in self.spells]
        self._reached: dict[tuple[int, int], frozenset[int]] = {}

    def spell_at(self, time_us: int) -> int:
        """The number of the spell that a time falls into."""
        return max(0, bisect_right(self._starts, time_us) - 1)

    def reached(self, broker: int, spell: int) -> frozenset[int]:
        """Whom a broker could reach, itself included; edges of domains carry no transit."""
        key = (broker, spell)
        if key not in self._reached:
            self._reached[key] = self._search(broker, self.spells[spell])
        return self._reached[key]

    def _search(self, broker: int, spell: Spell) -> frozenset[int]:
        if broker in spell.away:
            return frozenset()
        found, edge = {broker}, [broker]
        while edge:
            here = edge.pop()
            if here != broker and not self._transit[here]:
                continue
            for link, there in self._arcs[here]:
                if there not in found and link not in spell.links and there not in spell.away:
                    found.add(there)
                    edge.append(there)
        return frozenset(found)

    def down(self, spell: int) -> Links:
        """All links over which nothing could go: their own faults, and agents that were away."""
        now = self.spells[spell]
        return self.without(now.links, now.away)

    def without(self, links: Iterable[int], brokers: Iterable[int]) -> Links:
        """Links that are down if these links and brokers are."""
        return frozenset(links) | {link for b in brokers for link, _ in self._arcs[b]}

    def of(self, broker: int) -> list[int]:
        """A broker's links."""
        return [link for link, _ in self._arcs[broker]]

    def joined(self, broker: int, spell: int, links: Links) -> frozenset[int]:
        """Who could hear of a broker if everybody passes news on over some links."""
        now = self.spells[spell]
        usable = links - now.links
        found, edge = {broker}, [broker]
        while edge:
            for link, there in self._arcs[edge.pop()]:
                if link in usable and there not in found and there not in now.away:
                    found.add(there)
                    edge.append(there)
        return frozenset(found)

    def near(self, links: Links, brokers: frozenset[int]) -> Links:
        """Those of some links that touch one of the brokers: others cannot be known there."""
        return frozenset(e for e in links if not brokers.isdisjoint(self._ends[e]))
