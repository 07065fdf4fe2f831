"""Both directions' promises over MQTT when connections are lost, with the broker played by hand."""

from collections.abc import Iterable
from typing import Any, cast

from ropewalk.agent.brokers.contract import Incoming, Outgoing
from ropewalk.agent.brokers.mqtt.connection import Connection
from ropewalk.agent.brokers.mqtt.intake import Intake, subscriptions
from ropewalk.agent.brokers.mqtt.outbox import Outbox
from ropewalk.agent.brokers.mqtt.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    Ack,
    Packet,
    Publish,
    Reader,
)


class Wire:
    """A connection of which only the written packets are real."""

    def __init__(self, receive_maximum: int = 0xFFFF) -> None:
        self.open, self.behind = True, False
        self.receive_maximum, self.maximum_packet_bytes = receive_maximum, 1000
        self._out: list[bytes] = []

    def write(self, pieces: Iterable[bytes]) -> None:
        self._out += pieces

    def said(self) -> list[Packet]:
        out, self._out = self._out, []
        return Reader().feed(b"".join(out))


def wire(part: Intake | Outbox, *, session: bool = True, **options: Any) -> Wire:
    found = Wire(**options)
    part.begin(cast("Connection", found), session=session)
    return found


# --- what clients publish -------------------------------------------------------------------


def intake(*topics: str) -> Intake:
    return Intake(subscriptions(topics or ("t",), topics or ("t",)))


def take(at: Intake, packet_id: int, payload: bytes = b"", **more: Any) -> list[Incoming]:
    found: list[Incoming] = []
    packet = Publish(more.pop("topic", "t"), payload, packet_id=packet_id, **more)
    at.take(packet, found)
    return found


def test_qos_1_is_acknowledged_when_it_is_accepted_and_not_before() -> None:
    at = intake()
    link = wire(at)
    (message,) = take(at, 5, qos=1)
    assert link.said() == []
    at.accept([message.ticket, message.ticket])
    assert link.said() == [Ack(PUBACK, 5)]


def test_a_held_message_that_comes_again_is_not_taken_twice() -> None:
    at = intake()
    wire(at)
    (message,) = take(at, 5, qos=1)
    link = wire(at)
    assert take(at, 5, qos=1, dup=True) == []
    at.accept([message.ticket])
    assert link.said() == [Ack(PUBACK, 5)]


def test_what_was_accepted_without_a_connection_is_acknowledged_when_it_comes_again() -> None:
    at = intake()
    wire(at).open = False
    (message,) = take(at, 5, qos=1)
    at.accept([message.ticket])
    link = wire(at)
    assert take(at, 5, qos=1, dup=True) == []
    assert link.said() == [Ack(PUBACK, 5)]


def test_an_old_handle_never_acknowledges_a_new_message() -> None:
    at = intake()
    wire(at)
    (old,) = take(at, 5, b"old", qos=1)
    link = wire(at, session=False)
    (new,) = take(at, 5, b"new", qos=1)
    at.accept([old.ticket])
    assert link.said() == []
    at.accept([new.ticket])
    assert link.said() == [Ack(PUBACK, 5)]


def test_qos_2_is_taken_once_however_often_it_comes() -> None:
    at = intake()
    link = wire(at)
    (message,) = take(at, 5, qos=2)
    at.accept([message.ticket])
    assert link.said() == [Ack(PUBREC, 5)]
    link = wire(at)
    assert take(at, 5, qos=2, dup=True) == []
    at.released(5)
    assert link.said() == [Ack(PUBREC, 5), Ack(PUBCOMP, 5)]
    assert take(at, 5, qos=2)  # control: released, the packet id is free for another message


def test_a_broker_that_went_back_in_time_cannot_make_a_new_message_a_copy() -> None:
    at = intake()
    wire(at)
    (message,) = take(at, 5, b"old", qos=2)
    at.accept([message.ticket])
    wire(at)
    assert take(at, 5, b"new", qos=2)


def test_copies_for_overlapping_subscriptions_are_taken_once() -> None:
    wanted = subscriptions(("a/+", "+/b"), ())
    at = Intake(wanted)
    wire(at)
    copies = [take(at, 0, topic="a/b", subscriptions=(one.identifier,)) for one in wanted]
    assert sum(map(len, copies)) == 1
    both = tuple(one.identifier for one in wanted)
    assert take(at, 0, topic="a/b", subscriptions=both)
    assert take(at, 0, topic="a/x", subscriptions=(wanted[0].identifier,))


