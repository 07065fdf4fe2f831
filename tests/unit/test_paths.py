"""The pieces of alternate paths: networks, regions of every kind, hazards."""

import json
from dataclasses import replace
from pathlib import Path as File

import numpy as np
import pytest

from ropewalk.errors import InputError, UsageError
from ropewalk.federation import Federation
from ropewalk.federation.facts import (
    Broker,
    Domain,
    Link,
    Underlay,
    UnderlayLink,
    UnderlayNode,
)
from ropewalk.federation.generators import generate
from ropewalk.routing.apart.disjoint import maximally_disjoint
from ropewalk.routing.apart.exposure import curve, least_exposed
from ropewalk.routing.apart.groups import group_regions
from ropewalk.routing.apart.hazards import RADIUS_KM
from ropewalk.routing.apart.joint import joint_pair, third_path
from ropewalk.routing.apart.plan import Wishes, plan_for
from ropewalk.routing.apart.polygons import polygon_regions
from ropewalk.routing.apart.primary import given_path, primary_path
from ropewalk.routing.apart.regions import circles, circles_at, union
from ropewalk.routing.apart.scene import scene_of
from ropewalk.routing.apart.survival import captured, survival
from ropewalk.routing.apart.terrain import Limits, Terrain, terrain_of
from ropewalk.routing.apart.ways import ways


def square(**links: tuple[str, ...]) -> Federation:
    """a-b-c in the north, a-d-c in the south, 100 km apart; links may have risk groups."""
    places = {"a": (0.0, 50.0), "b": (100.0, 100.0), "c": (200.0, 50.0), "d": (100.0, 0.0)}
    pairs = ("ab", "bc", "ad", "dc")
    return Federation(
        name="square",
        brokers={name: Broker(xy=xy) for name, xy in places.items()},
        links=tuple(Link(between=(p[0], p[1]), risk_groups=links.get(p, ())) for p in pairs),
    )


def by_name(terrain: Terrain, text: str) -> tuple[int, ...]:
    return tuple(terrain.number(name) for name in text)


def feature(*corners: tuple[float, float], name: str = "lake") -> str:
    shape = {"type": "Polygon", "coordinates": [[*corners, corners[0]]]}
    return json.dumps({"type": "Feature", "properties": {"name": name}, "geometry": shape})


def test_brokers_attach_to_the_underlay_and_delays_follow_from_lengths() -> None:
    federation = replace(
        square(),
        underlay=Underlay(
            nodes={"x": UnderlayNode(xy=(0.0, 50.0)), "y": UnderlayNode(xy=(150.0, 50.0))},
            links=(UnderlayLink(between=("x", "y"), length_km=1000.0),),
        ),
    )
    terrain = terrain_of(federation)
    assert terrain.underlay
    assert terrain.attached.tolist() == [0, 1, 1, 1]
    assert terrain.graph.latency_ms.tolist() == pytest.approx([4.9])
    assert terrain_of(federation, brokers_only=True).graph.names == tuple("abcd")


def test_a_link_is_cut_between_its_ends_unless_only_nodes_fail() -> None:
    terrain = terrain_of(square())
    middle = np.array([[50.0, 75.0]])
    cut = circles_at(terrain, middle, 10.0)
    assert (cut.node.sum(), cut.link[:, 0].tolist()) == (0, [1, 0, 0, 0])
    assert circles_at(terrain, middle, 10.0, only_nodes=True).link.sum() == 0


def test_a_great_circle_is_not_a_straight_line_on_the_map() -> None:
    federation = Federation(
        name="north",
        brokers={"a": Broker(at=(60.0, -60.0)), "b": Broker(at=(60.0, 60.0))},
        links=(Link(between=("a", "b")),),
    )
    terrain = terrain_of(federation)
    over_the_top, on_the_parallel = np.array([[73.9, 0.0]]), np.array([[60.0, 0.0]])
    assert circles_at(terrain, over_the_top, 50.0).link[0, 0] == 1
    assert circles_at(terrain, on_the_parallel, 500.0).link[0, 0] == 0


def test_centres_stay_near_a_map_that_crosses_the_date_line() -> None:
    federation = Federation(
        name="pacific",
        brokers={"fiji": Broker(at=(-18.0, 178.0)), "samoa": Broker(at=(-13.8, -172.0))},
        links=(Link(between=("fiji", "samoa")),),
    )
    regions = circles(terrain_of(federation), [100.0], centres=64)
    centres = regions.kinds[0].centres
    assert centres is not None
    assert (np.abs(centres[:, 1]) >= 172).all()


