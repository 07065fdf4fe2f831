"""A verification in words, for a terminal 80 columns wide."""

from collections.abc import Iterator, Mapping
from typing import Any

from ropewalk.report.tables import summary_line
from ropewalk.verify import Verification

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
    yield f"{pairs:,} pairs x {scenarios:,} scenarios = {pairs * scenarios:,} cases:"
    for key, words in FATES:
        if summary[key] or key == "delivered":
            uturns = f" ({summary['uturns']:,} U-turns)" if key == "loops" else ""
            yield f"  {summary[key]:>12,} {words}{uturns}"
    yield from _cut_lines(result)
    total, tested = summary["paths_total"], summary["paths_tested"]
    yield f"{tested:,} of {total:,} paths imply the others."
    if not summary["all_told"]:
        yield "There is too much wrong to tell one by one: the counts are complete."
    yield _verdict(result)


def _cut_lines(result: Verification) -> Iterator[str]:
    cuts = result.cuts()
    if not cuts:
        return
    worst = ", ".join(f"{one['failure']} ({one['pairs']:,} pairs)" for one in cuts[:SHOWN_CUTS])
    more = f" and {len(cuts) - SHOWN_CUTS:,} more" if len(cuts) > SHOWN_CUTS else ""
    yield f"Worst failures: {worst}{more}."


def _verdict(result: Verification) -> str:
    if result.outcome == "undecided":
        return "Could not decide within the budget: what is counted is only what was looked at."
    if result.outcome == "findings":
        return "The configuration does not deliver all it could."
    return "Everything that could be delivered is delivered."
