"""What a generated trace is made of: contracts of topics, names of faults, how large it gets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ropewalk.errors import UsageError

SECOND = 1_000_000_000
MS = 1_000_000
MINUTE = 60 * SECOND
START_NS = 1_767_571_200_000_000_000
"""When traces begin: 2026-01-05 00:00 UTC, a Monday."""

QUANTUM = 1024
"""Rows of a node are so many ns apart or more; what is below tells slices apart."""

FAULTS = (
    "lost",
    "duplicate",
    "not-subscribed",
    "never-published",
    "fifo",
    "priority",
    "rank",
    "order",
    "late",
    "lost-subscription",
    "lost-advertisement",
    "protocol",
    "bad-rows",
)
"""Kinds of faults that can be put in."""

AT_DRIVER = ("lost-subscription", "lost-advertisement")
"""Those that are faults of control rows."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of topic: its family of names, its contract and what its rows hold."""

    family: str
    delivery: str
    order: str
    share: float
    least_subscribers: int = 2
    within: bool = False
    acks: bool = False
    forwards: bool = False
    ranked: bool = False
    protocol: bool = False

    @property
    def repeats(self) -> bool:
        """Whether a broker may deliver a message again, marked as a repetition."""
        return self.delivery in ("at-least-once", "exactly-once")


TRADES, PRICES, TELEMETRY, NEWS, ALERTS, BOOKS, TICKERS, ORDERS = range(8)

TOPIC_KINDS = (
    Kind("trades", "exactly-once", "fifo", 0.20, acks=True, within=True),
    Kind("prices", "at-least-once", "fifo", 0.25, forwards=True, within=True),
    Kind("telemetry", "at-most-once", "none", 0.15, within=True),
    Kind("news", "best-effort", "none", 0.15, within=True),
    Kind("alerts", "at-least-once", "priority", 0.08),
    Kind("books", "exactly-once", "total", 0.07, 4, acks=True, ranked=True),
    Kind("tickers", "at-most-once", "total", 0.04, 5),
    Kind("orders", "exactly-once", "fifo", 0.06, acks=True, protocol=True),
)

WITHIN_MS = (1500, 2000, 3000)
"""Limits that some topics have; a live delivery takes at most 1.3 s, unless it is a fault."""

PROTOCOL = "order-entry"
PROTOCOL_TEXT = """\
protocol: order-entry
initial: idle
accepting: [done]
transitions:
  - idle -> asked: request
  - asked -> offered: offer
  - offered -> done: accept
  - offered -> asked: revise
"""

LABELS = ("request", "offer", "accept", "revise")
BAD_REASONS = ("no li", "unknown kind", "no pseq", "no topic", "no ts_ns")

SITES = MappingProxyType(
    {
        "london": (51.507, -0.128),
        "paris": (48.857, 2.352),
        "zurich": (47.377, 8.541),
        "frankfurt": (50.110, 8.682),
        "milan": (45.464, 9.190),
        "madrid": (40.417, -3.703),
        "amsterdam": (52.368, 4.904),
        "stockholm": (59.329, 18.069),
        "vienna": (48.208, 16.373),
        "warsaw": (52.230, 21.012),
        "dublin": (53.350, -6.260),
        "lisbon": (38.722, -9.139),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a trace is and what it holds."""

    events: int
    seed: int
    minutes: int
    brokers: int
    topics: int
    producers: int
    subscriptions: int
    slices: int
    each: int
    faults: tuple[str, ...]

    @property
    def end(self) -> int:
        """When it ends, in ns from its start."""
        return self.minutes * MINUTE


def size_of(
    events: float,
    *,
    faults: Sequence[str],
    seed: int,
    each: int | None = None,
    hours: float | None = None,
    brokers: int | None = None,
    topics: int | None = None,
    producers: int | None = None,
    subscriptions: int | None = None,
) -> Size:
    """The size of a trace with so many events; raises UsageError for what makes no sense.

    >>> size_of(1e6, faults=["all"], seed=1).topics
    1000
    """
    _within("events", events, 5_000, 2e9)
    _within("seed", seed, 0, 2**62)
    topics = topics or int(min(max(events / 1000, 16), 1000))
    brokers = brokers or int(min(max(3 * math.log10(events / 1e4) + 3, 3), len(SITES)))
    hours = hours or min(max(events / 1e6 * 24, 0.5), 24.0)
    _within("hours", hours, 0.25, 24 * 14)
    _within("topics", topics, 2 * len(TOPIC_KINDS), 10_000)
    _within("brokers", brokers, 2, len(SITES))
    each = math.ceil(max(3, 3 * events / 1e6)) if each is None else each
    _within("each", each, 0, events / 100)
    minutes = round(hours * 60)
    return Size(
        events=int(events),
        seed=seed,
        minutes=minutes,
        brokers=brokers,
        topics=topics,
        producers=producers or 2 * topics,
        subscriptions=subscriptions or 3 * topics,
        slices=min(max(math.ceil(events / 400_000), 4), minutes, QUANTUM - 1),
        each=each,
        faults=chosen(faults),
    )


def chosen(faults: Sequence[str]) -> tuple[str, ...]:
    """The kinds of faults that were asked for, in the order of FAULTS.

    >>> chosen(["lost", "fifo"]), len(chosen(["all"])), chosen([])
    (('lost', 'fifo'), 13, ())
    """
    unknown = sorted(set(faults) - {"all", *FAULTS})
    if unknown:
        raise UsageError(f"no fault is called {unknown[0]!r}: say all, or of {', '.join(FAULTS)}")
    return tuple(one for one in FAULTS if "all" in faults or one in faults)


def _within(what: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise UsageError(f"{what} is {value:g}: say a number from {low:g} to {high:g}")
