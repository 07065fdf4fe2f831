"""Two styles as one: what has the same name is the same.

Dispatchers, links, access and tables are sets: what both have is there once. Who issues something
in both issues it twice, and who has a sequence of notifications in each has two.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.federation.topics import meeting_across
from ropewalk.verify.contracts.relations import Rows, is_in, unique_entries, unique_pairs
from ropewalk.verify.contracts.style import EVERYWHERE, State, Style

N = TypeVar("N", bound=Hashable)
Topic = tuple[str, str | None]
"""A topic, and the domain that it stays in."""


@dataclass(frozen=True, eq=False)
class United:
    """Two styles put together, and what they have in common, in numbers of the whole."""

    style: Style
    shared_dispatchers: Ints
    """Dispatchers that both declare."""
    shared_components: Ints
    """Components that do something in both."""
    torn: Ints
    """Those of them that are not joined to the same dispatchers in both."""
    issued: tuple["Issues", "Issues"]
    """What each of the two brought."""


@dataclass(frozen=True, eq=False, slots=True)
class Issues:
    """What the components of one of them have issued, in numbers of the whole."""

    subscriptions: Rows
    advertisements: Rows


@dataclass(frozen=True, eq=False, slots=True)
class _Moved:
    """One of them in numbers of the whole."""

    style: Style
    d: Ints
    c: Ints
    t: Ints
    e: Ints
    later: int
    """Its sequences are others than those of the style before it."""

    def pairs(self, rows: Rows, left: Ints, right: Ints) -> Rows:
        return np.stack((left[rows[:, 0]], right[rows[:, 1]]), axis=1)

    def access(self) -> Rows:
        return np.column_stack((self.pairs(self.style.access, self.c, self.d), self.ways()))

    def ways(self) -> Ints:
        return self.style.access[:, 2]

    def table(self, table: Rows) -> Rows:
        """A source below zero is a component."""
        source = table[:, 2]
        moved = np.empty_like(source)
        over = source >= 0
        moved[over], moved[~over] = self.d[source[over]], -1 - self.c[-1 - source[~over]]
        return np.column_stack((self.pairs(table, self.d, self.t), moved))

    def issues(self) -> Issues:
        style = self.style
        return Issues(
            self.pairs(style.subscriptions, self.c, self.t),
            self.pairs(style.advertisements, self.c, self.t),
        )

    def sequences(self) -> Rows:
        rows = self.style.state.sequences
        return np.stack((self.c[rows[:, 0]], rows[:, 1] + self.later), axis=1)

    def received(self) -> Rows:
        rows = self.style.state.received
        return np.stack((self.c[rows[:, 0]], rows[:, 1] + self.later, self.e[rows[:, 2]]), axis=1)


def unite(one: Style, other: Style) -> United:
    """Both as one style."""
    dispatchers, d = _numbered(one.dispatchers, other.dispatchers)
    components, c = _numbered(one.components, other.components)
    domains, _ = _numbered(one.domains, other.domains)
    topics, t = _numbered(_scoped(one), _scoped(other))
    events, e = _numbered(_events(one), _events(other))
    later = 1 + int(one.state.sequences[:, 1].max(initial=0))
    both = (
        _Moved(one, d[0], c[0], t[0], e[0], 0),
        _Moved(other, d[1], c[1], t[1], e[1], later),
    )
    issued = tuple(part.issues() for part in both)
    number = {topic: i for i, topic in enumerate(topics)}
    state = State(
        events=tuple(name for name, _ in events),
        topic=np.array([number[topic] for _, topic in events], np.int32),
        produced=_all([p.pairs(p.style.state.produced, p.c, p.e) for p in both]),
        sequences=_all([p.sequences() for p in both]),
        received=_all([p.received() for p in both]),
    )
    style = Style(
        dispatchers=tuple(dispatchers),
        declared=_either(len(dispatchers), [(p.d, p.style.declared) for p in both]),
        components=tuple(components),
        producer=_either(len(components), [(p.c, p.style.producer) for p in both]),
        consumer=_either(len(components), [(p.c, p.style.consumer) for p in both]),
        topics=tuple(name for name, _ in topics),
        scope=_scope([scope for _, scope in topics], domains),
        domains=tuple(domains),
        access=_each_once([p.access() for p in both]),
        links=_each_once([p.pairs(p.style.links, p.d, p.d) for p in both]),
        subscriptions=_all([some.subscriptions for some in issued]),
        advertisements=_all([some.advertisements for some in issued]),
        sub_table=_each_once([p.table(p.style.sub_table) for p in both]),
        adv_table=_each_once([p.table(p.style.adv_table) for p in both]),
        once=np.unique(np.concatenate([p.t[p.style.once] for p in both])),
        remembers=_either(len(dispatchers), [(p.d, p.style.remembers) for p in both]),
        state=state,
    )
    shared = np.intersect1d(d[0][one.declared], d[1][other.declared])
    vars(style)["meets"] = _meets(style, both)
    active = [part.c[_active(part.style)] for part in both]
    both_know = np.intersect1d(active[0], active[1])
    torn = _torn(both_know, both[0].access(), both[1].access())
    return United(style, shared, both_know, torn, (issued[0], issued[1]))


def _meets(style: Style, both: tuple[_Moved, _Moved]) -> Rows:
    """What meets in each of the two still does; so only topics of different styles are compared."""
    inside = [part.pairs(part.style.meets, part.t, part.t) for part in both]
    names = [[style.topics[t] for t in part.t] for part in both]
    one, other = meeting_across(*names)
    a, b = both[0].t[one], both[1].t[other]
    same = style.scope[a] == style.scope[b]
    across = np.stack((a[same], b[same]), axis=1)
    return unique_pairs(np.concatenate((*inside, across, across[:, ::-1])))


def _active(style: Style) -> Bools:
    """Components that are declared, joined to something, or have done something."""
    found = style.producer | style.consumer
    state = style.state
    for some in (style.access, style.subscriptions, style.advertisements, state.produced):
        found[some[:, 0]] = True
    found[state.sequences[:, 0]] = True
    return found


def _torn(shared: Ints, one: Rows, other: Rows) -> Ints:
    """Shared components with an access link that only one of the two styles has."""
    mine, theirs = one[is_in(one[:, 0], shared)], other[is_in(other[:, 0], shared)]
    every = np.concatenate((unique_entries(mine), unique_entries(theirs)))
    both, many = np.unique(every, axis=0, return_counts=True)
    return np.unique(both[many == 1][:, 0])


def _numbered(one: Sequence[N], other: Sequence[N]) -> tuple[list[N], tuple[Ints, Ints]]:
    """All names, and the number of each of the two's."""
    number = {name: i for i, name in enumerate(dict.fromkeys((*one, *other)))}
    maps = (np.array([number[name] for name in some], np.int32) for some in (one, other))
    first, second = maps
    return list(number), (first, second)


def _scoped(style: Style) -> list[Topic]:
    scopes = style.scope.tolist()
    names = [style.domains[scope] if scope != EVERYWHERE else None for scope in scopes]
    return list(zip(style.topics, names, strict=True))


def _scope(names: Sequence[str | None], domains: Sequence[str]) -> Ints:
    number: dict[str | None, int] = {name: i for i, name in enumerate(domains)}
    return np.array([number.get(name, EVERYWHERE) for name in names], np.int32)


def _events(style: Style) -> list[tuple[str, Topic]]:
    topics = _scoped(style)
    return [
        (name, topics[t]) for name, t in zip(style.state.events, style.state.topic, strict=True)
    ]


def _either(many: int, flags: Sequence[tuple[Ints, Bools]]) -> Bools:
    found = np.zeros(many, np.bool_)
    for number, flag in flags:
        found[number[flag]] = True
    return found


def _all(parts: Sequence[Rows]) -> Rows:
    return np.concatenate(parts).astype(np.int32, copy=False)


def _each_once(parts: Sequence[Rows]) -> Rows:
    whole = _all(parts)
    if whole.shape[1] == 3:
        return unique_entries(whole)
    return unique_pairs(whole)
