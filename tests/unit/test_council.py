"""The council step by step: who votes for whom, what is decided, what is told and what is refused."""

from typing import Any

import msgspec
import pytest

from ropewalk.errors import StoryError, UsageError
from ropewalk.overlay import words as overlay_words
from ropewalk.overlay.council import words as w
from ropewalk.overlay.council.cases import CaseLog
from ropewalk.overlay.council.election import Election, Role
from ropewalk.overlay.council.handover import Frontier
from ropewalk.overlay.council.mirrors import Mirrors
from ropewalk.overlay.council.moving import Moving, Skip
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.council.shelf import Shelf, newest_cases, parts_of
from ropewalk.overlay.parts import NEVER, Part
from ropewalk.overlay.words import Wire
from ropewalk.placement.reactive import session as s
from ropewalk.placement.reactive.arrows import Phase
from tests.laws.council_world import PACE, Desk, S, World
from tests.laws.mirror_world import BASE, HOMES, NAMES, Town

FIRST_US = PACE.patience_us + PACE.spread_us


class Office:
    """An office that only notes down."""

    def __init__(self, me: int = 0, reached: Any = range(3)) -> None:
        self.me, self.incarnation, self.reached = me, 1, frozenset(reached)
        self.notes: list[tuple[int, Any]] = []
        self.records: list[Any] = []
        self.told: list[tuple[Any, ...]] = []

    def reachable(self) -> frozenset[int]:
        return self.reached

    def note(self, to: int, body: Any) -> None:
        self.notes.append((to, body))

    def write(self, record: Any) -> None:
        self.records.append(record)

    def tell(self, what: str, *about: Any) -> None:
        self.told.append((what, *about))


def member(office: Office, records: Any = ()) -> Election:
    one = Election(office, range(3), group="g")
    one.recover(0, records)
    return one


def ask(term: int, *, trial: bool = False, position: tuple[int, int] = (0, 0)) -> w.Candidacy:
    return w.Candidacy("g", term, 1, trial, position)


def master(office: Office) -> Election:
    one = member(office)
    one.due(FIRST_US)
    one.heard(FIRST_US, 1, w.Vote("g", 1, 1, True, True, 0))
    one.heard(FIRST_US, 1, w.Vote("g", 1, 2, False, True, 1))
    assert one.is_master
    return one


def test_a_vote_is_written_before_it_is_spoken_and_given_once() -> None:
    office = Office()
    one = member(office)
    one.heard(FIRST_US, 1, ask(1))
    assert office.records[-1] == w.Ballot("g", 1, 1)
    assert office.notes[-1][1].granted
    one.heard(2 * FIRST_US, 2, ask(1))
    assert not office.notes[-1][1].granted
    again = member(office, office.records)
    again.heard(2 * FIRST_US, 2, ask(1))
    assert not office.notes[-1][1].granted
    again.heard(2 * FIRST_US, 1, ask(1))
    assert office.notes[-1][1].granted


def test_a_member_that_hears_its_master_votes_for_nobody_else() -> None:
    office = Office()
    one = member(office)
    one.heard(FIRST_US, 1, w.Lead("g", 1, 5))
    one.heard(FIRST_US + 1, 2, ask(2))
    assert not office.notes[-1][1].granted
    assert (one.term, one.master) == (1, 1)
    one.heard(FIRST_US + PACE.patience_us, 2, ask(2))
    assert office.notes[-1][1].granted


def test_a_restarted_member_waits_out_what_it_may_have_promised() -> None:
    office = Office()
    one = member(office, [w.Ballot("g", 3, 1)])
    one.heard(PACE.patience_us - 1, 2, ask(4))
    assert not office.notes[-1][1].granted
    one.heard(PACE.patience_us, 2, ask(4))
    assert office.notes[-1][1].granted


def test_who_lacks_entries_gets_no_vote() -> None:
    office = Office()
    one = member(office)
    one.position = lambda: (2, 7)
    for position, granted in [((2, 6), False), ((1, 9), False), ((2, 7), True), ((3, 1), True)]:
        one.heard(FIRST_US, 1, ask(3, trial=True, position=position))
        assert office.notes[-1][1].granted == granted


