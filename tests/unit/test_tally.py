"""The tally against a brute-force oracle, and the parts of a driven run that need no broker."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ropewalk.agent.drive.cast import cast_of, urls_of
from ropewalk.agent.drive.pace import Schedule
from ropewalk.agent.drive.payload import Form
from ropewalk.agent.drive.tally import (
    Heard,
    Sent,
    Span,
    disagreement,
    judge,
    longest_gap,
    outages,
)
from ropewalk.agent.drive.timing import Order, orders_of
from ropewalk.agent.drive.window import Window
from ropewalk.errors import UsageError
from ropewalk.federation import loads

MOST = 12
MS = 1_000_000
FORM = Form(run=7, size_bytes=40)

acknowledgements = st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=MOST)
"""How often each number had to be sent until it was acknowledged; 0: it never was."""


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    """Tries by number, and arrivals as (number, time)."""
    tries = draw(acknowledgements)
    numbers = draw(st.lists(st.integers(0, len(tries) - 1), max_size=2 * MOST))
    steps = draw(st.lists(st.integers(0, 9), min_size=len(numbers), max_size=len(numbers)))
    times = [1 * MS + MS // 10 * sum(steps[: i + 1]) for i in range(len(numbers))]
    return tries, list(zip(numbers, times, strict=True))


def counted(
    tries: list[int], arrivals: list[tuple[int, int]], stream: int = 3
) -> tuple[Sent, Heard]:
    sent, heard = Sent(), Heard()
    sent.add(len(tries))
    for number, count in enumerate(tries):
        if count:
            sent.acknowledge(number, count)
            sent.acknowledge(number, count)  # a second answer changes nothing
    for number, time in arrivals:
        heard.add(stream, number, time - 100, time)
        heard.add(stream + 1, number, 0, time)  # another publisher's
    return sent, heard


@given(runs(), st.integers(0, 40 * MS), st.integers(1 * MS, 40 * MS))
@example(([1, 1], []), 0, 4 * MS)
def test_the_tally_is_what_counting_one_by_one_gives(
    run: tuple[list[int], list[tuple[int, int]]], after: int, until: int
) -> None:
    tries, arrivals = run
    sent, heard = counted(tries, arrivals)
    found = judge(sent, heard.of(3), Span(1 * MS, until, after))

    first = [one for i, one in enumerate(arrivals) if one[0] not in {n for n, _ in arrivals[:i]}]
    came = {number for number, _ in first}
    acked = {number for number, count in enumerate(tries) if count}
    judged = {n for n, count in enumerate(tries) if count == 1} if acked else set(range(len(tries)))
    turns = [number for number, _ in first if number in judged]
    assert (found.sent, found.acknowledged) == (len(tries), len(acked))
    assert found.resent == tries.count(2)
    assert found.received == len(came)
    assert found.doubled == len(arrivals) - len(came)
    assert found.lost == len(acked - came) == heard.missing(3, sent)
    assert [n for a, b in found.lost_numbers for n in range(a, b + 1)] == sorted(acked - came)
    assert found.uncertain == len(tries) - len(acked)
    assert found.uncertain_lost == len(set(range(len(tries))) - acked - came)
    assert found.disordered == sum(any(m > n for m in turns[:i]) for i, n in enumerate(turns))
    edges = [1 * MS, *(time for _, time in first)]
    edges.append(max(until, edges[-1]))
    gaps = [b - a for a, b in pairwise(edges) if b >= after]
    assert found.longest_gap_ms == round(max(gaps, default=0) / 1e6, 3)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-2, 9)), max_size=30), st.integers(0, 30))
def test_many_at_once_are_counted_as_one_by_one(keys: list[tuple[int, int]], cut: int) -> None:
    one, many = Heard(), Heard()
    sent = Sent()
    sent.add(10)
    for number in range(10):
        sent.acknowledge(number)
    payloads = [FORM.write(stream, number, 5) for stream, number in keys]
    for payload in payloads:
        read = FORM.read(payload)
        assert read is not None
        one.add(*read, 9)
    for part in (payloads[:cut], payloads[cut:]):
        many.add_many(FORM.read_many(part), 9)
        many.missing(0, sent)
    assert one.probed == many.probed == {stream for stream, number in keys if number < 0}
    assert len(one) == len(many)
    for stream in (0, 1):
        assert one.missing(stream, sent) == many.missing(stream, sent)
        assert judge(sent, one.of(stream), Span(0, 9)) == judge(sent, many.of(stream), Span(0, 9))


def test_what_is_not_of_the_run_or_was_changed_is_told_apart() -> None:
    good = FORM.write(1, 2, 3)
    other = Form(run=8, size_bytes=40).write(1, 2, 3)
    for bad in (good[:-1], good + b"x", good[:-1] + b"?", other, b""):
        assert FORM.read(bad) is None
        assert len(FORM.read_many([bad])) == 0
    assert FORM.read_many([good, other, good])["number"].tolist() == [2, 2]
    with pytest.raises(UsageError, match="at least 24"):
        Form(run=1, size_bytes=23)


def test_a_million_messages_are_judged() -> None:
    count = 1_000_000
    sent, heard = Sent(), Heard()
    sent.add(count)
    for number in range(count):
        sent.acknowledge(number)
    numbers = np.delete(np.arange(count), [500, 501, 70_000])
    rows = np.zeros(len(numbers), FORM.read_many([]).dtype)
    rows["number"], rows["stream"] = numbers, 2
    for part in np.array_split(rows, 50):
        heard.add_many(part, 1_000_000)
    assert heard.missing(2, sent) == 3
    found = judge(sent, heard.of(2), Span(0, 1_000_000))
    assert (found.lost, found.lost_numbers) == (3, ((500, 501), (70_000, 70_000)))
    assert (found.doubled, found.disordered, found.p50_ms) == (0, 0, 1.0)


def test_readers_of_a_total_order_are_compared_by_what_both_got() -> None:
    a, b, c = (0, 0), (1, 0), (0, 1)
    assert disagreement([a, b, c], [a, c]) is None
    assert disagreement([a, b, c], [b, a]) == (a, b)
    assert disagreement([], [a]) is None


def test_a_window_resends_what_was_refused_or_not_answered_under_its_number() -> None:
    window = Window[str](size=3)
    numbers = [window.open(name, 0.0) for name in "abc"]
    assert (numbers, window.room, len(window)) == ([0, 1, 2], 0, 3)
    window.refuse(1, 0.0)
    assert window.overdue(0.04) == []
    assert window.overdue(0.06) == [(1, "b")]
    closed = window.close(0)
    assert closed is not None
    assert (closed.item, closed.tries, window.close(0)) == ("a", 1, None)
    assert window.overdue(0.31) == [(2, "c")]
    assert window.everything(0.32) == [(1, "b"), (2, "c")]
    window.refuse(0, 0.4)  # answered long ago
    assert [number for number, _ in window.overdue(0.7)] == [1, 2]
    assert sorted(window.clear()) == ["b", "c"]


def test_a_schedule_keeps_its_rate_and_never_makes_up_for_a_stall_in_a_burst() -> None:
    schedule = Schedule(rate_msgs_s=10_000, seconds=1, start_s=0)
    sent = most = 0
    for tick in range(1, 1_001):
        if 300 <= tick < 500:
            continue  # the process stood still
        due = schedule.due(tick / 1_000, sent, room=2_000)
        most, sent = max(most, due), sent + due
    assert most == 500
    assert sent + schedule.skipped == 10_000
    assert schedule.skipped == 2_010 - 500
    assert schedule.over(1.0)
    assert Schedule(rate_msgs_s=0, seconds=1, start_s=0).due(0.5, 0, room=77) == 77


FEDERATION = """
federation: f
brokers:
  a: {url: "nats://h:1", takeover: [b, m, c]}
  b: {url: "nats://h:2", credentials: "env:SECRET"}
  c: {}
  m: {make: mosquitto, url: "mqtt://h:3"}
