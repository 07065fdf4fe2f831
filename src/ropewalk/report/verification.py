"""A verification in words, for a terminal 80 columns wide."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ropewalk.report.tables import summary_line
from ropewalk.verify import Verification
from ropewalk.verify.repair import Repaired

FATES = (
    ("delivered", "delivered"),
    ("loops", "in a loop"),
    ("black_holes", "dropped"),
    ("too_long", "over too many hops"),
    ("leaks", "leave their domain"),
    ("unavoidable", "unavoidable: no routing could deliver"),
)
SHOWN_CUTS = 3


def verification_text(result: Verification, summary: Mapping[str, Any]) -> str:
    """Sizes, fates, the worst failures, and the verdict."""
    return "\n".join(_lines(result, summary))


def _lines(result: Verification, summary: Mapping[str, Any]) -> Iterator[str]:
    file = result.check.federation.source.file
    yield f"{file}: {summary_line(dict(summary))}"
    scenarios, pairs = summary["scenarios"], summary["pairs"]
    cases = f"{plural(pairs, 'pair')} x {plural(scenarios, 'scenario')}"
    yield f"{cases} = {plural(pairs * scenarios, 'case')}:"
    for key, words in FATES:
        if summary[key] or key == "delivered":
            turns = summary["uturns"] if key == "loops" else 0
            yield f"  {summary[key]:>12,} {words}" + (f" ({turns:,} U-turns)" if turns else "")
    yield from _cut_lines(summary)
    total, tested = summary["paths_total"], summary["paths_tested"]
    if 0 < tested < total:
        yield f"To prove this by tests, {plural(tested, 'path')} of {total:,} would do."
    if summary["not_checked"]:
        yield f"Not checked: {', '.join(summary['not_checked'])}."
    if not summary["all_told"]:
        yield "There is too much wrong to tell one by one: the counts are complete."
    yield _verdict(result, summary)


def _cut_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    cuts = [one for one in summary["cuts"] if one["failure"] != "none"]
    if cuts:
        worst = ", ".join(
            f"{one['failure']} ({plural(one['pairs'], 'pair')})" for one in cuts[:SHOWN_CUTS]
        )
        others = summary["cut_scenarios"] - SHOWN_CUTS
        more = f" and {others:,} more" if others > 0 else ""
        yield f"Worst failures: {worst}{more}."


def _verdict(result: Verification, summary: Mapping[str, Any]) -> str:
    codes = {one.code for one in result.findings if one.severity == "error"}
    if not result.decided:
        return "Could not decide within the budget: what is counted is only what was looked at."
    if codes and codes <= {"V007", "V008"}:
        return "All that any routing could deliver is delivered, but more is required."
    if codes and all(code.startswith("S") for code in codes):
        return "Everything that could be delivered is delivered, but not as promised."
    if codes:
        return "The configuration is not right: see the findings."
    if summary["black_holes"] or summary["too_long"]:
        return "Bridges leave gaps, which are told above; nothing that was promised is missing."
    if not summary["pairs"]:
        return "There is nothing to deliver: no topic has both a publisher and a subscriber."
    return "Everything that could be delivered is delivered."


def repair_text(repaired: Repaired, out: Path | None) -> Iterator[str]:
    """Proposals one by one, what they cannot mend, and where they were written."""
    for one in repaired.repairs:
        yield f"Repair: {one.words} ({plural(one.bad_before, 'bad case')}, then {one.bad_after:,})"
    for fault in repaired.left:
        yield f"No single change was found that mends this: {fault}"
    if not repaired.repairs and not repaired.left:
        yield "Nothing to repair in the routes."
    if repaired.repairs:
        left = "no bad case is left" if repaired.mended else "not all is mended"
        yield f"Verified with the repairs: {left}."
    if out is not None:
        yield f"Wrote {out}" + ("." if repaired.repairs else ", unchanged.")


def plural(count: int, thing: str) -> str:
    """A number of things.

    >>> plural(1, "pair"), plural(2000, "pair")
    ('1 pair', '2,000 pairs')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
