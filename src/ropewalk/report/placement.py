"""Plans for a terminal 80 columns wide, and as pictures."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.saving import write_bytes
from ropewalk.placement.judge import percent, standings, why_not
from ropewalk.placement.placing import Placed
from ropewalk.placement.problems import Ints, Problem
from ropewalk.placement.risk import margins, risk_of
from ropewalk.placement.solve.bound import even_margin
from ropewalk.placement.solve.scores import FAR, Model, Objective
from ropewalk.report.verification import plural

SHOWN = 20
PICTURES = ("risk", "correlation", "gap")
MOST_CELLS, FEW = 400, 30
TODAY, AFTER, LINE = "#c44e52", "#4c72b0", "#55a868"


def plan_lines(plan: Mapping[str, Any], notes: Sequence[str] = ()) -> str:
    """A plan in words and two tables."""
    outcome = plan["outcome"]
    lines = [f"note: {note}" for note in notes]
    lines += [_brokers(plan["brokers"]), ""]
    lines += _words(outcome, plan["goal"])
    if moves := plan["moves"]:
        lines += ["", _moves(moves, plan["outcome"])]
    elif outcome["moves"]["planned"] == 0:
        lines += ["", "No moves: everything stays where it is."]
    if failures := plan["failures"]:
        worst = min(failures, key=lambda name: failures[name]["least_margin"])
        one = failures[worst]
        lines += [
            "",
            f"If one broker fails: worst is {worst}; then {one['worst']} has the highest risk,"
            f" {percent(one['risk'])}.",
        ]
        if breaking := [name for name, one in failures.items() if not one["keeps_limits"]]:
            lines.append(f"Limits or rules cannot be kept when these fail: {_few(breaking)}.")
    if quiet := plan.get("quiet"):
        lines.append(
            f"In quiet hours {', '.join(quiet['switched_off'])} can be off; then the highest risk"
            f" is {percent(quiet['risk'])} ({quiet['worst']})."
        )
    return "\n".join(lines)


def _brokers(brokers: Mapping[str, Any]) -> str:
    wide = max(6, *(len(name) for name in brokers))
    wide = min(wide, 24)
    head = (
        f"{'':{wide}}  {'items':>11}  {'load of limit':>13}  {'risk today':>11}  {'risk after':>11}"
    )
    rows = [head]
    ranked = sorted(brokers, key=lambda name: -_risk(brokers[name], "today", "after"))
    for name in ranked[:SHOWN]:
        today, after = brokers[name].get("today"), brokers[name]["after"]
        items = f"{today['items'] if today else '-'} > {after['items']}"
        load = f"{_of_limit(today)} > " if today else ""
        load += f"{_of_limit(after)} %"
        rows.append(
            f"{name[:wide]:{wide}}  {items:>11}  {load:>13}"
            f"  {percent(today['risk']) if today else '-':>11}  {percent(after['risk']):>11}"
        )
    if len(ranked) > SHOWN:
        rows.append(f"... and {len(ranked) - SHOWN} more brokers with less risk (--json has all)")
    return "\n".join(rows)


def _of_limit(standing: Mapping[str, Any]) -> str:
    return f"{100 * standing['load'] / standing['limit']:.0f}"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _risk(broker: Mapping[str, Any], *keys: str) -> float:
    return max(float(broker[key]["risk"]) for key in keys if key in broker)


def _words(outcome: Mapping[str, Any], goal: Mapping[str, Any]) -> list[str]:
    margin, nobody = outcome["least_margin"], outcome["nobody_overloaded"]
    was = f"{_far(margin['today'])} today, " if "today" in margin else ""
    lines = [
        f"Least margin: {was}{_far(margin['after'])} after (deviations below the limit;"
        f" {goal['model']})."
    ]
    best = f"the best found, {margin['best_found']:g},"
    if outcome["proven_best"]:
        lines.append(f"Of all placements {best} is the best: that is proven.")
    elif "gap_of_best" in margin:
        lines.append(
            f"None has more than {margin['bound']:g}; {best} is within"
            f" {percent(margin['gap_of_best'])} of that."
        )
    elif "bound" in margin:
        lines.append("The mean load alone is too much: no placement keeps all below their limits.")
    elif "bound" in nobody:
        lines.append(f"No placement within the limits has a product above {nobody['bound']:.6g}.")
    was = f"{nobody['today']:.6g} today, " if "today" in nobody else ""
    lines.append(f"Probability that nobody is overloaded: {was}{nobody['after']:.6g} after.")
    return lines


def _far(margin: float) -> str:
    return f"{margin:g}" if margin < FAR else f"{FAR:g} or more"


def _moves(moves: Sequence[Mapping[str, Any]], outcome: Mapping[str, Any]) -> str:
    best = outcome["moves"]["for_the_best"]
    more = f" (the best found would take {best:,})" if best > outcome["moves"]["planned"] else ""
    rows = [f"{plural(len(moves), 'move')} in this order{more}:"]
    for number, one in enumerate(moves[:SHOWN], 1):
        source = one.get("from", "nowhere")
        aside = ", for now" if one.get("on_the_way") else ""
        rows.append(
            f"{number:>4}. {one['item']}: {source} > {one['to']}{aside};"
            f" least margin {one['least_margin']:.3g}"
        )
    if len(moves) > SHOWN:
        rows.append(f"      ... and {len(moves) - SHOWN} more (the plan file has all)")
    if not outcome["on_the_way"]["nobody_worse_off"]:
        least = outcome["on_the_way"]["least_margin"]
        rows.append(f"On the way a margin falls to {least:g}: no order avoids that.")
    return "\n".join(rows)


def explained(problem: Problem, place: Ints, item: int, model: Model) -> dict[str, Any]:
    """Why an item is where a plan puts it: what it is, and what other brokers would mean."""
    at, today = int(place[item]), int(problem.rules.today[item])
    now = margins(problem, place, model)
    spread = problem.spread
    unit = np.zeros(len(problem.items))
    unit[item] = 1.0
    across, deviation = spread.times(unit), np.sqrt(np.maximum(spread.variance, 0.0))
    scale = deviation * deviation[item]
    correlation = np.divide(across, scale, out=np.zeros_like(across), where=scale > 0)
    others = []
    for b, name in enumerate(problem.brokers):
        there = place.copy()
        there[item] = b
        z = margins(problem, there, model)
        together = (place == b) & (np.arange(len(place)) != item)
        weight = problem.rate_msgs_s * together
        others.append(
            {
                "broker": name,
                "chosen": b == at,
                "today": b == today,
                "risk": float(risk_of(z[b : b + 1])[0]),
                "least_margin": float(z.min()),
                "correlation_with_its_items": float(
                    _correlated(problem, together, item, across, deviation)
                ),
                "items": int(together.sum()),
                "rate_msgs_s": float(weight.sum()),
                "reasons_against": [one.reason for one in why_not(problem, place, item, b, model)],
            }
        )
    near = [i for i in np.argsort(-np.abs(correlation)) if i != item][:5]
    return {
        "item": problem.items[item],
        "at": problem.brokers[at],
        "today": problem.brokers[today] if today >= 0 else None,
        "rate_msgs_s": float(problem.rate_msgs_s[item]),
        "deviation_msgs_s": float(deviation[item]),
        "load": float(problem.load[at, item]),
        "least_margin": float(now.min()),
        "rises_with": [
            {
                "item": problem.items[i],
                "correlation": float(correlation[i]),
                "at": problem.brokers[place[i]],
            }
            for i in near
        ],
        "brokers": sorted(others, key=lambda one: -float(str(one["least_margin"]))),
    }


def _correlated(problem: Problem, together: Any, item: int, across: Any, deviation: Any) -> float:
    """The correlation of an item with the load of a broker's other items."""
    sums = together.astype(np.float64)
    variance = problem.spread.of(sums)
    if variance <= 0 or deviation[item] <= 0:
        return 0.0
    return float(across @ sums / np.sqrt(variance) / deviation[item])


