"""Protocols from lists of constraints, as standards give them: what may be said only after what.

    protocol: trade
    messages: {consumer -> merchant: [ping, inquiry, pay, cancel], merchant -> consumer: [paid]}
    constraints:
      - first: [ping, inquiry]           # a conversation begins with one of these
      - once: [ping]                     # said at most once
      - after: {pay: [inquiry]}          # pay only after inquiry was said
      - never: {cancel: [paid]}          # no cancel any more after paid
      - alternate: [pay, paid]           # pay is answered by paid before it is said again
      - modes: {begin a: [x], begin b: [y]}   # x only while a was begun last

Each constraint is a small automaton over all messages; the protocol is their product. A
conversation may end wherever no `alternate` is open.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ropewalk.protocol.automaton import MOST_STATES, Automaton, Letter, Place
from ropewalk.protocol.notebook import At, Notebook

_LISTS = ("first", "once")
_MAPS = ("after", "never")
_KINDS = (*_LISTS, *_MAPS, "alternate", "modes")
_SHAPE = f"write one of {', '.join(_KINDS)}"


@dataclass(frozen=True, slots=True)
class Part:
    """A constraint as an automaton: by state and message the next state; absent is forbidden."""

    names: tuple[str, ...]
    """Of its states; the first is where it begins, and has none."""
    step: tuple[Mapping[str, int], ...]
    """Only messages that it speaks of; all others leave it where it is."""
    speaks_of: frozenset[str]
    open: frozenset[int] = field(default_factory=frozenset)
    """States in which a conversation must not end."""

    def next(self, state: int, message: str) -> int:
        """The state after a message, or -1."""
        if message not in self.speaks_of:
            return state
        return self.step[state].get(message, -1)


def constrained(
    book: Notebook,
    name: str,
    roles: tuple[str, ...],
    senders: Mapping[str, tuple[str, str]],
    places: Mapping[str, Place],
) -> Automaton | None:
    """The automaton of a file's constraints; None if it cannot be made, which is noted."""
    entries = book.value.get("constraints")
    for key in ("initial", "accepting"):
        if key in book.value:
            book.say("P003", (key,), f"{key} goes with transitions: constraints need none")
    if not senders:
        book.say("P003", ("constraints",), "messages is missing: write {A -> B: [NAME]}")
    if not isinstance(entries, list) or not entries:
        book.say("P003", ("constraints",), f"there are no constraints: {_SHAPE}")
        return None
    parts = []
    for i, entry in enumerate(entries):
        for part in _parts(book, ("constraints", i), entry, list(senders)):
            parts.append(part)
            for message in sorted(part.speaks_of - set(senders)):
                told = f"nobody says {message!r}: write it under messages"
                book.say("P008", ("constraints", i), told)
    if book.faults:
        return None
    return _product(book, name, roles, senders, places, parts)


# --- each constraint --------------------------------------------------------------------------


def _parts(book: Notebook, at: At, entry: Any, messages: Sequence[str]) -> Iterator[Part]:
    if not isinstance(entry, Mapping) or len(entry) != 1 or not set(entry) <= set(_KINDS):
        book.say("P012", at, f"this is no constraint: {_SHAPE}")
        return
    [kind] = entry
    here = (*at, kind)
    if kind in _LISTS:
        names = book.names(here, kind, f"write {kind}: [MESSAGE]")
        yield from (_once(one) for one in names) if kind == "once" else [_first(names, messages)]
    elif kind == "alternate":
        names = book.names(here, kind, "write alternate: [ASK, ANSWER]")
        if len(names) != 2:
            book.say("P012", here, "alternate takes two messages: write alternate: [ASK, ANSWER]")
        else:
            yield _alternate(*names)
    else:
        yield from _mapped(book, here, kind, entry[kind])


def _mapped(book: Notebook, at: At, kind: str, given: Any) -> Iterator[Part]:
    write = f"write {kind}: {{MESSAGE: [MESSAGE]}}"
    if not isinstance(given, Mapping) or not given:
        book.say("P012", at, f"{kind} names no messages: {write}")
        return
    named = {one: book.names((*at, one), kind, write) for one in given}
    if kind == "modes":
        yield _modes(named)
        return
    make = _after if kind == "after" else _never
    for one, some in named.items():
        if kind == "after" and one in some:
            told = f"{one!r} only after itself could never be said"
            book.say("P012", (*at, one), f"{told}: name what goes before it")
        yield from (make(one, other) for other in some)