def test_edges_carry_no_transit_and_only_they_may_be_ends() -> None:
    federation = replace(square(), domains={"n": Domain(gateways=("a",), edges=("b",))})
    terrain = terrain_of(federation)
    a, b, c = by_name(terrain, "abc")
    found = primary_path(terrain, a, c)
    assert found is not None
    assert terrain.named(found) == ["a", "d", "c"]
    scene = scene_of(terrain, circles_at(terrain, np.array([[100.0, 0.0]]), 10.0))
    assert scene.exposure([found]) == 0  # there is no way round: b is an edge
    to_b = terrain.path([a, b])
    beside_a = scene_of(terrain, circles_at(terrain, np.array([[50.0, 75.0]]), 10.0))
    assert beside_a.exposure([to_b]) == 1  # a > d > c > b is left


def test_polygons_cut_nodes_and_the_links_that_cross_them() -> None:
    terrain = terrain_of(square())
    regions = polygon_regions(terrain, feature((40, 60), (60, 60), (60, 90), (40, 90)), file="f")
    assert regions.kinds[0].names == ("lake",)
    assert (regions.node.sum(), regions.link[:, 0].tolist()) == (0, [1, 0, 0, 0])
    dry = polygon_regions(
        terrain, feature((40, 60), (60, 60), (60, 90), (40, 90)), file="f", only_nodes=True
    )
    assert dry.link.sum() == 0
    around_b = polygon_regions(terrain, feature((90, 90), (110, 90), (110, 110)), file="f")
    assert (around_b.node[:, 0].tolist(), around_b.link[:, 0].tolist()) == (
        [0, 1, 0, 0],
        [1, 1, 0, 0],
    )


