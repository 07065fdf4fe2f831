"""A message's properties and headers between AMQP and the federation, there and back.

| AMQP property | federation |
|---|---|
| headers table | headers; numbers and truth values as text, lists and tables as JSON |
| content_type, content_encoding, correlation_id, reply_to | headers `content-type`, ... |
| expiration, timestamp, type, app_id | headers of these names |
| message_id | `Incoming.key`, `Outgoing.id` |
| user_id (the broker vouches for it) | `Incoming.producer` |
| priority | priority |
| delivery_mode | by the topic's contract |

What would make a broker refuse or misroute a message stays out of the table: `CC` and `BCC` are
routing orders, `x-mqtt-*` belongs to the MQTT plug-in, and a name has at most 255 bytes.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from struct import Struct as Layout
from typing import Any, NamedTuple

from pamqp import decode

from ropewalk.agent.brokers.contract import Headers

_SHORT, _TABLE, _OCTET, _TIME = "short", "table", "octet", "time"
_PROPERTIES = (
    ("content-type", 15, _SHORT),
    ("content-encoding", 14, _SHORT),
    ("headers", 13, _TABLE),
    ("delivery-mode", 12, _OCTET),
    ("priority", 11, _OCTET),
    ("correlation-id", 10, _SHORT),
    ("reply-to", 9, _SHORT),
    ("expiration", 8, _SHORT),
    ("message-id", 7, _SHORT),
    ("timestamp", 6, _TIME),
    ("type", 5, _SHORT),
    ("user-id", 4, _SHORT),
    ("app-id", 3, _SHORT),
)
_KEPT = {
    "content-type",
    "content-encoding",
    "correlation-id",
    "reply-to",
    "expiration",
    "timestamp",
    "type",
    "app-id",
}
_FLAGS = Layout(">H")
_LONG = Layout(">I")
_TIMESTAMP = Layout(">Q")
_MOST_SHORT_BYTES = 255


class Properties(NamedTuple):
    """What a client's message says besides its payload."""

    headers: Headers = ()
    key: str = ""
    producer: str = ""
    priority: int | None = None


_NOTHING = Properties()
_SAY_NOTHING = frozenset((b"\x00\x00", b"\x10\x00\x01", b"\x10\x00\x02"))
"""No property at all, or only the delivery mode."""


def read(raw: bytes) -> Properties:
    """Properties as they came: their flags and their values."""
    if raw in _SAY_NOTHING:
        return _NOTHING
    found = dict(_values(raw))
    headers = [(name, str(value)) for name, value in found.items() if name in _KEPT]
    headers += found.get("headers", ())
    return Properties(
        tuple(headers),
        found.get("message-id", ""),
        found.get("user-id", ""),
        found.get("priority"),
    )


def _values(raw: bytes) -> Iterator[tuple[str, Any]]:
    (flags,) = _FLAGS.unpack_from(raw)
    at = 2
    for name, bit, kind in _PROPERTIES:
        if not flags >> bit & 1:
            continue
        if kind is _SHORT:
            stop = at + 1 + raw[at]
            yield name, raw[at + 1 : stop].decode("utf-8", "replace")
        elif kind is _TABLE:
            stop = at + 4 + _LONG.unpack_from(raw, at)[0]
            yield name, tuple(_table(raw, at + 4, stop))
        elif kind is _OCTET:
            stop = at + 1
            yield name, raw[at]
        else:
            stop = at + 8
            yield name, _TIMESTAMP.unpack_from(raw, at)[0]
        at = stop


def _table(raw: bytes, at: int, stop: int) -> Iterator[tuple[str, str]]:
    while at < stop:
        value_at = at + 1 + raw[at]
        name = raw[at + 1 : value_at].decode("utf-8", "replace")
        if raw[value_at] == 0x53:  # S: a long string, the common case
            at = value_at + 5 + _LONG.unpack_from(raw, value_at + 1)[0]
            value = raw[value_at + 5 : at].decode("utf-8", "replace")
        else:
            try:
                used, decoded = decode.embedded_value(raw[value_at:stop])
            except (ValueError, OverflowError, OSError):
                return  # a value of no known type or range: where the next begins is unknown
            at, value = value_at + used, _text(decoded)
        if _may_cross(name):
            yield name, value


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | list | dict):
        return json.dumps(value, default=str)
    return value.decode("utf-8", "replace") if isinstance(value, bytes | bytearray) else str(value)


@lru_cache(4096)
def _may_cross(name: str) -> bool:
    if name in ("CC", "BCC") or name.startswith("x-mqtt-"):
        return False
    return len(name.encode()) <= _MOST_SHORT_BYTES


def write(
    headers: Headers,
    *,
    id: str = "",
    priority: int = 0,
    lasting: bool = False,
    entries: bytes = b"",
) -> bytes:
    """Flags and values of a message for clients; `entries` open its headers table."""
    given: dict[str, bytes] = {"delivery-mode": b"\x02" if lasting else b"\x01"}
    table = [entries] if entries else []
    for name, value in headers:
        encoded = _property(name, value) if name in _KEPT and name not in given else None
        if encoded is not None:
            given[name] = encoded
        elif _may_cross(name):
            table.append(_entry(name, value))
    if priority > 0:
        given["priority"] = bytes((min(priority, 255),))
    if id and (short := _short(id)) is not None:
        given["message-id"] = short
    if table:
        inside = b"".join(table)
        given["headers"] = _LONG.pack(len(inside)) + inside
    return _packed(given)


def _packed(given: dict[str, bytes]) -> bytes:
    flags, parts = 0, []
    for name, bit, _ in _PROPERTIES:
        if name in given:
            flags |= 1 << bit
            parts.append(given[name])
    return _FLAGS.pack(flags) + b"".join(parts)


def _property(name: str, value: str) -> bytes | None:
    """A value as that property; None if the broker would not take it there."""
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None
    if name == "timestamp":
        return None if number is None else _TIMESTAMP.pack(number)
    if name == "expiration" and (number is None or number >= 2**32):
        return None
    return _short(value)


def _short(value: str) -> bytes | None:
    encoded = value.encode()
    return bytes((len(encoded),)) + encoded if len(encoded) <= _MOST_SHORT_BYTES else None


def _entry(name: str, value: str) -> bytes:
    encoded = value.encode()
    return b"%b%bS%b%b" % (*_named(name), _LONG.pack(len(encoded)), encoded)


def _named(name: str) -> tuple[bytes, bytes]:
    encoded = name.encode()
    return bytes((len(encoded),)), encoded


def hidden_route(key: str) -> bytes:
    """The table entry that routes a message by a second key, which the broker then takes out."""
    word = key.encode()
    inside = b"S" + _LONG.pack(len(word)) + word
    return b"\x03BCCA" + _LONG.pack(len(inside)) + inside
