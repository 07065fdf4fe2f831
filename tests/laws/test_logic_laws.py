"""The symbolic checker against one that lists all states: verdicts, and paths that show them."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from ropewalk.verify.logic.checking import check
from ropewalk.verify.logic.model import Model, Spec, SpecKind, State
from ropewalk.verify.logic.parsing import parse
from ropewalk.verify.logic.syntax import Expr, Op
from tests.laws.logic_oracle import Explicit, holds_on_lasso, is_lasso, is_path
from tests.laws.logic_worlds import (
    BITS,
    Maker,
    lasso_model,
    random_ctl,
    random_lookup_model,
    random_ltl,
    random_model,
    random_word,
)
from tests.laws.test_logic_oracle import CASES

BATCHES, SIZE, LEAST = range(5), 50, 10
"""Of each verdict at least `LEAST` in a batch: 50 in all."""


def tried(kind: SpecKind, batch: int) -> Iterator[tuple[Model, Spec]]:
    rng = Random(f"{kind} {batch}")
    for n in range(SIZE):
        of = random_lookup_model(rng) if n % 6 == 5 else random_model(rng)
        depth = rng.randint(1, 3)
        if kind == "invariant":
            formula: Expr = Maker(rng, dict(of.domains)).test(depth - 1)
        else:
            formula = (random_ctl if kind == "ctl" else random_ltl)(rng, of, depth)
        yield of, Spec(kind, formula)


@pytest.mark.parametrize(("of", "kind", "text", "verdict"), CASES)
def test_known_verdicts(of: Model, kind: SpecKind, text: str, verdict: bool) -> None:
    assert check(of, Spec(kind, parse(text))).holds is verdict


@pytest.mark.parametrize("batch", BATCHES)
def test_linear_verdicts_and_counterexamples(batch: int) -> None:
    verdicts = Counter[bool]()
    for of, spec in tried("ltl", batch):
        explicit = Explicit(of)
        outcome = check(of, spec)
        assert outcome.holds is explicit.holds(spec), (of, spec)
        verdicts[outcome.holds] += 1
        if outcome.holds:
            continue
        trace = outcome.trace
        assert trace, spec
        assert is_lasso(of, trace.stem, trace.loop), (of, spec, trace)
        # The word knows no domains, so tables are cases there.
        formula = explicit.rules.unfolded(spec.formula)
        assert not holds_on_lasso(formula, trace.stem, trace.loop, explicit.rules.defines), spec
    assert min(verdicts[True], verdicts[False]) >= LEAST


@pytest.mark.parametrize("batch", BATCHES)
def test_branching_verdicts_and_traces(batch: int) -> None:
    verdicts, shown = Counter[bool](), 0
    for of, spec in tried("ctl", batch):
        explicit = Explicit(of)
        outcome = check(of, spec)
        assert outcome.holds is explicit.holds(spec), (of, spec)
        verdicts[outcome.holds] += 1
        if outcome.holds or not outcome.trace:
            continue
        shown += 1
        stem, loop = outcome.trace.stem, outcome.trace.loop
        if loop:
            assert is_lasso(of, stem, loop), (of, spec, outcome)
        else:
            assert is_path(of, stem), (of, spec, outcome)
        assert explicit.violates_ctl(spec.formula, [*stem, *loop][0]), (of, spec, outcome)
    assert min(verdicts[True], verdicts[False]) >= LEAST
    assert shown


@pytest.mark.parametrize("batch", BATCHES)
def test_invariants_hold_wherever_a_path_leads_even_one_that_ends(batch: int) -> None:
    verdicts = Counter[bool]()
    for of, spec in tried("invariant", batch):
        explicit = Explicit(of)
        outcome = check(of, spec)
        assert outcome.holds is explicit.holds(spec), (of, spec)
        verdicts[outcome.holds] += 1
        if not outcome.holds and outcome.trace:
            states: list[State] = [*outcome.trace.stem, *outcome.trace.loop]
            assert is_path(of, states), (of, spec, outcome)
            formula = explicit.rules.unfolded(spec.formula)
            assert any(not explicit.rules.true(formula, one) for one in states)
    assert min(verdicts[True], verdicts[False]) >= LEAST / 2


@pytest.mark.parametrize("batch", BATCHES)
def test_a_model_with_one_path_is_that_word(batch: int) -> None:
    # No search at all on the other side: deep formulas, one word.
    rng = Random(f"one path {batch}")
    for _ in range(20):
        stem, loop = random_word(rng)
        formula = random_ltl(rng, BITS, rng.randint(2, 4))
        found = holds_on_lasso(formula, stem, loop)
        of = lasso_model(stem, loop)
        assert check(of, Spec("ltl", formula)).holds is found, formula
        assert check(of, Spec("ltl", Op("!", (formula,)))).holds is not found, formula
