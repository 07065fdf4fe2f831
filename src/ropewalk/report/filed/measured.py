"""Layouts of what jobs on Spark printed, and of plans that were held against traces."""

from collections.abc import Mapping
from typing import Any

from ropewalk.placement.judge import percent
from ropewalk.report.filed.blocks import (
    Block,
    Cell,
    Figure,
    Figures,
    Section,
    Status,
    Told,
    table,
)
from ropewalk.report.filed.charts import Point, risk_chart
from ropewalk.report.filed.facts import Ran
from ropewalk.report.filed.judged import made
from ropewalk.report.filed.observed import (
    audit_blocks,
    audit_glance,
    audit_says,
    audit_unchecked,
    capacities_block,
    conversation_blocks,
    rates_block,
    taken_blocks,
)
from ropewalk.report.filed.words import count
from ropewalk.report.verification import plural


def everything(ran: Ran, status: Status) -> Section:
    """`pipeline all`: what was taken in, counted, calibrated and audited."""
    one = ran.summary
    audit = one["audit"]
    blocks: list[Block] = [*_taken(one["ingest"]), *_audit(ran, audit), rates_block(one["rates"])]
    unchecked = list(audit_unchecked(audit))
    if one["calibrate"] is None:
        unchecked.append("nothing is calibrated: nobody recorded samples")
    else:
        blocks.append(_calibrated(one["calibrate"]))
        unchecked += _uncalibrated(one["calibrate"])
    says = f"{count(one['ingest']['in'])} rows were taken in. {audit_says(audit)}"
    glance = tuple(audit_glance(audit))
    return made(ran, status, "observed", says, blocks, unchecked=tuple(unchecked), glance=glance)


def ingested(ran: Ran, status: Status) -> Section:
    """`pipeline ingest`."""
    says = f"{count(ran.summary['in'])} rows of {plural(ran.summary['files'], 'file')}."
    return made(ran, status, "observed", says, _taken(ran.summary))


def _taken(one: Mapping[str, Any]) -> list[Block]:
    stored = {**one["stored"], "quarantine": one["quarantined"]}
    blocks: list[Block] = [*taken_blocks({"taken": one["in"], "stored": stored})]
    if one["reasons"]:
        rows = [(why, count(times)) for why, times in one["reasons"].items()]
        blocks.append(table("Why rows were put aside", ("reason", "rows"), rows))
    return blocks


def audited(ran: Ran, status: Status) -> Section:
    """`pipeline audit`."""
    audit = ran.summary
    return made(
        ran,
        status,
        "observed",
        audit_says(audit),
        _audit(ran, audit),
        unchecked=tuple(audit_unchecked(audit)),
        glance=tuple(audit_glance(audit)),
    )


def _audit(ran: Ran, audit: Mapping[str, Any]) -> list[Block]:
    """Its examples are the findings of the document."""
    blocks = list(audit_blocks(audit, (), ""))
    return [*blocks, *([Told(ran.findings)] if ran.findings else [])]


def conformed(ran: Ran, status: Status) -> Section:
    """`pipeline conform`."""
    one = ran.summary
    says = f"{plural(one['violations'], 'violation')} in {count(one['events'])} rows."
    return made(ran, status, "observed", says, [*conversation_blocks(one["conversations"])])


def rates(ran: Ran, status: Status) -> Section:
    """`pipeline rates`."""
    one = ran.summary
    says = f"{count(one['messages'])} messages on {plural(one['topics'], 'topic')} were counted."
    return made(ran, status, "observed", says, [rates_block(one)])


def calibrated(ran: Ran, status: Status) -> Section:
    """`pipeline calibrate`."""
    one = ran.summary
    says = f"{one['calibrated']} of {plural(one['brokers'], 'broker')} are calibrated."
    unchecked = tuple(_uncalibrated(one))
    return made(ran, status, "observed", says, [_calibrated(one)], unchecked=unchecked)


def _calibrated(one: Mapping[str, Any]) -> Block:
    return capacities_block({row["broker"]: row["capacity"] for row in one["results"]})


def _uncalibrated(one: Mapping[str, Any]) -> list[str]:
    return [
        f"{row['broker']} is not calibrated: {'; '.join(row['notes'])}"
        for row in one["results"]
        if row["capacity"] is None
    ]


def generated(ran: Ran, status: Status) -> Section:
    """`trace generate`: a trace that was made up, with known faults."""
    one = ran.summary
    rows = [(what, count(times)) for what, times in one["faults"].items()]
    says = (
        f"A trace was made up: {count(one['rows'])} rows, {plural(one['topics'], 'topic')},"
        f" {plural(one['brokers'], 'broker')}."
    )
    blocks: list[Block] = [table("Faults that were put in", ("fault", "times"), rows)]
    return made(ran, "told" if status == "ok" else status, "observed", says, blocks)


def replayed(ran: Ran, status: Status) -> Section:
    """`place replay`: the risk that a plan predicts beside what the trace shows."""
    one = ran.summary
    brokers = one["brokers"]
    chart = risk_chart(
        [
            (
                row["broker"],
                [
                    Point("after", row["predicted"]),
                    Point("observed", row["observed"], row["low"], row["high"]),
                ],
            )
            for row in brokers
        ],
        f"Predicted ({one['model']} model) and observed probability of an overload; the bar is"
        " the observed one's interval, 95 % for all brokers together.",
    )
    head = ("broker", "predicted", "observed", "interval", "windows over", "inside")
    rows = [
        (
            row["broker"],
            percent(row["predicted"]),
            percent(row["observed"]),
            f"{percent(row['low'])} to {percent(row['high'])}",
            f"{count(row['over'])} of {count(row['windows'])}",
            Cell("yes") if row["confirmed"] else Cell("no", "bad"),
        )
        for row in brokers
    ]
    worst = max(brokers, key=lambda row: float(row["observed"]))
    predicted = max(brokers, key=lambda row: float(row["predicted"]))
    glance: tuple[Figure, ...] = (
        Figure("highest predicted", percent(predicted["predicted"]), predicted["broker"]),
        Figure("highest observed", percent(worst["observed"]), worst["broker"]),
    )
    if anywhere := one.get("anywhere"):
        over, windows = anywhere["happened"], anywhere["windows"]
        seen = percent(over / windows if windows else 0.0)
        share = f"interval {percent(anywhere['low'])} to {percent(anywhere['high'])}"
        glance += (Figure("some broker overloaded", seen, share),)
    figures = (
        *glance,
        Figure("windows", count(one["windows"]), f"of {one['window_s']:g} s, {one['peak']}"),
        Figure("messages", count(one["messages"])),
    )
    says = (
        f"The prediction is inside the interval for {one['confirmed']} of"
        f" {plural(len(brokers), 'broker')}."
    )
    if anywhere:
        says += f" Some broker was over its limit in {over} of {plural(windows, 'window')}, {seen}."
    title = "Predicted against observed risk"
    if "placement" in one:
        title += {"today": ", before the plan"}.get(one["placement"], ", with the plan")
    if one.get("counted") == "delivered":
        says += " Load is what brokers handed to clients, wherever the plan has it."
    blocks: list[Block] = [
        Figures(figures),
        chart,
        table("Overloads by broker", head, rows, words=(0, 3, 5)),
    ]
    return made(ran, status, "planned", says, blocks, title=title, glance=glance)
