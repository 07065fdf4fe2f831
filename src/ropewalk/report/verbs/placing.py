"""`place`: where items go, from a federation and statistics of its topics; the plan file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ropewalk.federation.facts import Federation
from ropewalk.federation.opening import opened
from ropewalk.findings import Finding, Where
from ropewalk.placement.placing import Placed
from ropewalk.placement.placing import place as placed_by
from ropewalk.placement.plan import plan_of
from ropewalk.placement.solve.scores import Model, Objective
from ropewalk.report.verbs.plans import input_of, seen_from, stats_of, write_plan

if TYPE_CHECKING:
    import pandas as pd

    from ropewalk.pipeline.rates.stats import Stats
    from ropewalk.placement.inputs import Input

PathText = str | PathLike[str]


@dataclass(frozen=True)
class Placement:
    """Where items go, what that means for each broker, and of what it was made."""

    placed: Placed
    notes: tuple[str, ...]
    made_from: Mapping[str, Any]
    """Paths as they were given; a plan file has them as seen from its own folder."""

    def plan(self, out: PathText | None = None) -> dict[str, Any]:
        """The plan as plain sections, as a file at `out` has it."""
        return plan_of(self.placed, {key: _seen(out, one) for key, one in self.made_from.items()})

    def save(self, out: PathText) -> dict[str, Any]:
        """Write the plan, *.yaml, and its policies beside it; return what was written."""
        plan = self.plan(out)
        return {**plan, "policies": write_plan(plan, self.placed, Path(out))}

    @property
    def ok(self) -> bool:
        """Whether no rule is broken."""
        return not self.placed.broken

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Rules that no placement keeps, or that were given up."""
        where = Where(str(self.made_from["federation"]))
        return tuple(Finding("L001", one.reason, where) for one in self.placed.broken)

    @property
    def witness(self) -> object:
        """The bound that no placement exceeds, beside what was found."""
        return self.summary["least_margin"]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """How good it is, before and after, and how near to the best."""
        found: dict[str, Any] = self.plan()["outcome"]
        return found

    def frame(self) -> "pd.DataFrame":
        """A row per broker: items, load, margin and risk of today and after."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "broker": name,
                    **{f"{key}_{when}": one[when][key] for when in one for key in KEYS},
                }
                for name, one in self.plan()["brokers"].items()
            ]
        )

    def moves(self) -> "pd.DataFrame":
        """A row per move, in the order in which they are safe."""
        import pandas as pd

        columns = ["item", "from", "to", "risk_less", "least_margin"]
        return pd.DataFrame(self.plan()["moves"], columns=columns)


KEYS = ("items", "rate_msgs_s", "load", "margin", "risk")


def _seen(out: PathText | None, value: Any) -> Any:
    if not isinstance(value, Path):
        return value
    return seen_from(Path(out) if out is not None else None, value)


def place(
    federation: Federation | PathText,
    stats: PathText,
    *,
    capacities: PathText | None = None,
    objective: Literal["margin", "product", "utility", "excess"] = "margin",
    model: Literal["normal", "lognormal"] = "normal",
    gain: float = 0.9,
    failures: int = 2,
    without: Sequence[str] = (),
    silent: bool = False,
    quiet: PathText | None = None,
    seed: int = 1,
    file: PathText | None = None,
) -> Placement:
    """Place items so that bursts which rise together do not share a broker. Nothing is moved.

    `stats` is what `rates` wrote, or a folder with means.csv and covariance.csv; `file` is where
    the federation is, if it is not where it was read. Raises UsageError for what does not fit.
    """
    described = federation if isinstance(federation, Federation) else opened(federation)
    at = file or (described.source.file if isinstance(federation, Federation) else federation)
    folder, costs = Path(stats), Path(capacities) if capacities is not None else None
    loaded, out_of = stats_of(folder), list(without)
    found = input_of(described, folder, loaded, costs, out_of, silent=silent)
    calm = None
    if quiet is not None:
        idle = Path(quiet)
        calm = input_of(described, idle, stats_of(idle), costs, out_of, silent=True)
    placed = placed_by(
        found.problem,
        Objective[objective.upper()],
        model=Model[model.upper()],
        gain=gain,
        at_once=failures,
        seed=seed,
        quiet_hours=calm.problem if calm else None,
    )
    made_from = {
        "federation": Path(at),
        "stats": folder,
        **({"capacities": costs} if costs else {}),
        **({"without": ",".join(without)} if without else {}),
        "silent": silent,
    }
    notes = (*found.notes, *_checked(placed, found, loaded), *_plain_costs(loaded))
    return Placement(placed, notes, made_from)


def _checked(placed: "Placed", found: "Input", stats: "Stats") -> list[str]:
    """Whether what was seen in the peak agrees with the model."""
    if stats.counts is None or stats.window_s is None:
        return []
    from ropewalk.pipeline.shares import share_of
    from ropewalk.placement.inputs import peaks_of
    from ropewalk.placement.judge import percent
    from ropewalk.placement.risk import loads_seen, margins, risk_of

    problem = placed.problem
    peaks = peaks_of(found, stats.counts.by_window(len(stats.names)), stats.window_s)
    loads = loads_seen(problem, placed.place, peaks)
    risk = risk_of(margins(problem, placed.place, placed.model))
    level = 1 - 0.05 / len(risk)
    shares = [
        share_of(loads[:, b] > limit, loads[:, b], level=level)
        for b, limit in enumerate(problem.limit)
    ]
    wrong = [
        (broker, one, expected)
        for broker, one, expected in zip(problem.brokers, shares, risk, strict=True)
        if not one.low <= expected <= one.high
    ]
    if not wrong:
        return []
    broker, one, expected = max(wrong, key=lambda row: abs(row[1].share - row[2]))
    other = "lognormal" if placed.model.name == "NORMAL" else "normal"
    return [
        f"the {placed.model.name.lower()} model is off for {len(wrong)} of"
        f" {len(risk)} brokers: {broker} would have been overloaded in {percent(one.share)} of the"
        f" windows, not {percent(expected)}; see what --model {other} says"
    ]


def _plain_costs(stats: "Stats") -> list[str]:
    if stats.counts is None and (stats.replication == 1).all() and (stats.filters == 1).all():
        return ["replication and filters of all topics are 1, as if nobody had given them"]
    return []