def explained_text(found: Mapping[str, Any]) -> str:
    """The same for people."""
    was = f", today on {found['today']}" if found["today"] != found["at"] else ", where it is today"
    lines = [
        f"{found['item']}: on {found['at']}{was if found['today'] else ''}",
        f"It brings {found['rate_msgs_s']:.4g} messages/s, give or take"
        f" {found['deviation_msgs_s']:.3g}: {100 * found['load']:.2g} % of the broker's time.",
        "",
        f"{'if it were on':<20} {'its risk':>9} {'least margin':>13} {'rises with':>11}",
    ]
    for one in found["brokers"][:SHOWN]:
        mark = " *" if one["chosen"] else ""
        lines.append(
            f"{one['broker'][:18] + mark:<20} {percent(one['risk']):>9}"
            f" {one['least_margin']:>13.4g}"
            f" {one['correlation_with_its_items']:>+11.2f}"
        )
        lines += [f"    not allowed: {reason}" for reason in one["reasons_against"]]
    lines += ["", "* chosen; `rises with` is its correlation with what the broker has besides."]
    if near := [one for one in found["rises_with"] if abs(one["correlation"]) >= 0.005]:
        lines.append("It varies most with:")
        lines += [f"    {one['correlation']:+.2f}  {one['item']} ({one['at']})" for one in near]
    return "\n".join(lines)


