"""The plan file: what people read and agents carry out."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from json import dumps
from typing import Any

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.dump import dump_plain
from ropewalk.placement.judge import Standing, gap, product_of, standings
from ropewalk.placement.moves import Move
from ropewalk.placement.placing import Placed
from ropewalk.placement.policies import Policy
from ropewalk.placement.problems import PER_BROKER, Problem
from ropewalk.placement.risk import margins, risk_of
from ropewalk.placement.solve.scores import Model, Objective

FORMAT = "ropewalk plan 1"


def plan_of(placed: Placed, made_from: Mapping[str, Any]) -> dict[str, Any]:
    """The plan as plain sections; `made_from` says of what."""
    problem, model = placed.problem, placed.model
    after = standings(problem, placed.place, model)
    before = standings(problem, placed.today, model) if placed.today is not None else None
    found: dict[str, Any] = {
        "plan": FORMAT,
        "version": "",
        "made_from": {**made_from, "digest": digest_of(problem)},
        "goal": {
            "objective": placed.objective.name.lower(),
            "model": model.name.lower(),
        },
        "outcome": _outcome(placed, before, after),
        "brokers": {
            one.broker: {
                **({"today": _standing(before[b])} if before is not None else {}),
                "after": _standing(one),
            }
            for b, one in enumerate(after)
        },
        "moves": list(_moves(placed)),
        "items": {
            name: problem.brokers[b] for name, b in zip(problem.items, placed.place, strict=True)
        },
        "mirrors": _mirrors(placed),
        "failures": {
            "+".join(problem.brokers[b] for b in one.down): _failure(one, problem.brokers)
            for one in placed.policies
            if len(one.down) == 1 and len(one.items)
        },
    }
    if placed.quiet is not None:
        off = [problem.brokers[b] for b in placed.quiet.down]
        found["quiet"] = {"switched_off": off, **_failure(placed.quiet, problem.brokers)}
    if placed.broken:
        found["broken"] = [{"rule": one.rule, "reason": one.reason} for one in placed.broken]
    found["version"] = version_of(found)
    return found


def plan_text(plan: Mapping[str, Any]) -> str:
    """The plan as YAML, an entry a line."""
    return dump_plain(dict(plan))


def version_of(plan: Mapping[str, Any]) -> str:
    """Of the content: agents that hold different plans notice."""
    what = {key: _texts(plan[key]) for key in ("moves", "items", "mirrors") if plan.get(key)}
    return blake2b(dumps(what, sort_keys=True).encode(), digest_size=8).hexdigest()


def digest_of(problem: Problem) -> str:
    """Of what a plan is made of: other rates, costs or rules have another."""
    spread, rules = problem.spread, problem.rules
    names = (problem.items, problem.brokers, rules.apart, rules.most_moves, rules.sites)
    found = blake2b(repr(names).encode(), digest_size=8)
    for name in (*PER_BROKER, "most_items_at", "most_rate_at"):
        found.update(np.ascontiguousarray(getattr(rules, name), np.float64).tobytes())
    for part in (problem.rate_msgs_s, problem.work_s, problem.limit, rules.allowed, rules.today):
        found.update(np.ascontiguousarray(part).tobytes())
    for part in (spread.matrix, spread.loadings, spread.own):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


def _texts(value: Any) -> Any:
    """Plain values as the file has them: read without types they are the same."""
    if isinstance(value, Mapping):
        return {str(key): _texts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(one) for one in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What a plan file says, as far as it is read back."""

    version: str
    made_from: Mapping[str, str]
    goal: Mapping[str, str]
    items: Mapping[str, str]
    mirrors: Mapping[str, str]
    moves: tuple[Mapping[str, str], ...]
    brokers: Mapping[str, Any]


def read_plan(found: Any, name: str) -> ReadPlan:
    """A plan from YAML read without types (all texts); UsageError for what is none."""
    try:
        if found["plan"] != FORMAT:
            raise UsageError(f"{name}: a plan of another format, {found['plan']!r}: make it anew")
        read = ReadPlan(
            str(found["version"]),
            dict(found["made_from"]),
            dict(found["goal"]),
            dict(found["items"]),
            dict(found.get("mirrors") or {}),
            tuple(dict(one) for one in found.get("moves") or ()),
            dict(found["brokers"]),
        )
        Model[read.goal["model"].upper()]
        if version_of(found) != read.version:
            raise UsageError(f"{name}: it was changed by hand: make the plan anew")
    except (KeyError, TypeError, ValueError):
        raise UsageError(
            f"{name}: no plan, or not a whole one: `ropewalk place FILE -o {name}` writes one"
        ) from None
    return read


