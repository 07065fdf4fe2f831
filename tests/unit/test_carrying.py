"""Letters of an item on the move: what waits, what is left out, in which order it goes."""

from collections.abc import Iterable

from ropewalk.overlay import Agent, Setup, chart_of, rules_of
from ropewalk.overlay.arrivals import Arrivals
from ropewalk.overlay.berths import Berth, Emptied
from ropewalk.overlay.carrying import STRAGGLERS_US
from ropewalk.overlay.council.handover import Frontier
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.events import Deliver, Due, Subscribed, Write
from ropewalk.overlay.order.release import Release
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.simulate.movers import cases_of
from ropewalk.overlay.words import Address, Letter
from tests.laws.test_moves_laws import RING


def letter(number: int, *, origin: int = 2, topic: str = "t") -> Letter:
    return Letter(origin, 1, topic, number, b"")


def numbers(letters: Iterable[Letter]) -> list[int]:
    return [one.number for one in letters]


def berth(*, in_order: bool = True) -> Berth:
    made = Berth(lambda _topic: in_order, 1_000)
    made.open = True
    return made


def upto(number: int) -> Frontier:
    return Frontier.of([letter(n).id for n in range(1, number + 1)])


def test_what_comes_before_the_frontier_is_known_waits() -> None:
    here = berth()
    assert [here.admit(letter(n), 0) for n in (3, 4)] == [[], []]
    assert numbers(here.serve(upto(2), 0)) == [3, 4]


def test_what_clients_had_at_the_source_is_left_out() -> None:
    here = berth()
    for n in (1, 2, 3):
        here.admit(letter(n), 0)
    assert numbers(here.serve(upto(2), 0)) == [3]
    assert here.admit(letter(2), 0) == []


def test_a_letter_that_comes_both_ways_goes_once() -> None:
    here = berth(in_order=False)
    here.serve(Frontier(), 0)
    assert numbers(here.admit(letter(9), 0)) == [9]
    assert here.admit(letter(9), 0) == []


def test_later_letters_wait_for_one_that_only_the_source_has() -> None:
    here = berth()
    here.serve(upto(2), 0)
    assert here.admit(letter(4), 0) == []
    assert here.wake_us == 1_000
    assert numbers(here.admit(letter(3), 0)) == [3, 4]


def test_a_gap_that_does_not_close_is_left() -> None:
    here = berth()
    here.serve(upto(2), 0)
    here.admit(letter(5), 0)
    here.admit(letter(4), 0)
    assert numbers(here.overdue()) == [4, 5]
    assert here.wake_us == NEVER
    assert numbers(here.admit(letter(6), 0)) == [6]


def test_without_order_nothing_waits() -> None:
    here = berth(in_order=False)
    here.serve(upto(2), 0)
    assert numbers(here.admit(letter(4), 0)) == [4]


def test_what_waits_is_in_the_log_until_all_clients_are_here() -> None:
    here = berth()
    here.admit(letter(1), 0)
    assert here.holds(letter(1))
    here.serve(Frontier(), 0)
    assert numbers(here.waiting) == [1]
    here.close()
    assert not list(here.waiting)


def test_a_restart_forgets_what_was_waited_for() -> None:
    here = berth()
    here.serve(upto(2), 0)
    here.restart()
    assert numbers(here.admit(letter(9), 0)) == [9]
    assert here.admit(letter(1), 0) == []


def test_marks_are_reached_when_all_up_to_them_was_delivered() -> None:
    arrivals = Arrivals.__new__(Arrivals)
    arrivals.lanes = {}
    assert arrivals.settled(2, 0, ((1, 0),))
    assert not arrivals.settled(2, 0, ((1, 1),))
    lane = arrivals.lanes[2, 0] = Release(2, 0, 10)
    lane.arrived(1, Address(0, 0, 1, 1, origin=2, incarnation=1), letter(1))
    assert arrivals.settled(2, 0, ((1, 1),))
    assert not arrivals.settled(2, 0, ((1, 2),))


def test_the_next_broker_of_the_file_is_the_mirror() -> None:
    base = cases_of(RING)
    assert base.items["desk"] == ("a", 1.0)
    assert base.advice(["a"]).moves == {"desk": "b"}


def test_a_mirror_keeps_for_a_minute_what_comes_for_those_who_have_not_come() -> None:
    agent = Agent(Setup(me=0, chart=chart_of(RING), rules=rules_of(RING), items=RING.items,
                        council=Pace()))  # fmt: skip
    agent.start(0, settled=True)
    assert agent.managing is not None
    carrying = agent.managing.carrying
    carrying.take_over("desk", 0)
    agent.handle(Due(), 1)
    agent.front.deliver(letter(1, topic="prices"), late=False)
    assert numbers(carrying.berths["desk"].waiting) == [1]
    assert carrying.wake_us == STRAGGLERS_US
    written = [one.record for one in agent.handle(Due(), STRAGGLERS_US) if isinstance(one, Write)]
    assert Emptied("desk", leaving=False) in written
    agent.front.deliver(letter(2, topic="prices"), late=False)
    assert not list(carrying.berths["desk"].waiting)
    agent.handle(Subscribed("late", "prices"), STRAGGLERS_US + 1)
    agent.front.deliver(letter(3, topic="prices"), late=False)
    given = [one for one in agent.handle(Due(), STRAGGLERS_US + 2) if isinstance(one, Deliver)]
    assert [(one.letter.number, one.subscribers) for one in given] == [(3, ("late",))]
