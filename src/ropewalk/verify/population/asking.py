"""What is asked of a file: one net for each bad pattern of a model, or the net of a `.spec` file.

And what the answers mean in the file's own names. A run of a model is told as a story of clients,
which is replayed by the model's semantics; a verdict whose story does not hold is not given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from ropewalk.errors import StoryError, UsageError
from ropewalk.verify.population.clients import Reduced, Story, load_population, reduce
from ropewalk.verify.population.engine.verdict import OMEGA, Answer, GaveUp, Limits, Safe, Unsafe
from ropewalk.verify.population.net import Amounts, Net
from ropewalk.verify.population.run import Run, Step
from ropewalk.verify.population.spec import load_spec

Verdict = Literal["safe", "unsafe", "undecided"]

MOST_TOLD = 100_000
"""A longer run is not told client by client."""


@dataclass(frozen=True, slots=True)
class Question:
    """Whether something bad can come about, in a file."""

    file: str
    name: str
    """The bad pattern; nothing for a net."""
    line: int
    net: Net
    reduced: Reduced | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What was found, in the names of the file."""

    question: Question
    verdict: Verdict
    method: str
    evidence: str = ""
    """What shows it, or why nothing does."""
    clients: Mapping[str, int] = field(default_factory=dict)
    length: int = 0
    """Steps of the run, of clients or of the net."""
    lines: Sequence[str] = ()
    witness: Sequence[Mapping[str, Any]] = ()


def questions(
    path: Path, *, semantics: str | None = None, bad: Sequence[str] = ()
) -> list[Question]:
    """Everything that is asked of a file; raises PopulationError, with all its faults."""
    if path.suffix == ".spec":
        if semantics or bad:
            raise UsageError(f"{path}: a net has neither semantics nor patterns: leave them out")
        net = load_spec(path)
        return [Question(str(path), "", 0, net)]
    population = load_population(path, semantics=semantics)
    found = []
    for name in bad or population.patterns:
        reduced = reduce(population, name)
        line = population.patterns[name].line
        found.append(Question(str(path), name, line, reduced.net, reduced))
    return found


def told(question: Question, answer: Answer) -> Told:
    """An answer in the names of its file."""
    if isinstance(answer, GaveUp):
        return Told(question, "undecided", answer.method, answer.reason)
    if isinstance(answer, Safe):
        return Told(question, "safe", answer.method, str(answer.invariant))
    run, method = answer.run, answer.method
    if question.reduced is None:
        clients = {"in open places": _in_open_places(question.net, run)}
        lines = tuple(_lines(question.net, run))
        return Told(question, "unsafe", method, "", clients, run.length, lines)
    if run.length > MOST_TOLD:
        clients = question.reduced.clients(run.start)
        why = f"a run of {run.length:,} steps, too long to tell"
        return Told(question, "unsafe", method, why, clients, run.length)
    try:
        story: Story = question.reduced.tell(run)
    except StoryError as error:
        return Told(question, "undecided", method, f"its story does not hold: {error}")
    return Told(
        question,
        "unsafe",
        method,
        "",
        story.clients,
        len(story.witness),
        tuple(story.lines),
        story.witness,
    )


def _in_open_places(net: Net, run: Run) -> int:
    return sum(count for place, count in run.start.items() if place in net.open)


def _lines(net: Net, run: Run) -> list[str]:
    """A net's run: which rule of which line, and how often in a row."""
    lines = []
    for rule, times in islice(run.flat(), MOST_TOLD):
        often = f", {times:,} times" if times > 1 else ""
        lines.append(f"{net.rules[rule].name} (line {net.rules[rule].line}){often}")
    return lines


def evidence(question: Question, answer: Safe | Unsafe) -> dict[str, Any]:
    """All that shows an answer, in the net's names, for whoever wants to check it."""
    net = question.net
    found: dict[str, Any] = {
        "file": question.file,
        "pattern": question.name,
        "targets": [_named(net, target) for target in net.targets],
        "method": answer.method,
    }
    if isinstance(answer, Unsafe):
        start = {net.places[place]: count for place, count in answer.run.start.items() if count}
        steps = _steps(net, answer.run.steps)
        return found | {"verdict": "unsafe", "start": start, "steps": steps}
    invariant = answer.invariant
    found |= {"verdict": "safe", "never": [net.places[place] for place in invariant.empty]}
    if isinstance(invariant, Limits):
        places = [net.places[place] for place in invariant.places]
        rows = [["any" if one == OMEGA else one for one in row] for row in invariant.rows.tolist()]
        return found | {"places": places, "limits": rows}
    return found | {
        "unreachable": [_named(net, demand) for demand in invariant.demands],
        "never_rising": [_named(net, weights) for weights in invariant.bounds],
        "excluded_in_fractions": [
            {"demand": _named(net, demand), "weights": [_named(net, one) for one in proof]}
            for demand, proof in invariant.excluded
        ],
    }


def _named(net: Net, given: Amounts) -> dict[str, int]:
    return {net.places[place]: count for place, count in given}


def _steps(net: Net, steps: tuple[Step, ...]) -> list[list[Any]]:
    return [
        [net.rules[one].name if isinstance(one, int) else _steps(net, one), times]
        for one, times in steps
    ]
