"""The demo's pure parts: what it begins with, what it reads from documents, and how it judges."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropewalk.agent.drive.bursts import load_bursts
from ropewalk.agent.drive.cast import cast_of
from ropewalk.agent.drive.timing import orders_of
from ropewalk.demo import FAST, FULL, Scale, figures, telling
from ropewalk.demo.commands import shown
from ropewalk.demo.figures import Audited, Risk
from ropewalk.demo.folder import MARK, prepare
from ropewalk.demo.judging import judged
from ropewalk.demo.scenery import Make, Scenery, brokers
from ropewalk.errors import UsageError
from ropewalk.federation import Federation, loads
from ropewalk.pipeline.calibrate.results import read_capacities
from ropewalk.verify import verify
from tests.conftest import Run
from tests.demo_output import RUN, SEEN

SCENERY = Scenery("nats", 7)


def right(scenery: Scenery) -> Federation:
    """The federation without the planted mistake."""
    return loads(scenery.mistaken.partition("routes:")[0])


@pytest.mark.parametrize("make", ["nats", "mosquitto"])
def test_the_scenery_has_one_mistake_and_survives_any_link_and_broker_without_it(
    make: Make,
) -> None:
    scenery = Scenery(make, 7)
    wrong = verify(loads(scenery.mistaken))
    assert {one.code for one in wrong.findings if one.severity == "error"} == {"V002"}
    proof = verify(right(scenery))
    assert not proof.findings
    assert proof.summary["delivered"] == 14 * 18
    assert set(right(scenery).brokers) == set(brokers())


def test_clients_are_told_to_go_where_items_may_move() -> None:
    federation = right(SCENERY)
    for item, only in federation.placement.only.items():
        at = federation.placement.at[item]
        assert {at, *federation.brokers[at].takeover.subscribers} == set(only)


def test_every_topic_has_bursts_every_broker_a_capacity_and_every_fault_is_one(
    tmp_path: Path,
) -> None:
    federation = right(SCENERY)
    (tmp_path / "b.yaml").write_text(SCENERY.bursts)
    (tmp_path / "c.yaml").write_text(SCENERY.capacities)
    load_bursts(tmp_path / "b.yaml").check(one.topic for one in cast_of(federation).streams)
    assert set(read_capacities(tmp_path / "c.yaml")) == set(brokers())
    for scale in (FAST, FULL, Scale(8, 8)):
        assert len(orders_of(scale.faults, federation, scale.seconds)) == 4
    with pytest.raises(UsageError, match="write 6 or more"):
        Scale(5, 5)


def test_a_run_in_which_all_held_is_ok() -> None:
    assert judged(SEEN) == ("ok", [])


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"planted": False}, "D005", "planted mistake"),
        ({"bad_cases": 2}, "D005", "2 bad cases"),
        ({"runs": {**SEEN.runs, "after": replace(RUN, lost=1)}}, "D005", "1 of 6700 acknowledged"),
        ({"runs": {**SEEN.runs, "after": replace(RUN, lost=1)}}, "D005", "found 0 lost messages"),
        ({"runs": {**SEEN.runs, "moving": replace(RUN, disordered=3)}}, "D005", "3 messages came"),
        ({"audits": {**SEEN.audits, "before": Audited(6714, 1, 1)}}, "D005", "the clients 0"),
        ({"audits": {**SEEN.audits, "whole": Audited(20142, 0, 2)}}, "D005", "2 violations"),
        ({"audits": {**SEEN.audits, "before": Audited(6699, 0, 0)}}, "D005", "6700 were"),
        ({"moved": 5}, "D005", "only 5 of 6"),
        ({"after": Risk(0.28, 0, 40)}, "D005", "no lower risk"),
        ({"after": Risk(0.006, 10, 40)}, "D005", "10 of 40 windows were overloaded after"),
        ({"after": Risk(0.006, 0, 39)}, "D005", "39 after it"),
        ({"before": Risk(0.28, 0, 40)}, "D006", "nothing to lower"),
        ({"runs": {**SEEN.runs, "after": replace(RUN, sent=6000)}}, "D006", "too busy"),
        ({"moved": 0, "moves": 0}, "D006", "moves nothing"),
        ({"runs": {**SEEN.runs, "before": replace(RUN, silent=2)}}, "D006", "2 pairs of clients"),
    ],
)
def test_each_thing_that_has_to_hold_turns_the_verdict(
    change: dict[str, Any], code: str, said: str
) -> None:
    outcome, found = judged(replace(SEEN, **change))
    assert outcome == {"D005": "findings", "D006": "undecided"}[code]
    assert any(one.code == code and said in one.message for one in found), found


def test_figures_are_read_from_documents() -> None:
    pair = {
        **dict.fromkeys(("sent", "acknowledged"), 50),
        **dict.fromkeys(("lost", "doubled", "disordered"), 1),
        "slowest_ms": 12.5,
        "p50_ms": 2.0,
    }
    told = {
        "pairs": [pair, {**pair, "slowest_ms": 90.0}],
        "windows": {"window_s": 0.5, "peak": "between:1..2"},
        "refused": {"full": 2},
        "skipped": 3,
        "stalls": [{}],
        "silent": [],
    }
    run = figures.driven({"summary": told})
    assert (run.sent, run.lost, run.doubled, run.slowest_ms, run.refused) == (100, 2, 2, 90.0, 2)
    plan = {"summary": {"outcome": {"nobody_overloaded": {"today": 0.7, "after": 0.99}}}}
    seen = {"happened": 4, "windows": 40}
    for when, predicted in (("today", 0.3), ("plan", 0.01)):
        replayed = {"summary": {"placement": when, "anywhere": seen}}
        found = figures.risk(plan, replayed)
        assert found.predicted == pytest.approx(predicted)
        assert found.observed == 0.1
    moves = [{"state": "done"}, {"state": "passed over"}]
    assert figures.moved({"summary": {"moves": moves}}) == (1, 2)


def test_lines_and_commands_fit_into_80_columns() -> None:
    words = ["pipeline", "all", "demo/before", "--traces", "demo/lab/traces", "--federation"]
    words += ["demo/federation.yaml"]
    words += [word for one in Scale(8, 8).faults for word in ("--fault", one)]
    text = telling.command(f"$ ropewalk {shown(words)}")
    assert max(map(len, text.splitlines())) <= 80
    assert " ".join(text.replace("\\\n", "").split()) == f"$ ropewalk {shown(words)}"
    told = telling.ending(SEEN, "ok", "demo/report.html", {"seconds": 120.0})
    lines = [*told.splitlines(), *map(telling.line, telling.ran(RUN, FAST.faults))]
    assert max(len(row) for line in lines for row in line.splitlines()) <= 80
    assert "28 %" in told
    assert "25 % (10 of 40 windows)" in told


def test_only_a_demo_s_own_folder_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    prepare(folder)
    (folder / "results" / "old.json").write_text(json.dumps({}))
    (folder / "plan.yaml").write_text("old")
    prepare(folder)
    assert sorted(one.name for one in folder.iterdir()) == [MARK, "after", "before", "results"]
    assert not list((folder / "results").iterdir())
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(UsageError, match="holds other files"):
        prepare(tmp_path)
    with pytest.raises(UsageError, match="a file is there"):
        prepare(tmp_path / "mine")


def test_a_demo_in_a_folder_of_others_is_refused(ropewalk: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    ran = ropewalk("demo", "--folder", tmp_path, "--json")
    assert (ran.code, ran.document["ok"]) == (2, False)
    assert ropewalk("demo", "--folder", tmp_path / "new", "--seconds", 1).code == 2
    assert not (tmp_path / "new").exists()
