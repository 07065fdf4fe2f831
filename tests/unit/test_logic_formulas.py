"""Formulas as people write them: how they are read, and what every slip is told."""

import pytest

from ropewalk.errors import UsageError
from ropewalk.federation.generators import generate
from ropewalk.verify.logic.asking import ANY, asked
from ropewalk.verify.logic.lexing import FormulaError
from ropewalk.verify.logic.library import LIBRARY, named, question
from ropewalk.verify.logic.modelling import parts_of
from ropewalk.verify.logic.parsing import parse
from ropewalk.verify.logic.syntax import FALSE, TRUE, Atom, Const, Expr, Name, OneOf, Op
from ropewalk.verify.logic.world import World, world_of

SAME = [
    ("G p -> q", "(G p) -> q"),
    ("p -> q -> r", "p -> (q -> r)"),
    ("p <-> q -> r", "(p <-> q) -> r"),
    ("p | q & r", "p | (q & r)"),
    ("p & q U r", "p & (q U r)"),
    ("a U b U c", "(a U b) U c"),
    ("a S b T c", "(a S b) T c"),
    ("a V b", "a R b"),
    ("G p U q", "(G p) U q"),
    ("F a = b", "F (a = b)"),
    ("G F p & q", "(G (F p)) & q"),
    ("!p & q", "(!p) & q"),
    ("!G p -> q", "(!(G p)) -> q"),
    ("!a = b", "(!a) = b"),
    ("X a + 1 = b * 2", "X ((a + 1) = (b * 2))"),
    ("a - b - c = 0", "((a - b) - c) = 0"),
    ("p xor q | r", "(p xor q) | r"),
    ("AG p -> AF q", "(AG p) -> (AF q)"),
    ("A [p & r U q | s]", "A [(p & r) U (q | s)]"),
    ("F [1,3] p", "X (p | X (p | X p))"),
    ("G [0,2] p", "p & X (p & X p)"),
    ("O [1,2] p", "Y (p | Y p)"),
    ("EBF 1..2 p", "EX (p | EX p)"),
    ("p && q || not r", "(p & q) | (!r)"),
    ("p and true or false", "(p & TRUE) | FALSE"),
    ("G p -- for ever", "G p"),
    ("a in {b, c} & p", "(a in {b, c}) & p"),
    ("a in 1..3", "a in {1, 2, 3}"),
]


@pytest.fixture(scope="module")
def three() -> World:
    return world_of(generate("three-broker"))


@pytest.fixture(scope="module")
def six() -> World:
    return world_of(generate("six-broker"))


def fault(text: str, world: World | None = None) -> FormulaError:
    with pytest.raises(FormulaError) as caught:
        read(text, world)
    return caught.value


def read(text: str, world: World | None) -> None:
    formula = parse(text)
    if world is not None:
        list(parts_of(formula, world, text))


@pytest.mark.parametrize(("text", "same"), SAME)
def test_operators_bind_as_in_nusmv(text: str, same: str) -> None:
    assert parse(text) == parse(same)


def test_parentheses_change_what_is_said() -> None:
    assert parse("G (p -> q)") != parse("G p -> q")
    assert parse("a U (b U c)") != parse("a U b U c")
    assert parse("(p -> q) -> r") != parse("p -> q -> r")


def test_a_formula_is_a_tree_of_its_operators() -> None:
    p, q = Name("p"), Name("q")
    assert parse("G p -> q") == Op("->", (Op("G", (p,)), q))
    assert parse("A [p U q]") == Op("AU", (p, q))
    assert parse("E [p U q]") == Op("EU", (p, q))
    assert parse("p xnor q") == Op("<->", (p, q))
    assert (parse("TRUE"), parse("FALSE")) == (TRUE, FALSE)


def test_atoms_keep_what_stands_between_their_parentheses() -> None:
    assert parse("up(b1--b2)") == Atom("up", ("b1--b2",))
    assert parse("delivered(news/#, lon-gw)") == Atom("delivered", ("news/#", "lon-gw"))
    assert parse('subscribed("s 1", a.b)') == Atom("subscribed", ("s 1", "a.b"))
    assert parse("attached(publisher:b1) = b2") == Op(
        "=", (Atom("attached", ("publisher:b1",)), Name("b2"))
    )


