"""Rules of styles one by one: what breaks each, in few words, and nothing else with it."""

from pathlib import Path

import pytest

from ropewalk import generate, load, loads
from ropewalk.errors import UsageError
from ropewalk.findings import rules
from ropewalk.verify import verify
from ropewalk.verify.contracts import (
    RULES,
    Checked,
    Style,
    check,
    compose,
    read,
    style_of,
    style_of_facts,
)
from ropewalk.verify.contracts.breach import SHOWN
from ropewalk.verify.contracts.facts import Fact

STYLES = [code for code in rules() if code[0] == "S" and int(code[1:]) <= 17]
PROMISES = [code for code in rules() if code[0] == "S" and int(code[1:]) > 17]
FOLLOWS = {"S12": {"S10", "S12"}}
"""What breaks with a rule that follows from others: no style breaks it alone."""


def broken(facts: list[Fact]) -> set[str]:
    return set(check(style_of_facts(facts)).broken)


def test_rules_and_codes_are_the_same() -> None:
    assert list(RULES) == STYLES == [f"S{i}" for i in range(1, 18)]
    assert all(rule.words.endswith(".") for rule in RULES.values())


@pytest.mark.parametrize("code", STYLES)
def test_a_rules_example_breaks_that_rule_alone(code: str) -> None:
    assert broken(read(rules()[code].example)) == FOLLOWS.get(code, {code})


@pytest.mark.parametrize("code", STYLES)
def test_no_fact_of_an_example_can_be_left_out(code: str) -> None:
    """Without any one of them another rule is broken, or none."""
    facts = read(rules()[code].example)
    alone = FOLLOWS.get(code, {code})
    for i in range(len(facts)):
        assert broken(facts[:i] + facts[i + 1 :]) != alone, facts[i]


@pytest.mark.parametrize("code", PROMISES)
def test_the_example_of_a_promise_breaks_it_alone(code: str) -> None:
    assert {one.code for one in verify(loads(rules()[code].example)).findings} == {code}


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("consumer c; push x > c", "S1", "c is joined to x, which is no dispatcher"),
        (
            "dispatcher a; consumer c; push c > a",
            "S1",
            "c is joined to a as a producer, and is none",
        ),
        ("dispatcher a; link a - b", "S2", "a > b: b is no dispatcher"),
        ("dispatcher a b; link a > b", "S3", "a > b has no way back"),
        ("dispatcher a b", "S4", "no links lead from a to b"),
        ("dispatcher a b; consumer c at a b", "S5", "c is at a and b"),
        ("consumer c pulls a", "S5", "c has no dispatcher"),
        ("consumer c; c receives e of t; c starts 2", "S7", "c has two sequences"),
        ("producer c; c subscribes t", "S7", "c subscribes, and is no consumer"),
        ("consumer c; c advertises t", "S7", "c advertises, and no producer"),
        ("consumer c; c subscribes t", "S13", "t of c is known nowhere: it has no dispatcher"),
        (
            "dispatcher a b; link a - b; producer p at a; p advertises t; consumer c at b;"
            "c subscribes t; b routes t to c; a knows t from p; b knows t from a",
            "S13",
            "from a no entries lead to b, where t is wanted",
        ),
        (
            "dispatcher a b; link a - b; producer p at a; p advertises t/x; consumer c at b;"
            "c subscribes t/#; b routes t/# to c; a routes t/# to b; a knows t/x from p",
            "S14",
            "from b no entries lead to a, where t/x is published",
        ),
    ],
)
def test_a_breach_is_told_in_words(text: str, code: str, told: str) -> None:
    assert check(style_of_facts(read(text))).broken[code].breaches[0].words == told


def test_a_pattern_matches_what_it_stands_for() -> None:
    text = "consumer c; c subscribes t/#; c receives e of t/x"
    assert "S8" not in broken(read(text))
    assert "S8" in broken(read(text.replace("t/#", "t/+/y")))


def test_two_sequences_of_the_same_are_one() -> None:
    text = "consumer c; c receives e of t; c receives e of t in 2"
    assert "S7" not in broken(read(text))
    assert "S7" in broken(read(text.replace("e of t in 2", "f of t in 2")))


def test_a_tree_or_a_memory_keeps_once() -> None:
    facts = read(rules()["S15"].example)
    assert broken([*facts, ("remembers", "a")]) == set()
    tree = [fact for fact in facts if set(fact[1:]) != {"c", "a"}]
    assert broken(tree) == {"S6"}  # a tree has dispatchers that hold it together
    assert broken([fact for fact in facts if fact[0] != "once"]) == set()


TAIL = (
    "dispatcher a b c d e; link a - b; link b - c; link c - a; link a - d; link d - e;"
    "consumer k at e; k subscribes t; e routes t to k; once t"
)
TWICE = "k may get t twice at e: a cycle of links brings doubles there, and e forgets what it had"


@pytest.mark.parametrize(
    ("remember", "told"),
    [
        ("", [TWICE]),
        ("b", [TWICE]),
        ("a", []),  # beside a cycle, behind one that passes each message on once
        ("d", []),
        ("e", []),
    ],
)
def test_doubles_of_a_cycle_stop_at_the_first_that_remembers(
    remember: str, told: list[str]
) -> None:
    facts = [*read(TAIL), *(("remembers", one) for one in remember)]
    found = check(style_of_facts(facts)).broken.get("S15")
    assert [one.words for one in (found.breaches if found else ())] == told


