"""Krichen et al.: the schemas as printed, where they go wrong, and what our rules say there.

Predicates are written down here as the paper's Z has them, over sets and sequences, and share no
code with the product.
"""

from collections.abc import Callable, Sequence
from itertools import chain, pairwise, product
from typing import NamedTuple

import pytest

from ropewalk.federation.topics import common
from ropewalk.verify.contracts import RULES, check, read, smallest, style_of_facts

Pairs = set[tuple[str, str]]


def broken(text: str) -> set[str]:
    return set(check(style_of_facts(read(text))).broken)


# --- D_C1 (section 2) -----------------------------------------------------------------------


class DC1(NamedTuple):
    """C, D, PushD (dispatcher to consumer) and PushDD (dispatcher to dispatcher)."""

    consumers: set[str]
    dispatchers: set[str]
    push: Pairs
    links: Pairs


def pred_1(s: DC1) -> bool:
    return {d for d, _ in s.push} <= s.dispatchers and {c for _, c in s.push} <= s.consumers


def pred_2(s: DC1) -> bool:
    return set(chain(*s.links)) <= s.dispatchers


def pred_3(s: DC1) -> bool:
    return s.links == {(b, a) for a, b in s.links}


def pred_4(s: DC1) -> bool:
    """A sequence of dispatchers with both in it, each linked to the next: so one from x to y."""
    return all(y in _reached(s, x) for x, y in product(s.dispatchers, repeat=2) if x != y)


def _reached(s: DC1, start: str) -> set[str]:
    found = {start}
    while more := {b for a, b in s.links if a in found and b in s.dispatchers} - found:
        found |= more
    return found


def pred_5(s: DC1) -> bool:
    return all(sum((d, c) in s.push for d in s.dispatchers) == 1 for c in s.consumers)


PRINTED: dict[str, Callable[[DC1], bool]] = {
    "S1": pred_1,
    "S2": pred_2,
    "S3": pred_3,
    "S4": pred_4,
    "S5": pred_5,
}


def as_text(s: DC1) -> str:
    said = [f"dispatcher {d}" for d in s.dispatchers] + [f"consumer {c}" for c in s.consumers]
    said += [f"push {d} > {c}" for d, c in s.push] + [f"link {a} > {b}" for a, b in s.links]
    return "; ".join(said)


def small_schemas() -> list[DC1]:
    """All over two dispatchers that may be declared or not, and one consumer."""
    subsets = [[], ["a"], ["b"], ["a", "b"]]
    links = [(a, b) for a in "ab" for b in "ab"]
    chosen = [[one for i, one in enumerate(links) if bits >> i & 1] for bits in range(16)]
    push = [[], [("a", "c")], [("b", "c")], [("a", "c"), ("b", "c")]]
    every = product([set(), {"c"}], subsets, push, chosen)
    return [DC1(set(c), set(d), set(p), set(x)) for c, d, p, x in every]


def test_on_all_small_schemas_our_rules_are_the_printed_ones_but_for_self_loops() -> None:
    for one in small_schemas():
        ours = broken(as_text(one)) if as_text(one) else set()
        loops = any(a == b for a, b in one.links)
        for code, holds in PRINTED.items():
            if code == "S3" and loops:
                assert "S3" in ours  # and the schema may be silent
            elif code == "S4" and not (pred_2(one) and pred_3(one)):
                continue  # one-way links and undeclared ends are S2's and S3's to tell
            else:
                assert (code in ours) == (not holds(one)), (code, one)


def test_a_dispatcher_may_be_its_own_peer_by_the_schema_and_not_by_s3() -> None:
    loop = DC1(set(), {"a"}, set(), {("a", "a")})
    assert all(holds(loop) for holds in PRINTED.values())
    assert broken(as_text(loop)) == {"S3"}


def test_one_dispatcher_is_connected_and_so_is_none() -> None:
    """Pred-4 is empty there; Pred-5 asks for a dispatcher only if there is a consumer."""
    for dispatchers in ({"a"}, set[str]()):
        assert all(holds(DC1(set(), dispatchers, set(), set())) for holds in PRINTED.values())
    assert not pred_5(DC1({"c"}, set(), set(), set()))


def test_cycles_are_allowed_so_exactly_once_is_not_for_free() -> None:
    triangle = {(a, b) for a in "abc" for b in "abc" if a != b}
    schema = DC1({"d"}, set("abc"), {("a", "d")}, triangle)
    assert all(holds(schema) for holds in PRINTED.values())
    promised = f"{as_text(schema)}; d subscribes t; a routes t to d; once t"
    assert broken(promised) == {"S15"}


# --- State_Cons (section 3.2) ---------------------------------------------------------------


class Notified(NamedTuple):
    """Sub_EventsC and Notif_EventsC: relations, so that Pred-1 has something to say."""

    subscriptions: Pairs
    sequences: list[tuple[str, tuple[str, ...]]]


def state_pred_1(s: Notified) -> bool:
    """For all of the type Consumer: whoever is in the domain, declared or not."""
    return all(t == h for c, t in s.sequences for d, h in s.sequences if c == d)


def state_pred_2(s: Notified) -> bool:
    """Every notification matches one of the subscriptions that are retained now."""
    return all(
        any(c == who and common(topic, event) == event for who, topic in s.subscriptions)
        for c, some in s.sequences
        for event in some
    )


def test_state_is_not_for_members_only_by_the_schema_and_by_s7_it_is() -> None:
    stranger = Notified({("x", "t")}, [("x", ("t",))])  # no consumer of the style
    assert state_pred_1(stranger)
    assert state_pred_2(stranger)
    told = "dispatcher a; producer p at a; p advertises t; a knows t from p; p produces e of t;"
    assert "S7" in broken(f"{told} x subscribes t; x receives e of t")


