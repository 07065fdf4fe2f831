"""Laws of contracts: rules say what sets and networkx say, and what they say of themselves holds."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contenders.plain_styles import broken as plainly_broken
from contenders.plain_styles import sets_of
from ropewalk.federation.facts import Broker, Contract, Federation, Link, Survive, Topic
from ropewalk.federation.generators import generate
from ropewalk.federation.names import link_name
from ropewalk.federation.topics import common, meeting_across
from ropewalk.overlay.rules import matches, rules_of
from ropewalk.routing.ground import connected_parts
from ropewalk.verify import verify
from ropewalk.verify.contracts import (
    RULES,
    check,
    compose,
    read,
    smallest,
    style_of,
    style_of_facts,
)
from ropewalk.verify.contracts.breach import SHOWN, Broken
from ropewalk.verify.contracts.composition import PRESERVED
from ropewalk.verify.contracts.facts import KINDS, SORTS, Fact
from ropewalk.verify.contracts.falling import Ends, Falls
from ropewalk.verify.contracts.following import leads
from ropewalk.verify.contracts.governing import cells_of
from ropewalk.verify.contracts.graphs import cuts_of
from ropewalk.verify.contracts.relations import rows
from ropewalk.verify.contracts.rules import Checked
from ropewalk.verify.contracts.style import Style
from ropewalk.verify.contracts.union import unite
from tests.laws.oracle import random_federation
from tests.laws.styles import EVERY, NAMES, random_facts, scoped

seeds = st.integers(0, 2**32)
patterns = st.sampled_from(["a", "b", "a/b", "a/+", "+/b", "a/#", "#", "+", "a/b/c", "b/#"])


def said(broken: dict[str, Broken]) -> dict[str, tuple[int, set[str]]]:
    """What rules say, so that two answers can be compared; of many breaches only how many.

    Rules of the graph as a whole tell their breaches by examples: by which depends on numbers.
    """
    return {
        code: (one.count, set() if one.count > SHOWN or _whole(code) else _words(one))
        for code, one in broken.items()
    }


def _whole(code: str) -> bool:
    return set(RULES[code].mends) == {"dispatcher", "link"}


def _words(one: Broken) -> set[str]:
    return {breach.words for breach in one.breaches}


# --- rules ----------------------------------------------------------------------------------


@given(seeds)
@settings(max_examples=400)
def test_rules_break_where_sets_and_networkx_say_so_and_as_often(seed: int) -> None:
    rng = Random(seed)
    style = scoped(rng, style_of_facts(random_facts(rng)), rng.random() < 0.3)
    ours, theirs = check(style).broken, plainly_broken(sets_of(style))
    assert {code: one.count for code, one in ours.items()} == {
        code: len(bad) for code, bad in theirs.items()
    }


def test_random_styles_break_and_keep_every_rule() -> None:
    """Or the law above would say nothing of some of them."""
    styles = [style_of_facts(random_facts(Random(seed))) for seed in range(800)]
    found = Counter(code for style in styles for code in check(style).broken)
    assert all(5 < found[code] < 795 for code in RULES)


@given(seeds)
@settings(max_examples=300)
def test_a_dispatcher_without_clients_has_near_sources_if_all_are_attached_and_linked(
    seed: int,
) -> None:
    """S12 follows from S10 and S11, so nothing breaks it alone."""
    broken = check(style_of_facts(random_facts(Random(seed)))).broken
    assert "S12" not in broken or "S10" in broken or "S11" in broken


@given(seeds)
@settings(max_examples=200)
def test_a_rule_goes_by_the_kinds_of_facts_that_it_names(seed: int) -> None:
    facts = random_facts(Random(seed))
    broken = check(style_of_facts(facts)).broken
    for code, rule in RULES.items():
        alone = rule.breaches(style_of_facts(fact for fact in facts if fact[0] in rule.reads))
        assert said({code: alone}) == said({code: broken.get(code, Broken())}), code


@given(seeds)
@settings(max_examples=400)
def test_only_the_facts_that_a_rule_names_mend_a_breach(seed: int) -> None:
    rng = Random(seed)
    facts = random_facts(rng)
    before = check(style_of_facts(facts)).broken
    more = rng.choice(EVERY)
    after = check(style_of_facts([*facts, more])).broken if more not in facts else before
    for code, one in before.items():
        if one.count <= SHOWN:
            still = _words(after.get(code, Broken()))
            mended = [b for b in one.breaches if b.words not in still]
            assert not mended or more[0] in RULES[code].mends, code
            assert all(_may_mend(code, more, b.names) for b in mended), code


def _may_mend(code: str, fact: Fact, names: tuple[str, ...]) -> bool:
    return all(fact[1 + place] in names for place in RULES[code].mends.get(fact[0], ()))


def test_every_kind_of_fact_matters_to_some_rule() -> None:
    assert set(KINDS) == frozenset[str]().union(*(rule.reads for rule in RULES.values()))
    assert all(set(rule.mends) <= rule.reads for rule in RULES.values())
    assert set(NAMES) == {sort for sorts in SORTS.values() for sort in sorts}


# --- what rules stand on --------------------------------------------------------------------


@given(seeds)
@settings(max_examples=200)
def test_cut_vertices_and_cut_edges_are_those_of_networkx(seed: int) -> None:
    rng = Random(seed)
    graph = nx.gnm_random_graph(rng.randint(1, 12), rng.randint(0, 16), seed=rng.randint(0, 999))
    cuts = cuts_of(rows(list(graph.edges), 2), len(graph))
    assert sorted(v for v, _, _ in cuts.vertices) == sorted(nx.articulation_points(graph))
    assert {frozenset(e) for e in cuts.edges} == {frozenset(e) for e in nx.bridges(graph)}
    for vertex, one, other in cuts.vertices:
        without = nx.restricted_view(graph, [vertex], [])
        assert not nx.has_path(without, one, other)


@given(seeds)
@settings(max_examples=200)
def test_what_hangs_below_a_cut_is_a_run_of_places_and_a_part_of_its_own(seed: int) -> None:
    rng = Random(seed)
    graph = nx.gnm_random_graph(rng.randint(1, 12), rng.randint(0, 16), seed=rng.randint(0, 999))
    cuts = cuts_of(rows(list(graph.edges), 2), len(graph))
    assert sorted(cuts.place.tolist()) == list(range(len(graph)))

    def run(child: int) -> set[int]:
        low, many = cuts.place[child], cuts.below[child]
        return {v for v in graph if low <= cuts.place[v] < low + many}

    for above, child in cuts.edges:
        without = nx.restricted_view(graph, [], [(above, child)])
        assert run(child) == nx.node_connected_component(without, child)
    assert {v for v, _ in cuts.hanging} == {v for v, _, _ in cuts.vertices}
    for vertex, child in cuts.hanging:
        without = nx.restricted_view(graph, [vertex], [])
        assert run(child) == nx.node_connected_component(without, child)


@given(seeds)
@settings(max_examples=200)
def test_entries_lead_where_networkx_finds_a_path(seed: int) -> None:
    rng = Random(seed)
    table = [(rng.randrange(6), rng.randrange(2), rng.randrange(-2, 6)) for _ in range(12)]
    asked = [(rng.randrange(2), rng.randrange(6), rng.randrange(6)) for _ in range(20)]
    found = leads(rows(table, 3), rows(asked, 3), 6)
    for (topic, one, other), answer in zip(asked, found, strict=True):
        graph = nx.DiGraph([(a, b) for a, t, b in table if t == topic and b >= 0])
        graph.add_nodes_from(range(6))
        assert answer == nx.has_path(graph, one, other)


@given(seeds)
@settings(max_examples=300)
def test_an_order_stops_in_the_failures_in_which_parts_cut_one_by_one_say_so(seed: int) -> None:
    rng = Random(seed)
    many = rng.randint(2, 11)
    graph = nx.gnm_random_graph(many, rng.randint(1, 15), seed=rng.randint(0, 999))
    largest = max(nx.connected_components(graph), key=len)
    draw = [np.array(rng.sample(sorted(largest), rng.randint(1, len(largest)))) for _ in range(2)]
    ends = Ends(draw[0], draw[1], draw[1], rng.choice(sorted(largest)))
    bare, joined = _bare(many, list(graph.edges)).graph, graph.subgraph(largest)
    survive = Survive(links=rng.randint(0, 1), brokers=rng.randint(0, 1))
    falls = Falls(bare, cuts_of(bare.ends, many), connected_parts(bare), survive)
    found = {falls.name(i) for i in np.flatnonzero(falls.stopping(ends)).tolist()}
    links = nx.bridges(joined) if survive.links and joined.edges else ()
    brokers = nx.articulation_points(joined) if survive.brokers else ()
    expected = {
        link_name(f"b{a}", f"b{b}")
        for a, b in links
        if _waits(nx.restricted_view(graph, [], [(a, b)]), ends, many)
    }
    alone = {b: nx.restricted_view(graph, [b], []) for b in brokers}
    assert found == expected | {f"b{b}" for b, rest in alone.items() if _waits(rest, ends, many)}


def _bare(brokers: int, links: list[tuple[int, int]]) -> Federation:
    return Federation(
        name="bare",
        brokers={f"b{i}": Broker() for i in range(brokers)},
        links=tuple(Link(between=(f"b{a}", f"b{b}")) for a, b in links),
    )


def _waits(left: nx.Graph, ends: Ends, many: int) -> bool:
    """Whether somebody could be delivered to and nobody gives numbers there."""
    for part in nx.connected_components(left):
        numbered = ends.home in part or part.issuperset(ends.every.tolist())
        served = part.intersection(ends.sources.tolist()) and part.intersection(
            ends.readers.tolist()
        )
        if served and not (2 * len(part) > many and numbered):
            return True
    return False


@given(st.lists(patterns, unique=True, min_size=1))
@settings(max_examples=200)
def test_a_name_is_governed_as_agents_have_it(entries: list[str]) -> None:
    """Who publishes and who subscribes meet in cells of the entry by which agents go, and no other.

    Names of up to four levels, with one that no pattern has, stand for all.
    """
    topics = {name: Topic(contract=Contract(priority=i)) for i, name in enumerate(entries)}
    agents = rules_of(Federation(name="f", brokers={}, topics=topics))
    cells = cells_of(entries)
    sides = (Counter(map(tuple, side.tolist())) for side in (cells.published, cells.subscribed))
    published, subscribed = sides
    found = {
        (int(cells.topic[cell]), p, s)
        for (cell, p), (other, s) in product(published, subscribed)
        if cell == other
    }
    expected = set()
    for name in ("/".join(some) for n in (1, 2, 3, 4) for some in product("abcz", repeat=n)):
        fitting = [i for i, one in enumerate(entries) if matches(one, name)]
        expected |= {(agents.of(name).priority, p, s) for p, s in product(fitting, fitting)}
    assert found == expected


# --- the style of a federation --------------------------------------------------------------


@given(seeds)
@settings(max_examples=100)
def test_tables_of_a_federation_lose_nothing_where_messages_arrive(seed: int) -> None:
    """S13 and S14 break where somebody is owed a message that does not arrive, and only there.

    Sources share the entries of a topic, and hand-made routes or edges without transit may tell
    them apart: then entries that lead one of them are no way for the other.
    """
    federation = random_federation(Random(seed))
    result = verify(federation, failures=["none"], pairs="topics")
    style = style_of(federation)
    broken = check(style).broken
    assert set(broken) <= {"S4", "S5", "S6", "S13", "S14"}
    joined = style.parts
    lost = [
        (row["from"], row["to"])
        for row in result.cases().to_dict("records")
        if row["fate"] not in ("too_long", "leak")
        and joined[style.dispatchers.index(str(row["from"]))]
        == joined[style.dispatchers.index(str(row["to"]))]
    ]
    assert lost or not {"S13", "S14"} & broken.keys()
    if not federation.routes and federation.graph.transit.all():
        assert bool(lost) == ("S13" in broken) == ("S14" in broken)


@pytest.mark.parametrize("kind", ["waxman", "fifty-broker"])
def test_an_entry_that_is_taken_out_of_the_tables_is_missed(kind: str) -> None:
    style = style_of(generate(kind, topics=40, subscribers=3))
    assert not {"S13", "S14"} & check(style).broken.keys()
    rng = Random(kind)
    for table, code in (("sub_table", "S13"), ("adv_table", "S14")):
        entries = getattr(style, table)
        for row in rng.sample(range(len(entries)), 10):
            without = replace(style, **{table: np.delete(entries, row, axis=0)})
            assert code in check(without, [code]).broken


# --- composition ----------------------------------------------------------------------------


def pair_of(seed: int) -> tuple[Checked, Checked]:
    """Two styles; half the time no component is in both."""
    rng = Random(seed)
    mine = rng.sample(NAMES["component"], rng.randint(0, 3))
    theirs = [one for one in NAMES["component"] if one not in mine]
    apart = rng.random() < 0.5
    one = random_facts(rng, components=mine)
    other = random_facts(rng, components=theirs if apart else mine)
    scattered = rng.random() < 0.3
    styles = (scoped(rng, style_of_facts(some), scattered) for some in (one, other))
    first, second = map(check, styles)
    return first, second


@given(seeds)
@settings(max_examples=400)
def test_what_two_styles_break_together_is_what_a_check_anew_finds(seed: int) -> None:
    one, other = pair_of(seed)
    whole = compose(one, other)
    anew = check(unite(one.style, other.style).style)
    assert said(dict(whole.checked.broken)) == said(dict(anew.broken))
    assert set(whole.looked_at) | set(whole.inherited) == set(RULES)
    assert not set(whole.looked_at) & set(whole.inherited)
    assert not set(whole.inherited) & set(anew.broken)


@given(st.lists(patterns, unique=True), st.lists(patterns, unique=True))
def test_topics_of_two_styles_meet_as_they_do_in_one(ours: list[str], theirs: list[str]) -> None:
    found = set(zip(*(side.tolist() for side in meeting_across(ours, theirs)), strict=True))
    everyone = product(enumerate(ours), enumerate(theirs))
    assert found == {(i, j) for (i, a), (j, b) in everyone if common(a, b) is not None}


@given(st.lists(patterns, unique=True), st.lists(patterns, unique=True), seeds)
def test_topics_of_two_styles_meet_inside_of_domains_of_one_name(
    ours: list[str], theirs: list[str], seed: int
) -> None:
    rng = Random(seed)
    one, other = (
        scoped(rng, style_of_facts(("subscribe", "c", t) for t in some), True)
        for some in (ours, theirs)
    )
    whole = unite(one, other).style
    named = [*zip(whole.topics, map(domain_of(whole), whole.scope.tolist()), strict=True)]
    assert {*named} == {
        (topic, domain_of(style)(scope))
        for style in (one, other)
        for topic, scope in zip(style.topics, style.scope.tolist(), strict=True)
    }
    assert {(named[i], named[j]) for i, j in whole.meets.tolist()} == {
        (a, b) for a, b in product(named, named) if a[1] == b[1] and common(a[0], b[0]) is not None
    }


def domain_of(style: Style) -> Callable[[int], str]:
    return lambda scope: style.domains[scope] if scope >= 0 else ""


@pytest.mark.parametrize("rule", ["S4", "S5", "S6", "S7", "S13", "S14", "S15", "S17"])
def test_a_composition_that_inherits_too_much_is_found_out(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the law above fails for each rule that a composition can break."""
    preserved = (*PRESERVED, rule)
    monkeypatch.setattr("ropewalk.verify.contracts.composition.PRESERVED", preserved)
    assert any(
        RULES[rule].breaches(unite(one.style, other.style).style)
        and rule not in compose(one, other).checked.broken
        for one, other in map(pair_of, range(4000))
        if rule not in {*one.broken, *other.broken}
    )


