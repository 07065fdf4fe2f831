"""The rules of a style as one would write them down: sets, comprehensions and networkx.

The rival of `benchmarks/contracts.py`, and the oracle that the laws hold the rules to. It shares no
code with them but the matching of topics.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import networkx as nx

from ropewalk.federation.topics import common, meeting
from ropewalk.verify.contracts.style import Style, Way

Source = tuple[str, str]
"""("component", NAME) or ("dispatcher", NAME)."""
Topic = tuple[str, int]
"""A topic and its scope."""


@dataclass(frozen=True)
class Sets:
    """A style as sets of names."""

    dispatchers: set[str]
    producers: set[str]
    consumers: set[str]
    enters: set[tuple[str, str]]
    pushed: set[tuple[str, str]]
    pulled: set[tuple[str, str]]
    links: set[tuple[str, str]]
    subscriptions: list[tuple[str, Topic]]
    advertisements: list[tuple[str, Topic]]
    wanted: set[tuple[str, Topic, Source]]
    offered: set[tuple[str, Topic, Source]]
    once: set[Topic]
    remembers: set[str]
    produced: list[tuple[str, tuple[str, Topic]]]
    sequences: dict[tuple[str, int], list[tuple[str, Topic]]]

    @cached_property
    def leaves(self) -> set[tuple[str, str]]:
        """(consumer, dispatcher), pushed or pulled."""
        return self.pushed | self.pulled


def sets_of(style: Style) -> Sets:
    """The sets of a style."""
    d, c = style.dispatchers, style.components
    t = list(zip(style.topics, style.scope.tolist(), strict=True))
    state = style.state
    events = [(name, t[i]) for name, i in zip(state.events, state.topic, strict=True)]

    def source(number: int) -> Source:
        return ("dispatcher", d[number]) if number >= 0 else ("component", c[-1 - number])

    sequences: dict[tuple[str, int], list[tuple[str, Topic]]] = {
        (c[a], n): [] for a, n in state.sequences.tolist()
    }
    for a, n, e in state.received.tolist():
        sequences[c[a], n].append(events[e])
    return Sets(
        {name for name, known in zip(d, style.declared, strict=True) if known},
        {name for name, known in zip(c, style.producer, strict=True) if known},
        {name for name, known in zip(c, style.consumer, strict=True) if known},
        {(c[a], d[b]) for a, b, way in style.access.tolist() if way == Way.IN},
        {(c[a], d[b]) for a, b, way in style.access.tolist() if way == Way.OUT},
        {(c[a], d[b]) for a, b, way in style.access.tolist() if way == Way.PULL},
        {(d[a], d[b]) for a, b in style.links.tolist()},
        [(c[a], t[b]) for a, b in style.subscriptions.tolist()],
        [(c[a], t[b]) for a, b in style.advertisements.tolist()],
        {(d[a], t[b], source(s)) for a, b, s in style.sub_table.tolist()},
        {(d[a], t[b], source(s)) for a, b, s in style.adv_table.tolist()},
        {t[one] for one in style.once.tolist()},
        {name for name, known in zip(d, style.remembers, strict=True) if known},
        [(c[a], events[e]) for a, e in state.produced.tolist()],
        sequences,
    )


def meet(one: Topic, other: Topic) -> bool:
    return one[1] == other[1] and common(one[0], other[0]) is not None


def stands_for(pattern: Topic, name: Topic) -> bool:
    return pattern[1] == name[1] and common(pattern[0], name[0]) == name[0]


def graph_of(s: Sets) -> "nx.Graph":
    graph = nx.Graph()
    graph.add_nodes_from(s.dispatchers)
    graph.add_edges_from((a, b) for a, b in s.links if {a, b} <= s.dispatchers and a != b)
    return graph


def broken(s: Sets) -> dict[str, set[object]]:
    """By code, what breaks each rule; only those that something breaks."""
    found = dict(_broken(s, graph_of(s)))
    return {code: bad for code, bad in found.items() if bad}


def _broken(s: Sets, graph: "nx.Graph") -> Iterator[tuple[str, set[object]]]:
    yield (
        "S1",
        {(p, d) for p, d in s.enters if p not in s.producers or d not in s.dispatchers}
        | {
            (i, d, c)
            for i, pairs in enumerate((s.pushed, s.pulled))
            for c, d in pairs
            if c not in s.consumers or d not in s.dispatchers
        },
    )
    yield "S2", {pair for pair in s.links if not set(pair) <= s.dispatchers}
    yield "S3", {(a, b) for a, b in s.links if a == b or (b, a) not in s.links}
    yield "S4", set(map(frozenset, list(nx.connected_components(graph))[1:]))
    places: dict[str, set[str]] = {}
    for c, d in s.leaves:
        if d in s.dispatchers:
            places.setdefault(c, set()).add(d)
    yield "S5", {c for c in s.consumers if len(places.get(c, ())) != 1}
    yield "S6", set(nx.articulation_points(graph))
    yield "S7", _strange(s)
    mine: dict[str, list[Topic]] = {}
    for c, t in s.subscriptions:
        mine.setdefault(c, []).append(t)
    received = {(c, e) for (c, _), some in s.sequences.items() for e in some}
    yield (
        "S8",
        {(c, e) for c, e in received if not any(stands_for(t, e[1]) for t in mine.get(c, ()))},
    )
    made = {e for _, e in s.produced}
    yield "S9", {(c, e) for c, e in received if e not in made}
    yield from _tables(s, graph)
    yield "S15", set(_doubled(s, graph))
    own: dict[str, list[Topic]] = {}
    for p, t in s.advertisements:
        own.setdefault(p, []).append(t)
    yield (
        "S16",
        {(p, e) for p, e in s.produced if not any(stands_for(t, e[1]) for t in own.get(p, ()))},
    )
    yield "S17", _again(s.subscriptions) | _again(s.advertisements) | _again(s.produced)


def _strange(s: Sets) -> set[object]:
    strange: set[object] = {("subscribes", c) for c, _ in s.subscriptions if c not in s.consumers}
    strange |= {("given", c) for c, _ in s.sequences if c not in s.consumers}
    strange |= {("advertises", p) for p, _ in s.advertisements if p not in s.producers}
    strange |= {("produces", p) for p, _ in s.produced if p not in s.producers}
    contents: dict[str, set[tuple[object, ...]]] = {}
    for (c, _), some in s.sequences.items():
        contents.setdefault(c, set()).add(tuple(some))
    return strange | {("two", c) for c, some in contents.items() if len(some) > 1}


def _again(issued: Sequence[tuple[str, object]]) -> set[object]:
    seen: set[object] = set()
    return {one for one in issued if one in seen or seen.add(one)}  # type: ignore[func-returns-value]


def _tables(s: Sets, graph: "nx.Graph") -> Iterator[tuple[str, set[object]]]:
    sides = (("w", s.wanted, s.leaves), ("o", s.offered, s.enters))
    joined = {pair for pair in s.links if pair[0] != pair[1]}
    yield (
        "S10",
        {
            (k, d, t, who)
            for k, table, at in sides
            for d, t, (kind, who) in table
            if kind == "component" and (who, d) not in at
        },
    )
    yield (
        "S11",
        {
            (k, d, t, who)
            for k, table, _ in sides
            for d, t, (kind, who) in table
            if kind == "dispatcher" and (d, who) not in joined
        },
    )
    busy = {k: {d for _, d in at} for k, _, at in sides}
    yield (
        "S12",
        {
            (k, d, t, source)
            for k, table, _ in sides
            for d, t, source in table
            if d not in busy[k] and not (source[0] == "dispatcher" and (d, source[1]) in joined)
        },
    )
    part = {d: i for i, one in enumerate(nx.connected_components(graph)) for d in one}
    yield "S13", set(_lost(s.subscriptions, s.leaves, s.wanted, s.advertisements, s.enters, part))
    yield "S14", set(_lost(s.advertisements, s.enters, s.offered, s.subscriptions, s.leaves, part))


def _lost(
    issued: list[tuple[str, Topic]],
    at: set[tuple[str, str]],
    table: set[tuple[str, Topic, Source]],
    others: list[tuple[str, Topic]],
    theirs: set[tuple[str, str]],
    part: dict[str, int],
) -> Iterator[object]:
    homes, places = _places(at), _places(theirs)
    ways: dict[Topic, nx.DiGraph] = {}
    for d, t, (kind, who) in table:
        graph = ways.setdefault(t, nx.DiGraph())
        if kind == "dispatcher":
            graph.add_edge(d, who)
    met = _met({t for _, t in issued}, {t for _, t in others})
    starts: dict[Topic, set[str]] = {}
    for who, t in others:
        starts.setdefault(t, set()).update(places.get(who, ()))
    for who, t in issued:
        if not homes.get(who):
            yield ("homeless", who, t)
        for x in homes.get(who, ()):
            if (x, t, ("component", who)) not in table:
                yield ("at home", x, t, who)
            graph = ways.get(t, nx.DiGraph())
            reaching = nx.ancestors(graph, x) | {x} if x in graph else {x}
            for y in {y for u in met[t] for y in starts[u]}:
                if y not in reaching and part.get(y, y) == part.get(x, x):
                    yield ("way", t, y, x)


def _met(ours: set[Topic], theirs: set[Topic]) -> dict[Topic, list[Topic]]:
    """Of our topics, those of theirs that they meet."""
    every = sorted(ours | theirs)
    found = {t: [t] if t in theirs else [] for t in ours}
    for i, j in zip(*(side.tolist() for side in meeting([name for name, _ in every])), strict=True):
        one, other = every[i], every[j]
        if one in ours and other in theirs and one[1] == other[1]:
            found[one].append(other)
    return found


def _places(pairs: set[tuple[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for who, d in pairs:
        found.setdefault(who, set()).add(d)
    return found


def _doubled(s: Sets, graph: "nx.Graph") -> Iterator[object]:
    forgetful = s.dispatchers - s.remembers
    rings = [set(some) for some in nx.biconnected_components(graph) if len(some) > 2]
    doubling = {
        d
        for part in nx.connected_components(graph.subgraph(forgetful))
        if any(part & ring for ring in rings)
        for d in part
    }
    places = _places(s.leaves)
    for (c, t), u in product(s.subscriptions, s.once):
        if meet(t, u):
            for d in places.get(c, ()):
                if d in doubling:
                    yield (c, t, d)
