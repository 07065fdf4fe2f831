"""From nothing to an audit, by the command line: five NATS brokers, driven, hit and audited.

Runs `ropewalk lab up`, `lab drive` with a fault, `lab down`, `pipeline ingest` and `pipeline
audit` one after the other, as a user would after installation, and tells how long each took.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from _measure import report

GOAL_S = 120.0
RATE, SECONDS = 500, 8
FIVE = """federation: five
brokers: {a: {}, b: {}, c: {}, d: {}, e: {}}
links:
  - {between: [a, b]}
  - {between: [b, c]}
  - {between: [c, d]}
  - {between: [d, e]}
  - {between: [a, e]}
  - {between: [b, d]}
topics:
  orders/new: {publishers: [a], subscribers: [c, d]}
  orders/done: {publishers: [c], subscribers: [a]}
"""
HIT = "b"
"""A broker that carries messages of others: killing it has to cost nothing."""


class Commands:
    """Ropewalk's commands in one folder, each timed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.took_s: dict[str, float] = {}

    def run(self, *words: str) -> dict[str, Any]:
        """The document of a command, with its findings; anything else that is wrong ends all."""
        with self.timed(" ".join(word for word in words[:2] if not word.endswith(".yaml"))):
            done = subprocess.run(
                [*PROGRAM, *words, "--json"], cwd=self._folder, capture_output=True, text=True
            )
        if done.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr}")
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    @contextmanager
    def lab(self, file: str) -> Iterator[None]:
        """A lab that runs."""
        command = [*PROGRAM, "lab", "up", file, "--json"]
        with subprocess.Popen(command, cwd=self._folder, stdout=subprocess.PIPE, text=True) as up:
            try:
                with self.timed("lab up"):
                    if up.stdout is None or not up.stdout.readline():
                        raise SystemExit("lab up has ended")
                yield
                self.run("lab", "down")
            finally:
                up.terminate()

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Note how long something takes."""
        start = perf_counter()
        yield
        self.took_s[name] = round(perf_counter() - start, 2)


PROGRAM = [sys.executable, "-m", "ropewalk"]


def main() -> None:
    start = perf_counter()
    with tempfile.TemporaryDirectory(prefix="ropewalk-five-") as scratch:
        folder = Path(scratch)
        commands = Commands(folder)
        (folder / "five.yaml").write_text(FIVE)
        with commands.lab("five.yaml"):
            driven = commands.run(
                *("lab", "drive", "--rate", str(RATE), "--seconds", str(SECONDS)),
                *("--fault", f"at 3 s kill {HIT} for 2 s"),
            )
        commands.run("pipeline", "ingest", "lab")
        audit = commands.run("pipeline", "audit", "lab")
    total_s = perf_counter() - start
    pairs = driven["summary"]["pairs"]
    lost: Counter[str] = Counter()
    for pair in pairs:
        lost[pair["topic"]] += pair["lost"]
    report(
        "five_brokers",
        seconds=round(total_s, 1),
        at_most_s=GOAL_S,
        reached=total_s <= GOAL_S,
        took_s=commands.took_s,
        fault=f"kill {HIT}",
        acknowledged=sum(pair["acknowledged"] for pair in pairs),
        lost=sum(lost.values()),
        longest_gap_ms=max(pair["longest_gap_ms"] for pair in pairs),
        audit={"rows": audit["summary"]["rows"], "codes": +Counter(audit["summary"]["codes"])},
        agree=audit["summary"]["codes"]["A001"] == sum(lost.values()),
    )


if __name__ == "__main__":
    main()
