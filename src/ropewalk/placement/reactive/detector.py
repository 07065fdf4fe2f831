"""The load detector of one broker: which figures stay too high, and when it is over.

The metrics are those of Wang 2015, 4.4.1.1. A metric counts once it stays above its high mark for
`hold_s`; the overload is over once every metric that was ever known has stayed below its low mark
for `release_s`. What is not known proves nothing: a gap ends every run, and a metric that falls
silent above its low mark holds an overload open, which is told.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from ropewalk.errors import UsageError
from ropewalk.placement.reactive.watching import (
    Run,
    Watch,
    check_gap,
    check_time,
    follow,
    overdue,
    restarted,
    usable,
)

WORDS: Mapping[str, str] = {
    "input_ratio": "input utilisation",
    "processing_delay_us": "processing delay (us)",
    "store_share": "message store",
    "cpu_share": "CPU",
    "memory_share": "memory",
    "bandwidth_share": "bandwidth",
}
"""The metrics of a reading, in an operator's words."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The figures of one window; None is a figure that is not known."""

    input_ratio: float | None = None
    """Incoming rate by the highest rate the broker keeps up with; may exceed 1."""
    processing_delay_us: float | None = None
    store_share: float | None = None
    """Of the message store's limit."""
    cpu_share: float | None = None
    memory_share: float | None = None
    bandwidth_share: float | None = None


def store_share(used_bytes: float, limit_bytes: float) -> float:
    """The part of a message store that is in use; raises UsageError without a limit.

    >>> store_share(256, 1024)
    0.25
    """
    if not limit_bytes > 0:
        raise UsageError(f"the store's limit is {limit_bytes:g} bytes: write one above 0")
    return used_bytes / limit_bytes


@dataclass(frozen=True, slots=True)
class Detector:
    """What is watched, by metric; raises UsageError for a metric that no reading has."""

    watches: Mapping[str, Watch]
    gap_s: float
    """The longest time between two readings that counts as watched."""

    def __post_init__(self) -> None:
        check_gap(self.gap_s)
        for metric in self.watches:
            if metric not in WORDS:
                raise UsageError(f"no metric is called {metric!r}: use {', '.join(WORDS)}")


@dataclass(frozen=True, slots=True)
class Watched:
    """The state: a run per figure, and since when which figures have been too high."""

    at_s: float | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)
    causes: Mapping[str, float] = field(default_factory=dict)

    @property
    def overloaded(self) -> bool:
        """Some figure was too high for long enough, and that is not over."""
        return bool(self.causes)


@dataclass(frozen=True, slots=True)
class TooHigh:
    """A figure has stayed above its high mark."""

    metric: str
    value: float
    limit: float
    since_s: float
    at_s: float

    def __str__(self) -> str:
        span_s = self.at_s - self.since_s
        what = f"{said(self.metric)} is {self.value:g}"
        return f"{what}, above {self.limit:g} for {span_s:g} s (since {self.since_s:g} s)"


@dataclass(frozen=True, slots=True)
class Over:
    """All figures have stayed below their low marks."""

    metrics: tuple[str, ...]
    since_s: float
    at_s: float

    def __str__(self) -> str:
        names = ", ".join(said(metric) for metric in self.metrics)
        return f"over after {self.at_s - self.since_s:g} s: {names} was too high, all is low again"


@dataclass(frozen=True, slots=True)
class Silent:
    """A figure was not known for longer than readings may lie apart."""

    metric: str
    since_s: float
    at_s: float

    def __str__(self) -> str:
        span_s = self.at_s - self.since_s
        return f"{said(self.metric)} was not known for {span_s:g} s: its time starts anew"


@dataclass(frozen=True, slots=True)
class Unusable:
    """A figure that cannot be true: it is taken as not known."""

    metric: str
    value: float
    at_s: float

    def __str__(self) -> str:
        return f"{said(self.metric)} reads {self.value:g}, which cannot be: taken as not known"


@dataclass(frozen=True, slots=True)
class ClockBack:
    """Time went backwards: all runs start anew, an overload stays."""

    from_s: float
    at_s: float

    def __str__(self) -> str:
        return f"the clock went back from {self.from_s:g} s to {self.at_s:g} s: times start anew"


Event = TooHigh | Over | Silent | Unusable | ClockBack


def said(metric: str) -> str:
    """A metric in an operator's words."""
    return WORDS.get(metric, metric)


def step(
    detector: Detector, state: Watched, reading: Reading, now_s: float
) -> tuple[Watched, tuple[Event, ...]]:
    """The state after a reading and what there is to tell; raises UsageError if now is no time.

    >>> cpu = Detector({"cpu_share": Watch(high=0.8, low=0.6, hold_s=2, release_s=5)}, gap_s=3)
    >>> state = Watched()
    >>> for now_s in (0, 1, 2):
    ...     state, events = step(cpu, state, Reading(cpu_share=0.9), now_s)
    >>> print(*events)
    CPU is 0.9, above 0.8 for 2 s (since 0 s)
    """
    return follow_all(detector.watches, detector.gap_s, state, asdict(reading), now_s)


def follow_all(
    watches: Mapping[str, Watch],
    gap_s: float,
    state: Watched,
    values: Mapping[str, float | None],
    now_s: float,
) -> tuple[Watched, tuple[Event, ...]]:
    """The same for figures of any name."""
    check_time(now_s)
    state, events = _in_time(state, now_s)
    runs, causes = dict(state.runs), dict(state.causes)
    for metric, watch in watches.items():
        run = runs.get(metric, Run())
        value = values.get(metric)
        events += _quiet(metric, run, value, now_s, gap_s)
        runs[metric] = run = _read(run, watch, value, now_s, gap_s)
        # A value that was just read: old runs say nothing about now.
        if value is not None and run.at_s == now_s and metric not in causes and _held(run, watch):
            causes[metric] = since_s = run.above_since_s or 0.0
            events.append(TooHigh(metric, value, watch.high, since_s, now_s))
    if causes and all(_calm(runs[metric], watch) for metric, watch in watches.items()):
        events.append(Over(tuple(causes), min(causes.values()), now_s))
        causes = {}
    return Watched(now_s, runs, causes), tuple(events)


def _in_time(state: Watched, now_s: float) -> tuple[Watched, list[Event]]:
    if state.at_s is None or now_s >= state.at_s:
        return state, []
    runs = {metric: restarted(run) for metric, run in state.runs.items()}
    return replace(state, runs=runs), [ClockBack(state.at_s, now_s)]


def _quiet(metric: str, run: Run, value: float | None, now_s: float, gap_s: float) -> list[Event]:
    """What is to be told of a figure that was or is not known; each silence once."""
    events: list[Event] = []
    if run.at_s is not None and overdue(run, now_s, gap_s) and not run.silent:
        events.append(Silent(metric, run.at_s, now_s))
    if value is not None and not usable(value) and not run.unusable:
        events.append(Unusable(metric, value, now_s))
    return events


def _read(run: Run, watch: Watch, value: float | None, now_s: float, gap_s: float) -> Run:
    if value is not None and usable(value):
        return follow(run, watch, value, now_s, gap_s)
    silent = run.silent or overdue(run, now_s, gap_s)
    return replace(run, silent=silent, unusable=run.unusable or value is not None)


def _held(run: Run, watch: Watch) -> bool:
    return run.above_s is not None and run.above_s >= watch.hold_s


def _calm(run: Run, watch: Watch) -> bool:
    """Below its low mark for long enough, or never known at all."""
    if not run.known:
        return True
    return run.below_s is not None and run.below_s >= watch.release_s
