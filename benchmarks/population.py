"""Any number of clients: nets decided, how long that took, and the plain algorithm beside it.

    python benchmarks/population.py [FOLDER] [--seconds 60]

Without a folder of `.spec` files the nets are made here: 24 concurrent programs with up to 2,600
places and 11,900 rules, caches with transfer arcs, rings of desks; and the examples, by each
semantics. Seconds are of the clock, as a user waits: both lanes run beside each other.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from _measure import report
from _nets import caches, program, tickets
from ropewalk.cli.population import decided
from ropewalk.verify.population.asking import Question, questions
from ropewalk.verify.population.clients import SEMANTICS
from ropewalk.verify.population.spec import spec_text

EXAMPLES = Path(__file__).parents[1] / "examples" / "population"


def made(folder: Path) -> Iterator[Question]:
    """The nets that are made here, through files, and the examples."""
    nets = [program(seed) for seed in range(24)]
    nets += [caches(lines) for lines in (1, 2, 4, 8)]
    nets += [tickets(desks, broken) for desks in (5, 40) for broken in (False, True)]
    for net in nets:
        file = folder / f"{net.name.replace(' ', '-')}.spec"
        file.write_text(spec_text(net), encoding="utf-8")
        yield from questions(file)
    for file in sorted(EXAMPLES.glob("*.yaml")):
        for semantics in SEMANTICS:
            yield from questions(file, semantics=semantics)


def figures(asked: Iterator[Question], seconds: float) -> dict[str, Any]:
    """Every verdict and its time, and those of the rival."""
    rows = list[dict[str, Any]]()
    for one in asked:
        found, _, row = decided(one, seconds, rival=True)
        rows.append(row)
        rival = row["rival"]
        name = Path(one.file).name
        print(
            f"  {name[:48]:<48} {found.verdict:<9} {row['method']:<24} {row['seconds']:>7.2f} s"
            f"  plain {rival['verdict']:<9} {rival['seconds']:>7.2f} s",
            file=sys.stderr,
        )
    both = [one for one in rows if "undecided" not in (one["verdict"], one["rival"]["verdict"])]
    took = [one["seconds"] for one in rows]
    return {
        "nets": len(rows),
        "seconds_each": seconds,
        "decided": sum(one["verdict"] != "undecided" for one in rows),
        "safe": sum(one["verdict"] == "safe" for one in rows),
        "unsafe": sum(one["verdict"] == "unsafe" for one in rows),
        "methods": dict(Counter(one["method"] for one in rows if one["verdict"] != "undecided")),
        "largest": {
            "places": max(one["places"] for one in rows),
            "rules": max(one["rules"] for one in rows),
        },
        "seconds": {"median": median(took), "most": max(took), "sum": round(sum(took), 1)},
        "plain": {
            "decided": sum(one["rival"]["verdict"] != "undecided" for one in rows),
            "seconds_sum": round(sum(one["rival"]["seconds"] for one in rows), 1),
            "disagreements": sum(one["verdict"] != one["rival"]["verdict"] for one in both),
        },
        "times_plain_in_sum": round(
            sum(one["rival"]["seconds"] for one in rows) / max(sum(took), 1e-9), 1
        ),
    }


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("folder", nargs="?", type=Path)
    reading.add_argument("--seconds", type=float, default=20.0)
    given = reading.parse_args()
    if given.folder is not None:
        files = sorted(given.folder.glob("*.spec"))
        report("population", **figures((q for f in files for q in questions(f)), given.seconds))
        return
    with tempfile.TemporaryDirectory() as folder:
        report("population", **figures(made(Path(folder)), given.seconds))


if __name__ == "__main__":
    main()
