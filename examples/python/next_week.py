"""Plan next week from last week's trace.

Agents write what happens; Spark counts it. Rates and costs go into a plan that keeps topics which
rise together apart, and the plan is held against the very trace that it was made of. Here the trace
is made up, so that there is one (three days, four brokers). Run it anywhere; it takes a minute:

    python examples/python/next_week.py [FOLDER]
"""

# ruff: noqa: T201  (a script: what it finds it prints)
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import ropewalk
from ropewalk.report.verbs.placing import Placement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PEAK = "busiest:3"
"""Plans are for the three busiest hours of each day."""
WINDOW_S = 60.0
AT = {"eu": "par-1", "uk": "lon-1", "us": "zur-1", "asia": "fra-1", "gulf": "fra-1"}
"""Which broker has the topics of a region today."""


class Week(NamedTuple):
    """What was found: violations, the highest risk before and after, and what the trace says."""

    violations: int
    moves: int
    risk_before: float
    risk_after: float
    observed_before: float
    observed_after: float
    confirmed: bool


def main(
    folder: Path, *, events: float = 1.5e5, limit: float = 2.4, spark: "SparkSession | None" = None
) -> Week:
    """Last week's trace to next week's plan, in a folder that is not there yet."""
    made = ropewalk.generate_trace(
        folder, events=events, faults=[], seed=5, hours=72, brokers=4, topics=24, spark=spark
    )
    print(f"Last week: {made.summary['messages']:,} messages on {made.summary['topics']} topics")

    # What happened: was everything delivered, how much of it, and what does a message cost?
    taken = ropewalk.ingest(folder, spark=spark)
    audit = ropewalk.audit(folder, spark=spark)
    print(f"  {taken.rows:,} rows taken in, {taken.quarantined} put aside")
    print(f"  {audit.summary['violations']} violations of contracts")
    rates = ropewalk.rates(folder, window_s=WINDOW_S, peak=PEAK, precision="float64", spark=spark)
    costs = ropewalk.calibrate(folder, spark=spark)
    print(f"  {rates.summary['mean_total_rate_msgs_s']:.1f} messages/s in {rates.summary['peak']}")
    busy = costs.frame().set_index("broker")["capacity_msgs_s"]
    print(f"  brokers could take {busy.min():,.0f} to {busy.max():,.0f} messages/s\n")

    # Today each region has a broker of its own. This trace is small, so that it is quick, and
    # brokers that have to do no more are idle: let each have room for `limit` times the mean load.
    as_today(folder, limit)
    plan = folder / "plan.yaml"
    placement = placed(folder)
    placement.save(plan)
    table = placement.frame().set_index("broker")
    print(f"{'':10}{'items':>12}{'risk today':>14}{'risk planned':>14}")
    for name, one in table.iterrows():
        items = f"{one['items_today']:.0f} > {one['items_after']:.0f}"
        print(f"{name!s:10}{items:>12}{one['risk_today']:>14.2%}{one['risk_after']:>14.2%}")
    moves = placement.moves()
    print(f"{len(moves)} moves. {bound(placement)}\n")

    # Would it have helped? The trace is replayed: counted once more, window by window.
    before = ropewalk.replay(plan, folder, peak=PEAK, today=True, spark=spark)
    after = ropewalk.replay(plan, folder, peak=PEAK, spark=spark)
    was, would = (float(one.frame()["observed"].max()) for one in (before, after))
    print("Last week, replayed: the busiest broker is over its limit in")
    print(f"  {was:.2%} of the windows as things are, {would:.2%} under the plan.")
    print("The prediction agrees with what was observed." if after.ok else "It does not agree.")
    return Week(
        audit.summary["violations"],
        len(moves),
        float(table["risk_today"].max()),
        float(table["risk_after"].max()),
        was,
        would,
        after.ok,
    )


def placed(folder: Path) -> Placement:
    """The plan for the rates of a folder; generated rates are lognormal."""
    federation = folder / "federation.yaml"
    return ropewalk.place(federation, folder / "rates", model="lognormal", silent=True)


def as_today(folder: Path, limit: float) -> None:
    """Say in the federation file where topics are today, and what brokers may be given."""
    file = folder / "federation.yaml"
    load = float(placed(folder).frame()["load_after"].mean())
    at = {name: AT[name.split("/")[1]] for name in ropewalk.load(file).topics}
    lines = [f"    {name}: {broker}" for name, broker in at.items()]
    lines += ["  limits:", f"    utilisation: {limit * load:.9f}"]
    with file.open("a", encoding="utf-8") as text:
        text.write("\n".join(["placement:", "  at:", *lines, ""]))


def bound(placement: Placement) -> str:
    """How near to the best a plan is."""
    margin = placement.summary["least_margin"]
    if placement.summary["proven_best"]:
        return "No placement is better: that is proven."
    if "gap_of_best" not in margin:
        return "How near to the best that is could not be shown."
    return f"The best found is within {margin['gap_of_best']:.1%} of any: that is proven."


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(sys.argv[1]) if sys.argv[1:] else Path(scratch) / "week")
