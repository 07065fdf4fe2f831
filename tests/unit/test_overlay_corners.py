"""The agent's core in corners: what a random schedule seldom reaches."""

from random import Random

import msgspec
import pytest

from ropewalk.federation.facts import Contract, Domain, Topic
from ropewalk.overlay.chart import chart_of
from ropewalk.overlay.events import (
    Accepted,
    Charted,
    Closed,
    Published,
    Refused,
    Send,
    Subscribed,
    Unsubscribed,
)
from ropewalk.overlay.gazette import Gazette
from ropewalk.overlay.interface import Quality
from ropewalk.overlay.retained import Values
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.wire import decode, encode
from ropewalk.overlay.words import (
    CHART,
    INTEREST,
    LINKS,
    WHOLE,
    Address,
    Down,
    Flood,
    FloodAck,
    Frame,
    Item,
    Letter,
    LinkStates,
    Note,
    Parcel,
    Word,
)
from tests.bench import MS, Bench, federation

ONCE = Contract(delivery="exactly-once", order="fifo")


def test_messages_without_custody_of_two_topics_are_not_taken_for_one_another() -> None:
    free = Topic(
        publishers=("a",),
        subscribers=("b",),
        contract=Contract(delivery="best-effort", order="none"),
    )
    bench = Bench(federation("a-b", topics={"x": free, "y": free}))
    bench.subscribe("b", "#")
    bench.run(50)
    bench.publish("a", 5, topic="x")
    bench.publish("a", 5, topic="y")
    bench.run(100)
    assert sorted(bench.delivered("b")) == sorted([*range(5), *range(5)])


def test_a_parcel_for_a_broker_of_a_later_chart_is_dropped_and_nothing_else() -> None:
    bench = Bench(federation("a-b b-c", ONCE))
    bench.run(50)
    letter = Letter(0, 1, "t", 1, b"")
    far = Parcel(letter, (Address(7, 0, 1, 1, origin=0, incarnation=1),))
    agent = bench.agent("b")
    agent.receive(bench.link("a-b"), Frame(2, 1 << 20, 1, (far,)), bench.now_us)
    assert agent.shipping.dropped["no road"] == 1


def test_a_broker_that_comes_back_does_not_repeat_itself_for_all_that_it_once_said() -> None:
    bench = Bench(federation("a-b b-c"))
    for i in range(40):
        bench.subscribe("c", f"p{i}")
    bench.run(200)
    bench.stop(2)
    bench.run(300)
    bench.start(2, incarnation=2)
    for i in range(20):
        bench.hand("c", Subscribed("at c", f"p{i}"), after_us=100 * MS)
    bench.run(3_000)
    assert bench.agent("c").gazette.number < 50
    assert bench.agent("a").interests.remote.keys() == {f"p{i}" for i in range(20)}


def test_a_broker_that_has_forgotten_its_incarnation_is_heard_again() -> None:
    """Without its disk it starts from 1: it goes past what others know, and so do its sessions."""
    bench = Bench(federation("a-b b-c", ONCE))
    bench.subscribe("c")
    bench.run(100)
    for incarnation in (5, 1):
        bench.stop(1)
        bench.run(300)
        bench.logs[1] = []
        bench.start(1, incarnation=incarnation)
        bench.run(3_000)
    assert bench.agent("b").deck.incarnation == 6
    bench.publish("a", 5)
    bench.run(500)
    assert bench.delivered("c") == list(range(5))
    assert {agent.things for agent in bench.agents.values()} == {()}


def test_a_frame_does_not_carry_every_subscription_that_is_not_acknowledged() -> None:
    bench = Bench(federation("a-b", ONCE))
    bench.subscribe("b")
    bench.run(50)
    bench.pass_word = lambda _b, _link, word: not isinstance(word, FloodAck)
    for i in range(100):
        bench.subscribe("a", f"p{i}")
    bench.run(20)
    bench.publish("a", 20)
    bench.run(50)
    frames = [word for _, _, _, word in bench.words(Frame) if word.parcels]
    assert len(frames) == 20
    assert all(item.kind == LINKS for frame in frames for item in frame.items)


def test_what_was_sent_after_a_false_alarm_is_routed_anew_when_the_link_fails() -> None:
    bench = Bench(federation("a-b b-d a-c c-d", Contract(delivery="best-effort", order="none")))
    bench.subscribe("d")
    bench.run(100)
    link = bench.link("b-d")
    face = bench.agent("b").liveness.faces[link]
    bench.cut("b-d")
    bench.run(90)
    assert face.suspect
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(100)
    assert not face.suspect
    bench.publish("a", 10, every_us=100)
    bench.cut("b-d")
    bench.run(5)
    bench.hand("b", Closed(link))
    bench.run(500)
    assert sorted(bench.delivered("d")) == list(range(10))