def test_a_trial_changes_nothing() -> None:
    office = Office()
    one = member(office)
    one.heard(FIRST_US, 1, ask(4, trial=True))
    assert office.notes[-1][1].granted
    assert (one.term, office.records) == (0, [])


def test_a_master_steps_down_when_a_majority_is_silent_or_gone() -> None:
    office = Office()
    one = master(office)
    one.due(FIRST_US + PACE.lease_us)
    assert one.role is Role.MEMBER
    assert one.in_minority
    one = master(other := Office())
    other.reached = frozenset({0})
    one.changed(FIRST_US + 1)
    assert (one.is_master, one.master, one.in_minority) == (False, None, True)
    assert other.told[-1][0] == "master steps down"


def test_a_lease_runs_from_when_the_master_asked() -> None:
    one = master(Office())
    one.heard(FIRST_US + 190_000, 1, w.Follow("g", 1, FIRST_US + 1))
    one.due(FIRST_US + PACE.lease_us)
    assert one.is_master
    one.due(FIRST_US + PACE.lease_us + 1)
    assert not one.is_master


def test_a_master_that_hears_of_a_higher_term_steps_down() -> None:
    one = master(Office())
    one.heard(FIRST_US, 2, w.Follow("g", 9, FIRST_US))
    assert (one.is_master, one.term) == (False, 9)


@pytest.mark.parametrize("first", [0, 1, 2, 3, 4])
def test_the_preferred_member_is_elected(first: int) -> None:
    def staff(desk: Desk) -> list[Part]:
        return [Election(desk, range(5), PACE, preference=(first,))]

    world = World(first, 5, staff, calm=True)
    world.run(S)
    elected = [one for desk in world.desks for one in desk.parts if isinstance(one, Election)]
    assert {one.master for one in elected} == {first}


def test_a_member_that_was_cut_off_does_not_disturb() -> None:
    def staff(desk: Desk) -> list[Part]:
        return [Election(desk, range(3), PACE)]

    world = World(3, 3, staff, calm=True)
    world.run(S)
    parts = [desk.parts[0] for desk in world.desks]
    terms = {one.term for one in parts if isinstance(one, Election)}
    world.split({0: 0, 1: 0, 2: 1})
    world.run(9 * S)
    world.split({0: 0, 1: 0, 2: 0})
    world.run(11 * S)
    assert {one.term for one in parts if isinstance(one, Election)} == terms


def test_words_of_other_councils_and_strangers_are_left_alone() -> None:
    office = Office()
    one = member(office)
    assert not one.heard(0, 1, w.Lead("other", 1, 0))
    assert one.heard(0, 9, w.Lead("g", 1, 0))
    assert (one.master, office.notes) == (None, [])
    with pytest.raises(UsageError, match="no member"):
        Election(Office(7), range(3))


def test_a_pace_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="each must be above"):
        Pace(lease_us=400_000)
    with pytest.raises(UsageError, match="1 or more"):
        Pace(tail=0)


# What is decided.


def entry(number: int, name: str = "a", term: int = 1) -> w.Entry:
    return w.Entry(term, number, w.Opaque(name, b""))


def test_an_entry_is_decided_by_a_majority_of_all_members() -> None:
    office, told = Office(), list[w.Entry]()
    election = member(office)
    log = CaseLog(office, election, on_commit=lambda _, one: told.append(one))
    log.recover(0, ())
    assert log.propose(0, w.Appoint("t", 1)) is None
    election.due(FIRST_US)
    election.heard(FIRST_US, 1, w.Vote("g", 1, 1, True, True, 0))
    election.heard(FIRST_US, 1, w.Vote("g", 1, 2, False, True, 1))
    assert log.propose(FIRST_US, w.Appoint("t", 1)) == (1, 2)
    assert not told
    assert not log.current
    log.heard(FIRST_US, 2, w.Stored("g", 1, True, 2, 0))
    assert [one.body for one in told] == [w.Began(0), w.Appoint("t", 1)]
    assert log.current


