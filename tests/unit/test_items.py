"""Items: which topics they hold, where they are today, where they may be."""

import pytest

from ropewalk.federation import Federation, loads
from ropewalk.federation.items import brokers_for, items_of, place_of
from ropewalk.federation.limits import Limits, Placement, PlacementLimits

HEAD = """
federation: f
sites: {north: , south: }
domains: {d: {gateways: [a], edges: [b]}, e: {gateways: [c]}}
brokers: {a: {site: north}, b: {site: south}, c: {site: north}, lone: }
"""


def with_topics(**topics: str) -> Federation:
    rows = [f"  {name}: {{{text}}}\n" for name, text in topics.items()]
    return loads(HEAD + "topics:\n" + "".join(rows))


def test_topics_in_no_item_are_items_of_their_own_after_the_others() -> None:
    federation = loads(
        HEAD + "topics: {t: &t {publishers: [a]}, u: *t, v: *t}\nitems: {i: [v, t]}\n"
    )
    assert items_of(federation) == {"i": ("t", "v"), "u": ("u",)}
    assert list(items_of(federation)) == ["i", "u"]


def test_a_pattern_takes_what_it_stands_for_unless_another_item_names_it() -> None:
    federation = loads(
        HEAD + "topics: {p/#: &t {publishers: [a]}, p/+: *t, p/x: *t, p: *t, q/x: *t, '#': *t}\n"
        "items: {all: [p/#], one: [p/x]}\n"
    )
    assert items_of(federation) == {
        "all": ("p/#", "p/+", "p"),
        "one": ("p/x",),
        "q/x": ("q/x",),
        "#": ("#",),
    }


def test_of_two_patterns_the_first_in_the_file_takes_a_topic() -> None:
    federation = loads(
        HEAD + "topics: {p/+: &t {publishers: [a]}, +/x: *t, p/x: *t}\n"
        "items: {second: [+/x], first: [p/+]}\n"
    )
    assert items_of(federation) == {"second": ("+/x", "p/x"), "first": ("p/+",)}


@pytest.mark.parametrize(
    ("t", "u", "place"),
    [
        ("publishers: [a]", "publishers: [{broker: a, client: x}]", "a"),
        ("publishers: [a]", "publishers: [b]", None),
        ("publishers: [a], contract: {home: c}", "publishers: [b]", "c"),
        ("publishers: [a], contract: {home: c}", "publishers: [a], contract: {home: b}", None),
    ],
)
def test_an_item_is_at_the_one_home_of_its_topics_or_at_their_publishers(
    t: str, u: str, place: str | None
) -> None:
    text = HEAD + f"topics: {{t: {{{t}}}, u: {{{u}}}}}\nitems: {{i: [t, u]}}\n"
    assert place_of(loads(text), "i") == place
    assert place_of(loads(text + "placement: {at: {i: lone}}\n"), "i") == "lone"


def test_a_topic_of_a_domain_stays_in_the_domains_of_its_publishers() -> None:
    federation = with_topics(
        t="publishers: [b], scope: domain",
        u="publishers: [c, b], scope: domain",
        v="publishers: [lone], scope: domain",
        w="publishers: [a]",
    )
    assert [brokers_for(federation, item) for item in "tuvw"] == [
        ("a", "b"),
        ("a", "b", "c"),
        ("lone",),
        ("a", "b", "c", "lone"),
    ]


def test_an_item_is_left_what_all_its_topics_allow() -> None:
    text = (
        HEAD + "topics: {t: {publishers: [a, c], scope: domain}, u: {publishers: [c], scope: "
        "domain}, v: {publishers: [b]}}\nitems: {i: [t, u, v]}\n"
    )
    assert brokers_for(loads(text), "i") == ("c",)


def test_only_names_brokers_or_sites() -> None:
    text = HEAD + "topics: {t: {publishers: [a]}}\nplacement: {only: {t: [lone, 'site:north', a]}}"
    assert brokers_for(loads(text), "t") == ("a", "c", "lone")


def test_what_is_no_item_has_no_place() -> None:
    with pytest.raises(KeyError):
        place_of(with_topics(t="publishers: [a]"), "x")
    with pytest.raises(KeyError):
        brokers_for(with_topics(t="publishers: [a]"), "x")


def test_a_broker_without_limits_of_its_own_has_those_of_all() -> None:
    placement = Placement(
        limits=PlacementLimits(risk=0.01, items=9, moves=3), brokers={"a": Limits(items=0)}
    )
    assert placement.limits_of("a") == Limits(risk=0.01, items=0)
    assert placement.limits_of("b") == Limits(risk=0.01, items=9)
