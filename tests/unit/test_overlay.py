"""The agent's core, word by word: liveness, floods, forwarding, custody, subscriptions."""

from itertools import pairwise
from typing import Any

import pytest

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Contract, Domain, Route, Topic
from ropewalk.overlay import gazette
from ropewalk.overlay.agent import Agent
from ropewalk.overlay.chart import HERE, NONE, Roads, chart_of
from ropewalk.overlay.events import (
    Accepted,
    Charted,
    Closed,
    Confirmed,
    Deliver,
    Published,
    Refused,
    Send,
    Subscribed,
    Unsubscribed,
)
from ropewalk.overlay.interface import State
from ropewalk.overlay.serial import SIZE, following, newer
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.wire import decode, encode
from ropewalk.overlay.words import (
    INTEREST,
    LINKS,
    Beat,
    Flood,
    FloodAck,
    Frame,
    Item,
    LinkStates,
)
from ropewalk.overlay.words import Test as LinkTest
from tests.bench import MS, Bench, federation

SQUARE = "a-b b-d a-c c-d"
"""a to d by b or by c; the tables choose b."""
ONCE = Contract(delivery="exactly-once", order="fifo")


def square(contract: Contract = ONCE, **settings: Any) -> Bench:
    bench = Bench(federation(SQUARE, contract), settings=Settings(**settings))
    bench.subscribe("d")
    bench.run(50)
    return bench


# Liveness.


def test_silence_makes_a_link_suspect_then_down_and_everyone_knows() -> None:
    bench = square()
    bench.cut("b-d")
    bench.run(80)
    assert bench.agent("b").liveness.faces[bench.link("b-d")].suspect
    assert not bench.told("link down")
    bench.run(180)
    assert {b for b, _ in bench.told("link down")} == {1, 3}
    assert {agent.things for agent in bench.agents.values()} == {(bench.link("b-d"),)}


def test_a_closed_connection_counts_at_once() -> None:
    bench = square()
    bench.cut("b-d")
    bench.hand("b", Closed(bench.link("b-d")))
    bench.run(5)
    assert bench.agent("b").things
    assert bench.agent("a").shipping.row()[3] == bench.link("a-c")


def test_a_link_is_used_again_only_after_its_tests() -> None:
    bench = square(tests=3)
    bench.cut("b-d")
    bench.run(300)
    bench.pass_word = lambda _b, _link, _word: True
    before = len(bench.words(LinkTest))
    bench.run(30)
    assert bench.agent("b").liveness.faces[bench.link("b-d")].state is State.FAILURE
    bench.run(200)
    assert len(bench.words(LinkTest)) - before >= 6
    assert {agent.things for agent in bench.agents.values()} == {()}


def test_a_link_that_fails_again_soon_has_to_pass_more_tests() -> None:
    bench = square()
    for _ in range(3):
        bench.cut("b-d")
        bench.run(300)
        bench.pass_word = lambda _b, _link, _word: True
        bench.run(700)
    assert bench.agent("b").liveness.faces[bench.link("b-d")].needs == 12


def test_an_end_that_is_through_its_tests_takes_the_other_along() -> None:
    """Else the other, slower one is given up and begins anew, for as long as both are unlike."""
    bench = square()
    bench.cut("b-d")
    bench.run(300)
    bench.agent("b").liveness.faces[bench.link("b-d")].needs = 3
    bench.agent("d").liveness.faces[bench.link("b-d")].needs = 1_000
    downs = len(bench.told("link down"))
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(400)
    assert {agent.things for agent in bench.agents.values()} == {()}
    assert len(bench.told("link down")) == downs


def test_an_end_waits_for_the_other_ones_tests_but_not_for_ever() -> None:
    bench = square(agree_us=500 * MS)
    bench.cut("b-d")
    bench.run(300)
    bench.agent("d").liveness.faces[bench.link("b-d")].needs = 1_000
    face = bench.agent("b").liveness.faces[bench.link("b-d")]
    # The link carries what b needs for its own tests, and of d's side nothing but answers.
    bench.pass_word = lambda b, link, word: (
        link != bench.link("b-d") or not (isinstance(word, LinkTest) and b == 3)
    )
    bench.run(300)
    assert face.up
    assert bench.agent("a").things  # nobody uses a link that one end holds for down
    downs = len(bench.told("link down"))
    bench.run(500)
    assert [b for b, _ in bench.told("link down")[downs:]] == [1]


