"""Verdicts on populations, for a terminal 80 columns wide."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import Any

from ropewalk.findings import Finding, Where
from ropewalk.report.verification import plural
from ropewalk.verify.population.asking import Told

MOST_LINES = 60
"""A text tells so much of a run; `--evidence` and `--json` have all of it."""


def title(told: Told) -> str:
    """What a verdict is about."""
    name = told.question.name
    return f"{told.question.file}, {name}" if name else told.question.file


def with_clients(told: Told) -> str:
    """How many clients a run has.

    A kind that is not there is not named.
    """
    if told.question.reduced is None:
        return f"{sum(told.clients.values()):,} tokens at the start in places with any number"
    kinds = ", ".join(f"{kind}: {count:,}" for kind, count in told.clients.items() if count)
    return f"{plural(sum(told.clients.values()), 'client')} ({kinds})"


def population_text(found: Sequence[tuple[Told, Mapping[str, Any]]]) -> str:
    """Each verdict, what shows it, and the run that it may have."""
    return "\n".join(line for told, summary in found for line in _lines(told, summary))


def _lines(told: Told, summary: Mapping[str, Any]) -> Iterator[str]:
    took = f"{told.method}, {summary['seconds']:.2f} s"
    if told.verdict == "safe":
        number = "any number of clients" if told.question.reduced else "any number of tokens"
        yield _folded(f"{title(told)}: safe for {number} ({took})")
        yield _folded(f"  checked again: {told.evidence}")
    elif told.verdict == "unsafe":
        yield _folded(f"{title(told)}: unsafe with {with_clients(told)} ({took})")
        if told.evidence:
            yield _folded(f"  {told.evidence}")
        for line in told.lines[:MOST_LINES]:
            yield f"  {line}"
        if len(told.lines) > MOST_LINES:
            more = len(told.lines) - MOST_LINES
            yield f"  ... and {plural(more, 'more line')} (--evidence FILE has the whole run)"
    else:
        yield _folded(f"{title(told)}: could not decide ({told.evidence})")
    rival = summary.get("rival")
    if rival:
        yield f"  plain backward algorithm: {rival['verdict']}, {rival['seconds']:.2f} s"


def _folded(line: str) -> str:
    return fill(line, 80, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def findings_of(found: Told) -> list[Finding]:
    """What can come about, with the run that shows it, or was not decided."""
    where = Where(found.question.file, found.question.line)
    what = found.question.name or "a target"
    if found.verdict == "unsafe":
        witness = {
            "clients": dict(found.clients),
            "steps": list(found.witness),
            "lines": list(found.lines),
        }
        length = plural(found.length, "step")
        says = f"{what} can come about, with {with_clients(found)} in {length}"
        return [Finding("N031", says, where, "error", witness)]
    if found.verdict == "undecided":
        return [Finding("N032", f"{what} was not decided: {found.evidence}", where, "warning")]
    return []
