"""Who can know of which links: everybody of all, unless there are domains.

Then gateways know of the links between gateways, and members of a domain of links to its edges.

News of a circle go from member to member over its links, so what lies beyond a partition of the
circle cannot be known.
"""

from ropewalk.federation.facts import Federation
from ropewalk.overlay.domains import in_domains
from ropewalk.overlay.simulate.truth import Links, Truth


class Circles:
    """The circles in which news of links go round."""

    def __init__(self, federation: Federation, truth: Truth) -> None:
        self._truth, graph = truth, federation.graph
        self._ends: list[tuple[int, int]] = [(int(a), int(b)) for a, b in graph.ends]
        self._transit, self._domain = graph.transit.tolist(), graph.domain.tolist()
        self.apart = in_domains(federation)
        self._all = frozenset(range(graph.links))
        self._between = frozenset(e for e in self._all if all(self._gateways(e)))

    def _gateways(self, link: int) -> list[bool]:
        return [self._transit[end] for end in self._ends[link]]

    def visible(self, broker: int, spell: int) -> Links:
        """The links of whose state a broker can hear in a spell."""
        truth = self._truth
        if not self.apart:
            return truth.near(self._all, truth.reached(broker, spell))
        found: Links = frozenset()
        for told, over in self._circles(broker):
            found |= truth.near(told, truth.joined(broker, spell, over))
        return found

    def _circles(self, broker: int) -> list[tuple[Links, Links]]:
        """Links that are told of, and links over which that is told."""
        mine, domain = self._domain[broker], self._domain
        inside = frozenset(
            e for e, ends in enumerate(self._ends) if {domain[b] for b in ends} == {mine}
        )
        home = (inside - self._between, inside)
        return [(self._between, self._between), home] if self._transit[broker] else [home]

    def believed(self, things: tuple[int, ...]) -> Links:
        """Links that are down if these things are: links by number, brokers as -1 - number."""
        links = frozenset(one for one in things if one >= 0)
        dead = {-1 - one for one in things if one < 0}
        return links.union(e for b in dead for e in self._truth.of(b) if self._hangs(e, b))

    def _hangs(self, link: int, broker: int) -> bool:
        """A gateway that is held for dead says nothing of the links to its edges; see `domains`."""
        return not self.apart or link in self._between or not self._transit[broker]
