"""What its trace costs an agent: `benchmarks/agent_trace.py`.

Letters are accepted and delivered in batches, as turns of a loop bring them. CPU time per row: of
the thread that calls, and of all with the thread that makes Parquet files. The rival writes a line
of JSON for each row.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from _measure import report
from ropewalk.agent.tracing import Tracer
from ropewalk.overlay.events import Deliver
from ropewalk.overlay.words import Letter

LETTERS = 100_000
TURNS = (5, 20, 100)
"""Letters of a turn."""
REPEATS = 5
NAMES = ("lon", "par", "ber", "ams")

Turn = tuple[list[Letter], list[Deliver]]


def turns(size: int) -> list[Turn]:
    """Letters of fifty topics, each for one client."""
    letters = [
        Letter(at % 4, 1_700_000_000, f"prices/{at % 50}", at, bytes(100)) for at in range(LETTERS)
    ]
    parts = [letters[at : at + size] for at in range(0, LETTERS, size)]
    return [(part, [Deliver(one, ("desk-1",)) for one in part]) for part in parts]


def traced(folder: Path, work: Iterable[Turn]) -> dict[str, float]:
    """Microseconds of CPU per row with the agent's trace."""
    tracer = Tracer(folder, node="lon", incarnation=1, names=NAMES, rows_per_file=50_000)
    tracer.start()
    process, thread = time.process_time(), time.thread_time()
    for letters, deliveries in work:
        tracer.accepted(letters)
        tracer.delivered(deliveries)
        tracer.flush()
    loop = time.thread_time() - thread
    tracer.close()
    return _per_row(loop, time.process_time() - process)


def in_lines(folder: Path, work: Iterable[Turn]) -> dict[str, float]:
    """The same with a line of JSON for each row."""
    folder.mkdir()
    numbers = count()
    started = time.process_time()
    with (folder / "trace.jsonl").open("w") as file:
        for letters, deliveries in work:
            now = time.time_ns()
            for kind, some in (("accepted", letters), ("deliver", [d.letter for d in deliveries])):
                for one in some:
                    file.write(json.dumps(_line(now, next(numbers), kind, one)) + "\n")
            file.flush()
    taken = time.process_time() - started
    return _per_row(taken, taken)


def _line(now: int, li: int, kind: str, one: Letter) -> dict[str, Any]:
    whose = {"ts_ns": now, "clock_err_ns": 0, "node": "lon", "incarnation": 1, "li": li}
    message = {"topic": one.topic, "producer": f"{NAMES[one.origin]}~{one.incarnation}"}
    sizes = {"pseq": one.number, "size_bytes": len(one.payload), "client": "desk-1"}
    return {**whose, "kind": kind, **message, **sizes}


def _per_row(loop_s: float, all_s: float) -> dict[str, float]:
    return {"loop_us": loop_s / LETTERS / 2 * 1e6, "all_us": all_s / LETTERS / 2 * 1e6}


def measured(way: Callable[[Path, Iterable[Turn]], dict[str, float]], work: list[Turn]) -> Any:
    """One run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return way(Path(folder) / "trace", work)


def main() -> None:
    found: dict[str, Any] = {}
    for size in TURNS:
        work = turns(size)
        ours, theirs = [], []
        for _ in range(REPEATS):
            ours.append(measured(traced, work))
            theirs.append(measured(in_lines, work))
        one = {name: round(median(run[name] for run in ours), 3) for name in ours[0]}
        lines_us = median(run["all_us"] for run in theirs)
        one |= {"json_lines_us": round(lines_us, 3), "ratio": round(lines_us / one["all_us"], 1)}
        found[f"turns_of_{size}"] = one
    report("agent_trace", **found)


if __name__ == "__main__":
    main()
