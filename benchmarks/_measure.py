"""What every benchmark shares: CPU seconds of a call, peak memory, one JSON document on stdout."""

import gc
import json
import platform
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from time import process_time
from typing import Any

import psutil


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


@contextmanager
def peak_memory(found: dict[str, float], name: str) -> Iterator[None]:
    """The largest sum of resident memory of this process and all below it (Java, workers)."""
    stop, largest = threading.Event(), 0.0

    def watch() -> None:
        nonlocal largest
        me = psutil.Process()
        while not stop.wait(0.02):
            total = 0
            for one in (me, *me.children(recursive=True)):
                try:
                    total += one.memory_info().rss
                except psutil.Error:  # it has ended meanwhile
                    continue
            largest = max(largest, total)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        found[name] = round(largest / 1e9, 2)


def report(benchmark: str, **figures: Any) -> None:
    """Print the benchmark's one document."""
    print(json.dumps({"benchmark": benchmark, "python": platform.python_version(), **figures}))
