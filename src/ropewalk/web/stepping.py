"""A conversation stepped through on its protocol: where it stands, and what may come next.

Somebody who steps by hand knows the state; a trace does not tell every field, and no deadlines, so
that it stands in one of several states.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ropewalk.protocol.automaton import NOBODY, Automaton
from ropewalk.protocol.observed import late, letters_seen

MOST_STEPS = 2_000


@dataclass(frozen=True, slots=True)
class Next:
    """Something that may come next: its label, who says it to whom, and where that leads."""

    label: str
    who: str
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What was said, and where the conversation stands after it."""

    label: str
    states: frozenset[int]
    forbidden: str = ""
    """Why it was not allowed: then it stands where it stood."""


@dataclass(frozen=True, eq=False, slots=True)
class Walk:
    """A conversation on a protocol; `steps` begins with where it starts."""

    automaton: Automaton
    steps: tuple[Step, ...]
    recorded: bool = False
    """Whether it is of a trace."""

    @property
    def said(self) -> tuple[str, ...]:
        """The labels, one after the other."""
        return tuple(one.label for one in self.steps[1:])

    @property
    def over(self) -> bool:
        """Whether nothing more is judged: it has left its protocol."""
        return bool(self.steps[-1].forbidden)

    def names(self, step: int) -> str:
        """The states in which it may stand after a step."""
        states = sorted(self.steps[step].states)
        return " or ".join(self.automaton.states[state] for state in states)

    def may_end(self, step: int) -> bool:
        """Whether the conversation may be over then."""
        return bool(self.steps[step].states & self.automaton.accepting)

    def next(self, step: int) -> list[Next]:
        """What may come after a step."""
        return list(_next(self.automaton, self.steps[step].states, recorded=self.recorded))


def walked(automaton: Automaton, labels: Iterable[str], *, recorded: bool = False) -> Walk:
    """A conversation, up to the first step that the protocol forbids.

    >>> from ropewalk.protocol import automaton
    >>> one = automaton("{protocol: p, initial: a, accepting: [b], transitions: [a -> b: m]}")
    >>> walked(one, ["m", "m"]).steps[-1].forbidden
    'after m nothing may come'
    """
    at = frozenset({automaton.initial})
    known = _letters(automaton, recorded=recorded)
    steps = [Step("", late(automaton, at) if recorded else at)]
    for label in labels:
        if steps[-1].forbidden or len(steps) > MOST_STEPS:
            break
        before = steps[-1].states
        after = {automaton.rows[s][one] for s in before for one in known.get(label, ())} - {-1}
        if after:
            at = frozenset(after)
            steps.append(Step(label, late(automaton, at) if recorded else at))
        else:
            why = _forbidden(automaton, steps, label, label in known, recorded=recorded)
            steps.append(Step(label, before, why))
    return Walk(automaton, tuple(steps), recorded)


def _forbidden(
    automaton: Automaton, steps: Sequence[Step], label: str, known: bool, *, recorded: bool
) -> str:
    expected = [one.label for one in _next(automaton, steps[-1].states, recorded=recorded)]
    after = f"after {steps[-1].label}" if steps[-1].label else "at the beginning"
    what = "" if known else f"{automaton.name} has no {label!r}; "
    if not expected:
        return f"{what}{after} nothing may come"
    return f"{what}{after} expected: {', '.join(expected)}"


def _next(automaton: Automaton, states: frozenset[int], *, recorded: bool) -> Iterator[Next]:
    """By label; a trace that may name just a message is not told twice what may come."""
    rows = automaton.rows
    for number, letter in enumerate(automaton.letters):
        deadline = letter.sender != NOBODY and letter.receiver == NOBODY
        if recorded and deadline:
            continue
        to = sorted({rows[state][number] for state in states} - {-1})
        if to:
            names = tuple(automaton.states[state] for state in to)
            yield Next(letter.name, _who(automaton, number, deadline=deadline), names)


def _who(automaton: Automaton, number: int, *, deadline: bool) -> str:
    letter, roles = automaton.letters[number], automaton.roles
    if letter.sender == NOBODY:
        return ""
    if deadline:
        return f"deadline of {roles[letter.sender]}"
    return f"{roles[letter.sender]} to {roles[letter.receiver]}"


def _letters(automaton: Automaton, *, recorded: bool) -> dict[str, tuple[int, ...]]:
    """What a label may stand for; deadlines are a person's to step over, a trace has none."""
    seen = letters_seen(automaton)
    return seen if recorded else {**{one: (i,) for one, i in automaton.number.items()}, **seen}
