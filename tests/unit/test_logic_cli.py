"""`ropewalk verify` with properties: exit codes, documents and texts."""

from pathlib import Path

import pytest

from ropewalk.verify.logic.library import LIBRARY
from tests.conftest import Run

RETURNS = "F G up(b1) -> F G attached(p1) = b1"
LEAVES = "G (!up(b1) -> F attached(p1) = b2)"
FLIP = """MODULE main
VAR a : boolean;
ASSIGN
  init(a) := TRUE;
  next(a) := !a;
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, ropewalk_once: Run) -> Path:
    folder = tmp_path_factory.mktemp("federations")
    for name in ("three-broker", "six-broker"):
        assert ropewalk_once("generate", name, "-o", folder / f"{name}.yaml").code == 0
    return folder


@pytest.fixture
def three(folder: Path) -> Path:
    return folder / "three-broker.yaml"


@pytest.fixture
def six(folder: Path) -> Path:
    return folder / "six-broker.yaml"


def test_a_property_that_holds_is_exit_0(ropewalk: Run, three: Path) -> None:
    ran = ropewalk("verify", three, "--ltl", RETURNS, "--json")
    assert ran.code == 0
    assert ran.document["ok"] is True
    assert ran.document["findings"] == []
    summary = ran.document["summary"]
    assert (summary["hold"], summary["fail"], summary["undecided"]) == (1, 0, 0)
    (told,) = summary["properties"]
    assert told.items() >= {"formula": RETURNS, "logic": "ltl", "holds": True, "models": 1}.items()


def test_a_property_that_fails_is_exit_1_with_a_path(ropewalk: Run, three: Path) -> None:
    ran = ropewalk("verify", three, "--ltl", LEAVES, "--json")
    assert ran.code == 1
    assert ran.document["ok"] is False
    assert ran.document["summary"]["properties"][0]["holds"] is False
    (finding,) = ran.document["findings"]
    assert (finding["code"], finding["severity"]) == ("Q001", "error")
    assert finding["where"] == {"file": str(three), "line": 0}
    witness = finding["witness"]
    assert witness["steps"][1] == "step 2: b1 fails"
    assert witness["states"][0] == {"colour": "none", "at.p1": "b1"}
    assert 0 <= witness["loop_from"] < len(witness["states"])


def test_a_path_without_a_loop_says_so(ropewalk: Run, three: Path) -> None:
    ran = ropewalk("verify", three, "--ctl", "AG up(b1)", "--json")
    assert ran.code == 1
    witness = ran.document["findings"][0]["witness"]
    assert witness["states"] == [{"colour": "none"}, {"colour": "b1"}]
    assert witness["loop_from"] is None


def test_several_properties_are_all_decided(ropewalk: Run, three: Path) -> None:
    ran = ropewalk(
        "verify", three, "--ltl", RETURNS, "--ltl", LEAVES, "--ctl", "AG EF up(b1)", "--json"
    )
    assert ran.code == 1
    told = ran.document["summary"]["properties"]
    assert [one["holds"] for one in told] == [True, False, True]
    assert [one["logic"] for one in told] == ["ltl", "ltl", "ctl"]
    assert len(ran.document["findings"]) == 1


def test_the_text_tells_verdicts_and_the_path(ropewalk: Run, three: Path) -> None:
    ran = ropewalk("verify", three, "--ltl", RETURNS, "--ltl", LEAVES)
    assert ran.code == 1
    assert ran.out == (
        f"{three}: error Q001: {LEAVES} does not hold: step 1: nothing has failed; p1 is at b1;"
        " step 2: b1 fails; then again from step 1, for ever: b1 recovers\n"
        "1 finding; `ropewalk explain Q001` tells more\n"
        f"holds: {RETURNS}\n"
        f"does not hold: {LEAVES}\n"
    )
    assert ran.err == ""


def test_properties_by_name_show_their_formulas(ropewalk: Run, three: Path) -> None:
    ran = ropewalk("verify", three, "--property", "never-lost", "--property", "no-bounce")
    assert ran.code == 0
    assert ran.out == (
        "holds: never-lost: G at(message) != lost\n"
        "holds: no-bounce: G (bounced(message) -> O hurried)\n"
    )


def test_how_messages_are_sent_is_an_option(ropewalk: Run, six: Path) -> None:
    plain = ropewalk(
        "verify", six, "--property", "no-bounce", "--forwarding", "plain", "--json"
    ).document
    assert plain["summary"]["forwarding"] == "plain"
    assert plain["findings"][0]["witness"]["of"] == "messages from b5 to b1"
    dropped = ropewalk("verify", six, "--property", "never-lost", "--no-resend")
    assert dropped.code == 1
    assert "the message is dropped" in dropped.out
    assert ropewalk("verify", six, "--property", "never-lost", "--resend").code == 0


def test_timing_and_failures_are_options(ropewalk: Run, three: Path) -> None:
    moves = ("verify", three, "--ltl", "G (!up(b1) -> X attached(p1) = b2)")
    one = ("--failures", "brokers=1")
    assert ropewalk(*moves, *one, "--timing", "lockstep").code == 0
    assert ropewalk(*moves, *one, "--timing", "free").code == 1
    assert ropewalk(*moves, "--failures", "brokers=2", "--timing", "lockstep").code == 1
    assert ropewalk("verify", three, "--ltl", "G up(b1)", "--failures", "none").code == 0
    assert ropewalk(*moves, "--timing", "slow").code == 2


def test_all_pairs_are_more_than_those_of_topics(ropewalk: Run, three: Path) -> None:
    arrives = ("verify", three, "--property", "arrives", "--failures", "b1--b2", "--json")
    assert ropewalk(*arrives).code == 0
    every = ropewalk(*arrives, "--pairs", "all")
    assert every.code == 1
    assert every.document["findings"][0]["witness"]["of"] == "messages from b2 to b1"


def test_texts_that_are_no_formulas_are_exit_2_each_with_its_column(
    ropewalk: Run, three: Path
) -> None:
    ran = ropewalk("verify", three, "--ltl", "G (up(b1", "--ctl", "AG", "--json")
    assert ran.code == 2
    assert ran.document["ok"] is False
    first, second = ran.document["findings"]
    assert (first["code"], second["code"]) == ("Q003", "Q003")
    assert first["where"]["file"] == "--ltl"
    assert first["witness"] == {"column": 9, "text": "G (up(b1"}
    assert second["message"] == "column 3: an operand is expected, not the end: AG>>>"


@pytest.mark.parametrize(
    ("option", "text", "column", "says"),
    [
        ("--ltl", "G up(b11)", 3, "no broker is called 'b11': did you mean 'b1'?"),
        ("--ltl", "AG up(b1)", 1, "the operators are of CTL, not LTL"),
        ("--ctl", "G up(b1)", 1, "the operators are of LTL, not CTL"),
        ("--ltl", "attached(p1) = bb2", 16, "did you mean 'b2'?"),
        ("--ltl", "connected(b1)", 1, "write connected(BROKER, BROKER)"),
    ],
)
def test_a_formula_about_nothing_is_exit_2(
    ropewalk: Run, three: Path, option: str, text: str, column: int, says: str
) -> None:
    ran = ropewalk("verify", three, option, text, "--json")
    assert ran.code == 2
    (finding,) = ran.document["findings"]
    assert finding["code"] == "Q003"
    assert finding["witness"]["column"] == column
    assert says in finding["message"]


def test_the_text_marks_where_a_formula_goes_wrong(ropewalk: Run, three: Path) -> None:
    ran = ropewalk("verify", three, "--ltl", "G up(b11)")
    assert ran.code == 2
    assert "--ltl: error Q003: column 3: no broker is called 'b11'" in ran.out
    assert "G >>>up(b11)" in ran.out


def test_an_unknown_property_lists_all_names(ropewalk: Run, three: Path) -> None:
    ran = ropewalk("verify", three, "--property", "no-bouncing")
    assert ran.code == 2
    assert "no property is called 'no-bouncing'" in ran.err
    assert all(f"{name}: {one.says}" in ran.err for name, one in LIBRARY.items())


def test_a_budget_that_is_used_up_is_exit_3(ropewalk: Run, three: Path) -> None:
    ran = ropewalk("verify", three, "--ltl", RETURNS, "--budget", 0, "--json")
    assert ran.code == 3
    assert ran.document["ok"] is False
    (told,) = ran.document["summary"]["properties"]
    assert (told["holds"], told["reason"]) == (None, "out of time")
    (finding,) = ran.document["findings"]
    assert (finding["code"], finding["severity"]) == ("Q002", "warning")


def test_too_few_nodes_are_exit_3(ropewalk: Run, six: Path) -> None:
    ran = ropewalk("verify", six, "--property", "never-lost", "--nodes", 1, "--json")
    assert ran.code == 3
    assert ran.document["ok"] is False
    assert ran.document["summary"]["properties"][0]["holds"] is None
    assert ran.document["summary"]["undecided"] == 1
    assert "more than 1 nodes" in ran.document["findings"][0]["message"]
    text = ropewalk("verify", six, "--property", "never-lost", "--nodes", 1)
    assert text.code == 3
    assert text.out.endswith("not decided: never-lost: G at(message) != lost\n")


def test_a_failure_outweighs_what_was_not_decided(ropewalk: Run, six: Path) -> None:
    ran = ropewalk(
        "verify", six, "--ltl", "G up(b1)", "--property", "never-lost", "--nodes", 1, "--json"
    )
    assert ran.code == 1
    assert [one["holds"] for one in ran.document["summary"]["properties"]] == [False, None]


def test_a_file_of_sections_is_read_with_its_lines(
    ropewalk: Run, three: Path, tmp_path: Path
) -> None:
    spec = tmp_path / "p.spec"
    spec.write_text(
        "-- what must hold\n"
        "LTLSPEC NAME back := F G up(b1) ->\n  F G attached(p1) = b1;\n\n"
        "CTLSPEC AG up(b1)\nSPEC AG EF up(b1);\nINVARSPEC up(b1) | up(b2)\n"
    )
    ran = ropewalk("verify", three, "--spec", spec, "--json")
    assert ran.code == 1
    told = ran.document["summary"]["properties"]
    assert [one["logic"] for one in told] == ["ltl", "ctl", "ctl", "invariant"]
    assert [one["holds"] for one in told] == [True, False, True, True]
    (finding,) = ran.document["findings"]
    assert finding["where"] == {"file": str(spec), "line": 5}


def test_a_file_of_lines_is_a_formula_in_each(ropewalk: Run, three: Path, tmp_path: Path) -> None:
    spec = tmp_path / "p.txt"
    spec.write_text(f"-- two logics\n{RETURNS};\n\nAG up(b2)  -- it may fail\n")
    ran = ropewalk("verify", three, "--spec", spec, "--json")
    assert ran.code == 1
    told = ran.document["summary"]["properties"]
    assert [(one["logic"], one["holds"]) for one in told] == [("ltl", True), ("ctl", False)]
    assert told[1]["formula"] == "AG up(b2)"
    assert ran.document["findings"][0]["where"] == {"file": str(spec), "line": 4}
    assert (
        f"{spec}:4: error Q001: AG up(b2) does not hold"
        in ropewalk("verify", three, "--spec", spec).out
    )


def test_faults_of_a_file_are_told_all_at_once_with_their_lines(
    ropewalk: Run, three: Path, tmp_path: Path
) -> None:
    spec = tmp_path / "p.txt"
    spec.write_text("G up(b1)\n\nG (up(b2)\nAG F up(b1)\n")
    ran = ropewalk("verify", three, "--spec", spec, "--json")
    assert ran.code == 2
    found = [(one["code"], one["where"]["line"]) for one in ran.document["findings"]]
    assert found == [("Q003", 3), ("Q003", 4)]


def test_a_file_that_is_missing_or_says_nothing_is_exit_2(
    ropewalk: Run, three: Path, tmp_path: Path
) -> None:
    missing = ropewalk("verify", three, "--spec", tmp_path / "none.spec")
    assert missing.code == 2
    assert "none.spec: no such file or directory" in missing.err
    empty = tmp_path / "empty.spec"
    empty.write_text("-- nothing yet\n")
    assert ropewalk("verify", three, "--spec", empty).code == 2
    odd = tmp_path / "odd.spec"
    odd.write_text("up(b1)\nLTLSPEC G up(b1)\n")
    ran = ropewalk("verify", three, "--spec", odd)
    assert ran.code == 2
    assert "stands before the first SPEC" in ran.err


def test_a_model_in_smv_is_decided_with_its_own_properties(ropewalk: Run, tmp_path: Path) -> None:
    model = tmp_path / "flip.smv"
    model.write_text(f"{FLIP}LTLSPEC G F a\nSPEC AG a\n")
    ran = ropewalk("verify", model, "--json")
    assert ran.code == 1
    told = ran.document["summary"]["properties"]
    assert [(one["formula"], one["holds"]) for one in told] == [("G F a", True), ("AG a", False)]
    (finding,) = ran.document["findings"]
    assert finding["code"] == "Q001"
    assert finding["witness"]["states"] == [{"a": True}, {"a": False}]
    assert "does not hold: AG a" in ropewalk("verify", model).out


def test_a_model_whose_properties_all_hold_is_exit_0(ropewalk: Run, tmp_path: Path) -> None:
    model = tmp_path / "flip.smv"
    model.write_text(f"{FLIP}LTLSPEC G F a\n")
    ran = ropewalk("verify", model, "--ctl", "AG (a -> AX !a)")
    assert (ran.code, ran.out) == (0, "holds: G F a\nholds: AG (a -> AX !a)\n")


def test_a_model_with_faults_is_exit_2_with_their_lines(ropewalk: Run, tmp_path: Path) -> None:
    model = tmp_path / "odd.smv"
    model.write_text(FLIP.replace("TRUE", "b").replace("!a", "!c"))
    ran = ropewalk("verify", model, "--json")
    assert ran.code == 2
    found = {(one["code"], one["where"]["line"]) for one in ran.document["findings"]}
    assert found == {("Q005", 4), ("Q005", 5)}
    assert {one["where"]["file"] for one in ran.document["findings"]} == {str(model)}


def test_a_model_without_properties_and_one_that_is_missing_are_exit_2(
    ropewalk: Run, tmp_path: Path
) -> None:
    model = tmp_path / "flip.smv"
    model.write_text(FLIP)
    ran = ropewalk("verify", model)
    assert ran.code == 2
    assert "no property is asked after: add SPEC, or --ltl FORMULA" in ran.err
    assert ropewalk("verify", tmp_path / "none.smv").code == 2
    named = ropewalk("verify", model, "--property", "never-lost")
    assert named.code == 2
    assert "--property is of federations" in named.err


@pytest.mark.parametrize(
    "other", [("--fix",), ("--strict",), ("--most-hops", "3"), ("-o", "out.yaml")]
)
def test_properties_do_not_go_with_what_is_for_tables(
    ropewalk: Run, three: Path, other: tuple[str, ...]
) -> None:
    ran = ropewalk("verify", three, "--ltl", "G up(b1)", *other)
    assert ran.code == 2
    assert "properties go with --failures, --pairs, --table, --budget only" in ran.err


def test_failures_of_properties_get_into_reports(
    ropewalk: Run, three: Path, tmp_path: Path
) -> None:
    sarif = tmp_path / "r.sarif"
    assert ropewalk("verify", three, "--ltl", LEAVES, "--sarif", sarif).code == 1
    assert '"Q001"' in sarif.read_text()


@pytest.mark.parametrize("code", ["Q001", "Q002", "Q003", "Q005"])
def test_every_code_is_explained(ropewalk: Run, code: str) -> None:
    ran = ropewalk("explain", code)
    assert ran.code == 0
    assert code in ran.out


@pytest.mark.parametrize(("section", "code"), [("IVAR", 0), ("VAR", 1)])
def test_ctl_looks_for_one_among_all_inputs(
    ropewalk: Run, tmp_path: Path, section: str, code: int
) -> None:
    """As a state's own, an input that is false already would rule the step out."""
    model = tmp_path / "input.smv"
    model.write_text(
        f"MODULE main\nVAR x : 0..1;\n{section} i : boolean;\n"
        "ASSIGN init(x) := 0; next(x) := i ? 1 : x;\nCTLSPEC EX x = 1\nLTLSPEC G (x = 0 -> !(X x = 2))"
    )
    assert ropewalk("verify", model).code == code
