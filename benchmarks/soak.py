"""Random faults on a six-broker federation, one after the other: what is lost, and why it stood.

Links are cut or silent, brokers and agents are killed, alone or together, agents stand still. All
that clients were acknowledged has to come; the agents' traces go through Spark, and the audit has
to agree. Every outage is held against the faults, and against the traces: it is explained if a
fault was there when it began or a moment before, and the traces show on which side of the origin's
log messages stood meanwhile (nothing was accepted, or what was accepted came later).
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from _measure import report
from contenders.audited import audited, lost_by_topic, spark_here
from contenders.outages import explained
from contenders.shapes import ring
from ropewalk import load
from ropewalk.agent.drive import DrivePlan, DriveResult, drive
from ropewalk.agent.drive.shaking import random_faults
from ropewalk.agent.drive.timing import Order, orders_of
from ropewalk.agent.lab.lab import Lab
from ropewalk.pipeline.store import open_store

SIX = ring("""
  there/x: {publishers: [a], subscribers: [d]}
  back/y: {publishers: [d], subscribers: [a]}
""")
Part = tuple[tuple[Order, ...], DriveResult]
"""What was broken in one run of the clients, and what they saw."""
PART = 20
"""Faults in one run of the clients: what they keep in mind is bounded."""
EVERY_S = 4.0
RECOVERY_S = 12.0
"""After a fault: an agent that was killed starts again and takes up its links."""


async def shaken(lab: Lab, faults: int, rate: float, seed: int) -> list[Part]:
    placed = load(lab.layout.file)
    done: list[Part] = []

    async def fault(text: str) -> None:
        await lab.fault(*text.split(" ", 2))

    for part, start in enumerate(range(0, faults, PART)):
        count = min(PART, faults - start)
        plan = DrivePlan(
            federation=placed,
            rate_msgs_s=rate,
            seconds=EVERY_S * count + RECOVERY_S,
            faults=random_faults(SIX, seed=seed + part, count=count, seconds=EVERY_S * count),
            fault=fault,
            fast=True,
            settle_s=60,
            warm_up_s=60,
        )
        result = await drive(plan)
        await lab.fault("heal", "all")
        print(f"  {start + count} of {faults} faults: {_short(result)}", file=sys.stderr)
        done.append((orders_of(plan.faults, SIX, plan.seconds), result))
    return done


def _short(result: DriveResult) -> str:
    lost = sum(pair.figures.lost for pair in result.pairs)
    return f"{result.sent} sent, {lost} lost, {len(result.silent)} never heard"


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--faults", type=int, default=300)
    asking.add_argument("--rate", type=float, default=1000.0, help="Of each of two publishers.")
    asking.add_argument("--seed", type=int, default=1)
    asked = asking.parse_args()
    with tempfile.TemporaryDirectory(prefix="ropewalk-soak-") as scratch:
        start = perf_counter()
        lab_folder = Path(scratch) / "lab"
        parts = asyncio.run(_run(lab_folder, asked))
        results = [result for _, result in parts]
        pairs = [pair.figures for result in results for pair in result.pairs]
        found: dict[str, Any] = {
            "faults": asked.faults,
            "seed": asked.seed,
            "messages_per_s": 2 * asked.rate,
            "sent": sum(one.sent for one in pairs),
            "acknowledged": sum(one.acknowledged for one in pairs),
            "received": sum(one.received for one in pairs),
            "lost": sum(one.lost for one in pairs),
            "doubled": sum(one.doubled for one in pairs),
            "disordered": sum(one.disordered for one in pairs),
            "never_heard": sum(len(one.silent) for one in results),
            "longest_gap_ms": max((one.longest_gap_ms for one in pairs), default=0.0),
        }
        with spark_here() as spark:
            found["audit"] = audited(spark, lab_folder, SIX).as_dict(lost_by_topic(results))
        found["outages"] = explained(parts, open_store(lab_folder / "store"))
        found["seconds"] = round(perf_counter() - start, 1)
    report("soak", **found)


async def _run(folder: Path, asked: argparse.Namespace) -> list[Part]:
    lab = Lab(SIX, folder)
    try:
        await lab.start()
        return await shaken(lab, asked.faults, asked.rate, asked.seed)
    finally:
        await lab.stop()


if __name__ == "__main__":
    main()
