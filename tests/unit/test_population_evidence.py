"""Evidence is checked by code of its own: what does not hold is refused, whoever made it."""

from dataclasses import replace

import numpy as np
import pytest

from ropewalk.verify.population.engine import forward_tree as trees
from ropewalk.verify.population.engine.deciding import Deciding, decide
from ropewalk.verify.population.engine.forward import Forward
from ropewalk.verify.population.engine.unfolding import unfolded
from ropewalk.verify.population.engine.verdict import (
    OMEGA,
    Basis,
    GaveUp,
    Limits,
    Safe,
    Unsafe,
)
from ropewalk.verify.population.evidence import objection, replayed
from ropewalk.verify.population.evidence.in_fractions import unmeetable
from ropewalk.verify.population.evidence.runs import RefusedRunError
from ropewalk.verify.population.net import Net, Rule, rule_of
from ropewalk.verify.population.run import Run

# Any number of clients (0), one lock (1), those inside (2), those done (3).
ENTER = rule_of("enter", takes={0: 1, 1: 1}, gives={2: 1})
LEAVE = rule_of("leave", takes={2: 1}, gives={1: 1, 3: 1})
LOCK = Net(
    ("idle", "lock", "inside", "done"),
    (ENTER, LEAVE),
    (0, 1, 0, 0),
    frozenset({0}),
    (((2, 2),),),
)
WEIGHTS = ((1, 1), (2, 1))
# Readers (0) see a value (1); writers (2) make all readers stale (3).
CACHE = Net(
    ("invalid", "shared", "owner"),
    (
        rule_of("read", takes={0: 1}, gives={1: 1}, moves={2: 1}),
        rule_of("write", takes={0: 1}, gives={2: 1}, moves={1: 0, 2: 0}),
    ),
    (1, 0, 0),
    frozenset({0}),
    (((2, 2),), ((1, 1), (2, 1))),
)


def test_weights_that_no_rule_raises_exclude_two_inside() -> None:
    assert objection(LOCK, Basis(bounds=(WEIGHTS,))) == ""


@pytest.mark.parametrize(
    ("invariant", "why"),
    [
        (Basis(), "a target is not excluded"),
        (Basis(bounds=(((2, 1),),)), "enter raises a weighted sum"),
        (Basis(bounds=(((0, 1), (1, 1), (2, 1)),)), "weights must not be negative"),
        (Basis(bounds=(((1, -1),),)), "not in order, or not positive"),
        (Basis(bounds=(((-1, 1),),)), "not in order, or not positive"),
        (Basis(demands=(((2, 1), (2, 2)),)), "not in order, or not positive"),
        (Basis(excluded=((((3, 0),), ()),)), "not in order, or not positive"),
        (Basis(excluded=((((2, 2),), (((9, 1),),)),)), "not in order, or not positive"),
        (Basis(empty=(-1,)), "not in order, or are none"),
        (Basis(demands=(((2, 2),),)), "a rule leads to a demand from outside"),
        (Basis(demands=((),)), "the start meets a demand"),
        (Basis(demands=(((1, 1),), ((2, 1),))), "the start meets a demand"),
        (Basis(empty=(2,)), "enter marks inside"),
        (Basis(empty=(1,)), "lock is marked at the start"),
        (Basis(empty=(0,)), "idle is marked at the start"),
        (Basis(excluded=((((2, 2),), (((2, 1),),)),)), "a proof in fractions does not hold"),
        (Basis(excluded=((((2, 2),), ()),)), "a proof in fractions does not hold"),
    ],
)
def test_what_is_no_invariant_is_refused(invariant: Basis, why: str) -> None:
    assert why in objection(LOCK, invariant)


def limits(*rows: tuple[int, ...]) -> Limits:
    return Limits(tuple(range(len(rows[0]))), np.array(rows))


ALL = ((OMEGA, 1, 0, OMEGA), (OMEGA, 0, 1, OMEGA))


def test_limits_that_rules_do_not_leave_exclude_two_inside() -> None:
    assert objection(LOCK, limits(*ALL)) == ""


