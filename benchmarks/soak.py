"""Random faults on a six-broker federation, one after the other: what is lost, and why it stood.

Links are cut or silent, brokers and agents are killed, alone or together, agents stand still. All
that clients were acknowledged has to come; the agents' traces go through Spark, and the audit has
to agree. Every outage is held against the faults, and against the traces (`contenders.outages`).
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from _measure import report
from contenders.apart import lab_apart
from contenders.audited import audited, lost_by_topic, spark_here
from contenders.outages import explained
from contenders.shapes import ring
from ropewalk import load
from ropewalk.agent.drive import DrivePlan, DriveResult, drive
from ropewalk.agent.drive.shaking import random_faults
from ropewalk.agent.drive.timing import FaultCall
from ropewalk.cli.drive import FEDERATION
from ropewalk.pipeline.store import open_store

SIX = ring("""
  there/x: {publishers: [a], subscribers: [d]}
  back/y: {publishers: [d], subscribers: [a]}
""")
PART = 20
"""Faults in one run of the clients: what they keep in mind is bounded."""
EVERY_S = 4.0
RECOVERY_S = 12.0
"""After a fault: an agent that was killed starts again and takes up its links."""


async def shaken(folder: Path, asked: argparse.Namespace) -> list[DriveResult]:
    """All runs of the clients, each with some faults, on one lab."""
    async with lab_apart(SIX, folder) as fault:
        starts = range(0, asked.faults, PART)
        return [await _part(folder, fault, asked, start) for start in starts]


async def _part(
    folder: Path, fault: FaultCall, asked: argparse.Namespace, start: int
) -> DriveResult:
    count = min(PART, asked.faults - start)
    seed = asked.seed + start // PART
    plan = DrivePlan(
        federation=load(folder / FEDERATION),
        rate_msgs_s=asked.rate,
        seconds=EVERY_S * count + RECOVERY_S,
        faults=random_faults(SIX, seed=seed, count=count, seconds=EVERY_S * count),
        fault=fault,
        fast=True,
        settle_s=60,
        warm_up_s=60,
    )
    result = await drive(plan)
    await fault("heal all")
    lost = sum(pair.figures.lost for pair in result.pairs)
    told = f"{result.sent} sent, {lost} lost, {len(result.silent)} never heard"
    print(f"  {start + count} of {asked.faults} faults: {told}", file=sys.stderr)
    return result


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--faults", type=int, default=300)
    asking.add_argument("--rate", type=float, default=1000.0, help="Of each of two publishers.")
    asking.add_argument("--seed", type=int, default=1)
    asking.add_argument("--keep", type=Path, help="A folder for the lab, which is left there.")
    asked = asking.parse_args()
    with tempfile.TemporaryDirectory(prefix="ropewalk-soak-") as scratch:
        start = perf_counter()
        lab = (asked.keep or Path(scratch)) / "lab"
        results = asyncio.run(shaken(lab, asked))
        found = {"faults": asked.faults, "seed": asked.seed, "messages_per_s": 2 * asked.rate}
        found |= counted(results)
        with spark_here() as spark:
            found["audit"] = audited(spark, lab, SIX).as_dict(lost_by_topic(results))
        found["outages"] = explained(results, open_store(lab / "store"))
        found["seconds"] = round(perf_counter() - start, 1)
    report("soak", **found)


def counted(results: list[DriveResult]) -> dict[str, Any]:
    """What the clients have counted."""
    pairs = [pair.figures for result in results for pair in result.pairs]
    names = ("sent", "acknowledged", "received", "lost", "doubled", "disordered")
    return {
        **{name: sum(getattr(one, name) for one in pairs) for name in names},
        "never_heard": sum(len(one.silent) for one in results),
        "longest_gap_ms": max((one.longest_gap_ms for one in pairs), default=0.0),
    }


if __name__ == "__main__":
    main()
