"""Laws of publications that come together: the same happens as when each is taken by itself."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ropewalk.federation.facts import Contract, Topic
from ropewalk.overlay.agent import Agent, Setup
from ropewalk.overlay.chart import chart_of
from ropewalk.overlay.events import (
    Accepted,
    AcceptedRun,
    Action,
    Burst,
    Closed,
    Due,
    Event,
    Logged,
    Published,
    Received,
    Send,
    Subscribed,
    Write,
)
from ropewalk.overlay.front import Front
from ropewalk.overlay.lane import Done, Entry, KeptRun, Lane
from ropewalk.overlay.pairs import alternates_of
from ropewalk.overlay.relaunch import lanes_of, records_of
from ropewalk.overlay.rules import rules_of
from ropewalk.overlay.runs import apart, singles
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.words import (
    INTEREST,
    Address,
    Flood,
    Frame,
    Item,
    Letter,
    Note,
    Parcel,
    Receipt,
    Run,
)
from ropewalk.protocol import automaton
from tests.bench import federation


def topic(readers: str, *, scope: Any = "federation", **contract: Any) -> Topic:
    made = Contract(**{"delivery": "at-least-once", "order": "fifo", **contract})
    return Topic(publishers=("a",), subscribers=tuple(readers), contract=made, scope=scope)


TOPICS = {
    "plain": topic("d"),
    "wide": topic("bcd"),
    "once": topic("bd", delivery="exactly-once"),
    "free": topic("bd", delivery="at-most-once", order="none"),
    "urgent": topic("d", order="priority", priority=2),
    "loose": topic("cd", order="none"),
    "kept": topic("d", retained=True),
    "twice": topic("d", paths=2),
    "near": topic("bd", scope="domain"),
    "spoken": dataclasses.replace(topic("d"), protocol="turns"),
    "here": topic("bd", order="total", home="a"),
    "there": topic("bd", order="total", home="d"),
}
SQUARE = federation("a-b b-d a-c c-d", topics=TOPICS)
CHART, RULES = chart_of(SQUARE), rules_of(SQUARE)
SECOND = alternates_of(SQUARE, CHART)
TIGHT = Settings(window=3, queue=6, link_queue=8, held=8, streams=2)


TURNS = automaton(
    "{protocol: turns, initial: 0, accepting: [0], messages: {A -> B: [ask, stop], B -> A: tell},"
    " transitions: [0 -> 1: ask, 1 -> 0: tell, 0 -> 2: stop]}"
)


def new_agent(tight: bool) -> Agent:
    agent = Agent(
        Setup(
            me=0,
            chart=CHART,
            rules=RULES,
            settings=TIGHT if tight else Settings(),
            alternates=SECOND[0],
            protocols={"turns": TURNS},
        )
    )
    agent.start(0, settled=True)
    for number, (name, one) in enumerate(TOPICS.items(), 1):
        readers = (CHART.names.index(reader) for reader in one.subscribers)
        items = tuple(Item(INTEREST, b, name, 1, number, True) for b in readers)
        agent.handle(Received(0, Flood(items)), 0)
    return agent


def receipt(sender: int, lane: int, upto: int, extra: tuple[int, ...]) -> Event:
    note = Note(sender, 1, 0, Receipt(lane, 1, upto, extra))
    return Received(0, Frame(CHART.epoch, 0, 0, (), (note,)))


numbers = st.integers(1, 30)
names = st.sampled_from(sorted(TOPICS))
publications = st.builds(
    Published,
    numbers,
    names,
    st.binary(max_size=2),
    key=st.sampled_from(["", "", "", "one", "two", "three"]),
    priority=st.none() | st.integers(0, 3),
    retain=st.booleans(),
    headers=st.sampled_from(
        [
            (("conversation", talk), ("message", message))
            for talk in "xy"
            for message in ("ask", "ask", "tell", "stop", "nonsense")
        ]
    ),
)
wishes = st.builds(
    lambda b, name, number, wants: Received(0, Flood((Item(INTEREST, b, name, 1, number, wants),))),
    st.integers(1, 3),
    names,
    st.integers(20, 99),
    st.booleans(),
)
receipts = st.builds(
    receipt, st.integers(1, 3), st.sampled_from([0, 2, 3]), numbers, st.sets(numbers).map(tuple)
)
others = st.one_of(
    st.builds(Logged, numbers),
    receipts,
    wishes,
    st.builds(Subscribed, st.sampled_from(["x", "y"]), names),
    st.builds(Closed, st.integers(0, 1)),
)


def bursts(*topics: str) -> st.SearchStrategy[Burst]:
    """Publications of one topic that differ in payload and id alone; some ids come again."""
    return st.builds(
        lambda name, count, ids: Burst(
            name,
            [b"%d" % n for n in range(count)],
            range(count),
            [f"k{n % ids}" for n in range(count)] if ids else [],
        ),
        st.sampled_from(topics),
        st.integers(2, 12),
        st.sampled_from([0, 0, 3, 99]),
    )


batches = st.lists(
    st.lists(publications, min_size=8, max_size=24)
    | st.lists(publications | others, max_size=8)
    | st.lists(bursts("plain", "wide", "urgent", "once", "kept", "twice") | others, max_size=5),
    max_size=6,
)


def outcome(agent: Agent, some: Sequence[Sequence[Event]]) -> list[Any]:
    """All that an agent wants done, batch by batch, and what it has in the end."""
    done = [
        list(plain(agent.handle_all([_possible(agent, e) for e in one], at)))
        for at, one in enumerate(some)
    ]
    return [done, list(apart(agent.records())), agent.memory(), agent.wake_us]


def _possible(agent: Agent, event: Event) -> Event:
    """A log holds all that was written; how many records that is depends on who counts."""
    return Logged(agent.deck.written) if isinstance(event, Logged) else event


def plain(actions: Iterable[Action]) -> Iterator[Action]:
    """Actions with every letter of a run by itself; answers last, in the order of letters."""
    answers: list[Accepted] = []
    for one in actions:
        match one:
            case Accepted():
                answers.append(one)
            case Write(record):
                yield from map(Write, apart((record,)))
            case AcceptedRun(tickets, run):
                answers += map(Accepted, tickets, run.letters())
            case Send(link, Frame() as frame):
                yield Send(link, replace(frame, parcels=tuple(singles(frame.parcels))))
            case _:
                yield one
    yield from sorted(answers, key=lambda one: (one.letter.id, one.ticket))


def by_itself(agent: Agent) -> Agent:
    """The same agent, but it looks everything up for each publication anew."""

    def published(events: Sequence[Published]) -> None:
        for event in events:
            Front.published(agent.front, (event,))

    vars(agent.front)["published"] = published
    return agent


@given(st.booleans(), batches)
@settings(max_examples=150)
def test_what_is_looked_up_once_for_a_batch_is_right_for_each(
    tight: bool, some: list[list[Event]]
) -> None:
    assert outcome(new_agent(tight), some) == outcome(by_itself(new_agent(tight)), one_by_one(some))


def one_by_one(some: Sequence[Sequence[Event]]) -> list[list[Event]]:
    """The same events without bursts."""
    return [
        [one for event in part for one in (event.each() if isinstance(event, Burst) else [event])]
        for part in some
    ]


def test_bursts_that_can_be_are_runs() -> None:
    """Else the law above would compare singles with singles."""
    done = new_agent(False).handle_all([Burst("plain", [b"1", b"2"], [1, 2])], 1)
    (sent,) = (one.word for one in done if isinstance(one, Send))
    assert isinstance(sent, Frame)
    assert [type(one) for one in sent.parcels] == [Run]
    assert [type(one.record) for one in done if isinstance(one, Write)] == [KeptRun]


@given(
    st.booleans(),
    st.lists(
        st.lists(bursts("plain", "loose") | st.builds(Logged, numbers) | receipts, min_size=1),
        min_size=1,
        max_size=6,
    ),
)
@settings(max_examples=200)
def test_a_run_is_taken_as_its_letters_are(tight: bool, some: list[list[Event]]) -> None:
    assert outcome(new_agent(tight), some) == outcome(new_agent(tight), one_by_one(some))


def stretches(jumps: Sequence[int], counts: Sequence[int], flags: Sequence[int]) -> list[Run]:
    """Runs of one origin's lane to d: mostly one behind the other, some again or too early."""
    found, end = [], 1
    for jump, count, flag in zip(jumps, counts, flags, strict=False):
        chained, late, start = flag % 2 == 0, flag == 5, max(1, end + jump)
        letter = Letter(0, 1, "plain" if chained else "loose", start, b"", 5)
        place = Address(3, 0, start, 1, start - 1 if chained else 0, 0, 1, 0, 1, late)
        payloads = tuple(b"%d" % n for n in range(count))
        found.append(Run(letter, place, chained, payloads, (), 1))
        end = start + count
    return found


