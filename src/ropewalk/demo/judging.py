"""What has to hold in a demo. A run in which it does not is told as that, and is no success."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ropewalk.demo.figures import Audited, Driven, Risk
from ropewalk.findings import Finding, Where
from ropewalk.report.document import Outcome

ALIKE = 0.9
"""A second run with fewer messages than this part of the first is not held against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All figures that are judged."""

    folder: str
    planted: bool
    """Whether the planted mistake was found."""
    bad_cases: int
    """That the mended federation still has."""
    runs: Mapping[str, Driven]
    """By what was done: before, moving, after."""
    audits: Mapping[str, Audited]
    """Of the trace of the first run, and of the whole."""
    moved: int
    moves: int
    before: Risk
    after: Risk


def judged(seen: Seen) -> tuple[Outcome, list[Finding]]:
    """The verdict: what does not hold is a finding; what cannot be told is undecided."""
    where = Where(seen.folder)
    wrong = [Finding("D005", text, where) for text in _wrong(seen)]
    open_ = [Finding("D006", text, where, "warning") for text in _undecided(seen)]
    if wrong:
        return "findings", wrong + open_
    return ("undecided" if open_ else "ok"), open_


def _wrong(seen: Seen) -> Iterator[str]:
    if not seen.planted:
        yield "verify did not find the planted mistake"
    if seen.bad_cases:
        yield f"the mended federation still has {seen.bad_cases} bad cases"
    for name, run in seen.runs.items():
        if run.lost:
            yield f"{name}: {run.lost} of {run.acknowledged} acknowledged messages were lost"
        if run.disordered:
            yield f"{name}: {run.disordered} messages came out of their publisher's order"
    yield from _audits(seen)
    if seen.moved < seen.moves:
        yield f"only {seen.moved} of {seen.moves} items moved to their new brokers"
    yield from _risks(seen)


def _audits(seen: Seen) -> Iterator[str]:
    first, every = seen.runs["before"], seen.runs.values()
    for name, runs in (("before", [first]), ("whole", [*every])):
        audit = seen.audits[name]
        lost, acknowledged = (
            sum(getattr(run, x) for run in runs) for x in ("lost", "acknowledged")
        )
        if audit.lost != lost:
            yield f"the audit found {audit.lost} lost messages ({name}), the clients {lost}"
        if audit.violations - audit.lost > 0:
            others = audit.violations - audit.lost
            yield f"the audit found {others} violations of contracts ({name})"
        if audit.messages < acknowledged:
            yield (
                f"the trace has {audit.messages} messages ({name}), but {acknowledged} were"
                " acknowledged to clients"
            )


def _risks(seen: Seen) -> Iterator[str]:
    before, after = seen.before, seen.after
    if before.windows != after.windows:
        yield f"{before.windows} windows before the plan and {after.windows} after it were counted"
    if seen.moves and after.predicted >= before.predicted:
        yield f"the plan predicts {after.predicted:.3g} after {before.predicted:.3g}: no lower risk"
    if before.over and after.observed >= before.observed:
        yield (
            f"{after.over} of {after.windows} windows were overloaded after the plan, and"
            f" {before.over} of {before.windows} before it"
        )


def _undecided(seen: Seen) -> Iterator[str]:
    for name, run in seen.runs.items():
        if run.silent:
            yield f"{name}: {run.silent} pairs of clients never heard each other"
    first, second = seen.runs["before"].sent, seen.runs["after"].sent
    if second < ALIKE * first:
        yield (
            f"only {second} messages were sent in the second run, and {first} in the first: this"
            " machine is too busy to compare them"
        )
    if not seen.moves:
        yield "the plan moves nothing: there is nothing to compare"
    if not before_tells(seen.before):
        yield "no window was overloaded before the plan: there is nothing to lower"


def before_tells(risk: Risk) -> bool:
    """Whether there was an overload that a plan can take away."""
    return risk.windows > 0 and risk.over > 0
