"""The messenger: what it lets through, what it keeps back, what it asks for again."""

import json
from pathlib import Path

import pytest

from ropewalk.errors import UsageError
from ropewalk.protocol import automaton, load_automaton
from ropewalk.protocol.automaton import Automaton, plain_automaton
from ropewalk.protocol.conversations import OLDEST, Conversations
from ropewalk.protocol.horizon import Horizon
from ropewalk.protocol.memory import recall, remembered
from ropewalk.protocol.messenger import Messenger, Rule, Stamped
from ropewalk.protocol.stamps import Stamp, stamp_of

EXAMPLES = Path(__file__).parents[2] / "examples" / "protocols"


def protocol(name: str) -> Automaton:
    return load_automaton(EXAMPLES / f"{name}.yaml")


def ends(name: str) -> tuple[Messenger, Messenger]:
    one = protocol(name)
    first, second = one.roles
    return Messenger(one, first), Messenger(one, second)


def sent(end: Messenger, message: str) -> Stamped:
    put = end.put(message)
    assert put.stamped is not None, put
    return put.stamped


def got(end: Messenger, stamped: Stamped) -> list[str]:
    return [one.message for one in end.get(stamped)]


def test_a_late_message_is_delivered_as_soon_as_it_does_no_harm() -> None:
    sender, reader = ends("figure-6")
    a, b, d = (sent(sender, one) for one in "abd")
    assert [got(reader, one) for one in (b, d, a)] == [["b"], [], ["a", "d"]]
    assert reader.state == sender.state == "4"


def test_a_message_that_comes_twice_is_delivered_once() -> None:
    sender, reader = ends("figure-6")
    a, b, _ = (sent(sender, one) for one in "abd")
    assert [got(reader, one) for one in (b, b, a, a, b)] == [["b"], [], ["a"], [], []]


def test_messages_of_one_name_keep_their_order() -> None:
    loop = automaton(
        "{protocol: p, initial: s, accepting: [s], messages: {A -> B: [a, b]},"
        " transitions: [s -> s: a, s -> s: b]}"
    )
    sender, reader = Messenger(loop, "A"), Messenger(loop, "B")
    every = [sender.put(name, i).stamped for i, name in enumerate("aab")]
    come = [[one.payload for one in reader.get(every[i])] for i in (1, 2, 0)]
    assert come == [[], [2], [0, 1]]


def test_order_that_matters_is_restored() -> None:
    sender, reader = ends("figure-3")
    a, b = sent(sender, "a"), sent(sender, "b")
    assert got(reader, b) == []
    assert got(reader, a) == ["a", "b"]
    assert reader.put("d").answer == "refused"
    assert reader.put("c").answer == "sent"


def test_what_the_other_has_to_say_first_is_waited_for_and_what_never_comes_is_refused() -> None:
    buyer, seller = ends("rosettanet")
    assert seller.put("accept").answer == "wait"
    assert got(seller, sent(buyer, "order")) == ["order"]
    assert seller.put("accept").answer == "sent"
    put = seller.put("reject")
    assert (put.answer, put.why) == ("refused", "'reject' is not allowed in state 'agreed'")
    assert seller.put("order").answer == "refused"
    assert seller.put("nothing").answer == "refused"


# --- both speak at once ------------------------------------------------------------------------


def test_figure_1_is_broken_off_at_both_ends_before_anything_illegal_is_said() -> None:
    a, b = ends("figure-1")
    from_a, from_b = sent(a, "a"), sent(b, "b")
    assert got(a, from_b) == got(b, from_a) == []
    assert a.broken
    assert b.broken
    assert b.put("c").answer == "broken"


def test_figure_4_left_goes_on_as_if_nothing_had_been() -> None:
    a, b = ends("figure-4-left")
    from_a, from_b = sent(a, "a"), sent(b, "b")
    assert (got(a, from_b), got(b, from_a)) == (["b"], ["a"])
    assert a.state == b.state == "4"


def test_figure_5_is_mended_by_c_and_d_is_kept_back() -> None:
    a, b = ends("figure-5")
    from_a, from_b = sent(a, "a"), sent(b, "b")
    assert (got(a, from_b), got(b, from_a)) == (["b"], ["a"])
    assert (a.state, b.state) == ("4", "5")
    assert a.put("d").answer == "wait"
    assert got(b, sent(a, "c")) == ["c"]
    assert a.state == b.state == "6"
    assert a.broken is b.broken is None


