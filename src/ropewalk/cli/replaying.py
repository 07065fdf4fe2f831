"""`ropewalk place replay`: what a plan predicts beside what the trace shows."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ropewalk.errors import UsageError

if TYPE_CHECKING:
    from ropewalk.pipeline.folders import Work
    from ropewalk.pipeline.rates.peaks import PeakRule
    from ropewalk.pipeline.rates.stats import Stats
    from ropewalk.pipeline.session import SparkSession
    from ropewalk.placement.inputs import Input
    from ropewalk.placement.problems import Ints


def replayed(
    spark: "SparkSession",
    work: "Work",
    found: "Input",
    place: "Ints",
    model: str,
    rule: "PeakRule",
    *,
    delivered: bool = False,
) -> dict[str, Any]:
    """Predicted and observed overloads of each broker.

    Observed is what brokers would have had to do under the placement; `delivered`: what they did.

    The interval is one for all brokers together: 95 % for the federation, more for each.
    """
    from ropewalk.pipeline.observed import observed
    from ropewalk.pipeline.rates.stats import load_stats
    from ropewalk.pipeline.replay import replay
    from ropewalk.pipeline.store import open_store
    from ropewalk.placement.risk import margins, risk_of
    from ropewalk.placement.solve.scores import Model

    problem, stats = found.problem, load_stats(work.rates)
    if stats.window_s is None:
        raise UsageError(f"{work.rates}: it does not say how long its windows are")
    topics = found.members.tocoo()
    where = {
        stats.names[t]: (problem.brokers[place[i]], float(problem.work_s[place[i], i]))
        for t, i in zip(topics.row, topics.col, strict=True)
    }
    store = open_store(work.store)
    level = 1 - 0.05 / len(problem.brokers)
    limits = dict(zip(problem.brokers, map(float, problem.limit), strict=True))
    if delivered:
        work_us = _work_us(found, stats)
        seen = observed(
            spark, store, work_us, limits, window_s=stats.window_s, peak=rule, level=level
        )
    else:
        seen = replay(
            spark,
            store,
            {topic: broker for topic, (broker, _) in where.items()},
            {(broker, topic): 1e6 * cost for topic, (broker, cost) in where.items()},
            limits,
            window_s=stats.window_s,
            peak=rule,
            names=store.names("topic"),
            level=level,
        )
    risks = {
        one.name.lower(): risk_of(margins(problem, place, one))
        for one in (Model.NORMAL, Model.LOGNORMAL)
    }
    rows = []
    for b, name in enumerate(problem.brokers):
        one, predicted = seen[name].over, float(risks[model][b])
        rows.append(
            {
                "broker": name,
                "predicted": predicted,
                **{kind: float(values[b]) for kind, values in risks.items()},
                "observed": one.share,
                "low": one.low,
                "high": one.high,
                "windows": one.windows,
                "over": one.happened,
                "mean": seen[name].mean,
                "largest": seen[name].largest,
                "limit": limits[name],
                "confirmed": bool(one.low <= predicted <= one.high),
                "text": f"{name}: predicted {predicted:.3g}, observed {one.share:.3g}"
                f" ({one.low:.3g} to {one.high:.3g})",
            }
        )
    return {
        "model": model,
        "level": level,
        "window_s": stats.window_s,
        "peak": rule.text,
        "counted": "delivered" if delivered else "placed",
        "windows": seen.windows,
        "messages": seen.messages,
        "anywhere": None if seen.anywhere is None else asdict(seen.anywhere),
        "confirmed": sum(one["confirmed"] for one in rows),
        "brokers": rows,
    }


def _work_us(found: "Input", stats: "Stats") -> dict[tuple[str, str], float]:
    """What it costs each broker to hand out one message of each topic: a copy's share of all."""
    problem, topics = found.problem, found.members.tocoo()
    return {
        (broker, stats.names[t]): 1e6
        * float(problem.work_s[b, i])
        / max(1.0, float(stats.replication[t]))
        for t, i in zip(topics.row, topics.col, strict=True)
        for b, broker in enumerate(problem.brokers)
    }


def replay_text(summary: dict[str, Any]) -> str:
    """The same for people."""
    rows = [f"{'':20} {'predicted':>10} {'observed':>10}   {'interval':<21} windows"]
    for one in sorted(summary["brokers"], key=lambda row: -row["observed"]):
        mark = "" if one["confirmed"] else "  outside"
        rows.append(
            f"{one['broker'][:20]:20} {one['predicted']:>10.4f} {one['observed']:>10.4f}"
            f"   {one['low']:.4f} to {one['high']:.4f}{'':5}"
            f"{one['over']:>4} of {one['windows']}{mark}"
        )
    told = f"{summary['confirmed']} of {len(summary['brokers'])} brokers"
    rows.append(
        f"The {summary['model']} model's prediction is inside the interval for {told}"
        f" ({summary['peak']}, windows of {summary['window_s']:g} s)."
    )
    return "\n".join(rows)
