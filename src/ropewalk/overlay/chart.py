"""The chart of an epoch: brokers, links and tables, numbered so that numbers outlive epochs.

A broker or link that was on an earlier chart keeps its number on later ones, so that words from two
epochs can meet; what is gone has a number but no place. `Roads` are one broker's ways out: which
link is next for each destination, given what is held for down and for slow.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from ropewalk.federation.arrays import Graph, Ints
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import link_name
from ropewalk.routing.ahead import Tables, tables_of
from ropewalk.routing.ahead.colours import Things
from ropewalk.routing.ahead.network import DEFAULT
from ropewalk.routing.ahead.on_demand import row_after
from ropewalk.routing.entries import ALWAYS, Entries, entries_of
from ropewalk.routing.scenarios import Down
from ropewalk.routing.trees import Net, net_of

NONE, HERE = -1, -2
"""No link leads to a destination; the destination is this broker."""
EVERYBODY = -1
"""The scope of news that everybody hears; those of a domain have its number."""
LONE = 1 << 24
"""Brokers outside all domains are domains of their own, numbered from here."""
KEPT = 64
"""Rows that a broker keeps beside the one it uses."""

Away = frozenset[tuple[int, int]]
"""A gateway, and one that it cannot reach: told to edges while their gateways differ in that."""


class Row(Protocol):
    """By destination: the link that is next, NONE or HERE, or a detour over a link."""

    def __getitem__(self, to: int, /) -> int:
        """For one destination."""

    def __len__(self) -> int:
        """How many destinations have a number."""


def detour(link: int) -> int:
    """The next link of a way on which others need be told what to avoid; and back again.

    >>> detour(4), detour(-7)
    (-7, 4)
    """
    return -3 - link


@dataclass(frozen=True, eq=False)
class Chart:
    """Where everything is in one epoch."""

    epoch: int
    names: tuple[str, ...]
    """Of all brokers that ever were, by number."""
    link_ends: tuple[tuple[int, int], ...]
    """Of all links that ever were, by number."""
    tables: Tables = field(repr=False)
    broker_number: Sequence[int] = field(repr=False)
    """Of each broker in the tables."""
    link_number: Sequence[int] = field(repr=False)
    entries: Entries | None = field(default=None, repr=False)
    domain_names: tuple[str, ...] = ()
    """Of all domains that ever were, by number."""
    domain_number: Sequence[int] = field(default=(), repr=False)
    """Of each broker in the tables; beyond the names, a broker that is a domain of its own."""

    @property
    def graph(self) -> Graph:
        """The graph of this epoch, in numbers of its own."""
        return self.tables.network.graph

    @cached_property
    def own_number(self) -> Mapping[int, int]:
        """Of each broker of this epoch, its number in the tables."""
        return {number: own for own, number in enumerate(self.broker_number)}

    @cached_property
    def own_link(self) -> Mapping[int, int]:
        """Of each link of this epoch, its number in the tables."""
        return {number: own for own, number in enumerate(self.link_number)}

    @cached_property
    def members(self) -> frozenset[int]:
        """The brokers of this epoch."""
        return frozenset(self.broker_number)

    @cached_property
    def gone(self) -> frozenset[int]:
        """Brokers of earlier epochs; one that only a later chart has is not among them."""
        return frozenset(range(len(self.names))) - self.members

    @cached_property
    def domain(self) -> Sequence[int]:
        """The domain of each broker; that of one that is gone is its own."""
        found = [-2 - b for b in range(len(self.names))]
        numbers = self.domain_number or self.graph.domain.tolist()
        for number, domain in zip(self.broker_number, numbers, strict=True):
            found[number] = domain
        return found

    def domain_of(self, broker: int) -> int:
        """The domain of a broker that may be of a later chart: then it is its own."""
        return self.domain[broker] if broker < len(self.names) else -2 - broker

    @cached_property
    def borders(self) -> frozenset[int]:
        """Links between domains."""
        domain = self.domain
        ends = ((e, *self.link_ends[e]) for e in self.link_number)
        return frozenset(e for e, a, b in ends if domain[a] != domain[b])

    @cached_property
    def hop_limit(self) -> int:
        """More links than any message needs while a few things change under it."""
        return max(16, 4 * int(self.graph.transit.sum()))

    @cached_property
    def attached(self) -> Mapping[int, tuple[tuple[int, int], ...]]:
        """By edge that tables leave out: its gateways in order, each with the link to it."""
        return {}

    def standby(self, _broker: int) -> Mapping[int, int]:
        """Other gateways of a gateway's domain, if that has edges, and the link or NONE."""
        return {}

    @cached_property
    def transit(self) -> frozenset[int]:
        """Brokers that carry messages for others."""
        graph = self.graph
        return frozenset(b for b, own in zip(self.broker_number, graph.transit, strict=True) if own)

    def roads(self, at: int, *, slow_cost: int) -> "Ways":
        """A broker's ways out."""
        return Roads(self, at, slow_cost=slow_cost)

    # --- who hears what; `domains` has other answers ----------------------------------------

    def part(self, _link: int) -> str:
        """In which part of its ends' news a link is told of."""
        return ""

    def parts(self, _broker: int) -> Mapping[str, int]:
        """The parts of a broker's news of its links, and the scope of each."""
        return {"": EVERYBODY}

    def audience(self, broker: int) -> frozenset[int]:
        """The scopes of news that a broker hears."""
        return frozenset((EVERYBODY, self.domain[broker]))

    def hangs(self, _link: int, _broker: int) -> bool:
        """Whether a link's silence may mean that the broker at its end is dead."""
        return True

    def concerned(self, _broker: int) -> frozenset[int]:
        """Whom a broker need know all about."""
        return self.members

    def essential(self, links: Iterable[int], dead: frozenset[int]) -> list[int]:
        """Links that are down and not only because one of their ends is dead."""
        return [
            e for e in links if not any(b in dead and self.hangs(e, b) for b in self.link_ends[e])
        ]

    # --- where things are -------------------------------------------------------------------

    def ports(self, broker: int) -> dict[int, int]:
        """A broker's links, and who is at the other end of each."""
        own, graph = self.own_number.get(broker), self.graph
        if own is None:
            return {}
        arcs = range(int(graph.first[own]), int(graph.first[own + 1]))
        return {
            self.link_number[int(graph.link[arc])]: self.broker_number[int(graph.neighbour[arc])]
            for arc in arcs
        }

    def link_name(self, link: int) -> str:
        """A link as people write it."""
        a, b = self.link_ends[link]
        return link_name(self.names[a], self.names[b])

    def other(self, link: int, end: int) -> int:
        """The other end of a link."""
        a, b = self.link_ends[link]
        return b if end == a else a

    def words(self, things: Iterable[int]) -> str:
        """What is held for down, as people write it: link e is thing e, broker b is -1 - b."""
        told = [self.link_name(one) if one >= 0 else self.names[-1 - one] for one in sorted(things)]
        return " + ".join(told) or "none"


