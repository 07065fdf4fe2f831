"""Styles fact by fact: as tuples of names, and as a few lines of text for people.

A fact is its kind and the names it speaks of. Small styles (examples of what breaks a rule, the
smallest that breaks none) are made of them, and rules say which kinds they go by.

>>> style = style_of_facts(read('''
...     dispatcher a; consumer c at a; c subscribes t; a routes t to c
... '''))
>>> style.dispatchers, style.components, style.sub_table.tolist()
(('a',), ('c',), [[0, 0, -1]])
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.verify.contracts.relations import Rows, rows, unique_pairs
from ropewalk.verify.contracts.style import EVERYWHERE, State, Style, Way

Fact = tuple[str, ...]
"""A kind and its names: ("link", "a", "b")."""

SORTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dispatcher": ("dispatcher",),
        "producer": ("component",),
        "consumer": ("component",),
        "in": ("component", "dispatcher"),
        "out": ("component", "dispatcher"),
        "pull": ("component", "dispatcher"),
        "link": ("dispatcher", "dispatcher"),
        "subscribe": ("component", "topic"),
        "advertise": ("component", "topic"),
        "sub-to": ("dispatcher", "topic", "component"),
        "sub-over": ("dispatcher", "topic", "dispatcher"),
        "adv-of": ("dispatcher", "topic", "component"),
        "adv-over": ("dispatcher", "topic", "dispatcher"),
        "once": ("topic",),
        "remembers": ("dispatcher",),
        "produce": ("component", "event", "topic"),
        "sequence": ("component", "number"),
        "receive": ("component", "number", "event", "topic"),
    }
)
"""What each kind of fact speaks of."""
KINDS = tuple(SORTS)
_WAYS = {"in": Way.IN, "out": Way.OUT, "pull": Way.PULL}


def style_of_facts(facts: Iterable[Fact]) -> Style:
    """The style that facts make; names are numbered in the order in which they come."""
    some = list(facts)
    names: dict[str, dict[str, int]] = {sort: {} for sort in ("dispatcher", "component", "topic")}
    for fact in some:
        for sort, name in zip(SORTS[fact[0]], fact[1:], strict=True):
            if sort in names:
                names[sort].setdefault(name, len(names[sort]))
    of = _Numbers(some, names)
    access = [(*pair, way) for kind, way in _WAYS.items() for pair in of.pairs(kind)]
    return Style(
        dispatchers=tuple(names["dispatcher"]),
        declared=of.flags("dispatcher", "dispatcher"),
        components=tuple(names["component"]),
        producer=of.flags("producer", "component"),
        consumer=of.flags("consumer", "component"),
        topics=tuple(names["topic"]),
        scope=np.full(len(names["topic"]), EVERYWHERE, np.int32),
        access=rows(access, 3),
        links=rows(of.pairs("link"), 2),
        subscriptions=rows(of.pairs("subscribe"), 2),
        advertisements=rows(of.pairs("advertise"), 2),
        sub_table=of.table("sub-to", "sub-over"),
        adv_table=of.table("adv-of", "adv-over"),
        once=np.array([one for (one,) in of.pairs("once")], np.int32),
        remembers=of.flags("remembers", "dispatcher"),
        state=of.state(),
    )


class _Numbers:
    """The facts of a style in numbers."""

    def __init__(self, facts: list[Fact], names: Mapping[str, Mapping[str, int]]) -> None:
        self._facts, self._names = facts, names

    def pairs(self, kind: str) -> list[tuple[int, ...]]:
        sorts = SORTS[kind]
        return [
            tuple(self._names[sort][name] for sort, name in zip(sorts, fact[1:], strict=True))
            for fact in self._facts
            if fact[0] == kind
        ]

    def flags(self, kind: str, sort: str) -> np.ndarray:
        found = np.zeros(len(self._names[sort]), np.bool_)
        found[[one for (one,) in self.pairs(kind)]] = True
        return found

    def table(self, to_components: str, over_dispatchers: str) -> Rows:
        entries = [(at, topic, -1 - one) for at, topic, one in self.pairs(to_components)]
        return rows(entries + self.pairs(over_dispatchers), 3)

    def state(self) -> State:
        events: dict[tuple[str, str], int] = {}
        produced, sequences, received = [], [], []
        number, topics = self._names["component"], self._names["topic"]
        for kind, *names in self._facts:
            if kind == "sequence":
                sequences.append((number[names[0]], int(names[1])))
            elif kind == "produce":
                event = events.setdefault((names[1], names[2]), len(events))
                produced.append((number[names[0]], event))
            elif kind == "receive":
                event = events.setdefault((names[2], names[3]), len(events))
                received.append((number[names[0]], int(names[1]), event))
                sequences.append((number[names[0]], int(names[1])))
        return State(
            events=tuple(event for event, _ in events),
            topic=np.array([topics[topic] for _, topic in events], np.int32),
            produced=rows(produced, 2),
            sequences=unique_pairs(rows(sequences, 2)),
            received=rows(received, 3),
        )


# --- text -----------------------------------------------------------------------------------


def read(text: str) -> list[Fact]:
    """The facts of a text, a sentence to a line or between semicolons; raises UsageError.

    Of a name that may be either, `a routes t to b`, what the text declares decides.
    """
    sentences = [one.split() for one in re.split(r"[;\n]", text) if one.strip()]
    declared = {name for kind, *names in sentences if kind == "dispatcher" for name in names}
    found: list[Fact] = []
    for words in sentences:
        try:
            found += _sentence(words, declared)
        except (KeyError, TypeError, ValueError, IndexError):
            known = "; ".join(_EXAMPLES)
            raise UsageError(f"{' '.join(words)!r} is no fact of a style: {known}") from None
    return found


_EXAMPLES = (
    "dispatcher a b",
    "link a - b",
    "link a > b",
    "producer p at a",
    "consumer c at b",
    "consumer c pulls b",
    "push a > c",
    "p advertises t",
    "c subscribes t",
    "a routes t to b",
    "b knows t from a",
    "once t",
    "remembers a",
    "p produces e of t",
    "c receives e of t",
    "c receives e of t in 2",
    "c starts 1",
)


def _sentence(words: list[str], declared: set[str]) -> Iterator[Fact]:
    verb = _VERBS.get(words[1]) if len(words) > 1 else None
    if words[0] in ("dispatcher", "remembers", "once") and words[1:]:
        yield from ((words[0], name) for name in words[1:])
    elif words[0] in ("producer", "consumer"):
        yield from _component(*words)
    elif words[0] in ("link", "push"):
        yield from _joined(words[0], *words[1:], declared=declared)
    elif verb is not None:
        yield verb(words, declared)
    else:
        raise KeyError(words[0])


def _component(kind: str, name: str, how: str = "", *dispatchers: str) -> Iterator[Fact]:
    ways = {"at": "in" if kind == "producer" else "out", "pulls": "pull"}
    if bool(how) != bool(dispatchers):
        raise ValueError(how)
    yield (kind, name)
    yield from ((ways[how], name, one) for one in dispatchers)


def _joined(kind: str, one: str, arrow: str, other: str, *, declared: set[str]) -> Iterator[Fact]:
    if kind == "push" and arrow == ">":
        yield ("in", one, other) if other in declared else ("out", other, one)
    elif kind == "link" and arrow == "-":
        yield from (("link", one, other), ("link", other, one))
    elif kind == "link" and arrow == ">":
        yield ("link", one, other)
    else:
        raise KeyError(arrow)


Verb = Callable[[list[str], set[str]], Fact]


def _entry(component: str, dispatcher: str, before: str) -> Verb:
    def fact(words: list[str], declared: set[str]) -> Fact:
        at, _, topic, middle, source = words
        _same(middle, before)
        return (dispatcher if source in declared else component, at, topic, source)

    return fact


def _issue(kind: str) -> Verb:
    def fact(words: list[str], _: set[str]) -> Fact:
        who, _verb, topic = words
        return (kind, who, topic)

    return fact


def _produce(words: list[str], _: set[str]) -> Fact:
    who, _verb, event, of, topic = words
    _same(of, "of")
    return ("produce", who, event, topic)


def _receive(words: list[str], _: set[str]) -> Fact:
    who, _verb, event, of, topic, within, number = [*words, *("in", "1")[: 7 - len(words)]]
    _same(of, "of")
    _same(within, "in")
    return ("receive", who, _number(number), event, topic)


def _start(words: list[str], _: set[str]) -> Fact:
    who, _verb, number = words
    return ("sequence", who, _number(number))


def _same(word: str, wanted: str) -> None:
    if word != wanted:
        raise KeyError(word)


def _number(word: str) -> str:
    return str(int(word))


_VERBS: dict[str, Verb] = {
    "advertises": _issue("advertise"),
    "subscribes": _issue("subscribe"),
    "routes": _entry("sub-to", "sub-over", "to"),
    "knows": _entry("adv-of", "adv-over", "from"),
    "produces": _produce,
    "receives": _receive,
    "starts": _start,
}