def test_what_was_heard_early_does_not_break_the_others_answer() -> None:
    """A hears d before c and b: from there, c b is not allowed, and b c leads to the same end."""
    protocol = automaton(
        "{protocol: p, initial: s, accepting: [s, t], messages: {A -> B: a, B -> A: [b, c, d]},"
        " transitions: [s -> s: a, t -> t: a, s -> t: c, s -> t: d, t -> s: b]}"
    )
    a, b = Messenger(protocol, "A"), Messenger(protocol, "B")
    first, second, third = (sent(b, one) for one in "cbd")
    assert got(a, third) == ["d"]
    assert got(b, sent(a, "a")) == ["a"]
    assert b.broken is None
    assert got(a, first) + got(a, second) == ["b", "c"]
    assert a.state == b.state == "t"


LONG_AGO = plain_automaton(
    [[-1, 0, -1, 2], [-1, 0, -1, -1], [1, 2, 2, -1]], senders=[0, 1, 0, 0], accepting=[0, 1]
)


@pytest.mark.parametrize("many", [0, 31, 5_000])
@pytest.mark.parametrize("restart", [False, True])
def test_a_rift_is_mended_however_much_was_heard_since_the_own_letter(
    many: int, restart: bool
) -> None:
    a, b = Messenger(LONG_AGO, "A", most_kept=9_999), Messenger(LONG_AGO, "B")
    sent(b, "b")
    for message in "d" + many * "c":
        got(b, sent(a, message))
    if restart:
        assert isinstance(b.course, Horizon)
        kept, b = remembered(b.course), Messenger(LONG_AGO, "B")
        assert isinstance(b.course, Horizon)
        recall(b.course, json.loads(json.dumps(kept)))
    got(b, sent(a, "a"))
    assert b.broken is None


def test_what_mends_a_rift_must_agree_with_all_that_it_crossed() -> None:
    """The first b commutes with the first a, the second does not: b b a a is not as A sees it."""
    rows = [[2, 1], [6, 5], [-1, 0], [5, 0], [2, 5], [1, 5], [2, 1]]
    one = plain_automaton(rows, senders=[0, 1])
    a, b = Messenger(one, "A"), Messenger(one, "B")
    assert got(a, sent(b, "b")) == ["b"]
    crossed = [sent(b, "b"), sent(b, "b")]
    sent(a, "a")
    sent(a, "a")
    assert [got(a, one) for one in crossed] == [["b"], []]
    assert one.walk([1, 1, 1, 0, 0, 0, 0]) < 0
    assert a.put("a").answer == "broken"


def test_figure_5_in_its_turn_may_say_d() -> None:
    a, b = ends("figure-5")
    assert got(b, sent(a, "a")) == ["a"]
    assert got(a, sent(b, "b")) == ["b"]
    assert got(b, sent(a, "d")) == ["d"]
    assert a.state == b.state == "6"


# --- lost messages, limits, nonsense -----------------------------------------------------------


def test_what_is_missing_is_named_and_can_be_had_again() -> None:
    sender, reader = ends("figure-6")
    a, b, d = (sent(sender, one) for one in "abd")
    assert got(reader, d) == []
    assert reader.missing() == [("A", 0), ("A", 1)]
    assert sender.again("B", [0, 1]) == [a, b]
    assert [got(reader, one) for one in sender.again("B", [1, 0])] == [["b"], ["a", "d"]]
    assert reader.missing() == []
    sender.acknowledged("B", 3)
    assert sender.again("B", [0, 1, 2]) == []


THREE = automaton(
    "{protocol: three, initial: s, accepting: [e], messages: {A -> B: x, A -> C: y, B -> C: z},"
    " transitions: [s -> t: x, t -> u: y, u -> e: z]}"
)