def test_an_older_terms_entry_is_decided_only_with_one_of_this_term() -> None:
    office = Office()
    old = [w.Ballot("g", 1, 1), w.Kept("g", entry(1))]
    election = member(office, old)
    log = CaseLog(office, election)
    log.recover(0, old)
    election.due(FIRST_US)
    election.heard(FIRST_US, 1, w.Vote("g", 2, 1, True, True, 0))
    election.heard(FIRST_US, 1, w.Vote("g", 2, 2, False, True, 2))
    log.heard(FIRST_US, 1, w.Stored("g", 2, True, 1, 0))
    assert not log.committed
    log.heard(FIRST_US, 1, w.Stored("g", 2, True, 2, 0))
    assert [one.number for one in log.committed] == [1, 2]


def test_what_an_old_master_did_not_get_decided_is_overwritten() -> None:
    office = Office()
    election = member(office)
    log = CaseLog(office, election)
    log.heard(0, 1, w.Append("g", 1, 0, 0, (entry(1), entry(2), entry(3)), 1))
    log.heard(0, 2, w.Append("g", 2, 1, 1, (entry(2, "b", 2),), 2))
    assert [one.body for one in log.committed] == [w.Opaque("a", b""), w.Opaque("b", b"")]
    assert log.shelf.last == (2, 2)
    log.heard(0, 1, w.Append("g", 1, 1, 1, (entry(2), entry(3)), 3))
    assert office.notes[-1] == (1, w.Stored("g", 2, False, 0, 2))
    again = CaseLog(office, member(office, office.records))
    again.recover(0, office.records)
    assert again.committed == log.committed
    third = CaseLog(office, member(office))
    third.recover(0, log.records())
    assert (third.committed, third.shelf.last) == (log.committed, log.shelf.last)


def test_what_does_not_follow_is_asked_for_and_old_notes_undo_nothing() -> None:
    office = Office()
    log = CaseLog(office, member(office))
    log.heard(0, 1, w.Append("g", 1, 1, 4, (entry(5),), 0))
    assert office.notes[-1] == (1, w.Stored("g", 1, False, 0, 0))
    log.heard(0, 1, w.Append("g", 1, 0, 0, (entry(1), entry(2)), 0))
    log.heard(0, 1, w.Append("g", 1, 0, 0, (entry(1),), 0))
    assert log.shelf.last == (1, 2)


def test_a_member_decides_only_what_the_master_is_known_to_have() -> None:
    office = Office()
    log = CaseLog(office, member(office))
    log.heard(0, 1, w.Append("g", 1, 0, 0, (entry(1), entry(2, "b"), entry(3, "c")), 0))
    log.heard(0, 2, w.Append("g", 2, 1, 1, (), 3))
    assert [one.number for one in log.committed] == [1]


def test_a_decided_entry_is_never_replaced() -> None:
    shelf = Shelf()
    shelf.store([entry(1), entry(2)])
    shelf.decided = 2
    with pytest.raises(StoryError, match="was a disk lost"):
        shelf.store([entry(2, "b", term=2)])


def test_a_case_base_counts_when_all_its_parts_are_here() -> None:
    text = BASE.text()
    parts = parts_of(text, "v", 100)
    entries = [w.Entry(1, number, part) for number, part in enumerate(parts, 1)]
    assert len(parts) > 3
    assert newest_cases(entries[:-1]) is None
    assert newest_cases(entries) == text


def test_a_member_that_comes_late_gets_what_was_folded() -> None:
    def staff(desk: Desk) -> list[Part]:
        election = Election(desk, range(3), Pace(tail=4, note_bytes=200))
        return [election, CaseLog(desk, election)]

    world = World(5, 3, staff, calm=True)
    world.crash(2)
    world.run(S)
    logs = [desk.parts[1] for desk in world.desks[:2]]
    for number in range(40):
        for log in logs:
            assert isinstance(log, CaseLog)
            log.propose(world.now_us, w.Opaque(f"n{number % 8}", bytes(90)))
        world.run(world.now_us + 50_000)
    world.start(2)
    world.run(world.now_us + 2 * S)
    late, first = world.desks[2].parts[1], logs[0]
    assert isinstance(late, CaseLog)
    assert isinstance(first, CaseLog)
    assert late.shelf.base[1] > 30
    assert [one.body for one in late.committed][-8:] == [one.body for one in first.committed][-8:]


