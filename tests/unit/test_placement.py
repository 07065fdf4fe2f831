"""Placement: what is refused, how a problem is made, what rules say, plans."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats as scipy_stats
from scipy.sparse import csr_array

from ropewalk.errors import UsageError
from ropewalk.federation import loads
from ropewalk.placement import Model, Objective, Placed, Problem, Rules, Spread, place, problem
from ropewalk.placement.inputs import Input, peaks_of, problem_of
from ropewalk.placement.judge import rejections, standings, value_of, why_not
from ropewalk.placement.moves import way
from ropewalk.placement.performance import Reals, delay_s
from ropewalk.placement.placing import best_of
from ropewalk.placement.plan import digest_of, plan_of, plan_text, read_plan
from ropewalk.placement.policies import policies, policy
from ropewalk.placement.risk import Peaks, loads_seen, margins, risk_of
from ropewalk.placement.rivals.genetic import genetic
from ropewalk.placement.rivals.round_robin import round_robin
from ropewalk.placement.solve.scores import FAR
from ropewalk.placement.solve.search import SLACK, Effort, search

LITTLE = Effort(4_000, 10, 3)
FLAT = np.array([[4.0, 1.0, 0.0], [1.0, 9.0, 0.0], [0.0, 0.0, 1.0]])


def small(
    matrix: Any = FLAT, rate: Any = (10.0, 20.0, 30.0), limit: Any = (50.0, 60.0), **more: Any
) -> Problem:
    return problem(
        np.array(rate),
        Spread.dense(np.array(matrix, float)),
        np.array(limit),
        items=("x", "y", "z")[: len(rate)],
        brokers=("a", "b", "c")[: len(limit)],
        **more,
    )


def with_rules(one: Problem, **rules: Any) -> Problem:
    return replace(one, rules=replace(one.rules, **rules).filled())


# What is refused.


def changed(at: tuple[int, int], value: float) -> Reals:
    found = FLAT.copy()
    found[at] = value
    return found


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"matrix": changed((0, 1), 2.0)}, r"not symmetric: of x and y it is 2, of y and x 1"),
        ({"matrix": FLAT[:2, :2]}, r"covariance: 2 x 2, of 3 items"),
        ({"matrix": changed((1, 2), np.nan)}, r"covariance of y and z: nan"),
        ({"matrix": changed((2, 2), np.inf)}, r"covariance of z and z: inf"),
        ({"matrix": changed((1, 1), -1.0)}, r"item y: its variance is below 0"),
        ({"rate": (10.0, np.nan, 30.0)}, r"item y: its rate is nan"),
        ({"rate": (10.0, 20.0, -1.0)}, r"item z: its rate is -1"),
        ({"rate": ()}, r"there is no item"),
        ({"limit": ()}, r"there is no broker"),
        ({"limit": (50.0, 0.0)}, r"broker b: its capacity is 0"),
        ({"limit": (np.inf, 60.0)}, r"broker a: its capacity is inf"),
        ({"work_s": np.array([[1.0, 1, 1], [1, np.nan, 1]])}, r"item y on broker b: .* nan"),
        ({"work_s": np.array([[1.0, 1, -1], [1, 1, 1]])}, r"item z on broker a: .* -1"),
        ({"work_s": np.ones((3, 3))}, r"work of a message: 3 x 3 numbers, 2 x 3 are needed"),
        ({"replication": np.array([1.0, np.nan, 1])}, r"item y: copies"),
        ({"bytes_each": np.array([1.0, 1, -5])}, r"item z: bytes"),
        ({"bytes_each": np.ones(2)}, r"bytes of a message: 2 numbers, 3 are needed"),
        (
            {"rules": Rules(np.array([[True, False, True]] * 2), np.full(3, -1))},
            r"item y: no broker",
        ),
        (
            {"rules": Rules(np.ones((2, 3), bool), np.array([0, 1, 2]))},
            r"item z: it is at broker 2",
        ),
        (
            {"rules": Rules(np.ones((2, 3), bool), np.full(3, -1), most_items=np.ones(3))},
            r"most_items: 3 numbers, 2 are needed",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(given: Mapping[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        small(**given)


def test_factors_that_cannot_be_are_refused_by_name() -> None:
    for loadings, own, told in (
        (np.ones((2, 1)), np.ones(3), "factors: of 2 items, there are 3"),
        (np.array([[1.0], [np.nan], [1]]), np.ones(3), "item 2: its factors"),
        (np.ones((3, 1)), np.array([1.0, 1, -1]), "item 3: its own variance is below 0"),
    ):
        with pytest.raises(UsageError, match=told):
            problem(np.ones(3), Spread.factors(loadings, own), np.ones(2))


# A problem of a federation.


@dataclass
class Few:
    """Statistics of a few topics."""

    names: tuple[str, ...]
    mean_msgs_s: Reals
    replication: Reals
    filters: Reals
    message_bytes: Reals
    matrix: Reals
    loadings: Reals | None = None
    own: Reals | None = field(default=None)

    def block(self, rows: Any, columns: Any) -> Reals:
        found: Reals = self.matrix[rows, columns]
        return found


TEXT = """
federation: f
sites: {s: , t: }
brokers:
  a: {site: s, capacity: {receive_us: 50, filter_us: 1, send_us: 10}}
  b: {site: s, capacity: {receive_us: 100, filter_us: 2, send_us: 20}}
  c: {site: t, capacity: {receive_us: 50, filter_us: 1, send_us: 10}}
