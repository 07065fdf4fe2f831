"""What a topic promises."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from ropewalk.federation.kinds import CLOSED, Positive, Reference

Delivery = Literal["best-effort", "at-most-once", "at-least-once", "exactly-once"]
Order = Literal["none", "fifo", "priority", "total"]


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
    priority: Annotated[int, Field(strict=True, ge=0, le=9)] = 0
    """0 to 9, the highest first."""
    home: Reference | None = None
    """The broker that gives totally ordered messages their numbers."""
    paths: Annotated[int, Field(strict=True, ge=1, le=2)] = 1
    """2: every message goes over two paths that lie apart, at once."""
    retained: Annotated[bool, Field(strict=True)] = False
    """Who subscribes later gets the last value first."""


DEFAULT = Contract()
"""Of a topic that says nothing."""
