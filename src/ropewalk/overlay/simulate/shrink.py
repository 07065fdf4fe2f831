"""The smallest plan that still fails: fewer faults, fewer publications, rounder and shorter times.

Delta debugging (Zeller and Hildebrandt 2002): try the plan without parts of it, in ever smaller
parts, and keep whatever still breaks the same invariant. In the end no single fault and no single
publication can be left out, unless the budget of runs was used up before.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ropewalk.errors import UsageError
from ropewalk.overlay.simulate.faults import Fault
from ropewalk.overlay.simulate.plan import Plan
from ropewalk.overlay.simulate.run import Run

Part = TypeVar("Part")
Fails = Callable[[Plan], bool]
BUDGET = 400
ROUND_US = (1_000_000, 100_000, 10_000, 1_000)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest plan that was found, and whether nothing more can be left out of it."""

    plan: Plan
    minimal: bool
    runs: int


class _Budget:
    """Counts runs; beyond the budget nothing fails any more, so that shrinking ends."""

    def __init__(self, fails: Fails, most: int) -> None:
        self._fails, self._most = fails, most
        self.runs = 0
        self.spent = False

    def __call__(self, plan: Plan) -> bool:
        if self.runs >= self._most:
            self.spent = True
            return False
        self.runs += 1
        return self._fails(plan)


def shrink(run: Run, code: str | None = None, *, budget: int = BUDGET) -> Shrunk:
    """Shrink a run that fails: the same invariant (default: the first broken) fails throughout."""
    broken = [one.code for one in run.violations]
    wanted = code or next(iter(broken), "")
    if wanted not in broken:
        raise UsageError(f"nothing to shrink: {wanted or 'no invariant'} is not broken in this run")
    settle_us = run.plan.end_us - _busy_us(run.plan)

    def shortened(plan: Plan) -> Plan:
        return replace(plan, end_us=min(plan.end_us, _busy_us(plan) + settle_us))

    def fails(plan: Plan) -> bool:
        return any(one.code == wanted for one in run.again(shortened(plan)).violations)

    done = shrink_plan(run.plan, fails, budget=budget)
    return replace(done, plan=shortened(done.plan))


def _busy_us(plan: Plan) -> int:
    """When the last thing is published or mended."""
    times = [one.at_us for one in plan.publications]
    return max([*times, *(f.end_us or f.at_us for f in plan.faults)], default=0)


def shrink_plan(plan: Plan, fails: Fails, *, budget: int = BUDGET) -> Shrunk:
    """Shrink a plan of which `fails` is true."""
    test = _Budget(fails, budget)
    while True:
        before = plan
        plan = _fewer_faults(plan, test)
        plan = _fewer_publications(plan, test)
        plan = _fewer_wishes(plan, test)
        plan = _simpler_faults(plan, test)
        if plan == before or test.spent:
            return Shrunk(plan, not test.spent, test.runs)


def _fewer_faults(plan: Plan, test: Fails) -> Plan:
    return replace(plan, faults=_least(plan.faults, lambda some: replace(plan, faults=some), test))


def _fewer_publications(plan: Plan, test: Fails) -> Plan:
    kept = _least(plan.publications, lambda some: replace(plan, publications=some), test)
    return replace(plan, publications=kept)


def _fewer_wishes(plan: Plan, test: Fails) -> Plan:
    kept = _least(plan.wishes, lambda some: replace(plan, wishes=some), test)
    return replace(plan, wishes=kept)


def _least(
    parts: tuple[Part, ...], plan_of: Callable[[tuple[Part, ...]], Plan], test: Fails
) -> tuple[Part, ...]:
    """The parts without which it does not fail: 1-minimal."""
    pieces = 2
    if parts and test(plan_of(())):
        return ()
    while len(parts) > 1:
        size = -(-len(parts) // pieces)
        for start in range(0, len(parts), size):
            rest = parts[:start] + parts[start + size :]
            if rest and test(plan_of(rest)):
                parts, pieces = rest, max(pieces - 1, 2)
                break
        else:
            if size == 1:
                break
            pieces = min(2 * pieces, len(parts))
    return parts


def _simpler_faults(plan: Plan, test: Fails) -> Plan:
    for i in range(len(plan.faults)):
        for simpler in _simpler(plan.faults[i]):
            faults = (*plan.faults[:i], simpler, *plan.faults[i + 1 :])
            tried = replace(plan, faults=faults)
            if test(tried):
                plan = tried
                break
    return plan


def _simpler(fault: Fault) -> Iterator[Fault]:
    """The same with rounder or shorter times, the simplest first; each is simpler than before."""
    changes: list[dict[str, Any]] = []
    for unit in ROUND_US:
        changes += [{"at_us": round(fault.at_us / unit) * unit}]
        if fault.for_us:
            changes += [{"for_us": -(-fault.for_us // unit) * unit}]
    if fault.for_us and fault.for_us > ROUND_US[-1]:
        changes += [{"for_us": fault.for_us // 2 // 1_000 * 1_000 or 1_000}]
    if not fault.disk:
        changes += [{"disk": True}]
    for change in changes:
        simpler = replace(fault, **change)
        if simpler != fault and _simplicity(simpler) < _simplicity(fault):
            yield simpler


def _simplicity(fault: Fault) -> tuple[int, int, int]:
    """Less is simpler: disks that are kept, then round times, then short ones."""
    digits = sum(len(str(us or 0).rstrip("0")) for us in (fault.at_us, fault.for_us))
    return int(not fault.disk), digits, fault.for_us or 0
