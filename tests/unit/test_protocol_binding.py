"""Messages of real transports say which conversation they belong to, and what they are."""

import pytest

from ropewalk.errors import UsageError
from ropewalk.protocol import automaton
from ropewalk.protocol.binding import BINDINGS, said
from ropewalk.protocol.stamps import Stamp

BY_HEADER = automaton(
    "{protocol: p, initial: a, accepting: [b], messages: {A -> B: ask}, transitions: [a -> b: ask],"
    " conversation: {header: order-id}, message: {header: Msg_Type}}"
)


@pytest.mark.parametrize("transport", ["amqp", "cloudevents"])
def test_a_header_without_a_value_is_none(transport: str) -> None:
    headers = BINDINGS[transport].plain({"order-id": None, "Msg_Type": "ask"})
    with pytest.raises(UsageError, match="the message has no header 'order-id'"):
        said(BY_HEADER, headers)


def test_cloud_events_carry_any_header_by_the_letters_and_digits_of_its_name() -> None:
    binding = BINDINGS["cloudevents"]
    attributes = {"type": "com.example", "orderid": 7, "msgtype": "ask", "source": "/shop"}
    found = said(BY_HEADER, binding.plain(binding.stamped(attributes, Stamp(3, events=(0,)))))
    assert found[:2] == ("7", "ask")
    assert found.stamp == Stamp(3, events=(0,))


def test_the_type_of_a_cloud_event_is_the_message_unless_that_is_told() -> None:
    plain = BINDINGS["cloudevents"].plain
    assert plain({"type": "ask"})["message"] == "ask"
    assert plain({"type": "ask", "message": "tell"})["message"] == "tell"
    assert plain({"type": None})["message"] == ""