@pytest.mark.parametrize(
    ("invariant", "why"),
    [
        (limits(ALL[0]), "enter leads out of the limits"),
        (limits(ALL[1]), "the start is below no limit"),
        (limits((OMEGA, 1, 0, 5), ALL[1]), "leave leads out of the limits"),
        (limits((7, 1, 0, OMEGA), ALL[1]), "the start is below no limit"),
        (limits((OMEGA, OMEGA, OMEGA, OMEGA)), "a limit covers a target"),
        (limits((1 << 62, 1, 0, 1 << 62), (1 << 62, 0, 0, 1 << 62)), "enter leads out"),
        (Limits((0, 1), np.array([[OMEGA]])), "one column for each"),
        (Limits((0, 1), np.array([OMEGA, 1])), "one column for each"),
        (Limits((1, 0), np.array(ALL)[:, :2]), "one column for each"),
    ],
)
def test_limits_that_are_none_are_refused(invariant: Limits, why: str) -> None:
    assert why in objection(LOCK, invariant)


def test_limits_say_nothing_of_places_without_a_column() -> None:
    inside = Limits((1, 2), np.array([(1, 0), (0, 1)]))
    assert objection(LOCK, inside) == ""
    assert "covers a target" in objection(LOCK, Limits((1,), np.array([(1,)])))
    refill = rule_of("refill", moves={3: 2})
    assert "refill leads out" in objection(replace(LOCK, rules=(ENTER, LEAVE, refill)), inside)


def test_every_smallest_demand_of_an_answer_is_needed() -> None:
    answer = decide(CACHE)
    assert isinstance(answer, Safe)
    basis = Basis(demands=(((2, 2),), ((1, 1), (2, 1))))
    assert objection(CACHE, basis) == ""
    for demand in basis.demands:
        fewer = replace(basis, demands=tuple(one for one in basis.demands if one != demand))
        assert objection(CACHE, fewer)


def test_a_proof_in_fractions_is_followed_in_whole_numbers() -> None:
    assert unmeetable(LOCK, ((2, 2),), (WEIGHTS,))
    assert not unmeetable(LOCK, ((2, 1),), (WEIGHTS,))  # exactly what there is
    assert not unmeetable(LOCK, ((2, 2),), (((1, 1), (2, 2)),))  # a rule raises it
    assert unmeetable(LOCK, ((2, 1), (1, 1)), (WEIGHTS,))
    assert not unmeetable(CACHE, ((2, 2),), ())  # nothing in fractions about moves


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (Run({0: 2, 1: 1}, ((0, 2),)), "enter needs 1 in lock"),
        (Run({0: 2, 1: 2}, ((0, 2),)), "lock starts with 2 instead of 1"),
        (Run({0: 2}, ()), "lock starts with 0 instead of 1"),
        (Run({0: 1, 1: 1}, ((0, 1), (1, 1))), "no target is covered at its end"),
        (Run({0: 1, 1: 1}, ((((0, 1), (1, 1)), 2),)), "2 tokens are needed in idle"),
        (Run({0: 1, 1: 1}, ((((1, 1),), -2),)), "happens -2 times"),
        (Run({0: 1, 1: 1}, ((((1, 0),), 2),)), "happens 0 times"),
    ],
)
def test_a_run_that_cannot_be_is_refused(run: Run, why: str) -> None:
    with pytest.raises(RefusedRunError, match=why):
        replayed(LOCK, run)


def test_steps_in_a_row_add_up_as_single_ones_do() -> None:
    done = replace(LOCK, targets=(((3, 5),),))
    again: Run = Run({0: 6, 1: 1}, ((((0, 1), (1, 1)), 5), (0, 1)))
    single = Run(again.start, tuple(again.flat()))
    assert replayed(done, again) == replayed(done, single)
    assert again.length == 11
    with pytest.raises(RefusedRunError, match="do not add up"):
        replayed(CACHE, Run({0: 3}, ((((1, 1),), 2),)))


