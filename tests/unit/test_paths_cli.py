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
    ladder.write_text(LADDER + "requirements: {regions: {radius_km: 20}}\n")
    assert ropewalk("paths", ladder, "--pair", "a,b").code == 0


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
    file.write_text("{}")
    assert ropewalk("paths", ladder, "--regions", file).code == 2


def test_the_map_is_written(ropewalk: Run, ladder: Path, tmp_path: Path) -> None:
    for name in ("m.png", "m.svg"):
        assert ropewalk("paths", ladder, "--radius-km", 30, "--map", tmp_path / name).code == 0
        assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "how far does a disaster reach"),
        (("--radius-km", "5", "--hazard", "flood"), "give one of them"),
        (("--radius-km", "-5"), "above 0"),
        (("--radius-km", "nan"), "above 0"),
        (("--radius-km", "5", "--pair", "a"), "write two brokers"),
        (("--radius-km", "5", "--pair", "a,zz"), "no broker 'zz'"),
        (("--radius-km", "5", "--primary", "quick"), "write delay, hops"),
        (("--radius-km", "5", "--pair", "a,b", "--primary", "a,b"), "not linked"),
        (("--radius-km", "5", "--pair", "a,b", "--primary", "a,n1"), "must go from a to b"),
        (("--radius-km", "5", "--three", "--method", "gap"), "--three goes with"),
        (("--radius-km", "5", "--map", "m.txt"), "name a picture"),
        (("--radius-km", "5", "--map", "no/such/m.png"), "there is no folder"),
        (("--radius-km", "5", "--max-stretch", "0"), "above 0"),
        (("--regions", "nowhere.geojson"), "no such file"),
    ],
)
def test_what_makes_no_sense_is_refused(
    ropewalk: Run, ladder: Path, arguments: tuple[str, ...], words: str
) -> None:
    ran = ropewalk("paths", ladder, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


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