runs = st.builds(
    stretches,
    st.lists(st.sampled_from([0, 0, 0, 0, -1, -4, 1, 3]), min_size=1, max_size=8),
    st.lists(st.integers(1, 5), min_size=8, max_size=8),
    st.lists(st.integers(0, 5), min_size=8, max_size=8),
)
between = st.sampled_from([None, None, None, Closed(0), Closed(1), Due(), Logged(0)])


def carrier(me: int) -> Agent:
    agent = Agent(Setup(me=me, chart=CHART, rules=RULES, settings=TIGHT))
    agent.start(0, settled=True)
    agent.handle(Subscribed("x", "plain"), 0)
    agent.handle(Subscribed("x", "loose"), 0)
    return agent


def carried_on(me: int, some: Sequence[Any], *, single: bool) -> list[Any]:
    """What an agent does with runs that come from a, or with their parcels."""
    agent, done = carrier(me), []
    link = min(CHART.ports(me))
    for number, one in enumerate(some, 1):
        event: Event
        if isinstance(one, Run):
            parcels = tuple(singles((one,))) if single else (one,)
            event = Received(link, Frame(CHART.epoch, 1 << 20, number, parcels))
        else:
            event = _possible(agent, one)
        done.append(list(plain(agent.handle_all([event], 5_000 * number))))
    return [
        done,
        list(apart(agent.records())),
        agent.memory(),
        agent.wake_us,
        agent.arrivals.doubles,
    ]


