"""Reading SMV: what hand-written models use, and what every fault says, with its line."""

import pytest

from ropewalk.errors import SmvError
from ropewalk.verify.logic.model import Model
from ropewalk.verify.logic.parsing import parse
from ropewalk.verify.logic.syntax import (
    FALSE,
    TRUE,
    Case,
    Const,
    Expr,
    Lookup,
    Name,
    OneOf,
    Op,
    equals,
    names_in,
)
from ropewalk.verify.smv import read_smv

THREE_BROKERS = """
-- three brokers, a publisher and a subscriber, in modules
MODULE broker(neighbour, failing)
VAR
  state : {up, down};
  queue : 0..2;
IVAR
  knock : Boolean;
DEFINE
  serves := state = up & queue < limit;
  limit := 2;
ASSIGN
  init(state) := up;
  next(state) := case
      failing & state = up : {up, down};
      state = down : up;
      1 : state;
    esac;
  init(queue) := 0;
  next(queue) := case
      state = down : 0;
      neighbour.serves & knock & queue < 2 : queue + 1;
      queue > 0 : queue - 1;
      TRUE : queue;
    esac;
FAIRNESS state = up

MODULE publisher(home, second)
VAR at : {first, other};
ASSIGN
  init(at) := first;
  next(at) := home.state = up ? first : (second.state = up ? other : at);
SPEC AG (at = other -> EF at = first)

MODULE subscriber(home)
DEFINE fed := home.serves;

MODULE main
VAR
  b1 : broker(b2, TRUE);
  b2 : broker(b3, FALSE);
  b3 : broker(b1, b1.state = down);
  pub : publisher(b1, b2);
  sub : subscriber(b3);
LTLSPEC NAME fed_again := G F sub.fed;
SPEC AG (b1.state = down -> AF b1.state = up) -- it comes back
INVARSPEC b1.queue <= 2;
COMPASSION (b1.knock, b1.serves)
"""


def main(body: str) -> Model:
    return read_smv(f"MODULE main\n{body}", "m.smv")


def faults(text: str) -> list[str]:
    with pytest.raises(SmvError) as caught:
        read_smv(text, "m.smv")
    return [str(one) for one in caught.value.findings]


def test_the_modules_of_three_brokers_are_flattened() -> None:
    model = read_smv(THREE_BROKERS, "three.smv")
    assert model.domains["b1.state"] == ("up", "down")
    assert model.domains["b3.knock"] == (False, True)
    assert [name for name in model.domains if name.startswith("pub")] == ["pub.at"]
    assert names_in(model.next["b1.queue"]) >= {"b2.serves", "b1.queue", "b1.state"}
    assert model.defines["sub.fed"] == Name("b3.serves")
    moves = model.next["b2.state"]
    assert isinstance(moves, Case)
    assert moves.branches[0][0] == Op("&", (FALSE, equals("b2.state", "up")))
    assert moves.branches[2] == (TRUE, Name("b2.state"))
    assert len(model.fair) == 3
    assert model.compassion == ((Name("b1.knock"), Name("b1.serves")),)
    kinds = [(spec.kind, spec.name, spec.text) for spec in model.specs]
    assert kinds == [
        ("ltl", "fed_again", "G F sub.fed"),
        ("ctl", "", "AG (b1.state = down -> AF b1.state = up)"),
        ("invariant", "", "b1.queue <= 2"),
        ("ctl", "", "AG (at = other -> EF at = first)"),
    ]


def test_an_expression_given_to_a_module_is_put_in_its_place() -> None:
    model = read_smv(
        "MODULE m(p, q)\nVAR v : boolean;\nTRANS next(p) -> q = 3\nASSIGN next(q) := 1;\n"
        "MODULE main\nVAR x : 0..3; y : m(x = 1 | x = 2, x);",
        "m.smv",
    )
    assert model.trans == (parse("next(x) = 1 | next(x) = 2 -> x = 3"),)
    assert model.next == {"x": Const(1)}