def test_a_silent_neighbour_is_first_held_for_dead_and_contradicts() -> None:
    """Broker first: only when the other end speaks is it known that the link alone is down."""
    bench = Bench(federation("a-b b-c c-a"))
    bench.run(50)
    one_way = bench.link("a-b")
    bench.pass_word = lambda b, link, _word: not (link == one_way and b == 1)
    bench.hand("a", Closed(one_way))
    bench.run(3)
    assert bench.agent("c").things == (-1 - 1,)
    assert bench.agent("c").shipping.row()[1] == bench.link("b-c")  # still tried as destination
    bench.run(40)
    assert {agent.things for agent in bench.agents.values()} == {(one_way,)}


def test_a_dead_broker_is_held_for_dead_by_all() -> None:
    bench = Bench(federation("a-b b-c c-a c-d d-a"))
    bench.run(50)
    bench.stop(1)
    bench.run(400)
    assert {agent.things for agent in bench.agents.values()} == {(-1 - 1,)}


def test_what_an_agent_slept_through_is_no_silence() -> None:
    bench = square()
    bench.run(100)
    agent = bench.agent("b")
    late = agent.handle(_due(), bench.now_us + 400 * MS)
    assert not [one for one in late if "link down" in str(one)]
    assert all(face.up for face in agent.liveness.faces.values())
    words = [one.word for one in late if isinstance(one, Send)]
    assert max(word.stall_us for word in words if isinstance(word, Beat)) > 0


def _due() -> Any:
    from ropewalk.overlay.events import Due

    return Due()


def test_a_link_works_both_ways_or_not_at_all() -> None:
    bench = square()
    link = bench.link("a-b")
    bench.pass_word = lambda b, e, _word: not (e == link and b == 0)
    bench.run(500)
    assert {agent.things for agent in bench.agents.values()} == {(link,)}


def test_a_lossy_link_is_flooded_as_slow_and_costs_more() -> None:
    bench = square()
    link, count = bench.link("a-b"), [0]

    def lossy(_b: int, e: int, _word: Any) -> bool:
        count[0] += e == link
        return e != link or count[0] % 3 > 0

    bench.pass_word = lossy
    bench.run(3_000)
    assert bench.agent("d").gazette.slow == {link}
    assert bench.agent("a").shipping.row()[3] == bench.link("a-c")
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(6_000)
    assert bench.agent("d").gazette.slow == frozenset()


def test_a_slow_link_does_not_turn_messages_back_to_where_a_hand_made_route_holds() -> None:
    """What was proved of routes was proved with plain costs: b must not send back to a."""
    routes = (Route(at="a", to="d", next="b"),)
    bench = Bench(federation(SQUARE, ONCE, routes=routes))
    bench.subscribe("d")
    bench.run(50)
    slow = frozenset({bench.link("b-d")})
    rows = {name: bench.agent(name).shipping.roads.row((), (), slow) for name in "ab"}
    d, c = bench.number["d"], bench.number["c"]
    assert (rows["a"][d], rows["b"][d]) == (bench.link("a-b"), bench.link("b-d"))
    # No route speaks of c, nor of d where there is none: there a slow link costs what it costs.
    assert rows["b"][c] == bench.link("a-b")
    free = Bench(federation(SQUARE, ONCE)).agent("b").shipping.roads.row((), (), slow)
    assert free[d] == bench.link("a-b")


def test_beats_follow_the_round_trip_where_they_may() -> None:
    bench = square(adaptive=True)
    bench.run(3_000)
    faces = [face for agent in bench.agents.values() for face in agent.liveness.faces.values()]
    assert max(face.every_us for face in faces) < 20 * MS
    assert max(face.dead_us for face in faces) < 200 * MS


# Floods.


