"""What two cores of Spark give over one: paths in many disasters, and tables ahead.

`survive.py [regions] [brokers]`. Each master runs in a process of its own, in turns; the first job
of each is not timed (workers start, kernels are loaded). Wall seconds: the work is in workers.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

from _measure import report
from ropewalk.federation.generators import generate
from ropewalk.pipeline.session import session
from ropewalk.pipeline.survive import survive
from ropewalk.pipeline.tables import tables
from ropewalk.routing.ahead.tables import tables_of

REPEATS, ROUNDS = 3, 2
MASTERS = ("local[1]", "local[2]")


def seconds_on(master: str, regions: int, brokers: int) -> dict[str, list[float]]:
    """Wall seconds of each job on a master; the plain call beside them, in the same turns."""
    spark = session(master, **{"spark.sql.shuffle.partitions": "2"})
    waxman = generate("waxman", brokers=200, m=4, seed=1)
    names = waxman.graph.names
    pairs = [(names[i], names[-1 - i]) for i in range(20)]
    large = generate("waxman", brokers=brokers, m=3, seed=2)
    jobs: dict[str, Callable[[], object]] = {
        "survive": lambda: survive(
            spark, waxman, radius_km=500, regions=regions, pairs=pairs, tasks=8
        ),
        "tables": lambda: tables(spark, large, ranges=8),
        "tables_without_spark": lambda: tables_of(large),
    }
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(REPEATS + 1):
        for name, job in jobs.items():
            start = perf_counter()
            job()
            if turn:
                taken[name].append(perf_counter() - start)
    spark.stop()
    return taken


def main() -> None:
    if sys.argv[1:2] == ["on"]:
        print(json.dumps(seconds_on(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
        return
    regions, brokers = (*map(int, sys.argv[1:3]), *(200_000, 1000)[len(sys.argv) - 1 :])
    taken: dict[str, dict[str, list[float]]] = {}
    for turn in range(ROUNDS):
        for master in MASTERS:
            print(f"  {master} ({turn + 1} of {ROUNDS})", file=sys.stderr)
            command = [sys.executable, __file__, "on", master, str(regions), str(brokers)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            for name, seconds in json.loads(done.stdout).items():
                taken.setdefault(name, {}).setdefault(master, []).extend(seconds)
    middle: dict[str, Any] = {
        name: {master: round(median(some), 2) for master, some in by_master.items()}
        for name, by_master in taken.items()
    }
    one, two = MASTERS
    report(
        "survive",
        regions=regions,
        brokers=brokers,
        wall_s=middle,
        speed_up_of_two_cores={
            name: round(middle[name][one] / middle[name][two], 2) for name in ("survive", "tables")
        },
    )


if __name__ == "__main__":
    main()
