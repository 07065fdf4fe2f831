"""`ropewalk protocol`: verdicts, exit codes, experiments, faults."""

from pathlib import Path

import pytest

from ropewalk.protocol import automaton
from ropewalk.protocol.realize.verdict import realizability
from tests.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples" / "protocols"


@pytest.mark.parametrize(
    ("name", "over", "code"),
    [
        ("figure-4-left", "fifo", 0),
        ("figure-3", "fifo", 0),
        ("figure-3", "unordered", 1),
        ("figure-3", "messenger", 0),
        ("figure-1", "fifo", 1),
        ("figure-1", "messenger", 1),
        ("figure-5", "fifo", 1),
        ("figure-5", "messenger", 0),
        ("rosettanet", "messenger", 1),
        ("escrow", "fifo", 0),
    ],
)
def test_the_exit_code_is_about_the_transport_asked_for(
    ropewalk: Run, name: str, over: str, code: int
) -> None:
    ran = ropewalk("protocol", "check", EXAMPLES / f"{name}.yaml", "--over", over)
    assert ran.code == code
    assert max(map(len, ran.out.splitlines()[1:])) <= 120


def test_the_document_has_the_verdict_and_the_run(ropewalk: Run) -> None:
    document = ropewalk("protocol", "check", EXAMPLES / "figure-1.yaml", "--json").document
    assert document["summary"]["verdict"] == "safe-with-messenger-may-abort"
    assert document["summary"]["both_may_speak"] == "1"
    [finding] = document["findings"]
    assert finding["code"] == "P022"
    assert finding["witness"]["trace"] == ["a", "b", "c"]
    assert finding["witness"]["views"]["B"]["way"] == ["says b", "hears a", "says c"]


def test_a_deadline_that_crosses_is_heard_by_nobody() -> None:
    late = automaton(
        "{protocol: late, initial: s, accepting: [x, y], messages: {A -> B: a, B -> A: c},"
        " transitions: [s -> t: a, s -> u: {timeout_s: 5, at: B}, t -> x: {timeout_s: 5, at: B},"
        " u -> y: a, x -> x: c, y -> y: c]}"
    )
    run = realizability(late).messenger.run
    assert run is not None
    assert run.steps() == ["A says a", "B times out", "B hears a"]
    assert run.witness()["views"]["A"] == {"way": ["says a"], "believes": ["t"]}


def test_what_cannot_be_decided_is_exit_3(ropewalk: Run, tmp_path: Path) -> None:
    """A may ping for ever, so channels fill; v and w are alike, and no condition sees that."""
    path = tmp_path / "p.yaml"
    path.write_text(
        "protocol: p\nmessages: {A -> B: [ping, a], C -> B: c, B -> A: b}\ninitial: s\n"
        "accepting: [x]\ntransitions:\n  - s -> s: ping\n  - u -> u: ping\n  - s -> t: a\n"
        "  - s -> u: c\n  - t -> v: c\n  - u -> w: a\n  - v -> x: b\n  - w -> x: b\n"
    )
    ran = ropewalk("protocol", "check", path, "--bound", "2", "--json")
    assert ran.code == 3
    assert ran.document["ok"] is False
    assert ran.document["summary"]["verdict"] == "unknown"
    assert ran.document["summary"]["unmet"]
    said = ropewalk("protocol", "check", path, "--bound", "2").out
    assert "Unknown (bound 2 explored)." in said


def test_figure_6_is_one_command(ropewalk: Run) -> None:
    ran = ropewalk(
        "protocol", "simulate", EXAMPLES / "figure-6.yaml", "--sent", "a,b,d", "--arrive", "b,d,a",
        "--rival", "strict",
    )  # fmt: skip
    assert ran.code == 0
    assert "horizon      0.67" in ran.out
    assert "strict       2.00" in ran.out


def test_an_experiment_names_every_rule(ropewalk: Run) -> None:
    ran = ropewalk(
        "protocol", "simulate", EXAMPLES / "netconf.yaml", "--traces", "50", "--rival", "f2",
        "--rival", "strict", "--shuffle", "exp=2", "--json",
    )  # fmt: skip
    summary = ran.document["summary"]
    assert list(summary) == ["horizon", "f2", "strict"]
    assert summary["horizon"]["stuck"] == 0
    assert summary["horizon"]["wait"] <= summary["strict"]["wait"]


def test_guarded_messages_and_rare_ones_are_simulated(ropewalk: Run) -> None:
    ran = ropewalk("protocol", "simulate", EXAMPLES / "order-entry.yaml", "--rival", "f2")
    assert ran.code == 0
    rare = ("--every", "1000000", "--shuffle", "exp=1000000", "--traces", "20")
    assert ropewalk("protocol", "simulate", EXAMPLES / "netconf.yaml", *rare).code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--shuffle", "some"], "write all, delay=LOW..HIGH or exp=MEAN"),
        (["--shuffle", "delay=5..1"], "1 is below 5"),
        (["--shuffle", "delay=0.." + "9" * 400], "a delay is above"),
        (["--rival", "f9"], "'f9' is no rule"),
        (["--sent", "a,b"], "--sent and --arrive go together"),
        (["--sent", "a,b", "--arrive", "a,d"], "these are not the messages of --sent"),
        (["--sent", "d,a", "--arrive", "a,d"], "does not allow these in this order"),
        (["--sent", "z", "--arrive", "z"], "has no message 'z'"),
    ],
)
def test_wrong_options_are_told(ropewalk: Run, options: list[str], said: str) -> None:
    ran = ropewalk("protocol", "simulate", EXAMPLES / "figure-6.yaml", *options)
    assert ran.code == 2
    assert said in ran.err


def test_faults_of_the_file_are_told_with_their_lines(ropewalk: Run, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "protocol: p\nroles: [A, B]\nmessages: {A -> C: a}\ninitial: s\naccepting: [t]\n"
        "transitions:\n  - s -> t: a\n  - s -> u: a\n  - v -> w: b\n"
    )
    ran = ropewalk("protocol", "check", path)
    assert ran.code == 2
    assert f"{path}:3: error P007: no role is called 'C': use A, B" in ran.out
    assert f"{path}:8: error P009: 'a' leads from 's' to 'u', and in line 7 to 't'" in ran.out
    assert f"{path}:9: error P008: nobody says 'b'" in ran.out


def test_a_protocol_without_roles_cannot_be_checked(ropewalk: Run, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("{protocol: p, initial: a, accepting: [b], transitions: [a -> b: m]}")
    ran = ropewalk("protocol", "check", path)
    assert ran.code == 2
    assert "write messages: {A -> B: [NAME]}" in ran.err