def test_clients_of_two_whole_federations_meet_only_across_the_seam() -> None:
    """Two halves that share a ring of dispatchers: nothing but what lies across is looked at."""
    ring = "dispatcher a b c; link a - b; link b - c; link c - a; "
    one = check(style_of_text(ring + "producer p at a; p advertises t; a knows t from p"))
    other = check(style_of_text(ring + "consumer c1 at b; c1 subscribes t; b routes t to c1"))
    assert one.holds
    assert other.holds
    whole = compose(one, other)
    assert set(whole.checked.broken) == {"S13", "S14"}
    assert whole.looked_at["S13"] == "1 ways lead across the seam"
    assert {"S1", "S5", "S8", "S17"} <= set(whole.inherited)


def style_of_text(text: str) -> Style:
    return style_of_facts(read(text))


# --- the initialization theorem -------------------------------------------------------------


def test_nothing_satisfies_all_rules() -> None:
    """The theorem as the paper has it: there is an initial state. It is the empty one."""
    assert smallest((), most=0).facts == frozenset()


def test_the_smallest_style_in_which_somebody_is_given_something_has_eleven_facts() -> None:
    found = smallest(most=11)
    assert found.facts is not None
    assert len(found.facts) == 11
    assert check(style_of_facts(found.facts)).holds
    assert smallest(most=10).facts is None  # all styles of up to ten were tried, or ruled out