def test_urgent_messages_cannot_overtake_a_destination_to_a_standstill() -> None:
    """It remembers so many numbers beyond the first that is missing: that one has to be sent."""
    contract = Contract(delivery="exactly-once", order="priority")
    bench = Bench(federation("a-b", contract), settings=Settings(window=4, held=16))
    bench.subscribe("b")
    bench.run(50)
    for i in range(100):
        bench.hand("a", Published(i, "t", str(i).encode(), priority=9 if i >= 8 else 0))
    bench.run(5_000)
    assert sorted(bench.delivered("b")) == list(range(100))
    assert bench.agent("b").arrivals.lanes[(0, 0)].refused == 0


def test_messages_in_order_are_not_starved_by_urgent_ones() -> None:
    topics = {
        "plain": Topic(contract=ONCE),
        "urgent": Topic(contract=Contract(delivery="exactly-once", order="priority")),
    }
    bench = Bench(federation("a-b", topics=topics), settings=Settings(window=4, held=64))
    bench.subscribe("b", "#")
    bench.run(50)
    bench.publish("a", 12, topic="urgent", every_us=0)
    bench.hand("a", Published(99, "plain", b"99"))
    for i in range(300):
        bench.hand("a", Published(i, "urgent", str(i).encode()))
    bench.run(5_000)
    assert bench.delivered("b").index(99) < 100


def test_a_queue_has_one_limit_for_all_lives_of_its_origin() -> None:
    bench = Bench(federation("a-b b-c", ONCE), settings=Settings(queue=20))
    bench.subscribe("c")
    bench.run(50)
    bench.stop(2)
    bench.run(400)
    for life in (2, 3):
        for i in range(30):
            bench.hand("a", Published(i, "t", b""))
        bench.run(100)
        bench.stop(0)
        bench.run(300)
        bench.start(0, incarnation=life)
        bench.run(2_500)
    assert len(bench.agent("a").custody()) == 20


def test_a_message_that_a_client_repeats_before_it_is_safe_is_one_message() -> None:
    bench = Bench(federation("a-b", ONCE))
    bench.subscribe("b")
    bench.run(50)
    twice = [Published(ticket, "t", b"1", key="k") for ticket in (1, 2)]
    bench.act(0, bench.agent("a").handle_all(twice, bench.now_us))
    bench.run(100)
    assert bench.delivered("b") == [1]
    assert [a.ticket for _, _, a in bench.done if isinstance(a, Accepted)] == [1, 2]


def test_two_clients_may_give_their_messages_the_same_id() -> None:
    bench = Bench(federation("a-b", ONCE))
    bench.subscribe("b")
    bench.subscribe("b", "other")
    bench.run(50)
    for i, (topic, producer) in enumerate([("t", "p"), ("t", "q"), ("other", "p"), ("t", "p")]):
        event = Published(i, topic, str(i).encode(), producer=producer, key="1")
        bench.hand("a", event, after_us=i * MS)
    bench.run(100)
    assert sorted(bench.delivered("b")) == [0, 1, 2]


def test_news_of_a_link_count_after_very_many_subscriptions() -> None:
    """All items of a broker share one row of numbers: half of it must not pass between two."""
    bench = Bench(federation("a-b b-c c-d"))
    bench.subscribe("d", "first")
    bench.run(50)
    bench.agent("d").gazette.number += 40_000
    before = len(bench.words(Flood))
    bench.hand("d", Unsubscribed("at d", "first"))
    bench.run(4)
    assert bench.agent("b").interests.remote == {}
    bench.run(20)
    assert len(bench.words(Flood)) - before == 3  # nobody had to be corrected


def test_different_knowledge_has_different_digests() -> None:
    """Sums of checksums that are linear are the same when two items differ in the same way."""
    older, later = (_knows({"p": p, "q": q}) for p, q in ((10, 11), (12, 13)))
    assert older.digest(frozenset({-1})) != later.digest(frozenset({-1}))


def _knows(numbers: dict[str, int]) -> Gazette:
    gazette = Gazette(Bench(federation("a-b")).agent("a").deck)
    for name, number in numbers.items():
        gazette.take(Item(INTEREST, 1, name, 1, number, True))
    return gazette


