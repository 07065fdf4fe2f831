"""Differences in meaning, and the assertions for users' own tests."""

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk import UsageError, difference, loads
from ropewalk.federation.facts import Federation, Link, Route
from ropewalk.federation.generators import generate
from ropewalk.federation.saving import save
from ropewalk.testing import (
    assert_delivers,
    assert_no_loops,
    assert_same_meaning,
    assert_survives,
)
from ropewalk.verify import Verdict, Verification, verify
from tests.conftest import Run
from tests.laws.oracle import random_federation, random_route


@pytest.fixture
def six() -> Federation:
    return generate("six-broker")


def misrouted(federation: Federation) -> Federation:
    return replace(federation, routes=(Route(at="b4", to="b5", next="b6"), *federation.routes))


def test_the_same_meaning_written_otherwise_is_no_difference(six: Federation) -> None:
    """Without its hand-made table the six-broker model routes as the computed one does."""
    assert difference(six, replace(six, routes=())).empty
    turned = replace(six, topics=dict(reversed(six.topics.items())), links=six.links[::-1])
    assert difference(six, turned).empty


def test_losses_are_told_with_failures_and_both_paths(six: Federation) -> None:
    found = difference(six, misrouted(six), failures=["links=1"])
    (lost,) = found.changes
    assert (lost.kind, lost.source, lost.to, lost.topics) == ("lost", "b1", "b5", ("A",))
    assert lost.failures == ("none", "b2--b3")
    assert lost.old_path == ("b1", "b2", "b4", "b5")
    assert lost.new_path == ("b1", "b2", "b4", "b6", "b4")
    back = difference(misrouted(six), six, failures=["links=1"])
    assert [one.kind for one in back.changes] == ["gained"]


def test_a_new_link_changes_paths_and_survives_more(six: Federation) -> None:
    linked = replace(six, links=(*six.links, Link(between=("b1", "b5"))))
    found = difference(six, linked)
    assert {one.kind for one in found.changes} == {"gained", "changed"}
    assert found.frame().columns.tolist() == ["change", "from", "to", "failure", "old_path"]
    assert set(found.frame()["failure"]) & {"b2--b4"}


def test_topics_that_come_and_go_are_told_apart(six: Federation) -> None:
    fewer = replace(six, topics={k: v for k, v in six.topics.items() if k != "D"})
    assert difference(six, fewer).only_old == (("D", "b6", "b3"),)
    assert difference(fewer, six).only_new == (("D", "b6", "b3"),)


@given(st.integers(0, 2**32))
@settings(max_examples=40)
def test_a_difference_is_what_two_verifications_differ_by(seed: int) -> None:
    """Delivered pairs: those of the old, and what is gained, without what is lost."""
    rng = Random(seed)
    old = random_federation(rng)
    route = random_route(rng, list(old.brokers), old.links)
    new = replace(old, routes=(route, *old.routes))
    found = difference(old, new, failures=["any=1"])
    before, after = (
        _delivered(verify(one, failures=["any=1"], pairs="topics")) for one in (old, new)
    )
    told = {
        kind: {
            (failure, one.source, one.to)
            for one in found.changes
            if one.kind == kind
            for failure in one.failures
        }
        for kind in ("lost", "gained")
    }
    # A pair counts twice if some of its topics stay in their domain: those may fare otherwise.
    assert told["lost"] == {one[:3] for one in before - after}
    assert told["gained"] == {one[:3] for one in after - before}


