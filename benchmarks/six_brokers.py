"""Six real NATS brokers with an agent beside each, default timers: what a silent link costs.

Every link in turn is blackholed while messages that cross it are published, 1,000 a second, and
healed after two seconds. Then the destination's agent is stopped for 120 ms while messages are on
the way round, and a topic that goes over two paths at once has the paths' links and brokers broken.
The agents' traces go through Spark, which has to agree with what the clients counted.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from _measure import report
from contenders.apart import lab_apart
from contenders.audited import audited, lost_by_topic, spark_here
from contenders.shapes import ring
from ropewalk import load
from ropewalk.agent.drive import DrivePlan, DriveResult, drive
from ropewalk.agent.drive.timing import FaultCall
from ropewalk.cli.drive import FEDERATION
from ropewalk.errors import LabError
from ropewalk.federation import Federation
from ropewalk.federation.facts import Topic
from ropewalk.federation.names import link_name
from ropewalk.routing import Table, shortest_paths

TOPICS = """
  two/paths:
    publishers: [a]
    subscribers: [d]
    contract: {delivery: exactly-once, paths: 2}
"""
TWO = "two/paths"
SILENT_S = 2.0
BEFORE_S = 2.0
QUIET_S = 10.0
"""Before a topic's two paths are broken: the p99.9 of that time is what it is held against."""
BROKEN_S = 1.0
"""Watched after that: all that a break can do has happened by then."""
BREAKS = ("blackhole b--c", "cut a--b", "kill b", "blackhole a--b", "kill agent:c")
NOTHING = "heal a--b"
"""The control: nothing is broken, and the same is measured."""
PARTS = ("silent_links", "stopped_destination", "two_paths")
GOALS = {"median_outage_ms": 100.0, "gap_over_quiet_p999": 2.0}


def described() -> Federation:
    """The ring, with a topic for each link: of the pairs whose route has it, the longest route."""
    six = ring(TOPICS)
    table = shortest_paths(six)
    topics = dict(six.topics)
    for link in six.links:
        a, b = link.between
        crossing = [
            route
            for ends in product(six.brokers, repeat=2)
            if (route := tuple(way(table, *ends)))[-2:] in ((a, b), (b, a))
        ]
        longest = max(crossing, key=len)
        topics[f"over/{a}{b}"] = Topic(publishers=longest[:1], subscribers=longest[-1:])
    return replace(six, topics=topics)


def way(table: Table, at: str, to: str) -> Iterator[str]:
    """The brokers from one to another."""
    yield at
    while at != to:
        at = table.hop(at, to) or to
        yield at


class Runs:
    """Runs of the clients on one lab, one topic at a time."""

    def __init__(self, folder: Path, fault: FaultCall, rate: float) -> None:
        self._fault, self._rate = fault, rate
        self._placed = load(folder / FEDERATION)
        self.results: list[DriveResult] = []

    async def run(self, topic: str, faults: Sequence[str], *, seconds: float) -> DriveResult:
        """Drive one topic while things break; all is healed afterwards."""
        plan = DrivePlan(
            federation=replace(self._placed, topics={topic: self._placed.topics[topic]}),
            rate_msgs_s=self._rate,
            seconds=seconds,
            faults=tuple(faults),
            fault=self._fault,
            settle_s=30,
            warm_up_s=60,
        )
        result = await drive(plan)
        if result.silent:
            raise LabError(f"{topic}: nothing came before anything was broken")
        await self._fault("heal all")
        self.results.append(result)
        figures = result.pairs[0].figures
        told = f"{figures.longest_gap_ms:.0f} ms, {figures.lost} lost, {figures.doubled} doubled"
        print(f"  {topic}: {'; '.join(faults)}: {told}", file=sys.stderr)
        return result