def test_of_three_roles_each_asks_for_its_own() -> None:
    """Numbers count for each receiver: another one's message with the same number is no answer."""
    a = Messenger(THREE, "A")
    x, y = sent(a, "x"), sent(a, "y")
    assert x.stamp.number == y.stamp.number == 0
    assert (a.again("B", [0]), a.again("C", [0])) == ([x], [y])
    a.acknowledged("B", 1)
    assert (a.again("B", [0]), a.again("C", [0])) == ([], [y])


def test_of_three_roles_a_conversation_is_over_only_if_nothing_unseen_can_follow() -> None:
    """A believes that it may be over after x; it is not, as long as reply may come."""
    protocol = automaton(
        "{protocol: p, initial: start, accepting: [done, end], messages: {A -> B: [nope, x],"
        " B -> C: [cancel, go], B -> A: reply, A -> C: bye}, transitions: [start -> done: nope,"
        " start -> wait: x, wait -> done: cancel, wait -> more: go, more -> again: reply,"
        " again -> end: bye]}"
    )
    a, b = Messenger(protocol, "A"), Messenger(protocol, "B")
    x = sent(a, "x")
    assert not a.over
    assert not a.ended
    assert a.put("bye").answer == "wait"  # and is not refused: reply may come
    assert got(b, x) == ["x"]
    sent(b, "go")
    assert got(a, sent(b, "reply")) == ["reply"]
    sent(a, "bye")
    assert a.over
    assert a.ended
    assert b.ended  # it has no more part in it
    assert not b.over


def test_of_three_roles_what_can_never_be_allowed_breaks_it_off() -> None:
    b = Messenger(THREE, "B")
    forged = Stamped("x", Stamp(1, first=1, events=(THREE.number["x"],)))
    assert got(b, sent(Messenger(THREE, "A"), "x")) == ["x"]
    assert got(b, forged) == []
    assert b.broken is not None


def test_what_crossed_must_commute_letter_by_letter() -> None:
    """b b after c leads where c after b b does; b c b, which was said, does not."""
    protocol = automaton(
        "{protocol: p, initial: 0, accepting: [4], messages: {A -> B: c, B -> A: [b, e]},"
        " transitions: [0 -> 0: b, 0 -> 2: c, 2 -> 3: b, 3 -> 2: b, 2 -> 4: e]}"
    )
    a, b = Messenger(protocol, "A"), Messenger(protocol, "B")
    sent(b, "b")
    c = sent(a, "c")
    sent(b, "b")
    assert protocol.walk(protocol.number[one] for one in "bcbe") < 0
    got(b, c)
    assert b.put("e").answer == "broken"


def test_a_deadline_long_ago_is_told_with_the_next_message() -> None:
    late = automaton(
        "{protocol: late, initial: start, accepting: [over], messages:"
        " {buyer -> seller: [order, cancel], seller -> buyer: progress}, transitions:"
        " [start -> ordered: order, ordered -> ordered: progress, late -> late: progress,"
        " ordered -> late: {timeout_s: 10, at: buyer}, late -> over: cancel, over -> over: progress]}"
    )
    buyer, seller = Messenger(late, "buyer"), Messenger(late, "seller")
    assert got(seller, sent(buyer, "order")) == ["order"]
    assert buyer.tick(20_000_000) == "timeout of buyer"
    for _ in range(200):
        assert got(buyer, sent(seller, "progress")) == ["progress"]
    assert got(seller, sent(buyer, "cancel")) == ["cancel"]
    assert len(sent(seller, "progress").stamp.events) <= 34


@pytest.mark.parametrize(
    ("stamp", "said"),
    [
        ("20000000.20000000.20000000.0.0..0", "messages ahead"),
        ("0.0.0.0.0..0,1", "does not add up"),
        ("5.0.0.0.0..0", "does not add up"),
    ],
)
def test_a_forged_stamp_is_not_believed(stamp: str, said: str) -> None:
    reader = ends("figure-6")[1]
    with pytest.raises(UsageError, match=said):
        reader.get(Stamped("ab"[stamp.endswith("1")], stamp_of(stamp)))
    assert reader.missing() == []
    assert reader.state == "0"


