"""Plans: what each broker's risk was and will be, moves, and how near to the best they come."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ropewalk.placement.judge import percent
from ropewalk.report.filed.blocks import (
    Block,
    Cell,
    Entries,
    Figure,
    Figures,
    Section,
    Status,
    Tone,
    table,
)
from ropewalk.report.filed.charts import Point, risk_chart
from ropewalk.report.filed.facts import PlanFile
from ropewalk.report.filed.words import figure, number, plain
from ropewalk.report.verification import plural


def planned(one: PlanFile) -> Section:
    """A plan file."""
    return plan_section(one.plan, one.file, f"Plan {Path(one.file).name}")


def plan_section(plan: Mapping[str, Any], file: str, title: str, command: str = "") -> Section:
    """A plan, from its file or from what `place --json` printed."""
    outcome, goal = plan["outcome"], plan["goal"]
    broken = [one["reason"] for one in plan.get("broken") or ()]
    blocks: list[Block] = [
        Figures(tuple(_figures(plan))),
        risk_chart(
            [(name, list(_points(one))) for name, one in plan["brokers"].items()],
            f"Predicted probability that a broker is overloaded ({goal['model']} model).",
        ),
        _brokers(plan["brokers"]),
        *_moves(plan),
        *_failures(plan),
        Entries("What it was made of", tuple((k, plain(v)) for k, v in plan["made_from"].items())),
    ]
    says = f"{_moved(plan)} {sure(outcome)}"
    if broken:
        says += f" Rules are broken: {'; '.join(broken)}."
    if plan.get("notes"):
        says += f" Note: {'; '.join(plan['notes'])}."
    status: Status = "findings" if broken else "ok"
    return Section(
        "planned", title, status, says, tuple(blocks), (), (), _glance(plan), plan, file, command
    )


def sure(outcome: Mapping[str, Any]) -> str:
    """How near to the best a plan is, and whether that is proven."""
    margin = outcome["least_margin"]
    if str(outcome.get("proven_best")).lower() == "true":
        return "It aims at the best placement there is: that is proven."
    if "gap_of_best" in margin:
        gap = percent(number(margin["gap_of_best"]) or 0.0)
        return f"The best placement found is within {gap} of what no placement can exceed: proven."
    return "How near it is to the best is not proven."


def _moved(plan: Mapping[str, Any]) -> str:
    moves, outcome = plan.get("moves") or (), plan["outcome"]
    if not moves:
        return "Everything stays where it is."
    way = outcome["on_the_way"]
    safe = str(way["nobody_worse_off"]).lower() == "true"
    told = "no broker is worse off on the way" if safe else "a margin falls on the way"
    return f"{plural(len(moves), 'move')}, in an order in which {told}."


def risks(plan: Mapping[str, Any], key: str) -> dict[str, float]:
    """Risks of all brokers, `today` or `after`."""
    found = {name: number(one[key]["risk"]) for name, one in plan["brokers"].items() if key in one}
    return {name: risk for name, risk in found.items() if risk is not None}


def highest(found: Mapping[str, float]) -> tuple[str, float] | None:
    """The broker with the highest risk."""
    return max(found.items(), key=lambda one: one[1]) if found else None


def _figures(plan: Mapping[str, Any]) -> Iterator[Figure]:
    yield from _glance(plan)
    margin, nobody = plan["outcome"]["least_margin"], plan["outcome"]["nobody_overloaded"]
    was = f"{figure(margin['today'])} before" if "today" in margin else ""
    yield Figure("least margin, in deviations", figure(margin["after"]), was)
    if "bound" in margin:
        yield Figure("no placement has more than", figure(margin["bound"]), "proven bound")
    before = f"{percent(number(nobody['today']) or 0)} before" if "today" in nobody else ""
    yield Figure("nobody is overloaded", percent(number(nobody["after"]) or 0), before)


def _glance(plan: Mapping[str, Any]) -> tuple[Figure, ...]:
    before, after = highest(risks(plan, "today")), highest(risks(plan, "after"))
    found = []
    if before:
        found.append(Figure("highest risk before", percent(before[1]), before[0], _tone(before[1])))
    if after:
        found.append(
            Figure("predicted with the plan", percent(after[1]), after[0], _tone(after[1]))
        )
    return tuple(found)


def _tone(risk: float) -> Tone:
    return "bad" if risk >= 0.1 else "warn" if risk >= 0.01 else "good"


def _points(broker: Mapping[str, Any]) -> Iterator[Point]:
    if "today" in broker:
        yield Point("today", number(broker["today"]["risk"]) or 0.0)
    yield Point("after", number(broker["after"]["risk"]) or 0.0)


def _brokers(brokers: Mapping[str, Any]) -> Block:
    rows = []
    for name, one in brokers.items():
        today, after = one.get("today"), one["after"]
        rows.append(
            (
                name,
                *((figure(today["items"]), _load(today), _risk(today)) if today else ("-",) * 3),
                *(figure(after["items"]), _load(after), _risk(after)),
            )
        )
    head = ("broker", "items before", "load", "risk", "items after", "load", "risk")
    note = "Load is a part of what the broker may at most be given."
    return table("Brokers before and after", head, rows, note=note)


def _load(standing: Mapping[str, Any]) -> str:
    load, limit = number(standing["load"]), number(standing["limit"])
    return f"{100 * load / limit:.3g} %" if load is not None and limit else "-"


def _risk(standing: Mapping[str, Any]) -> Cell:
    risk = number(standing["risk"]) or 0.0
    tone = _tone(risk)
    return Cell(percent(risk), "" if tone == "good" else tone)


def _moves(plan: Mapping[str, Any]) -> Iterator[Block]:
    rows = [
        (str(i), one["item"], one.get("from", "nowhere"), one["to"], figure(one["least_margin"]))
        for i, one in enumerate(plan.get("moves") or (), 1)
    ]
    if rows:
        head = ("", "item", "from", "to", "least margin then")
        yield table("Moves, in their order", head, rows, words=(1, 2, 3))


def _failures(plan: Mapping[str, Any]) -> Iterator[Block]:
    rows = []
    for name, one in (plan.get("failures") or {}).items():
        keeps = str(one["keeps_limits"]).lower() == "true"
        kept = Cell("yes") if keeps else Cell("no", "warn")
        risk = percent(number(one["risk"]) or 0.0)
        rows.append((name, figure(one["items"]), one["worst"], risk, kept))
    if rows:
        head = ("broker that fails", "its items", "then worst is", "its risk", "limits kept")
        yield table(
            "If one broker fails: its items go to their mirrors", head, rows, words=(0, 2, 4)
        )
