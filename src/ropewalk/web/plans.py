"""A plan for the console: risk and load of brokers before and after, moves and their reasons."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ropewalk.federation import Federation
from ropewalk.federation.arrays import broker_of
from ropewalk.placement.judge import percent
from ropewalk.placement.plan import read_plan
from ropewalk.placement.plan_file import plan_texts
from ropewalk.report.filed.planned import highest, risks, sure
from ropewalk.report.filed.words import figure, number

FLOOR = 1e-9
"""What is less than this is drawn as this: a logarithm knows no zero."""
MOST_BROKERS = 24
"""In a chart, those with the highest risk."""
MOST_MOVES = 500
BEFORE, AFTER = "#e08700", "#1463d2"


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker today and after the plan; None where nobody knows how it is today."""

    name: str
    items: tuple[float | None, float | None]
    risk: tuple[float | None, float | None]
    load: tuple[float | None, float | None]
    """Of what it may be given at most."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A move, why it is made, and what is concerned."""

    item: str
    source: str
    target: str
    reason: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What the console shows of a plan."""

    words: tuple[str, ...]
    brokers: tuple[Broker, ...]
    moves: tuple[Moved, ...]
    notes: tuple[str, ...] = ()


def plan_in(path: Path, federation: Federation) -> Shown:
    """A plan file, whole and unchanged; UsageError for what is none."""
    found = plan_texts(path)
    read_plan(found, str(path))
    return shown(found, federation)


def plan_by(stats: Path, federation: Federation) -> Shown:
    """A plan made now; nothing is moved. UsageError where statistics and federation do not fit."""
    from ropewalk.report.verbs.placing import place  # with the planner, which takes a while to load

    found = place(federation, stats, failures=0)
    return shown(found.plan(), federation, (*found.notes, *(one.message for one in found.findings)))


def shown(plan: Mapping[str, Any], federation: Federation, notes: Sequence[str] = ()) -> Shown:
    """A plan, from its file or just made; brokers with the highest risk first."""
    brokers = [_broker(name, one) for name, one in plan["brokers"].items()]
    strange = [one.name for one in brokers if one.name not in federation.brokers]
    strange += [
        name
        for name in plan["items"]
        if name not in federation.items and name not in federation.topics
    ]
    also = [f"not in this federation: {', '.join(strange[:8])}"] if strange else []
    return Shown(
        tuple(_words(plan)),
        tuple(sorted(brokers, key=lambda one: -max(risk or 0.0 for risk in one.risk))),
        tuple(_moved(one) for one in list(plan.get("moves") or ())[:MOST_MOVES]),
        (*notes, *also),
    )


def _broker(name: str, one: Mapping[str, Any]) -> Broker:
    def both(value: str) -> tuple[float | None, float | None]:
        today, after = (number(one[when][value]) if when in one else None for when in WHEN)
        return today, after

    (load, loaded), (limit, limited) = both("load"), both("limit")
    return Broker(name, both("items"), both("risk"), (_part(load, limit), _part(loaded, limited)))


WHEN = ("today", "after")


def _part(load: float | None, limit: float | None) -> float | None:
    return load / limit if load is not None and limit else None


def _words(plan: Mapping[str, Any]) -> Iterator[str]:
    before, after = highest(risks(plan, "today")), highest(risks(plan, "after"))
    if after is not None:
        was = f"{percent(before[1])} ({before[0]}) today, " if before else ""
        yield f"Highest risk of an overload: {was}{percent(after[1])} ({after[0]}) after."
    margin = plan["outcome"]["least_margin"]
    was = f"{figure(margin['today'])} today, " if "today" in margin else ""
    yield f"Least margin, in deviations below the limit: {was}{figure(margin['after'])} after."
    yield sure(plan["outcome"])
    for one in plan.get("broken") or ():
        yield f"A rule is broken: {one['reason']}"


def _moved(one: Mapping[str, Any]) -> Moved:
    less = number(one.get("risk_less")) or 0.0
    what = "less" if less >= 0 else "more"
    reason = f"the two brokers' risk: {percent(abs(less))} {what}"
    reason += f"; least margin then {figure(one['least_margin'], 3)}"
    if str(one.get("on_the_way")).lower() == "true":
        reason += "; put aside for now, so that nobody is worse off"
    return Moved(str(one["item"]), str(one.get("from", "")), str(one["to"]), reason)


def concerned(federation: Federation, move: Moved) -> dict[str, str]:
    """Looks of the brokers that a move concerns: whose clients it is for, from where, to where."""
    found: dict[str, str] = {}
    for name in federation.items.get(move.item, (move.item,)):  # or it is a topic by itself
        topic = federation.topics.get(name)
        clients = (*topic.publishers, *topic.subscribers) if topic is not None else ()
        found |= {broker_of(one): "witness" for one in clients}
    return found | {move.source: "before", move.target: "after"}


# --- charts ---------------------------------------------------------------------------------------


def risk_options(brokers: Sequence[Broker]) -> dict[str, Any]:
    """Bars of risk on a scale of powers of ten, as ECharts takes them."""
    percents = "v => Number((100 * v).toPrecision(1)) + ' %'"
    axis = {
        "type": "log",
        "min": FLOOR,
        "max": 1,
        "startValue": FLOOR,
        "splitNumber": 9,
        "axisLabel": {":formatter": percents, "hideOverlap": True},
    }
    return _options(brokers, axis, [[_floored(risk) for risk in one.risk] for one in brokers])


def load_options(brokers: Sequence[Broker]) -> dict[str, Any]:
    """Bars of load, in percent of what a broker may be given."""
    axis = {"type": "value", "min": 0, "axisLabel": {"formatter": "{value} %"}}
    parts = [[None if p is None else round(100 * p, 1) for p in one.load] for one in brokers]
    return _options(brokers, axis, parts)


def _floored(risk: float | None) -> float | None:
    return None if risk is None else max(risk, FLOOR)


def _options(
    brokers: Sequence[Broker], axis: dict[str, Any], values: list[list[float | None]]
) -> dict[str, Any]:
    chosen = list(zip(brokers, values, strict=True))[:MOST_BROKERS][::-1]  # from below
    grid = {"splitLine": {"lineStyle": {"color": "#8884"}}}
    return {
        "animation": False,
        "grid": {"left": 4, "right": 24, "top": 28, "bottom": 4, "containLabel": True},
        "legend": {"top": 0, "data": list(WHEN)},
        # As text: names are the file's.
        "tooltip": {"trigger": "axis", "renderMode": "richText", "axisPointer": {"type": "shadow"}},
        "xAxis": {**grid, **axis},
        "yAxis": {"type": "category", "data": [one.name for one, _ in chosen]},
        "series": [
            {
                "name": when,
                "type": "bar",
                "itemStyle": {"color": colour},
                "data": [parts[number] for _, parts in chosen],
            }
            for number, when, colour in ((0, "today", BEFORE), (1, "after", AFTER))
        ],
    }
