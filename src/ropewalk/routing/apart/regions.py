"""Regions that fail as a whole, as bits: which nodes and links each of them takes down.

A row of 64-bit words per node and per link; bit i stands for region i. A link's row holds the
regions of its ends as well, so the regions that hit a path are those of its links, joined.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

from ropewalk.federation.arrays import Bools, Floats
from ropewalk.routing.apart.geometry import cover, points
from ropewalk.routing.apart.terrain import Path, Terrain

Words = npt.NDArray[np.uint64]

CENTRES = 2048
"""Circles per radius: their centres fill the map evenly (Sobol), so few are enough."""
RADII = (0.25, 0.5, 1.0, 1.5, 2.0)
"""Disasters come in sizes: the radii that paths are chosen for, in terms of the one asked for."""


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """Regions of one sort, in words of their own: circles of a radius, polygons, risk groups.

    `label` is what one of them is called; polygons have their `outlines` by the order of names.
    """

    label: str
    count: int
    words: int
    radius_km: float | None = None
    centres: Floats | None = None
    names: tuple[str, ...] = ()
    outlines: tuple[Any, ...] = ()

    def where(self, region: int) -> dict[str, Any]:
        """What a person needs to find a region of this kind on the map."""
        if self.centres is None:
            return {"kind": self.label, "name": self.names[region]}
        return {
            "centre": [round(float(x), 4) for x in self.centres[region]],
            "radius_km": self.radius_km,
        }


@dataclass(frozen=True, eq=False, slots=True)
class Regions:
    """Regions of several kinds: rows of `node` and `link`, and the weight of a bit in each word.

    Every kind weighs the same, and every region of a kind: an exposure is the probability that a
    region drawn so strikes.
    """

    node: Words
    link: Words
    weight: Floats
    kinds: tuple[Kind, ...]

    def hit(self, path: Path) -> Words:
        """The regions that hit a path."""
        if not path.links:
            return np.asarray(self.node[path.nodes[0]])
        return np.asarray(np.bitwise_or.reduce(self.link[list(path.links)], axis=0))

    def sparing(self, *nodes: int) -> Words:
        """The regions that spare these nodes; also the bits beyond the last region."""
        return np.asarray(~np.bitwise_or.reduce(self.node[list(nodes)], axis=0))

    def among(self, bits: Words) -> Iterator[tuple[Kind, int]]:
        """The regions of these bits: their kind and their number in it."""
        starts = 64 * np.cumsum([0, *(kind.words for kind in self.kinds)])
        for bit in np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).tolist():
            i = int(np.searchsorted(starts, bit, side="right")) - 1
            yield self.kinds[i], bit - int(starts[i])

    def of_circles(self, circles_only: bool = True) -> Words:
        """All bits of circles, or if so asked of every kind."""
        every = ~np.uint64(0)
        each = [every if kind.centres is not None or not circles_only else 0 for kind in self.kinds]
        return np.repeat(np.array(each, np.uint64), [kind.words for kind in self.kinds])

    def exposure(self, hit: Words) -> float:
        """The weight of these regions."""
        return float(np.bitwise_count(hit) @ self.weight)

    def by_kind(self, hit: Words) -> Floats:
        """The proportion of each kind's regions that is among these."""
        starts = np.cumsum([0, *(kind.words for kind in self.kinds)])[:-1]
        counts = np.add.reduceat(np.bitwise_count(hit).astype(np.int64), starts)
        return np.asarray(counts / np.array([kind.count for kind in self.kinds]))


def in_words(region: Mapping[str, Any]) -> str:
    """A polygon or risk group by its name; one without is called `polygon 1` already."""
    kind, name = region["kind"], region["name"]
    return str(name) if name.startswith(f"{kind} ") else f"{kind} {name}"


def circles(
    terrain: Terrain,
    radii_km: Sequence[float],
    *,
    centres: int = CENTRES,
    seed: int = 1,
    only_nodes: bool = False,
    evenly: bool = True,
) -> Regions:
    """Circles with centres all over the map's box: evenly spread, or independent of each other.

    With `only_nodes`, a link is down only if one of its ends is (the setting of Wang 2015).
    """
    rng = np.random.default_rng(seed)
    sets = [_centres(terrain, centres, rng, evenly=evenly) for _ in radii_km]
    return union(
        circles_at(terrain, at, radius, only_nodes=only_nodes)
        for at, radius in zip(sets, radii_km, strict=True)
    )