def test_names_with_signs_in_them_stand_in_quotes_or_not() -> None:
    assert parse("lon-gw & a.b") == Op("&", (Name("lon-gw"), Name("a.b")))
    assert parse('colour = "b1--b2"') == Op("=", (Name("colour"), Name("b1--b2")))
    assert parse("x in {'A', b}") == Op("in", (Name("x"), OneOf((Name("A"), Name("b")))))
    assert parse("x = -3") == Op("=", (Name("x"), Const(-3)))


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("", 1, "an operand is expected, not the end"),
        ("G", 2, "an operand is expected, not the end"),
        ("a &", 4, "an operand is expected, not the end"),
        ("& a", 1, "an operand is expected, not '&'"),
        ("G in p", 3, "an operand is expected, not 'in'"),
        ("A p", 1, "an operand is expected, not 'A'"),
        ("a b", 3, "an operator or the end is expected, not 'b'"),
        ("G (p))", 6, "an operator or the end is expected, not ')'"),
        ("a # b", 3, "an operator or the end is expected, not '#'"),
        ("x := y", 3, "an operator or the end is expected, not ':='"),
        ("G (up(b1)", 10, "')' is expected, not the end"),
        ("G (up(b1", 9, "')' is expected after up("),
        ("up()", 4, "a name is expected in up(...)"),
        ("knows(b1,)", 7, "a name is expected in knows(...)"),
        ("A [p q]", 6, "'U' is expected, not 'q'"),
        ("E [p U q", 9, "']' is expected, not the end"),
        ("F [1 a", 6, "',' is expected, not 'a'"),
        ("F [x,2] a", 4, "a number is expected, not 'x'"),
        ("a in {b, c", 11, "'}' is expected, not the end"),
        ("p ? q", 6, "':' is expected, not the end"),
        ("next(next(a))", 11, "next within next"),
    ],
)
def test_a_broken_text_tells_where_and_what_is_expected(text: str, column: int, says: str) -> None:
    found = fault(text)
    assert (found.column, found.message) == (column, says)
    assert str(found) == f"column {column}: {says}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("F [3,1] a", "a span goes up, and to 1000 at most"),
        ("F [1,1001] a", "a span goes up, and to 1000 at most"),
        ("F [1,1000] G [1,1000] a", "spans of more than 1000 steps together"),
        ("x in 3..1", "a range goes up, and over 100,000 numbers at most"),
        ("x in 1..b", "a range is of two numbers"),
        ("(" * 101 + "a" + ")" * 101, "more than 100 levels of parentheses"),
        ("!" * 200 + "a", "more than 100 levels of operators"),
        ("x = 1234567890123456", "a number has 15 digits at most"),
        ("case esac", "a case has one branch at least"),
    ],
)
def test_what_is_beyond_all_measure_is_refused(text: str, says: str) -> None:
    assert fault(text).message == says


def test_a_fault_in_a_later_line_points_there() -> None:
    found = fault("G (p ->\n  q q)")
    assert (found.line, found.column) == (2, 5)
    assert found.pointed() == "  q q)\n    ^"