def _outcome(
    placed: Placed, before: list[Standing] | None, after: list[Standing]
) -> dict[str, Any]:
    problem, model = placed.problem, placed.model
    least, best = (
        min(one.margin for one in after),
        float(margins(problem, placed.best, model).min()),
    )
    found: dict[str, Any] = {"least_margin": {"after": _digits(least), "best_found": _digits(best)}}
    if before is not None:
        found["least_margin"]["today"] = _digits(min(one.margin for one in before))
    bound = best if placed.proven else placed.bound
    if bound is not None and placed.objective is Objective.MARGIN:
        found["least_margin"]["bound"] = _digits(bound)
        if bound > 0:
            found["least_margin"]["gap"] = _digits(max(gap(least, bound), 0.0))
            found["least_margin"]["gap_of_best"] = _digits(max(gap(best, bound), 0.0))
    found["nobody_overloaded"] = {"after": _digits(product_of(problem, placed.place, model))}
    if placed.today is not None:
        found["nobody_overloaded"]["today"] = _digits(product_of(problem, placed.today, model))
    if placed.bound is not None and placed.objective is Objective.PRODUCT:
        found["nobody_overloaded"]["bound"] = _digits(float(np.exp(placed.bound)))
    found["moves"] = {"planned": placed.moves, "for_the_best": placed.best_moves}
    found["on_the_way"] = {
        "least_margin": _digits(placed.way.least_margin),
        "nobody_worse_off": placed.way.safe,
    }
    found["proven_best"] = placed.proven
    return found


def _standing(one: Standing) -> dict[str, Any]:
    return {
        "items": one.items,
        "rate_msgs_s": _digits(one.rate_msgs_s),
        "load": _digits(one.load),
        "deviation": _digits(one.deviation),
        "limit": _digits(one.limit),
        "margin": _digits(one.margin),
        "risk": _digits(one.risk),
        "service_us": _digits(one.service_s * 1e6),
        "delay_us": _digits(one.delay_s * 1e6) if np.isfinite(one.delay_s) else "endless",
    }


def _moves(placed: Placed) -> list[dict[str, Any]]:
    risk = dict(enumerate(_risk_at_start(placed)))
    return [_move(placed, one, risk) for one in placed.way.moves]


def _risk_at_start(placed: Placed) -> list[float]:
    found = margins(placed.problem, placed.problem.rules.today, placed.model)
    return [float(one) for one in risk_of(found)]


def _move(placed: Placed, one: Move, risk: dict[int, float]) -> dict[str, Any]:
    problem = placed.problem
    target = float(risk_of(np.array([one.margin_target]))[0])
    before, after = risk[one.target], target
    row: dict[str, Any] = {"item": problem.items[one.item]}
    if one.source >= 0:
        source = float(risk_of(np.array([one.margin_source]))[0])
        row["from"] = problem.brokers[one.source]
        before, after = before + risk[one.source], after + source
        risk[one.source] = source
    row["to"] = problem.brokers[one.target]
    risk[one.target] = target
    row["risk_less"] = _digits(before - after)
    row["least_margin"] = _digits(one.least_margin)
    if one.on_the_way:
        row["on_the_way"] = True
    return row


def _mirrors(placed: Placed) -> dict[str, str]:
    """Of each item, who takes it when its own broker fails; in the order of the items."""
    problem = placed.problem
    to = {
        int(i): problem.brokers[b]
        for one in placed.policies
        if len(one.down) == 1
        for i, b in zip(one.items, one.to, strict=True)
    }
    return {problem.items[i]: to[i] for i in sorted(to)}


def _failure(one: Policy, brokers: tuple[str, ...]) -> dict[str, Any]:
    worst = int(np.nanargmin(one.margin)) if np.isfinite(one.margin).any() else 0
    return {
        "items": len(one.items),
        "least_margin": _digits(one.least_margin),
        "worst": brokers[worst],
        "risk": _digits(float(one.risk[worst])),
        "keeps_limits": one.excess <= 0,
    }


def _digits(value: float) -> float:
    return float(f"{value:.5g}")
