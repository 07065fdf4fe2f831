"""How latencies of a link spread: around their mean, or as they were counted."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from ropewalk.federation.kinds import CLOSED, Many, NonNegative, Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Jitter:
    """How latencies of a link spread around their mean, which is the link's latency_ms."""

    __pydantic_config__ = CLOSED
    shape: Literal["normal", "lognormal"]
    """What lies below 0 of a normal one counts as 0."""
    sd_ms: Positive
    """Their standard deviation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Latencies as they were counted: bin i is from edges_ms[i] to edges_ms[i + 1]."""

    __pydantic_config__ = CLOSED
    edges_ms: Annotated[tuple[NonNegative, ...], Field(min_length=2)]
    """Ends of the bins, ascending: one more than there are counts."""
    counts: Annotated[tuple[Many, ...], Field(min_length=1)]
    """How many were in each bin."""
    error_ms: NonNegative = 0.0
    """How far off each of them may be, as the clocks of two brokers may be."""
