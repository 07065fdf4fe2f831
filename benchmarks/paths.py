"""Alternate paths: the thesis' tables, real maps, times (`paths.py [paper|maps|more_maps|speed]`).

Paths are chosen with one set of regions and judged with another, drawn independently.
"""

import re
import sys
from collections.abc import Callable, Sequence
from statistics import mean, median
from time import process_time
from typing import Any

import networkx as nx
import numpy as np

from _measure import interleaved, report
from ropewalk.federation.generators import generate
from ropewalk.federation.generators.maps import map_names
from ropewalk.federation.places import distance_km, on_globe
from ropewalk.routing.apart.exposure import curve, least_exposed
from ropewalk.routing.apart.gap import gap
from ropewalk.routing.apart.joint import joint_pair, third_path
from ropewalk.routing.apart.ksp import eksp
from ropewalk.routing.apart.primary import primary_path, stretch
from ropewalk.routing.apart.proximity import proximity_factor
from ropewalk.routing.apart.regions import circles
from ropewalk.routing.apart.scene import Scene, scene_of
from ropewalk.routing.apart.survival import captured, survival
from ropewalk.routing.apart.terrain import Limits, Path, Terrain, terrain_of

Plans = list[tuple[Path, ...]]

MAPS = 50
MOST_NODES = 1000
PARTS_OF_DIAGONAL = (0.03, 0.05, 0.10, 0.20, 0.30)
THRESHOLD = 0.10
PAIRS = 100
TESTS = 500


def chosen_maps(after: int = 0) -> list[str]:
    """The rule, stated before any result was seen.

    Of all sndlib, topozoo and backbone maps that lie on the globe, are connected and have at most
    1,000 nodes: the fifty with the largest two-connected part. Of maps whose names differ only in
    digits (years of one network) the largest.
    """
    sized: dict[str, tuple[int, str]] = {}
    for name in map_names():
        if name.split("/")[0] not in ("sndlib", "topozoo", "backbone"):
            continue
        federation = generate("topohub", map=name)
        grid = nx.Graph(federation.graph.ends.tolist())
        if not on_globe(federation) or not len(grid) == federation.graph.brokers <= MOST_NODES:
            continue
        if nx.is_connected(grid):
            family = re.sub(r"\d+", "", name)
            sized[family] = max(sized.get(family, (0, "")), (len(core_of(grid)), name))
    largest = sorted(sized.values(), key=lambda one: (-one[0], one[1]))
    return [name for _, name in largest[after : after + MAPS]]


def core_of(grid: nx.Graph) -> list[int]:
    parts: list[list[int]] = [sorted(part) for part in nx.biconnected_components(grid)]
    return max(parts, key=len)


def diagonal_km(terrain: Terrain) -> float:
    low, high = terrain.at.min(axis=0), terrain.at.max(axis=0)
    return float(distance_km(low, high, globe=terrain.globe))


def pairs_of(nodes: Sequence[int], count: int, seed: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in nodes for b in nodes if a < b]
    picked = rng.permutation(len(pairs))[:count]
    return [pairs[i] for i in picked]


def alternates(scene: Scene, primaries: list[Path], radius_km: float) -> dict[str, Plans]:
    """The plans of every method, a plan per pair."""
    terrain = scene.terrain
    plans: dict[str, Plans] = {}

    def add(name: str, choose: Callable[[Path], Path | None]) -> None:
        found = [(primary, choose(primary)) for primary in primaries]
        plans[name] = [(p,) if one is None else (p, one) for p, one in found]

    add("gap_div", lambda p: gap(terrain, p, radius_km=radius_km).path)
    add(
        "gap_log_by_distance",
        lambda p: gap(terrain, p, radius_km=radius_km, penalty="log", by_distance=True).path,
    )
    add("eksp_5", lambda p: eksp(terrain, p, radius_km=radius_km, k=5))
    rivals = {plan[0]: plan[-1] for plan in plans["gap_div"]}

    def at_gaps_delay(p: Path) -> Path | None:
        rival = rivals[p]
        return least_exposed(scene, [p], limits=Limits(delay_ms=rival.delay_ms), floor=rival)

    add("exposure_at_gaps_delay", at_gaps_delay)
    add("exposure_unlimited", lambda p: least_exposed(scene, [p]))
    for name, most in (("joint_1.2", 1.2), ("joint_1.5", 1.5)):
        plans[name] = [
            joint_pair(scene, p, primary_limits=Limits(delay_ms=most * p.delay_ms)) or (p,)
            for p in primaries
        ]
    plans["three_paths"] = [
        third_path(scene, plan, primary_limits=Limits(delay_ms=1.2 * p.delay_ms))
        for plan, p in zip(plans["joint_1.2"], primaries, strict=True)
    ]
    return plans


