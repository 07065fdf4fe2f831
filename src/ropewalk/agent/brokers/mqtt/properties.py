"""Properties of MQTT 5 packets, to bytes and back (clause 2.2.2 of the standard)."""

from collections.abc import Callable, Iterable

PAYLOAD_FORMAT = 0x01
EXPIRY_S = 0x02
CONTENT_TYPE = 0x03
RESPONSE_TOPIC = 0x08
CORRELATION = 0x09
SUBSCRIPTION = 0x0B
SESSION_EXPIRY_S = 0x11
SERVER_KEEP_ALIVE_S = 0x13
REASON = 0x1F
RECEIVE_MAXIMUM = 0x21
USER = 0x26
MAXIMUM_PACKET_BYTES = 0x27

Value = int | str | bytes | tuple[str, str]
Property = tuple[int, Value]
Properties = tuple[Property, ...]

_BYTE = (PAYLOAD_FORMAT, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A)
_TWO = (SERVER_KEEP_ALIVE_S, RECEIVE_MAXIMUM, 0x22, 0x23)
_FOUR = (EXPIRY_S, SESSION_EXPIRY_S, 0x18, MAXIMUM_PACKET_BYTES)
_TEXT = (CONTENT_TYPE, RESPONSE_TOPIC, 0x12, 0x15, 0x1A, 0x1C, REASON)
_BINARY = (CORRELATION, 0x16)


def varint(number: int) -> bytes:
    """A variable byte integer.

    >>> varint(127).hex(), varint(128).hex()
    ('7f', '8001')
    """
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A variable byte integer and where it ends; ValueError if it has more than four bytes."""
    number = 0
    for shift in (0, 7, 14, 21):
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a length of more than four bytes")


def sized(value: bytes) -> bytes:
    """Bytes after their length; ValueError beyond 65,535 of them."""
    if len(value) > 0xFFFF:
        raise ValueError(f"{len(value)} bytes where MQTT allows 65535")
    return len(value).to_bytes(2, "big") + value


def read_sized(data: bytes, at: int) -> tuple[bytes, int]:
    """Bytes behind their length, and where they end; ValueError if they are cut off."""
    start = at + 2
    end = start + int.from_bytes(data[at:start], "big")
    if start > len(data) or end > len(data):
        raise ValueError("a string that ends beyond its packet")
    return data[start:end], end


def encoded(properties: Iterable[Property]) -> bytes:
    """Properties behind their length."""
    body = b"".join(_one(kind, value) for kind, value in properties)
    return varint(len(body)) + body


def _one(kind: int, value: Value) -> bytes:
    start = bytes((kind,))
    if isinstance(value, tuple):
        return start + sized(value[0].encode()) + sized(value[1].encode())
    if isinstance(value, str):
        return start + sized(value.encode())
    if isinstance(value, bytes):
        return start + sized(value)
    if kind == SUBSCRIPTION:
        return start + varint(value)
    return start + value.to_bytes(4 if kind in _FOUR else 2 if kind in _TWO else 1, "big")


def decoded(body: bytes) -> Properties:
    """Properties from the bytes behind their length; ValueError if they are none."""
    found: list[Property] = []
    at = 0
    while at < len(body):
        read = _READERS.get(body[at])
        if read is None:
            raise ValueError(f"unknown property 0x{body[at]:02x}")
        value, end = read(body, at + 1)
        if end > len(body):
            raise ValueError("a property that ends beyond its packet")
        found.append((body[at], value))
        at = end
    return tuple(found)


def _number(size: int) -> Callable[[bytes, int], tuple[Value, int]]:
    return lambda data, at: (int.from_bytes(data[at : at + size], "big"), at + size)


def _text(data: bytes, at: int) -> tuple[str, int]:
    raw, at = read_sized(data, at)
    return raw.decode(), at


def _pair(data: bytes, at: int) -> tuple[Value, int]:
    name, at = _text(data, at)
    value, at = _text(data, at)
    return (name, value), at


_READERS: dict[int, Callable[[bytes, int], tuple[Value, int]]] = {
    **dict.fromkeys(_BYTE, _number(1)),
    **dict.fromkeys(_TWO, _number(2)),
    **dict.fromkeys(_FOUR, _number(4)),
    **dict.fromkeys(_TEXT, _text),
    **dict.fromkeys(_BINARY, read_sized),
    SUBSCRIPTION: read_varint,
    USER: _pair,
}