def test_what_an_earlier_federation_file_subscribed_to_is_acknowledged_and_left() -> None:
    at = intake("t")
    link = wire(at)
    assert take(at, 5, topic="gone", qos=1, subscriptions=(12,)) == []
    assert take(at, 6, topic="t", qos=1, subscriptions=(12,)) == []
    assert link.said() == [Ack(PUBACK, 5), Ack(PUBACK, 6)]


def test_neighbours_words_are_no_publications() -> None:
    at = intake("#")
    wire(at)
    assert take(at, 0, topic="_rw/b") == []


def test_a_pause_keeps_what_is_promised_and_only_some_of_what_is_not() -> None:
    at = intake()
    wire(at)
    at.pause()
    assert at.ready([Incoming(None, "t", b"") for _ in range(10_001)]) == []
    assert at.ready(take(at, 5, qos=1)) == []
    assert at.dropped == 1
    assert len(at.resume()) == 10_001


# --- what is delivered ----------------------------------------------------------------------


def outbox() -> Outbox:
    return Outbox(lambda topic: topic == "loose")


def given(at: Outbox, *messages: Outgoing) -> int:
    at.add(messages)
    return at.pump()


def once(id: str) -> Outgoing:
    return Outgoing("t", id.encode(), id=id, once=True)


def test_confirmations_are_counted_as_a_prefix() -> None:
    at = outbox()
    link = wire(at)
    assert given(at, Outgoing("t", b"1"), Outgoing("t", b"2"), Outgoing("loose", b"3")) == 0
    first, second, third = link.said()
    assert (isinstance(third, Publish) and third.qos) == 0
    assert isinstance(first, Publish)
    assert isinstance(second, Publish)
    at.acked(Ack(PUBACK, second.packet_id))
    assert at.pump() == 0
    at.acked(Ack(PUBACK, first.packet_id, reason=0x10))
    assert at.pump() == 3


def test_no_more_is_in_flight_than_the_broker_allows() -> None:
    at = outbox()
    link = wire(at, receive_maximum=2)
    given(at, *(Outgoing("t", b"%d" % n) for n in range(5)))
    sent = link.said()
    assert len(sent) == 2
    at.acked(Ack(PUBACK, 1))
    at.pump()
    assert len(link.said()) == 1


def test_packet_ids_go_round_without_one_being_used_twice() -> None:
    at = outbox()
    link = wire(at)
    given(at, *(Outgoing("t", b"") for _ in range(70_000)))
    (slow, *flight), seen = [one.packet_id for one in link.said()], 0
    while flight:
        assert slow not in flight
        assert len(set(flight)) == len(flight)
        seen += len(flight)
        for one in flight:
            at.acked(Ack(PUBACK, one))
        assert at.pump() == 0
        flight = [one.packet_id for one in link.said()]
    at.acked(Ack(PUBACK, slow))
    assert at.pump() == seen + 1 == 70_000


def test_exactly_once_a_lost_publication_is_sent_again_under_its_packet_id() -> None:
    at = outbox()
    (first,) = (wire(at), given(at, once("m")))[0].said()
    link = wire(at)
    given(at, Outgoing("t", b"other"), once("m"))
    other, again = link.said()
    assert isinstance(again, Publish)
    assert (again.packet_id, again.dup) == (first.packet_id, True)
    assert other.packet_id != first.packet_id


def test_exactly_once_a_publication_that_the_broker_has_is_only_released() -> None:
    at = outbox()
    link = wire(at)
    given(at, once("m"))
    at.acked(Ack(PUBREC, 1))
    assert link.said()[-1] == Ack(PUBREL, 1)
    link = wire(at)
    assert given(at, once("m")) == 0
    assert link.said() == [Ack(PUBREL, 1)]
    at.acked(Ack(PUBCOMP, 1))
    assert at.pump() == 1
    link = wire(at, session=False)  # control: another session knows nothing of it
    given(at, once("m"))
    assert isinstance(link.said()[0], Publish)


def test_what_mqtt_cannot_carry_is_counted_and_holds_nothing_up() -> None:
    at = outbox()
    link = wire(at)
    given(at, Outgoing("a/+", b""), Outgoing("a/\n", b""), Outgoing("t", bytes(2000)))
    assert given(at, Outgoing("loose", b"")) == 4
    assert at.undeliverable == 3
    assert len(link.said()) == 1


def test_a_refusal_has_its_reason() -> None:
    at = outbox()
    wire(at)
    given(at, Outgoing("t", b""))
    assert at.acked(Ack(PUBACK, 1, reason=0x87)) == "not authorised"
    assert at.pump() == 0