def test_every_type_has_its_values() -> None:
    model = main(
        "VAR a : boolean; b : -1..1; c : {on, 3, TRUE}; d : array 0..1 of array 2..3 of {x};"
    )
    assert model.domains == {
        "a": (False, True),
        "b": (-1, 0, 1),
        "c": ("on", 3, True),
        "d[0][2]": ("x",),
        "d[0][3]": ("x",),
        "d[1][2]": ("x",),
        "d[1][3]": ("x",),
    }


def test_arrays_are_assigned_and_read_by_their_numbers() -> None:
    model = main(
        "VAR q : array 0..1 of 0..3; ASSIGN init(q[0]) := 2; next(q[1]) := q[0];\nINIT q[1] = 3"
    )
    assert model.init == {"q[0]": Const(2)}
    assert model.next == {"q[1]": Name("q[0]")}
    assert model.starts == (equals("q[1]", 3),)


def test_sections_may_be_repeated_and_semicolons_left_out() -> None:
    model = main(
        "VAR x : 0..3;\nASSIGN init(x) := 0;\nINIT x = 0\nINVAR x < 3;\nASSIGN next(x) := d;\n"
        "DEFINE d := e; e := 1;\nTRANS next(x) != 2\nJUSTICE x = 1\nFROZENVAR f : boolean;\n"
        "SPEC AG x = 0\nCTLSPEC EF x = 1;\nLTLSPEC F x = 1"
    )
    assert model.starts == (equals("x", 0),)
    assert model.next == {"x": Name("d")}
    assert model.defines == {"d": Name("e"), "e": Const(1)}
    assert model.frozen == {"f"}
    assert [spec.text for spec in model.specs] == ["AG x = 0", "EF x = 1", "F x = 1"]


def test_comments_of_both_kinds_are_passed_over() -> None:
    model = main(
        "-- VAR y : boolean;\n/-- VAR z\n : boolean; --/ VAR x : boolean;-- end\nSPEC x -- it is"
    )
    assert list(model.domains) == ["x"]
    assert model.specs[0].text == "x"


def test_one_and_nought_are_truths_where_truths_are_needed() -> None:
    model = main(
        "VAR b : boolean; n : 0..1; ASSIGN init(b) := 0; next(b) := case 0 : {0, 1}; 1 : b; esac;\nINIT b = 1 & n = 1"
    )
    assert model.init["b"] == FALSE
    assert model.next["b"] == Case(((FALSE, OneOf((FALSE, TRUE))), (TRUE, Name("b"))))
    assert model.starts == (Op("&", (equals("b", True), equals("n", 1))),)


def test_columns_in_a_specification_are_those_of_its_text() -> None:
    (spec,) = main("VAR p : boolean;\nLTLSPEC NAME one := G (p -> X p)").specs
    assert isinstance(spec.formula, Op)
    assert spec.text[spec.formula.column] == "G"
    (inner,) = spec.formula.args
    assert isinstance(inner, Op)
    assert spec.text[inner.column : inner.column + 2] == "->"


def test_words_of_constants_are_values() -> None:
    assert main("CONSTANTS idle, busy; VAR x : {idle};\nINIT x != busy").starts == (
        Op("!=", (Name("x"), Const("busy"))),
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("count(a, b) = 1", "(case a : 1; TRUE : 0; esac) + (case b : 1; TRUE : 0; esac) = 1"),
        ("toint(a) = 1", "(a ? 1 : 0) = 1"),
        ("bool(n)", "n != 0"),
        ("max(n, 2) = 2", "(n >= 2 ? n : 2) = 2"),
        ("min(n, 2) = 2", "(n <= 2 ? n : 2) = 2"),
        ("abs(n) = 1", "(n < 0 ? (-n) : n) = 1"),
        ("a xnor b", "a <-> b"),
    ],
)
def test_functions_are_said_in_operators(written: str, meant: str) -> None:
    assert main(f"VAR a : boolean; b : boolean; n : -3..3;\nINIT {written}").starts == (
        parse(meant),
    )


def rows(count: int) -> str:
    return "\n".join(f"a = {i} & b = {i} : {i % 7};" for i in range(count))


