"""`place replay`: what a plan predicts beside what the trace shows."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk.errors import UsageError
from ropewalk.findings import Finding, Where
from ropewalk.report.verbs.plans import again, place_in, today_of

if TYPE_CHECKING:
    import pandas as pd

    from ropewalk.pipeline.folders import Work
    from ropewalk.pipeline.rates.peaks import PeakRule
    from ropewalk.pipeline.rates.stats import Stats
    from ropewalk.pipeline.session import SparkSession
    from ropewalk.placement.inputs import Input
    from ropewalk.placement.problems import Ints


PathText = str | PathLike[str]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The risk of each broker, predicted and observed."""

    summary: Mapping[str, Any]
    plan: str

    @property
    def ok(self) -> bool:
        """Whether every prediction is inside the interval of what was observed."""
        return not self.findings

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Brokers of which it is not."""
        return tuple(
            Finding("L002", one["text"], Where(self.plan))
            for one in self.summary["brokers"]
            if not one["confirmed"]
        )

    def frame(self) -> "pd.DataFrame":
        """A row per broker."""
        import pandas as pd

        return pd.DataFrame(self.summary["brokers"]).drop(columns="text")


def replay(
    plan: PathText,
    folder: PathText,
    *,
    peak: "str | PeakRule" = "busiest:1",
    today: bool = False,
    delivered: bool = False,
    spark: "SparkSession | None" = None,
) -> Replayed:
    """Replay a stored trace under a plan: how often each broker would have been overloaded.

    `today`: where items were before the plan. `delivered`: what brokers really handed to clients.
    """
    from ropewalk.pipeline.jobs import peak_rule, work_of
    from ropewalk.pipeline.plainly import plainly
    from ropewalk.pipeline.session import session
    from ropewalk.placement.plan_file import plan_in

    path = Path(plan)
    read = plan_in(path)
    found = again(read, path)
    place = today_of(found, path) if today else place_in(found, read, path)
    rule = peak_rule(peak) if isinstance(peak, str) else peak
    model = read.goal["model"]
    with plainly():
        summary = replayed(
            spark or session(), work_of(folder), found, place, model, rule, delivered=delivered
        )
    return Replayed({**summary, "placement": "today" if today else "plan"}, str(path))


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


def replay_text(summary: Mapping[str, Any]) -> str:
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