def test_a_flood_is_sent_again_until_it_is_acknowledged() -> None:
    bench = Bench(federation("a-b"), settings=Settings(dead_us=10_000 * MS, suspect_us=9_000 * MS))
    bench.run(50)
    bench.pass_word = lambda _b, _link, word: not isinstance(word, FloodAck)
    bench.subscribe("a")
    bench.run(500)
    face = bench.agent("a").liveness.faces[0]
    assert face.state.name == "WAITING"
    assert len([one for one in bench.words(Flood) if one[1] == 0]) > 2
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(1_500)
    assert face.state.name == "NORMAL"
    assert not face.pending


def test_sequence_numbers_wrap_around() -> None:
    bench = square()
    bench.agent("b").gazette.number = SIZE - 2
    for _ in range(3):
        bench.cut("b-d")
        bench.run(300)
        assert bench.agent("c").things == (bench.link("b-d"),)
        bench.pass_word = lambda _b, _link, _word: True
        bench.run(800)
        assert bench.agent("c").things == ()
    assert following(SIZE - 1) == 1
    assert newer(1, 1, 1, SIZE - 1)
    assert not newer(1, SIZE - 1, 1, 1)


def test_a_broker_that_hears_newer_of_itself_jumps_past_it() -> None:
    bench = square()
    ghost = Item(LINKS, 1, "", 1, 900, LinkStates())
    bench.agent("a").handle(_received(bench.link("a-b"), Flood((ghost,))), bench.now_us)
    bench.agent("b").handle(_received(bench.link("a-b"), Flood((ghost,))), bench.now_us)
    bench.run(20)
    mine = bench.agent("b").gazette.items[(LINKS, 1, "")]
    assert newer(mine.incarnation, mine.number, 1, 900)


def _received(link: int, word: Any) -> Any:
    from ropewalk.overlay.events import Received

    return Received(link, word)


def test_two_halves_that_meet_again_know_the_same() -> None:
    bench = Bench(federation("a-b b-c c-d d-a a-e e-f"))
    bench.run(50)
    bench.cut("a-b", "c-d")
    bench.run(300)
    for name in "ae":
        bench.subscribe(name, f"from {name}")
    bench.subscribe("c", "from c")
    bench.run(100)
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(1_500)
    assert len({agent.gazette.digest(frozenset({-1})) for agent in bench.agents.values()}) == 1
    assert {agent.things for agent in bench.agents.values()} == {()}


# Forwarding and custody.


def test_nothing_is_lost_when_a_link_two_hops_away_goes_silent() -> None:
    """The case that cost a naive failover 3,500 of 5,000 messages."""
    bench = square()
    bench.publish("a", 400)
    bench.run(150)
    bench.cut("b-d")
    bench.run(2_000)
    assert bench.delivered("d") == list(range(400))
    gaps = _gaps(bench, "d")
    assert max(gaps) <= 75 * MS  # the time to suspect, not the time to death


def _gaps(bench: Bench, broker: str) -> list[int]:
    times = [t for t, b, a in bench.done if isinstance(a, Deliver) and b == bench.number[broker]]
    return [later - before for before, later in pairwise(times)]


def test_a_frame_brings_what_its_sender_knew() -> None:
    bench = square()
    bench.pass_word = lambda _b, _link, word: not isinstance(word, Flood | FloodAck)
    bench.hand("a", Closed(bench.link("a-b")))
    bench.publish("a", 3)
    bench.run(10)
    frames = [word for _, b, _, word in bench.words(Frame) if b == 0 and word.parcels]
    assert all(any(item.kind == LINKS for item in frame.items) for frame in frames)
    assert bench.agent("c").things
    assert bench.delivered("d") == [0, 1, 2]


def test_messages_without_a_way_wait_with_their_origin() -> None:
    bench = square()
    bench.cut("b-d", "c-d")
    bench.run(400)
    bench.publish("a", 50)
    bench.run(200)
    assert bench.delivered("d") == []
    assert len(bench.agent("a").custody()) == 50
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(1_500)
    assert bench.delivered("d") == list(range(50))
    assert not bench.agent("a").custody()


