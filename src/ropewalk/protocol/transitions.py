"""Transitions as a file draws them, to states, letters and the table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from ropewalk.protocol.automaton import (
    MOST_STATES,
    NOBODY,
    NOT_ALLOWED,
    Automaton,
    Deadline,
    Letter,
    Place,
)
from ropewalk.protocol.guards import ELSE, Guard, cases, condition, many_cases
from ropewalk.protocol.notebook import At, Faulty, Notebook

SHAPE = "write - FROM -> TO: MESSAGE"
TIMEOUT = "timeout of "
"""How the letter of a role's deadlines is called."""
_FIELDS = ("message", "when", "answer", "timeout_s", "at")
_MAP = "write {message: NAME, when: FIELD = VALUE} or {timeout_s: SECONDS, at: ROLE}"

Senders = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Move:
    """A transition as it is drawn."""

    source: str
    target: str
    message: str
    line: int
    guard: Guard | None = None
    after_us: int = 0
    at: str = ""
    """Whose deadline it is."""
    asks: bool = False
    """Whether its answer is drawn with it; there may be several."""

    def same(self, other: "Move") -> bool:
        """Whether both are one request, drawn with different answers."""
        return self.asks and (self.target, self.guard) == (other.target, other.guard)


@dataclass(slots=True)
class Alphabet:
    """The letters of the moves: who says them, and which guards tell those of a message apart."""

    letters: list[Letter] = field(default_factory=list)
    guards: dict[str, tuple[Guard, ...]] = field(default_factory=dict)
    examples: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """Fields that make a message this letter."""
    deadlines: set[int] = field(default_factory=set)
    """Letters that are no messages."""

    def taken_by(self, move: Move) -> Iterator[int]:
        """The letters that a move stands for."""
        for i, letter in enumerate(self.letters):
            if letter.message != move.message or bool(move.after_us) != (i in self.deadlines):
                continue
            if move.guard is None or self._number(move) in letter.holding:
                yield i

    def _number(self, move: Move) -> int:
        return self.guards[move.message].index(move.guard)


def drawn(
    book: Notebook, name: str, roles: tuple[str, ...], senders: Senders, places: Mapping[str, Place]
) -> Automaton | None:
    """The automaton that a file draws; None if it cannot be made, which is noted."""
    moves = list(_moves(book, senders, roles))
    if not moves:
        if not book.faults:
            book.say("P003", ("transitions",), f"there are no transitions: {SHAPE}")
        return None
    states = _states(moves)
    if len(states) > MOST_STATES:
        book.say("P013", 1, f"it has {len(states):,} states: write at most {MOST_STATES:,}")
        return None
    initial = _state(book, ("initial",), "initial", states)
    accepting = _accepting(book, states)
    alphabet = alphabet_of(book, moves, roles, senders)
    table = _table(book, moves, list(states), alphabet)
    table.flags.writeable = False
    made = Automaton(
        name,
        tuple(states),
        tuple(alphabet.letters),
        initial,
        frozenset(accepting),
        table,
        roles,
        alphabet.guards,
        _deadlines(moves, list(states), alphabet, roles),
        places["conversation"],
        places["message"],
        tuple(states.values()),
        book.file,
    )
    _unreachable(book, made)
    return made


# --- reading them -----------------------------------------------------------------------------


def _moves(book: Notebook, senders: Senders, roles: Sequence[str]) -> Iterator[Move]:
    entries = book.value.get("transitions")
    if not isinstance(entries, list) or not entries:
        where = ("transitions",) if "transitions" in book.value else ()
        missing = "there are no transitions" if where else "transitions is missing"
        book.say("P003", where, f"{missing}: {SHAPE}")
        return
    for i, entry in enumerate(entries):
        at: At = ("transitions", i)
        if not isinstance(entry, Mapping) or len(entry) != 1:
            book.say("P005", at, f"this is no transition with a message: {SHAPE}")
            continue
        [(arrow, said)] = entry.items()
        ends = book.arrow((*at, arrow), arrow, "states", SHAPE)
        if ends is not None:
            yield from _move(book, (*at, arrow), ends, said, senders, roles)


