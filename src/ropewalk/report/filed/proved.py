"""What was proved: fates by kind of failure, findings, and what was not looked at."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ropewalk.findings import Finding
from ropewalk.report.filed.blocks import (
    Block,
    Cell,
    Figure,
    Figures,
    Section,
    Status,
    Table,
    Told,
    status_of,
    table,
)
from ropewalk.report.filed.facts import Proof
from ropewalk.report.filed.words import count
from ropewalk.report.verification import FATES, plural
from ropewalk.verify import Verdict, Verification
from ropewalk.verify.result import default_failures

FAR = 1_000_000
"""More links or brokers than this are never down at once."""
BAD = ("loops", "black_holes", "too_long", "leaks")
STILL_UNDECIDED = "not decided within the budget: what is counted is only what was looked at"
GROUPS: tuple[tuple[str, tuple[Verdict, ...]], ...] = (
    ("delivered", (Verdict.DELIVERED,)),
    ("in a loop", (Verdict.LOOP, Verdict.UTURN)),
    ("dropped", (Verdict.BLACK_HOLE,)),
    ("too many hops", (Verdict.TOO_LONG,)),
    ("leave their domain", (Verdict.LEAK,)),
    ("no routing could deliver", (Verdict.CUT,)),
)


def proved(proof: Proof) -> Section:
    """The verification that was made for this report."""
    result, summary = proof.result, proof.result.summary
    findings = (*result.findings, *proof.besides)
    status = status_of(findings, decided=result.decided)
    failures = default_failures(result.check.federation, result.asked.failures)
    blocks: list[Block] = [
        Figures(tuple(_figures(summary))),
        _by_kind(result),
        *verification_blocks(summary, findings),
    ]
    says = f"Under {', '.join(failures)}: {verdict(summary, findings, status)}"
    data = {**summary, "failures": list(failures), "by_kind": kinds_of(result)}
    data["not_modelled"] = proof.not_modelled
    return Section(
        "proved",
        "Verification",
        status,
        says,
        tuple(blocks),
        tuple(unchecked_of(summary, proof.not_modelled)),
        findings,
        tuple(glance_of(summary, findings)),
        data,
        result.check.federation.source.file,
        "made for this report",
    )


def verification_blocks(summary: Mapping[str, Any], findings: Sequence[Finding]) -> Iterator[Block]:
    """The worst failures, what contracts break, and findings; of any verification's summary."""
    cuts = [one for one in summary.get("cuts", ()) if one["failure"] != "none"]
    if cuts:
        rows = [(one["failure"], count(one["pairs"]), count(one["stranded"])) for one in cuts]
        note = "No routing could deliver these: only other links, brokers or take-overs could."
        head = ("failure", "pairs cut off", "of these without a broker")
        more = int(summary["cut_scenarios"]) - len(cuts)
        note += f" {more:,} more failures cut pairs off." if more > 0 else ""
        yield table("Worst failures", head, rows, note=note)
    if counts := summary.get("contracts"):
        broken = [(code, count(times)) for code, times in counts.items()]
        yield table("Promises that cannot be kept", ("rule", "times"), broken)
    if findings:
        yield Told(tuple(findings))


def verdict(summary: Mapping[str, Any], findings: Sequence[Finding], status: Status) -> str:
    """What came of a verification, in a sentence."""
    cases = int(summary["pairs"]) * int(summary["scenarios"])
    bad = sum(int(summary[key]) for key in BAD)
    if status == "undecided":
        return f"{STILL_UNDECIDED}."
    if not cases:
        return "there is nothing to deliver: no topic has both a publisher and a subscriber."
    errors = sum(one.severity == "error" for one in findings)
    told = f"{plural(errors, 'error')}; " if errors else ""
    sure = f"{bad:,} of" if bad else "none of"
    cut = int(summary["unavoidable"])
    lost = f"; {cut:,} no routing could deliver" if cut else ""
    return f"{told}{sure} {plural(cases, 'case')} {'go' if bad else 'goes'} astray{lost}."


def unchecked_of(summary: Mapping[str, Any], not_modelled: int = 0) -> Iterator[str]:
    """What a verification says nothing about."""
    yield from summary.get("not_checked", ())
    if not summary.get("decided", True):
        yield STILL_UNDECIDED
    if not summary.get("all_told", True):
        yield "not every bad path is told one by one: the counts are complete"
    modelled = not_modelled or int(summary.get("not_modelled", 0))
    if modelled:
        yield f"{plural(modelled, 'setting')} of brokers' own files that are not modelled"


def glance_of(summary: Mapping[str, Any], findings: Sequence[Finding]) -> Iterator[Figure]:
    """Cases, and how many go wrong."""
    cases = int(summary["pairs"]) * int(summary["scenarios"])
    bad = sum(int(summary[key]) for key in BAD)
    note = (
        f"{plural(int(summary['pairs']), 'pair')} x {plural(int(summary['scenarios']), 'scenario')}"
    )
    yield Figure("cases verified", count(cases), note)
    yield Figure("cases astray", count(bad), "loops, drops, leaks", "bad" if bad else "good")
    errors = sum(one.severity == "error" for one in findings)
    yield Figure("errors proved", count(errors), "", "bad" if errors else "good")


def _figures(summary: Mapping[str, Any]) -> Iterator[Figure]:
    yield Figure("pairs", count(summary["pairs"]))
    yield Figure("scenarios", count(summary["scenarios"]))
    for key, words in FATES:
        if summary[key] or key == "delivered":
            tone = "good" if key == "delivered" else "warn" if key == "unavoidable" else "bad"
            label, _, note = words.partition(": ")
            yield Figure(label, count(summary[key]), note, tone)  # type: ignore[arg-type]


def kinds_of(result: Verification) -> list[dict[str, Any]]:
    """Fates by kind of failure: nothing failed, one link, one broker, two links and so on."""
    scenarios = result.check.scenarios
    links, brokers = np.diff(scenarios.first_link), np.diff(scenarios.first_broker)
    named = np.zeros(len(scenarios), np.int64)
    named[[k for k, title in scenarios.titles.items() if title.partition(":")[1]]] = 1
    kinds = named * FAR * FAR + (1 - named) * (links.astype(np.int64) * FAR + brokers)
    found = []
    for kind in np.unique(kinds).tolist():
        here = kinds == kind
        total = result.fates[here].sum(axis=0)
        fates = {name: int(total[list(which)].sum()) for name, which in GROUPS}
        found.append({"failed": _kind(kind), "scenarios": int(here.sum()), **fates})
    return sorted(found, key=lambda one: str(one["failed"]) != "nothing")


def _kind(kind: int) -> str:
    links, brokers = divmod(kind, FAR)
    if links == FAR:
        return "a site or risk group"
    parts = [plural(count, what) for count, what in ((links, "link"), (brokers, "broker")) if count]
    return " and ".join(parts) or "nothing"


def _by_kind(result: Verification) -> Table:
    rows = kinds_of(result)
    shown = [name for name, _ in GROUPS if name == "delivered" or any(one[name] for one in rows)]
    cells = [
        (one["failed"], count(one["scenarios"]), *(_cell(name, one[name]) for name in shown))
        for one in rows
    ]
    return table("Fates by kind of failure", ("failed at once", "scenarios", *shown), cells)


def _cell(name: str, value: int) -> Cell:
    bad = value and name != "delivered"
    tone = "warn" if name.startswith("no routing") else "bad"
    return Cell(count(value), tone if bad else "")  # type: ignore[arg-type]
