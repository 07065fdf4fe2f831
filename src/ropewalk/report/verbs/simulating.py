"""`lab simulate`: the real agents in a simulated world that breaks, and what they promise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding, Where
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.simulate import (
    Fault,
    Load,
    Plan,
    Run,
    Summary,
    parse_faults,
    plan_of,
    random_faults,
    shrink,
    story,
)
from ropewalk.overlay.simulate import simulate as simulated
from ropewalk.overlay.simulate.world import Physics

if TYPE_CHECKING:
    import pandas as pd

    from ropewalk.overlay.simulate.cores import Maker

SHRINKING = 150
"""Runs that are spent on finding the smallest plan that fails."""


@dataclass(frozen=True)
class Simulation:
    """Runs with faults, and what must not have happened in them."""

    runs: tuple[Run, ...]
    file: str

    @property
    def ok(self) -> bool:
        """Whether nothing happened that must not."""
        return not self.findings

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Every violation, with the faults of its run."""
        return tuple(violations_of(self.runs, self.file))

    @property
    def witness(self) -> object:
        """The witness of the first violation, or None."""
        return self.findings[0].witness if self.findings else None

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All runs together."""
        return Summary(self.runs).totals()

    @property
    def story(self) -> list[str] | None:
        """Of the first violation the smallest plan that has it, as a story; None without one."""
        return story_of(self.runs)

    def frame(self) -> "pd.DataFrame":
        """A row per run."""
        return Summary(self.runs).frame()


def simulate(
    federation: Federation,
    faults: str | Sequence[str] = (),
    *,
    random: int = 0,
    seed: int = 1,
    runs: int = 1,
    rate_msgs_s: float | None = None,
    seconds: float | None = None,
    settle_s: float | None = None,
    settings: Settings | None = None,
    settled: bool = False,
) -> Simulation:
    """Run the real agents in a simulated world, break it, and check what they promise.

    `faults` such as "at 1 s crash a for 2 s"; `random` draws so many more for each run. The same
    seed gives the same run. Raises UsageError for faults of what does not exist.
    """
    load = Load()
    if rate_msgs_s is not None:
        load = replace(load, rate_msgs_s=rate_msgs_s)
    if seconds is not None:
        load = replace(load, duration_us=round(seconds * 1e6))
    if settle_s is not None:
        load = replace(load, settle_us=round(settle_s * 1e6))
    given = parse_faults([faults] if isinstance(faults, str) else list(faults))
    plans = plans_of(federation, tuple(given), load, random, seed, runs)
    how = settings or Settings()
    done = [run_of(federation, plan, None, settings=how, settled=settled) for plan in plans]
    return Simulation(tuple(done), federation.source.file)


def plans_of(
    federation: Federation,
    given: tuple[Fault, ...],
    load: Load,
    count: int,
    seed: int,
    runs: int,
) -> list[Plan]:
    """A plan for each run: the faults that were given, and so many drawn."""
    plans = []
    for one in range(seed, seed + runs):
        drawn = random_faults(federation, count, seed=one, duration_us=load.duration_us)
        plans.append(plan_of(federation, (*given, *drawn), load, seed=one))
    return plans


def run_of(
    federation: Federation,
    plan: Plan,
    make: "Maker | None",
    *,
    settings: Settings,
    settled: bool,
) -> Run:
    """A run; `settled`: all links are known to work at the start."""
    return simulated(federation, plan, make, settings=settings, physics=Physics(settled=settled))


def violations_of(done: Sequence[Run], file: str) -> Iterator[Finding]:
    """Every violation as a finding."""
    for run in done:
        for one in run.violations:
            faults = [str(fault) for fault in run.plan.faults]
            witness = {**one.witness, "seed": run.plan.seed, "faults": faults}
            says = f"seed {run.plan.seed}: {one.message}"
            yield Finding(one.code, says, Where(file), "error", witness)


def story_of(done: Sequence[Run]) -> list[str] | None:
    """The smallest plan that has the first violation, and what happens in it."""
    failed = next(((run, one) for run in done for one in run.violations), None)
    if failed is None:
        return None
    run, violation = failed
    least = shrink(run, violation.code, budget=SHRINKING)
    small = run.again(least.plan)
    same = next(one for one in small.violations if one.code == violation.code)
    told = "no fault can be left out" if least.minimal else f"after {least.runs} runs of shrinking"
    plan = [f"  {fault}" for fault in least.plan.faults] or ["  no fault at all"]
    messages = len(least.plan.publications)
    head = f"The smallest plan found that fails ({told}), {messages} message(s):"
    return [head, *plan, *story(small, same).splitlines()]
