"""Medians, the worst, ratios between contenders, and the same as a table for people."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median_high
from typing import Any

from contenders.trial import Outcome

NEVER = "never"
RATIOS = {
    ("ropewalk_nats", "mosquitto_bridge"): 1 / 50,
    ("ropewalk_nats", "nats_leaf"): 1 / 10,
    ("ropewalk_mosquitto", "mosquitto_bridge"): 1 / 50,
    ("ropewalk_mosquitto", "nats_leaf"): 1 / 10,
}
"""Of median outages, and how large they may be."""

Summary = dict[str, Any]


def summary_of(outcomes: Sequence[Outcome]) -> Summary:
    """One contender's runs through one fault."""
    outages = [_outage(one) for one in outcomes]
    return {
        "outage_ms": {"median": middle(outages), "worst": worst(outages), "runs": outages},
        "began_ms": [one.began_ms for one in outcomes],
        "at_least_ms": _least(outcomes),
        "quiet_ms": median_high(one.quiet_ms for one in outcomes),
        **{
            name: sum(getattr(one, name) for one in outcomes)
            for name in ("sent", "undelivered", "lost", "duplicated", "skipped")
        },
    }


def _outage(outcome: Outcome) -> float | str:
    return outcome.outage_ms if outcome.recovered else NEVER


def _least(outcomes: Iterable[Outcome]) -> float | None:
    """How long those that never recovered were watched; None if there is none."""
    return min((one.outage_ms for one in outcomes if not one.recovered), default=None)


def middle(outages: Sequence[float | str]) -> float | str:
    """The median, the higher one of two; `never` is longer than any number.

    >>> middle([3.0, "never", 1.0]), middle([3.0, "never"])
    (3.0, 'never')
    """
    return sorted(outages, key=_length)[len(outages) // 2]


def worst(outages: Sequence[float | str]) -> float | str:
    """The longest."""
    return max(outages, key=_length)


def _length(outage: float | str) -> float:
    return float("inf") if isinstance(outage, str) else outage


def ratios_of(found: Mapping[str, Summary]) -> dict[str, dict[str, Any]]:
    """Ropewalk's median outage over each peer's in one fault.

    No ratio is told if either never recovers: not even a small one if it is the peer.
    """
    told = {}
    for (ours, theirs), most in RATIOS.items():
        if ours in found and theirs in found:
            pair = [found[name]["outage_ms"]["median"] for name in (ours, theirs)]
            ratio = None if NEVER in pair else pair[0] / pair[1]
            told[f"{ours} / {theirs}"] = {
                "ratio": None if ratio is None else round(ratio, 5),
                "at_most": most,
                "reached": ratio is not None and ratio <= most,
            }
    return told


# --- for people -------------------------------------------------------------------------------

HEAD = (
    "| fault | contender | median outage | worst | sent | undelivered | lost | duplicated |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|"
)


def table(document: Mapping[str, Any]) -> str:
    """The benchmark's document as Markdown."""
    lines = [HEAD]
    for fault, found in document["faults"].items():
        lines += [_row(fault, name, one) for name, one in found.items()]
    lines += ["", "| median outage after kill -9 | ratio | at most |", "|---|---:|---:|"]
    for pair, one in document["ratios"].items():
        ratio = "no ratio" if one["ratio"] is None else f"1 / {1 / one['ratio']:,.0f}"
        lines.append(f"| {pair} | {ratio} | 1 / {1 / one['at_most']:.0f} |")
    return "\n".join(lines)


def _row(fault: str, name: str, one: Summary) -> str:
    outage = one["outage_ms"]
    times = " | ".join(_ms(outage[key], one["at_least_ms"]) for key in ("median", "worst"))
    counts = " | ".join(f"{one[key]:,}" for key in ("sent", "undelivered", "lost", "duplicated"))
    return f"| {fault} | {name} | {times} | {counts} |"


def _ms(outage: float | str, least_ms: float | None) -> str:
    if isinstance(outage, str):
        return f"{NEVER} (> {(least_ms or 0) / 1000:.0f} s)"
    return f"{outage:,.0f} ms"