@pytest.mark.parametrize("rule", ["horizon", "strict"])
@pytest.mark.parametrize("first", [1, 40])
def test_another_letter_under_a_known_number_is_refused(first: int, rule: Rule) -> None:
    """With 40 letters before it, a stamp does not reach back to what is known."""
    one = plain_automaton([[0, 0]])
    sender, reader = Messenger(one, "A", rule=rule), Messenger(one, "B", rule=rule)
    stamped = [sent(sender, "a") for _ in range(first + 1)][-1]
    reader.course.hear(stamped.stamp)
    forged = Stamp(first, base=first, first=first, events=(1,))
    with pytest.raises(UsageError, match="two different messages have the number of 'b'"):
        reader.get(Stamped("b", forged))


def test_a_letter_that_a_later_stamp_tells_of_does_not_come_as_another() -> None:
    one = plain_automaton([[1, 1], [2, -1], [-1, -1]])
    sender, reader = Messenger(one, "A"), Messenger(one, "B")
    first, second = sent(sender, "a"), sent(sender, "a")
    assert got(reader, second) == []
    with pytest.raises(UsageError, match="two different messages"):
        reader.get(Stamped("b", Stamp(0, events=(1,))))
    assert got(reader, first) == ["a", "a"]


def test_stamps_and_memory_stay_small_however_long_it_goes_on() -> None:
    loop = automaton(
        "{protocol: p, initial: s, accepting: [s], messages: {A -> B: [a, b]},"
        " transitions: [s -> s: a, s -> t: b, t -> s: b]}"
    )
    sender, reader = Messenger(loop, "A", window=8, most_again=16), Messenger(loop, "B", window=8)
    for i in range(2_000):
        stamped = sent(sender, "abb"[i % 3])
        assert len(stamped.stamp.text()) < 60
        assert got(reader, stamped) == ["abb"[i % 3]]
    assert len(sender.again("B", range(2_000))) == 16
    assert sender.again("B", [1_999])


def test_a_message_far_ahead_waits_until_the_gap_is_filled() -> None:
    loop = automaton(
        "{protocol: p, initial: s, accepting: [s], messages: {A -> B: [a, b]},"
        " transitions: [s -> t: a, t -> s: b]}"
    )
    sender, reader = Messenger(loop, "A", window=4), Messenger(loop, "B", window=4)
    every = [sent(sender, "ab"[i % 2]) for i in range(40)]
    assert got(reader, every[39]) == []
    assert reader.missing() == [("A", number) for number in range(39)]
    assert sum(len(got(reader, one)) for one in every[:39]) == 40
    assert reader.missing() == []


def test_one_side_may_say_much_before_the_other_says_anything() -> None:
    chat = automaton(
        "{protocol: p, initial: s, accepting: [s], messages: {A -> B: a, B -> A: b},"
        " transitions: [s -> s: a, s -> s: b]}"
    )
    one, other = Messenger(chat, "A", window=4), Messenger(chat, "B", window=4)
    for _ in range(50):
        assert got(other, sent(one, "a")) == ["a"]
    assert got(one, sent(other, "b")) == ["b"]
    assert got(other, sent(one, "a")) == ["a"]


def test_no_more_wait_than_there_is_room_for() -> None:
    loop = automaton(
        "{protocol: p, initial: s, accepting: [s], messages: {A -> B: [a, b]},"
        " transitions: [s -> t: a, t -> s: b]}"
    )
    sender = Messenger(loop, "A")
    reader = Messenger(loop, "B", most_waiting=3)
    every = [sent(sender, "ab"[i % 2]) for i in range(8)]
    for one in every[1:6]:
        assert got(reader, one) == []
    assert (reader.waiting, reader.room) == (3, False)
    assert got(reader, every[0]) == ["a", "b", "a", "b"]
    assert reader.missing() == []
    assert [got(reader, one) for one in every[4:]] == [["a"], ["b"], ["a"], ["b"]]


def test_what_others_wait_for_is_taken_even_if_there_is_no_room() -> None:
    """c is delivered at once; then a waits for b, and all that follows for both."""
    rows = [[-1] * 5 for _ in range(7)]
    for state, letter, to in ("0a1", "1b2", "2c3", "0c4", "4b5", "5a3", "3d6", "6e3"):
        rows[int(state)]["abcde".index(letter)] = int(to)
    one = plain_automaton(rows)
    sender, reader = Messenger(one, "A"), Messenger(one, "B", most_waiting=3)
    every = [sent(sender, name) for name in "abcdededede"]
    assert got(reader, every[2]) == ["c"]
    assert [got(reader, every[i]) for i in (3, 4, 5, 0, 6, 7)] == [[]] * 6
    assert reader.waiting == 4
    assert got(reader, every[1]) == ["b", "a", "d", "e", "d"]
    assert got(reader, every[6]) == ["e"]