def _delivered(result: Verification) -> set[tuple[str, str, str, bool]]:
    """(failure, source, destination, local) of every pair of brokers that is delivered."""
    from ropewalk.verify.cases import cases_of, own_scenarios, scenario_names, triples_of

    check = result.check
    common = sorted({one[1:] for one in triples_of(check.federation, "topics")})
    names = scenario_names(result)
    own = own_scenarios(result, names)
    cases = cases_of(result, triples_of(check.federation, "topics"), common, own)
    import numpy as np

    keys = np.arange(len(names) * len(common), dtype=np.int64)
    fates, _ = cases.at(keys)
    return {
        (names[key // len(common)], *common[key % len(common)])
        for key in keys[fates == Verdict.DELIVERED].tolist()
    }


def test_diff_exits_with_1_only_where_meaning_differs(
    ropewalk: Run, six: Federation, tmp_path: Path
) -> None:
    save(six, tmp_path / "old.yaml")
    save(replace(six, routes=()), tmp_path / "same.yaml")
    save(misrouted(six), tmp_path / "new.yaml")
    same = ropewalk("diff", tmp_path / "old.yaml", tmp_path / "same.yaml")
    assert (same.code, "mean the same" in same.out) == (0, True)
    ran = ropewalk("diff", tmp_path / "old.yaml", tmp_path / "new.yaml", "--json")
    assert (ran.code, ran.document["summary"]["lost_pairs"]) == (1, 1)
    assert ropewalk("diff", tmp_path / "old.yaml", tmp_path / "missing.yaml").code == 2


def test_assertions_hold_where_they_should(six: Federation) -> None:
    assert_delivers(six)
    assert_delivers(six, topic="B", within_hops=2)
    assert_delivers(generate("ring", brokers=5, topics=4), failures=["links=1"])
    assert_no_loops(six)
    assert_survives(six)
    assert_same_meaning(six, replace(six, routes=()))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda f: assert_delivers(misrouted(f), topic="A"), "b1 > b2 > b4 > b6 > b4"),
        (lambda f: assert_delivers(f, failures=["links=1"]), "no routing could help"),
        (lambda f: assert_delivers(f, topic="Z"), "no topic 'Z'"),
        (lambda f: assert_delivers(f, topic="A", within_hops=1), "takes 3 hops, and 1 are allowed"),
        (lambda f: assert_delivers(f, topic="A", publisher="b2"), "nothing to deliver"),
        (lambda f: assert_no_loops(misrouted(f)), "b4 > b6 > b4"),
        (lambda f: assert_survives(misrouted(f)), "V002"),
        (lambda f: assert_same_meaning(f, misrouted(f)), "no longer delivered"),
    ],
)
def test_assertions_fail_with_the_witness(six: Federation, call: object, told: str) -> None:
    with pytest.raises(AssertionError, match=told.replace("(", r"\(")):
        call(six)  # type: ignore[operator]


def test_other_topics_do_not_fail_an_assertion_on_one(six: Federation) -> None:
    assert_delivers(misrouted(six), topic="D")
    assert_delivers(misrouted(six), topic="A", subscriber="b2")


def test_failures_that_neither_side_knows_are_refused(six: Federation) -> None:
    with pytest.raises(UsageError, match="link=1"):
        difference(six, six, failures="link=1")


def test_a_requirement_is_no_difference(six: Federation) -> None:
    survive = replace(six.requirements.survive, links=2)
    stricter = replace(six, requirements=replace(six.requirements, survive=survive))
    assert difference(six, stricter).empty


def test_without_topics_all_pairs_are_compared(six: Federation) -> None:
    bare = replace(six, topics={}, routes=())
    looped = replace(bare, routes=(Route(at="b4", to="b5", next="b6"),))
    assert not difference(bare, looped).empty


def test_groups_with_other_members_are_matched_by_name() -> None:
    def of(first: str, second: str) -> Federation:
        return loads(
            "{federation: g, brokers: {a: , b: , c: },"
            f" links: [{{between: [a, b], risk_groups: [{first}]}},"
            f" {{between: [b, c], risk_groups: [{second}]}}],"
            " topics: {t: {publishers: [a], subscribers: [b]}}}"
        )

    found = difference(of("g1, g2", ""), of("g1, g2", "g1"), failures=["groups"])
    assert found.empty  # a--b is down in both, whatever else is


def test_a_bridged_pair_is_told_with_its_topic_and_way() -> None:
    def of(direction: str) -> Federation:
        return loads(
            "{federation: b, brokers: {a: , c: },"
            f" bridges: [{{from: a, to: c, direction: {direction}}}],"
            " topics: {t: {publishers: [a], subscribers: [c]}}}"
        )

    (gained,) = difference(of("in"), of("out"), failures=["none"]).changes
    assert (gained.kind, gained.topics, gained.new_path) == ("gained", ("t",), ("a", "c"))


