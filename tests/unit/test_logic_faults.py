"""Slips that properties once fell for."""

import contextlib
import pickle
from pathlib import Path

import pytest

from ropewalk.federation.facts import Broker, Client, Federation, Link, Topic
from ropewalk.federation.generators import generate
from ropewalk.verify.logic.answering import answer
from ropewalk.verify.logic.lexing import FormulaError
from ropewalk.verify.logic.library import named, question
from ropewalk.verify.logic.parsing import parse
from ropewalk.verify.logic.stepping import Budget
from ropewalk.verify.logic.world import world_of
from tests.conftest import Run

THREE = generate("three-broker")
FLIP = "MODULE main\nVAR a : boolean;\nASSIGN next(a) := !a;\n"


@pytest.fixture
def three(ropewalk: Run, tmp_path: Path) -> Path:
    file = tmp_path / "three.yaml"
    assert ropewalk("generate", "three-broker", "-o", file).code == 0
    return file


def holds(text: str, of: Federation = THREE, failures: list[str] | None = None) -> bool | None:
    return answer(question(text), world_of(of, failures), Budget()).holds


def pair(publisher: str | Client, subscriber: str | Client) -> Federation:
    return Federation(
        name="pair",
        brokers={name: Broker() for name in "abc"},
        links=(Link(between=("a", "b")),),
        topics={"t": Topic(publishers=(publisher,), subscribers=(subscriber,))},
    )


def test_a_formula_error_survives_a_process() -> None:
    assert pickle.loads(pickle.dumps(FormulaError("what", 3, "abcdef"))).column == 4


@pytest.mark.parametrize("text", ["G attached(p1)", "G (up(b1) & 3)", "F delivered(topic1, b2)"])
def test_what_only_the_checker_finds_out_is_exit_2(ropewalk: Run, three: Path, text: str) -> None:
    assert ropewalk("verify", three, "--ltl", text).code == 2


def test_a_name_that_a_model_lacks_is_exit_2(ropewalk: Run, tmp_path: Path) -> None:
    model = tmp_path / "flip.smv"
    model.write_text(FLIP)
    assert ropewalk("verify", model, "--ltl", "G b").code == 2


def test_a_link_in_a_file_is_no_comment(ropewalk: Run, three: Path, tmp_path: Path) -> None:
    spec = tmp_path / "p.spec"
    spec.write_text("EF !up(b1--b2)\n")
    assert ropewalk("verify", three, "--spec", spec).code == 0


def test_a_long_span_is_no_crash(ropewalk: Run, three: Path) -> None:
    assert ropewalk("verify", three, "--ltl", "F [0,300] up(b1)").code == 0


def test_all_unknown_names_are_told_at_once(ropewalk: Run, three: Path) -> None:
    ran = ropewalk("verify", three, "--ltl", "G up(b11)", "--ltl", "G up(b22)", "--json")
    assert len(ran.document["findings"]) == 2


@pytest.mark.parametrize(("text", "verdict"), [("G steady", False), ("EF hurried", True)])
def test_failures_are_changes_even_if_nothing_else_is_asked(text: str, verdict: bool) -> None:
    assert holds(text) is verdict


def test_next_of_an_atom_is_refused_or_meant() -> None:
    with contextlib.suppress(FormulaError):
        assert holds("G (up(b1) -> next(up(b1)))") is False


def test_not_equal_to_a_set_is_not_in_it() -> None:
    with contextlib.suppress(FormulaError):
        assert holds("attached(p1) != {b1}") is False


def test_brokers_without_a_path_are_not_connected() -> None:
    text = "F delivered(message) & connected(a, c)"
    assert holds(text, pair("a", "b"), ["none"]) is False


def test_a_client_may_have_a_colon_in_its_name() -> None:
    of = pair(Client(broker="a", client="app:1"), "b")
    assert holds("attached(app:1) = a", of) is True


def test_clients_with_signs_in_their_names_have_properties_by_name() -> None:
    of = pair(Client(broker="a", client="feed(1)"), "b")
    assert named("returns-after-recovery", world_of(of))


def test_a_number_that_is_no_broker_is_pointed_at() -> None:
    text = "attached(p1) = 3"
    with pytest.raises(FormulaError) as caught:
        answer(question(text), world_of(THREE), Budget())
    assert caught.value.column == text.index("3") + 1


def test_a_failure_of_a_link_needs_no_quotes_or_says_so() -> None:
    text = "EF colour = b1--b2"
    try:
        assert holds(text) is True
    except FormulaError as error:
        assert '"' in error.message
    assert parse(text)


def test_clients_without_a_name_publish_and_subscribe() -> None:
    text = "publishes(publisher:b1, A) & subscribed(subscriber:b2, A) & !publishes(publisher:b2, A)"
    assert holds(text, generate("six-broker"), ["none"]) is True


def test_a_fault_that_is_found_late_is_told_of_its_own_formula(ropewalk: Run, three: Path) -> None:
    late = "F delivered(topic1, b2)"
    ran = ropewalk("verify", three, "--ltl", "G TRUE", "--ltl", late, "--json")
    assert ran.code == 2
    assert [one["witness"]["text"] for one in ran.document["findings"]] == [late]