def test_polygons_on_the_globe_have_longitude_first_and_follow_great_circles() -> None:
    federation = Federation(
        name="north",
        brokers={"a": Broker(at=(60.0, -60.0)), "b": Broker(at=(60.0, 60.0))},
        links=(Link(between=("a", "b")),),
    )
    box = feature((-5, 72), (5, 72), (5, 76), (-5, 76))
    assert polygon_regions(terrain_of(federation), box, file="f").link[0, 0] == 1
    low = feature((-5, 58), (5, 58), (5, 62), (-5, 62))
    assert polygon_regions(terrain_of(federation), low, file="f").link[0, 0] == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON"),
        ("[]", "no polygon"),
        ('{"type": "FeatureCollection", "features": []}', "no polygon"),
        ('{"type": "Point", "coordinates": [1, 2]}', "feature 1 is Point"),
        ('{"type": "Feature", "geometry": null}', "feature 1"),
        ('{"type": "FeatureCollection", "features": [3]}', "feature 1"),
        (feature((0, 0), (2, 2), (2, 0), (0, 2)), "feature 1: its outline crosses itself at 1, 1"),
        ('{"type": "Polygon", "coordinates": []}', "coordinates are empty"),
        ('{"type": "MultiPolygon", "coordinates": [[]]}', "coordinates are empty"),
        ('{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1]]]}', "close the ring"),
        ('{"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [0, 0]]]}', "three points"),
        ('{"type": "Polygon", "coordinates": [[[0, 0], [NaN, 0], 7]]}', "cannot be read"),
        ('{"type": "Polygon", "coordinates": 7}', "cannot be read"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_every_fault_of_a_region_file_is_told(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        polygon_regions(terrain_of(square()), text, file="f.geojson")
    assert [one.code for one in caught.value.findings] == ["R001"]
    assert words in str(caught.value)


@pytest.mark.parametrize("corner", [(51.0, 91.0), (-181.0, 3.0), (10.0, -90.5)])
def test_coordinates_off_the_globe_are_refused_by_feature(corner: tuple[float, float]) -> None:
    federation = Federation(name="one", brokers={"a": Broker(at=(60.0, 10.0))})
    fine = json.loads(feature((0, 0), (1, 0), (1, 1)))
    wrong = json.loads(feature((0, 0), (1, 0), corner))
    text = json.dumps({"type": "FeatureCollection", "features": [fine, wrong]})
    with pytest.raises(InputError, match=r"feature 2: .* is not on the globe"):
        polygon_regions(terrain_of(federation), text, file="f")


def test_what_has_no_place_is_in_no_polygon() -> None:
    federation = replace(square(), brokers={**square().brokers, "b": Broker()})
    regions = polygon_regions(
        terrain_of(federation), feature((-9, -9), (999, -9), (999, 999), (-9, 999)), file="f"
    )
    assert regions.node[:, 0].tolist() == [1, 0, 1, 1]
    assert regions.link[:, 0].tolist() == [1, 1, 1, 1]  # by the ends that have one


def test_a_risk_group_is_a_region() -> None:
    federation = square(ab=("duct",), dc=("duct",), bc=("bridge",))
    terrain = terrain_of(federation)
    regions = group_regions(federation, terrain)
    assert regions is not None
    assert regions.kinds[0].names == ("duct", "bridge")
    assert regions.link[:, 0].tolist() == [1, 2, 0, 1]
    assert group_regions(square(), terrain_of(square())) is None


def test_an_alternate_avoids_a_shared_duct_whatever_the_distance() -> None:
    federation = square(ab=("duct",), ad=("duct",))
    federation = replace(
        federation,
        brokers={**federation.brokers, "e": Broker(xy=(100.0, 400.0))},
        links=(*federation.links, Link(between=("a", "e")), Link(between=("e", "c"))),
    )
    terrain = terrain_of(federation)
    regions = group_regions(federation, terrain)
    assert regions is not None
    scene = scene_of(terrain, regions)
    primary = given_path(terrain, "abc")
    found = least_exposed(scene, [primary])
    assert found is not None
    assert terrain.named(found) == ["a", "e", "c"]
    assert scene.exposure((primary, found)) == 0


def test_of_equally_exposed_paths_the_one_that_shares_less_is_taken() -> None:
    terrain = terrain_of(square())
    scene = scene_of(terrain, circles_at(terrain, np.array([[900.0, 900.0]]), 1.0))  # hits nothing
    primary = given_path(terrain, "abc")
    found = least_exposed(scene, [primary])
    assert found is not None
    assert terrain.named(found) == ["a", "d", "c"]


def test_hop_limits_bind() -> None:
    terrain = terrain_of(generate("topohub", map="sndlib/germany50"))
    scene = scene_of(terrain, circles(terrain, [100.0], centres=512))
    primary = primary_path(terrain, terrain.number("Hamburg"), terrain.number("Muenchen"))
    assert primary is not None
    for hops in (6, 8, 10):
        found = least_exposed(scene, [primary], limits=Limits(hops=hops))
        assert found is not None
        assert found.hops <= hops
    assert least_exposed(scene, [primary], limits=Limits(hops=3)) is None
    assert curve(scene, [primary], limits=Limits(delay_ms=0.1)) == []


def test_every_method_finds_an_alternate_and_better_ones_capture_more() -> None:
    terrain = terrain_of(generate("topohub", map="sndlib/germany50"))
    scene = scene_of(terrain, circles(terrain, [25.0, 50.0, 100.0, 150.0, 200.0], centres=1024))
    tests = scene_of(terrain, circles(terrain, [100.0], centres=500, seed=9, evenly=False))
    ends = [("Hamburg", "Muenchen"), ("Aachen", "Dresden"), ("Kiel", "Freiburg")]
    pairs = [(terrain.number(a), terrain.number(b)) for a, b in ends]
    primaries = [path for path in (primary_path(terrain, a, b) for a, b in pairs) if path]
    alone = survival(tests, [(p,) for p in primaries])
    saved = {}
    for method in ("eksp", "gap", "exposure", "joint"):
        wishes = Wishes(method=method, radius_km=100.0)
        plans = [plan_for(scene, p, wishes) for p in primaries]
        assert all(len(plan.alternates) == 1 for plan in plans)
        saved[method] = captured(survival(tests, [plan.paths for plan in plans]), alone) or 0.0
    assert saved["eksp"] < saved["gap"] < saved["exposure"] < saved["joint"]
    three = [
        plan_for(scene, p, Wishes(method="joint", radius_km=100.0, three=True)) for p in primaries
    ]
    best = captured(survival(tests, [plan.paths for plan in three]), alone) or 0.0
    assert best >= saved["joint"]


def test_without_another_path_there_is_no_alternate() -> None:
    line = replace(square(), links=square().links[:2])
    terrain = terrain_of(line)
    scene = scene_of(terrain, circles(terrain, [50.0], centres=64))
    primary = given_path(terrain, "abc")
    assert plan_for(scene, primary, Wishes(method="exposure")).alternates == ()
    assert joint_pair(scene, primary, primary_limits=Limits()) is None
    for method in ("gap", "eksp", "disjoint", "joint"):
        wishes = Wishes(method=method, radius_km=10.0)
        assert plan_for(scene, primary, wishes).alternates == ()
    assert third_path(scene, [primary])[0] == primary


def test_a_pair_at_one_place_needs_no_path() -> None:
    terrain = terrain_of(square())
    scene = scene_of(terrain, circles(terrain, [50.0], centres=64))
    here = primary_path(terrain, 1, 1)
    assert here is not None
    assert plan_for(scene, here, Wishes()).alternates == ()
    assert survival(scene, [(here,)]).avoidable.tolist() == [0]


def test_regions_of_several_kinds_weigh_the_same() -> None:
    terrain = terrain_of(square())
    regions = union(
        [
            circles(terrain, [10.0, 20.0], centres=100),
            polygon_regions(terrain, feature((0, 0), (1, 0), (1, 1)), file="f"),
        ]
    )
    starts = np.cumsum([0, *(kind.words for kind in regions.kinds)])[:-1]
    weights = [
        regions.weight[i] * kind.count for i, kind in zip(starts, regions.kinds, strict=True)
    ]
    assert weights == pytest.approx([1 / 3] * 3)
    first, *_, last = regions.among(np.ones(len(regions.weight), np.uint64))
    assert first[0].where(first[1])["radius_km"] == 10.0
    assert last[0].where(last[1]) == {"kind": "polygon", "name": "lake"}


def test_paths_and_names_that_are_not_there_are_refused() -> None:
    terrain = terrain_of(square())
    with pytest.raises(UsageError, match="not linked"):
        given_path(terrain, "ac")
    with pytest.raises(UsageError, match="no node 'x'"):
        given_path(terrain, "ax")
    with pytest.raises(UsageError, match="give a radius"):
        plan_for(
            scene_of(terrain, circles(terrain, [9.0], centres=64)),
            given_path(terrain, "abc"),
            Wishes(method="gap"),
        )


def test_radii_by_hazard_are_those_of_the_survey() -> None:
    assert dict(RADIUS_KM) == {"earthquake": 97, "flood": 77, "power-grid": 58}


def test_links_on_the_map_are_great_circles_broken_at_the_date_line() -> None:
    places = {"tokyo": (35.7, 139.7), "seattle": (47.6, -122.3), "nowhere": None}
    federation = Federation(
        name="pacific",
        brokers={name: Broker(at=at) for name, at in places.items()},
        links=(Link(between=("tokyo", "seattle")), Link(between=("tokyo", "nowhere"))),
    )
    across, none = ways(terrain_of(federation))
    assert none == []
    assert len(across) == 2
    assert max(piece[:, 1].max() for piece in across) > 50  # north of both ends
    assert all(np.abs(np.diff(piece[:, 0])).max() < 1 for piece in across)


def test_of_equally_near_paths_the_more_disjoint_is_taken() -> None:
    terrain = terrain_of(
        Federation(
            name="theta",
            brokers={
                name: Broker(xy=xy)
                for name, xy in {
                    "s": (0.0, 0.0),
                    "a": (10.0, 0.0),
                    "t": (20.0, 0.0),
                    "b": (15.0, 30.0),
                    "c": (10.0, 90.0),
                }.items()
            },
            links=tuple(
                Link(between=(one[0], one[1])) for one in ("sa", "at", "ab", "bt", "sc", "ct")
            ),
        )
    )
    found = maximally_disjoint(terrain, given_path(terrain, "sat"), radius_km=1000.0)
    assert found is not None
    assert terrain.named(found) == ["s", "c", "t"]


def test_the_map_is_drawn(tmp_path: File) -> None:
    from ropewalk.report.map import Circle, draw_map

    for name in ("sndlib/germany50", "topozoo/Abilene"):
        terrain = terrain_of(generate("topohub", map=name))
        path = primary_path(terrain, 0, 5)
        assert path
        file = tmp_path / "m.svg"
        circle = Circle((50.0, 10.0), 100.0, "a region")
        draw_map(terrain, [(path,)], file, title="t", circle=circle)
        assert "<svg" in file.read_text()
    with pytest.raises(UsageError, match="name a picture"):
        draw_map(terrain, [], tmp_path / "m.txt", title="t")
