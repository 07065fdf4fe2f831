"""What can go wrong, when and for how long: facts that are written as one line each.

    at 500 ms cut b1--b2 for 800 ms
    at 1 s crash b3 without disk for 2 s
    at 200 ms lose 5 % on b1--b2 for 3 s

A line without `for` is a fault that never heals. `a--b` is a link, `a->b` one direction of it.
`parse_faults` reads such lines, `str` writes them: the two undo each other.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "cut",
    "blackhole",
    "hold",
    "flap",
    "lose",
    "duplicate",
    "reorder",
    "delay",
    "partition",
    "crash",
    "crash-agent",
    "stall",
    "slow",
    "skew",
]
Curve = Literal["exponential", "lognormal", "pareto"]

ON_LINKS: tuple[Kind, ...] = (
    *("cut", "blackhole", "hold", "flap", "lose", "duplicate", "reorder", "delay"),
)
ON_BROKERS: tuple[Kind, ...] = ("crash", "crash-agent", "stall", "slow", "skew")
SILENT: tuple[Kind, ...] = ("blackhole", "hold")
"""Faults in which nothing is closed: only silence tells."""

MOST_PPM = 1_000_000


@dataclass(frozen=True, slots=True)
class Tail:
    """A random delay on top: its scale, and the shape of the two that have one."""

    curve: Curve
    scale_us: int
    shape_ppm: int = 1_000_000
    """Sigma of the lognormal, alpha of the Pareto distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong; which fields count depends on its kind.

    >>> str(Fault(kind="cut", at_us=500_000, for_us=800_000, where=("b1", "b2")))
    'at 500 ms cut b1--b2 for 800 ms'
    """

    kind: Kind
    at_us: int
    for_us: int | None = None
    """None: it never heals."""
    where: tuple[str, ...]
    """The two ends of a link, a broker, or the brokers that are cut off."""
    one_way: bool = False
    """Only from the first end to the second."""
    share_ppm: int = 0
    """Of the words on a link that are lost, doubled or overtaken; or how fast a clock drifts."""
    by_us: int = 0
    """How much later, or how long a flapping link stays as it is."""
    tail: Tail | None = None
    disk: bool = True
    """Whether what was on its disk is still there afterwards."""
    silent: bool = False
    """Of a partition: nothing is closed."""

    @property
    def end_us(self) -> int | None:
        """When it is over; None for never."""
        return None if self.for_us is None else self.at_us + self.for_us

    def __str__(self) -> str:
        from ropewalk.overlay.simulate.fault_text import text_of

        return text_of(self)


def last_end_us(faults: Iterable[Fault]) -> int:
    """When the last change that the faults make has happened."""
    return max((f.at_us if f.end_us is None else f.end_us for f in faults), default=0)


def parse_faults(text: str | Iterable[str]) -> tuple[Fault, ...]:
    """Faults from lines (or texts with `;` between them), in order of time.

    Raises UsageError with what to write instead.

    >>> [fault.kind for fault in parse_faults("at 1 s crash b3; at 0.2 s lose 5 % on b1--b2")]
    ['lose', 'crash']
    """
    from ropewalk.overlay.simulate.fault_text import fault_of

    texts = [text] if isinstance(text, str) else list(text)
    lines = [line.strip() for one in texts for line in one.replace(";", "\n").splitlines()]
    found = [fault_of(line) for line in lines if line and not line.startswith("#")]
    return tuple(sorted(found, key=lambda fault: fault.at_us))