async def silent_links(runs: Runs, six: Federation, repeats: int) -> dict[str, Any]:
    """Each link in turn, by turns."""
    outages: dict[str, list[float]] = {link_name(*one.between): [] for one in six.links}
    some: list[DriveResult] = []
    for _ in range(repeats):
        for link in six.links:
            a, b = link.between
            fault = f"at {BEFORE_S} s blackhole {a}--{b} for {SILENT_S} s"
            done = await runs.run(f"over/{a}{b}", [fault], seconds=BEFORE_S + SILENT_S + 2)
            outages[link_name(a, b)].append(done.pairs[0].figures.longest_gap_ms)
            some.append(done)
    every = [one for found in outages.values() for one in found]
    return {
        "median_outage_ms": median(every),
        "worst_outage_ms": max(every),
        "median_ms_by_link": {link: median(found) for link, found in outages.items()},
        **counted(some),
        "reached": median(every) <= GOALS["median_outage_ms"],
    }


async def stopped_destination(runs: Runs, repeats: int) -> dict[str, Any]:
    """The destination's agent stands still while messages go the other way round."""
    faults = ["at 1 s blackhole b--c for 3 s", "at 2.5 s pause agent:d for 120 ms"]
    return counted([await runs.run("over/cd", faults, seconds=5) for _ in range(repeats)])


async def two_paths(runs: Runs, repeats: int) -> dict[str, Any]:
    """One of the paths breaks: no gap is longer than what this machine does by itself."""
    some: dict[str, list[DriveResult]] = {kind: [] for kind in (*BREAKS, NOTHING)}
    for _ in range(repeats):
        for kind, done in some.items():
            fault = f"at {QUIET_S} s {kind}"
            done.append(await runs.run(TWO, [fault], seconds=QUIET_S + BROKEN_S))
    control = over(some.pop(NOTHING))
    ratios = [one for done in some.values() for one in over(done)]
    return {
        "gap_over_quiet_p999": {"median": median(ratios), "worst": max(ratios)},
        "with_nothing_broken": {"median": median(control), "worst": max(control)},
        "by_fault": {kind: over(done) for kind, done in some.items()},
        **counted([one for done in some.values() for one in done]),
        "reached": max(ratios) <= GOALS["gap_over_quiet_p999"],
    }


def over(some: Sequence[DriveResult]) -> list[float]:
    """The longest gap after the fault in times of the p99.9 before it, of each run."""
    figures = [one.pairs[0].figures for one in some]
    return [
        round(one.longest_gap_ms / one.quiet_p999_ms, 2) for one in figures if one.quiet_p999_ms
    ]


def counted(results: Sequence[DriveResult]) -> dict[str, int]:
    """All that was sent, and what became of it."""
    figures = [pair.figures for result in results for pair in result.pairs]
    names = ("sent", "acknowledged", "received", "lost", "doubled", "disordered")
    return {"runs": len(results)} | {
        name: sum(getattr(one, name) for one in figures) for name in names
    }


async def measured(
    folder: Path, asked: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, int]]:
    federation = described()
    async with lab_apart(federation, folder) as fault:
        runs = Runs(folder, fault, asked.rate)
        found = {}
        if "silent_links" in asked.part:
            found["silent_links"] = await silent_links(runs, federation, asked.repeats)
        if "stopped_destination" in asked.part:
            found["stopped_destination"] = await stopped_destination(runs, asked.repeats)
        if "two_paths" in asked.part:
            found["two_paths"] = await two_paths(runs, asked.repeats)
    return found, lost_by_topic(runs.results)


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    asking.add_argument("--repeats", type=int, default=5, help="of each fault [default: 5]")
    asking.add_argument("--part", nargs="+", default=PARTS, choices=PARTS, help="[default: all]")
    asking.add_argument("--rate", type=float, default=1000.0, help="[default: 1000]")
    asked = asking.parse_args()
    with tempfile.TemporaryDirectory(prefix="ropewalk-six-") as scratch:
        folder = Path(scratch) / "lab"
        found, lost = asyncio.run(measured(folder, asked))
        with spark_here() as spark:
            told = audited(spark, folder, described()).as_dict(lost)
    report("six_brokers", rate_msgs_s=asked.rate, goals=GOALS, **found, audit=told)


if __name__ == "__main__":
    main()