class Numbers(NamedTuple):
    """How a chart numbers things."""

    names: tuple[str, ...]
    link_ends: tuple[tuple[int, int], ...]
    broker_number: list[int]
    link_number: list[int]


def chart_of(
    federation: Federation,
    *,
    epoch: int = 1,
    before: Chart | None = None,
    failures: str | Iterable[str] = DEFAULT,
    tables: Callable[[Federation, str | Iterable[str]], Tables] = tables_of,
) -> Chart:
    """The chart of a federation; with `before`, what was on that chart keeps its number.

    `tables` gives those of a federation, or of its gateways alone (`domains`): computed or kept.

    >>> from ropewalk import generate
    >>> three = generate("three-broker")
    >>> chart = chart_of(three)
    >>> chart.ports(0), Roads(chart, 0).row(frozenset(), frozenset())
    ({0: 1, 1: 2}, [-2, 0, 1])
    """
    from ropewalk.overlay.domains import domain_chart, gateways_alone, in_domains

    numbers = _numbers(federation.graph, before)
    if in_domains(federation, before):
        overlay = chart_of(gateways_alone(federation), failures=failures, tables=tables)
        return _stable(domain_chart(federation, numbers, epoch, overlay), federation, before)
    entries = entries_of(federation) if federation.routes else None
    made = Chart(epoch, *numbers[:2], tables(federation, failures), *numbers[2:], entries)
    return _stable(made, federation, before)


def _numbers(graph: Graph, before: Chart | None) -> Numbers:
    names = dict.fromkeys([*(before.names if before else ()), *graph.names])
    number = {name: i for i, name in enumerate(names)}
    broker_number = [number[name] for name in graph.names]
    own_ends = [_pair(broker_number[a], broker_number[b]) for a, b in graph.ends.tolist()]
    ends = dict.fromkeys([*(before.link_ends if before else ()), *own_ends])
    place = {pair: e for e, pair in enumerate(ends)}
    return Numbers(tuple(names), tuple(ends), broker_number, [place[pair] for pair in own_ends])


def _stable(chart: Chart, federation: Federation, before: Chart | None) -> Chart:
    """A domain's number means the same in all epochs, as a broker's does."""
    every = dict.fromkeys([*(before.domain_names if before else ()), *federation.domains])
    place = {name: d for d, name in enumerate(every)}
    declared = [place[name] for name in federation.domains]
    brokers = zip(federation.graph.domain.tolist(), chart.broker_number, strict=True)
    numbers = [declared[d] if d < len(declared) else LONE + b for d, b in brokers]
    return replace(chart, domain_names=tuple(every), domain_number=numbers)


def _pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


class Ways(Protocol):
    """One broker's ways out in one epoch."""

    planes: int

    def plane(self, origin: int) -> int:
        """Which of the rows messages of an origin go by."""

    def row(
        self,
        links: Iterable[int],
        brokers: Iterable[int],
        slow: Iterable[int] = (),
        away: Away = frozenset(),
        plane: int = 0,
        /,
    ) -> Row:
        """The next link to every destination with these links and brokers down."""


