"""Laws of charts with domains: what can be reached is reached, and nothing goes round.

The oracle is networkx on the damaged graph, in which edges carry nothing for others.
"""

from functools import partial
from random import Random

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.federation.facts import Broker, Domain, Federation, Link
from ropewalk.overlay.chart import HERE, NONE, Away, Chart, Row, chart_of, detour
from ropewalk.overlay.domains import DomainChart
from ropewalk.overlay.standby import cut_off


def federation_of(draw: Random) -> Federation:
    """One to three domains of up to three gateways and edges each, and brokers outside."""
    domains, pairs = {}, set()
    for d in range(draw.randint(1, 3)):
        gates = tuple(f"g{d}{i}" for i in range(draw.randint(1, 3)))
        edges = tuple(f"e{d}{i}" for i in range(draw.randint(1, 3)))
        domains[f"d{d}"] = Domain(gateways=gates, edges=edges)
        for edge in edges:
            pairs |= {(gate, edge) for gate in draw.sample(gates, draw.randint(1, len(gates)))}
    solo = [f"s{i}" for i in range(draw.randint(0, 2))]
    transit = [one for domain in domains.values() for one in domain.gateways] + solo
    for _ in range(draw.randint(1, 2 * len(transit))):
        if len(transit) > 1:
            a, b = sorted(draw.sample(transit, 2))
            pairs.add((a, b))
    names = transit + [one for domain in domains.values() for one in domain.edges]
    draw.shuffle(names)
    return Federation(
        name="law",
        domains=domains,
        brokers={name: Broker() for name in names},
        links=tuple(Link(between=pair, cost=draw.randint(1, 2)) for pair in sorted(pairs)),
    )


class Known:
    """What every broker knows once all news have come, and the rows that follow from it."""

    def __init__(self, chart: Chart, links: set[int], dead: set[int]) -> None:
        self.chart, self.dead = chart, dead
        self.down = links | {e for b in dead for e in chart.ports(b)}
        self.rows: dict[tuple[int, frozenset[int]], Row] = {}
        self.away: Away = frozenset()
        self.away = frozenset(
            (gateway, one)
            for gateway in chart.transit - dead
            for one in cut_off(
                chart, gateway, self.view(gateway), partial(self.row, gateway, frozenset())
            )
        )

    def view(self, at: int) -> tuple[frozenset[int], frozenset[int]]:
        """Links between gateways are known to gateways, links to edges in their domain."""
        chart, gateway = self.chart, at in self.chart.transit
        down = {e for e in self.down if chart.parts(at).get(chart.part(e)) == self._scope(e, at)}
        dead = {b for b in self.dead if gateway or b not in chart.transit}
        return frozenset(down), frozenset(dead)

    def _scope(self, link: int, at: int) -> int:
        end = next(b for b in self.chart.link_ends[link])
        return self.chart.parts(end).get(self.chart.part(link), 0)

    def row(self, at: int, avoid: frozenset[int]) -> Row:
        if (at, avoid) not in self.rows:
            down, dead = self.view(at)
            roads = self.chart.roads(at, slow_cost=8)
            self.rows[at, avoid] = roads.row(down | avoid, dead, frozenset(), self.away)
        return self.rows[at, avoid]

    def walk(self, at: int, to: int) -> bool:
        """Whether a message gets there, as `shipping` would send it; AssertionError if it loops."""
        avoid: frozenset[int] = frozenset()
        for _ in range(self.chart.hop_limit):
            link = self.row(at, avoid)[to]
            if link in (HERE, NONE):
                return link == HERE
            if link < HERE:
                link = detour(link)
                known = self.view(at)[0]
                avoid |= {e for _, e in self.chart.attached[to] if e in known}
            if link in self.down:
                return False
            at = self.chart.other(link, at)
        raise AssertionError(f"a message to {to} goes round")


def damaged(known: Known) -> "nx.Graph[int]":
    chart = known.chart
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(chart.members - known.dead)
    graph.add_edges_from(chart.link_ends[e] for e in chart.own_link if e not in known.down)
    return graph


def reachable(known: Known, graph: "nx.Graph[int]", at: int) -> set[int]:
    inner = graph.subgraph((known.chart.transit - known.dead) | {at})
    found: set[int] = nx.node_connected_component(inner, at)
    return found | {there for here in found for there in graph[here]}


def torn(known: Known, graph: "nx.Graph[int]", at: int) -> bool:
    """Whether an edge's gateways cannot reach each other."""
    inner = graph.subgraph(known.chart.transit - known.dead)
    parts = [part for part in nx.connected_components(inner) if part & set(graph[at])]
    return at not in known.chart.transit and len(parts) > 1


@given(st.integers(0, 10**6))
def test_what_can_be_reached_is_reached_and_nothing_goes_round(seed: int) -> None:
    draw = Random(seed)
    chart = chart_of(federation_of(draw))
    assert isinstance(chart, DomainChart)
    links = {e for e in chart.own_link if draw.random() < 0.2}
    dead = {b for b in chart.members if draw.random() < 0.1}
    known = Known(chart, links, dead)
    graph = damaged(known)
    for at in chart.members - dead:
        expected = reachable(known, graph, at)
        got = {to for to in chart.members - dead if known.walk(at, to)}
        if torn(known, graph, at):
            # Which gateway still has an edge of another domain is not known here: it may be the
            # one that the other half of the overlay reaches. The message stays in custody.
            domain = chart.domain
            strangers = {b for b in chart.attached if domain[b] != domain[at]}
            assert got <= expected <= got | strangers, (seed, chart.names[at])
        else:
            assert got == expected, (seed, chart.names[at], chart.words(links), expected ^ got)