def test_a_neighbour_with_news_of_an_earlier_life_is_told_the_newer_at_once() -> None:
    bench = Bench(federation("a-b b-c"))
    bench.run(50)
    link, agent = bench.link("a-b"), bench.agent("b")
    agent.receive(link, Flood((Item(INTEREST, 2, "p", 2, 5, True),)), bench.now_us)
    said = agent.receive(link, Flood((Item(INTEREST, 2, "p", 1, 5, False),)), bench.now_us)
    floods = [one.word for one in said if isinstance(one, Send) and type(one.word) is Flood]
    assert [item.incarnation for flood in floods for item in flood.items] == [2]


@pytest.mark.parametrize("loss", [0.02, 0.05, 0.08, 0.2])
def test_a_link_that_loses_some_beats_does_not_flap(loss: float) -> None:
    quality, draw, changes, missed = Quality(), Random(1), 0, 0
    for _ in range(60 * 50):  # a minute
        if draw.random() < loss:
            missed += 1
        else:
            quality.beat(missed)
            missed = 0
            changes += quality.judge(Settings())
    assert changes <= 6
    assert quality.slow or loss < 0.2


def test_a_subscriber_that_leaves_the_federation_blocks_no_publisher() -> None:
    bench = Bench(federation("a-b b-d a-c c-d", ONCE), settings=Settings(queue=20))
    bench.subscribe("d")
    bench.subscribe("b")
    bench.run(50)
    _without_b(bench)
    bench.run(1_000)
    bench.publish("a", 50)
    bench.run(500)
    assert bench.delivered("d") == list(range(50))
    assert not bench.agent("a").custody()


def _without_b(bench: Bench, after_us: int = 0) -> None:
    bench.of = federation("a-c c-d", ONCE)
    bench.chart = chart_of(bench.of, epoch=2, before=bench.chart)
    for name in "abcd":
        bench.hand(name, Charted(bench.chart), after_us=after_us)


def test_a_broker_that_leaves_hands_out_first_what_it_has_accepted() -> None:
    bench = Bench(federation("a-b b-d a-c c-d", ONCE))
    bench.subscribe("d")
    bench.run(50)
    bench.publish("b", 100, every_us=200)
    _without_b(bench, after_us=10 * MS)
    bench.run(2_000)
    accepted = [a for _, _, a in bench.done if isinstance(a, Accepted)]
    assert 0 < len(accepted) < 100
    assert bench.delivered("d") == list(range(len(accepted)))
    refused = [a for _, _, a in bench.done if isinstance(a, Refused)]
    assert "leaves the federation" in refused[0].reason
    assert {bench.agent(name).deck.chart.epoch for name in "acd"} == {2}


@pytest.mark.parametrize("home", ["b", "c"])
def test_a_new_term_takes_what_the_last_one_did_not_get_done(home: str) -> None:
    """Also under the same home: it has to take again what it had numbered in the last term."""
    contract = Contract(delivery="exactly-once", order="total", home="b")
    topics = {"t": Topic(publishers=("a",), subscribers=("d",), contract=contract)}
    bench = Bench(federation("a-b b-c c-d", topics=topics))
    bench.subscribe("d")
    bench.run(1_500)
    bench.cut("c-d")
    bench.publish("a", 5)
    bench.run(50)
    for agent in bench.agents.values():
        agent.totals.appointed("t", bench.number[home], 2)
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(6_000)
    assert bench.delivered("d") == list(range(5))
    assert not any(agent.custody() for agent in bench.agents.values())
    assert not any(agent.memory()["numbering"] for agent in bench.agents.values())


def test_total_order_needs_custody_whatever_the_contract_says() -> None:
    contract = Contract(delivery="best-effort", order="total", home="b")
    topics = {"t": Topic(publishers=("a",), subscribers=("c",), contract=contract)}
    bench = Bench(federation("a-b b-c", topics=topics))
    bench.subscribe("c")
    bench.run(1_500)
    bench.publish("a", 5)
    bench.run(500)
    assert bench.delivered("c") == list(range(5))


def test_a_wish_that_is_on_its_way_is_not_ended_with_those_of_an_earlier_life() -> None:
    bench = Bench(federation("a-b", ONCE))
    bench.subscribe("b")
    bench.run(100)
    bench.stop(1)
    bench.run(300)
    bench.start(1, incarnation=2)
    bench.run(1_985)
    bench.pass_word = lambda b, _link, word: (
        b == 0 or not isinstance(word, Flood) or word.items[0].kind != INTEREST
    )
    bench.subscribe("b")
    bench.run(25)  # everything has been said in this life, and half of it has been heard
    bench.publish("a", 5)
    bench.run(10)
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(1_000)
    assert bench.delivered("b") == list(range(5))