def _move(
    book: Notebook,
    at: At,
    ends: tuple[str, str],
    said: Any,
    senders: Senders,
    roles: Sequence[str],
) -> Iterator[Move]:
    line = book.line(at)
    if not isinstance(said, Mapping):
        message = _message(book, at, senders, SHAPE)
        if message:
            yield Move(*ends, message, line)
        return
    for key in said:
        if key not in _FIELDS:
            book.say("P004", (*at, key), f"{key!r} is not known here: {_MAP}")
    if "timeout_s" in said:
        yield from _deadline(book, at, ends, said, roles)
        return
    message = _message(book, (*at, "message"), senders, _MAP)
    if not message:
        return
    move = Move(*ends, message, line, _guard(book, (*at, "when"), said.get("when")))
    yield from _answered(book, at, move, senders) if "answer" in said else [move]


def _message(book: Notebook, at: At, senders: Senders, write: str) -> str | None:
    try:
        name = book.name(at, "the message", write)
    except Faulty:
        return None
    if name.startswith(TIMEOUT):
        book.say("P008", at, f"{name!r} is how deadlines are called: give the message another name")
    if senders and name not in senders:
        near = get_close_matches(name, senders, 1)
        meant = f"did you mean {near[0]!r}?" if near else "write it under messages"
        book.say("P008", at, f"nobody says {name!r}: {meant}")
    return name


def _answered(book: Notebook, at: At, ask: Move, senders: Senders) -> Iterator[Move]:
    """A request and its answer, with a state between them."""
    answer = _message(book, (*at, "answer"), senders, _MAP)
    if not answer:
        return
    if senders and ask.message in senders and answer in senders:
        who, whom = senders[ask.message]
        if senders[answer] != (whom, who):
            said = f"{answer!r} is no answer to {ask.message!r}: {whom} does not say it to {who}"
            book.say("P008", (*at, "answer"), f"{said}; correct the one or the other")
    between = f"{ask.source}/{ask.message}"
    if ask.guard is not None:
        between += f"[{ask.guard}]"
    yield replace(ask, target=between, asks=True)
    yield Move(between, ask.target, answer, ask.line)


def _deadline(
    book: Notebook, at: At, ends: tuple[str, str], said: Mapping[str, Any], roles: Sequence[str]
) -> Iterator[Move]:
    seconds, role = said["timeout_s"], said.get("at", "")
    role = str(role) if isinstance(role, int) else role
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not 1e-6 <= seconds < 1e9:
        write = "write timeout_s: SECONDS, a number from a millionth to 1e9"
        book.say("P005", (*at, "timeout_s"), f"timeout_s is {seconds!r}: {write}")
        return
    if role not in roles:
        known = ", ".join(roles) or "roles under messages"
        where = (*at, "at") if "at" in said else at
        book.say("P007", where, f"whose deadline is it? {role!r} is no role: write at: {known}")
        return
    if set(said) & {"message", "when", "answer"}:
        book.say("P005", at, f"a deadline has no message: {_MAP}")
        return
    name = f"{TIMEOUT}{role}"
    yield Move(*ends, name, book.line(at), None, round(seconds * 1e6), str(role))


def _guard(book: Notebook, at: At, given: Any) -> Guard | None:
    if given is None:
        return None
    texts = given if isinstance(given, list) else [given]
    if not texts:
        book.say("P011", at, "when has no condition: write FIELD = VALUE, or leave it out")
    found = [condition(text) if isinstance(text, str) else None for text in texts]
    for i, (text, one) in enumerate(zip(texts, found, strict=True)):
        if one is None:
            where = (*at, i) if isinstance(given, list) else at
            told = f"{text!r} is no condition: write FIELD = VALUE, with = != < <= > >="
            book.say("P011", where, f"{told} (in order are only numbers)")
    if not texts or None in found:
        return None
    return Guard(tuple(one for one in found if one is not None))


def _states(moves: Iterable[Move]) -> dict[str, int]:
    """States by name, with the line that first names them."""
    found: dict[str, int] = {}
    for one in moves:
        found.setdefault(one.source, one.line)
        found.setdefault(one.target, one.line)
    return found


def _accepting(book: Notebook, states: Mapping[str, int]) -> list[int]:
    given = book.value.get("accepting")
    write = "write accepting: [STATE]"
    if not isinstance(given, list) or not given:
        where = ("accepting",) if "accepting" in book.value else ()
        said = "accepting names no states" if where else "accepting is missing"
        book.say("P003", where, f"{said}: {write}")
        return []
    return [_state(book, ("accepting", i), "accepting", states) for i in range(len(given))]