def draw(placed: Placed, folder: Path) -> list[Path]:
    """Pictures of a plan into a folder: risk.png, correlation.png, gap.png."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder: make it, or name another")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from matplotlib.figure import Figure

    made = []
    for name, paint in zip(PICTURES, (_draw_risk, _draw_correlation, _draw_gap), strict=True):
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        paint(figure, placed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a letter that the font lacks is a box
            picture = BytesIO()
            figure.savefig(picture, dpi=120, format="png")
        made.append(folder / f"{name}.png")
        write_bytes(made[-1], picture.getvalue())
    return made


def _draw_risk(figure: Any, placed: Placed) -> None:
    axes = figure.add_subplot()
    problem = placed.problem
    after = np.array([one.risk for one in standings(problem, placed.place, placed.model)])
    today = None
    if placed.today is not None:
        today = np.array([one.risk for one in standings(problem, placed.today, placed.model)])
    order = np.argsort(-(after if today is None else today))
    places = np.arange(len(order))
    floor = 1e-9
    if today is not None:
        axes.bar(places - 0.2, np.maximum(today[order], floor), 0.4, color=TODAY, label="today")
    axes.bar(places + 0.2, np.maximum(after[order], floor), 0.4, color=AFTER, label="after")
    axes.set_yscale("log")
    axes.set_ylim(floor, 1)
    axes.set_ylabel("probability of an overload")
    axes.set_title("Risk of each broker")
    _ticks(axes, places, [problem.brokers[b] for b in order])
    axes.legend(frameon=False)
    _plain(axes)


def _draw_correlation(figure: Any, placed: Placed) -> None:
    """Correlations of items, those of a broker side by side."""
    axes = figure.add_subplot()
    problem = placed.problem
    figure.set_size_inches(7, 6)
    order = np.argsort(placed.place, kind="stable")
    if len(order) > MOST_CELLS:
        heavy = np.argsort(-problem.load.max(0), kind="stable")[:MOST_CELLS]
        order = order[np.isin(order, heavy)]
    part = _covariance(problem, order)
    deviation = np.sqrt(np.maximum(part.diagonal(), 1e-300))
    shown = axes.imshow(part / np.outer(deviation, deviation), cmap="RdBu_r", vmin=-1, vmax=1)
    edges = np.flatnonzero(np.diff(placed.place[order])) + 0.5
    for edge in edges:
        axes.axhline(edge, color="black", linewidth=0.6)
        axes.axvline(edge, color="black", linewidth=0.6)
    middles = [(a + b) / 2 for a, b in zip([-0.5, *edges], [*edges, len(order) - 0.5], strict=True)]
    names = [problem.brokers[placed.place[order[round(m)]]] for m in middles]
    axes.set_yticks(middles, names, fontsize=8)
    axes.set_xticks([])
    if len(order) <= FEW:
        axes.set_xticks(
            np.arange(len(order)),
            [problem.items[i] for i in order],
            rotation=60,
            ha="right",
            fontsize=7,
        )
    more = f" (the {MOST_CELLS} largest)" if len(problem.items) > MOST_CELLS else ""
    axes.set_title(f"Correlation of items, by broker{more}")
    figure.colorbar(shown, ax=axes, shrink=0.8)


def _covariance(problem: Problem, order: Any) -> Any:
    spread = problem.spread
    part = spread.loadings[order] @ spread.loadings[order].T + np.diag(spread.own[order])
    return part + spread.matrix[np.ix_(order, order)] if len(spread.matrix) else part


def _draw_gap(figure: Any, placed: Placed) -> None:
    axes = figure.add_subplot()
    problem, model = placed.problem, placed.model
    after = np.sort(margins(problem, placed.place, model))
    places = np.arange(1, len(after) + 1)
    if placed.today is not None:
        axes.plot(
            places,
            np.sort(margins(problem, placed.today, model)),
            "o-",
            color=TODAY,
            markersize=4,
            label="today",
        )
    axes.plot(places, after, "o-", color=AFTER, markersize=4, label="after")
    axes.plot(
        places,
        np.sort(margins(problem, placed.best, model)),
        "--",
        color=AFTER,
        linewidth=1,
        label="best found",
    )
    if placed.objective is Objective.MARGIN and placed.bound is not None:
        axes.axhline(placed.bound, color=LINE, label="no least margin is above this")
        axes.axhline(even_margin(problem), color=LINE, linestyle=":", label="all brokers alike")
    axes.set_xticks(places[:: max(1, len(places) // 20)])
    if placed.bound is not None and placed.objective is Objective.MARGIN:
        axes.set_ylim(top=max(1.6 * placed.bound, float(after.max()) * 1.1))
    axes.set_xlabel("brokers, the worst first")
    axes.set_ylabel("margin, in deviations")
    axes.set_title("Margins, and how large the least can be")
    axes.legend(frameon=False, fontsize=8)
    _plain(axes)


def _ticks(axes: Any, places: Any, names: Sequence[str]) -> None:
    every = max(1, len(names) // 30)
    turned = len(names) > 6
    axes.set_xticks(
        places[::every],
        names[::every],
        rotation=60 if turned else 0,
        ha="right" if turned else "center",
        fontsize=8,
    )


def _plain(axes: Any) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
