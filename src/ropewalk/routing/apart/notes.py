"""What a reader of a study should know before trusting it."""

from collections.abc import Iterable, Iterator
from math import inf

import numpy as np

from ropewalk.federation.facts import Federation
from ropewalk.federation.places import broker_positions, distance_km
from ropewalk.routing.apart.study import Study
from ropewalk.routing.apart.terrain import Terrain

SHOWN = 5
LONG = 2.0
"""An alternate of more times the primary's delay is a long way round."""


def notes(federation: Federation, found: Study) -> list[str]:
    """Guesses that were made, regions that matter to nobody, and pairs that are not helped."""
    return [
        *_unknown_delays(federation, found.scene.terrain),
        *_far_from_their_nodes(federation, found),
        *_touching_nothing(found),
        *_not_helped(found),
        *_long_ways_round(found),
    ]


def _unknown_delays(federation: Federation, terrain: Terrain) -> Iterator[str]:
    known = (
        [one.length_km for one in federation.underlay.links]
        if terrain.underlay
        else [one.latency_ms for one in federation.links]
    )
    vague = np.isnan(terrain.at[terrain.graph.ends].sum(axis=(1, 2)))
    unknown = sum(one is None and bool(v) for one, v in zip(known, vague, strict=True))
    if unknown:
        links = "1 link has" if unknown == 1 else f"{unknown:,} links have"
        yield f"{links} no known delay: 0 ms is assumed, which draws paths to them."


def _far_from_their_nodes(federation: Federation, found: Study) -> Iterator[str]:
    terrain, radius = found.scene.terrain, found.wishes.radius_km
    if not terrain.underlay or radius is None:
        return
    nodes = terrain.at[terrain.attached]
    apart = distance_km(broker_positions(federation), nodes, globe=terrain.globe)
    far = [
        f"{name} is {km:,.0f} km from its node {terrain.graph.names[node]}"
        for name, km, node in zip(federation.brokers, apart, terrain.attached, strict=True)
        if km > radius
    ]
    if far:
        yield f"Farther than the radius: {_some(far)}."


def _touching_nothing(found: Study) -> Iterator[str]:
    regions = found.tests.regions
    used = np.bitwise_or.reduce(np.vstack((regions.node, regions.link)), axis=0)
    named = ~regions.of_circles()
    touched = {(kind.label, number) for kind, number in regions.among(used & named)}
    idle = [
        name
        for kind in regions.kinds
        for number, name in enumerate(kind.names)
        if (kind.label, number) not in touched
    ]
    if idle:
        yield f"Nothing of the network is in: {_some(idle)}."


def _not_helped(found: Study) -> Iterator[str]:
    single, apart = [], []
    for (a, b), plan in zip(found.pairs, found.plans, strict=True):
        if plan.primary.links and not plan.alternates:
            single.append(f"{a} - {b}")
        if found.tests.separated(plan.primary.nodes[0], plan.primary.nodes[-1]).any():
            apart.append(f"{a} - {b}")
    if single:
        yield f"Without an alternate within the limits: {_some(single)}."
    if apart:
        yield (
            f"Separated by some region although neither end is in it: {_some(apart)}."
            " No path can save that: only a new link could."
        )


def _long_ways_round(found: Study) -> Iterator[str]:
    if min(found.wishes.max_stretch, found.wishes.delay_ms) < inf:
        return
    long = [
        f"{a} - {b}"
        for (a, b), plan in zip(found.pairs, found.plans, strict=True)
        if any(path.delay_ms > LONG * plan.baseline.delay_ms for path in plan.alternates)
    ]
    if long:
        than = "shortest path" if found.wishes.method == "joint" else "primary"
        yield (
            f"An alternate takes more than twice as long as the {than}: {_some(long)}."
            " --max-stretch bounds the way round."
        )


def _some(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - SHOWN:,} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + more
