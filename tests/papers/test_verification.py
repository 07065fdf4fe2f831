"""Jia 2014, chapter 5 and 6.4: what its text says of its models, and where its method misses."""

from dataclasses import replace

import pytest

from ropewalk.federation.facts import Federation, Route
from ropewalk.federation.generators import generate
from ropewalk.verify import Verdict, verify
from ropewalk.verify.locate import Observation, locate
from ropewalk.verify.reconfiguration import breaches
from ropewalk.verify.result import Verification
from ropewalk.verify.smv import paths_model
from ropewalk.verify.subpaths import Rule, paths_of, select
from ropewalk.verify.takeover import homes_of
from tests.laws.smv_oracle import parse, verdicts


def names(result: Verification, *brokers: int) -> list[str]:
    return [result.check.graph.names[b] for b in brokers]


def misrouted() -> Federation:
    """5.2.5: broker 4 cannot see broker 5 and sends everything for it to broker 6."""
    federation = generate("six-broker")
    return replace(federation, routes=(Route(at="b4", to="b5", next="b6"), *federation.routes))


def test_every_topic_of_the_six_brokers_is_delivered() -> None:
    result = verify(generate("six-broker"), failures=[])
    assert result.ok
    assert result.summary["delivered"] == 6


def test_the_misrouted_topic_does_not_arrive_and_the_path_is_the_papers() -> None:
    """5.2.5 traces 1, 2, 4, 6 and says that it stays at 6; by table 5-1 broker 6 returns it to 4."""
    result = verify(misrouted(), failures=[])
    assert result.outcome == "findings"
    (found,) = result.findings
    witness = found.witness
    assert isinstance(witness, dict)
    assert witness["topics"] == ["A"]
    assert witness["path"] == ["b1", "b2", "b4", "b6", "b4"]


def test_table_5_4_is_what_taking_over_broker_1_makes_of_table_5_2() -> None:
    result = verify(generate("six-broker"), failures=["b1"])
    check = result.check
    moved = {
        (check.demand.topics(int(pair))[0], *names(result, int(source), int(to)))
        for source, to, pair in zip(
            check.moves.source, check.moves.to, check.moves.pair, strict=True
        )
    }
    assert moved == {("A", "b2", "b2"), ("A", "b2", "b5"), ("C", "b5", "b3")}
    assert result.fates[1].tolist() == [6, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("failure", [f"b{i}" for i in range(1, 7)])
def test_the_seven_scenarios_fail_only_where_the_graph_is_cut(failure: str) -> None:
    result = verify(generate("six-broker"), failures=[failure])
    assert result.ok
    assert result.fates[1, Verdict.DELIVERED] + result.fates[1, Verdict.CUT] == 6


def test_the_thesis_rule_leaves_about_eight_paths_and_the_sound_one_twenty() -> None:
    """Table 5-9 prints 8 to 9 of any number; its caption says fifty brokers."""
    plain = replace(generate("six-broker"), routes=())
    check = verify(plain, failures=[], pairs="all").check
    assert len(select(check, rule="paper").tested) in (8, 9)
    assert len(select(check).tested) == 20
    assert verify(plain, failures=[], pairs="all").summary["paths_tested"] == 20


def test_the_thesis_rule_misses_a_loop_on_a_prefix() -> None:
    """The control: every path that it tests is delivered, and messages for broker 4 go round."""
    federation = replace(
        generate("six-broker"), routes=(Route(at="b2", to="b4", next="b1"),), topics={}
    )
    result = verify(federation, failures=[], pairs="all")
    assert result.summary["loops"] > 0

    def missed(rule: Rule) -> bool:
        paths = paths_of(result.check, select(result.check, rule=rule).tested)
        return all(path[-1] == to for (_, to), path in paths.items())

    assert missed("paper")
    assert not missed("suffix")


def test_sub_paths_of_the_fifty_brokers_shrink_as_in_table_5_5() -> None:
    """The number of paths grows with the topics; what has to be tested levels off."""
    tested = {}
    for topics in (10, 100, 1000):
        federation = generate("fifty-broker", topics=topics, subscribers=5)
        result = verify(federation, failures=[])
        assert result.summary["paths_total"] >= 5 * topics
        tested[topics] = result.summary["paths_tested"]
        assert tested[topics] == len(select(result.check).tested)
    assert tested[10] > 0.8 * 50
    assert tested[1000] < 0.4 * 5000


def test_the_failed_link_of_figure_5_9_is_located() -> None:
    fifty = generate("fifty-broker")
    alone = locate(fifty, [Observation("b12", "b18", delivered=False)])
    assert "b13--b17" in map(str, alone.explanations)
    assert alone.next_test is not None
    hops = [("b12", "b14"), ("b14", "b13"), ("b17", "b18")]
    tests = [Observation(a, b, delivered=True) for a, b in hops]
    found = locate(fifty, [Observation("b12", "b18", delivered=False), *tests])
    assert [str(one) for one in found.explanations] == ["b13--b17"]


def test_the_failed_broker_of_figure_5_10_is_located() -> None:
    near = [Observation(one, "b17", delivered=False) for one in ("b13", "b16", "b18")]
    found = locate(generate("fifty-broker"), near)
    assert [str(one) for one in found.explanations] == ["b17"]


def test_the_rules_5_1_and_5_3_hold_for_the_three_brokers() -> None:
    assert list(breaches(homes_of(generate("three-broker")))) == []


def test_clients_that_do_not_return_break_rule_5_3() -> None:
    def stays(broker: int, takers: tuple[int, ...], down: frozenset[int], was_at: int) -> int:
        if was_at not in down:
            return was_at
        return next((one for one in takers if one not in down), -1)

    found = list(breaches(homes_of(generate("three-broker")), homing=stays))
    assert {one.rule for one in found} >= {"5-3"}
    assert {one.broker for one in found} == {0, 1, 2}


def test_clients_that_go_nowhere_break_rule_5_1() -> None:
    def lost(broker: int, takers: tuple[int, ...], down: frozenset[int], was_at: int) -> int:
        return broker if broker not in down else -1

    found = list(breaches(homes_of(generate("three-broker")), homing=lost))
    assert {one.rule for one in found} == {"5-1"}


def test_the_model_of_section_5_2_3_has_the_papers_transitions() -> None:
    model = paths_model(verify(generate("six-broker"), failures=[]).check)
    printed = ["loc = 1 & dest = 5 : 2", "loc = 2 & dest = 5 : 4", "loc = 4 & dest = 6 : 6"]
    assert all(f"      {line};" in model for line in printed)
    assert all(verdicts(parse(model)))
    broken = paths_model(verify(misrouted(), failures=[]).check)
    assert not all(verdicts(parse(broken)))


def test_the_model_of_section_6_4_has_the_colours_of_tables_6_6_to_6_9() -> None:
    """Colour 2 is link 1-2 down, 3 is 1-3, 4 is 2-3, as the tables of brokers 2 and 3 have it."""
    check = verify(generate("three-broker"), failures=["links=1"], pairs="all").check
    model = paths_model(check)
    assert "--   colour 2 is b1--b2" in model
    printed = {(2, 1, 2): 3, (2, 3, 4): 1, (3, 1, 3): 2, (3, 2, 4): 1}
    for (loc, dest, colour), hop in printed.items():
        assert f"      colour = {colour} & loc = {loc} & dest = {dest} : {hop};" in model
    assert all(verdicts(parse(model)))
