"""What a topic promises: the names of all promises, once, and which rules watch each of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal, get_args

from pydantic import Field

from ropewalk.federation.kinds import CLOSED, Part, Positive, Reference

Delivery = Literal["best-effort", "at-most-once", "at-least-once", "exactly-once"]
Order = Literal["none", "fifo", "priority", "total"]
DELIVERY: tuple[str, ...] = get_args(Delivery)
ORDER: tuple[str, ...] = get_args(Order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a topic promises; `home` is the broker that sequences it where order is total."""

    __pydantic_config__ = CLOSED
    delivery: Delivery = "at-least-once"
    """What may happen to a message."""
    order: Order = "fifo"
    """In which order messages arrive."""
    within_ms: Positive | None = None
    """How soon they arrive."""
    probability: Part = 0.99
    """The part of them that arrives so soon."""
    priority: Annotated[int, Field(strict=True, ge=0, le=9)] = 0
    """0 to 9, the highest first."""
    home: Reference | None = None
    """The broker that gives totally ordered messages their numbers."""
    paths: Annotated[int, Field(strict=True, ge=1, le=2)] = 1
    """2: every message goes over two paths that lie apart, at once."""
    retained: Annotated[bool, Field(strict=True)] = False
    """Who subscribes later gets the last value first."""
    idempotent: Annotated[bool, Field(strict=True)] = False
    """Consumers, or the stream that they read, drop a message that they have had."""


DEFAULT = Contract()
"""Of a topic that says nothing."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Which rules look after a promise: before it is given, and in what really happened."""

    design: tuple[str, ...]
    """Codes of `ropewalk verify`; those of latency with `--latency`."""
    audit: tuple[str, ...]
    """Codes of `ropewalk pipeline audit`."""


WATCHED: Mapping[str, Watch] = MappingProxyType(
    {
        "best-effort": Watch(("S8", "S9", "S16"), ("A003", "A004")),
        "at-most-once": Watch(("S5", "S15", "S19", "S20"), ("A002",)),
        "at-least-once": Watch(("S4", "S13", "S14", "S18"), ("A001",)),
        "exactly-once": Watch(("S4", "S5", "S13", "S14", "S15", "S18", "S19"), ("A001", "A002")),
        "fifo": Watch(("S17", "S21"), ("A005",)),
        "priority": Watch(("S22",), ("A006",)),
        "total": Watch(("S20", "S23", "S24"), ("A007", "A008", "A009")),
        "within_ms": Watch(("B001", "B002", "B003"), ("A010",)),
    }
)
"""Every promise but order none, which is none. What holds for best effort holds for all."""


def promises_of(code: str) -> tuple[str, ...]:
    """The promises that a rule looks after, by its code.

    >>> promises_of("S15"), promises_of("A005"), promises_of("V001")
    (('at-most-once', 'exactly-once'), ('fifo',), ())
    """
    return tuple(name for name, one in WATCHED.items() if code in (*one.design, *one.audit))
