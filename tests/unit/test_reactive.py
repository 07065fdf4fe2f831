"""Reactive balancing: what is detected, what is chosen, and how a session goes step by step."""

import math
from dataclasses import replace

import pytest

from ropewalk.errors import StoryError, UsageError
from ropewalk.federation.facts import Performance
from ropewalk.placement.reactive import (
    Balance,
    Balanced,
    Books,
    Detector,
    Mediator,
    Patience,
    Reading,
    Station,
    Subscription,
    TopicLoad,
    Watch,
    Watched,
    balance_step,
    books_of,
    detector_step,
    mediation_step,
    relieve,
    store_share,
)
from ropewalk.placement.reactive import session as s
from ropewalk.placement.reactive.arrows import SOURCE, TABLE, TARGET, Phase
from ropewalk.placement.reactive.detector import ClockBack, Over, Silent, TooHigh, Unusable

CPU = Watch(high=0.8, low=0.6, hold_s=2, release_s=3)
DETECTOR = Detector({"cpu_share": CPU, "store_share": CPU}, gap_s=2)

Rows = list[tuple[float, Reading]]


def cpu(*rows: tuple[float, float | None]) -> Rows:
    return [(at_s, Reading(cpu_share=value)) for at_s, value in rows]


def watched(rows: Rows) -> tuple[Watched, list[object]]:
    state, told = Watched(), list[object]()
    for at_s, reading in rows:
        state, events = detector_step(DETECTOR, state, reading, at_s)
        told += events
    return state, told


# The detector.


def test_a_figure_counts_when_it_has_stayed_above_its_mark() -> None:
    rows = cpu((0, 0.9), (1, 0.9), (2, 0.95))
    assert watched(rows[:2])[1] == []
    state, told = watched(rows)
    assert told == [TooHigh("cpu_share", 0.95, 0.8, 0, 2)]
    assert str(told[0]) == "CPU is 0.95, above 0.8 for 2 s (since 0 s)"
    assert state.overloaded


def test_a_figure_that_dips_starts_anew() -> None:
    assert watched(cpu((0, 0.9), (1, 0.8), (2, 0.9), (3, 0.9)))[1] == []


def test_it_is_over_only_when_all_figures_stay_low() -> None:
    high = cpu((0, 0.9), (1, 0.9), (2, 0.9))
    calm = [(at_s, Reading(cpu_share=0.1, store_share=0.7)) for at_s in (3, 4, 5, 6)]
    state, told = watched([*high, *calm])
    assert state.overloaded
    assert len(told) == 1
    low = [(at_s, Reading(cpu_share=0.1, store_share=0.1)) for at_s in (7, 8, 9, 10)]
    state, told = watched([*high, *calm, *low])
    assert not state.overloaded
    assert told[-1] == Over(("cpu_share",), 0, 10)
    assert str(told[-1]) == "over after 10 s: CPU was too high, all is low again"


def test_a_second_cause_is_told_once_and_the_first_is_not_told_again() -> None:
    rows = [(at_s, Reading(cpu_share=0.9, store_share=0.9 if at_s else 0.1)) for at_s in range(6)]
    told = watched(rows)[1]  # type: ignore[arg-type]
    assert [one.metric for one in told if isinstance(one, TooHigh)] == ["cpu_share", "store_share"]


def test_a_gap_is_no_time_above() -> None:
    state, told = watched(cpu((0, 0.9), (10, 0.9)))
    assert told == [Silent("cpu_share", 0, 10)]
    assert str(told[0]) == "CPU was not known for 10 s: its time starts anew"
    assert not state.overloaded


def test_a_figure_that_falls_silent_holds_an_overload_open() -> None:
    rows = cpu((0, 0.9), (1, 0.9), (2, 0.9))
    rows += [(at_s, Reading(store_share=0.1)) for at_s in range(3, 12)]
    state, told = watched(rows)
    assert state.overloaded
    assert [type(one) for one in told] == [TooHigh, Silent]


@pytest.mark.parametrize("value", [math.nan, -0.1, math.inf, -math.inf])
def test_a_figure_that_cannot_be_is_taken_as_not_known(value: float) -> None:
    state, told = watched(cpu((0, value), (1, value), (2, value), (3, value)))
    assert not state.overloaded
    assert [type(one) for one in told] == [Unusable]
    assert "which cannot be: taken as not known" in str(told[0])