@given(st.sampled_from([1, 3]), runs, st.lists(between, min_size=8, max_size=8))
@settings(max_examples=300)
def test_a_run_is_carried_and_delivered_as_its_parcels_are(
    me: int, some: list[Run], others: list[Event | None]
) -> None:
    both = [one for pair in zip(some, others, strict=False) for one in pair if one is not None]
    assert carried_on(me, both, single=False) == carried_on(me, both, single=True)


def test_what_is_looked_up_once_for_all_time_is_found_out() -> None:
    wish = Received(0, Flood((Item(INTEREST, 1, "plain", 1, 99, True),)))
    some: list[list[Event]] = [[Published(1, "plain", b"")], [wish], [Published(2, "plain", b"")]]
    stale = new_agent(False)
    vars(stale.front)["_plan"] = cache(stale.front._plan)
    assert outcome(stale, some) != outcome(by_itself(new_agent(False)), some)
    assert outcome(new_agent(False), some) == outcome(by_itself(new_agent(False)), some)


def carried(actions: Sequence[Action]) -> tuple[list[Action], dict[int, list[Parcel]]]:
    """What is to be done but for sending; and the parcels of each link, in whatever frames."""
    parcels: dict[int, list[Parcel]] = {}
    for action in actions:
        if isinstance(action, Send) and isinstance(action.word, Frame):
            parcels.setdefault(action.link, []).extend(singles(action.word.parcels))
    return [one for one in actions if not isinstance(one, Send)], parcels


@given(st.booleans(), st.lists(publications, max_size=60))
def test_a_batch_is_as_good_as_one_after_the_other(tight: bool, some: list[Published]) -> None:
    one, other = new_agent(tight), new_agent(tight)
    together = one.handle_all(some, 1)
    apart = [action for event in some for action in other.handle(event, 1)]
    assert carried(together) == carried(apart)
    assert one.records() == other.records()


@given(runs, st.lists(st.tuples(st.integers(0, 30), st.sets(st.integers(1, 30)))))
def test_a_lane_comes_back_from_runs_as_from_their_letters(
    some: list[Run], struck: list[tuple[int, set[int]]]
) -> None:
    end, records = 1, list[object]()
    for run, (upto, extra) in zip_longest(some, struck, fillvalue=(0, set[int]())):
        if isinstance(run, Run) and run.to.number == end:  # an origin gives each number once
            records.append(KeptRun(run, "fifo" if run.chained else "none"))
            end += len(run.payloads)
        if upto or extra:
            records.append(Done(3, 0, 1, min(upto, end - 1), tuple(sorted(extra))))
    one, other = lanes_of(0, records), lanes_of(0, apart(records))
    assert one.keys() == other.keys()
    for key, lane in one.items():
        same = other[key]
        assert lane.letters() == same.letters()
        assert [lane.address(n) for n in lane.entries] == [same.address(n) for n in same.entries]
        assert (lane.base, lane.next, lane.last) == (same.base, same.next, same.last)
        assert (lane.waiting, lane.idle) == (same.waiting, same.idle)
        assert list(apart(records_of(lane))) == list(records_of(same))


LETTER = Letter(0, 1, "t", 1, b"")


@given(st.lists(st.none() | st.tuples(st.integers(0, 12), st.lists(st.integers(0, 12)))))
def test_a_lane_knows_its_lowest_number(steps: list[tuple[int, list[int]] | None]) -> None:
    lane = Lane(0, 1, 0, 1)
    for step in steps:
        if step is None:
            lane.entries[lane.next] = Entry(LETTER, 0, 0, "none", 1)
            lane.next += 1
        else:
            upto, extra = step
            before = list(lane.entries)
            left = [number for number in before if number > upto and number not in extra]
            assert len(lane.strike(upto, extra)) == len(before) - len(left)
            assert list(lane.entries) == left
        assert lane.base == min(lane.entries, default=lane.next)