def test_from_one_dispatcher_to_another_it_takes_sixteen() -> None:
    apart = [("dispatcher", "a"), ("dispatcher", "b"), ("in", "p", "a"), ("out", "c", "b")]
    given = [("produce", "p", "e", "t"), ("receive", "c", "1", "e", "t")]
    found = smallest([*apart, *given], most=16)
    assert found.facts is not None
    assert len(found.facts) == 16
    assert smallest([*apart, *given], most=15).facts is None


@pytest.mark.parametrize("code", ["S8", "S9", "S13", "S14", "S16"])
def test_without_one_of_its_rules_a_smaller_style_lives(code: str) -> None:
    """The control: each of these rules is why the smallest has eleven facts."""
    others = [rule for rule in RULES.values() if rule.code != code]
    found = smallest(most=10, rules=others)
    assert found.facts is not None
    assert code in check(style_of_facts(found.facts)).broken


def test_the_search_agrees_with_trying_every_small_style() -> None:
    """All sets of up to five facts of one dispatcher and one component, with some that must be."""
    names = {"dispatcher": ["d0"], "component": ["k"], "topic": ["t"], "event": ["e"]}
    names["number"] = ["1"]
    every = [
        fact
        for fact in EVERY_SMALL
        if all(n in names[s] for s, n in zip(SORTS[fact[0]], fact[1:], strict=True))
    ]
    must: list[Fact] = [("subscribe", "k", "t")]
    found = smallest(must, most=6)
    assert found.facts is not None
    tried = _smallest_by_trying(every, must, most=6)
    assert tried is not None
    assert len(found.facts) == len(tried)


EVERY_SMALL: list[Fact] = [
    ("dispatcher", "d0"),
    ("producer", "k"),
    ("consumer", "k"),
    ("in", "k", "d0"),
    ("out", "k", "d0"),
    ("pull", "k", "d0"),
    ("link", "d0", "d0"),
    ("advertise", "k", "t"),
    ("sub-to", "d0", "t", "k"),
    ("sub-over", "d0", "t", "d0"),
    ("adv-of", "d0", "t", "k"),
    ("remembers", "d0"),
    ("produce", "k", "e", "t"),
]


def _smallest_by_trying(every: list[Fact], must: list[Fact], most: int) -> frozenset[Fact] | None:
    for size in range(most - len(must) + 1):
        for chosen in combinations(every, size):
            facts = frozenset((*must, *chosen))
            if check(style_of_facts(sorted(facts))).holds:
                return facts
    return None