def test_a_clock_that_goes_back_starts_times_anew_and_ends_no_overload() -> None:
    state, told = watched(cpu((100, 0.9), (101, 0.9), (1, 0.9), (2, 0.9)))
    assert told == [ClockBack(101, 1)]
    assert "the clock went back from 101 s to 1 s" in str(told[0])
    assert not state.overloaded
    state, _ = watched(cpu((0, 0.9), (1, 0.9), (2, 0.9), (1, None), (1, None)))
    assert state.overloaded


def test_no_hold_means_at_once() -> None:
    now = Detector({"cpu_share": replace(CPU, hold_s=0)}, gap_s=1)
    state, _ = detector_step(now, Watched(), Reading(cpu_share=0.9), 5)
    assert state.overloaded


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ((0.8, 0.8, 1, 1), "low 0.8 is not below high 0.8"),
        ((0.8, 0.0, 1, 1), "low 0 is never undercut"),
        ((0.8, 0.6, -1, 1), "hold_s -1 is negative"),
        ((0.8, 0.6, 1, -1), "release_s -1 is negative"),
        ((math.nan, 0.6, 1, 1), "high is nan: write a finite number"),
    ],
)
def test_marks_that_make_no_sense_are_refused(marks: tuple[float, ...], said: str) -> None:
    high, low, hold_s, release_s = marks
    with pytest.raises(UsageError, match=said):
        Watch(high=high, low=low, hold_s=hold_s, release_s=release_s)


def test_a_detector_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="no metric is called 'cpu'"):
        Detector({"cpu": CPU}, gap_s=1)
    with pytest.raises(UsageError, match="gap_s 0 leaves no time"):
        Detector({}, gap_s=0)
    with pytest.raises(UsageError, match="now_s is nan"):
        detector_step(DETECTOR, Watched(), Reading(), math.nan)
    with pytest.raises(UsageError, match="limit is 0 bytes"):
        store_share(1, 0)


# Balance.

BALANCE = Balance(Watch(high=0.2, low=0.1, hold_s=2, release_s=2), gap_s=2)


def balanced(*rows: dict[str, float | None]) -> tuple[Balanced, list[str]]:
    state, told = Balanced(), list[str]()
    for at_s, row in enumerate(rows):
        state, events = balance_step(BALANCE, state, row, at_s)
        told += [str(event) for event in events]
    return state, told


def test_a_broker_that_stays_far_from_the_mean_is_out_of_balance() -> None:
    row: dict[str, float | None] = {"a": 0.9, "b": 0.4, "c": 0.5}
    state, told = balanced(row, row, row)
    assert state.out == ("a",)
    assert told == [
        "a: utilisation over the domain's mean is 0.3, above 0.2 for 2 s (since 0 s)",
    ]
    even: dict[str, float | None] = {"a": 0.5, "b": 0.5, "c": 0.5}
    assert balanced(row, row, row, even, even, even)[0].out == ()


def test_a_broker_that_swings_around_the_mean_is_not_out_of_balance() -> None:
    up: dict[str, float | None] = {"a": 0.9, "b": 0.3, "c": 0.3}
    down: dict[str, float | None] = {"a": 0.0, "b": 0.5, "c": 0.5}
    assert "a" not in balanced(up, down, up, down, up)[0].out


def test_of_one_known_broker_nothing_can_be_said() -> None:
    row: dict[str, float | None] = {"a": 0.9, "b": None, "c": math.nan}
    state, told = balanced(row, row, row)
    assert state.out == ()
    assert len(told) == 1
    assert told[0].startswith("c: ")


def test_a_broker_that_is_not_named_any_more_is_forgotten() -> None:
    row: dict[str, float | None] = {"a": 0.9, "b": 0.4, "c": 0.5}
    assert balanced(row, row, row, {"b": 0.4, "c": 0.5})[0].out == ()


# The offload.

COSTS = Performance(receive_us=100, filter_us=10, send_us=100)


def station(name: str, utilisation: float, **more: object) -> Station:
    return replace(Station(name, utilisation, COSTS, high=0.8, low=0.6), **more)  # type: ignore[arg-type]