def test_very_many_parts_make_no_deep_tree() -> None:
    formula = parse(" & ".join(f"p{n}" for n in range(10_000)))

    def depth(one: Expr) -> int:
        return 1 + max(map(depth, one.args)) if isinstance(one, Op) else 0

    assert depth(formula) < 100


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("G up(b11)", 3, "no broker is called 'b11': did you mean 'b1'?"),
        ("up(b1--b4)", 1, "no link is called 'b1--b4': did you mean 'b1--b3'?"),
        ("subscribed(s1, topic11)", 1, "no topic is called 'topic11': did you mean 'topic1'?"),
        ("F attached(p11) = b1", 3, "no client is called 'p11': did you mean 'p1'?"),
        ("attached(publisher:bb1) = b1", 1, "no broker is called 'bb1': did you mean 'b1'?"),
        ("attached(p1) = bb2", 16, "no broker is called 'bb2': did you mean 'b2'?"),
        ("attached(p1) in {b1, bb2}", 22, "no broker is called 'bb2': did you mean 'b2'?"),
        ("at(message) = topic1", 15, "no broker is called 'topic1'"),
        ("atached(p1) = b1", 1, "nothing is called atached(...): did you mean 'attached'?"),
        ("colur = b1", 1, "nothing is called 'colur': did you mean 'colour'?"),
        ("G stedy", 3, "nothing is called 'stedy': did you mean 'steady'?"),
        (
            "knows(b1) = b33",
            13,
            "'b33' is none of the failures that are looked at: did you mean 'b3'?",
        ),
        (
            'colour = "b1--b22"',
            10,
            "'b1--b22' is none of the failures that are looked at: did you mean 'b1--b2'?",
        ),
        ("G b1", 3, "b1 is a broker: write up(b1), or at(message) = b1"),
        (
            "attached(p1) = up(b1)",
            16,
            'the name of a broker is expected: put it in quotes if it has -- or + in it ("a--b")',
        ),
    ],
)
def test_a_name_that_is_not_there_tells_the_nearest(
    text: str, column: int, says: str, three: World
) -> None:
    found = fault(text, three)
    assert (found.column, found.message) == (column, says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("up(b1, b2)", "write up(BROKER) or up(BROKER--BROKER)"),
        ("connected(b1)", "write connected(BROKER, BROKER)"),
        ("knows(b1, b2) = none", "write knows(BROKER)"),
        ("subscribed(s1)", "write subscribed(CLIENT, TOPIC)"),
        ("publishes(p1)", "write publishes(CLIENT, TOPIC)"),
        (
            "attached(p1, b1)",
            "write attached(CLIENT), or publisher:BROKER or subscriber:BROKER for it",
        ),
        (
            "delivered(topic1, b1, b2)",
            "write delivered(message) or delivered(TOPIC, BROKER)",
        ),
        (
            "at(topic1) = b1",
            "write at(message) or at(TOPIC, BROKER), not topic1",
        ),
    ],
)
def test_a_wrong_number_of_arguments_tells_the_form(text: str, says: str, three: World) -> None:
    assert fault(text, three).message == says


def test_a_message_that_nobody_is_owed_is_told(six: World) -> None:
    found = fault("F delivered(A, b3)", six)
    assert found.message == "A is not owed to b3: nobody there subscribes to it"
    assert found.column == 3


def test_what_a_formula_is_about_is_looked_up(six: World) -> None:
    text = 'G (up(b1) & up(b4--b2) -> at(message) != b3 | knows(b2) = "b2--b1" | delivered(A, b5))'
    about = asked(parse(text), six, text)
    assert [six.names[one] for one in about.brokers] == ["b1"]
    assert {six.links[1, 3]} == about.links
    assert about.messages == {ANY, ("A", "b5")}
    assert about.of_messages == {"at", "delivered"}
    assert [six.names[one] for one in about.knows] == ["b2"]
    assert asked(parse("steady & connected(b1, b2)"), six).bare == {"steady"}


def test_a_link_is_called_either_way_round(six: World) -> None:
    assert asked(parse("up(b1--b2)"), six).links == asked(parse("up(b2--b1)"), six).links


@pytest.mark.parametrize("text", ["AG F p", "EX p & X q", "G A [p U q]"])
def test_operators_of_both_logics_do_not_mix(text: str) -> None:
    with pytest.raises(FormulaError, match="of both logics: E and A belong to CTL only"):
        question(text)


def test_a_formula_is_of_the_logic_that_was_said() -> None:
    with pytest.raises(FormulaError, match="the operators are of CTL, not LTL"):
        question("AG p", "ltl")
    with pytest.raises(FormulaError, match="the operators are of LTL, not CTL"):
        question("G p", "ctl")
    assert question("p", "ctl").kind == "ctl"
    assert (question("O p").kind, question("E [p U q]").kind) == ("ltl", "ctl")


def test_every_property_by_name_is_formulas_about_the_federation(three: World) -> None:
    for name in LIBRARY:
        for one in named(name, three):
            assert one.name == name
            assert asked(one.formula, three, one.text)


def test_a_property_that_is_not_there_tells_all_names(three: World) -> None:
    with pytest.raises(UsageError, match="no property is called 'no-bouncing'") as caught:
        named("no-bouncing", three)
    assert all(f"{name}: " in str(caught.value) for name in LIBRARY)