def test_an_edit_of_more_than_routes_is_verified_in_full(six: Federation) -> None:
    result = verify(six, failures=["links=1"])
    fewer = replace(six, links=six.links[:-1], routes=())
    for edited in (fewer, replace(six, links=(*six.links, Link(between=("b1", "b5"))))):
        full = verify(edited, failures=["links=1"])
        assert result.after(edited).fates.tolist() == full.fates.tolist()
    turned = replace(six, brokers=dict(reversed(six.brokers.items())))
    assert result.after(turned).fates[0].tolist() == verify(turned).fates[0].tolist()


def test_a_topic_is_asserted_with_the_patterns_that_meet_it() -> None:
    federation = loads(
        "{federation: p, brokers: {a: , b: , c: }, links: [{between: [a, b]}],"
        " topics: {p/x: {publishers: [a]}, 'p/#': {publishers: [b], subscribers: [c]},"
        " 'q': {publishers: [a], subscribers: [b]}}}"
    )
    with pytest.raises(AssertionError, match="p/x from a to c has no path"):
        assert_delivers(federation, topic="p/x")
    assert_delivers(federation, topic="q")
    assert_delivers(federation, publisher="a", subscriber="b")
    with pytest.raises(AssertionError, match="no broker 'z'"):
        assert_delivers(federation, publisher="z")


def test_a_bridge_that_saved_a_pair_from_a_failure_is_missed() -> None:
    def of(bridges: str) -> Federation:
        return loads(
            "{federation: b, brokers: {a: , b: , c: },"
            " links: [{between: [a, b]}, {between: [b, c]}],"
            f" bridges: [{bridges}], topics: {{t: {{publishers: [a], subscribers: [c]}}}}}}"
        )

    saved = of("{from: a, to: c, patterns: [t]}")
    (lost,) = difference(saved, of(""), failures=["links=1"]).changes
    assert (lost.kind, lost.failures) == ("lost", ("a--b", "b--c"))
    assert len(verify(saved, failures=["links=1"]).cases()) == 0


def test_a_failure_of_parts_that_one_side_lacks_is_that_of_the_others() -> None:
    def of(more: str, link: str) -> Federation:
        return loads(
            f"{{federation: p, brokers: {{a: , b: {more}}}, links: [{{between: [a, b]}}{link}],"
            " topics: {t: {publishers: [a], subscribers: [b]}}}"
        )

    old, new = of(", x: ", ", {between: [b, x]}"), of("", "")
    assert difference(old, new, failures=["a--b+x"]).empty


def test_topics_of_one_side_alone_change_nothing_for_the_others() -> None:
    def of(topics: str) -> Federation:
        return loads(
            "{federation: b, brokers: {a: , b: }, bridges: [{from: a, to: b, patterns: [t]}],"
            f" topics: {{t: {{publishers: [a], subscribers: [b]}}{topics}}}}}"
        )

    found = difference(of(""), of(", u: {publishers: [a], subscribers: [b]}"), failures=["none"])
    assert (found.changes, found.only_new) == ((), (("u", "a", "b"),))


@given(st.integers(0, 2**32))
@settings(max_examples=40)
def test_cases_list_every_pair_and_failure_that_is_not_delivered(seed: int) -> None:
    """As many as are counted, in every failure; and findings name as many scenarios."""
    result = verify(random_federation(Random(seed)), failures=["any=1"], pairs="topics")
    cases = result.cases().explode("topics")
    bad = {one.name.lower() for one in Verdict} - {"delivered", "cut"}
    for one, counted in zip(result.frame().itertuples(), result.fates, strict=True):
        told = cases[(cases["failure"] == one.failure) & cases["fate"].isin(bad)]
        assert told.empty == (not counted[1:6].any())
    gone = cases[cases["fate"].isin(["cut", "stranded"])]
    assert set(gone["failure"]) == {
        result.check.scenarios.name(int(k)) for k in np.flatnonzero(result.fates[:, Verdict.CUT])
    }