def test_one_dead_destination_blocks_no_other_and_publishers_are_told_to_wait() -> None:
    topics = {
        "far": Topic(publishers=("a",), subscribers=("d",), contract=ONCE),
        "near": Topic(publishers=("a",), subscribers=("b",), contract=ONCE),
    }
    bench = Bench(federation(SQUARE, topics=topics), settings=Settings(queue=20))
    bench.subscribe("d", "far")
    bench.subscribe("b", "near")
    bench.run(50)
    bench.stop(3)
    bench.run(400)
    bench.publish("a", 30, topic="far")
    bench.publish("a", 30, topic="near")
    bench.run(500)
    refused = [a for _, _, a in bench.done if isinstance(a, Refused)]
    assert len(refused) == 10
    assert "20 messages wait for d" in refused[0].reason
    assert bench.delivered("b") == list(range(30))


def test_a_restarted_origin_goes_on_with_what_it_kept() -> None:
    bench = square()
    bench.cut("b-d", "c-d")
    bench.run(400)
    bench.publish("a", 20)
    bench.run(100)
    bench.stop(0)
    bench.run(300)
    bench.pass_word = lambda _b, _link, _word: True
    bench.start(0, incarnation=2)
    assert len(bench.agent("a").custody()) == 20
    bench.run(2_000)
    bench.publish("a", 25)  # the first 20 keys are known: the same messages
    bench.run(500)
    assert bench.delivered("d") == list(range(25))


def test_a_log_can_be_cut_down_to_what_matters() -> None:
    bench = square()
    bench.publish("a", 300)
    bench.run(400)
    bench.cut("b-d", "c-d")
    bench.run(400)
    for i in range(5):
        bench.hand("a", Published(900 + i, "t", str(900 + i).encode(), key=f"late{i}"))
    bench.run(50)
    long = len(bench.logs[0])
    bench.logs[0] = list(bench.agent("a").records())
    assert len(bench.logs[0]) < long / 2 + 310  # keys stay, what is acknowledged goes
    bench.stop(0)
    bench.pass_word = lambda _b, _link, _word: True
    bench.start(0, incarnation=2)
    bench.run(2_000)
    assert bench.delivered("d")[-5:] == [900, 901, 902, 903, 904]


def test_messages_over_two_paths_do_not_feel_a_silent_link() -> None:
    from ropewalk.overlay.pairs import alternates_of

    of = federation(SQUARE, Contract(delivery="exactly-once", order="fifo", paths=2))
    bench = Bench(of, alternates=alternates_of(of, chart_of(of))[0])
    bench.subscribe("d")
    bench.run(50)
    bench.publish("a", 300)
    bench.run(100)
    bench.cut("b-d")
    bench.run(1_000)
    assert bench.delivered("d") == list(range(300))
    assert max(_gaps(bench, "d")) <= 2 * MS


def test_without_custody_a_message_is_sent_once_and_kept_by_nobody() -> None:
    bench = square(Contract(delivery="at-most-once", order="fifo"))
    bench.cut("b-d", "c-d")
    bench.run(400)
    bench.publish("a", 10)
    bench.run(100)
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(1_500)
    assert bench.delivered("d") == []
    assert len([a for _, _, a in bench.done if isinstance(a, Accepted)]) == 10


def test_urgent_messages_overtake_what_waits() -> None:
    contract = Contract(delivery="exactly-once", order="priority")
    bench = Bench(federation("a-b", contract), settings=Settings(window=4))
    bench.subscribe("b")
    bench.run(50)
    for i in range(40):
        urgent = 9 if i >= 30 else 0
        bench.hand("a", Published(i, "t", str(i).encode(), priority=urgent))
    bench.run(2_000)
    got = bench.delivered("b")
    assert sorted(got) == list(range(40))
    assert [i for i in got if i >= 30] == list(range(30, 40))
    assert got.index(39) < 20


# Subscriptions.


