"""What was observed: what the pipeline made of traces, from its working folder."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ropewalk.findings import Finding, rules
from ropewalk.report.filed.blocks import (
    Block,
    Cell,
    Entries,
    Figure,
    Figures,
    Section,
    Told,
    status_of,
    table,
)
from ropewalk.report.filed.facts import Observed
from ropewalk.report.filed.words import count, figure
from ropewalk.report.verification import plural


def observed(one: Observed) -> Section:
    """A working folder: what was taken in, counted, calibrated and audited."""
    blocks: list[Block] = []
    unchecked: list[str] = []
    says = []
    if one.taken is not None:
        says.append(f"{count(one.taken['taken'])} rows were taken in.")
        blocks += taken_blocks(one.taken)
    if one.audit is None:
        unchecked.append("delivery was not audited: there is no audit in the folder")
    else:
        says.append(audit_says(one.audit))
        blocks += audit_blocks(one.audit, one.examples, one.folder)
        unchecked += audit_unchecked(one.audit)
    if one.conformance is not None:
        blocks += conversation_blocks(one.conformance.get("conversations", {}), "alone")
    if one.rates is not None:
        blocks.append(rates_block(one.rates))
    if one.capacities:
        blocks.append(capacities_block(one.capacities))
    findings = tuple(one.examples)
    status = status_of(findings, decided=one.audit is not None)
    if one.audit is not None and one.audit["violations"]:
        status = "findings"
    glance = tuple(audit_glance(one.audit)) if one.audit is not None else ()
    data = {
        "taken": one.taken,
        "rates": one.rates,
        "capacities": one.capacities,
        "audit": one.audit,
        "conformance": one.conformance,
    }
    title = f"Traces in {one.folder}"
    told = " ".join(says) or "The folder holds nothing that a job has made."
    return Section(
        "observed",
        title,
        status,
        told,
        tuple(blocks),
        tuple(unchecked),
        findings,
        glance,
        data,
        one.folder,
    )


def taken_blocks(taken: Mapping[str, Any]) -> Iterator[Block]:
    """Rows stored and put aside."""
    stored = taken["stored"]
    figures = [
        Figure("rows taken in", count(taken["taken"])),
        Figure("messages' rows", count(stored.get("events"))),
        Figure("clients' rows", count(stored.get("control"))),
        Figure("brokers' samples", count(stored.get("samples"))),
        _aside(int(stored.get("quarantine", 0))),
    ]
    yield Figures(tuple(figures))


def _aside(rows: int) -> Figure:
    return Figure("rows put aside", count(rows), "each with its reason", "warn" if rows else "")


def audit_says(audit: Mapping[str, Any]) -> str:
    """What an audit found, in a sentence."""
    what = f"{plural(int(audit['violations']), 'violation')} in {count(audit['rows'])} rows"
    return f"{what}." if audit["violations"] else f"No violation in {count(audit['rows'])} rows."


def audit_glance(audit: Mapping[str, Any]) -> Iterator[Figure]:
    """What was lost, doubled and out of order, as the audit has it."""
    codes = audit["codes"]
    yield Figure("rows audited", count(audit["rows"]))
    for label, which in (
        ("lost (audit)", ("A001",)),
        ("duplicated (audit)", ("A002",)),
        ("out of order (audit)", ("A005", "A006", "A007", "A008", "A009")),
    ):
        found = sum(int(codes.get(code, 0)) for code in which)
        yield Figure(label, count(found), "", "bad" if found else "good")


def audit_blocks(
    audit: Mapping[str, Any], examples: Sequence[Finding], folder: str
) -> Iterator[Block]:
    """Violations by kind, conversations, and examples with how to see their rows."""
    known, kinds = rules(), audit.get("kinds", {})
    skipped = {one["code"] for one in audit["unchecked"]}
    rows: list[tuple[str | Cell, ...]] = []
    for code, found in audit["codes"].items():
        looked = Cell("not everywhere", "warn") if code in skipped else "yes"
        cells = (f"{code} {known[code].name}", Cell(count(found), "bad" if found else ""), looked)
        one = kinds.get(code)
        rows.append((*cells, *((count(one["injected"]) if one else "0",) if kinds else ())))
    head = ("kind", "violations", "checked", *(("put in",) if kinds else ()))
    note = ""
    if "missed" in audit:
        note = (
            f"Against the ledger of what was put in: {count(audit['missed'])} missed,"
            f" {count(audit['spurious'])} too many."
        )
    yield table("Violations by kind", head, rows, words=(0, 2), note=note)
    yield from conversation_blocks(audit.get("conversations", {}))
    if examples:
        show = f"ropewalk trace show {folder} NUMBER"
        where = "its number stands behind the colon of its place"
        yield Entries("The rows behind a violation", ((show, where),))
        yield Told(tuple(examples))


def audit_unchecked(audit: Mapping[str, Any]) -> Iterator[str]:
    """What an audit could not hold against the contracts, and why."""
    known = rules()
    for one in audit["unchecked"]:
        where = f" on {plural(one['topics'], 'topic')}"
        yield f"{one['code']} {known[one['code']].name}{where}: {one['reason']}"
    for protocol, counts in audit.get("conversations", {}).items():
        if counts.get("unknown"):
            yield f"{plural(counts['unknown'], 'conversation')} of {protocol} cannot be told"


def conversation_blocks(
    conversations: Mapping[str, Mapping[str, int]], how: str = ""
) -> Iterator[Block]:
    """How conversations ended."""
    if not conversations:
        return
    keys = ("ended", "open", "left", "unknown")
    rows = [
        (name, *(count(one.get(key, 0)) for key in keys)) for name, one in conversations.items()
    ]
    title = f"Conversations by protocol{f', judged {how}' if how else ''}"
    yield table(title, ("protocol", "ended", "open", "left it", "cannot be told"), rows)


def rates_block(rates: Mapping[str, Any]) -> Block:
    """What was counted."""
    mean = rates.get("mean_total_rate_msgs_s")
    figures = (
        Figure("messages", count(rates.get("messages"))),
        Figure("topics", count(rates.get("topics"))),
        Figure("messages/s on average", figure(mean), str(rates.get("peak", ""))),
        Figure(
            "windows", count(rates.get("chosen_windows")), f"of {figure(rates.get('window_s'))} s"
        ),
    )
    return Figures(figures)


def capacities_block(brokers: Mapping[str, Any]) -> Block:
    """What a message costs each broker."""
    rows = [
        (name, *(figure((one or {}).get(key)) for key in ("receive_us", "filter_us", "send_us")))
        for name, one in brokers.items()
    ]
    head = ("broker", "receive", "filter", "send")
    return table("Calibrated costs of a message, in microseconds", head, rows)