domains:
  d: {gateways: [a], edges: [b]}
links:
  - {between: [a, b]}
  - {between: [b, m]}
topics:
  p/+/x: {publishers: [a], subscribers: [{broker: m, client: desk}]}
  p/#: {publishers: [b], subscribers: [b]}
  near: {publishers: [a, m], subscribers: [b, m], scope: domain, contract: {order: total, home: a}}
"""


def test_who_publishes_what_and_who_is_due_it_follows_the_file() -> None:
    cast = cast_of(loads(FEDERATION))
    told = [(one.topic, str(one), str(reader), reader.pattern) for one, reader in cast.pairs]
    assert told == [
        ("p/x/x", "a", "desk@m", "p/+/x"),
        ("p/x/x", "a", "b", "p/#"),
        ("p/x", "b", "b", "p/#"),
        ("near", "a", "b", "near"),
        ("near", "m", "m", "near"),
    ]
    with pytest.raises(UsageError, match="both a publisher and a subscriber"):
        cast_of(loads("{federation: f, brokers: {a: }, topics: {t: {publishers: [a]}}}"))


def test_clients_connect_to_their_broker_then_to_those_of_its_make_that_take_over() -> None:
    federation = loads(FEDERATION)
    found = urls_of(federation, "a", "publishers", {"SECRET": "me:p@ss"})
    assert found == ("nats://h:1", "nats://me:p%40ss@h:2")
    with pytest.raises(UsageError, match="set SECRET"):
        urls_of(federation, "b", "subscribers", {})
    with pytest.raises(UsageError, match="broker c has no url"):
        urls_of(federation, "c", "subscribers", {})


def test_faults_become_orders_to_the_lab_in_time() -> None:
    federation = loads(FEDERATION)
    texts = ["at 3 s kill agent a for 500 ms", "at 1 s blackhole a--b for 2 s; at 2 s cut b->m"]
    assert orders_of(texts, federation, 10) == (
        Order(1.0, "blackhole a--b"),
        Order(2.0, "cut b->m"),
        Order(3.0, "kill agent a"),
        Order(3.0, "heal a--b"),
        Order(3.5, "heal agent a"),
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("blackhole a--b", "is no fault"),
        ("at 1 s blackhole a--m", "has no link a--m"),
        ("at 9 s cut a--b", "the run ends after 5 s"),
    ],
)
def test_a_fault_that_cannot_be_made_is_refused_before_the_run(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        orders_of([text], loads(FEDERATION), 5)


def test_where_little_is_sent_a_gap_begins_with_the_message_that_ends_it() -> None:
    ms = 10**6
    came, sent_at = np.array([0, 500, 900]) * ms, np.array([0, 480, 600]) * ms
    span = Span(0, 1000 * ms, uneven=True, complete=True)
    assert longest_gap(came, span, sent_at) == (300 * ms, 600 * ms)
    assert outages(came, span, sent_at) == ((0.6, 300.0),)
    lost = Span(0, 2000 * ms, uneven=True)
    assert longest_gap(came, lost, sent_at) == (1100 * ms, 900 * ms)
    assert longest_gap(came, span) == (500 * ms, 0)