def test_only_the_first_and_the_last_of_a_kind_are_told_to_others() -> None:
    bench = square()
    before = len([w for w in bench.words(Flood) if w[3].items[0].kind == INTEREST])
    bench.hand("d", Subscribed("second", "t"))
    bench.hand("d", Unsubscribed("second", "t"))
    bench.run(50)
    assert len([w for w in bench.words(Flood) if w[3].items[0].kind == INTEREST]) == before
    bench.hand("d", Unsubscribed("at d", "t"))
    bench.run(50)
    assert bench.agent("a").interests.destinations("t") == ()


def test_clients_that_come_and_go_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gazette, "FORGET_US", 2_000 * MS)
    bench = square()
    for i in range(50):
        bench.hand("d", Subscribed("brief", f"reply/{i}"))
        bench.hand("d", Unsubscribed("brief", f"reply/{i}"), after_us=5 * MS)
    bench.run(100)
    assert bench.agent("a").memory()["items"] > 50
    bench.run(3_000)
    assert max(agent.memory()["items"] for agent in bench.agents.values()) < 10
    assert len({agent.gazette.digest(frozenset({-1})) for agent in bench.agents.values()}) == 1


def test_who_missed_the_end_of_a_subscription_is_contradicted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gazette, "FORGET_US", 2_000 * MS)
    bench = square()
    bench.subscribe("d", "brief")
    bench.run(50)
    bench.cut("a-b", "a-c")
    bench.run(300)
    bench.hand("d", Unsubscribed("at d", "brief"))
    bench.run(3_000)
    assert bench.agent("a").interests.destinations("brief") == (3,)
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(3_000)
    assert bench.agent("a").interests.destinations("brief") == ()
    assert bench.agent("c").interests.destinations("brief") == ()


def test_a_subscription_is_confirmed_when_every_reachable_origin_knows() -> None:
    bench = Bench(federation(SQUARE))
    bench.pass_word = lambda _b, link, _word: link not in (0, 1)  # b is cut off, nobody knows yet
    bench.subscribe("d")
    bench.run(100)
    assert not [a for _, _, a in bench.done if isinstance(a, Confirmed)]
    bench.run(500)
    [first] = [a for _, _, a in bench.done if isinstance(a, Confirmed)]
    assert first.by == {0, 2, 3}
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(1_500)
    assert [a for _, _, a in bench.done if isinstance(a, Confirmed)][-1].by == {0, 1, 2, 3}


def test_who_comes_later_gets_the_last_value_once() -> None:
    bench = Bench(federation(SQUARE, Contract(retained=True)))
    bench.publish("a", 5)
    bench.run(50)
    bench.subscribe("d")
    bench.run(200)
    bench.hand("d", Subscribed("third", "t"))
    bench.run(50)
    given = [a for _, b, a in bench.done if isinstance(a, Deliver) and b == 3]
    assert [(a.letter.payload, a.retained, a.subscribers) for a in given] == [
        (b"4", True, ("at d",)),
        (b"4", True, ("third",)),
    ]


def test_topics_of_a_domain_stay_on_its_links() -> None:
    topics = {
        "t": Topic(publishers=("a",), subscribers=("b",), scope="domain", contract=ONCE),
    }
    domains = {"one": Domain(gateways=("a", "b")), "two": Domain(gateways=("c", "d"))}
    bench = Bench(federation(SQUARE, topics=topics, domains=domains))
    bench.subscribe("b")
    bench.subscribe("d")
    bench.run(50)
    bench.cut("a-b")
    bench.publish("a", 20)
    bench.run(600)
    crossed = {link for _, _, link, word in bench.words(Frame) if word.parcels}
    assert crossed <= {bench.link("a-b")}
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(1_500)
    assert bench.delivered("b") == list(range(20))
    assert bench.delivered("d") == []


def test_an_agent_without_its_disk_learns_who_subscribes_before_it_accepts() -> None:
    bench = square()
    bench.stop(0)
    bench.run(300)
    bench.logs[0] = []
    bench.start(0, incarnation=2)
    bench.publish("a", 1)
    bench.run(1)
    [refused] = [a for _, _, a in bench.done if isinstance(a, Refused)]
    assert "not known here yet" in refused.reason
    bench.run(1_000)
    bench.publish("a", 2)
    bench.run(200)
    assert bench.delivered("d") == [0, 1]


