"""`ropewalk place` as a user calls it, on the example and on bad input."""

import json
from pathlib import Path
from shutil import copytree

import pytest
import yaml

from ropewalk.placement.policies import CaseBase
from tests.conftest import Run

EXAMPLE = Path(__file__).parents[2] / "examples" / "placement"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copytree(EXAMPLE, tmp_path / "e")
    return tmp_path / "e"


def test_the_example_is_placed_with_less_risk_and_within_its_rules(
    ropewalk: Run, folder: Path
) -> None:
    out = folder / "plan.yaml"
    ran = ropewalk("place", folder / "federation.yaml", "--stats", folder, "-o", out, "--json")
    assert ran.code == 0, ran.err
    plan = yaml.safe_load(out.read_text())
    margin = plan["outcome"]["least_margin"]
    assert margin["today"] < margin["after"] <= margin["bound"]
    assert plan["items"]["audit/log"] == "slo-2"
    assert plan["items"]["orders/equity"].startswith("lon")
    assert plan["items"]["orders/equity"] != plan["items"]["orders/fx"]
    assert all(one["after"]["risk"] < 0.05 for one in plan["brokers"].values())
    place = {item: one["from"] for one in plan["moves"] for item in [one["item"]]}
    assert all(place.get(one["item"], one["from"]) == one["from"] for one in plan["moves"])


def test_the_same_seed_gives_the_same_plan(ropewalk: Run, folder: Path) -> None:
    told = [
        ropewalk("place", folder / "federation.yaml", "--stats", folder, "--json").document[
            "summary"
        ]["version"]
        for _ in range(2)
    ]
    assert told[0] == told[1]


def test_text_fits_a_terminal(ropewalk: Run, folder: Path) -> None:
    ran = ropewalk("place", folder / "federation.yaml", "--stats", folder)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 100
    assert "moves in this order" in ran.out


