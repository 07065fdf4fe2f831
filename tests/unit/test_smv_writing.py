"""Writing SMV: sections, names that NuSMV takes, and what it has no operators for."""

import numpy as np
import pytest

from ropewalk.verify.logic.model import Model, Spec
from ropewalk.verify.logic.parsing import parse
from ropewalk.verify.logic.syntax import (
    TRUE,
    Atom,
    Case,
    Const,
    Expr,
    Lookup,
    Name,
    OneOf,
    Op,
    Value,
    equals,
)
from ropewalk.verify.smv import read_smv, smv_text


def formula(expr: Expr) -> str:
    """How an expression over a, b and c is written."""
    text = smv_text(Model(dict.fromkeys("abc", (False, True)), starts=(expr,)))
    return text.split("INIT ")[1].removesuffix(";\n")


def test_a_model_is_written_section_by_section() -> None:
    model = Model(
        {"up": (False, True), "at": (1, 2, 3), "state": ("idle", "busy", 4), "n": (1, 3), "kept": (0, 1)},
        init={"up": TRUE, "kept": Const(1)},
        next={"at": OneOf((Const(1), Const(3)))},
        always={"n": Const(3)},
        defines={"well": parse("up & at != 2")},
        starts=(parse("at = 1"),),
        invar=(equals("state", "idle"),),
        trans=(parse("next(at) != at"),),
        fair=(Name("well"),),
        compassion=((Name("up"), Name("well")),),
        frozen=frozenset({"kept"}),
        specs=(
            Spec("ctl", parse("AG up"), name="stays"),
            Spec("ctl", parse("AG up"), name="stays"),
            Spec("ltl", parse("G up"), name="it stays"),
            Spec("invariant", parse("up")),
        ),
        labels={"at": "where the\nmessage is"},
    )  # fmt: skip
    assert smv_text(model, comments=["made for", "a test\nof two lines"]) == (
        "-- made for\n"
        "-- a test\n"
        "-- of two lines\n"
        "-- at: where the message is\n"
        "MODULE main\n"
        "VAR\n"
        "  up : boolean;\n"
        "  at : 1..3;\n"
        "  state : {idle, busy, 4};\n"
        "  n : {1, 3};\n"
        "FROZENVAR\n"
        "  kept : 0..1;\n"
        "DEFINE\n"
        "  well := up & (at != 2);\n"
        "ASSIGN\n"
        "  init(up) := TRUE;\n"
        "  init(kept) := 1;\n"
        "  next(at) := {1, 3};\n"
        "  n := 3;\n"
        "INIT at = 1;\n"
        "INVAR state = idle;\n"
        "TRANS next(at) != at;\n"
        "JUSTICE well;\n"
        "COMPASSION(up, well);\n"
        "CTLSPEC NAME stays := AG up;\n"
        "-- stays\n"
        "CTLSPEC AG up;\n"
        "-- it stays\n"
        "LTLSPEC G up;\n"
        "INVARSPEC up;\n"
    )


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("lon-gw", "lon_gw"),
        ("lon gw", "lon_gw"),
        ("b1.state", "b1_state"),
        ("a/b", "a_b"),
        ("2nd", "v_2nd"),
        ("next", "v_next"),
        ("A", "v_A"),
        ("process", "v_process"),
        ("self", "v_self"),
        ("and", "v_and"),
        ("", "v_"),
        ("zürich", "z_rich"),
    ],
)
def test_a_name_that_nusmv_refuses_gets_another(name: str, spelled: str) -> None:
    text = smv_text(Model({name: (False, True)}, starts=(Name(name),)))
    assert text.startswith(f"-- {spelled} is {name}\nMODULE main")
    assert f"INIT {spelled};" in text


def test_names_that_would_be_the_same_are_told_apart() -> None:
    model = Model({"a-b": ("a_b", "a b"), "a_b": ("a-b", "up"), "up": (False, True)})
    assert smv_text(model).splitlines() == [
        "-- a_b_2 is a-b",
        "-- a_b_3 is a b",
        "-- a_b_4 is a-b",
        "-- a_b_5 is a_b",
        "-- up_2 is up",
        "MODULE main",
        "VAR",
        "  a_b_2 : {a_b_5, a_b_3};",
        "  a_b : {a_b_4, up_2};",
        "  up : boolean;",
    ]