def test_a_rule_in_a_row_takes_no_more_than_there_is_even_if_it_asks_for_nothing() -> None:
    greedy = Rule("greedy", (), ((1, -1), (2, 1)))
    net = replace(LOCK, rules=(greedy,), targets=(((2, 3),),))
    for steps in (((0, 3),), ((((0, 1),), 3),)):
        with pytest.raises(RefusedRunError):
            replayed(net, Run({1: 1}, steps))


def test_moves_of_what_does_not_matter_do_not_stop_a_proof_in_fractions() -> None:
    audit = rule_of("audit", needs={1: 1}, moves={3: 0})
    net = replace(LOCK, rules=(ENTER, LEAVE, audit))
    assert unmeetable(net, ((2, 2),), (WEIGHTS,))
    cheat = rule_of("cheat", moves={3: 2})
    assert not unmeetable(replace(net, rules=(ENTER, LEAVE, cheat)), ((2, 2),), (WEIGHTS,))


def test_what_a_rule_takes_of_moved_tokens_matters_even_if_it_does_not_ask() -> None:
    """`a >= 1 -> a' = 0, b' = a + b - 3, c' = c + 1`: three tokens have to come from somewhere."""
    rule = Rule("go", ((0, 1),), ((1, -3), (2, 1)), ((0, 1),))
    for start, verdict in ((2, Safe), (3, Unsafe)):
        net = Net(("a", "b", "c"), (rule,), (start, 0, 0), frozenset(), (((2, 1),),))
        assert isinstance(decide(net, iter(range(10**6)).__next__, 10.0**5), verdict)


def test_there_is_room_for_every_loop_that_one_marking_shows() -> None:
    """Marking k is all places but one; the last rule leads above all of them: a loop from each."""
    size = 330
    places = tuple(f"x{i}" for i in range(size))
    rules = [
        rule_of(
            f"r{k}", takes={k + 1: 1}, gives={k: 1}, needs={i: 1 for i in range(size) if i != k}
        )
        for k in range(size - 1)
    ]
    rules.append(rule_of("last", needs=dict.fromkeys(range(size - 1), 1), gives={size - 1: 1}))
    forward = Forward(Net(places, tuple(rules), (0, *[1] * (size - 1)), frozenset(), ()))
    for _ in range(3):
        forward.turn()
        tree = forward._tree
        assert tree.counts[trees.NEEDS] <= len(tree.need_at)
        assert tree.counts[trees.GAINS] <= len(tree.gain_at)
        assert tree.counts[trees.STEPS] <= len(tree.steps)
    assert tree.counts[trees.LOOPS] > 100


def test_an_engine_that_says_what_is_wrong_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of all the rest: a forward search that calls anything safe, at once."""
    open_ = replace(LOCK, rules=(rule_of("enter", takes={0: 1}, gives={2: 1}),))

    def liar(_: object, markings: int = 0) -> Safe:
        return Safe("a lie", Limits((), np.zeros((1, 0))))

    monkeypatch.setattr(Forward, "turn", liar)
    deciding = Deciding(open_, iter(range(10**6)).__next__, 10.0)
    assert list(deciding.lane("limits")) == [None]
    assert "its invariant does not hold" in deciding.failed[0].reason
    answer = decide(open_)
    assert isinstance(answer, Unsafe)
    assert replayed(open_, answer.run)[2] >= 2


def test_a_run_longer_than_can_be_written_is_told_as_runs_in_a_row() -> None:
    """Each place needs ten times as much of the one before it: 10**9 steps in all."""
    rules = [rule_of(f"r{i}", takes={i: 10}, gives={i + 1: 1}) for i in range(9)]
    net = Net(
        tuple(f"p{i}" for i in range(10)), tuple(rules), (0,) * 10, frozenset({0}), (((9, 1),),)
    )
    forward = Forward(net)
    found = None
    while found is None:
        found = forward.turn()
    assert not isinstance(found, Safe | GaveUp)
    run = unfolded(net, found)
    assert run is not None
    assert run.length >= sum(10**i for i in range(9))
    assert run.start[0] >= 10**9
    assert replayed(net, run)[9] >= 1
