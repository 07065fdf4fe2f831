"""What an agent hands to its broker: in order, within the broker's limits, confirmed as a prefix.

Exactly once: QoS 2, and a packet keeps its id while the session lasts. What was not confirmed when
a connection was lost is given again by the agent; then a message that had got as far as PUBREC is
only released, and any other is sent with its old packet id, under which the broker knows it.
"""

from collections import deque
from collections.abc import Callable, Sequence

from msgspec import Struct

from ropewalk.agent.brokers.contract import Outgoing
from ropewalk.agent.brokers.mqtt.connection import Connection
from ropewalk.agent.brokers.mqtt.headers import properties_of, unsafe
from ropewalk.agent.brokers.mqtt.packets import (
    PUBACK,
    PUBREC,
    PUBREL,
    REASONS,
    Ack,
    ack,
    publish,
    topic_bytes,
)

_LAST_ID = 0xFFFF
_LONG = 4096
_MOST_IN_FLIGHT = 4096
"""What is written in one turn of the event loop must not keep it for long."""
_HEAD_BYTES = 16
"""More than what surrounds topic, properties and payload in a publication."""


class _Exact(Struct, gc=False):
    """A message that must not come twice, on its way."""

    id: str
    packet_id: int
    received: bool = False
    """The broker has it and only waits for its release."""


class Outbox:
    """Messages on their way to clients; `best_effort` says which topics are promised nothing."""

    def __init__(self, best_effort: Callable[[str], bool]) -> None:
        self._best_effort = best_effort
        self._waiting: deque[Outgoing] = deque()
        self._flight: dict[int, int] = {}
        """Packet ids with the numbers of their messages."""
        self._exact: dict[str, _Exact] = {}
        self._exact_by_packet: dict[int, _Exact] = {}
        self._stale = 0
        """How many of them were on their way when the last connection was lost."""
        self._early: set[int] = set()
        """Numbers that were confirmed before one that is smaller."""
        self._sent = 0
        self._confirmed = 0
        self._packet_id = 0
        self._connection: Connection | None = None
        self.undeliverable = 0
        """Messages that MQTT cannot carry: for their topic, or larger than the broker takes."""

    def begin(self, connection: Connection, *, session: bool) -> None:
        """A new connection: numbers start again, and the session's packet ids are kept."""
        self._connection = connection
        self._waiting.clear()
        self._flight.clear()
        self._early.clear()
        self._sent = self._confirmed = 0
        self._stale = len(self._exact_by_packet)
        if not session:
            self._forget_stale()

    @property
    def busy(self) -> bool:
        """Whether much is waiting."""
        return len(self._waiting) > _LONG

    def add(self, messages: Sequence[Outgoing]) -> None:
        """Take messages."""
        self._waiting += messages

    def pump(self) -> int:
        """Write what the broker has room for; how many are confirmed since the beginning."""
        connection = self._connection
        if connection is None or not connection.open:
            return self._confirmed
        out: list[bytes] = []
        while self._waiting and not connection.behind and self._room(connection):
            out += self._packet(self._waiting.popleft(), connection.maximum_packet_bytes)
        if out:
            connection.write(out)
        return self._confirmed

    def _room(self, connection: Connection) -> bool:
        """Whether the broker takes the next message now."""
        room = min(connection.receive_maximum, _MOST_IN_FLIGHT)
        if len(self._flight) + self._stale < room or self._waiting[0].id in self._exact:
            return True
        if not self._flight:  # nobody asks for the old ones any more
            self._forget_stale()
        return not self._flight

    def _forget_stale(self) -> None:
        self._exact.clear()
        self._exact_by_packet.clear()
        self._stale = 0

    def _packet(self, message: Outgoing, most_bytes: int) -> tuple[bytes, ...]:
        number = self._sent
        self._sent += 1
        properties = properties_of(message.headers) if message.headers else b"\x00"
        topic = _name(message.topic)
        size = len(topic) + len(properties) + len(message.payload) + _HEAD_BYTES
        if not topic or size > most_bytes:
            self.undeliverable += 1
            self._done(number)
            return ()
        if message.once:
            return self._once(message, number, topic, properties)
        if self._best_effort(message.topic):
            self._done(number)
            return publish(topic, message.payload, properties, message.retain, 0)
        packet_id = self._free_id()
        self._flight[packet_id] = number
        return publish(topic, message.payload, properties, 2 | message.retain, packet_id)

    def _once(
        self, message: Outgoing, number: int, topic: bytes, properties: bytes
    ) -> tuple[bytes, ...]:
        flags = 4 | message.retain
        known = self._exact.get(message.id)
        if known is None:
            known = _Exact(message.id, self._free_id())
            self._exact_by_packet[known.packet_id] = known
            if message.id:
                self._exact[message.id] = known
        elif known.packet_id in self._flight:  # given twice: the first one counts for both
            self._done(number)
            return ()
        else:
            self._stale -= 1
            flags |= 8
        self._flight[known.packet_id] = number
        if known.received:
            return (ack(PUBREL, known.packet_id),)
        return publish(topic, message.payload, properties, flags, known.packet_id)

    def _free_id(self) -> int:
        while True:
            self._packet_id = self._packet_id % _LAST_ID + 1
            if self._packet_id not in self._flight and (
                self._packet_id not in self._exact_by_packet
            ):
                return self._packet_id

    def acked(self, packet: Ack) -> str:
        """A broker's answer; why it refuses the message, if it does."""
        if packet.reason >= 0x80 and packet.kind in (PUBACK, PUBREC):
            return REASONS.get(packet.reason, f"reason 0x{packet.reason:02x}")
        if packet.kind == PUBREC:
            self._received(packet.packet_id)
            return ""
        exact = self._exact_by_packet.pop(packet.packet_id, None)
        if exact is not None:
            self._exact.pop(exact.id, None)
        number = self._flight.pop(packet.packet_id, None)
        if number is not None:
            self._done(number)
        return ""

    def _received(self, packet_id: int) -> None:
        exact = self._exact_by_packet.get(packet_id)
        if exact is not None:
            exact.received = True
        if self._connection is not None:
            self._connection.write((ack(PUBREL, packet_id),))

    def _done(self, number: int) -> None:
        if number != self._confirmed:
            self._early.add(number)
            return
        self._confirmed += 1
        while self._confirmed in self._early:
            self._early.remove(self._confirmed)
            self._confirmed += 1


def _name(topic: str) -> bytes:
    """A topic's bytes; nothing if MQTT has no such topic."""
    if not topic or "+" in topic or "#" in topic or unsafe(topic):
        return b""
    return topic_bytes(topic)