links: [{between: [a, b]}, {between: [b, c]}]
items: {prices: [p/#]}
topics:
  p/#: {publishers: [a]}
  p/x: {publishers: [a]}
  q: {publishers: [b]}
  r: {publishers: [b, {broker: c, client: k}, {broker: c, client: m}]}
placement:
  only: {q: [b, "site:t"]}
  pinned: [prices]
  apart: [[q, r]]
  limits: {risk: 0.05, utilisation: 0.8, moves: 1, items: 2, delay_us: 900}
  brokers: {b: {utilisation: 0.5, service_us: 400, replication: 7, volume_bytes_s: 5000}}
  sites: {t: {items: 1, rate_msgs_s: 300}}
"""


def few(*names: str) -> Few:
    names = names or ("p/x", "p/y", "q", "r", "elsewhere")
    count = len(names)
    return Few(
        names,
        np.array([30.0, 10, 50, 40, 5])[:count],
        np.array([2.0, 6, 1, 3, 1])[:count],
        np.array([1.0, 5, 2, 0, 0])[:count],
        np.array([100.0, 300, 10, 20, 1])[:count],
        np.diag([9.0, 4, 25, 16, 1])[:count, :count] + 1.0,
    )


def made(text: str = TEXT, stats: Few | None = None, **more: Any) -> Input:
    return problem_of(loads(text), stats or few(), **more)


def test_items_of_patterns_carry_averages_over_messages() -> None:
    found = made()
    one = found.problem
    assert one.items == ("prices", "q", "r")
    assert one.brokers == ("a", "b", "c")
    assert one.rate_msgs_s.tolist() == [40, 50, 40]
    assert one.replication.tolist() == [(30 * 2 + 10 * 6) / 40, 1, 3]
    assert one.bytes_each.tolist() == [(30 * 100 + 10 * 300) / 40, 10, 20]
    filters = [(30 * 1 + 10 * 5) / 40, 2, 0]
    wanted = [(50 + f + 10 * r) * 1e-6 for f, r in zip(filters, one.replication, strict=True)]
    assert np.allclose(one.work_s, [wanted, [2 * each for each in wanted], wanted])
    assert np.allclose(one.spread.whole(), [[9 + 4 + 4, 2, 2], [2, 26, 1], [2, 1, 17]])
    assert any("in no item, and left out: 1" in each for each in found.notes)


def test_rules_are_those_of_the_file() -> None:
    found = made()
    rules = found.problem.rules
    assert rules.allowed.T.tolist() == [
        [True, False, False],
        [False, True, True],
        [True, True, True],
    ]
    assert rules.today.tolist() == [0, 1, 2]  # most publishers of r are at c
    assert any("1 item is taken to be where most" in each for each in found.notes)
    assert rules.apart == ((1, 2),)
    assert rules.most_moves == 1
    assert found.problem.limit.tolist() == [0.8, 0.5, 0.8]
    assert np.allclose(rules.least_margin, scipy_stats.norm.isf(0.05))
    assert rules.most_items.tolist() == [2, 2, 2]
    assert np.allclose(rules.most_delay_s, 900e-6)
    assert np.allclose(rules.most_service_s, [np.inf, 400e-6, np.inf])
    assert rules.most_replication.tolist() == [np.inf, 7, np.inf]
    assert rules.most_bytes_s.tolist() == [np.inf, 5000, np.inf]
    assert rules.sites == ("s", "t")
    assert rules.most_items_at.tolist() == [np.inf, 1]
    assert rules.most_rate_at.tolist() == [np.inf, 300]


def test_a_broker_that_is_left_out_is_emptied() -> None:
    found = made(without=["a"])
    one = found.problem
    assert one.brokers == ("a", "b", "c")
    assert one.rules.today.tolist() == [0, 1, 2]
    assert not one.rules.allowed[0].any()
    assert one.rules.allowed[1:, 0].all()  # pinned, but it cannot stay
    assert any("is pinned to a, which is left out: it moves" in each for each in found.notes)
    assert (place(one, effort=LITTLE).place > 0).all()
    with pytest.raises(UsageError, match="item q: no broker is left"):
        made(without=["b", "c"])
    with pytest.raises(UsageError, match="no broker 'd'"):
        made(without=["d"])
    with pytest.raises(UsageError, match="all brokers are left out"):
        made(without=["a", "b", "c"])


def test_items_without_a_rate_are_named_or_silent() -> None:
    with pytest.raises(UsageError, match=r"item q: no rate is known of it \(nor of 1 others\)"):
        made(stats=few("p/x", "p/y"))
    found = made(stats=few("p/x", "p/y"), silent=True)
    assert found.problem.rate_msgs_s.tolist() == [40, 0, 0]
    assert any("2 items are without a rate" in each for each in found.notes)
    assert place(found.problem, effort=LITTLE).place[0] == 0


def test_a_broker_without_capacity_is_named() -> None:
    text = TEXT.replace(
        "  c: {site: t, capacity: {receive_us: 50, filter_us: 1, send_us: 10}}", "  c: {site: t}"
    )
    with pytest.raises(UsageError, match="broker c: its capacity is not known"):
        made(text)
    speed = loads(TEXT).brokers["c"].capacity
    assert speed is not None
    assert np.allclose(made(text, capacities={"c": speed}).problem.work_s, made().problem.work_s)
    with pytest.raises(UsageError, match="broker c: a message costs it nothing"):
        made(text, capacities={"c": replace(speed, receive_us=0, filter_us=0, send_us=0)})


def test_a_covariance_that_is_none_is_repaired_and_told() -> None:
    stats = few()
    stats.matrix = np.diag([9.0, 4, 25, 16, 1])
    stats.matrix[2, 3] = stats.matrix[3, 2] = 30
    found = made(stats=stats)
    assert "not positive semi-definite" in found.notes[0]
    assert np.linalg.eigvalsh(found.problem.spread.matrix)[0] > -1e-9


# Risk.


def test_margins_are_those_of_the_distributions() -> None:
    one = small()
    at = np.array([0, 0, 1])
    for model in Model:
        risk = risk_of(margins(one, at, model))
        mean, variance = np.array([30.0, 30.0]), np.array([15.0, 1.0])
        if model is Model.NORMAL:
            wanted = scipy_stats.norm.sf(one.limit, mean, np.sqrt(variance))
        else:
            shape = np.sqrt(np.log1p(variance / mean**2))
            wanted = scipy_stats.lognorm.sf(one.limit, shape, scale=mean / np.exp(shape**2 / 2))
        assert np.allclose(risk, wanted, rtol=1e-9, atol=1e-300)


def test_loads_of_the_windows_of_a_trace_are_those_of_the_placement() -> None:
    counts = np.array([[10.0, 30, 0], [10, 50, 90], [0, 0, 61]])
    one = small()
    loads = loads_seen(one, np.array([0, 0, 1]), Peaks(counts, 2.0))
    wanted = [
        [(one.work_s[0, :2] * row[:2]).sum() / 2, one.work_s[1, 2] * row[2] / 2] for row in counts
    ]
    assert loads == pytest.approx(np.array(wanted))
    rows = peaks_of(made(), csr_array(np.eye(5)[:2]), 2.0)
    assert rows.counts.tolist() == [[1, 0, 0], [1, 0, 0]]


def test_a_broker_at_its_capacity_never_ends() -> None:
    assert delay_s(np.array([2.0, 2.0, 2.0]), np.array([0.5, 1.0, 1.5])).tolist() == [
        4,
        np.inf,
        np.inf,
    ]


def test_load_that_is_sure_to_be_too_much_is_a_loss() -> None:
    """Without any variance, what is above the limit is lost all the same."""
    one = small(matrix=np.zeros((3, 3)), limit=(40.0, 40.0))
    heavy, light = np.array([0, 0, 0]), np.array([0, 0, 1])
    assert value_of(one, heavy, Objective.EXCESS) == pytest.approx(60 - 60 * 20 / 40)
    assert value_of(one, light, Objective.EXCESS) == 60
    found, proven = best_of(one, Objective.EXCESS, effort=LITTLE)
    assert proven
    assert value_of(one, found.place, Objective.EXCESS) == 60


# Rules.


@pytest.mark.parametrize(
    ("rules", "rule", "names"),
    [
        ({"allowed": np.array([[True] * 3, [True, True, False]])}, "only", ("z", "b")),
        ({"least_margin": np.array([9.0, 9.0])}, "risk", ("a",)),
        ({"most_service_s": np.array([0.5, 2.0])}, "service_us", ("a",)),
        ({"most_delay_s": np.array([9.0, 9.0])}, "delay_us", ("a",)),
        ({"most_replication": np.array([2.0, 0.5])}, "replication", ("b",)),
        ({"most_items": np.array([1.0, 1.0])}, "items", ("a",)),
        ({"most_bytes_s": np.array([1.0, 1.0])}, "volume_bytes_s", ("a",)),
        ({"apart": ((0, 1),)}, "apart", ("x", "y", "a")),
        ({"sites": ("s",), "most_items_at": np.array([2.0])}, "site items", ("s",)),
        ({"sites": ("s",), "most_rate_at": np.array([2.0])}, "site rate", ("s",)),
        ({"today": np.array([1, 1, 1]), "most_moves": 1}, "moves", ("2 items",)),
    ],
)
def test_a_rejection_says_who_and_why(rules: Any, rule: str, names: tuple[str, ...]) -> None:
    one = with_rules(small(bytes_each=np.ones(3)), **rules)
    told = next(each for each in rejections(one, np.array([0, 0, 1])) if each.rule == rule)
    assert all(name in told.reason for name in names)
    assert told.what in (*names, "")


def test_why_not_tells_what_a_move_would_break() -> None:
    one = with_rules(small(), most_items=np.array([2.0, 1.0]), apart=((0, 2),))
    at = np.array([0, 0, 1])
    assert rejections(one, at) == []
    assert {each.rule for each in why_not(one, at, 0, 1)} == {"items", "apart"}
    assert why_not(one, at, 0, 0) == []


# Edges.


def test_edges_are_placed_without_a_word() -> None:
    alone = problem(np.array([1.0]), Spread.dense(np.eye(1)), np.array([3.0]))
    assert place(alone).place.tolist() == [0]
    one_item = problem(np.array([1.0]), Spread.dense(np.eye(1)), np.array([3.0, 9.0]))
    assert place(one_item).place.tolist() == [1]
    one_broker = small(limit=(100.0,))
    found = place(one_broker, effort=LITTLE)
    assert found.place.tolist() == [0, 0, 0]
    assert found.policies == ()
    for goal in Objective:  # nobody sends anything
        assert place(small(rate=(0.0, 0.0, 0.0)), goal, effort=LITTLE).broken == ()
    tiny = small(matrix=FLAT * 1e-16, rate=(1e-6, 2e-6, 3e-6), limit=(1.0, 1.0))
    assert margins(tiny, place(tiny, effort=LITTLE).place).tolist() == [FAR, FAR]
    huge = small(matrix=FLAT * 1e24, rate=(1e13, 2e13, 3e13), limit=(5e13, 6e13))
    assert np.array_equal(
        np.sort(margins(huge, place(huge, effort=LITTLE).place)),
        np.sort(margins(huge, best_of(huge, Objective.MARGIN)[0].place)),
    )
    assert search(small(), seed=10**30, effort=LITTLE).excess == 0


def test_all_pinned_and_no_move_allowed_leave_all_where_it_is() -> None:
    today = np.array([0, 0, 1])
    pinned = with_rules(
        small(), today=today, allowed=np.array([[True, True, False], [False, False, True]])
    )
    still = with_rules(small(), today=today, most_moves=0)
    for one in (pinned, still):
        found = place(one, effort=LITTLE)
        assert found.place.tolist() == today.tolist()
        assert found.way.moves == ()
        assert found.proven


def test_a_policy_counts_all_rules_of_survivors() -> None:
    one = small(
        limit=(90.0, 90.0, 90.0), replication=np.array([5.0, 1.0, 1.0]), bytes_each=np.ones(3)
    )
    at = np.array([0, 1, 2])
    assert policy(one, at, [0]).excess == 0
    for rules, to in (
        ({"most_replication": np.array([9.0, 9.0, 1.5])}, 1),
        ({"most_bytes_s": np.array([9.0, 99.0, 35.0])}, 1),
        (
            {
                "site": np.array([0, 1, 2]),
                "sites": ("s", "t", "u"),
                "most_rate_at": np.array([99.0, 21, 99]),
                "most_items_at": np.full(3, np.inf),
            },
            2,
        ),
        (
            {
                "site": np.array([0, 1, 2]),
                "sites": ("s", "t", "u"),
                "most_items_at": np.array([9.0, 1, 9]),
                "most_rate_at": np.full(3, np.inf),
            },
            2,
        ),
    ):
        found = policy(with_rules(one, **rules), at, [0])
        assert found.to.tolist() == [to], rules
    full = policy(with_rules(one, most_bytes_s=np.array([9.0, 25.0, 35.0])), at, [0])
    assert full.excess > 0
    assert policies(one, at, at_once=9)[-1].down == (1, 2)


def test_nothing_is_put_aside_where_it_must_not_be() -> None:
    """Two full brokers exchange their items: only a third has room, and one item may go there."""
    both = np.diag([1.0, 1.0])
    one = problem(np.array([9.0, 9.0]), Spread.dense(both), np.array([12.0, 12.0, 12.0]))
    today, goal = np.array([0, 1]), np.array([1, 0])
    for allowed, aside in (((True, False), 0), ((False, True), 1), ((False, False), None)):
        may = np.array([[True, True], [True, True], list(allowed)])
        found = way(with_rules(one, today=today, allowed=may), goal)
        parked = [move.item for move in found.moves if move.on_the_way]
        assert parked == ([] if aside is None else [aside])
        assert found.safe == (aside is not None)


def test_items_that_come_anew_are_judged_one_by_one() -> None:
    """Two that cancel each other out: with the first alone the margin is less than at both ends."""
    matrix = np.array([[100.0, -100.0], [-100.0, 100.0]])
    one = problem(np.array([1.0, 1.0]), Spread.dense(matrix), np.array([20.0]))
    found = way(one, np.array([0, 0]))
    assert [move.margin_target for move in found.moves] == pytest.approx([1.9, FAR])
    assert found.least_margin == pytest.approx(1.9)
    assert not found.safe


# Plans.


def planned(seed: int = 3, **more: Any) -> Placed:
    rng = np.random.default_rng(seed)
    loadings = rng.normal(0, 2, (9, 2))
    names = ("no", "1", "a: b", "ж/π", "#", "x y", "null", '"', "p/+")
    return place(
        problem(
            rng.uniform(2, 9, 9),
            Spread.dense(loadings @ loadings.T + np.eye(9)),
            np.full(3, 22.0),
            items=names,
            brokers=("yes", "2", "ü"),
            rules=Rules(np.ones((3, 9), bool), rng.integers(-1, 3, 9)),
        ),
        effort=LITTLE,
        **more,
    )


def test_a_plan_is_read_back_as_it_was_written() -> None:
    placed = planned()
    plan = plan_of(placed, {"federation": "f.yaml", "stats": "s"})
    read = read_plan(yaml.load(plan_text(plan), yaml.BaseLoader), "plan.yaml")
    assert read.version == plan["version"]
    assert read.items == plan["items"]
    assert read.mirrors == plan["mirrors"]
    assert [each["item"] for each in read.moves] == [each["item"] for each in plan["moves"]]
    assert set(read.brokers) == {"yes", "2", "ü"}
    assert read.made_from["federation"] == "f.yaml"
    assert read.made_from["digest"] == digest_of(placed.problem)
    item, at = next(iter(plan["items"].items()))
    other = next(name for name in ("yes", "2") if name != at)
    changed = plan_text({**plan, "items": {**plan["items"], item: other}})
    with pytest.raises(UsageError, match="changed by hand"):
        read_plan(yaml.load(changed, yaml.BaseLoader), "plan.yaml")
    for text in ("", "[]", "plan: x", "plan: ropewalk plan 1", "just text"):
        with pytest.raises(UsageError, match=r"plan\.yaml"):
            read_plan(yaml.load(text, yaml.BaseLoader), "plan.yaml")


def test_the_risk_of_a_move_is_told_where_some_items_are_nowhere_today() -> None:
    placed = planned()
    assert placed.today is None
    start = risk_of(margins(placed.problem, placed.problem.rules.today)).sum()
    end = risk_of(margins(placed.problem, placed.place)).sum()
    told = sum(each["risk_less"] for each in plan_of(placed, {})["moves"])
    assert told == pytest.approx(start - end, abs=1e-4)


def test_the_same_seed_gives_the_same_plan_on_any_number_of_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = set()
    for cores in (1, 2, 7):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        placed = planned()
        texts.add((plan_text(plan_of(placed, {})), placed.cases.text()))
    assert len(texts) == 1
    assert json.loads(texts.pop()[1])["version"]


def test_the_product_costs_the_least_margin_next_to_nothing() -> None:
    rng = np.random.default_rng(5)
    loadings = rng.normal(0, 2, (30, 3))
    one = problem(
        rng.uniform(2, 9, 30), Spread.factors(loadings, rng.uniform(1, 4, 30)), np.full(4, 50.0)
    )
    effort = Effort(40_000, 20, 3)
    found = search(one, effort=effort)
    plain = search(one, effort=effort, goal=1e9)  # ends before the product is asked for
    first = max(plain.value, found.value)
    assert found.value >= first - SLACK * abs(first) - 1e-9 or plain.value < found.value
    assert margins(one, found.place).min() == pytest.approx(found.value)


# Rivals.


def test_rivals_keep_to_where_items_may_be() -> None:
    one = with_rules(small(), allowed=np.array([[True, False, True], [True, True, False]]))
    start = round_robin(one)
    assert one.rules.allowed[start, np.arange(3)].all()
    bred = genetic(one, start, size=20, generations=20)
    assert one.rules.allowed[bred.place, np.arange(3)].all()
    assert bred.value == pytest.approx(value_of(one, bred.place, Objective.PRODUCT), abs=1e-9)
    assert bred.value >= value_of(one, start, Objective.PRODUCT) - 1e-9
    assert standings(one, bred.place)[0].limit == 50