def test_of_three_roles_the_next_of_each_is_taken_even_if_there_is_no_room() -> None:
    ring = automaton(
        "{protocol: p, initial: s, accepting: [s], messages: {A -> B: a, B -> C: b, C -> A: c},"
        " transitions: [s -> s: a, s -> s: b, s -> s: c]}"
    )
    sender, reader = Messenger(ring, "A"), Messenger(ring, "B", most_waiting=3)
    every = [sent(sender, "a") for _ in range(6)]
    assert [got(reader, one) for one in every[1:]] == [[]] * 5
    assert reader.waiting == 3
    assert got(reader, every[0]) == ["a"] * 4
    assert got(reader, every[4]) == ["a"]


def test_nobody_speaks_for_ever_without_an_answer() -> None:
    chat = automaton(
        "{protocol: p, initial: s, accepting: [s], messages: {A -> B: a, B -> A: b},"
        " transitions: [s -> s: a, s -> s: b]}"
    )
    one = Messenger(chat, "A", most_kept=5)
    assert [one.put("a").answer for _ in range(6)] == ["sent"] * 5 + ["wait"]


@pytest.mark.parametrize(
    "stamp",
    [
        Stamp(0),
        Stamp(0, events=(99,)),
        Stamp(0, events=(-5,)),
        Stamp(0, state=77, events=(0,)),
        Stamp(0, events=(1,)),
    ],
)
def test_a_stamp_that_makes_no_sense_is_refused_and_changes_nothing(stamp: Stamp) -> None:
    sender, reader = ends("figure-6")
    with pytest.raises(UsageError, match="the stamp of 'a' is"):
        reader.get(Stamped("a", stamp))
    assert got(reader, sent(sender, "a")) == ["a"]


def test_stamps_that_contradict_the_protocol_break_the_conversation_off() -> None:
    _, reader = ends("figure-6")
    assert reader.get(Stamped("d", Stamp(1, events=(2, 2)))) == []
    assert reader.broken == "the other side went a way that the protocol does not have"


@pytest.mark.parametrize("text", ["", "1.2.3", "a.0.0.0.0..1", "1.0.0.0.0..x", "-1.0.0.0.0..1"])
def test_a_text_that_is_no_stamp_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no stamp"):
        stamp_of(text)


def test_who_is_no_role_has_no_messenger() -> None:
    with pytest.raises(UsageError, match="figure-6 has no role 'C'; its roles: A, B"):
        Messenger(protocol("figure-6"), "C")


# --- deadlines, guards, more than two ----------------------------------------------------------


def test_a_deadline_passes_at_one_side_and_the_other_learns_of_it_with_the_next_message() -> None:
    buyer, seller = ends("rosettanet-late")
    order = buyer.put("order", now_us=10).stamped
    assert order is not None
    assert got(seller, order) == ["order"]
    assert buyer.due_us == 7_200_000_010
    assert buyer.tick(7_200_000_009) is None
    assert buyer.tick(7_200_000_010) == "timeout of buyer"
    assert (buyer.state, seller.state) == ("expired", "ordered")
    accept = sent(seller, "accept")
    withdraw = sent(buyer, "withdraw")
    assert got(seller, withdraw) == ["withdraw"]
    assert got(buyer, accept) == ["accept"]
    assert buyer.state == seller.state == "withdrawn late"


def test_a_deadline_does_not_pass_once_the_answer_is_there() -> None:
    buyer, seller = ends("rosettanet")
    order = buyer.put("order", now_us=0).stamped
    assert order is not None
    seller.get(order)
    assert got(buyer, sent(seller, "accept")) == ["accept"]
    assert buyer.due_us is None
    assert buyer.tick(10**12) is None