def books(subscriptions: list[Subscription], *candidates: Station, source: float = 0.9) -> Books:
    topics = [TopicLoad("x", 1000, 1), TopicLoad("y", 1000), TopicLoad("z", 1000, 0, True)]
    return books_of(station("src", source), topics, subscriptions, candidates)


def test_the_last_subscription_of_a_topic_frees_its_receive_and_filter_work() -> None:
    both = [Subscription("s1", "x", 1500), Subscription("s2", "x", 1500)]
    found = relieve(books(both, station("b", 0.1)))
    # Both copies (0.3) and 1000 messages of 110 us (0.11) leave; the target takes the same.
    assert found.moves == {"s1": "b", "s2": "b"}
    assert found.loads == pytest.approx({"src": 0.49, "b": 0.51})
    some = relieve(books([*both, Subscription("s3", "x", 0, "pinned")], station("b", 0.1)))
    assert not some.solved
    assert some.loads["src"] == pytest.approx(0.6)


def test_a_target_that_carries_the_topic_takes_only_copies() -> None:
    one = [Subscription("s1", "x", 3500)]
    assert not relieve(books(one, station("b", 0.35))).solved
    found = relieve(books(one, station("b", 0.35, carries=frozenset({"x"}))))
    assert found.loads == pytest.approx({"src": 0.44, "b": 0.7})


def test_publishers_that_stay_cost_the_source_a_copy_to_each_new_carrier() -> None:
    one = [Subscription("s1", "z", 4500)]
    found = relieve(books(one, station("b", 0.1)))
    assert found.loads == pytest.approx({"src": 0.9 - 0.45 + 0.1, "b": 0.1 + 0.1 + 0.45})


def test_one_acceptor_is_preferred_and_the_other_told_why_not() -> None:
    found = relieve(books([Subscription("s1", "y", 3000)], station("a", 0.1), station("b", 0.2)))
    assert found.acceptors == ("a",)
    assert [str(one) for one in found.brokers] == ["b: not needed: a can take what has to move"]


def test_two_acceptors_are_used_where_one_has_no_room() -> None:
    two = [Subscription("s1", "x", 1900), Subscription("s2", "y", 1900)]
    found = relieve(books(two, station("a", 0.4), station("b", 0.4)))
    assert (found.solved, found.certain, found.acceptors) == (True, True, ("a", "b"))


def test_every_rejection_says_why() -> None:
    three = [
        Subscription("s1", "x", 9000),
        Subscription("s2", "y", 100, "its contract says home: src"),
        Subscription("s3", "y", 0),
    ]
    full, far = station("a", 0.8, deviation=0.1), station("c", 0.1, closed="it is in a session")
    found = relieve(books(three, full, station("b", 0.5), far))
    assert not found.solved
    assert found.certain
    assert [str(one) for one in found.brokers] == [
        "a: it has no room: 0.8 of at most 0.65 (high mark 0.8 less 0.15 kept free)",
        "b: none of what is left to move fits into its room of 0.25 and helps",
        "c: it is in a session",
    ]
    assert [str(one) for one in found.subscriptions] == [
        "s1: a takes nothing; b has room for 0.25, it takes 1.01; c takes nothing",
        "s2: its contract says home: src",
        "s3: a takes nothing; moving it to b frees nothing; c takes nothing",
    ]


def test_nothing_moves_from_a_broker_below_its_low_mark() -> None:
    found = relieve(books([Subscription("s1", "x", 1000)], station("b", 0.1), source=0.5))
    assert found.solved
    assert not found.moves
    assert str(found.brokers[0]) == "b: not needed: src is below its low mark 0.6"


def test_many_subscriptions_are_chosen_greedily_and_that_is_said() -> None:
    many = [Subscription(f"s{i:03}", "x" if i % 2 else "y", 10.0 + i) for i in range(100)]
    found = relieve(books(many, station("a", 0.3), station("b", 0.3)))
    assert found.solved
    assert not found.certain
    assert found.loads["src"] < 0.6
    assert len(found.acceptors) == 1
    assert max(found.loads["a"], found.loads["b"]) <= 0.75


def test_nobody_to_take_it() -> None:
    found = relieve(books([Subscription("s1", "x", 1000)]))
    assert not found.solved
    assert str(found.subscriptions[0]) == "s1: there is no other broker"


