"""Answers: a question put to a federation, or to a model, part by part, until one part says no."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ropewalk.verify.logic.checking import Outcome, Shared, check
from ropewalk.verify.logic.lasso import Trace
from ropewalk.verify.logic.lexing import FormulaError
from ropewalk.verify.logic.library import Question
from ropewalk.verify.logic.model import Model, Spec, State
from ropewalk.verify.logic.modelling import Part, parts_of
from ropewalk.verify.logic.stepping import Budget
from ropewalk.verify.logic.syntax import TRUE, shown
from ropewalk.verify.logic.telling import told
from ropewalk.verify.logic.world import World


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a property holds (None: not decided), and a path that shows why not."""

    question: Question
    holds: bool | None
    reason: str = ""
    """Why it was not decided."""
    parts: int = 0
    """Models that were looked at."""
    title: str = ""
    """Which messages the path is of."""
    steps: tuple[str, ...] = ()
    """The path in words."""
    trace: Trace | None = None
    nodes: int = 0

    def to(self, question: Question) -> "Answer":
        """The same answer to another question."""
        return replace(self, question=question)

    @property
    def witness(self) -> dict[str, Any] | None:
        """The path as data."""
        if self.trace is None:
            return None
        states = [*self.trace.stem, *self.trace.loop]
        return {
            "of": self.title,
            "steps": list(self.steps),
            "states": [dict(one) for one in states],
            "loop_from": len(self.trace.stem) if self.trace.loop else None,
            "breach": self.trace.breach,
        }


NOBODY = Question("", TRUE, "ltl")
"""A question in the place of one."""
Tell = Callable[[State | None, State], str]


def answer(question: Question, world: World, budget: Budget) -> Answer:
    """Put a question to a federation."""
    parts = parts_of(question.formula, world, question.text)
    with _asking(question):
        return _answered(question, parts, budget, lambda part: told(world, part.model))


def answers_of_model(asked: Iterable[Question], model: Model, budget: Budget) -> Iterator[Answer]:
    """Put questions to a model, one after the other; what CTL has found out is kept."""
    shared = Shared()
    for one in asked:
        with _asking(one):
            parts = [Part(model, one.formula)]
            found = _answered(one, parts, budget, lambda _: _changes, shared)
        yield found


@contextmanager
def _asking(question: Question) -> Iterator[None]:
    """A fault that is found only now is one of this question's text."""
    try:
        yield
    except FormulaError as error:
        raise FormulaError(error.message, error.at, question.text) from None


def _answered(
    question: Question,
    parts: Iterable[Part],
    budget: Budget,
    teller: Callable[[Part], Tell],
    shared: Shared | None = None,
) -> Answer:
    looked_at = nodes = 0
    undecided = ""
    for part in parts:
        spec = Spec(question.kind, part.formula)  # type: ignore[arg-type]
        outcome = check(part.model, spec, budget, shared)
        looked_at, nodes = looked_at + 1, max(nodes, outcome.nodes)
        if outcome.holds is None:
            undecided = undecided or outcome.reason
            if budget.clock() > budget.until:
                break
        elif not outcome.holds:
            return _broken(question, part, outcome, looked_at, teller(part))
    holds = None if undecided else True
    return Answer(question, holds, undecided, looked_at, nodes=nodes)


def _broken(question: Question, part: Part, outcome: Outcome, parts: int, tell: Tell) -> Answer:
    trace = outcome.trace or Trace([], [])
    steps = tuple(_steps(trace, tell))
    return Answer(question, False, "", parts, part.title, steps, trace, outcome.nodes)


def _steps(trace: Trace, tell: Tell) -> Iterator[str]:
    states = [*trace.stem, *trace.loop]
    before = None
    for number, state in enumerate(states, start=1):
        yield f"step {number}: {tell(before, state)}"
        before = state
        if trace.breach is not None and number > trace.breach:
            return
    if len(trace.loop) == 1:
        yield f"so it stays for ever (step {len(states)})"
    elif trace.loop:
        back = tell(states[-1], trace.loop[0])
        yield f"then again from step {len(trace.stem) + 1}, for ever: {back}"


def _changes(before: State | None, state: State) -> str:
    old = before or {}
    new = [
        f"{name} = {shown(value)}" for name, value in state.items() if old.get(name, _NONE) != value
    ]
    return ", ".join(new) or "nothing changes"


_NONE = object()
