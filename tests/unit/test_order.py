"""Order: lanes, priorities, and a topic with one order for all."""

from ropewalk.overlay.order.batch import urgent_first
from ropewalk.overlay.order.known import Known
from ropewalk.overlay.order.notes import Ask, Begin, Fenced, Stable, Tail
from ropewalk.overlay.order.reading import TotalReader
from ropewalk.overlay.order.release import Release
from ropewalk.overlay.words import Address, Letter
from tests.laws.total_world import TOPIC, World


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


def reader(most: int = 4) -> TotalReader:
    one = TotalReader("a", (1, 1), most, lambda _: None)
    one.begin(Begin("a", (1, 1), (1, 1), 1))
    return one


def ordered(number: int, term: int = 1) -> Letter:
    return Letter(7, 1, "a", number, b"", order=(term, number))


def test_a_reader_delivers_by_number_and_refuses_what_lies_too_far() -> None:
    one = reader()
    assert one.arrived(ordered(2), 1) == []
    assert one.arrived(ordered(5), 1) is None
    assert numbers(one.arrived(ordered(1), 1) or []) == [1, 2]
    assert one.stable_through(Stable("a", (1, 1), 2))
    assert one.arrived(ordered(5), 1) == []


def test_a_reader_that_gave_its_tail_refuses_the_old_home() -> None:
    one = reader()
    one.arrived(ordered(1), 1)
    tail = one.ask(Ask("a", (2, 1)))
    assert isinstance(tail, Tail)
    assert numbers(list(tail.letters)) == [1]
    assert one.arrived(ordered(2), 1) is None
    assert one.ask(Ask("a", (1, 1))) == Fenced("a", (2, 1))
    assert one.begin(Begin("a", (2, 1), (1, 1), 1, (ordered(1).id,))) == []
    assert numbers(one.arrived(ordered(2, term=2), 1) or []) == [2]


def test_a_reader_goes_on_after_a_restart() -> None:
    log: list[object] = []
    one = TotalReader("a", (1, 1), 4, log.append)
    one.begin(Begin("a", (1, 1), (1, 1), 1))
    one.arrived(ordered(1), 1)
    one.arrived(ordered(3), 1)
    for records in (log, [one.state()]):
        again = TotalReader("a", (1, 1), 4, lambda _: None)
        for record in records:
            again.restore(record)
        assert numbers(again.recent()) == [1]
        assert numbers(again.arrived(ordered(2), 1) or []) == [2, 3]


def test_what_two_know_together_is_known() -> None:
    one, other = Known(((7, 1, 5, (2, 4)),)), Known(((7, 1, 3, (2,)),))
    one.join(((7, 1, 8, (4, 7)),))
    other.join(((7, 1, 5, (2, 3)),))
    assert one.streams() == ((7, 1, 8, (4, 7)),)
    assert other.streams() == ((7, 1, 5, (2,)),)


def calm(size: int = 4) -> World:
    world = World(seed=1, size=size, lossy=0.0)
    world.calm()
    return world


def publish(world: World, count: int) -> None:
    for _ in range(count):
        world.publish()
    world.calm()


def said(world: World, what: str) -> list[tuple[object, ...]]:
    return [one[2:] for one in world.told if one[1] == what]


def test_every_reader_gets_everything_in_one_order() -> None:
    world = calm()
    publish(world, 30)
    assert len(world.delivered[1]) == 30
    assert world.delivered[1] == world.delivered[2] == world.delivered[3]
    assert not any(world.kept.values())


def test_a_home_goes_on_with_the_next_number_after_a_restart() -> None:
    world = calm()
    publish(world, 5)
    world.crash(0, disk=True)
    world.boot(0)
    publish(world, 5)
    assert len(world.delivered[1]) == 10
    assert not said(world, "home needs a new term")


def test_a_home_without_its_disk_waits_for_a_new_term() -> None:
    world = calm()
    publish(world, 5)
    world.crash(0, disk=False)
    world.boot(0)
    publish(world, 5)
    assert len(world.delivered[1]) == 5
    assert (TOPIC, 1) in said(world, "home needs a new term")
    world.home, world.term = 0, 2
    world.calm()
    assert len(world.delivered[1]) == 10


def test_a_home_in_a_minority_stops_and_says_so() -> None:
    world = calm(size=5)
    world.cut = {0, 1}
    world.changed()
    publish(world, 4)
    assert said(world, "total order stops: no majority") == [(TOPIC,)]
    assert not world.delivered[1]
    assert sum(map(len, world.kept.values())) == 4
    world.cut = set()
    world.changed()
    world.calm()
    assert len(world.delivered[1]) == 4


def test_a_takeover_waits_for_every_reader_until_one_is_excluded() -> None:
    world = calm()
    world.crash(3, disk=True)
    world.home, world.term = 1, 2
    publish(world, 3)
    assert said(world, "total order waits for readers")[-1] == (TOPIC, 3)
    assert not world.delivered[1]
    for node in world.nodes.values():
        node.sequencer.exclude(world.now_us, 3)
    world.calm()
    assert len(world.delivered[1]) == len(world.delivered[2]) == 3


def test_the_old_home_resigns_when_it_hears_of_the_new_one() -> None:
    world = calm()
    publish(world, 3)
    world.home, world.term = 2, 2
    publish(world, 3)
    assert said(world, "home resigned") == [(TOPIC, 1, 2)]
    assert not world.nodes[0].sequencer.open(TOPIC)
    assert len(world.delivered[3]) == 6


def test_who_joins_late_begins_where_the_home_says() -> None:
    world = calm()
    publish(world, 5)
    world.come_or_go(0)
    world.calm()
    publish(world, 5)
    assert world.delivered[0] == world.delivered[1][5:]