def moves(case: str) -> tuple[tuple[Expr, Expr], ...]:
    model = main(f"VAR a : 0..30; b : 0..30; ASSIGN next(a) :=\ncase {case} esac;")
    found = model.next["a"]
    assert isinstance(found, Case)
    return found.branches


def test_a_long_table_is_an_array_with_its_default() -> None:
    general, (test, told) = moves(f"a = b : a;\n(a = 0) : 0;\n{rows(20)}\nTRUE : 9;")[1:]
    assert general == (equals("a", 0), Const(0))
    assert test == TRUE
    assert isinstance(told, Lookup)
    assert [one.name for one in told.index] == ["a", "b"]
    assert told.domain[told.table[8, 8]] == 1
    assert told.domain[told.table[8, 7]] == 9


def test_a_table_without_a_default_says_where_it_counts() -> None:
    (test, told), rest = moves(f"{rows(20)}\nTRUE : b;")
    assert isinstance(test, Lookup)
    assert isinstance(told, Lookup)
    assert test.domain == (False, True)
    assert test.table.sum() == 20
    assert rest == (TRUE, Name("b"))


def test_a_table_over_too_many_values_stays_rows() -> None:
    model = main(
        "VAR a : 0..2000; b : 0..3000; ASSIGN next(a) := case\n"
        + rows(20)
        + "\nb in {1, 2} & a = 0 : 3; TRUE : 1; esac;"
    )
    found = model.next["a"]
    assert isinstance(found, Case)
    assert len(found.branches) == 22
    assert found.branches[20][0] == parse("b in {1, 2} & a = 0")


def test_rows_that_look_at_more_go_before_the_table_if_none_before_them_counts() -> None:
    head = "VAR a : 0..300; b : 0..300; c : 0..300; ASSIGN next(a) := case\n"
    special, default = "c in {4, 5} & a = 3 & b = 3 : 8;\n", "TRUE : 9; esac;"
    found = main(f"{head}{special}{rows(20)}{default}").next["a"]
    assert isinstance(found, Case)
    assert found.branches[0] == (parse("c in {4, 5} & a = 3 & b = 3"), Const(8))
    assert isinstance(found.branches[1][1], Lookup)
    hidden = main(f"{head}{rows(20)}{special}{default}").next["a"]
    assert isinstance(hidden, Case)
    assert len(hidden.branches) == 22


def test_one_and_nought_are_truths_in_tables() -> None:
    table = "\n".join(f"a = {i} & b = {i % 2} : {i % 2};" for i in range(30))
    model = main(f"VAR a : 0..30; b : boolean; ASSIGN next(b) := case {table} 1 : 0; esac;")
    found = model.next["b"]
    assert isinstance(found, Case)
    told = found.branches[0][1]
    assert isinstance(told, Lookup)
    assert told.domain[told.table[7, 1]] is True
    assert told.domain[told.table[7, 0]] is False


def test_a_name_in_a_table_that_nobody_has_is_a_fault() -> None:
    (fault,) = faults(
        f"MODULE main\nVAR a : 0..30;\nASSIGN next(a) := case {rows(20)} TRUE : 1; esac;"
    )
    assert "m.smv:3" in fault
    assert "b is unknown" in fault


HEAD = "MODULE main\nVAR x : 0..3; up : boolean; s : {idle, busy};\n"