# Mirrors.


def test_the_case_base_says_who_takes_over() -> None:
    town = Town(1, calm=True)
    town.world.run(S)
    town.publish_cases()
    town.world.run(2 * S)
    town.world.crash(1)
    town.world.run(4 * S)
    assert town.carriers() == {item: {0 if home == 1 else home} for item, home in HOMES.items()}
    assert {one.carrier("i1") for one in town.mirrors()} == {0}
    assert {one.log.current for one in town.mirrors()} == {True}


def test_in_a_minority_nothing_is_switched_and_that_is_told() -> None:
    town = Town(1, calm=True)
    town.world.run(S)
    town.publish_cases()
    town.world.run(2 * S)
    town.world.split({0: 0, 1: 0, 2: 0, 3: 1, 4: 1})
    town.world.run(5 * S)
    for one in town.mirrors():
        few = one.office.me > 2
        assert bool(one.moves) != few
        told = town.world.desks[one.office.me].told
        assert any(what == "minority: no mirror is switched" for what, *_ in told) == few


def test_without_policies_the_master_says_so_once() -> None:
    town = Town(1, calm=True)
    town.world.run(S)
    town.world.crash(4)
    town.world.run(5 * S)
    told = [one for desk in town.world.desks for one in desk.told if one[0].startswith("no pol")]
    assert told == [("no policies: no mirror is switched", "uk", 4)]


def test_late_word_of_an_item_at_home_is_void() -> None:
    office = Office()
    log = CaseLog(office, member(office))
    mirrors = Mirrors(
        office, log, NAMES, take=lambda *_: None, give_back=lambda *_: None, move=lambda *_: None
    )
    mirrors.recover(0, ())
    switch = w.Switch((1,), (("i1", 2),))
    log.heard(0, 1, w.Append("g", 1, 0, 0, (w.Entry(1, 1, switch), w.Entry(1, 2, switch)), 2))
    mirrors.heard(0, 2, w.Returned("g", 1, ("i1",)))
    assert not mirrors._home
    mirrors.heard(0, 2, w.Returned("g", 2, ("i1",)))
    assert mirrors._home == {"i1"}


def test_an_item_whose_home_dies_again_is_taken_back() -> None:
    office, taken, moves = Office(2), list[Any](), list[Any]()
    log = CaseLog(office, member(office))
    mirrors = Mirrors(
        office,
        log,
        NAMES,
        take=lambda _, items: taken.append(items),
        give_back=lambda *_: None,
        move=lambda _, item, to: moves.append((item, to)),
    )
    mirrors.recover(0, ())
    away = (("i1", 2),)
    bodies: list[w.Body] = [
        *parts_of(BASE.text(), BASE.version, 100_000),
        w.Switch((1,), away),
        w.Restore((1,), (), away),
        w.Switch((1,), away),
    ]
    entries = tuple(w.Entry(1, number, body) for number, body in enumerate(bodies, 1))
    log.heard(0, 1, w.Append("g", 1, 0, 0, entries, 3))
    assert (taken, moves) == ([("i1",)], [("i1", 1)])
    mirrors.ended(0, "i1", moved=True)
    assert office.notes[-1][1] == w.Returned("g", 3, ("i1",))
    log.heard(0, 1, w.Append("g", 1, 1, 4, (), 4))
    assert taken == [("i1",), ("i1",)]


# Moving.


def moving(office: Office, orders: list[Any]) -> Moving:
    return Moving(
        office,
        ("london", "paris", "rome"),
        act=lambda _, order: orders.append(order),
        delivered=lambda _: Frontier.of([(2, 1, "t", 1)]),
    )


def test_an_offer_is_written_and_sent_with_numbers_for_names() -> None:
    office = Office()
    one = moving(office, [])
    one.begin(0, "equities", 1, ["c1"])
    assert office.notes == [(1, w.Move("offer", 0, 1, "equities", ("c1",)))]
    assert office.records[-1].phase == "offered"
    one.begin(0, "bonds", 1, ["c2"])
    one.heard(0, 1, w.Move("refuse", 0, 1, reason="full"))
    assert [body.item for _, body in office.notes] == ["equities", "bonds"]


