"""Layout of `demo`: what the whole rope came to, before its plan and after it."""

from ropewalk.placement.judge import percent
from ropewalk.report.filed.blocks import Block, Figure, Figures, Section, Status, table
from ropewalk.report.filed.facts import Ran
from ropewalk.report.filed.judged import made
from ropewalk.report.filed.words import count, ms


def rope(ran: Ran, status: Status) -> Section:
    """`demo`: risks as predicted and as observed, and what the runs lost."""
    risk, runs = ran.summary["risk"], ran.summary["runs"]
    before, after = risk["before"], risk["after"]
    glance = tuple(
        Figure(
            f"some broker overloaded, {kind}",
            percent(after[kind]),
            f"{percent(before[kind])} before",
        )
        for kind in ("predicted", "observed")
    )
    lost = sum(int(one["lost"]) for one in runs.values())
    doubled = sum(int(one["doubled"]) for one in runs.values())
    risks = [
        (
            when,
            percent(one["predicted"]),
            percent(one["observed"]),
            count(one["over"]),
            count(one["windows"]),
        )
        for when, one in (("before the plan", before), ("after it", after))
    ]
    rows = [
        (
            name,
            *(count(one[key]) for key in ("acknowledged", "lost", "doubled")),
            ms(one["slowest_ms"]),
        )
        for name, one in runs.items()
    ]
    blocks: list[Block] = [
        Figures(glance),
        table(
            "Some broker above its limit",
            ("when", "predicted", "observed", "windows over", "windows"),
            risks,
        ),
        table("Runs", ("run", "acknowledged", "lost", "doubled", "slowest message"), rows),
    ]
    says = (
        f"Some broker above its limit: predicted {percent(before['predicted'])}, then"
        f" {percent(after['predicted'])}; observed {percent(before['observed'])}, then"
        f" {percent(after['observed'])}. {lost} lost, {doubled} doubled."
    )
    return made(ran, status, "planned", says, blocks, title="The whole rope", glance=glance)
