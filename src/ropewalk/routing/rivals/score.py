"""How well repairs do: every failure, every pair whose path uses what failed, one by one.

A pair counts if its ends are still connected. The message follows the old path up to the broker
that finds its next hop gone, and from there the repair; its stretch is the cost of all that over
the cost of the shortest way after the failure.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.kernels import kernel
from ropewalk.routing.all_pairs import Ground, failing_room, put_up, take_down
from ropewalk.routing.delta import plant
from ropewalk.routing.trees import FAR, Longs, Records

BINS, PER_UNIT = 1 << 15, 1000
"""Stretches are counted to the nearest thousandth; what is above 33 counts as that in the p95."""

TALLY = np.dtype([("recovered", "i8"), ("sum", "f8"), ("most", "f8")])


@dataclass(frozen=True, eq=False, slots=True)
class Tally:
    """What came of every case, by scheme."""

    cases: Longs
    """One number: pairs and failures where the ends are still connected."""
    changed: Longs
    """One number: next hops that a table made anew would have changed."""
    by_scheme: Records
    stretches: Longs

    def add(self, other: "Tally") -> None:
        """Count in what another one has counted."""
        self.cases[0] += other.cases[0]
        self.changed[0] += other.changed[0]
        for field in ("recovered", "sum"):
            self.by_scheme[field] += other.by_scheme[field]
        np.maximum(self.by_scheme["most"], other.by_scheme["most"], out=self.by_scheme["most"])
        self.stretches[...] += other.stretches

    def p95(self, scheme: int) -> float | None:
        """The stretch that 95 of 100 recovered cases do not exceed."""
        counts = np.cumsum(self.stretches[scheme])
        if not counts[-1]:
            return None
        return 1 + int(np.searchsorted(counts, 0.95 * counts[-1])) / PER_UNIT


def empty_tally(schemes: int) -> Tally:
    """Nothing counted yet."""
    return Tally(
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(schemes, TALLY),
        np.zeros((schemes, BINS), np.int64),
    )


def score(
    ground: Ground, start: int, repairs: Longs, layers: Longs, layer_of_link: Ints, *, brokers: bool
) -> Tally:
    """Count the cases of the destinations from `start` on.

    `repairs` is by scheme, destination and repairing broker. Schemes that switch at the source come
    after them: `layer_of_link`, by scheme and link, says which of `layers` (each by destination and
    source) they use.
    """
    tally = empty_tally(len(repairs) + len(layer_of_link))
    counts = (tally.cases, tally.changed, tally.by_scheme, tally.stretches)
    room = failing_room(ground)
    _score(ground, start, brokers, room, repairs, layers, layer_of_link, counts)
    return tally


@kernel
def _score(
    ground: Any,
    start: int,
    brokers: bool,
    failing: Any,
    repairs: Any,
    layers: Any,
    layer_of_link: Any,
    counts: Any,
) -> None:
    for row in range(repairs.shape[1]):
        to = start + row
        plant(ground.net, to, failing.tree)
        for v in range(repairs.shape[2]):
            count, size = take_down(ground, to, v, brokers, failing)
            if count == 0:
                continue
            for i in range(count):
                at, state = failing.repairers[i], failing.tree.state
                _score_repairs(state, at, row, repairs, counts)
                if len(layers):
                    link = failing.link[0]
                    _score_sources(state, at, row, link, layers, layer_of_link, counts)
            put_up(failing, size, brokers)


@kernel
def _score_repairs(state: Any, at: int, row: int, repairs: Any, counts: Any) -> None:
    cases, changed, by_scheme, stretches = counts
    for place in range(state[at].place, state[at].place + state[at].size):
        source = state[place].slot
        shortest = state[source].distance
        if shortest >= FAR:
            continue
        cases[0] += 1
        changed[0] += state[source].hop != state[source].old_hop
        before = state[source].old_distance - state[at].old_distance
        for scheme in range(len(repairs)):
            cost = repairs[scheme, row, at]
            if cost < FAR:
                _note(by_scheme, stretches, scheme, (before + cost) / shortest)


@kernel
def _score_sources(
    state: Any, at: int, row: int, link: int, layers: Any, layer_of_link: Any, counts: Any
) -> None:
    _, _, by_scheme, stretches = counts
    first = len(by_scheme) - len(layer_of_link)
    for place in range(state[at].place, state[at].place + state[at].size):
        source = state[place].slot
        for i in range(len(layer_of_link)):
            layer = layer_of_link[i, link]
            if layer >= 0 and layers[layer, row, source] < FAR and state[source].distance < FAR:
                stretch = layers[layer, row, source] / state[source].distance
                _note(by_scheme, stretches, first + i, stretch)


@kernel
def _note(by_scheme: Any, stretches: Any, scheme: int, stretch: float) -> None:
    by_scheme[scheme].recovered += 1
    by_scheme[scheme].sum += stretch
    by_scheme[scheme].most = max(by_scheme[scheme].most, stretch)
    stretches[scheme, min(int((stretch - 1) * PER_UNIT + 0.5), BINS - 1)] += 1