def _state(book: Notebook, at: At, where: str, states: Mapping[str, int]) -> int:
    try:
        name = book.name(at, f"a state of {where}", f"write {where} with a state's name")
    except Faulty:
        return 0
    if name not in states:
        near = get_close_matches(name, states, 1)
        known = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join([*states][:8])}"
        what = f"{where} names the state {name!r}, which no transition has"
        book.say("P006", at, f"{what}: {known}")
        return 0
    return list(states).index(name)


# --- making the table -------------------------------------------------------------------------


def alphabet_of(
    book: Notebook, moves: Sequence[Move], roles: Sequence[str], senders: Senders
) -> Alphabet:
    """Letters in the order of their first move; of a guarded message, one for each case."""
    made, number = Alphabet(), {role: i for i, role in enumerate(roles)}
    for message in dict.fromkeys(one.message for one in moves):
        some = [one for one in moves if one.message == message]
        if some[0].after_us:
            made.deadlines.add(len(made.letters))
            made.letters.append(Letter(message, message, number.get(some[0].at, NOBODY)))
            continue
        who, whom = senders.get(message, ("", ""))
        ends = number.get(who, NOBODY), number.get(whom, NOBODY)
        guards = tuple(dict.fromkeys(one.guard for one in some if one.guard is not None))
        if not guards:
            made.letters.append(Letter(message, message, *ends))
        elif many_cases(guards):
            line = next(one.line for one in some if one.guard is not None)
            book.say("P013", line, f"{message!r} has too many conditions to tell apart: use fewer")
        else:
            made.guards[message] = guards
            for holding, fields in cases(guards):
                said = ", ".join(str(guards[i]) for i in holding) or ELSE
                made.examples[len(made.letters)] = fields
                made.letters.append(Letter(f"{message}[{said}]", message, *ends, holding))
    _same_names(book, moves, made.letters)
    return made


def _same_names(book: Notebook, moves: Sequence[Move], letters: Iterable[Letter]) -> None:
    """Letters are known by their names: a message must not be called as a case of another is."""
    line, first = {one.message: one.line for one in reversed(moves)}, dict[str, Letter]()
    for letter in letters:
        if first.setdefault(letter.name, letter) is not letter:
            told = f"{letter.name!r} would be the name of two messages"
            book.say("P008", line[letter.message], f"{told}: give one of them another name")


def _table(book: Notebook, moves: Sequence[Move], states: Sequence[str], alphabet: Alphabet) -> Any:
    number = {state: i for i, state in enumerate(states)}
    table = np.full((len(states), len(alphabet.letters)), NOT_ALLOWED, np.int16)
    first: dict[tuple[str, int], Move] = {}
    told: set[Move] = set()
    for move in moves:
        for letter in alphabet.taken_by(move):
            known = first.setdefault((move.source, letter), move)
            if known.same(move):
                table[number[move.source], letter] = number[move.target]
            elif known is not move and move not in told:
                told.add(move)
                book.say("P009", move.line, _two_ways(known, move, alphabet.examples.get(letter)))
            elif known is move:
                table[number[move.source], letter] = number[move.target]
    return table


def _two_ways(known: Move, move: Move, fields: Mapping[str, Any] | None) -> str:
    if (known.target, known.guard) == (move.target, move.guard):
        return f"this transition is also in line {known.line}: keep one of them"
    said = f"{move.message!r} leads from {move.source!r} to {move.target!r}"
    there = f"in line {known.line} to {known.target!r}"
    if not fields:
        return f"{said}, and {there}: give each its own message, or conditions"
    given = ", ".join(f"{name} = {value}" for name, value in fields.items() if value is not None)
    return f"{said}, and {there}, both for {given or 'other fields'}: let conditions exclude it"


def _deadlines(
    moves: Sequence[Move],
    states: Sequence[str],
    alphabet: Alphabet,
    roles: Sequence[str],
) -> tuple[Deadline, ...]:
    found = []
    for move in moves:
        if not move.after_us:
            continue
        [letter] = alphabet.taken_by(move)
        role = roles.index(move.at)
        found.append(Deadline(states.index(move.source), letter, move.after_us, role))
    return tuple(found)


def _unreachable(book: Notebook, made: Automaton) -> None:
    if book.faults:  # what cannot be reached may follow from what is wrong
        return
    for state in sorted(set(range(len(made.states))) - made.reachable):
        told = f"the state {made.states[state]!r} cannot be reached from {_initial(made)!r}"
        book.say("P010", made.lines[state], f"{told}: add the transition that leads there")


def _initial(made: Automaton) -> str:
    return made.states[made.initial]