def test_a_word_of_several_domains_is_one_word() -> None:
    text = smv_text(Model({"x": ("on", "off"), "y": ("off", "on")}))
    assert "x : {on, off};\n  y : {off, on};" in text


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("a W b", "(G a) | (a U b)"),
        ("a R b", "a V b"),
        ("a AU b", "A [a U b]"),
        ("E [a | b U !c]", "E [(a | b) U (!c)]"),
        ("a ? b : c", "case a : b; TRUE : c; esac"),
        ("a & b & c", "a & b & c"),
        ("a & (b & c)", "a & (b & c)"),
        ("a -> b -> c", "a -> (b -> c)"),
        ("G a -> X X b", "(G a) -> (X (X b))"),
        ("!a = b", "(!a) = b"),
        ("!(a = b)", "!(a = b)"),
        ("a xor b <-> c", "(a xor b) <-> c"),
        ("a S b T c", "(a S b) T c"),
        ("a in {TRUE, FALSE}", "a in {TRUE, FALSE}"),
    ],
)
def test_operators_are_written_as_nusmv_reads_them(given: str, written: str) -> None:
    assert formula(parse(given)) == written


def test_sums_keep_their_signs_apart() -> None:
    assert formula(Op("-", (Const(1), Const(-2)))) == "1 - (-2)"
    assert formula(Op("neg", (Op("neg", (Const(3),)),))) == "-(-3)"


def test_a_choice_by_operator_is_a_case() -> None:
    assert formula(Op("?", (Name("a"), Name("b"), Name("c")))) == "case a : b; TRUE : c; esac"


def test_a_table_is_a_row_for_each_entry_that_is_not_as_most_are() -> None:
    domains: dict[str, tuple[Value, ...]] = {"x": (1, 2), "y": ("on", "off"), "z": (0, 5, 7)}
    table = Lookup((Name("x"), Name("y")), np.array([[2, 2], [0, 2]]), (0, 5, 7))
    moves = Case(((equals("x", 1), Name("z")), (TRUE, table)))
    text = smv_text(Model(domains, init={"z": table}, next={"z": moves}))
    rows = "      x = 2 & y = on : 0;\n      TRUE : 7;\n    esac;\n"
    assert f"  init(z) := case\n{rows}" in text
    assert f"  next(z) := case\n      x = 1 : z;\n{rows}" in text


def test_a_table_of_one_entry_is_its_value() -> None:
    assert formula(Lookup((), np.array(1), (False, True))) == "TRUE"


def test_a_frozen_variable_with_rules_keeps_them_and_its_value() -> None:
    model = Model({"x": (0, 1)}, always={"x": Const(1)}, frozen=frozenset({"x"}))
    assert smv_text(model).endswith("VAR\n  x : 0..1;\nASSIGN\n  x := 1;\nTRANS next(x) = x;\n")


@pytest.mark.parametrize("bad", [Atom("up", ("b1",)), OneOf(()), Name("nobody")])
def test_what_has_no_form_in_smv_is_refused(bad: Expr) -> None:
    with pytest.raises(ValueError, match=r"no form in SMV|no variable and no definition"):
        formula(bad)


def test_a_deep_formula_is_written() -> None:
    assert formula(parse("F [0,1000] a")).count("X") == 1000


def test_a_large_table_comes_back_as_it_was() -> None:
    table = np.random.default_rng(1).integers(0, 41, (41, 40))
    domains = {"loc": tuple(range(41)), "dest": tuple(range(1, 41))}
    told = Lookup((Name("loc"), Name("dest")), table, tuple(range(41)))
    model = read_smv(smv_text(Model(domains, next={"loc": told})), "m.smv")
    found = model.next["loc"]
    assert isinstance(found, Case)
    ((_, back),) = found.branches
    assert isinstance(back, Lookup)
    assert (np.array(back.domain)[back.table] == table).all()
