"""`ropewalk place replay`: what a plan predicts beside what the trace shows."""

from typing import TYPE_CHECKING, Any

from ropewalk.errors import UsageError

if TYPE_CHECKING:
    from ropewalk.pipeline.folders import Work
    from ropewalk.pipeline.rates.peaks import PeakRule
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
) -> dict[str, Any]:
    """Predicted and observed overloads of each broker.

    The interval is one for all brokers together: 95 % for the federation, more for each.
    """
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
    seen = replay(
        spark,
        store,
        {topic: broker for topic, (broker, _) in where.items()},
        {(broker, topic): 1e6 * cost for topic, (broker, cost) in where.items()},
        dict(zip(problem.brokers, map(float, problem.limit), strict=True)),
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
        "windows": seen.windows,
        "messages": seen.messages,
        "confirmed": sum(one["confirmed"] for one in rows),
        "brokers": rows,
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
