"""`ropewalk verify --ltl, --ctl, --spec, --property`: properties in temporal logic."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from ropewalk.cli.apart import OUT_OF_TIME, children
from ropewalk.cli.files import load_from
from ropewalk.errors import InputError, UsageError
from ropewalk.findings import Finding, Where
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.verify.logic.answering import Answer
    from ropewalk.verify.logic.library import Question
    from ropewalk.verify.logic.model import Model
    from ropewalk.verify.logic.world import World

SECONDS = 60.0
"""What is not decided by then, without another budget, is told as not decided."""
GRACE = 2.0
"""One step of the checker may take long: then it is stopped from outside."""
NODES = 20_000_000
"""Nodes of decision diagrams, at some 40 bytes each, without another limit."""
DEEP = 20_000
"""Formulas with spans are as deep as the spans are long."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked on the command line."""

    ltl: Sequence[str]
    ctl: Sequence[str]
    spec: Path | None
    properties: Sequence[str]
    failures: list[str] | None
    pairs: str | None
    table: Path | None
    timing: str
    forwarding: str
    resend: bool
    budget: float | None = None
    nodes: int = NODES

    def __bool__(self) -> bool:
        return bool(self.ltl or self.ctl or self.spec or self.properties)


def questions(asked: Asked, world: "World | None") -> "list[Question]":
    """Everything that was asked; an InputError has a finding for each text that is no formula."""
    from ropewalk.verify.logic.lexing import FormulaError
    from ropewalk.verify.logic.library import named, question

    found, faults = [], []
    given = [(text, "ltl", "--ltl", 0) for text in asked.ltl]
    given += [(text, "ctl", "--ctl", 0) for text in asked.ctl]
    given += list(_specs(asked.spec)) if asked.spec else []
    for text, kind, file, line in given:
        try:
            one = question(text, kind or None)
        except FormulaError as error:
            faults.append(unreadable(error, text, file, line))
        else:
            found.append(type(one)(text, one.formula, one.kind, one.name, file, line))
    if faults:
        raise InputError(faults)
    for name in asked.properties:
        if world is None:
            raise UsageError("--property is of federations, not of models in SMV")
        found += named(name, world)
    return found


_SPEC = re.compile(r"\b(LTLSPEC|CTLSPEC|INVARSPEC|SPEC)\b(?:\s+NAME\s+\S+\s*:=)?")
_KINDS = {"LTLSPEC": "ltl", "CTLSPEC": "ctl", "SPEC": "ctl", "INVARSPEC": "invariant"}


def _specs(path: Path) -> Iterator[tuple[str, str, str, int]]:
    """Formulas of a file: after SPEC, CTLSPEC, LTLSPEC or INVARSPEC, or one in each line."""
    text = path.read_text(encoding="utf-8", errors="replace")
    plain = re.sub(r"(?<!\w)--[^\n]*", lambda m: " " * len(m[0]), text)
    places = list(_SPEC.finditer(plain))
    if not places:
        for number, line in enumerate(plain.splitlines(), start=1):
            if line.strip():
                yield line.strip().removesuffix(";"), "", str(path), number
        return
    if lead := plain[: places[0].start()].strip():
        raise UsageError(f"{path}: {lead.split()[0]!r} stands before the first SPEC")
    ends = [*(one.start() for one in places[1:]), len(plain)]
    for place, end in zip(places, ends, strict=True):
        body = plain[place.end() : end].strip().removesuffix(";").strip()
        yield body, _KINDS[place[1]], str(path), plain.count("\n", 0, place.start()) + 1


def unreadable(error: Any, text: str, file: str, line: int) -> Finding:
    """What is wrong with a formula, and where."""
    says = f"column {error.column}: {error.message}: {_marked(text, error.at)}"
    return Finding("Q003", says, Where(file, line), witness={"column": error.column, "text": text})


def _marked(text: str, at: int) -> str:
    """The formula with a mark where it goes wrong."""
    return f"{text[:at]}>>>{text[at:]}".replace("\n", " ")


def answered(path: Path, asked: Asked) -> tuple[Document, str]:
    """Decide all that was asked of a federation's file, or of a model in SMV."""
    from ropewalk.verify.logic.lexing import FormulaError

    start = monotonic()
    world, model = (None, _model(path)) if path.suffix == ".smv" else (world_for(path, asked), None)
    asking = questions(asked, world)
    if model is not None:
        asking = [*_own(model, str(path)), *asking]
    if not asking:
        raise UsageError(f"{path}: no property is asked after: add SPEC, or --ltl FORMULA")
    if world is not None:
        with _deep():
            _look_up(asking, world)
    seconds = SECONDS if asked.budget is None else asked.budget
    try:
        with _deep():
            answers, times = _decided(asking, world, model, start + seconds, asked.nodes)
    except FormulaError as error:
        one = next((q for q in asking if q.text == error.text), asking[0])
        fault = unreadable(error, one.text, one.file, one.line)
        raise InputError([fault]) from None
    return _document(path, asked, answers, times)


