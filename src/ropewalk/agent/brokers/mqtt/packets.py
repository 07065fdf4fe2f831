"""MQTT 5 packets: those an agent sends, as bytes; and all that one read brought, in one pass."""

from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.brokers.mqtt.headers import told
from ropewalk.agent.brokers.mqtt.properties import (
    REASON,
    SUBSCRIPTION,
    Properties,
    Property,
    decoded,
    encoded,
    read_varint,
    sized,
    varint,
)

CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP = 0x20, 0x40, 0x50, 0x62, 0x70
SUBACK, PINGRESP, DISCONNECT = 0x90, 0xD0, 0xE0
PINGREQ_BYTES = b"\xc0\x00"
DISCONNECT_BYTES = b"\xe0\x00"
_PUBLISH = [bytes((0x30 | flags,)) for flags in range(16)]

_NO_LOCAL_AS_PUBLISHED = 0b001100
_NOTHING_RETAINED = 0b100000

REASONS = {
    0x10: "no matching subscribers",
    0x80: "unspecified error",
    0x81: "malformed packet",
    0x82: "protocol error",
    0x84: "unsupported protocol version",
    0x85: "client identifier not valid",
    0x86: "bad user name or password",
    0x87: "not authorised",
    0x88: "server unavailable",
    0x89: "server busy",
    0x8A: "banned",
    0x8B: "server shutting down",
    0x8D: "keep alive timeout",
    0x8E: "session taken over by another connection with the same client id",
    0x8F: "topic filter invalid",
    0x90: "topic name invalid",
    0x93: "receive maximum exceeded",
    0x95: "packet too large",
    0x97: "quota exceeded",
    0x98: "administrative action",
    0x9A: "retain not supported",
    0x9B: "QoS not supported",
    0x9F: "connection rate exceeded",
}


class Publish(Struct, gc=False):
    """A publication."""

    topic: str
    payload: bytes
    headers: Headers = ()
    subscriptions: tuple[int, ...] = ()
    """The identifiers of the subscriptions that it was sent for."""
    qos: int = 0
    retain: bool = False
    dup: bool = False
    packet_id: int = 0


class Ack(Struct, gc=False):
    """PUBACK, PUBREC, PUBREL or PUBCOMP."""

    kind: int
    packet_id: int
    reason: int = 0


class Answer(Struct, gc=False):
    """CONNACK, SUBACK, PINGRESP or DISCONNECT."""

    kind: int
    packet_id: int = 0
    reasons: tuple[int, ...] = ()
    session: bool = False
    """Of CONNACK: the broker still has the session."""
    properties: Properties = ()

    @property
    def why(self) -> str:
        """What the broker gives as its reason."""
        worst = max(self.reasons, default=0)
        text = REASONS.get(worst, f"reason 0x{worst:02x}")
        more = [value for kind, value in self.properties if kind == REASON]
        return f"{text} ({more[0]!s})" if more else text


Packet = Publish | Ack
"""What a connection carries, as against `Answer`, what is said about it."""