def test_two_sequences_break_pred_1_and_s7_alike() -> None:
    assert not state_pred_1(Notified(set(), [("c", ("t",)), ("c", ())]))
    assert "S7" in broken("consumer c; c receives e of t; c starts 2")


def test_what_was_rightly_given_breaks_pred_2_once_the_subscription_ends() -> None:
    """The schema has no time. S8 is of one moment, too; the audit's windows have it right."""
    before = Notified({("c", "t")}, [("c", ("t",))])
    after = before._replace(subscriptions=set())
    assert state_pred_2(before)
    assert not state_pred_2(after)
    text = "dispatcher a; producer p at a; p advertises t; a knows t from p; p produces e of t;"
    given = f"{text} consumer c at a; c receives e of t"
    subscribed = "; c subscribes t; a routes t to c"
    assert (broken(given + subscribed), broken(given)) == (set(), {"S8"})


def test_nothing_ties_received_to_produced_but_s9() -> None:
    made_up = Notified({("c", "t")}, [("c", ("t",))])
    assert state_pred_1(made_up)
    assert state_pred_2(made_up)
    text = "dispatcher a; consumer c at a; c subscribes t; a routes t to c; c receives e of t"
    assert broken(text) == {"S9"}


# --- the refined D_C1 (section 3.3) ---------------------------------------------------------


@pytest.mark.parametrize("text", ["a routes t to c", "dispatcher a b; link a - b; a routes t to a"])
def test_the_refined_pred_4_follows_from_pred_2_and_pred_3(text: str) -> None:
    """As worded: what breaks S12 breaks S10 or S11. `tests/laws` has it for random styles."""
    assert "S12" in broken(text)
    assert {"S10", "S11"} & broken(text)


def test_the_schemas_have_a_model_and_the_smallest_that_lives_is_known() -> None:
    """Section 3.5: consistency by the initialization theorem."""
    assert smallest((), most=0).facts == frozenset()
    living = smallest(most=11)
    assert living.facts is not None
    assert all(not rule.breaches(style_of_facts(living.facts)) for rule in RULES.values())


# --- FifoPairWiseOrder_P_C (section 3.4.2) --------------------------------------------------


class Event(NamedTuple):
    """An event's producer and stamp; `p1` is stamp 1 of producer p."""

    producer: str
    stamp: int


def events(text: str) -> list[Event]:
    return [Event(one[0], int(one[1:])) for one in text.split()]


def fifo_pred_1(produced: Sequence[Event]) -> bool:
    """The first stamp is one: but only of producers with exactly one event."""
    return len(produced) != 1 or produced[0].stamp == 1


def fifo_pred_2(produced: Sequence[Event]) -> bool:
    return all(b.stamp == a.stamp + 1 for a, b in pairwise(produced))


def fifo_pred_3(received: Sequence[Event]) -> bool:
    """Each stamp is at most the next, whoever produced the two."""
    return all(a.stamp <= b.stamp for a, b in pairwise(received))


def repaired_at_a_glance(received: Sequence[Event]) -> bool:
    """The repair that suggests itself: look at neighbours of the same producer only."""
    pairs = pairwise(received)
    return all(a.stamp < b.stamp for a, b in pairs if a.producer == b.producer)


def by_producer(received: Sequence[Event]) -> bool:
    """The repair that holds: each producer's events apart, then their order (A005, A002)."""
    apart = [[e.stamp for e in received if e.producer == p] for p in {e.producer for e in received}]
    return all(a < b for one in apart for a, b in pairwise(one))


def in_order(received: Sequence[Event]) -> bool:
    """What is meant: no event comes after a later one of its producer, and none comes twice."""
    return not any(
        a.producer == b.producer and a.stamp >= b.stamp
        for i, a in enumerate(received)
        for b in received[i + 1 :]
    )


def test_pred_1_binds_only_producers_of_one_event() -> None:
    assert fifo_pred_1(events("p7 p8"))
    assert fifo_pred_2(events("p7 p8"))
    assert not fifo_pred_1(events("p7"))


@pytest.mark.parametrize(
    ("received", "meant", "printed", "naive"),
    [
        ("p1 p2 q1", True, False, True),  # a false alarm: stamps of others are compared
        ("p1 q1 p1", False, True, True),  # a duplicate passes
        ("p2 q2 p1", False, False, True),  # the repair at a glance misses it
        ("p1 q1 p2 q2", True, True, True),
        ("p2 p1", False, False, False),
    ],
)
def test_pred_3_compares_neighbours_and_its_naive_repair_too(
    received: str, meant: bool, printed: bool, naive: bool
) -> None:
    some = events(received)
    verdicts = (in_order(some), fifo_pred_3(some), repaired_at_a_glance(some), by_producer(some))
    assert verdicts == (meant, printed, naive, meant)


def test_how_often_pred_3_and_its_naive_repair_are_wrong() -> None:
    """On all sequences of up to four events of two producers with two stamps each."""
    every = [list(some) for n in range(5) for some in product(events("p1 p2 q1 q2"), repeat=n)]
    alarms = sum(in_order(one) and not fifo_pred_3(one) for one in every)
    missed = sum(not in_order(one) and fifo_pred_3(one) for one in every)
    naive = sum(not in_order(one) and repaired_at_a_glance(one) for one in every)
    assert all(in_order(one) == by_producer(one) for one in every)
    assert not any(in_order(one) and not repaired_at_a_glance(one) for one in every)
    assert (len(every), alarms, missed, naive) == (341, 8, 104, 64)