FAULTS = [
    ("", "m.smv:1", "a MODULE main without parameters is expected"),
    ("MODULE main(a)\n", "m.smv:1", "a MODULE main without parameters"),
    ("VAR x : boolean;", "m.smv:1", "MODULE is expected, not 'VAR'"),
    (HEAD + "MODULE main", "m.smv:3", "module main is declared twice"),
    (HEAD + "hello", "m.smv:3", "':' is expected"),
    (HEAD + "INIT x = 1; y", "m.smv:3", "column 13: a section is expected, not 'y'"),
    (HEAD + "INIT x = 1 y", "m.smv:3", "column 12: an operator, ';' or a section is expected"),
    (HEAD + "INIT\nVAR y : boolean;", "m.smv:4", "an operand is expected, not 'VAR'"),
    (HEAD + "VAR p : process m;", "m.smv:3", "not supported: process"),
    (HEAD + "VAR w : word[3];", "m.smv:3", "not supported: the type word; write a range"),
    (HEAD + "VAR w : unsigned word[3];", "m.smv:3", "not supported: the type unsigned"),
    (HEAD + "VAR r : real;", "m.smv:3", "not supported: the type real"),
    (HEAD + "VAR i : integer;", "m.smv:3", "not supported: the type integer"),
    (HEAD + "VAR i : 3;", "m.smv:3", "a type is expected"),
    (HEAD + "VAR i : 3..1;", "m.smv:3", "a range goes up"),
    (HEAD + "VAR i : 0..99999999;", "m.smv:3", "100,000 numbers at most"),
    (HEAD + "VAR i : {x + 1};", "m.smv:3", "a value is a word, a number, TRUE or FALSE"),
    (HEAD + "VAR i : array {a} of boolean;", "m.smv:3", "the bounds of an array are numbers"),
    (HEAD + "VAR i : array 0..1 of m;", "m.smv:3", "not supported: an array of modules"),
    (HEAD + "VAR x : boolean;", "m.smv:3", "x is declared twice"),
    (HEAD + "DEFINE x := 3;", "m.smv:3", "x is declared twice"),
    (HEAD + "VAR next : boolean;", "m.smv:3", "'next' cannot be a name"),
    (HEAD + "VAR a.b : boolean;", "m.smv:3", "'a.b' cannot be a name"),
    (HEAD + "VAR idle : boolean;", "m.smv:3", "idle is a variable and a value of another"),
    (HEAD + "VAR b : broker;\nMODULE broken", "m.smv:3", "there is no module broker; did you mean broken?"),
    (HEAD + "VAR b : m(x);\nMODULE m(p, q)", "m.smv:3", "module m takes 2, not 1 parameters"),
    (HEAD + "VAR b : m;\nMODULE m VAR c : m;", "m.smv:4", "modules within modules"),
    (HEAD + "VAR b : m;\nMODULE m\nINIT b", "m.smv:5", "b is unknown"),
    (HEAD + "VAR b : m;\nINIT b\nMODULE m", "m.smv:4", "b is a module, not a value"),
    (HEAD + "INIT self.x = 1", "m.smv:3", "not supported: self"),
    (HEAD + "VAR q : array 0..1 of boolean;\nINIT q", "m.smv:4", "q is an array: give an index"),
    (HEAD + "VAR q : array 0..1 of boolean;\nINIT q[x]", "m.smv:4", "not supported: an index that is no number"),
    (HEAD + "VAR q : array 0..1 of boolean;\nINIT q[1:0]", "m.smv:4", "not supported: bits of a word"),
    (HEAD + "VAR q : array 0..1 of boolean;\nINIT q[2]", "m.smv:4", "q[2] is unknown"),
    (HEAD + "INIT x-1 = 0", "m.smv:3", "write spaces around - for a difference"),
    (HEAD + "INIT s = bussy", "m.smv:3", "column 10: bussy is unknown; did you mean busy?"),
    (HEAD + "INIT signed(x) = 0", "m.smv:3", "not supported: signed(...)"),
    (HEAD + "ISA m", "m.smv:3", "not supported: ISA"),
    (HEAD + "COMPUTE MIN [up, up]", "m.smv:3", "not supported: COMPUTE"),
    (HEAD + "PSLSPEC always up;", "m.smv:3", "not supported: PSLSPEC"),
    (HEAD + "ASSIGN init(x) := 4;", "m.smv:3", "4 is not among the values of x"),
    (HEAD + "ASSIGN next(x) := {1, 5};", "m.smv:3", "5 is not among the values of x"),
    (HEAD + "ASSIGN next(s) := case up : idle; TRUE : 1; esac;", "m.smv:3", "1 is not among the values of s"),
    (HEAD + "ASSIGN up := 2;", "m.smv:3", "2 is not among the values of up"),
    (HEAD + "ASSIGN\n x := 1;\n x := 2;", "m.smv:5", "x is assigned twice"),
    (HEAD + "ASSIGN x := 1;\ninit(x) := 1;", "m.smv:4", "x is assigned both plainly and with init or next"),
    (HEAD + "ASSIGN next(x) := 1;\nx := 1;", "m.smv:4", "x is assigned both plainly"),
    (HEAD + "ASSIGN next(d) := 1;\nDEFINE d := 1;", "m.smv:3", "d is a definition"),
    (HEAD + "ASSIGN next(idle) := 1;", "m.smv:3", "idle is no variable"),
    (HEAD + "IVAR i : 0..1;\nASSIGN next(i) := 1;", "m.smv:4", "i is of IVAR"),
    (HEAD + "FROZENVAR i : 0..1;\nASSIGN next(i) := 1;", "m.smv:4", "i is of FROZENVAR"),
    (HEAD + "SPEC AG up &\n G up", "m.smv:4", "column 2: G is of LTL, this is a specification in CTL"),
    (HEAD + "LTLSPEC G AF up", "m.smv:3", "column 11: AF is of CTL, this is a specification in LTL"),
    (HEAD + "INVARSPEC G up", "m.smv:3", "the temporal operator G has no place in INVARSPEC"),
    (HEAD + "ASSIGN next(up) := F up;", "m.smv:3", "the temporal operator F has no place in next"),
    (HEAD + "DEFINE d := X up;", "m.smv:3", "the temporal operator X has no place in DEFINE"),
    (HEAD + "COMPASSION (up, G up)", "m.smv:3", "the temporal operator G has no place in COMPASSION"),
    (HEAD + "INIT next(x) = 1", "m.smv:3", "next(x) outside of next(...) := and TRANS"),
    (HEAD + "TRANS next(next(x)) = 1", "m.smv:3", "next within next"),
    (HEAD + "DEFINE d := e;\ne := !f;\nf := d;", "m.smv:3", "definitions go round: d -> e -> f -> d"),
    (HEAD + "INIT x = 9999999999999999", "m.smv:3", "a number has 15 digits at most"),
    (HEAD + "INIT " + "(" * 300 + "up" + ")" * 300, "m.smv:3", "levels of parentheses"),
    (HEAD + "INIT x = " + "1 + " * 5000 + "1", "m.smv:3", "too long or too deep"),
    (HEAD + "LTLSPEC F [0,999] G [0,999] up", "m.smv:3", "spans"),
    (HEAD + "ASSIGN next(x) := case esac;", "m.smv:3", "a case has one branch at least"),
    (HEAD + "ASSIGN next(x := 1;", "m.smv:3", "')' is expected"),
    (HEAD + "/-- never closed", "m.smv:3", "is expected"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "where", "message"), FAULTS, ids=[one[2] for one in FAULTS])
