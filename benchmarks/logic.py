"""Temporal properties: Jia's model by arrays and by decision diagrams; failures and recoveries.

Every verdict is compared; the rival of the symbolic engine is a walk through each pair's states in
plain Python (networkx has no AF), that of the arrays is the symbolic engine.
"""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import ropewalk
from _measure import report
from ropewalk.federation.facts import Federation, Route
from ropewalk.federation.generators import generate
from ropewalk.federation.saving import save
from ropewalk.verify import verify
from ropewalk.verify.logic.answering import answer
from ropewalk.verify.logic.library import named, question
from ropewalk.verify.logic.stepping import Budget
from ropewalk.verify.logic.world import Manner, World, world_of
from ropewalk.verify.verdicts import Verdict

AF = "AF at(message) = to(message)"
SIZES = (50, 192, 384)


def by_arrays(file: Path) -> bool:
    result = verify(ropewalk.load(file), failures=[], pairs="all")
    return bool(result.fates[0, Verdict.DELIVERED] == result.summary["pairs"])


def by_diagrams(file: Path) -> bool | None:
    world = world_of(ropewalk.load(file), ["none"], pairs="all")
    return answer(question(AF), world, Budget()).holds


def by_walking(file: Path) -> bool:
    """Every pair's path, state by state."""
    world = world_of(ropewalk.load(file), ["none"], pairs="all")
    return all(_arrives(world, to) for to in range(len(world.names)))


def _arrives(world: World, to: int) -> bool:
    hops = world.hops([to], 0)[0].tolist()
    for source in range(len(hops)):
        at, seen = source, set[int]()
        while at != to:
            if at < 0 or at in seen:
                return False
            seen.add(at)
            at = hops[at]
    return True


WAYS: dict[str, Callable[[Path], bool | None]] = {
    "arrays": by_arrays,
    "symbolic": by_diagrams,
    "walking": by_walking,
}


def process(file: Path, *options: str) -> tuple[float, int]:
    """CPU seconds and exit code of the whole command, start of Python included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "ropewalk", "verify", str(file), "--failures", "none"]
    done = subprocess.run(
        [*command, "--pairs", "all", *options], stdout=subprocess.DEVNULL, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(spent, 2), done.returncode


def looped(federation: Federation) -> Federation:
    """The same with two routes that send a message to and fro."""
    a, b = federation.links[len(federation.links) // 2].between
    to = next(name for name in federation.brokers if name not in (a, b))
    routes = (Route(at=a, to=to, next=b), Route(at=b, to=to, next=a))
    return replace(federation, routes=routes)


def paper_model(folder: Path, brokers: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    plain = generate("waxman", brokers=brokers, m=2, seed=3)
    for name, federation in (("delivers", plain), ("loops", looped(plain))):
        file = folder / f"{name}-{brokers}.yaml"
        save(federation, file)
        verdicts: dict[str, bool | None] = {}
        one: dict[str, Any] = {}
        for way, decide in WAYS.items():
            print(f"  {brokers} {name} {way}", file=sys.stderr)
            decide(file)  # kernels are loaded
            start = process_time()
            verdicts[way] = decide(file)
            one[f"{way}_s"] = round(process_time() - start, 3)
        one["arrays_process_s"], code = process(file)
        one["symbolic_process_s"], symbolic_code = process(file, "--ctl", AF)
        one["verdicts"] = {way: verdicts[way] for way in WAYS}
        one["equal"] = len({*verdicts.values(), code == 0, symbolic_code == 0}) == 1
        one["walking_per_symbolic"] = round(one["walking_s"] / one["symbolic_s"], 2)
        one["symbolic_per_arrays"] = round(one["symbolic_s"] / max(one["arrays_s"], 1e-3), 1)
        found[name] = one
    return found


def with_failures() -> dict[str, Any]:
    """The library's properties, with every single failure and recovery, in the real overlay."""
    found: dict[str, Any] = {}
    trade = ropewalk.load(Path(__file__).parent.parent / "examples" / "trade-net.yaml")
    for name, federation in (
        ("three-broker", generate("three-broker")),
        ("six-broker", generate("six-broker")),
        ("trade-net", trade),
    ):
        for manner in (Manner(), Manner(forwarding="plain")):
            way, world = manner.forwarding, world_of(federation, manner=manner)
            for one in ("failover-rehomes", "eventually-delivered", "no-bounce"):
                print(f"  {name} {way} {one}", file=sys.stderr)
                start = process_time()
                answers = [answer(asked, world, Budget()) for asked in named(one, world)]
                found[f"{name}, {way}, {one}"] = {
                    "holds": all(np.array([each.holds for each in answers])),
                    "seconds": round(process_time() - start, 2),
                    "models": sum(each.parts for each in answers),
                }
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        figures: dict[str, Any] = {
            f"{size} brokers": paper_model(Path(place), size) for size in SIZES
        }
    figures["failures"] = {
        name: {**one, "holds": bool(one["holds"])} for name, one in with_failures().items()
    }
    report("logic", **figures)
