"""Kinds of clients and their steps, as a file draws them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ropewalk.federation.showing import shown
from ropewalk.protocol.notebook import At, Faulty
from ropewalk.verify.population.clients.facts import ALONE, Kind, Step, Topic
from ropewalk.verify.population.clients.notes import Notes, near

KIND_DEFAULTS = {
    "connection": ("stable", "breaks", "reconnects"),
    "session": ("kept", "clean", "queued"),
}
"""Words that may also stand at the top of the file, with the first as what holds otherwise."""
MOST_CLIENTS = 10_000
_KEYS = ("count", "start", "subscribed", "at", *KIND_DEFAULTS, "returns", "steps")
_STEP_KEYS = ("subscribe", "unsubscribe", "publish", "on", "when", "forget")
_WHEN = ("received", "not_received")
SHAPE = "write - FROM -> TO: {publish: MESSAGE, on: TOPIC}, or subscribe, unsubscribe, or nothing"
_COUNT = "write any, 3 (exactly three) or 2+ (two or more)"


@dataclass(frozen=True, slots=True)
class _Names:
    """What steps may speak of."""

    topics: Mapping[str, Topic]
    messages: tuple[str, ...]
    brokers: tuple[str, ...]


def kinds_of(
    book: Notes, topics: Mapping[str, Topic], messages: tuple[str, ...], brokers: tuple[str, ...]
) -> dict[str, Kind]:
    """The kinds of clients by name."""
    given, names = book.value.get("clients"), _Names(topics, messages, brokers)
    usual = {key: book.choice((key,), key, words, words[0]) for key, words in KIND_DEFAULTS.items()}
    if not isinstance(given, Mapping) or not given:
        where: At = ("clients",) if "clients" in book.value else ()
        said = "clients is no map of kinds" if where else "clients is missing"
        book.say("N003", where, f"{said}: write clients: {{KIND: {{start: STATE, steps: [...]}}}}")
        return {}
    return {name: _kind(book, name, names, usual) for name in given}


def _kind(book: Notes, name: str, names: _Names, usual: Mapping[str, str]) -> Kind:
    at = ("clients", name)
    given = book.fields(at, name, _KEYS, "write {start: STATE, steps: [...]}")
    steps = tuple(_steps(book, at, names)) if "steps" in given else ()
    start = _start(book, at, name, steps) if given else ""
    states = _states(start, steps)
    least, more = _count(book, (*at, "count"), given)
    words: dict[str, Any] = {
        key: book.choice((*at, key), f"{name}: {key}", words, usual[key])
        for key, words in KIND_DEFAULTS.items()
    }
    kind = Kind(
        name, start, steps, tuple(states), least, more,
        book.among((*at, "subscribed"), names.topics, "N007", "topic"),
        _places(book, (*at, "at"), names.brokers),
        returns=_returns(book, at, words["connection"], states),
        line=book.line(at), **words,
    )  # fmt: skip
    if not book.faults:  # what cannot be reached may follow from what is wrong
        _unreachable(book, kind, states)
    return kind


def _start(book: Notes, at: At, name: str, steps: tuple[Step, ...]) -> str:
    try:
        found = book.name((*at, "start"), f"{name}: start", "write start: STATE")
    except Faulty:
        return ""
    known = _states("", steps)
    if known and found not in known:
        said = f"{name}: start {found!r} is in no step"
        book.say("N006", (*at, "start"), f"{said}: {near(found, known)}")
    return found


def _states(start: str, steps: tuple[Step, ...]) -> dict[str, int]:
    """States by name, with the line that first names them."""
    found = {start: 0} if start else {}
    for one in steps:
        found.setdefault(one.source, one.line)
        found.setdefault(one.target, one.line)
    return found


def _count(book: Notes, at: At, given: Mapping[str, Any]) -> tuple[int, bool]:
    """At least how many, and whether there may be more."""
    value = given.get("count", "any")
    if value == "any":
        return 0, True
    found = re.fullmatch(r"([0-9]{1,30})(\+?)", str(value)) if type(value) in (int, str) else None
    if found is None or (int(found[1]) == 0 and not found[2]):
        book.say("N011", at, f"count is {shown(value)}: {_COUNT}")
        return 0, True
    if int(found[1]) > MOST_CLIENTS:
        book.say("N011", at, f"count is {shown(value)}: write at most {MOST_CLIENTS:,}, or any")
    return int(found[1]), bool(found[2])


def _places(book: Notes, at: At, brokers: tuple[str, ...]) -> tuple[str, ...]:
    """The brokers where clients may be, in the order of the file."""
    if book.get(at) is None:
        return brokers
    if brokers == (ALONE,):
        book.say("N012", at, "there are no brokers: write brokers: [NAME] first, or drop `at`")
        return brokers
    known = book.among(at, brokers, "N012", "broker")
    return tuple(one for one in brokers if one in known) or brokers


def _returns(book: Notes, at: At, connection: str, states: Mapping[str, int]) -> str:
    """The state of a client that comes back."""
    at = (*at, "returns")
    if book.get(at) is None:
        return ""
    if connection != "reconnects":
        book.say("N010", at, "returns goes with connection: reconnects; drop the one or add it")
    try:
        name = book.name(at, "returns", "write returns: STATE")
    except Faulty:
        return ""
    if name not in states:
        book.strange(at, name, states, "N006", "state")
    return name


def _unreachable(book: Notes, kind: Kind, states: Mapping[str, int]) -> None:
    reached = {kind.start, kind.returns or kind.start}
    for _ in states:
        reached |= {one.target for one in kind.steps if one.source in reached}
    for state, line in states.items():
        if state not in reached:
            said = f"{kind.name}: no steps lead from {kind.start!r} to the state {state!r}"
            book.say(
                "N006", line, f"{said}: {near(state, reached, otherwise='add one; there are')}"
            )


# --- steps ------------------------------------------------------------------------------------


def _steps(book: Notes, kind: At, names: _Names) -> Iterator[Step]:
    entries = book.get((*kind, "steps"))
    if not isinstance(entries, list):
        book.say("N003", (*kind, "steps"), f"steps is no list: {SHAPE}")
        return
    for i, entry in enumerate(entries):
        at = (*kind, "steps", i)
        if isinstance(entry, str):
            entry = {entry: None}
        elif not isinstance(entry, Mapping) or len(entry) != 1:
            book.say("N005", at, f"this is no step: {SHAPE}")
            continue
        [(arrow, said)] = entry.items()
        where = at if isinstance(book.get(at), str) else (*at, arrow)
        ends = book.arrow(where, arrow, "states", SHAPE)
        if ends is None:
            continue
        if said is None:
            yield Step(*ends, line=book.line(where))
        elif (step := _step(book, where, ends, names)) is not None:
            yield step


def _step(book: Notes, at: At, ends: tuple[str, str], names: _Names) -> Step | None:
    said = book.fields(at, "the step", _STEP_KEYS, SHAPE)
    does = [key for key in ("subscribe", "unsubscribe", "publish") if key in said]
    if len(does) > 1:
        book.say("N005", at, f"a step does one thing, not {' and '.join(does)}: write two steps")
    publish, on = _publication(book, at, said, names)
    if "when" in said:
        book.fields((*at, "when"), "when", _WHEN, "write when: {received: MESSAGE}")
    received, not_received = (
        _messages(book, (*at, "when", key), names)
        if isinstance(said.get("when"), Mapping)
        else _NONE
        for key in _WHEN
    )
    for one in sorted(received & not_received):
        book.say("N005", (*at, "when"), f"{one!r} cannot be received and not: keep one of the two")
    return Step(
        *ends,
        book.among((*at, "subscribe"), names.topics, "N007", "topic"),
        book.among((*at, "unsubscribe"), names.topics, "N007", "topic"),
        publish, on, received, not_received,
        _messages(book, (*at, "forget"), names), book.line(at),
    )  # fmt: skip


_NONE = frozenset[str]()


def _messages(book: Notes, at: At, names: _Names) -> frozenset[str]:
    return book.among(at, names.messages, "N008", "message")


def _publication(book: Notes, at: At, said: Mapping[str, Any], names: _Names) -> tuple[str, str]:
    if ("publish" in said) != ("on" in said):
        book.say("N005", at, "publish and on go together: write {publish: MESSAGE, on: TOPIC}")
        return "", ""
    if "publish" not in said:
        return "", ""
    found = []
    for key, known, code, what in (
        ("publish", names.messages, "N008", "message"),
        ("on", names.topics, "N007", "topic"),
    ):
        try:
            name = book.name((*at, key), key, "write {publish: MESSAGE, on: TOPIC}")
        except Faulty:
            name = ""
        if name and name not in cast("Mapping[str, Any]", known):
            book.strange((*at, key), name, known, code, what)
        found.append(name)
    return found[0], found[1]