def test_two_that_lost_their_disks_do_not_make_each_other_believe_that_nobody_subscribes() -> None:
    bench = square()
    for b in (0, 1):
        bench.stop(b)
        bench.logs[b] = []
    bench.run(300)
    bench.pass_word = lambda _b, link, _word: link == bench.link("a-b")
    for b in (0, 1):
        bench.start(b, incarnation=2)
    bench.run(400)
    assert not bench.agent("a").front.synced
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(600)
    assert bench.agent("a").front.synced
    assert bench.agent("a").interests.destinations("t") == (3,)


# Epochs.


def test_a_broker_joins_and_another_leaves_under_traffic() -> None:
    bench = square()
    bench.publish("a", 600)
    bench.run(100)
    grown = federation("a-e e-d a-c c-d", ONCE)  # b leaves, e joins
    second = chart_of(grown, epoch=2, before=bench.chart)
    bench.chart, bench.of = second, grown
    bench.number = {name: b for b, name in enumerate(second.names)}
    for name in "abcd":
        bench.hand(name, Charted(second), after_us=7 * MS * bench.number[name])
    bench.start(bench.number["e"])
    bench.run(2_000)
    assert {bench.agent(name).deck.chart.epoch for name in "acde"} == {2}
    assert bench.delivered("d") == list(range(600))
    assert bench.told("leaves") == [(1, (2,))]


# Charts and words.


def test_numbers_outlive_epochs() -> None:
    first = chart_of(federation(SQUARE))
    second = chart_of(federation("a-c c-d d-e"), epoch=2, before=first)
    assert second.names == ("a", "b", "c", "d", "e")
    assert second.link_ends[: len(first.link_ends)] == first.link_ends
    row = Roads(second, 0).row((), ())
    assert row[0] == HERE
    assert row[1] == NONE
    assert second.link_ends[row[4]] == (0, 2)


def test_every_word_can_be_written_and_read() -> None:
    bench = square()
    bench.publish("a", 20)
    bench.run(100)
    bench.cut("b-d")
    bench.run(500)
    bench.pass_word = lambda _b, _link, _word: True
    bench.run(500)
    kinds = {type(word) for _, _, _, word in bench.said}
    assert len(kinds) >= 7
    assert all(decode(encode(word)) == word for _, _, _, word in bench.said)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="beat, suspect, dead"):
        Settings(beat_us=100, suspect_us=50)
    with pytest.raises(UsageError, match="at least 1"):
        Settings(window=0)
    with pytest.raises(UsageError, match="write 0 or more"):
        Settings(slow_loss=-1)


def test_an_agent_alone_accepts_what_nobody_wants() -> None:
    bench = Bench(federation("a-b"))
    bench.publish("a", 2)
    bench.run(50)
    assert isinstance(bench.agent("a"), Agent)
    assert len([a for _, _, a in bench.done if isinstance(a, Accepted)]) == 2


def test_what_is_lost_comes_soon_although_other_topics_of_its_lane_never_stop() -> None:
    topics = {
        name: Topic(publishers=("a",), subscribers=("d",), contract=ONCE) for name in ("t", "u")
    }
    bench = Bench(federation(SQUARE, topics=topics))
    for topic in topics:
        bench.subscribe("d", topic)
    bench.run(50)
    shipping = bench.agent("b").shipping
    lost: list[Any] = []
    forward = shipping.forward

    def losing(parcels: Any) -> None:
        """On the way one message is lost, and nobody is told."""
        gone = [one for one in parcels if one.letter.topic == "t" and not lost]
        lost.extend(gone)
        forward([one for one in parcels if one not in gone])

    shipping.forward = losing  # type: ignore[method-assign]
    bench.publish("a", 2_000, topic="u", every_us=2 * MS)
    bench.publish("a", 1, topic="t")
    bench.run(1_300)
    assert len(lost) == 1
    assert [one.letter.topic for one in bench.deliveries("d")].count("t") == 1
    bench.run(4_000)
    assert [one.letter.topic for one in bench.deliveries("d")].count("u") == 2_000