class Roads:
    """The ways out by tables of all brokers."""

    def __init__(self, chart: Chart, at: int, *, slow_cost: int = 8) -> None:
        self.chart, self.at = chart, at
        self._own = chart.own_number[at]
        self._table = chart.tables.brokers[self._own]
        self._slow_cost = slow_cost
        ports = {chart.own_number[peer]: link for link, peer in chart.ports(at).items()}
        self._brokers = range(chart.graph.brokers)
        self._port = [ports.get(own, NONE) for own in self._brokers] + [NONE]
        self._port[self._own] = HERE
        self._same = list(chart.broker_number) == list(range(len(chart.names)))
        self._rows: OrderedDict[tuple[Things, frozenset[int], int], list[int]] = OrderedDict()
        self._nets: dict[frozenset[int], Net] = {}
        self._by_hand = _by_hand(chart, self._own) if chart.entries else []
        self._pinned = [bool(chart.entries and chart.entries.groups(to)) for to in self._brokers]
        self.planes = chart.entries.planes if chart.entries else 1

    def plane(self, origin: int) -> int:
        """Which of the rows messages of an origin go by."""
        entries, own = self.chart.entries, self.chart.own_number.get(origin)
        return int(entries.plane[own]) if entries and own is not None else 0

    def row(
        self,
        links: Iterable[int],
        brokers: Iterable[int],
        slow: Iterable[int] = (),
        _away: Away = frozenset(),
        plane: int = 0,
    ) -> list[int]:
        """The next link to every destination with these links and brokers down, and some slow.

        A broker that is held for dead carries nothing for others, but messages for itself are
        still sent towards it: silence on one link is no proof.
        """
        own_links = [e for e in map(self.chart.own_link.get, links) if e is not None]
        dead = [b for b in map(self.chart.own_number.get, brokers) if b is not None]
        slowly = frozenset(e for e in map(self.chart.own_link.get, slow) if e is not None)
        others = [b for b in dead if b != self._own]
        row = self._known(own_links, others, slowly, plane)
        if not others:
            return row
        row = row.copy()
        for b in others:
            number = self.chart.broker_number[b]
            rest = [other for other in others if other != b]
            row[number] = self._known(own_links, rest, slowly, plane)[number]
        return row

    def _known(
        self, links: list[int], dead: list[int], slow: frozenset[int], plane: int
    ) -> list[int]:
        first = self.chart.graph.links
        things = tuple(sorted({*links, *(first + b for b in dead)}))
        key = (things, slow, plane)
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = self._made(things, slow, plane)
            if len(self._rows) > KEPT:
                self._rows.popitem(last=False)
        else:
            self._rows.move_to_end(key)
        return found

    def _made(self, things: Things, slow: frozenset[int], plane: int) -> list[int]:
        tables, colours = self.chart.tables, self.chart.tables.colours
        hops = tables.row_of(self._table, things)
        if slow:  # hand-made entries were proved with plain costs: elsewhere they stay as well
            down = colours.down(colours.essential(things))
            around = row_after(self._net(slow), colours.links, self._own, down)
            hops = np.where(self._pinned, hops, around)
        for to, hop, link, planes, whens in self._by_hand:
            meant = whens is None or colours.down(things) in whens
            if plane in planes and link not in things and meant and hops[to] >= 0:
                hops[to] = hop
        return self._numbered(hops)

    def _numbered(self, hops: Ints) -> list[int]:
        """Next hops in numbers of the tables as links, by the chart's numbers of destinations."""
        port = self._port
        links = [port[hop] for hop in hops.tolist()]
        if self._same:
            return links
        row = [NONE] * len(self.chart.names)
        for own, number in enumerate(self.chart.broker_number):
            row[number] = links[own]
        return row

    def _net(self, slow: frozenset[int]) -> Net:
        if slow not in self._nets:
            graph = self.chart.graph
            cost = graph.cost.copy()
            cost[list(slow)] *= self._slow_cost
            self._nets = {} if len(self._nets) >= KEPT else self._nets
            self._nets[slow] = net_of(replace(graph, cost=np.ascontiguousarray(cost)))
        return self._nets[slow]


def _by_hand(
    chart: Chart, at: int
) -> list[tuple[int, int, int, frozenset[int], tuple[Down, ...] | None]]:
    """Hand-made entries of a broker: destination, next, link, planes and the failures meant."""
    entries = chart.entries
    assert entries is not None  # noqa: S101  (there are some: see who calls it)
    return [
        (to, int(hop), int(link), group.planes, None if when == ALWAYS else entries.downs[when])
        for to in range(chart.graph.brokers)
        for group in entries.groups(to)
        for where, hop, link, when in zip(
            group.at.tolist(), group.next, group.link, group.when.tolist(), strict=True
        )
        if where == at
    ]