def test_a_message_that_makes_no_sense_is_told_and_dropped() -> None:
    office = Office()
    one = moving(office, [])
    for body in (w.Move("nonsense", 0, 1), w.Move("ready", 0, 8), w.Move("ask", -4, 1)):
        assert one.heard(0, 1, body)
    assert len(office.told) == 3
    assert one.state.phase is Phase.IDLE


@pytest.mark.parametrize(
    ("kinds", "after"),
    [
        (["accept"], Phase.CANCELLING),
        (["accept", "ready"], Phase.CANCELLING),
    ],
)
def test_a_source_that_restarts_before_anybody_left_rolls_back(
    kinds: list[str], after: Phase
) -> None:
    office, orders = Office(), list[Any]()
    one = moving(office, orders)
    one.begin(0, "equities", 1, ["c1"])
    for kind in kinds:
        one.heard(0, 1, w.Move(kind, 0, 1))
    again = moving(office, orders)
    again.recover(S, office.records)
    again.due(S)
    assert again.state.phase is after
    assert office.notes[-1][1].kind == "cancel"
    assert again.wake_us < NEVER


def test_a_target_that_restarts_asks_to_be_let_out_and_buffers_on() -> None:
    office, orders = Office(1), list[Any]()
    one = moving(office, orders)
    one.heard(0, 0, w.Move("offer", 0, 1, "equities", ("c1",)))
    one.happened(0, s.Buffered(s.SessionId("london", 1)))
    one.happened(0, s.Connected("c1"))
    assert not [order for order in orders if isinstance(order, s.Replay)]
    again = moving(office, orders := [])
    again.recover(S, office.records)
    again.due(S)
    assert orders == [s.Buffer(s.SessionId("london", 1), "equities")]
    assert office.notes[-1] == (0, w.Move("stop", 0, 1))
    again.happened(S, s.Connected("c1"))
    got = Frontier.of([(2, 1, "t", 1)])
    again.heard(S, 0, w.Move("moved", 0, 1, frontier=got))
    replay = s.Replay(s.SessionId("london", 1), "equities", "c1")
    assert orders[1:] == [Skip("equities", got), replay]
    third = moving(office, orders := [])
    third.recover(2 * S, office.records)
    third.due(2 * S)
    assert orders[-1] == Skip("equities", got)


def test_a_source_that_restarts_after_clients_left_says_the_same_frontier() -> None:
    office, orders = Office(), list[Any]()
    one, id = moving(office, orders), s.SessionId("london", 1)
    one.begin(0, "equities", 1, ["c1"])
    one.heard(0, 1, w.Move("ready", 0, 1))
    one.happened(0, s.Drained(id))
    assert office.records[-1].frontier == Frontier.of([(2, 1, "t", 1)])
    again = moving(office, orders := [])
    again.recover(S, office.records)
    again.due(S)
    assert orders == [s.Disconnect(id, frozenset({"c1"}))]
    again.happened(S, s.Disconnected(id))
    assert office.notes[-1][1].frontier == Frontier.of([(2, 1, "t", 1)])
    third = moving(office, orders := [])
    third.recover(2 * S, office.records)
    third.due(2 * S)
    assert orders == [s.Forward("equities", "paris")]
    assert office.notes[-1][1].frontier == Frontier.of([(2, 1, "t", 1)])


# Words.


def tags(module: Any) -> list[str]:
    kinds = [one for one in vars(module).values() if isinstance(one, type)]
    return [
        str(one.__struct_config__.tag) for one in kinds if issubclass(one, Wire) and one is not Wire
    ]


def test_tags_of_the_council_are_its_own() -> None:
    mine = tags(w)
    assert len(set(mine)) == len(mine)
    assert all(tag.startswith("council.") for tag in mine)
    assert not set(mine) & set(tags(overlay_words))


def test_every_word_can_be_sent_and_written() -> None:
    found = w.Kept("g", w.Entry(1, 2, w.Switch((1,), (("i", 2),))))
    for coder in (msgspec.json, msgspec.msgpack):
        plain = coder.decode(coder.encode(found))
        assert w.is_word(plain)
        assert w.word(plain) == found
    assert not w.is_word(["b", 1])
    assert not w.is_word({})