def map_row(name: str) -> dict[str, Any]:
    """One map: what part of the avoidable losses each method avoids, at every radius."""
    federation = generate("topohub", map=name)
    terrain = terrain_of(federation)
    diagonal = diagonal_km(terrain)
    radii = [part * diagonal for part in PARTS_OF_DIAGONAL]
    core = core_of(nx.Graph(federation.graph.ends.tolist()))
    found = [primary_path(terrain, a, b) for a, b in pairs_of(core, PAIRS, seed=1)]
    primaries = [path for path in found if path is not None]
    scene = scene_of(terrain, circles(terrain, radii, seed=1))
    plans = alternates(scene, primaries, THRESHOLD * diagonal)
    curve: dict[str, list[float | None]] = {method: [] for method in plans}
    for i, radius in enumerate(radii):
        regions = circles(terrain, [radius], centres=TESTS, seed=1000 + i, evenly=False)
        tests = scene_of(terrain, regions)
        before = survival(tests, [(p,) for p in primaries])
        for method, chosen in plans.items():
            part = captured(survival(tests, chosen), before)
            curve[method].append(None if part is None else round(part, 4))
    return {
        "map": name,
        "nodes": federation.graph.brokers,
        "core": len(core),
        "pairs": len(primaries),
        "diagonal_km": round(diagonal),
        "captured": curve,
        "mean_stretch": {
            method: round(
                mean(
                    max(stretch(one, p) for one in plan)
                    for plan, p in zip(chosen, primaries, strict=True)
                    if p.delay_ms
                ),
                3,
            )
            for method, chosen in plans.items()
        },
    }


def maps(after: int = 0) -> dict[str, Any]:
    rows = []
    for name in chosen_maps(after):
        print(f"  {name}", file=sys.stderr)
        rows.append(map_row(name))
    return {
        "rule": (chosen_maps.__doc__ or "").split("\n\n", 1)[1],
        "summary": judged(rows),
        "rows": rows,
    }