@pytest.mark.parametrize(
    ("subscriptions", "candidates", "said"),
    [
        ([Subscription("s", "w", 1)], [], "its topic 'w' is not among the topics"),
        ([Subscription("s", "x", -1)], [], "s: copies_s is -1"),
        ([Subscription("s", "x", 1)] * 2, [], "s: 2 of this name"),
        ([], [station("src", 0.1)], "src: 2 of this name"),
        ([], [station("b", math.nan)], "b: utilisation is nan"),
        ([], [station("b", 0.1, low=0.9)], "b: low 0.9 is not below 0.8"),
    ],
)
def test_books_that_make_no_sense_are_refused(
    subscriptions: list[Subscription], candidates: list[Station], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        books(subscriptions, *candidates)


# Sessions.

ID = s.SessionId("lon", 1)
CLIENTS = frozenset({"c1", "c2"})
BEGIN = s.Begin("par", "equities", CLIENTS)
OFFER = s.Offer(ID, "equities", CLIENTS)
SHORT = Patience(answer_s=1, tries=1, clients_s=5)


def after(
    name: str, *events: s.Event, at_s: float = 0.0, patience: Patience = SHORT
) -> tuple[Mediator, tuple[s.Action, ...]]:
    """The state after events, and the actions of the last of them; each Tick is due."""
    state, actions = Mediator(name, patience), tuple[s.Action, ...]()
    for event in events:
        if isinstance(event, s.Tick):
            at_s = state.due_s or at_s
        state, actions = mediation_step(state, event, at_s)
    return state, actions


def from_par(message: s.Message) -> s.Heard:
    return s.Heard("par", message)


def from_lon(message: s.Message) -> s.Heard:
    return s.Heard("lon", message)


READY = from_par(s.Ready(ID))
TO_DISCONNECTING = (BEGIN, READY, s.Drained(ID))
TO_MOVED = (*TO_DISCONNECTING, s.Disconnected(ID))
TO_BUFFERING = (from_lon(OFFER), s.Buffered(ID))
TO_SERVING = (*TO_BUFFERING, from_lon(s.Moved(ID)))


def test_a_source_goes_through_its_phases() -> None:
    assert after("lon", BEGIN)[1] == (s.Say("par", OFFER),)
    assert after("lon", BEGIN, from_par(s.Accept(ID)))[0].phase is Phase.ACCEPTED
    assert after("lon", BEGIN, READY)[1] == (s.Drain(ID, "equities"),)
    assert after("lon", *TO_DISCONNECTING)[1] == (s.Disconnect(ID, CLIENTS),)
    assert after("lon", *TO_MOVED)[1] == (
        s.Forward("equities", "par"),
        s.Say("par", s.Moved(ID)),
    )
    state, actions = after("lon", *TO_MOVED, from_par(s.Done(ID, frozenset({"c2"}))))
    assert actions == (
        s.Release("equities"),
        s.Report("equities from lon to par: done; clients that did not come: c2"),
    )
    assert (state.phase, state.session, state.due_s) == (Phase.IDLE, None, None)


def test_a_target_goes_through_its_phases() -> None:
    assert after("par", from_lon(OFFER))[1] == (
        s.Buffer(ID, "equities"),
        s.Say("lon", s.Accept(ID)),
    )
    assert after("par", *TO_BUFFERING)[1] == (s.Say("lon", s.Ready(ID)),)
    came = (*TO_SERVING, s.Connected("c1"))
    assert after("par", *came)[1] == (s.Replay(ID, "equities", "c1"),)
    both = (*came, s.Replayed(ID, "c1"), s.Connected("c2"), s.Replayed(ID, "c2"))
    state, actions = after("par", *both)
    assert actions == (s.Flush("equities"), s.Say("lon", s.Done(ID, frozenset())))
    assert state.phase is Phase.IDLE


def test_clients_may_come_before_the_target_is_told() -> None:
    came = [event for c in sorted(CLIENTS) for event in (s.Connected(c), s.Replayed(ID, c))]
    _, actions = after("par", *TO_BUFFERING, *came, from_lon(s.Moved(ID)))
    assert actions[-1] == s.Say("lon", s.Done(ID, frozenset()))


def test_stragglers_are_kept_for_and_reported() -> None:
    events = (*TO_SERVING, s.Connected("c1"), s.Replayed(ID, "c1"), s.Tick())
    _, actions = after("par", *events)
    assert actions[:3] == (
        s.Keep("equities", frozenset({"c2"})),
        s.Flush("equities"),
        s.Say("lon", s.Done(ID, frozenset({"c2"}))),
    )
    assert str(actions[3]).endswith("have it in durable queues: c2')")


@pytest.mark.parametrize("way", [(), (from_par(s.Accept(ID)),), (READY,)])
def test_before_the_clients_are_disconnected_everything_is_rolled_back(
    way: tuple[s.Event, ...],
) -> None:
    for last in (s.Abort(), from_par(s.Stop(ID)), from_par(s.Done(ID, CLIENTS))):
        state, actions = after("lon", BEGIN, *way, last)
        assert state.phase is Phase.CANCELLING
        assert s.Say("par", s.Cancel(ID)) in actions
        assert (s.Resume("equities") in actions) == (READY in way)
    state, _ = after("lon", BEGIN, *way, s.Tick(), s.Tick())
    assert state.phase is Phase.CANCELLING
    state, _ = after("lon", BEGIN, *way, s.Abort(), from_par(s.Cancelled(ID)))
    assert state.phase is Phase.IDLE


@pytest.mark.parametrize("way", [TO_DISCONNECTING, TO_MOVED])
def test_after_the_clients_are_disconnected_it_goes_on(way: tuple[s.Event, ...]) -> None:
    state, actions = after("lon", *way, s.Abort("operator"))
    assert state.phase in (Phase.DISCONNECTING, Phase.MOVED)
    assert [type(one) for one in actions] == [s.Report]
    assert "too late to give up" in str(actions[0])
    assert "operator" in str(actions[0])


def test_a_target_that_is_ready_never_drops_its_buffer_by_itself() -> None:
    state, actions = after("par", *TO_BUFFERING, *[s.Tick()] * 20)
    assert state.phase is Phase.BUFFERING
    assert s.Say("lon", s.Ask(ID)) in actions
    state, actions = after("par", *TO_BUFFERING, s.Abort())
    assert state.phase is Phase.STOPPING
    assert actions == (s.Say("lon", s.Stop(ID)),)
    state, actions = after("par", *TO_BUFFERING, from_lon(s.Cancel(ID)))
    assert actions == (s.DropBuffer("equities"), s.Say("lon", s.Cancelled(ID)))


@pytest.mark.parametrize("last", [s.PeerDead("lon"), from_lon(s.Gone(ID))])
def test_a_target_whose_source_is_gone_serves_who_comes(last: s.Event) -> None:
    state, actions = after("par", *TO_BUFFERING, last)
    assert state.phase is Phase.SERVING
    assert "serving who comes" in str(actions)


def test_a_source_says_again_what_a_silent_target_may_not_know() -> None:
    state, _ = after("lon", BEGIN, READY, s.PeerDead("par"))
    assert state.phase is Phase.IDLE
    state, actions = mediation_step(state, s.Tick(), 99)
    assert actions == (s.Say("par", s.Cancel(ID)),)
    assert mediation_step(state, from_par(s.Ask(ID)), 99)[1] == actions
    state, _ = mediation_step(state, from_par(s.Cancelled(ID)), 99)
    assert (state.owed, state.due_s) == ((), None)
    state, _ = after("lon", *TO_MOVED, s.PeerDead("par"))
    assert mediation_step(state, from_par(s.Ask(ID)), 1)[1] == (s.Say("par", s.Moved(ID)),)
    done = from_par(s.Done(ID, frozenset()))
    assert mediation_step(state, done, 1)[1] == (s.Release("equities"),)


def test_a_broker_in_a_session_refuses_another() -> None:
    other = s.Offer(s.SessionId("rome", 7), "bonds", CLIENTS)
    for name, way in (("lon", (BEGIN,)), ("par", TO_BUFFERING)):
        state, actions = after(name, *way, s.Heard("rome", other))
        assert actions == (
            s.Say("rome", s.Refuse(other.id, f"{name} is in a session of equities")),
        )
        # The same offer, heard again, gets the same answer: the source has taken it for an end.
        assert mediation_step(state, s.Heard("rome", other), 9)[1] == actions
    with pytest.raises(StoryError, match="lon is offered: begin cannot happen now"):
        after("lon", BEGIN, BEGIN)


def test_an_objection_refuses() -> None:
    state, actions = after("par", s.Heard("lon", OFFER, "no room for it"))
    assert actions == (s.Say("lon", s.Refuse(ID, "no room for it")),)
    assert state.phase is Phase.IDLE
    assert "refused: no room for it" in str(
        after("lon", BEGIN, from_par(s.Refuse(ID, "no room for it")))[1]
    )


def test_an_offer_that_comes_after_its_end_starts_nothing() -> None:
    state, _ = after("par", *TO_BUFFERING, from_lon(s.Cancel(ID)))
    state, actions = mediation_step(state, from_lon(OFFER), 9)
    assert (state.phase, actions) == (Phase.IDLE, (s.Say("lon", s.Cancelled(ID)),))
    state, _ = after("par", from_lon(s.Cancel(ID)), from_lon(OFFER))
    assert state.phase is Phase.IDLE


def test_a_late_roll_back_leaves_the_buffer_of_the_next_session_alone() -> None:
    kept = (*TO_BUFFERING, s.PeerDead("lon"), s.Tick())  # It has kept queues for all clients.
    again = s.Offer(s.SessionId("lon", 2), "equities", CLIENTS)
    state, actions = after("par", *kept, from_lon(again))
    assert actions[:2] == (s.DropBuffer("equities"), s.Buffer(again.id, "equities"))
    assert mediation_step(state, from_lon(s.Cancel(ID)), 9)[1] == (s.Say("lon", s.Cancelled(ID)),)
    # Without a next session the roll-back drops what was kept.
    actions = after("par", *kept, from_lon(s.Cancel(ID)))[1]
    assert actions == (s.DropBuffer("equities"), s.Say("lon", s.Cancelled(ID)))


@pytest.mark.parametrize(
    ("name", "way"), [("lon", TO_MOVED), ("par", (*TO_SERVING, s.Connected("c1")))]
)
def test_events_that_come_twice_change_nothing(name: str, way: tuple[s.Event, ...]) -> None:
    for i in range(1, len(way)):
        once, _ = after(name, *way[: i + 1])
        twice, _ = after(name, *way[: i + 1], way[i])
        assert replace(twice, story=()) == replace(once, story=())
    old, _ = after(name, *way)
    again = way[0] if name == "par" else READY
    assert mediation_step(old, again, 0)[0].phase is old.phase


@pytest.mark.parametrize(
    ("name", "events", "said"),
    [
        ("lon", (BEGIN, s.Drained(ID)), "lon is offered: drained cannot happen now"),
        ("lon", (BEGIN, READY, s.Disconnected(ID)), "lon is draining: disconnected cannot"),
        ("lon", (READY,), "lon is idle: ready of"),
        ("lon", (BEGIN, s.Heard("rome", s.Ready(ID))), "ready from rome, not par"),
        ("par", (from_lon(OFFER), from_lon(s.Moved(ID))), "par is preparing: moved cannot"),
        ("par", (s.Buffered(ID),), "par is idle: buffered of"),
    ],
)
def test_what_cannot_happen_is_told_with_its_story(
    name: str, events: tuple[s.Event, ...], said: str
) -> None:
    with pytest.raises(StoryError, match=said) as caught:
        after(name, *events)
    assert len(caught.value.story) == len(events)
    assert caught.value.story[-1] in str(caught.value)


def test_every_phase_but_idle_has_a_way_out_by_time_and_by_abort() -> None:
    for phase in SOURCE | TARGET:
        assert (phase, "gave up") in TABLE
        assert (phase, "abort") in TABLE
        assert (phase, "peer dead") in TABLE
        assert (phase, "again") in TABLE or phase is Phase.SERVING


def test_patience_and_beginnings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="answer_s is 0"):
        Patience(answer_s=0)
    with pytest.raises(UsageError, match="tries is -1"):
        Patience(tries=-1)
    with pytest.raises(UsageError, match="cannot move equities to itself"):
        after("par", BEGIN)
