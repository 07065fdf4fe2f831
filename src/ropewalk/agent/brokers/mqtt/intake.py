"""What clients have published: each message taken once, and acknowledged only when it is kept.

A message that was not acknowledged when a connection was lost comes again under its packet id. One
that the agent still holds is not handed over a second time; one that it accepted meanwhile is
acknowledged when it comes. Only where the acknowledgement itself may have been lost is a QoS 1
message taken twice, as MQTT says; QoS 2 never is while the agent lives.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from zlib import crc32

from msgspec import Struct

from ropewalk.agent.brokers.contract import PREFIX, Incoming
from ropewalk.agent.brokers.mqtt.connection import Connection
from ropewalk.agent.brokers.mqtt.packets import PUBACK, PUBCOMP, PUBREC, Publish, ack
from ropewalk.federation.spelling import cover
from ropewalk.federation.topics import common

_MOST_IDENTIFIER = 0xFFFFFFF
_MOST_HELD = 10_000


class Receipt(Struct, gc=False):
    """The handle of a message that its broker wants to have acknowledged."""

    packet_id: int
    qos: int
    topic: str
    payload: bytes
    connection: int
    accepted: bool = False


def _same(receipt: Receipt, packet: Publish) -> bool:
    """Whether a packet is the one that came before.

    A packet id alone does not tell: a broker that was killed may have gone back to an older state.
    """
    return receipt.payload == packet.payload and receipt.topic == packet.topic


class Subscription(Struct, frozen=True):
    """A pattern that the agent subscribes to."""

    pattern: str
    qos: int
    identifier: int


def subscriptions(topics: Iterable[str], durable: Iterable[str]) -> tuple[Subscription, ...]:
    """What to subscribe to: QoS 2 where something has to outlive the agent's absence, else 1.

    An identifier depends on the pattern alone: a subscription that is left in the session by an
    earlier federation file keeps its own, and so no message of it is taken for another's.
    """
    kept = tuple(durable)
    found: dict[int, Subscription] = {}
    for pattern in cover(topics):
        identifier = crc32(pattern.encode()) % _MOST_IDENTIFIER + 1
        while identifier in found:
            identifier = identifier % _MOST_IDENTIFIER + 1
        qos = 2 if any(common(pattern, one) is not None for one in kept) else 1
        found[identifier] = Subscription(pattern, qos, identifier)
    return tuple(found.values())


class Intake:
    """Publications on their way to the agent."""

    def __init__(self, wanted: Sequence[Subscription]) -> None:
        self._wanted = sorted(wanted, key=lambda one: -one.qos)
        self.owner = lru_cache(65_536)(self._owner)
        """The subscription that takes a topic, 0 if none does; others that overlap bring copies."""
        self._pending: dict[int, Receipt] = {}
        self._unreleased: set[int] = set()
        """QoS 2 packet ids between PUBREC and PUBREL."""
        self._connection: Connection | None = None
        self._turn = 0
        self._paused = False
        self._held: list[Incoming] = []
        self.dropped = 0
        """QoS 0 messages that came while the agent could not take any more."""

    def begin(self, connection: Connection, *, session: bool) -> None:
        """A new connection; without the old session its packet ids mean nothing."""
        self._connection = connection
        self._turn += 1
        if not session:
            self._pending.clear()
            self._unreleased.clear()

    def _owner(self, topic: str) -> int:
        if topic.split("/", 1)[0] == PREFIX:
            return 0
        return next((o.identifier for o in self._wanted if common(o.pattern, topic) == topic), 0)

    # --- taking -----------------------------------------------------------------------------

    def take(self, packet: Publish, taken: list[Incoming]) -> None:
        """Add a publication to those taken, unless it is a copy, or is not asked for."""
        receipt: Receipt | None = None
        if packet.qos:
            receipt = self._receipt(packet)
            if receipt is None:
                return
        owner = self.owner(packet.topic)
        if owner == 0 or (packet.subscriptions and owner not in packet.subscriptions):
            self.accept((receipt,))
            return
        taken.append(
            Incoming(
                receipt,
                packet.topic,
                packet.payload,
                retain=packet.retain,
                headers=packet.headers,
            )
        )

    def _receipt(self, packet: Publish) -> Receipt | None:
        """A new receipt; None if the message is known already and has its answer."""
        packet_id = packet.packet_id
        if packet.dup and packet_id in self._unreleased:
            self._write(ack(PUBREC, packet_id))
            return None
        old = self._pending.get(packet_id)
        if packet.dup and old is not None and _same(old, packet):
            old.connection = self._turn
            if old.accepted:
                self.accept((old,))
            return None
        self._unreleased.discard(packet_id)
        found = Receipt(packet_id, packet.qos, packet.topic, packet.payload, self._turn)
        self._pending[packet_id] = found
        return found

    # --- answering --------------------------------------------------------------------------

    def accept(self, receipts: Sequence[Receipt | None]) -> None:
        """Acknowledge these; those of an earlier connection when they come again."""
        out: list[bytes] = []
        turn = self._turn if self._connection is not None and self._connection.open else -1
        for one in receipts:
            if one is None or self._pending.get(one.packet_id) is not one:
                continue
            one.accepted = True
            if one.connection == turn:
                del self._pending[one.packet_id]
                out.append(self._yes(one))
        self._write(*out)

    def _yes(self, receipt: Receipt) -> bytes:
        if receipt.qos == 1:
            return ack(PUBACK, receipt.packet_id)
        self._unreleased.add(receipt.packet_id)
        return ack(PUBREC, receipt.packet_id)

    def released(self, packet_id: int) -> None:
        """PUBREL: the packet id may be used again."""
        self._unreleased.discard(packet_id)
        self._write(ack(PUBCOMP, packet_id))

    def _write(self, *out: bytes) -> None:
        if out and self._connection is not None and self._connection.open:
            self._connection.write(out)

    # --- pausing ----------------------------------------------------------------------------

    def pause(self) -> None:
        """Hold what comes from now on."""
        self._paused = True

    def resume(self) -> list[Incoming]:
        """Go on; what was held."""
        self._paused = False
        held, self._held = self._held, []
        return held

    def ready(self, taken: list[Incoming]) -> list[Incoming]:
        """What the agent is to be told now.

        While it is paused that is nothing. The connection is still read, because the answers to
        the agent's own deliveries come on it too; the broker stops by itself after as many
        unacknowledged messages as the agent allows it. Nothing stops QoS 0: some of it is kept.
        """
        if not self._paused:
            return taken
        for one in taken:
            if one.ticket is None and len(self._held) >= _MOST_HELD:
                self.dropped += 1
            else:
                self._held.append(one)
        return []
