"""Order: lanes, priorities, and a topic with one order for all."""

from ropewalk.overlay.order.batch import urgent_first
from ropewalk.overlay.order.release import Release
from ropewalk.overlay.words import Address, Letter


def letter(number: int, topic: str = "a", priority: int = 0) -> Letter:
    return Letter(7, 1, topic, number, b"", priority=priority)


def at(number: int, base: int = 1, after: int = 0, old: int = 0, since: int = 1) -> Address:
    return Address(0, 0, number, base, after, old, since)


def numbers(letters: list[Letter]) -> list[int]:
    return [one.number for one in letters]


def test_without_order_letters_go_at_once_and_once() -> None:
    lane = Release(7, 0, 8)
    freed = [numbers(lane.arrived(1, at(n), letter(n))) for n in (2, 1, 2, 3)]
    assert freed == [[2], [1], [], [3]]
    assert (lane.upto(1), lane.extras(1)) == (3, ())


def test_fifo_waits_for_the_letter_before() -> None:
    lane = Release(7, 0, 8)
    assert lane.arrived(1, at(3, after=2), letter(3)) == []
    assert lane.arrived(1, at(2, after=1), letter(2)) == []
    assert numbers(lane.arrived(1, at(1), letter(1))) == [1, 2, 3]


def test_a_letter_waits_for_the_incarnation_before() -> None:
    lane = Release(7, 0, 8)
    assert lane.arrived(2, at(1, after=9, old=1), letter(1)) == []
    assert numbers(lane.arrived(1, at(9, base=9), letter(9))) == [9, 1]


def test_what_was_given_up_is_not_waited_for() -> None:
    lane = Release(7, 0, 8)
    assert lane.arrived(1, at(2, after=1), letter(2)) == []
    assert numbers(lane.arrived(1, at(2, base=2, after=1), letter(2))) == [2]


def test_a_closed_incarnation_gives_what_it_held_and_takes_nothing_more() -> None:
    lane = Release(7, 0, 8)
    assert lane.arrived(1, at(5, after=4), letter(5)) == []
    assert numbers(lane.arrived(2, at(1, since=2), letter(1))) == [5, 1]
    assert lane.arrived(1, at(4), letter(4)) == []
    assert lane.incarnations == (2,)


def test_too_much_out_of_turn_is_refused_but_never_the_next() -> None:
    lane = Release(7, 0, 4)
    for number in range(2, 9):
        lane.arrived(1, at(number, after=number - 1), letter(number))
    assert (lane.held, lane.refused) == (3, 4)
    assert numbers(lane.arrived(1, at(1), letter(1))) == [1, 2, 3, 4]


def test_receipts_wait_for_the_log() -> None:
    lane = Release(7, 0, 8)
    lane.arrived(1, at(1), letter(1))
    (record,) = lane.news()
    assert lane.receipts() == []
    lane.confirmed(record)
    assert [(one.incarnation, one.upto) for one in lane.receipts()] == [(1, 1)]
    assert lane.receipts() == []
    lane.arrived(1, at(1), letter(1))
    assert len(lane.receipts()) == 1


def test_a_restarted_destination_knows_what_it_had() -> None:
    lane, again = Release(7, 0, 8), Release(7, 0, 8)
    for number in (1, 2, 5):
        lane.arrived(1, at(number), letter(number))
    for record in lane.state():
        again.restore(record)
    assert (again.upto(1), again.extras(1)) == (2, (5,))


def test_urgent_letters_overtake_only_their_like() -> None:
    ready = [letter(1, "p", 1), letter(2, "fifo", 9), letter(3, "p", 5), letter(4, "p", 5)]
    assert numbers(urgent_first(ready, lambda topic: topic == "p")) == [3, 2, 4, 1]