def circles_at(
    terrain: Terrain, at: Floats, radius_km: float, *, only_nodes: bool = False
) -> Regions:
    """Circles of one radius around given places."""
    rows = len(terrain.at) + terrain.graph.links
    bits = np.zeros((rows, -(-len(at) // 64)), np.uint64)
    spots = points(terrain.at, globe=terrain.globe), points(at, globe=terrain.globe)
    cover(spots[0], terrain.graph.ends, spots[1], radius_km, (terrain.globe, not only_nodes), bits)
    kind = Kind(f"{radius_km:g} km", len(at), bits.shape[1], radius_km, at)
    return _of_one_kind(terrain, bits, kind)


def listed(
    terrain: Terrain,
    label: str,
    names: Sequence[str],
    down: Bools,
    *,
    outlines: tuple[Any, ...] = (),
) -> Regions:
    """Regions given one by one: `down[i]` has an entry per node, then one per link."""
    rows = np.packbits(np.asarray(down, np.bool_).T, axis=1, bitorder="little")
    short = -rows.shape[1] % 8
    bits = np.pad(rows, ((0, 0), (0, short))).view("<u8").astype(np.uint64)
    nodes = len(terrain.at)
    at_ends = bits[terrain.graph.ends[:, 0]] | bits[terrain.graph.ends[:, 1]]
    bits[nodes:] |= at_ends
    kind = Kind(label, len(names), bits.shape[1], names=tuple(names), outlines=outlines)
    return _of_one_kind(terrain, bits, kind)


def union(parts: Iterable[Regions]) -> Regions:
    """The regions of several kinds together, every kind of the same weight."""
    several = list(parts)
    kinds = tuple(kind for one in several for kind in one.kinds)
    return Regions(
        np.ascontiguousarray(np.hstack([one.node for one in several])),
        np.ascontiguousarray(np.hstack([one.link for one in several])),
        np.repeat([1 / (len(kinds) * one.count) for one in kinds], [one.words for one in kinds]),
        kinds,
    )


def _of_one_kind(terrain: Terrain, bits: Words, kind: Kind) -> Regions:
    nodes = len(terrain.at)
    return Regions(bits[:nodes], bits[nodes:], np.full(kind.words, 1 / kind.count), (kind,))


def _centres(terrain: Terrain, count: int, rng: np.random.Generator, *, evenly: bool) -> Floats:
    """Places in the box around all nodes, by area; neighbours come near each other in the list.

    So the regions that matter for one pair lie in few words, and the other words are skipped.
    """
    if evenly:
        unit = qmc.Sobol(2, rng=rng).random_base2((count - 1).bit_length())[:count]
    else:
        unit = rng.random((count, 2))
    low, high = _box(terrain)
    at = low + unit * (high - low)
    if terrain.globe:
        at = np.column_stack((np.degrees(np.arcsin(at[:, 0])), (at[:, 1] + 180) % 360 - 180))
    stripes = max(1, round((count / 64) ** 0.5))
    stripe = np.argsort(np.argsort(unit[:, 0])) * stripes // count
    return np.asarray(at[np.lexsort((unit[:, 1], stripe))])


def _box(terrain: Terrain) -> tuple[Floats, Floats]:
    """The corners of the map; on the globe as sine of latitude and longitude, for equal areas.

    The longitudes start east of the widest gap, so a map that crosses the date line stays small.
    """
    at = terrain.at[~np.isnan(terrain.at).any(axis=1)]
    if terrain.globe:
        east = np.unique(at[:, 1])
        gaps = np.diff(np.append(east, east[0] + 360))
        start = east[(int(np.argmax(gaps)) + 1) % len(east)]
        at = np.column_stack((np.sin(np.radians(at[:, 0])), start + (at[:, 1] - start) % 360))
    return at.min(axis=0), at.max(axis=0)
