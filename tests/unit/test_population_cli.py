"""`ropewalk population`: verdicts, exit codes, evidence, and what is refused."""

import json
import os
from pathlib import Path
from time import monotonic

import pytest

from ropewalk.cli.apart import OUT_OF_TIME, first_of
from ropewalk.verify.population.engine.deciding import Deciding
from ropewalk.verify.population.engine.verdict import GaveUp
from ropewalk.verify.population.spec import read_spec
from tests.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples" / "population"
SPEC = """vars idle lock inside rules
idle >= 1, lock >= 1 -> idle' = idle - 1, lock' = lock - 1, inside' = inside + 1;
inside >= 1 -> inside' = inside - 1, lock' = lock + 1, idle' = idle + 1;
init idle >= 1, lock = 1, inside = 0 target inside >= {count}
"""


def test_every_example_is_safe_as_it_stands(ropewalk: Run) -> None:
    files = sorted(EXAMPLES.glob("*.yaml"))
    ran = ropewalk("population", "check", *files, "--json")
    assert ran.code == 0
    summary = ran.document["summary"]
    assert summary["verdict"] == "safe"
    assert {one["file"] for one in summary["patterns"]} == {str(file) for file in files}
    assert all(one["clients"] is None for one in summary["patterns"])


@pytest.mark.parametrize(
    "name", ["alarm", "federation", "leader-election", "lock", "orders", "retained-config"]
)
def test_every_example_is_unsafe_when_publications_may_be_lost(ropewalk: Run, name: str) -> None:
    ran = ropewalk("population", EXAMPLES / f"{name}.yaml", "--semantics", "global", "--json")
    assert ran.code == 1
    summary, [finding] = ran.document["summary"], ran.document["findings"]
    assert summary["verdict"] == "unsafe"
    assert summary["clients"] == sum(finding["witness"]["clients"].values()) > 0
    assert finding["code"] == "N031"
    assert finding["where"]["line"] > 0
    assert len(finding["witness"]["steps"]) == summary["patterns"][0]["steps"]


def test_a_run_is_told_in_the_names_of_the_model(ropewalk: Run) -> None:
    ran = ropewalk("population", "check", EXAMPLES / "lock.yaml", "--semantics", "local")
    assert ran.code == 1
    assert "unsafe with 2 clients (worker: 2)" in " ".join(ran.out.split())
    assert "worker 1 (idle -> looking) subscribes to lock" in ran.out
    assert "two-holders: worker 1 and worker 2 are in holding" in ran.out
    told = ran.out[ran.out.index("tells more") :].splitlines()[1:]
    assert max(map(len, told)) <= 80


def test_nets_of_other_tools_are_decided_too(ropewalk: Run, tmp_path: Path) -> None:
    safe, bad = tmp_path / "safe.spec", tmp_path / "bad.spec"
    safe.write_text(SPEC.format(count=2))
    bad.write_text(SPEC.format(count=1))
    ran = ropewalk("population", "check", safe, bad, "--rival", "--json")
    assert ran.code == 1
    first, second = ran.document["summary"]["patterns"]
    assert (first["verdict"], second["verdict"]) == ("safe", "unsafe")
    assert (first["rival"]["verdict"], second["rival"]["verdict"]) == ("safe", "unsafe")
    assert second["steps"] == 1


def test_evidence_is_written_for_whoever_wants_to_check_it(ropewalk: Run, tmp_path: Path) -> None:
    spec, out = tmp_path / "lock.spec", tmp_path / "evidence.json"
    spec.write_text(SPEC.format(count=2))
    model = EXAMPLES / "lock.yaml"
    ran = ropewalk("population", spec, model, "--semantics", "local", "--evidence", out)
    assert ran.code == 2  # a net has no semantics
    assert not out.exists()
    assert ropewalk("population", spec, "--evidence", out).code == 0
    [found] = json.loads(out.read_text())
    assert found["never_rising"] == [{"lock": 1, "inside": 1}]
    ropewalk("population", model, "--semantics", "local", "--evidence", out)
    [found] = json.loads(out.read_text())
    assert found["verdict"] == "unsafe"
    assert found["start"]
    assert found["steps"]


def test_what_is_not_decided_is_never_called_safe(
    ropewalk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Deciding, "alone", lambda *_: GaveUp("directed search", "no way"))
    spec = tmp_path / "lock.spec"
    spec.write_text(SPEC.format(count=2))
    ran = ropewalk("population", "check", spec, "--json")
    assert ran.code == 3
    assert ran.document["ok"] is False
    assert ran.document["summary"]["verdict"] == "undecided"
    [finding] = ran.document["findings"]
    assert finding["code"] == "N032"
    assert "no way" in finding["message"]
    ran = ropewalk("population", "check", spec)
    assert "could not decide" in " ".join(ran.out.split())