def judged(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The targets: exposure against GAP at GAP's own delay, and what joint pairs capture."""

    def gains(row: dict[str, Any]) -> list[float]:
        ours, rival = row["captured"]["exposure_at_gaps_delay"], row["captured"]["gap_div"]
        return [a - b for a, b in zip(ours, rival, strict=True) if a is not None and b is not None]

    def middle(method: str, i: int) -> float:
        known = [row["captured"][method][i] for row in rows]
        return round(float(median(one for one in known if one is not None)), 4)

    methods = rows[0]["captured"]
    return {
        "maps": len(rows),
        "maps_at_least_as_good_at_the_two_largest_radii": sum(
            min(gains(row)[-2:]) >= 0 for row in rows
        ),
        "worst_difference_at_any_radius": round(min(min(gains(row)) for row in rows), 4),
        "radii_as_parts_of_the_diagonal": PARTS_OF_DIAGONAL,
        "median_captured": {
            method: [middle(method, i) for i in range(len(PARTS_OF_DIAGONAL))] for method in methods
        },
        "median_stretch": {
            method: round(median(row["mean_stretch"][method] for row in rows), 3)
            for method in methods
        },
    }


PAPER_RADII = (3000, 2000, 1000, 500, 200)
PAPER = {
    "gap_div": (0.101843, 0.244868, 0.426888, 0.552668, 0.587156),
    "gap_log": (0.097525, 0.23905, 0.416412, 0.54446, 0.568807),
    "k=3": (0.03981, 0.07241, 0.161065, 0.27223, 0.348624),
    "k=5": (0.047077, 0.087603, 0.196421, 0.316005, 0.385321),
}
"""Wang 2015, table 5-3: what part of the primaries' losses is avoided."""
PAPER_LOST = (9495, 6187, 2291, 731, 109)
"""Table 5-2: losses of the primaries, of 200 pairs x 100 regions."""
SEEDS = 10


def wang_run(seed: int, *, regions: int = 100) -> dict[str, Any]:
    """The setting of 5.4.3 as its log shows it to have been: see docs/papers.md."""
    terrain = terrain_of(generate("waxman", brokers=1000, m=8, growth_type="all", seed=seed))
    rng = np.random.default_rng(seed)
    brokers = rng.uniform(0, 10_000, size=(100, 2))
    nodes = [int(np.argmin(distance_km(terrain.at, one, globe=False))) for one in brokers]
    pairs = [(a, b) for a in nodes for b in nodes if a != b]
    picked = [pairs[i] for i in rng.permutation(len(pairs))[:200]]
    primaries = [one for one in (primary_path(terrain, a, b) for a, b in picked) if one]
    methods: dict[str, Callable[[Path], Path | None]] = {
        "gap_div": lambda p: gap(terrain, p, radius_km=2000).path,
        "gap_log": lambda p: gap(terrain, p, radius_km=2000, penalty="log").path,
        "gap_div_as_printed": lambda p: gap(terrain, p, radius_km=2000, reading="printed").path,
        "k=3": lambda p: eksp(terrain, p, radius_km=2000, k=3),
        "k=5": lambda p: eksp(terrain, p, radius_km=2000, k=5),
    }
    chosen = {name: [choose(p) or p for p in primaries] for name, choose in methods.items()}
    found: dict[str, Any] = {"improvement": {name: [] for name in methods}, "lost": []}
    found["proximity_factor"] = {
        name: mean(
            proximity_factor(terrain, one, p, radius_km=2000)
            for one, p in zip(alternates, primaries, strict=True)
        )
        for name, alternates in chosen.items()
    }
    for i, radius in enumerate(PAPER_RADII):
        struck = circles(
            terrain, [radius], centres=regions, seed=100 * seed + i, only_nodes=True, evenly=False
        )
        tests = scene_of(terrain, struck)
        before = survival(tests, [(p,) for p in primaries]).lost.sum()
        found["lost"].append(int(before) * 100 / regions)
        for name, alternates in chosen.items():
            plans = list(zip(primaries, alternates, strict=True))
            lost = survival(tests, plans).lost.sum()
            found["improvement"][name].append(1 - lost / before)
    return found


def paper() -> dict[str, Any]:
    """Tables 5-2 and 5-3 and figure 5-6: theirs, ours over seeds, and how many deviations apart."""
    runs = [wang_run(seed) for seed in range(1, SEEDS + 1)]

    def figures(values: Sequence[float], theirs: float | None = None) -> dict[str, float]:
        middle, spread = float(np.mean(values)), float(np.std(values, ddof=1))
        told = {"ours": round(middle, 4), "deviation": round(spread, 4)}
        if theirs is not None:
            told |= {"theirs": theirs, "apart": round((theirs - middle) / spread, 2)}
        return told

    return {
        "seeds": SEEDS,
        "lost_by_primaries_table_5_2": {
            str(radius): figures([run["lost"][i] for run in runs], PAPER_LOST[i])
            for i, radius in enumerate(PAPER_RADII)
        },
        "improvement_table_5_3": {
            name: {
                str(radius): figures(
                    [run["improvement"][name][i] for run in runs],
                    PAPER[name][i] if name in PAPER else None,
                )
                for i, radius in enumerate(PAPER_RADII)
            }
            for name in runs[0]["improvement"]
        },
        "proximity_factor_figure_5_6": {
            name: figures([run["proximity_factor"][name] for run in runs])
            for name in runs[0]["proximity_factor"]
        },
    }


def per_pair_ms(taken: dict[str, float], pairs: int) -> dict[str, float]:
    return {name: round(1000 * seconds / pairs, 2) for name, seconds in taken.items()}


def speed(nodes: int = 1000, pairs: int = 50) -> dict[str, Any]:
    """CPU time per pair on the thesis' graph; links are cut where regions cross them."""
    terrain = terrain_of(generate("waxman", brokers=nodes, m=8, growth_type="all", seed=1))
    radii = [500.0, 1000.0, 2000.0, 3000.0, 4000.0]
    scene = scene_of(terrain, circles(terrain, radii))
    everywhere = pairs_of(range(nodes), pairs, seed=1)
    primaries = [p for p in (primary_path(terrain, a, b) for a, b in everywhere) if p]

    def each(choose: Callable[[Path], object]) -> Callable[[], object]:
        choose(primaries[0])  # compiled, or loaded
        return lambda: [choose(p) for p in primaries]

    def within(p: Path, times: float) -> Limits:
        return Limits(delay_ms=times * p.delay_ms)

    taken = interleaved(
        3,
        gap=each(lambda p: gap(terrain, p, radius_km=2000)),
        eksp_5=each(lambda p: eksp(terrain, p, radius_km=2000, k=5)),
        exposure=each(lambda p: least_exposed(scene, [p])),
        exposure_at_twice_the_delay=each(lambda p: least_exposed(scene, [p], limits=within(p, 2))),
        curve=each(lambda p: curve(scene, [p])),
        joint=each(lambda p: joint_pair(scene, p, primary_limits=within(p, 1.2))),
    )
    start = process_time()
    scene_of(terrain, circles(terrain, radii))
    ready = process_time() - start
    return {
        "nodes": nodes,
        "links": terrain.graph.links,
        "regions": sum(kind.count for kind in scene.regions.kinds),
        "made_ready_once_cpu_s": round(ready, 2),
        "ms_per_pair": per_pair_ms(taken, len(primaries)),
        "eksp_5_over_exposure": round(taken["eksp_5"] / taken["exposure"], 2),
        "exposure_over_gap": round(taken["exposure"] / taken["gap"], 2),
    }


def more_maps() -> dict[str, Any]:
    """The next fifty, at which nobody looked while the methods were made."""
    return maps(MAPS)


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "paper": paper,
    "maps": maps,
    "more_maps": more_maps,
    "speed": speed,
}


def main() -> None:
    wanted = sys.argv[1:] or list(PARTS)
    figures: dict[str, Any] = {}
    for part in wanted:
        start = process_time()
        figures[part] = PARTS[part]()
        figures[part]["cpu_s"] = round(process_time() - start, 1)
    report("paths", **figures)


if __name__ == "__main__":
    main()
