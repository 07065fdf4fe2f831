"""How often healthy links are held for dead while four processes burn the CPU.

Ten brokers, a link between any two, default timers. Every agent counts the links that it held for
down, and beside that how often no beat had come for 200 ms: that is what a detector with a fixed
time would have held for down, over the same beats. Clients publish meanwhile: nothing may be lost.
"""

import argparse
import asyncio
import multiprocessing
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

from _measure import report
from contenders.ours import status
from ropewalk import load, loads
from ropewalk.agent.drive import DrivePlan, drive
from ropewalk.agent.lab.lab import Lab

BROKERS = [f"b{i}" for i in range(10)]
LINKS = list(combinations(BROKERS, 2))
MESH = loads(
    "federation: mesh\nbrokers: {"
    + ", ".join(f"{one}: {{}}" for one in BROKERS)
    + "}\nlinks:\n"
    + "".join(f"  - {{between: [{a}, {b}]}}\n" for a, b in LINKS)
    + "topics:\n  t/x: {publishers: [b0], subscribers: [b9]}\n"
)
COUNTED = ("deaths", "pauses", "false_alarms")


def burn() -> None:
    while True:
        pass


@contextmanager
def hogs(count: int) -> Iterator[None]:
    some = [multiprocessing.Process(target=burn, daemon=True) for _ in range(count)]
    for one in some:
        one.start()
    try:
        yield
    finally:
        for one in some:
            one.terminate()
            one.join()


async def watched(folder: Path, seconds: float, burning: int) -> dict[str, Any]:
    lab = Lab(MESH, folder)
    try:
        await lab.start()
        placed = load(lab.layout.file)
        await drive(DrivePlan(federation=placed, rate_msgs_s=50, seconds=3, warm_up_s=60))
        before = await _counts(lab)
        with hogs(burning):
            plan = DrivePlan(
                federation=placed, rate_msgs_s=50, seconds=seconds, warm_up_s=60, settle_s=60
            )
            result = await drive(plan)
            after = await _counts(lab)
    finally:
        await lab.stop()
    figures = result.pairs[0].figures
    found = {name: after[name] - before[name] for name in COUNTED}
    return {
        **found,
        "ratio": round(found["deaths"] / found["pauses"], 3) if found["pauses"] else None,
        "link_hours": round(len(LINKS) * seconds / 3600, 2),
        "lost": figures.lost,
        "acknowledged": figures.acknowledged,
    }


async def _counts(lab: Lab) -> dict[str, int]:
    every = [(await status(lab, name))["counts"] for name in BROKERS]
    return {name: sum(one[name] for one in every) for name in COUNTED}


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--seconds", type=float, default=660.0)
    asking.add_argument("--hogs", type=int, default=4)
    asked = asking.parse_args()
    with tempfile.TemporaryDirectory(prefix="ropewalk-alarms-") as scratch:
        found = asyncio.run(watched(Path(scratch) / "lab", asked.seconds, asked.hogs))
    report("false_alarms", hogs=asked.hogs, goal_ratio=0.2, **found)


if __name__ == "__main__":
    main()