class Reader:
    """Turns the stream of bytes into packets, however it is split."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        """Those that have come; whoever reads them takes them out."""
        self._parts: list[bytes] = []
        self._have = 0
        self._need = 2

    def feed(self, data: bytes) -> list[Packet]:
        """The packets that are complete now; ValueError or IndexError if one is malformed."""
        if self._parts:
            self._parts.append(data)
            self._have += len(data)
            if self._have < self._need:  # a large payload is joined once, not at each read
                return []
            data = b"".join(self._parts)
        found: list[Packet] = []
        at = self._read(data, found)
        rest = data[at:]
        self._parts = [rest] if rest else []
        self._have = len(rest)
        return found

    def _read(self, data: bytes, found: list[Packet]) -> int:
        """Add whole packets from data to those found; where the rest begins."""
        at, size = 0, len(data)
        while at + 2 <= size:
            length, start = data[at + 1], at + 2
            if length > 127:
                if size < at + 5 and all(byte > 127 for byte in data[at + 1 : size]):
                    self._need = size - at + 1
                    return at
                length, start = read_varint(data, at + 1)
            end = start + length
            if end > size:
                self._need = end - at
                return at
            first = data[at]
            if 0x30 <= first < 0x40:
                found.append(_publish(first, data, start, end))
            elif 0x40 <= first < 0x80:
                found.append(_ack(first, data, start, end))
            else:
                self.answers.append(_answer(first, data[start:end]))
            at = end
        self._need = 2
        return at


def _publish(first: int, data: bytes, at: int, end: int) -> Publish:
    stop = at + 2 + (data[at] << 8) + data[at + 1]
    topic = _text(data[at + 2 : stop])
    qos, packet_id = (first >> 1) & 3, 0
    if qos:
        packet_id = (data[stop] << 8) + data[stop + 1]
        stop += 2
    length = data[stop]
    stop += 1
    if length > 127:
        length, stop = read_varint(data, stop - 1)
    body = stop + length
    if body > end or qos == 3:
        raise ValueError("a publication that ends beyond its packet, or has no QoS")
    headers, subscriptions = told(data[stop:body]) if length else ((), ())
    return Publish(
        topic,
        data[body:end],
        headers,
        subscriptions,
        qos,
        first & 1 == 1,
        first & 8 == 8,
        packet_id,
    )


@lru_cache(65_536)
def _text(raw: bytes) -> str:
    return raw.decode()


def _ack(kind: int, data: bytes, at: int, end: int) -> Ack:
    if end < at + 2 or kind not in (PUBACK, PUBREC, PUBREL, PUBCOMP):
        raise ValueError(f"malformed acknowledgement 0x{kind:02x}")
    return Ack(kind, (data[at] << 8) + data[at + 1], data[at + 2] if end > at + 2 else 0)


def _answer(kind: int, body: bytes) -> Answer:
    if kind == PINGRESP:
        return Answer(kind)
    if kind == CONNACK:
        return Answer(kind, 0, (body[1],), bool(body[0] & 1), _properties(body, 2)[0])
    if kind == SUBACK:
        properties, at = _properties(body, 2)
        return Answer(
            kind, int.from_bytes(body[:2], "big"), tuple(body[at:]), properties=properties
        )
    if kind == DISCONNECT:
        properties = _properties(body, 1)[0] if len(body) > 1 else ()
        return Answer(kind, 0, tuple(body[:1]) or (0,), properties=properties)
    raise ValueError(f"unexpected packet 0x{kind:02x}")


def _properties(body: bytes, at: int) -> tuple[Properties, int]:
    length, at = read_varint(body, at)
    if at + length > len(body):
        raise ValueError("properties that end beyond their packet")
    return decoded(body[at : at + length]), at + length


# --- what an agent sends --------------------------------------------------------------------


def connect(
    client: str,
    *,
    clean: bool,
    keep_alive_s: int,
    user: str = "",
    password: str = "",
    properties: Iterable[Property] = (),
) -> bytes:
    """CONNECT."""
    flags = (2 if clean else 0) | (0x80 if user else 0) | (0x40 if password else 0)
    body = b"\x00\x04MQTT\x05" + bytes((flags,)) + keep_alive_s.to_bytes(2, "big")
    body += encoded(properties) + sized(client.encode())
    body += sized(user.encode()) if user else b""
    body += sized(password.encode()) if password else b""
    return b"\x10" + varint(len(body)) + body


def subscribe(
    packet_id: int, pattern: str, *, qos: int, identifier: int = 0, retained: bool = False
) -> bytes:
    """SUBSCRIBE to one pattern: no echo, and retain as it was published.

    An identifier, if there is one, comes back with each publication. Old values are only sent if
    retained ones are asked for.
    """
    flags = qos | _NO_LOCAL_AS_PUBLISHED | (0 if retained else _NOTHING_RETAINED)
    body = packet_id.to_bytes(2, "big")
    body += encoded([(SUBSCRIPTION, identifier)] if identifier else ())
    body += sized(pattern.encode()) + bytes((flags,))
    return b"\x82" + varint(len(body)) + body


@lru_cache(65_536)
def topic_bytes(topic: str) -> bytes:
    """A topic as it stands in a publication; remembered, because few topics are used often."""
    return sized(topic.encode())


def publish(
    topic: bytes, payload: bytes, properties: bytes, flags: int, packet_id: int
) -> tuple[bytes, bytes]:
    """PUBLISH, as the bytes before the payload and the payload, so that it is copied only once.

    The topic is from `topic_bytes`, flags hold retain (1), QoS (2, 4) and duplicate (8), and
    properties stand behind their length.
    """
    tail = packet_id.to_bytes(2, "big") + properties if flags & 6 else properties
    length = len(topic) + len(tail) + len(payload)
    size = bytes((length,)) if length < 128 else varint(length)
    return _PUBLISH[flags] + size + topic + tail, payload


def ack(kind: int, packet_id: int) -> bytes:
    """PUBACK, PUBREC, PUBREL or PUBCOMP that says yes."""
    return bytes((kind, 2, packet_id >> 8, packet_id & 255))
