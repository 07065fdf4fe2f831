"""Laws of the agent's edge: names that never meet, streams cut anywhere, deliveries in order."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ropewalk.agent.brokers.contract import Outgoing
from ropewalk.agent.brokers.nats.codec import Parser, read_headers, write_headers
from ropewalk.agent.deliveries import Deliveries, Delivery
from ropewalk.agent.fragments import Desk, cut
from ropewalk.federation import spelling as names
from ropewalk.overlay.events import Deliver
from ropewalk.overlay.lane import Kept
from ropewalk.overlay.rules import matches
from ropewalk.overlay.words import Letter

LEVEL = st.text(st.characters(exclude_characters="/\x00", codec="utf-8"), max_size=5)
PLAIN = st.sampled_from(["a", "b", "", "a.b", "x y", "*", ">", "%", "%20", "//", ".", "é"])
TOPIC = st.lists(LEVEL | PLAIN, min_size=1, max_size=4).map("/".join).filter(bool)
NAME = TOPIC.filter(lambda one: not {"+", "#"} & set(one.split("/")))
WILD = st.lists(st.sampled_from(["a", "b", "", "c.d", "+"]), min_size=1, max_size=4)
PATTERN = st.tuples(WILD, st.booleans()).map(lambda one: "/".join([*one[0], *["#"] * one[1]]))
SHORT = st.lists(st.sampled_from(["a", "b", "", "c.d"]), min_size=1, max_size=4).map("/".join)


@given(NAME)
def test_every_name_comes_back_from_each_make(topic: str) -> None:
    assert names.from_nats(names.to_nats(topic)) == topic
    assert names.from_amqp(names.to_amqp(topic)) == topic


@given(NAME, NAME)
def test_two_names_never_become_one(one: str, other: str) -> None:
    for there in (names.to_nats, names.to_amqp):
        assert (there(one) == there(other)) == (one == other)


@given(st.text("abc./%*>24 ", min_size=1, max_size=8))
def test_what_comes_from_a_make_is_one_name_or_none(foreign: str) -> None:
    for here, there in ((names.from_nats, names.to_nats), (names.from_amqp, names.to_amqp)):
        topic = here(foreign)
        assert topic is None or there(topic) == foreign


def _nats_matches(pattern: str, subject: str) -> bool:
    wanted, tokens = pattern.split("."), subject.split(".")
    for i, one in enumerate(wanted):
        if one == ">":
            return len(tokens) > i
        if i >= len(tokens) or one not in ("*", tokens[i]):
            return False
    return len(wanted) == len(tokens)


@given(PATTERN, SHORT.filter(bool))
def test_a_pattern_means_the_same_at_nats(pattern: str, topic: str) -> None:
    subjects = names.patterns_to_nats(pattern)
    there = any(_nats_matches(one, names.to_nats(topic)) for one in subjects)
    assert there == matches(pattern, topic)


@given(PATTERN.filter(bool), SHORT.filter(bool))
def test_a_subscription_at_nats_means_the_same_here(pattern: str, topic: str) -> None:
    for subject in names.patterns_to_nats(pattern):
        here = names.pattern_from_nats(subject)
        assert here is not None
        assert matches(here, topic) == _nats_matches(subject, names.to_nats(topic))


@given(st.lists(PATTERN.filter(bool), max_size=5), SHORT.filter(bool))
def test_a_cover_stands_for_all_its_patterns(patterns: list[str], topic: str) -> None:
    some = names.cover(patterns)
    assert any(matches(one, topic) for one in some) == any(matches(p, topic) for p in patterns)


STREAM = (
    b'INFO {"a":1}\r\nMSG a.b 1 5\r\nhello\r\nHMSG a.c 2 _INBOX.x 18 20\r\n'
    b"NATS/1.0\r\nA: b\r\n\r\nhi\r\nPING\r\nMSG d 1 r 4\r\n\r\n\r\n\r\n-ERR 'x'\r\n"
)
MESSAGES = [
    (b"a.b", b"1", b"", b"", b"hello"),
    (b"a.c", b"2", b"_INBOX.x", b"NATS/1.0\r\nA: b\r\n\r\n", b"hi"),
    (b"d", b"1", b"r", b"", b"\r\n\r\n"),
]


@given(st.sets(st.integers(1, len(STREAM) - 1)))
def test_a_stream_may_be_cut_anywhere(cuts: set[int]) -> None:
    parser, messages, lines = Parser(), [], []
    edges = [0, *sorted(cuts), len(STREAM)]
    for start, end in pairwise(edges):
        some, more = parser.feed(STREAM[start:end])
        messages += some
        lines += more
    assert messages == MESSAGES
    assert lines == [b'INFO {"a":1}', b"PING", b"-ERR 'x'"]


def test_a_leaf_node_is_told_replies_and_queue_groups_in_its_own_way() -> None:
    told = b"LMSG a 1\r\nx\r\nLMSG a 77 1\r\nx\r\nLMSG a + r q 1\r\nx\r\nLMSG a | q1 q2 1\r\nx\r\n"
    messages, _ = Parser(leaf=True).feed(told)
    assert [one[2] for one in messages] == [b"", b"77", b"r", b""]


HEADER = st.text("abcXYZ-", min_size=1, max_size=6)


@given(st.lists(st.tuples(HEADER, st.text("ab :=é", max_size=6).map(str.strip)), max_size=4))
def test_headers_come_back(headers: list[tuple[str, str]]) -> None:
    assert read_headers(write_headers(tuple(headers))) == tuple(headers)


@given(st.lists(st.binary(max_size=40), max_size=6), st.integers(1, 9))
def test_words_in_pieces_come_back_whole(words: list[bytes], most: int) -> None:
    desk = Desk()
    found = [desk.join("a", piece) for word in words for piece in cut(word, most)]
    assert [one for one in found if one is not None] == words


def test_a_word_whose_beginning_is_lost_is_dropped() -> None:
    desk = Desk()
    pieces = list(cut(b"hello world", 3))
    assert [desk.join("a", piece) for piece in pieces[1:]] == [None] * 3
    assert [desk.join("a", piece) for piece in pieces][-1] == b"hello world"


class Broker:
    """A broker that may die at any time, with what it has not confirmed."""

    def __init__(self) -> None:
        self.busy = False
        self.given: list[Outgoing] = []

    def deliver(self, messages: Sequence[Outgoing]) -> None:
        self.given += messages


ACTION = Deliver(Letter(0, 1, "t", 1, b""), ())
LEAVES = Kept(Letter(0, 1, "t", 1, b""), (), "none")
STEP = st.sampled_from(
    ["add", "write", "leave", "both", "confirm", "die", "back", "busy", "miss", "return"]
)


@given(st.lists(STEP, max_size=60))
def test_a_record_never_gets_ahead_of_the_deliveries_before_it(steps: list[str]) -> None:
    broker = Broker()
    log: list[Any] = []
    done: list[Delivery] = []
    some: Any = broker
    deliveries = Deliveries(some, log.extend, done.extend)
    added = left = safe = 0
    written: list[Any] = []
    deliveries.broker_up()
    for step in steps:
        if step == "add":
            added += 1
            deliveries.add([Delivery(Outgoing("t", b"%d" % added), ACTION)])
        elif step == "write":
            written.append(added)
            deliveries.behind([added])
        elif step in ("leave", "both"):
            some_records = [LEAVES, added] if step == "both" else [LEAVES]
            left += 1
            written += some_records
            deliveries.behind(some_records)
        elif step == "confirm" and deliveries.up and broker.given:
            deliveries.delivered(len(broker.given))
        elif step == "die" and deliveries.up:
            deliveries.broker_down()
        elif step == "back" and not deliveries.up:
            broker.given.clear()
            deliveries.broker_up()
        elif step == "busy":
            broker.busy = not broker.busy
        elif step == "miss":
            deliveries.miss(frozenset({"p"}))
        elif step == "return":
            deliveries.returned("p")
        assert [int(one.message.payload) for one in done] == list(range(1, len(done) + 1))
        own = [one for one in log if one is not LEAVES]
        assert all(before <= len(done) for before in own)
        assert own == sorted(own)
        assert len(log) - len(own) == left  # a letter's record waits for nothing
        safe = max(safe, deliveries.safe(len(log)))
        # What is said to be safe is: all of it has been given to the log, which keeps all it has.
        assert sum(one is not LEAVES for one in written[:safe]) <= len(own)
    if len(log) == len(written):
        assert max(safe, deliveries.safe(len(log))) == len(written)
