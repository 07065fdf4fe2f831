"""What every benchmark shares: CPU seconds of a call, and one JSON document on stdout."""

import gc
import json
import platform
import sys
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any


def cpu_seconds(call: Callable[[], object]) -> float:
    """CPU seconds of one call, with the garbage of earlier calls collected before."""
    gc.collect()
    start = process_time()
    call()
    return process_time() - start


def interleaved(repeats: int, **calls: Callable[[], object]) -> dict[str, float]:
    """The median CPU seconds of each call, taken in turns so that noise hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats):
        for name, call in calls.items():
            print(f"  {name} ({turn + 1} of {repeats})", file=sys.stderr)
            taken[name].append(cpu_seconds(call))
    return {name: round(median(seconds), 3) for name, seconds in taken.items()}


def report(benchmark: str, **figures: Any) -> None:
    """Print the benchmark's one document."""
    print(json.dumps({"benchmark": benchmark, "python": platform.python_version(), **figures}))
