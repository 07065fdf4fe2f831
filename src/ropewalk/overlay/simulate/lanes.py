"""Links of the simulated world: one connection each, with a lane for either direction.

A lane keeps words in order, as TCP does, unless a fault reorders them. A word belongs to the
connection it was sent on: closing that loses all that is still on the way.
"""

from random import Random
from typing import TYPE_CHECKING

from ropewalk.overlay.simulate.faults import MOST_PPM, Fault, Tail

if TYPE_CHECKING:
    from ropewalk.overlay.simulate.hosts import Host
    from ropewalk.overlay.words import Word

LEAST_US = 50
"""No word arrives faster than this."""


class Wire:
    """A link: whether its connection stands, and its two lanes."""

    __slots__ = ("generation", "lanes", "leaves_domain", "number", "opens_us", "shut", "touched")

    def __init__(self, number: int, *, leaves_domain: bool) -> None:
        self.number = number
        self.leaves_domain = leaves_domain
        self.lanes: tuple[Lane, ...] = ()
        self.generation = 0
        """Counts connections: words of an older one never arrive."""
        self.shut = 0
        """How many reasons there are for it to be closed now."""
        self.opens_us = 0
        """Until then a new connection is being made."""
        self.touched = False
        """Some fault is or was on it. The beats of one that was never touched are all alike."""

    @property
    def down(self) -> bool:
        """Whether words are really kept from crossing it, in any direction."""
        return self.shut > 0 or any(lane.holes or lane.holds for lane in self.lanes)


class Lane:
    """One direction of a link, and what is wrong with it."""

    __slots__ = (
        *("delay_us", "faults", "held", "holds", "holes", "last_us", "loss", "plain", "random"),
        *("own_loss", "seed", "source", "target", "wire"),
    )

    def __init__(
        self, wire: Wire, source: "Host", target: "Host", delay_us: int, loss: float, seed: str
    ) -> None:
        self.wire, self.source, self.target = wire, source, target
        self.delay_us = max(delay_us, LEAST_US)
        self.own_loss = self.loss = loss
        self.seed = seed
        self.random: Random | None = None
        """Of its own, so that what happens on one link does not change what happens on others."""
        self.faults: list[Fault] = []
        self.holes = self.holds = 0
        self.held: list[Word] = []
        self.last_us = 0
        self.plain = not loss

    def add(self, fault: Fault) -> None:
        """A fault begins."""
        self.faults.append(fault)
        self._reckon()

    def remove(self, fault: Fault) -> None:
        """A fault is over: what is sent from now on need not wait for what is late."""
        self.faults.remove(fault)
        self.last_us = 0
        self._reckon()

    def _reckon(self) -> None:
        kinds = [fault.kind for fault in self.faults]
        self.holes, self.holds = kinds.count("blackhole"), kinds.count("hold")
        passed = 1.0 - self.own_loss
        for fault in self.faults:
            if fault.kind == "lose":
                passed *= 1.0 - fault.share_ppm / MOST_PPM
        self.loss = 1.0 - passed
        self.plain = not self.faults and not self.loss
        self.wire.touched = True

    def arrivals(self, now_us: int) -> list[int]:
        """When a word that is sent now arrives: never, once, or more often."""
        draw = self._draw()
        if self.holes or (self.loss and draw.random() < self.loss):
            return []
        late_us, overtaken_us, copies = self.delay_us, 0, 1
        for fault in self.faults:
            if fault.kind == "delay":
                late_us += fault.by_us + tail_us(fault.tail, draw)
            elif fault.kind == "reorder" and draw.random() * MOST_PPM < fault.share_ppm:
                overtaken_us += draw.randrange(fault.by_us + 1)
            elif fault.kind == "duplicate" and draw.random() * MOST_PPM < fault.share_ppm:
                copies += 1
        if overtaken_us:
            return [now_us + late_us + overtaken_us] * copies
        self.last_us = max(self.last_us, now_us + late_us)
        return [self.last_us] * copies

    def _draw(self) -> Random:
        if self.random is None:
            self.random = Random(self.seed)  # noqa: S311  (nothing here is secret)
        return self.random


def tail_us(tail: Tail | None, draw: Random) -> int:
    """A delay drawn from a distribution; never more than a hundred times its scale."""
    if tail is None:
        return 0
    shape = max(tail.shape_ppm / MOST_PPM, 0.01)
    if tail.curve == "exponential":
        drawn = draw.expovariate(1.0)
    elif tail.curve == "lognormal":
        drawn = draw.lognormvariate(0.0, shape)
    else:
        drawn = draw.paretovariate(shape)
    return int(tail.scale_us * min(drawn, 100.0))