def _first(names: Sequence[str], messages: Sequence[str]) -> Part:
    everything = dict.fromkeys([*messages, *names], 1)
    return Part(("", ""), (dict.fromkeys(names, 1), everything), frozenset(everything))


def _once(message: str) -> Part:
    return Part(("", message), ({message: 1}, {}), frozenset([message]))


def _after(message: str, other: str) -> Part:
    steps = ({other: 1}, {other: 1, message: 1})
    return Part(("", other), steps, frozenset([message, other]))


def _never(message: str, other: str) -> Part:
    if message == other:
        return _once(message)
    return Part(("", other), ({message: 0, other: 1}, {other: 1}), frozenset([message, other]))


def _alternate(ask: str, answer: str) -> Part:
    steps = ({ask: 1}, {answer: 0})
    return Part(("", f"{ask} open"), steps, frozenset([ask, answer]), frozenset([1]))


def _modes(modes: Mapping[str, Sequence[str]]) -> Part:
    """Each mode has its own messages; whoever begins one leaves the one before."""
    enter = {mode: i + 1 for i, mode in enumerate(modes)}
    steps = [dict(enter)]
    for i, some in enumerate(modes.values()):
        steps.append({**enter, **dict.fromkeys(some, i + 1)})
    inside = {one for some in modes.values() for one in some}
    names = ("", *(f"{mode} mode" for mode in modes))
    return Part(names, tuple(steps), frozenset([*modes, *inside]))


# --- their product ----------------------------------------------------------------------------


def _product(
    book: Notebook,
    name: str,
    roles: tuple[str, ...],
    senders: Mapping[str, tuple[str, str]],
    places: Mapping[str, Place],
    parts: Sequence[Part],
) -> Automaton | None:
    messages = list(senders)
    begin = (0,) * len(parts)
    number, rows, edge = {begin: 0}, list[list[int]](), [begin]
    for state in edge:  # grows while it is read
        row = []
        for message in messages:
            to = tuple(part.next(at, message) for part, at in zip(parts, state, strict=True))
            if min(to, default=0) < 0:
                row.append(-1)
                continue
            if to not in number:
                number[to] = len(number)
                edge.append(to)
            row.append(number[to])
        rows.append(row)
        if len(number) > MOST_STATES:
            most = f"more than {MOST_STATES:,} states"
            book.say("P013", ("constraints",), f"the constraints make {most}: use fewer")
            return None
    for i, message in enumerate(messages):
        if all(row[i] < 0 for row in rows):
            told = f"{message!r} can never be said: the constraints exclude it"
            book.say("P012", ("constraints",), f"{told}; change them, or drop the message")
    letters = tuple(
        Letter(one, one, roles.index(senders[one][0]), roles.index(senders[one][1]))
        for one in messages
    )
    table = np.array(rows, np.int16)
    table.flags.writeable = False
    ended = [i for state, i in number.items() if not _is_open(parts, state)]
    line = book.line(("constraints",))
    return Automaton(
        name,
        _names(parts, list(number)),
        letters,
        0,
        frozenset(ended),
        table,
        roles,
        conversation=places["conversation"],
        message=places["message"],
        lines=(line,) * len(number),
        file=book.file,
    )


def _is_open(parts: Sequence[Part], state: tuple[int, ...]) -> bool:
    return any(at in part.open for part, at in zip(parts, state, strict=True))


def _names(parts: Sequence[Part], states: Sequence[tuple[int, ...]]) -> tuple[str, ...]:
    """Each state by what was said before it, as far as that matters."""
    found: dict[str, int] = {}
    for i, state in enumerate(states):
        said = dict.fromkeys(part.names[at] for part, at in zip(parts, state, strict=True) if at)
        name = ", ".join(one for one in said if one) or ("begun" if i else "start")
        found[name if name not in found else f"{name} ({i})"] = i
    return tuple(found)