def test_guards_decide_which_way_a_conversation_goes() -> None:
    trader, desk = ends("order-entry")
    got(desk, sent(trader, "ask"))
    got(trader, sent(desk, "quote"))
    assert trader.put("order", fields={"order": {}}).answer == "refused"
    put = trader.put("order", fields={"order": {"amount": 5_000}})
    assert put.stamped is not None
    desk.get(put.stamped)
    assert desk.state == "large"
    assert desk.put("fill").answer == "refused"
    assert desk.put("check").answer == "sent"


def test_more_than_two_roles_keep_each_senders_order() -> None:
    escrow = protocol("escrow")
    buyer, service, seller = (Messenger(escrow, one) for one in escrow.roles)
    assert seller.put("shipped").answer == "wait"
    assert got(service, sent(buyer, "pay")) == ["pay"]
    assert got(seller, sent(service, "paid")) == ["paid"]
    assert got(buyer, sent(seller, "shipped")) == ["shipped"]
    assert got(service, sent(buyer, "received")) == ["received"]
    assert got(seller, sent(service, "release")) == ["release"]
    assert seller.ended


# --- many conversations ------------------------------------------------------------------------


def test_conversations_do_not_touch_each_other_and_make_room_when_they_end() -> None:
    figure = protocol("figure-6")
    place = Conversations(figure, most=4)
    for name in ("x", "y"):
        put = place.put(name, "a")
        assert put.stamped is not None
        assert [one.message for one in place.get(name, put.stamped)] == ["a"]
    assert len(place) == 4
    assert place.put("z", "a").answer == "wait"
    for message in "bd":
        put = place.put("x", message)
        assert put.stamped is not None
        place.get("x", put.stamped)
    assert place.put("z", "a").answer == "sent"
    assert len(place) == 4


TWO_STEPS = automaton(
    "{protocol: p, initial: s, accepting: [e], messages: {A -> B: [a, b]},"
    " transitions: [s -> t: a, t -> e: b]}"
)


def test_however_many_are_left_open_those_that_ended_make_room() -> None:
    place = Conversations(TWO_STEPS, ["A"], most=200)
    for i in range(150):
        place.put(f"left {i}", "a")
    for message in "ab":
        for i in range(50):
            place.put(f"ended {i}", message)
    assert [place.put(f"new {i}", "a").answer for i in range(51)] == ["sent"] * 50 + ["wait"]
    assert place.to_give_up() == (("left 0", 0), False)
    assert {len(place), len(list(place.items()))} == {200}
    assert place.put("left 7", "b").answer == "sent"
    assert place.to_give_up() == (("left 7", 0), True)
    assert place.put("new again", "a").answer == "sent"
    assert place.messenger("left 7", "A") is None
    assert place.messenger("left 8", "A") is not None


def test_none_is_asked_twice_whether_it_may_end_unless_it_was_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def may_end(one: Messenger) -> bool:
        asked.append(one)
        return one.ended

    monkeypatch.setattr("ropewalk.protocol.conversations._may_end", may_end)
    place = Conversations(TWO_STEPS, ["A"], most=1_000)
    for i in range(1_000):
        place.put(str(i), "a")
    for i in range(100):
        assert place.put(f"new {i}", "a").answer == "wait"
    assert len(asked) <= 1_000 + 100 * OLDEST


def test_conversations_speak_for_their_roles_only() -> None:
    place = Conversations(protocol("figure-5"), ["B"])
    assert place.put("x", "a").why == "A does not speak here"
    assert place.put("x", "zzz").answer == "refused"
    assert place.put("x", "b").answer == "sent"


def test_a_rift_that_was_mended_before_it_was_noticed_is_none() -> None:
    """A's second a brings both orders of a and c together; only then it hears of c."""
    protocol = plain_automaton([[1, 0, 2], [1, -1, 1], [0, 0, -1]], senders=[0, 0, 1])
    a, b = Messenger(protocol, "A"), Messenger(protocol, "B")
    said = [sent(a, "a") for _ in range(3)]
    first = sent(b, "c")
    assert [got(b, one) for one in said[:2]] == [["a"], ["a"]]
    second = sent(b, "c")
    assert got(b, said[2]) == ["a"]
    assert got(a, second) == []
    assert got(a, first) == ["c", "c"]
    assert a.state == b.state
    assert a.broken is b.broken is None