@contextmanager
def _deep() -> Iterator[None]:
    """Let formulas with spans be as deep as their spans are long."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(DEEP, before))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def world_for(path: Path, asked: Asked) -> "World":
    """A federation's file as properties see it."""
    from ropewalk.federation.loading import MAX_YAML_MB
    from ropewalk.routing import read_table
    from ropewalk.verify.logic.world import Manner, world_of

    federation = load_from(path, max_mb=MAX_YAML_MB)
    table = read_table(asked.table, federation) if asked.table else None
    manner = Manner(asked.timing, asked.forwarding, asked.resend)  # type: ignore[arg-type]
    pairs: Any = asked.pairs
    return world_of(federation, asked.failures, manner=manner, pairs=pairs, table=table)


def _model(path: Path) -> "Model":
    from ropewalk.verify.smv import read_smv

    return read_smv(path.read_text(encoding="utf-8", errors="replace"), str(path))


def _own(model: "Model", file: str) -> "Iterator[Question]":
    """The properties that a model brings along."""
    from ropewalk.verify.logic.library import Question

    for one in model.specs:
        yield Question(one.text, one.formula, one.kind, one.name, file)


def _decided(
    asking: "list[Question]",
    world: "World | None",
    model: "Model | None",
    until: float,
    nodes: int,
) -> "tuple[list[Answer], list[float]]":
    """All answers and the seconds that each took; what breaks down or takes too long is none."""
    from ropewalk.verify.logic.answering import Answer, answer, answers_of_model
    from ropewalk.verify.logic.stepping import Budget

    answers: list[Answer] = []
    times: list[float] = []
    while len(answers) < len(asking):
        rest = asking[len(answers) :]
        if monotonic() >= until:
            answers += [Answer(one, None, OUT_OF_TIME) for one in rest]
            break
        budget = Budget(monotonic, until, nodes)
        if model is not None:
            deciding = answers_of_model(rest, model, budget)
        else:
            deciding = (answer(one, world, budget) for one in rest)  # type: ignore[arg-type]
        begun, reason = monotonic(), ""
        for found in _apart(deciding, until + GRACE):
            if isinstance(found, str):
                reason = found
                break
            answers.append(found.to(asking[len(answers)]))
            times.append(round(monotonic() - begun, 3))
            begun = monotonic()
        if reason:
            answers.append(Answer(asking[len(answers)], None, reason))
    return answers, times + [0.0] * (len(answers) - len(times))


def _look_up(asking: "list[Question]", world: "World") -> None:
    """Every name that the federation does not have, before anything is decided."""
    from ropewalk.verify.logic.asking import asked
    from ropewalk.verify.logic.lexing import FormulaError

    faults = []
    for one in asking:
        try:
            asked(one.formula, world, one.text)
        except FormulaError as error:
            faults.append(unreadable(error, one.text, one.file, one.line))
    if faults:
        raise InputError(faults)


def _apart(deciding: "Iterator[Answer]", until: float) -> "Iterator[Answer | str]":
    """Answers from a process of its own, one by one; at last why there are no more, if so."""
    from ropewalk.verify.logic.answering import NOBODY

    # a long formula is not sent to and fro
    with children([lambda: (one.to(NOBODY) for one in deciding)]) as (child,):
        try:
            while child.here.poll(max(until - monotonic(), 0)):
                found = child.received()
                if found is None:
                    return
                yield found
            yield OUT_OF_TIME
        except EOFError:
            yield child.broke_down()


def _document(
    path: Path, asked: Asked, answers: "list[Answer]", times: list[float]
) -> tuple[Document, str]:
    findings = [one for answer in answers for one in _findings(path, answer)]
    told = [_told(answer, seconds) for answer, seconds in zip(answers, times, strict=True)]
    count = {holds: sum(one.holds is holds for one in answers) for holds in (True, False, None)}
    summary = {
        "properties": told,
        "hold": count[True],
        "fail": count[False],
        "undecided": count[None],
        "timing": asked.timing,
        "forwarding": asked.forwarding,
        "resend": asked.resend,
    }
    outcome: Any = "findings" if count[False] else "undecided" if count[None] else "ok"
    return Document("verify", outcome, summary, findings), _text(answers)


def _told(answer: "Answer", seconds: float) -> dict[str, Any]:
    one = answer.question
    return {
        "property": one.name,
        "formula": one.text,
        "logic": one.kind,
        "holds": answer.holds,
        "reason": answer.reason,
        "models": answer.parts,
        "nodes": answer.nodes,
        "seconds": seconds,
    }


def _findings(path: Path, answer: "Answer") -> Iterator[Finding]:
    one = answer.question
    in_file = one.file and not one.file.startswith("--")
    where = Where(one.file, one.line) if in_file else Where(str(path))
    if answer.holds is False:
        of = f" for {answer.title}" if answer.title else ""
        says = f"{one.text} does not hold{of}: {'; '.join(answer.steps)}"
        yield Finding("Q001", says, where, "error", answer.witness)
    elif answer.holds is None:
        yield Finding("Q002", f"{one.text} was not decided: {answer.reason}", where, "warning")


def _text(answers: "list[Answer]") -> str:
    words = {True: "holds", False: "does not hold", None: "not decided"}
    lines = []
    for one in answers:
        name = f"{one.question.name}: " if one.question.name else ""
        lines.append(f"{words[one.holds]}: {name}{one.question.text}")
    return "\n".join(lines)
