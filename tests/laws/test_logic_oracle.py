"""The explicit-state oracle, against facts known by hand, laws of the logics, and itself."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np
import pytest

from ropewalk.verify.logic.model import Model, Spec, SpecKind, State
from ropewalk.verify.logic.parsing import parse
from ropewalk.verify.logic.syntax import Expr, Lookup, Name, Op, Value, rebuilt
from tests.laws.logic_oracle import Explicit, holds_on_lasso, is_lasso, is_path
from tests.laws.logic_oracle_ltl import fair_path
from tests.laws.logic_oracle_paths import fair_components, fair_loop
from tests.laws.logic_oracle_values import values
from tests.laws.logic_worlds import (
    BITS,
    BOTH,
    MOST_STATES,
    Maker,
    lasso_model,
    random_ctl,
    random_lookup_model,
    random_ltl,
    random_model,
    random_word,
)


def texts(rules: Mapping[str, str]) -> dict[str, Expr]:
    return {name: parse(text) for name, text in rules.items()}


def some(*conditions: str) -> tuple[Expr, ...]:
    return tuple(parse(one) for one in conditions)


def numbers(top: int) -> tuple[Value, ...]:
    return tuple(range(top + 1))


def model(
    domains: Mapping[str, tuple[Value, ...]],
    init: Mapping[str, str],
    step: Mapping[str, str],
    **more: tuple[Expr, ...],
) -> Model:
    found = Model(domains=domains, init=texts(init), next=texts(step))
    return replace(found, **more)  # type: ignore[arg-type]  # only the fields that are conditions


# A bit that is FALSE at first and then changes as it likes.
BIT = model({"b": BOTH}, {"b": "FALSE"}, {})
# The same, and it is TRUE again and again.
FAIR_BIT = replace(BIT, fair=some("b"))
# 0, 1, 2, 2, 2...
UP = model({"n": numbers(2)}, {"n": "0"}, {"n": "case n < 2 : n + 1; TRUE : n; esac"})
# From 0 to 1, which stays, or to 2, from which nothing follows.
END = model(
    {"n": numbers(2)},
    {"n": "0"},
    {"n": "case n = 0 : {1, 2}; TRUE : n; esac"},
    trans=some("n != 2"),
)
# p is TRUE at first; once it is FALSE at n = 1, it is TRUE for ever. The classic example.
CLASSIC = model({"n": numbers(2)}, {"n": "0"}, {"n": "case n = 0 : {0, 1}; TRUE : 2; esac"})
# A door: wait, or try; a try leads in or back.
DOOR = model(
    {"x": ("wait", "try", "inside")},
    {"x": "wait"},
    {"x": "case x = wait : {wait, try}; x = try : {wait, inside}; TRUE : inside; esac"},
)
# Any number next.
ANY = model({"n": numbers(2)}, {"n": "0"}, {})
# Two bits that change as they like; who asks for ever is answered for ever.
ASKED = Model(domains={"r": BOTH, "g": BOTH}, compassion=((Name("r"), Name("g")),))
FROZEN = Model(domains={"f": BOTH, "b": BOTH}, frozen=frozenset("f"))
# y follows x at once, z a step later.
FOLLOW = model(
    {"x": BOTH, "y": BOTH, "z": BOTH}, {"y": "x", "z": "FALSE"}, {"y": "next(x)", "z": "x"}
)
# A case without a branch for 2: nothing follows.
GAP = model({"n": numbers(2)}, {"n": "0"}, {"n": "case n = 0 : {0, 2}; n = 1 : 1; esac"})
# b changes as it likes, and n, of which no formula speaks, ends all paths.
ELSEWHERE = model({"b": BOTH, "n": numbers(1)}, {"n": "0"}, {"n": "case n = 0 : 1; esac"})
NOWHERE = model({"n": numbers(1)}, {"n": "0"}, {}, trans=some("n = 1"))
CUT = model({"n": numbers(2)}, {}, {"n": "{0, 1, 2}"}, invar=some("n != 1"))

CASES: list[tuple[Model, SpecKind, str, bool]] = [
    # It may stay FALSE for ever.
    (BIT, "ctl", "AF b", False),
    (BIT, "ltl", "F b", False),
    (BIT, "ctl", "EG !b", True),
    # Not on a fair path.
    (FAIR_BIT, "ctl", "AF b", True),
    (FAIR_BIT, "ltl", "F b", True),
    (FAIR_BIT, "ctl", "EG !b", False),
    (FAIR_BIT, "ctl", "AG AF b", True),
    # Fairness wants it TRUE again, and lets it be FALSE before that, or TRUE for ever.
    (FAIR_BIT, "ctl", "AG EF !b", True),
    (FAIR_BIT, "ctl", "AG EX !b", True),
    (FAIR_BIT, "ltl", "G F !b", False),
    (FAIR_BIT, "ctl", "A [!b U b]", True),
    (BIT, "ctl", "A [!b U b]", False),
    (BIT, "ctl", "E [!b U b]", True),
    # There is a state 2, and no infinite path through it: paths do not count it, and
    # an invariant does, since it is reached.
    (END, "ctl", "AX n = 1", True),
    (END, "ctl", "EF n = 2", False),
    (END, "ctl", "E [n = 0 U n = 2]", False),
    (END, "ltl", "G n != 2", True),
    (END, "invariant", "n != 2", False),
    (GAP, "ctl", "EF n = 2", False),
    (GAP, "ltl", "G n = 0", True),
    # A dead end counts even if it is not the formula's variables that are stuck.
    (ELSEWHERE, "ltl", "F b", True),
    (ELSEWHERE, "ctl", "AF b", True),
    # No path starts at all, so that anything can be said of those that do.
    (NOWHERE, "ctl", "FALSE", True),
    (NOWHERE, "ctl", "EX TRUE", True),
    (NOWHERE, "ltl", "F FALSE", True),
    # There is nothing before the start, and from then on there is.
    (UP, "ltl", "Y TRUE", False),
    (UP, "ltl", "Z FALSE", True),
    (UP, "ltl", "X Y TRUE", True),
    (UP, "ltl", "X Z FALSE", False),
    (UP, "ltl", "G (Z FALSE -> n = 0)", True),
    (UP, "ltl", "G (Z FALSE <-> n = 0)", True),
    # 1 was once before every 2, right before the first of them only.
    (UP, "ltl", "G (n = 2 -> O n = 1)", True),
    (UP, "ltl", "G (n = 2 -> Y n = 1)", False),
    (UP, "ltl", "F (n = 2 & Y n = 1)", True),
    # Always so far, which ends at 2.
    (UP, "ltl", "G (n = 2 <-> !H n < 2)", True),
    # Since 1, at 2; at 0 there was no 1, and the weak one asks for none.
    (UP, "ltl", "G (n = 2 -> (n > 0 S n = 1))", True),
    (UP, "ltl", "n >= 0 S n = 1", False),
    (UP, "ltl", "n = 1 T n = 0", True),
    (UP, "ltl", "F (n = 2 & (n = 1 T n < 2))", False),
    (UP, "ltl", "F (n = 2 & (n = 1 T n < 3))", True),
    # A future within a past: at each step there was one from which 2 is to come.
    (UP, "ltl", "G O F n = 2", True),
    (UP, "ltl", "G (Y X n = 1 -> n = 1)", True),
    (UP, "ltl", "n < 2 U n = 2", True),
    (UP, "ltl", "n = 2 R n < 2", False),
    (UP, "ltl", "n = 1 R n < 2", True),
    (UP, "ltl", "n < 2 W FALSE", False),
    # All paths are TRUE at some time for ever; but on the one that stays at 0, one can always
    # still go to 1: the two logics differ.
    (CLASSIC, "ltl", "F G n != 1", True),
    (CLASSIC, "ctl", "AF AG n != 1", False),
    (CLASSIC, "ctl", "EF AG n != 1", True),
    # Who waits for ever is never in; who tries again and again may be sent back again and again.
    (DOOR, "ctl", "AF x = inside", False),
    (replace(DOOR, fair=some("x != wait")), "ctl", "AF x = inside", False),
    (
        replace(
            DOOR, fair=some("x != wait"), compassion=((parse("x = try"), parse("x = inside")),)
        ),
        "ctl",
        "AF x = inside",
        True,
    ),
    (
        replace(DOOR, compassion=((parse("x = try"), parse("x = inside")),)),
        "ctl",
        "AF x = inside",
        False,
    ),
    (
        replace(DOOR, compassion=((parse("x = try"), parse("x = inside")),)),
        "ltl",
        "F x = inside | F G x = wait",
        True,
    ),
    # 1 may be passed as often as one likes, and not for ever: there is never an answer to it.
    (replace(ANY, compassion=((parse("n = 1"), parse("FALSE")),)), "ltl", "F G n != 1", True),
    (replace(ANY, compassion=((parse("n = 1"), parse("FALSE")),)), "ctl", "AF AG n != 1", False),
    (replace(ANY, compassion=((parse("n = 1"), parse("FALSE")),)), "ctl", "EG n != 1", True),
    (replace(ANY, compassion=((parse("n != 1"), parse("FALSE")),)), "ctl", "AF EG n = 1", True),
    # Two demands that cannot both be met: no fair path.
    (
        replace(ANY, fair=some("n = 1"), compassion=((parse("n = 1"), parse("FALSE")),)),
        "ctl",
        "FALSE",
        True,
    ),
    (ASKED, "ltl", "G F r -> G F g", True),
    (ASKED, "ltl", "G F g", False),
    (ASKED, "ltl", "G (r -> F g)", False),
    (replace(ASKED, fair=some("r")), "ltl", "G F g", True),
    (FROZEN, "ltl", "G f | G !f", True),
    (FROZEN, "ctl", "AG f | AG !f", True),
    (FROZEN, "ctl", "AG f", False),
    (FROZEN, "ltl", "G b | G !b", False),
    (FOLLOW, "ltl", "G (x <-> y)", True),
    (FOLLOW, "ltl", "G (z <-> Y x)", True),
    (FOLLOW, "ltl", "G (z -> y)", False),
    # What holds in every state holds where a step begins and where it ends.
    (CUT, "ctl", "AG n != 1", True),
    (CUT, "ctl", "AG EX n = 2", True),
    (CUT, "invariant", "n != 1", True),
]


@pytest.mark.parametrize(("of", "kind", "text", "verdict"), CASES)
def test_known_verdicts(of: Model, kind: SpecKind, text: str, verdict: bool) -> None:
    assert Explicit(of).holds(Spec(kind, parse(text))) is verdict


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-7 / 2", {-3}),  # toward zero
        ("7 / -2", {-3}),
        ("-7 / -2", {3}),
        ("-7 mod 2", {-1}),  # the sign of what is divided
        ("7 mod -2", {1}),
        ("7 / 0", set()),
        ("n - 2 * n", {-3}),
        ("-(n + 1)", {-4}),
        ("{1, n} union {5}", {1, 3, 5}),
        ("({1, 2}) + ({10, 20})", {11, 12, 21, 22}),
        ("n in {1, 3}", {True}),
        ("n in {1, 2}", {False}),
        ("case n = 1 : 1; n > 2 : 2; n > 1 : 3; esac", {2}),  # the first that matches
        ("case n = 1 : 1; esac", set()),
        ("n = 3 ? red : blue", {"red"}),
        ("w = red", {True}),
        ("d", {True}),
        ("next(n)", {4}),
        ("next(n = 4 & w = red)", {False}),
        ("next(d)", {False}),
        ("TRUE xor b", {True}),
        ("b -> FALSE", {True}),
    ],
)
def test_known_values(text: str, found: set[Value]) -> None:
    now: State = {"n": 3, "w": "red", "b": False}
    then: State = {"n": 4, "w": "blue", "b": True}
    assert values(parse(text), now, then, {"d": parse("n = 3")}) == found


def test_truth_values_are_no_numbers() -> None:
    for text in ("b = 0", "b + 1", "n & b"):
        with pytest.raises(TypeError):
            values(parse(text), {"b": False, "n": 0})


def test_tables_go_by_places() -> None:
    # Places of the index in its domain, and of the entries in the table's own: not their values.
    table = Lookup((Name("w"), Name("b", next=True)), np.array([[0, 1], [1, 0]]), (7, 5))
    of = Model(domains={"w": ("x", "y"), "b": BOTH, "n": (5, 6, 7)}, next={"n": table})
    formulas = ("w = x & X !b -> X n = 7", "w = x & X b -> X n = 5", "w = y & X b -> X n = 7")
    explicit = Explicit(of)
    assert all(explicit.holds_ltl(parse(one)) for one in formulas)
    assert not explicit.holds_ltl(parse("X n = 7"))


# True of all words at all places.
LAWS = """
F p <-> TRUE U p
G p <-> !F !p
G p <-> FALSE R p
p W q <-> G p | p U q
p R q <-> !(!p U !q)
p R q <-> (q W (p & q))
p U q <-> q | p & X (p U q)
p W q <-> q | p & X (p W q)
p U q <-> (p W q) & F q
X p <-> !X !p
X (p U q) <-> X p U X q
F (p | q) <-> F p | F q
G F (p | q) <-> G F p | G F q
F G (p & q) <-> F G p & F G q
O p <-> TRUE S p
H p <-> !O !p
H p <-> FALSE T p
Z p <-> !Y !p
Z p <-> Y p | Z FALSE
p T q <-> !(!p S !q)
p S q <-> q | p & Y (p S q)
p T q <-> q & (p | Z (p T q))
O p <-> p | Y O p
H p <-> p & Z H p
O (p | q) <-> O p | O q
p <-> X Y p
p <-> X Z p
Y X p <-> p & Y TRUE
Z X p <-> p | Z FALSE
O Z FALSE
F O p <-> F p | O p
G H p <-> G p & H p
O G p <-> O G p & G p
H F p -> F p
p -> G O p
p -> H F p
"""
# True of all words at the start, where strong and weak pasts meet futures.
FIRST = """
F (q & Z H p) <-> p U q
G (q -> O p) <-> !q W p
G (q -> Y O p) <-> !F (q & Z H !p)
O p <-> p
!Y p & Z p
(p S q) <-> q
(p T q) <-> q
"""


def put(expr: Expr, parts: Mapping[str, Expr]) -> Expr:
    if isinstance(expr, Name):
        return parts[expr.name]
    return rebuilt(expr, lambda one: put(one, parts))


def laws(rng: Random, over: Model, depth: int) -> list[Expr]:
    parts = {name: random_ltl(rng, over, depth) for name in "pq"}
    always = [Op("G", (parse(one),)) for one in LAWS.strip().splitlines()]
    first = [parse(one) for one in FIRST.strip().splitlines()]
    return [put(one, parts) for one in (*always, *first)]


@pytest.mark.parametrize("seed", range(40))
def test_laws_on_words(seed: int) -> None:
    rng = Random(f"words {seed}")
    stem, loop = random_word(rng)
    for law in laws(rng, BITS, 2):
        assert holds_on_lasso(law, stem, loop), law


@pytest.mark.parametrize("seed", range(6))
def test_laws_on_models(seed: int) -> None:
    rng = Random(f"models {seed}")
    of = random_model(rng)
    explicit = Explicit(of)
    for law in laws(rng, of, 1):
        assert explicit.holds_ltl(law), law


@pytest.mark.parametrize("seed", range(4))
def test_a_model_with_one_path_is_that_word(seed: int) -> None:
    # The two ways to evaluate LTL, which share nothing but atoms.
    rng = Random(f"one path {seed}")
    verdicts = Counter[bool]()
    for _ in range(150):
        stem, loop = random_word(rng)
        formula = random_ltl(rng, BITS, rng.randint(1, 4))
        explicit = Explicit(lasso_model(stem, loop))
        found = holds_on_lasso(formula, stem, loop)
        verdicts[found] += 1
        assert explicit.holds_ltl(formula) is found
        assert explicit.holds_ltl(~formula) is not found
    assert min(verdicts.values()) > 30


def test_words_may_be_written_in_many_ways() -> None:
    rng = Random("ways")
    for _ in range(200):
        stem, loop = random_word(rng)
        formula = random_ltl(rng, BITS, 3)
        found = holds_on_lasso(formula, stem, loop)
        assert holds_on_lasso(formula, stem, loop * 2) is found
        assert holds_on_lasso(formula, [*stem, *loop], loop) is found
        assert holds_on_lasso(formula, [*stem, loop[0]], [*loop[1:], loop[0]]) is found


def strong(part: set[int], graph: list[list[int]]) -> bool:
    """Whether one can go between any two of a set in one step at least, by going everywhere."""
    for start in part:
        found: set[int] = set()
        for _ in graph:
            found |= {n for at in found | {start} for n in graph[at] if n in part}
        if found != part:
            return False
    return True


@pytest.mark.parametrize("seed", range(60))
def test_fair_components_are_the_largest_fair_sets(seed: int) -> None:
    rng = Random(f"graph {seed}")
    size = rng.randint(1, 6)

    def chosen(chance: float) -> set[int]:
        return {n for n in range(size) if rng.random() < chance}

    graph = [sorted(chosen(rng.choice((0.2, 0.4)))) for _ in range(size)]
    justice = [chosen(0.5) for _ in range(rng.randrange(3))]
    pairs = [(chosen(0.4), chosen(0.3)) for _ in range(rng.randrange(4))]
    sets = [set(one) for k in range(1, size + 1) for one in combinations(range(size), k)]
    fair = [
        one
        for one in sets
        if strong(one, graph)
        and all(one & goal for goal in justice)
        and all(one & q or not one & p for p, q in pairs)
    ]
    largest = [one for one in fair if not any(one < other for other in fair)]
    found = fair_components(set(range(size)), graph, justice, pairs)
    assert sorted(map(sorted, found)) == sorted(map(sorted, largest))
    for one in found:
        loop = fair_loop(min(one), one, graph, justice, pairs, rng)
        assert set(loop) <= one
        assert all(b in graph[a] for a, b in zip(loop, [*loop[1:], loop[0]], strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_branching_and_linear_agree_where_they_say_the_same(seed: int) -> None:
    rng = Random(f"both {seed}")
    of = random_model(rng) if seed % 4 else random_lookup_model(rng)
    explicit = Explicit(of)
    maker = Maker(rng, dict(of.domains))
    parts = {"p": maker.test(1), "q": maker.test(1)}
    for branching, linear in (
        ("AG p", "G p"),
        ("AF p", "F p"),
        ("AG AF p", "G F p"),
        ("A [p U q]", "p U q"),
        ("AX p", "X p"),
        ("AX AX p", "X X p"),
        ("AG (p -> AF q)", "G (p -> F q)"),
    ):
        ctl, ltl = put(parse(branching), parts), put(parse(linear), parts)
        assert explicit.holds_ctl(ctl) is explicit.holds_ltl(ltl), branching
    # And with a path quantifier in front, state by state.
    for branching, linear in (
        ("EX p", "X p"),
        ("EF p", "F p"),
        ("EG p", "G p"),
        ("E [p U q]", "p U q"),
        ("EF EG p", "F G p"),
        ("EF (p & EX q)", "F (p & X q)"),
    ):
        where = explicit.ctl(put(parse(branching), parts))
        ltl = put(parse(linear), parts)
        for n in explicit.all:
            found = fair_path(
                ltl, [n], explicit.graph, explicit.true, explicit.justice, explicit.compassion
            )
            assert (n in where) is (found is not None), branching


@pytest.mark.parametrize("seed", range(5))
def test_violations_are_shown_and_what_holds_is_never_seen_to_fail(seed: int) -> None:
    rng = Random(f"shown {seed}")
    verdicts = Counter[bool]()
    for n in range(40):
        of = random_lookup_model(rng) if n % 5 == 0 else random_model(rng)
        explicit = Explicit(of)
        formula = random_ltl(rng, of, 3)
        # Tables are unfolded for the word's evaluation, which knows no domains.
        plain, defines = explicit.rules.unfolded(formula), explicit.rules.defines
        violation = explicit.violation(formula)
        verdicts[violation is None] += 1
        if violation:
            assert is_lasso(of, *violation)
            assert not holds_on_lasso(plain, *violation, defines)
        witness = explicit.witness(formula)
        if witness:
            assert is_lasso(of, *witness)
            assert holds_on_lasso(plain, *witness, defines)
        for _ in range(8):
            seen = explicit.random_lasso(rng)
            assert bool(seen) is bool(violation or witness)
            if seen:
                assert is_lasso(of, *seen)
                assert violation or holds_on_lasso(plain, *seen, defines)
                assert witness or not holds_on_lasso(plain, *seen, defines)
    assert min(verdicts.values()) >= 5


def test_only_real_paths_are_taken_for_paths() -> None:
    def at(*places: int) -> list[State]:
        return [{"n": one} for one in places]

    assert is_path(UP, at(0, 1, 2, 2))
    assert not is_path(UP, [])
    assert not is_path(UP, at(1, 2))  # not from the start
    assert not is_path(UP, at(0, 2))  # no such step
    assert not is_path(UP, at(0, 1, 3))  # no such value
    assert not is_path(UP, [{"n": False}])  # nor is that a number
    assert not is_path(UP, [{"n": 0, "m": 0}])
    assert not is_path(UP, [{}])
    assert is_path(END, at(0, 2))  # a path with an end
    assert not is_path(CUT, at(0, 1))  # never 1
    assert is_lasso(UP, at(0, 1), at(2))
    assert is_lasso(UP, at(0, 1, 2), at(2, 2))
    assert not is_lasso(UP, at(0), at(1, 2))  # it does not close
    assert not is_lasso(UP, at(0, 1, 2), [])
    assert is_lasso(ANY, [], at(0, 2))
    fair = replace(ANY, fair=some("n = 1", "n = 2"))
    assert not is_lasso(fair, at(0, 1, 2), at(0, 1))  # 2 in the stem is not again and again
    assert is_lasso(fair, [], at(0, 1, 2))
    pair = replace(ANY, compassion=((parse("n = 1"), parse("n = 2")),))
    assert is_lasso(pair, at(0, 1), at(0))  # 1 only once
    assert not is_lasso(pair, [], at(0, 1))
    assert is_lasso(pair, [], at(0, 1, 2))
    assert not is_path(FROZEN, [{"f": True, "b": True}, {"f": False, "b": True}])


@pytest.mark.parametrize("seed", range(8))
def test_steps_are_what_the_rules_say(seed: int) -> None:
    # The list of steps is made with shortcuts that the rules for one step do without.
    explicit = Explicit(random_model(Random(f"steps {seed}")))
    states = explicit.states
    for now in explicit.all:
        found = [n for n in explicit.all if explicit.rules.is_step(states[now], states[n])]
        assert found == explicit.graph[now]


def test_chance_makes_what_it_is_to_try() -> None:
    # Else the comparison with the engine would say less than it seems to.
    seen, size = Counter[str](), 120
    rng = Random("census")
    for _ in range(size):
        of = random_model(rng)
        explicit, bare = Explicit(of), Explicit(replace(of, fair=(), compassion=()))
        weak = Explicit(replace(of, compassion=()))
        assert len(explicit.all) <= MOST_STATES
        seen["dead ends"] += any(not one for one in explicit.graph)
        seen["states that are not fair"] += explicit.fair != explicit.all
        seen["no fair path"] += not set(explicit.initial) & explicit.fair
        for name in ("frozen", "always", "defines", "starts", "invar", "trans", "compassion"):
            seen[name] += bool(getattr(of, name))
        specs = (Spec("ctl", random_ctl(rng, of, 2)), Spec("ltl", random_ltl(rng, of, 2)))
        for spec in specs:
            verdict = explicit.holds(spec)
            seen[f"{spec.kind} {verdict}"] += 1
            seen["fairness matters"] += bare.holds(spec) is not verdict
            seen["compassion matters"] += weak.holds(spec) is not verdict
    assert seen.pop("no fair path") < size / 5
    assert min(seen.values()) >= 6, seen