def test_an_item_is_explained_from_any_folder(
    ropewalk: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert ropewalk("place", "federation.yaml", "--stats", ".", "-o", "plan.yaml").code == 0
    monkeypatch.chdir("/")
    ran = ropewalk("place", "explain", folder / "plan.yaml", "energy", "--json")
    assert ran.code == 0, ran.err
    told = ran.document["summary"]
    assert sum(one["chosen"] for one in told["brokers"]) == 1
    assert told["rises_with"]
    text = ropewalk("place", "explain", folder / "plan.yaml", "energy").out
    assert "if it were on" in text
    wrong = ropewalk("place", "explain", folder / "plan.yaml", "enrgy")
    assert wrong.code == 2
    assert "did you mean 'energy'" in wrong.err


def test_pictures_are_drawn(ropewalk: Run, folder: Path) -> None:
    ran = ropewalk(
        "place", folder / "federation.yaml", "--stats", folder, "--pictures", folder, "--json"
    )
    assert [Path(one).name for one in ran.document["summary"]["pictures"]] == [
        "risk.png",
        "correlation.png",
        "gap.png",
    ]
    assert all(
        Path(one).read_bytes().startswith(b"\x89PNG") for one in ran.document["summary"]["pictures"]
    )


def test_brokers_that_can_be_off_in_quiet_hours_are_a_case(ropewalk: Run, folder: Path) -> None:
    night = folder / "night"
    copytree(EXAMPLE, night)
    rows = [row.split(",") for row in (night / "means.csv").read_text().splitlines()]
    rows[1:] = [[row[0], str(float(row[1]) / 10), *row[2:]] for row in rows[1:]]
    (night / "means.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    rows = [row.split(",") for row in (night / "covariance.csv").read_text().splitlines()]
    rows[1:] = [[row[0], *(str(float(one) / 100) for one in row[1:])] for row in rows[1:]]
    (night / "covariance.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    out = folder / "plan.yaml"
    ran = ropewalk(
        "place", folder / "federation.yaml", "--stats", folder, "--quiet", night, "-o", out
    )
    assert ran.code == 0, ran.err
    off = set(yaml.safe_load(out.read_text())["quiet"]["switched_off"])
    assert off
    assert "slo-2" not in off  # audit/log is pinned there
    cases = CaseBase.of(json.loads((folder / "plan.policies.json").read_text()))
    advice = cases.advice(sorted(off), "quiet")
    assert advice.exact
    assert not set(advice.moves.values()) & off


def test_an_input_is_not_overwritten_and_a_changed_one_is_noticed(
    ropewalk: Run, folder: Path
) -> None:
    file, out = folder / "federation.yaml", folder / "plan.yaml"
    before = file.read_text()
    ran = ropewalk("place", file, "--stats", folder, "-o", file)
    assert ran.code == 2
    assert "no plan is there" in ran.err
    assert file.read_text() == before
    assert ropewalk("place", file, "--stats", folder, "-o", out).code == 0
    assert ropewalk("place", file, "--stats", folder, "-o", out).code == 0  # a plan is replaced
    means = folder / "means.csv"
    means.write_text(means.read_text().replace("news/wire,150", "news/wire,160"))
    assert "changed since" in ropewalk("place", "explain", out, "energy").out
    out.write_text(out.read_text().replace("news/wire: slo-2", "news/wire: lon-1"))
    ran = ropewalk("place", "explain", out, "energy")
    assert ran.code == 2
    assert "changed by hand" in ran.err


def test_a_broker_is_emptied_and_its_items_come_from_it(ropewalk: Run, folder: Path) -> None:
    ran = ropewalk(
        "place", folder / "federation.yaml", "--stats", folder, "--without", "slo-1", "--json"
    )
    assert ran.code == 0, ran.out
    plan = ran.document["summary"]
    assert "slo-1" not in plan["items"].values()
    assert any(one["item"] == "energy" and one["from"] == "slo-1" for one in plan["moves"])


def test_where_the_load_is_too_much_nothing_gets_worse_than_today(
    ropewalk: Run, folder: Path
) -> None:
    file = folder / "federation.yaml"
    file.write_text(file.read_text().replace("utilisation: 0.85", "utilisation: 0.3"))
    ran = ropewalk("place", file, "--stats", folder, "--json")
    assert ran.code == 1
    margin = ran.document["summary"]["outcome"]["least_margin"]
    assert margin["after"] >= margin["today"]


def test_a_limit_that_cannot_be_kept_is_a_finding(ropewalk: Run, folder: Path) -> None:
    file = folder / "federation.yaml"
    file.write_text(file.read_text().replace("utilisation: 0.85", "utilisation: 0.2"))
    ran = ropewalk("place", file, "--stats", folder, "--json")
    assert ran.code == 1
    assert {one["code"] for one in ran.document["findings"]} == {"L001"}
    assert "risk" in ran.document["findings"][0]["message"]


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("means.csv", "prices/fx/spot,900,", "prices/fx/spot,nan,", "prices/fx/spot"),
        ("means.csv", "audit/log,200,1,1,500\n", "", "audit/log"),
        ("covariance.csv", "79704", "79705000", "symmetric"),
        ("covariance.csv", "136161", "x", "covariance.csv:2"),
        ("federation.yaml", "receive_us: 110.0, filter_us: 2.0, send_us: 38.0", None, "lon-1"),
        ("federation.yaml", "receive_us: 110.0", "receive_us: -1", "receive_us"),
    ],
)
def test_bad_input_is_named_in_one_line(
    ropewalk: Run, folder: Path, file: str, old: str, new: str | None, words: str
) -> None:
    text = (folder / file).read_text()
    changed = (
        text.replace("lon-1: {site: london, capacity: {" + old + "}}", "lon-1: {site: london}")
        if new is None
        else text.replace(old, new, 1)
    )
    assert changed != text
    (folder / file).write_text(changed)
    ran = ropewalk("place", folder / "federation.yaml", "--stats", folder)
    assert ran.code == 2
    told = ran.err + ran.out
    assert words in told
    assert "Traceback" not in told
    assert not (folder / "plan.yaml").exists()


def test_stats_or_a_trace_is_needed_and_places_to_write_are_checked_first(
    ropewalk: Run, folder: Path
) -> None:
    file = folder / "federation.yaml"
    assert "--stats" in ropewalk("place", file).err
    assert "*.yaml" in ropewalk("place", file, "--stats", folder, "-o", "plan.txt").err
    assert "no folder" in ropewalk("place", file, "--stats", folder, "-o", folder / "x/p.yaml").err
    assert (
        "no such folder" in ropewalk("place", file, "--stats", folder, "--pictures", "/nowhere").err
    )
    ran = ropewalk("place", "explain", file, "energy")
    assert ran.code == 2
    assert "no plan" in ran.err
