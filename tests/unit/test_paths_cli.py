"""`ropewalk paths`: what it prints, refuses and finds."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run

LADDER = """federation: ladder
brokers:
  a: {xy: [0, 0]}
  n1: {xy: [100, 60]}
  n2: {xy: [200, 60]}
  s1: {xy: [100, -60]}
  s2: {xy: [200, -60]}
  b: {xy: [300, 0]}
links:
  - {between: [a, n1]}
  - {between: [n1, n2]}
  - {between: [n2, b]}
  - {between: [a, s1]}
  - {between: [s1, s2]}
  - {between: [s2, b], latency_ms: 1.5}
  - {between: [n1, s1]}
topics:
  t: {publishers: [a], subscribers: [b, n2]}
"""


@pytest.fixture
def ladder(tmp_path: Path) -> Path:
    file = tmp_path / "ladder.yaml"
    file.write_text(LADDER)
    return file


def paths_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return list(document["summary"]["paths"])


def test_pairs_are_publishers_and_subscribers(ropewalk: Run, ladder: Path) -> None:
    ran = ropewalk("paths", ladder, "--radius-km", 30, "--json")
    assert ran.code == 0
    rows = paths_of(ran.document)
    assert [(row["from"], row["to"]) for row in rows] == [("a", "n2"), ("a", "b")]
    assert rows[1]["primary"]["path"] == ["a", "n1", "n2", "b"]
    assert rows[1]["alternates"][0]["path"] == ["a", "s1", "s2", "b"]
    assert rows[1]["captured"] == 1.0
    assert ran.document["summary"]["network"] == "brokers"


def test_text_fits_80_columns_and_names_both_paths(ropewalk: Run, ladder: Path) -> None:
    ran = ropewalk("paths", ladder, "--hazard", "power-grid", "--pair", "a,b", "--curve")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "a > s1 > s2 > b" in ran.out
    assert "power-grid" in ran.out


@pytest.mark.parametrize("method", ["gap", "eksp", "disjoint", "exposure", "joint"])
def test_every_method_answers(ropewalk: Run, ladder: Path, method: str) -> None:
    ran = ropewalk(
        "paths", ladder, "--radius-km", 30, "--method", method, "--pair", "a,b", "--json"
    )
    assert ran.code == 0
    assert len(paths_of(ran.document)[0]["alternates"]) == 1


def test_without_topics_all_pairs_are_taken_and_no_more_than_asked(
    ropewalk: Run, tmp_path: Path
) -> None:
    file = tmp_path / "ring.yaml"
    ropewalk("generate", "ring", "--brokers", 6, "-o", file)
    summary = ropewalk("paths", file, "--radius-km", 20, "--json").document["summary"]
    assert (summary["pairs"], summary["pairs_in_all"]) == (15, 15)
    ran = ropewalk("paths", file, "--radius-km", 20, "--most-pairs", 4)
    assert "11 pairs left out" in ran.out


def test_a_required_radius_makes_cut_pairs_findings(ropewalk: Run, ladder: Path) -> None:
    ladder.write_text(LADDER + "requirements: {regions: {radius_km: 55}}\n")
    limited = ropewalk("paths", ladder, "--pair", "a,b", "--max-stretch", 1.01, "--json")
    assert limited.code == 1
    found = limited.document["findings"][0]
    assert found["code"] == "R002"
    assert found["witness"]["region"]["radius_km"] == 55
    asked = ropewalk("paths", ladder, "--pair", "a,b", "--max-stretch", 1.01, "--radius-km", 55)
    assert asked.code == 0  # who asks on the command line requires nothing


def test_a_required_radius_that_is_met_is_clean(ropewalk: Run, ladder: Path) -> None:
    ladder.write_text(LADDER + "requirements: {regions: {radius_km: 2}}\n")
    assert ropewalk("paths", ladder, "--pair", "a,b").code == 0


def test_a_required_radius_that_separates_a_pair_is_a_finding(ropewalk: Run, ladder: Path) -> None:
    line = LADDER.replace("  - {between: [s2, b], latency_ms: 1.5}\n", "")
    ladder.write_text(line + "requirements: {regions: {radius_km: 20}}\n")
    found = ropewalk("paths", ladder, "--pair", "a,b", "--json")
    assert found.code == 1
    assert [one["code"] for one in found.document["findings"]] == ["R003"]
    witness = found.document["findings"][0]["witness"]["region"]
    assert f"one is around {witness['centre'][0]:g}, " in found.document["findings"][0]["message"]
    assert "only a new link could" in ropewalk("paths", ladder, "--pair", "a,b").out.replace(
        "\n  ", " "
    )


def test_strict_makes_findings_of_what_the_command_line_fears(ropewalk: Run, ladder: Path) -> None:
    asked = ("--pair", "a,b", "--max-stretch", 1.01, "--radius-km", 55, "--json")
    assert ropewalk("paths", ladder, *asked).code == 0
    strict = ropewalk("paths", ladder, *asked, "--strict")
    assert strict.code == 1
    assert {one["code"] for one in strict.document["findings"]} == {"R002", "R003"}


def test_strict_counts_polygons_and_risk_groups(ropewalk: Run, ladder: Path) -> None:
    duct = LADDER.replace("[n1, n2]}", "[n1, n2], risk_groups: [duct]}").replace(
        "[s1, s2]}", "[s1, s2], risk_groups: [duct]}"
    )
    ladder.write_text(duct + "requirements: {regions: {radius_km: 2}}\n")
    clean = ropewalk("paths", ladder, "--pair", "a,b")
    assert clean.code == 0  # the file promises a radius, nothing about ducts
    assert "(requirements.regions), 1 risk group\n" in clean.out
    assert "all paths are cut by risk group duct\n" in clean.out
    strict = ropewalk("paths", ladder, "--pair", "a,b", "--strict")
    assert strict.code == 1
    assert "R003: 1 of 1,001 regions cut off a from b" in strict.out
    assert "in them: risk group duct" in strict.out


def test_regions_come_from_a_file(ropewalk: Run, ladder: Path, tmp_path: Path) -> None:
    box = [[140, -200], [160, -200], [160, 0], [140, 0], [140, -200]]
    shape = {"type": "Polygon", "coordinates": [box]}
    lake = {"type": "Feature", "properties": {"name": "lake"}, "geometry": shape}
    file = tmp_path / "r.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": [lake]}))
    ran = ropewalk(
        "paths", ladder, "--regions", file, "--primary", "a,s1,s2,b", "--pair", "a,b", "--json"
    )
    assert ran.code == 0
    row = paths_of(ran.document)[0]
    assert row["primary"]["path"] == ["a", "s1", "s2", "b"]
    assert row["alternates"][0]["path"] == ["a", "n1", "n2", "b"]
    assert (row["avoidable_by_primary"], row["avoidable"]) == (1, 0)
    assert row["cut_by"] == []
    far = {**shape, "coordinates": [[[x + 9000, y] for x, y in box]]}
    away = {"type": "Feature", "properties": {}, "geometry": far}
    file.write_text(json.dumps({"type": "FeatureCollection", "features": [lake, away]}))
    asked = ("--pair", "a,b", "--max-stretch", 1.01, "--primary", "a,s1,s2,b")
    ran = ropewalk("paths", ladder, "--regions", file, *asked, "--map", tmp_path / "m.svg")
    assert (ran.code, ran.err) == (0, "")
    assert "2 polygons\n" in ran.out
    assert "Nothing of the network is in: polygon 2." in ran.out
    assert f"Wrote {tmp_path / 'm.svg'}." in ran.out.replace("\n  ", " ")
    file.write_text("{}")
    assert ropewalk("paths", ladder, "--regions", file).code == 2


def test_the_map_is_written(ropewalk: Run, ladder: Path, tmp_path: Path) -> None:
    for name in ("m.png", "m.svg"):
        assert ropewalk("paths", ladder, "--radius-km", 30, "--map", tmp_path / name).code == 0
        assert (tmp_path / name).stat().st_size > 1000


def test_a_map_says_what_its_circle_cuts(ropewalk: Run, ladder: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.svg"
    legends = {
        ("--radius-km", "65"): "of 65 km that cuts both paths",
        ("--radius-km", "2"): "of 2 km that cuts the primary",
        ("--radius-km", "0.0001"): None,  # no circle hits anything: none is drawn
    }
    for arguments, words in legends.items():
        ran = ropewalk("paths", ladder, "--pair", "a,b", *arguments, "--map", file)
        assert (ran.code, ran.err) == (0, "")
        drawn = file.read_text()
        assert f"a region {words}" in drawn if words else "a region of" not in drawn


def test_names_in_any_letters_are_drawn_without_a_warning(
    ropewalk: Run, ladder: Path, tmp_path: Path
) -> None:
    ladder.write_text(LADDER.replace("n1", "東京"))
    ran = ropewalk("paths", ladder, "--radius-km", 30, "--pair", "a,b", "--map", tmp_path / "m.png")
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "how far does a disaster reach"),
        (("--radius-km", "5", "--hazard", "flood"), "give one of them"),
        (("--radius-km", "-5"), "above 0"),
        (("--radius-km", "nan"), "at most 1,000,000"),
        (("--radius-km", "inf"), "must be finite"),
        (("--radius-km", "1e308"), "at most 1,000,000"),
        (("--radius-km", "5", "--pair", "a"), "write two brokers"),
        (("--radius-km", "5", "--pair", "a,zz"), "no broker 'zz'"),
        (("--radius-km", "5", "--primary", "quick"), "write delay, hops"),
        (("--radius-km", "5", "--pair", "a,b", "--primary", "a,b"), "not linked"),
        (("--radius-km", "5", "--pair", "a,b", "--primary", "a,n1"), "must go from a to b"),
        (("--radius-km", "5", "--three", "--method", "gap"), "--three goes with"),
        (("--radius-km", "5", "--map", "m.txt"), "name a picture"),
        (("--radius-km", "5", "--map", "no/such/m.png"), "there is no folder"),
        (("--radius-km", "5", "--max-stretch", "0.9"), "at least 1"),
        (("--radius-km", "5", "--hops", "9" * 23), "--hops"),
        (("--radius-km", "5", "--method", "eksp", "--k", "1000000"), "--k"),
        (("--radius-km", "5", "--method", "joint", "--primary-stretch", "inf"), "finite"),
        (("--radius-km", "5", "--pair", "a,b", "--primary", "a,n1,a,n1,n2,b"), "a is there twice"),
        (
            ("--radius-km", "5", "--pair", "a,b", "--primary", "a,n1,n2,b", "--method", "joint"),
            "joint chooses the primary itself",
        ),
        (("--radius-km", "5", "--penalty", "div"), "goes with --method gap"),
        (("--radius-km", "5", "--by-distance"), "goes with --method gap"),
        (("--radius-km", "5", "--as-printed"), "goes with --method gap"),
        (("--radius-km", "5", "--k", "3"), "goes with --method eksp"),
        (("--radius-km", "5", "--primary-stretch", "1.2"), "goes with --method joint"),
        (("--regions", "nowhere.geojson"), "no such file"),
    ],
)
def test_what_makes_no_sense_is_refused(
    ropewalk: Run, ladder: Path, arguments: tuple[str, ...], words: str
) -> None:
    ran = ropewalk("paths", ladder, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_the_same_pair_twice_is_taken_once(ropewalk: Run, ladder: Path) -> None:
    asked = ("--pair", "a,b", "--pair", "b,a", "--pair", "a,b")
    ran = ropewalk("paths", ladder, "--radius-km", 30, *asked, "--json")
    assert len(paths_of(ran.document)) == 1


def test_a_region_file_nested_without_end_is_refused(
    ropewalk: Run, ladder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "deep.geojson"
    file.write_text("[" * 100_000)
    ran = ropewalk("paths", ladder, "--regions", file)
    assert ran.code == 2
    assert "nested too deeply" in ran.out


def test_nothing_placed_cannot_be_kept_apart(ropewalk: Run, tmp_path: Path) -> None:
    file = tmp_path / "six.yaml"
    ropewalk("generate", "six-broker", "-o", file)
    ran = ropewalk("paths", file, "--radius-km", 10)
    assert ran.code == 2
    assert "nothing has a place" in ran.err


def test_pairs_without_any_path_are_named(ropewalk: Run, tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text("federation: two\nbrokers: {a: {xy: [0, 0]}, b: {xy: [9, 9]}}\n")
    ran = ropewalk("paths", file, "--radius-km", 10)
    assert ran.code == 0
    assert "Without any path: a - b" in ran.out
    strict = ropewalk("paths", file, "--radius-km", 10, "--strict")
    assert strict.code == 1
    assert "R003: there is no path between a and b" in strict.out


def test_all_that_is_feared_is_named_within_80_columns(
    ropewalk: Run, ladder: Path, tmp_path: Path
) -> None:
    ladder.write_text(LADDER.replace("[n1, n2]}", "[n1, n2], risk_groups: [duct]}"))
    box = {"type": "Polygon", "coordinates": [[[0, 0], [9, 0], [9, 9], [0, 0]]]}
    file = tmp_path / "r.geojson"
    file.write_text(json.dumps(box))
    ran = ropewalk("paths", ladder, "--hazard", "earthquake", "--regions", file)
    assert "see docs), 1 polygon, 1 risk group" in " ".join(ran.out.split())
    assert "all paths are cut by polygon polygon 1" not in ran.out
    assert "all paths are cut by polygon 1" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_guesses_are_told(ropewalk: Run, ladder: Path) -> None:
    ladder.write_text(LADDER.replace("n1: {xy: [100, 60]}", "n1: {}"))
    ran = ropewalk("paths", ladder, "--radius-km", 30, "--json")
    note = "3 links have no known delay: 0 ms is assumed, which draws paths to them."
    assert note in ran.document["summary"]["notes"]
    ladder.write_text(
        LADDER + "underlay: {nodes: {x: {xy: [0, 0]}, y: {xy: [10, 0]}, z: {xy: [10, 9]}},"
        " links: [{between: [x, y]}, {between: [y, z]}, {between: [x, z]}]}\n"
    )
    ran = ropewalk("paths", ladder, "--radius-km", 250, "--json")
    assert ran.document["summary"]["notes"][0] == (
        "Farther than the radius: b is 290 km from its node y."
    )


def test_a_long_way_round_is_pointed_out(ropewalk: Run, ladder: Path) -> None:
    ladder.write_text(LADDER.replace("latency_ms: 1.5", "latency_ms: 15"))
    hint = "--max-stretch bounds the way round"
    ran = ropewalk("paths", ladder, "--radius-km", 30, "--pair", "a,b")
    assert hint in ran.out.replace("\n  ", " ")
    bounded = ropewalk("paths", ladder, "--radius-km", 30, "--pair", "a,b", "--max-stretch", 9)
    assert hint not in bounded.out.replace("\n  ", " ")
    joint = ropewalk("paths", ladder, "--radius-km", 30, "--pair", "a,b", "--method", "joint")
    assert "regions hit the shortest path" in joint.out