def test_the_net_of_a_model_is_written_for_other_tools(ropewalk: Run, tmp_path: Path) -> None:
    out = tmp_path / "lock.spec"
    ran = ropewalk("population", "net", EXAMPLES / "lock.yaml", "-o", out)
    assert ran.code == 0
    assert read_spec(out.read_text()).moving
    assert ropewalk("population", out).code == 0
    assert ropewalk("population", "net", EXAMPLES / "orders.yaml").code == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.yaml"], "cannot be read"),
        (["none.spec"], "cannot be read"),
        ([EXAMPLES / "lock.yaml", "--bad", "two-holder"], "two-holders"),
        ([EXAMPLES / "lock.yaml", "--semantics", "globl"], "global"),
        ([EXAMPLES / "lock.yaml", "--seconds", "0"], "seconds"),
    ],
)
def test_what_makes_no_sense_is_refused(ropewalk: Run, arguments: list[object], says: str) -> None:
    try:
        ran = ropewalk("population", "check", *arguments)
    except Exception as error:  # what typer itself refuses
        assert says in str(error)
        return
    assert ran.code == 2
    assert says in ran.out + ran.err


def test_faults_of_all_files_are_told_at_once(ropewalk: Run, tmp_path: Path) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.spec"
    one.write_text("population: p\nclients: {}\n")
    other.write_text("vars a rules")
    ran = ropewalk("population", "check", one, other, "--json")
    assert ran.code == 2
    assert {Path(f["where"]["file"]).name for f in ran.document["findings"]} == {
        "one.yaml",
        "other.spec",
    }


def test_the_first_of_some_processes_is_heard_and_the_others_end() -> None:
    def never() -> int:
        while True:
            pass

    def broken() -> int:
        raise MemoryError

    assert first_of([never, lambda: 7], monotonic() + 60) == 7
    assert first_of([never], 0.0) == OUT_OF_TIME
    assert first_of([broken, lambda: 7], monotonic() + 60) == 7
    odd = {"settles": lambda found: found % 2 == 1}
    assert first_of([lambda: 2, lambda: 7], monotonic() + 60, **odd) == 7
    assert first_of([lambda: 2, lambda: 4], monotonic() + 60, **odd) in (2, 4)
    with pytest.raises(MemoryError):
        first_of([broken, broken], monotonic() + 60)
    assert "broke down (exit 3)" in str(first_of([lambda: os._exit(3)], monotonic() + 60))


MODEL = """population: x
messages: [m]
topics: [t]
clients:
  k:
    start: a
    steps:
      - a -> b: {publish: m, on: t}
bad:
  p: {in: b, at_least: 2}
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("start: a", "start: z", [(6, "start 'z' is in no step: use a, b")]),
        ("a -> b:", "a => b:", [(8, "is not one arrow between states")]),
        ("publish: m", "publsh: m", [(8, "'publsh' is not known"), (8, "go together")]),
        ("  k:\n", "  - k:\n", [(4, "clients is no map of kinds")]),
        ("start: a", "start: a\n    count: 5000000", [(7, "at most 10,000, or any")]),
        ("[m]", "[m, m]", [(2, "'m' is written twice in messages")]),
        ("{in: b, at_least: 2}", "{}", [(10, "needs no clients")]),
        ("population: x", "population: [x]", [(1, "the population's name")]),
    ],
)
def test_one_fault_is_told_once(
    ropewalk: Run, tmp_path: Path, old: str, new: str, told: list[tuple[int, str]]
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(MODEL.replace(old, new, 1))
    ran = ropewalk("population", "check", file, "--json")
    assert ran.code == 2
    found = [(one["where"]["line"], one["message"]) for one in ran.document["findings"]]
    assert [line for line, _ in found] == [line for line, _ in told]
    for (_, message), (_, part) in zip(found, told, strict=True):
        assert part in message


def test_a_slip_in_a_command_is_no_file(ropewalk: Run) -> None:
    ran = ropewalk("population", "chek", EXAMPLES / "lock.yaml")
    assert ran.code == 2
    assert "'chek' is no file, and no command" in ran.err
    ran = ropewalk("population", "net", EXAMPLES / "lock.yaml", "--json")
    assert ran.code == 2


def test_nothing_is_decided_if_its_evidence_could_not_be_written(
    ropewalk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropewalk.cli.population.decided", lambda *_, **__: pytest.fail("decided"))
    ran = ropewalk("population", EXAMPLES / "lock.yaml", "--evidence", tmp_path / "no" / "x.json")
    assert ran.code == 2
    assert "there is no folder" in ran.err