def test_breaches_are_counted_beyond_those_told() -> None:
    many = check(style_of_facts([("consumer", f"c{i}") for i in range(50)])).broken["S5"]
    assert (many.count, len(many.breaches)) == (50, SHOWN)


@pytest.mark.parametrize(
    "text",
    [
        *("link a b", "a likes t", "push a", "link a = b", "link a - b c", "push a < c"),
        *("consumer c in a", "consumer c in", "producer p at", "dispatcher", "once", "routes"),
        *("c subscribes t u v", "p advertises t/# whatever", "a routes t from b", "a knows t to b"),
        *("c starts one", "c receives e", "c receives e of t in two", "c receives e of t in"),
        *("p produces e in t", "c receives e of t at 2"),
    ],
)
def test_what_is_no_fact_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(UsageError, match="is no fact of a style: dispatcher a b; link a - b"):
        read(f"dispatcher a; {text}")


@pytest.mark.parametrize("fact", ["c receives e of t in 2", "c starts 1", "producer p"])
def test_what_is_a_fact_is_read(fact: str) -> None:
    assert len(read(fact)) == 1


# --- federations ----------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]


def test_the_style_of_a_federation_keeps_its_clients_and_their_brokers() -> None:
    style = style_of(load(ROOT / "examples" / "trade-net.yaml"))
    named = style.components.index("feed-1")
    at = style.dispatchers.index("lon-e1")
    assert [named, at] in style.speaking.tolist()
    assert bool(style.producer[named])
    assert not style.consumer[named]
    both = style.components.index("clients of par-gw")  # publishes orders, reads prices
    assert bool(style.producer[both])
    assert bool(style.consumer[both])
    assert check(style).holds


def test_a_topic_of_a_domain_meets_only_inside_of_it() -> None:
    federation = loads(
        "{federation: f, domains: {x: {gateways: [a, b]}, y: {gateways: [c, d]}},"
        " brokers: {a: , b: , c: , d: }, links: [{between: [a, b]}, {between: [b, c]},"
        " {between: [c, d]}, {between: [d, a]}], topics: {t: {publishers: [a, c],"
        " subscribers: [b, d], scope: domain}, '#': {publishers: [a], subscribers: [d]}}}"
    )
    style = style_of(federation)
    assert check(style).holds
    names = [
        (style.dispatchers[at], style.topics[topic], int(style.scope[topic]), style.source(source))
        for at, topic, source in style.sub_table.tolist()
    ]
    assert ("a", "t", 0, "b") in names
    assert ("c", "t", 1, "d") in names
    assert not [one for one in names if one[0] == "a" and one[2] == 1]


def half(domain: str, one: str, other: str) -> Checked:
    """A ring over g and h with a domain of two brokers, and a topic that stays in it."""
    return check(
        style_of(
            loads(
                f"{{federation: f, domains: {{{domain}: {{gateways: [{one}, {other}]}}}}, brokers:"
                f" {{{one}: , {other}: , g: , h: }}, links: [{{between: [{one}, {other}]}},"
                f" {{between: [{other}, g]}}, {{between: [g, h]}}, {{between: [h, {one}]}}],"
                f" topics: {{t: {{publishers: [{one}], subscribers: [{other}], scope: domain}}}}}}"
            )
        )
    )


def test_domains_of_two_federations_are_the_same_if_they_have_the_same_name() -> None:
    assert compose(half("x", "a", "b"), half("y", "c", "d")).checked.holds
    same = compose(half("x", "a", "b"), half("x", "c", "d"))
    assert set(same.checked.broken) == {"S13", "S14"}  # a does not know that d wants it


def test_a_client_at_two_brokers_wants_at_each_what_the_file_says() -> None:
    style = style_of(
        loads(
            "{federation: f, brokers: {a: , b: , c: }, links: [{between: [a, b]}, {between: [b,"
            " c]}, {between: [c, a]}], topics: {t: {publishers: [a], subscribers: [{broker: b,"
            " client: app}]}, u: {publishers: [a], subscribers: [{broker: c, client: app}, {broker:"
            " c, client: two}]}}}"
        )
    )
    assert style.components[3:] == ("app at b", "app at c", "two")
    entries = {
        (style.dispatchers[d], style.topics[t], style.source(s)) for d, t, s in entries_of(style)
    }
    assert entries == {
        *(("a", "t", "b"), ("b", "t", "app at b")),
        *(("a", "u", "c"), ("c", "u", "app at c"), ("c", "u", "two")),
    }


def entries_of(style: Style) -> list[tuple[int, int, int]]:
    return [(at, topic, source) for at, topic, source in style.sub_table.tolist()]


@pytest.mark.parametrize("name", ["three-broker", "six-broker", "fifty-broker", "six-node"])
def test_generated_federations_break_nothing_but_what_their_graphs_lack(name: str) -> None:
    federation = generate(name)
    assert set(check(style_of(federation)).broken) <= {"S6"}
    assert [one for one in verify(federation).findings if one.code[0] == "S"] == []
