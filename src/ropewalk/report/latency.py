"""Latencies in words, for a terminal 80 columns wide."""

from collections.abc import Iterator, Mapping
from typing import Any

from ropewalk.report.verification import plural
from ropewalk.verify.latency.told import between

AGREE = 1e-12
"""Bounds that differ by less do so by floating point alone."""


def latency_text(summary: Mapping[str, Any]) -> str:
    """How many pairs are in time, the worst, and how sure that is."""
    return "\n".join(_lines(summary))


def _lines(summary: Mapping[str, Any]) -> Iterator[str]:
    pairs = summary["pairs"]
    if summary["over_bridges"]:
        yield f"Not looked at: the time of {plural(summary['over_bridges'], 'pair')} over bridges."
    if not pairs:
        yield "No pair promises a time: give within_ms in contracts, or --within-ms."
        return
    bad = {
        "missed": "with nothing failed",
        "missed_with_failures": "over failures",
        "undecided": "perhaps",
    }
    told = [f"{summary[key]:,} {words}" for key, words in bad.items() if summary[key]]
    yield f"In time: {plural(pairs, 'pair')}, missed: {', '.join(told) or 'none'}."
    worst = summary["worst"]
    chance = f"{between(*worst['probability'])} within {worst['within_ms']:g} ms"
    yield f"Worst: {worst['from']} to {worst['to']}: {chance}; {worst['wanted']:g} is wanted."
    if worst["with_failures"]:
        yield f"The same over failures: {between(*worst['with_failures'])}."
    if summary["worst_hop"]:
        yield f"The hop that costs most is {summary['worst_hop']}."
    for name in summary["overloaded"][:3]:
        yield f"Broker {name} has more work than time: nothing gets through it."
    if not summary["failures_counted"]:
        yield "Failures are not counted: there are too many pairs."
    yield _certainty(summary)


def _certainty(summary: Mapping[str, Any]) -> str:
    slots = " to ".join(
        f"{one:.4g}" for one in dict.fromkeys((summary["finest_slot_ms"], summary["slot_ms"]))
    )
    sure = f"Slots of {slots} ms; "
    agree = summary["error"] < AGREE
    sure += "bounds agree" if agree else f"bounds lie at most {summary['error']:.2g} apart"
    if summary["not_looked_at"]:
        sure += f"; failures left out: {summary['not_looked_at']:.1e}"
    return f"{sure}."