def test_a_fault_is_told_with_its_line(text: str, where: str, message: str) -> None:
    found = faults(text)
    assert any(one.startswith(f"{where}: Q005 column ") and message in one for one in found), found


def test_all_faults_are_told_in_the_order_of_their_lines() -> None:
    found = faults(HEAD + "ASSIGN\n init(x) := ;\n next(x) := 7;\nINIT nobody\nSPEC AG (up\n")
    assert [one.split(":")[1] for one in found] == ["4", "5", "6", "8"]


def test_parameters_that_double_are_stopped() -> None:
    deep = "".join(f"MODULE m{i}(p)\nVAR v : m{i + 1}(p & p);\nINIT p\n" for i in range(28))
    found = faults(f"MODULE main\nVAR b : boolean; v : m0(b);\n{deep}MODULE m28(p)\nINIT p\n")
    assert all("too long or too deep" in one for one in found)


def test_instances_that_double_are_stopped() -> None:
    deep = "".join(f"MODULE m{i}\nVAR v : m{i + 1}; w : m{i + 1};\n" for i in range(20))
    assert any(
        "instances" in one for one in faults(f"MODULE main\nVAR v : m0;\n{deep}MODULE m20\n")
    )


def test_a_chain_of_thousands_is_read() -> None:
    model = main("VAR x : boolean;\nINIT " + " & ".join(["x"] * 5000))
    assert names_in(model.starts[0]) == {"x"}
