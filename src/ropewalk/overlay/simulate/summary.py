"""Many runs in figures: what was accepted, delivered, lost and doubled, and for how long."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ropewalk.overlay.simulate.account import Account, Reader
from ropewalk.overlay.simulate.run import Run

if TYPE_CHECKING:
    import pandas as pd

ADDED = (
    *("published", "accepted", "due", "delivered", "lost", "excused", "waiting"),
    *("doubled", "dropped", "violations", "events"),
)
AROUND_US = 1_000_000
"""A gap belongs to a fault if it begins within this time after the fault's start or end."""


@dataclass(frozen=True, slots=True)
class Outage:
    """How long a subscriber of a topic got nothing around a fault, beyond the publishers' pause."""

    topic: str
    reader: Reader
    from_us: int
    gap_us: int


def outages(account: Account) -> list[Outage]:
    """The longest gap between first deliveries of each topic to each subscriber near a fault."""
    marks = [us for us, *_ in account.journal.of("fault", "heal")]
    found = []
    for (topic, reader), times in _arrivals(account).items():
        pause_us = _pause_us(account, topic)
        gaps = [
            Outage(topic, reader, a, max(0, b - a - pause_us))
            for a, b in pairwise(times)
            if any(a - AROUND_US <= us <= b for us in marks)
        ]
        if gaps:
            found.append(max(gaps, key=lambda gap: gap.gap_us))
    return found


def _arrivals(account: Account) -> dict[tuple[str, Reader], list[int]]:
    found: dict[tuple[str, Reader], list[int]] = {}
    for reader, some in account.first.items():
        for one in some.values():
            topic = account.publications[one.number].topic
            found.setdefault((topic, reader), []).append(one.us)
    return {key: sorted(times) for key, times in found.items()}


def _pause_us(account: Account, topic: str) -> int:
    """The longest time between two publications of a topic."""
    times = sorted(one.at_us for one in account.plan.publications if one.topic == topic)
    return max((b - a for a, b in pairwise(times)), default=0)


def convergence_us(run: Run) -> list[int]:
    """How long after each change everybody knew of it; changes that overlap are left out."""
    changes = run.beliefs.changes[1:]
    return [one.known_us - one.us for one in changes if one.known_us is not None]


@dataclass(frozen=True, slots=True)
class Summary:
    """Runs, one row each, and all of them in one."""

    runs: Sequence[Run]

    def rows(self) -> Iterator[dict[str, Any]]:
        """The figures of each run."""
        for run in self.runs:
            yield _row(run)

    def frame(self) -> "pd.DataFrame":
        """One row for each run."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))

    def totals(self) -> dict[str, Any]:
        """All runs together."""
        rows = list(self.rows())
        gaps = [one.gap_us for run in self.runs for one in outages(run.account)]
        settled = [one for run in self.runs for one in convergence_us(run)]
        seconds = sum(run.plan.end_us for run in self.runs) / 1e6
        control = sum(run.journal.control for run in self.runs)
        faults = sum(len(run.plan.faults) for run in self.runs)
        return {
            "runs": len(rows),
            "faults": faults,
            **{name: sum(row[name] for row in rows) for name in ADDED},
            "outage_ms": _spread(gaps),
            "convergence_ms": _spread(settled),
            "unsettled_changes": _unsettled(self.runs),
            "control_per_s": round(control / seconds, 1) if seconds else 0.0,
            "control_per_fault": round(control / faults, 1) if faults else None,
            "frames": sum(run.journal.frames for run in self.runs),
        }


def _unsettled(runs: Sequence[Run]) -> int:
    return sum(one.known_us is None for run in runs for one in run.beliefs.changes[1:])


def _row(run: Run) -> dict[str, Any]:
    account, fates = run.account, [one.fate for one in run.missing]
    due = sum(1 for _ in account.due())
    got = sum(map(len, account.first.values()))
    gaps = [one.gap_us for one in outages(account)]
    settled = convergence_us(run)
    return {
        "seed": run.plan.seed,
        "faults": len(run.plan.faults),
        "published": len(run.plan.publications),
        "accepted": len(account.accepted),
        "due": due,
        "delivered": got,
        "lost": fates.count("lost"),
        "excused": fates.count("excused"),
        "waiting": fates.count("waiting"),
        "doubled": sum(map(len, account.delivered.values())) - got,
        "dropped": len(run.journal.of("repeat")),
        "outage_ms": max(gaps, default=0) / 1000,
        "convergence_ms": max(settled, default=0) / 1000,
        "control": run.journal.control,
        "frames": run.journal.frames,
        "events": run.journal.events,
        "violations": len(run.violations),
    }


def _spread(some: Sequence[int]) -> dict[str, float | None]:
    """Median, 99th per cent and maximum in milliseconds; None where there is nothing."""
    if not some:
        return {"p50": None, "p99": None, "max": None}
    ordered = sorted(some)
    last = len(ordered) - 1
    return {
        "p50": ordered[last // 2] / 1000,
        "p99": ordered[-(-99 * last // 100)] / 1000,
        "max": ordered[-1] / 1000,
    }