def test_numbers_of_topics_are_bounded_and_never_used_twice() -> None:
    bench = Bench(federation("a-b"), settings=Settings(streams=10))
    for i in range(100):
        bench.hand("a", Published(i, f"t{i % 25}", b""))
    bench.run(100)
    letters = [a.letter.id for _, _, a in bench.done if isinstance(a, Accepted)]
    assert len(set(letters)) == 100
    assert bench.agent("a").memory()["numbers"] == 10


def test_the_last_value_of_a_later_life_counts_whatever_its_clock_says() -> None:
    values = Values(10)
    values.put(Letter(0, 1, "t", 7, b"old", sent_us=9_000))
    assert values.put(Letter(0, 2, "t", 1, b"new", sent_us=5))
    assert not values.put(Letter(0, 1, "t", 8, b"late", sent_us=9_500))
    assert values.letters["t"].payload == b"new"


LETTER = Letter(0, 1, "t", 1, b"")
NONSENSE = (
    Flood((Item(LINKS, 2, "", 1, 90, None),)),
    Flood((Item(LINKS, 2, "", 1, 91, LinkStates((Down(-5, 0, 0),))),)),
    Flood((Item(LINKS, -2, "", 1, 92, LinkStates((Down(0, 0, 0),))),)),
    Flood((Item(CHART, 2, "", 1, 93, "x"),)),
    Flood((Item(WHOLE, 2, "", 1, 94, True),)),
    Frame(1, 1 << 40, 1, (Parcel(LETTER, ()),)),
    Frame(1, 1 << 40, 2, (Parcel(LETTER, (Address(-9, 0, 1, 1),)),)),
    Frame(1, 1 << 40, 3, (), (Note(2, 1, -9, None),)),
)


@pytest.mark.parametrize("word", NONSENSE)
def test_nonsense_is_no_word(word: Word) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode(encode(word))


def test_news_of_brokers_and_links_of_a_later_chart_are_no_nonsense() -> None:
    bench = Bench(federation("a-b b-c", ONCE))
    bench.run(50)
    link, agent = bench.link("b-c"), bench.agent("b")
    items = (
        Item(INTEREST, 7, "t", 1, 1, True),
        Item(LINKS, 7, "", 1, 2, LinkStates((Down(9, 0, 0),), (8,))),
    )
    agent.receive(link, Flood(items), bench.now_us)
    bench.hand("b", Published(1, "t", b"1"))
    bench.run(500)
    assert agent.interests.destinations("t") == (7,)
    assert len(agent.custody()) == 1


def test_a_narrow_link_is_never_overfilled_by_its_own_end() -> None:
    """What is sent at once or again waits for room, or most of it is dropped time and again."""
    bench = Bench(federation("a-b b-c", ONCE), settings=Settings(link_queue=8, window=64))
    bench.subscribe("c")
    bench.run(50)
    bench.publish("a", 300, every_us=50)
    bench.run(100)
    bench.cut("b-c")
    bench.run(400)
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(4_000)
    assert bench.delivered("c") == list(range(300))
    assert bench.agent("a").shipping.dropped["link full"] == 0


def test_a_topic_that_a_pattern_keeps_in_its_domain_is_not_spoken_of_outside() -> None:
    topics = {"local/#": Topic(scope="domain", contract=ONCE)}
    domains = {"one": Domain(gateways=("a", "b")), "two": Domain(gateways=("c", "d"))}
    bench = Bench(federation("a-b b-d a-c c-d", topics=topics, domains=domains))
    bench.subscribe("b", "local/x")
    bench.run(100)
    assert (INTEREST, 1, "local/x") in bench.agent("a").gazette.items
    assert (INTEREST, 1, "local/x") not in bench.agent("d").gazette.items


def test_a_total_order_whose_home_is_outside_its_domain_is_refused() -> None:
    contract = Contract(delivery="exactly-once", order="total", home="a")
    topics = {"t": Topic(publishers=("c",), scope="domain", contract=contract)}
    domains = {"one": Domain(gateways=("a", "b")), "two": Domain(gateways=("c", "d"))}
    bench = Bench(federation("a-b b-d a-c c-d", topics=topics, domains=domains))
    bench.run(100)
    bench.publish("c")
    bench.run(100)
    [refused] = [a for _, _, a in bench.done if isinstance(a, Refused)]
    assert "home a is outside" in refused.reason
