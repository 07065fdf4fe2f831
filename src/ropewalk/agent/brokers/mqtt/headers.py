"""A message's headers as MQTT 5 properties, and back.

| header | property |
|---|---|
| `content-type` | content type |
| `reply-to` | response topic |
| `correlation-id`, `correlation-id-base64` (if it is not text) | correlation data |
| `message-expiry` (seconds that are left) | message expiry interval |
| `payload-format` (`0` bytes, `1` text) | payload format indicator |
| any other, and a second one of these | user property |

MQTT forbids control characters in text, and Mosquitto cuts off who sends them: they are written
`%0A`. A value that is too long for MQTT (65,535 bytes) is cut.
"""

import binascii
import re
from base64 import b64decode, b64encode
from functools import lru_cache

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.brokers.mqtt.properties import (
    CONTENT_TYPE,
    CORRELATION,
    EXPIRY_S,
    PAYLOAD_FORMAT,
    RESPONSE_TOPIC,
    SUBSCRIPTION,
    USER,
    Property,
    Value,
    decoded,
    encoded,
)

_NAMES = {
    CONTENT_TYPE: "content-type",
    RESPONSE_TOPIC: "reply-to",
    CORRELATION: "correlation-id",
    EXPIRY_S: "message-expiry",
    PAYLOAD_FORMAT: "payload-format",
}
_KINDS = {name: kind for kind, name in _NAMES.items()} | {"correlation-id-base64": CORRELATION}
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_MOST_BYTES = 0xFFFF


def unsafe(text: str) -> bool:
    r"""Whether Mosquitto refuses a text for its characters or its length.

    >>> unsafe("a/b"), unsafe("a/\n")
    (False, True)
    """
    return _UNSAFE.search(text) is not None or len(text.encode()) > _MOST_BYTES


@lru_cache(4096)
def told(body: bytes) -> tuple[Headers, tuple[int, ...]]:
    """The headers in a publication's properties, and which subscriptions it was sent for."""
    headers: list[tuple[str, str]] = []
    subscriptions: list[int] = []
    for kind, value in decoded(body):
        if kind == SUBSCRIPTION and isinstance(value, int):
            subscriptions.append(value)
        elif isinstance(value, tuple):
            headers.append(value)
        elif kind in _NAMES:
            headers.append(_header(kind, value))
    return tuple(headers), tuple(subscriptions)


def _header(kind: int, value: Value) -> tuple[str, str]:
    if not isinstance(value, bytes):
        return _NAMES[kind], str(value)
    try:
        return _NAMES[kind], value.decode()
    except UnicodeDecodeError:
        return "correlation-id-base64", b64encode(value).decode()


@lru_cache(4096)
def properties_of(headers: Headers) -> bytes:
    """Headers as the properties of a publication, behind their length."""
    taken: set[int] = set()
    found: list[Property] = []
    for name, value in headers:
        one = _property(name, value)
        if one is None or one[0] in taken:
            one = (USER, (_safe(name), _safe(value)))
        else:
            taken.add(one[0])
        found.append(one)
    return encoded(found)


def _property(name: str, value: str) -> Property | None:
    """A header as its own property; None if it has none, or the value does not fit into it."""
    kind = _KINDS.get(name)
    if kind in (EXPIRY_S, PAYLOAD_FORMAT):
        most = 0xFFFFFFFF if kind == EXPIRY_S else 1
        fits = value.isascii() and value.isdigit() and len(value) <= 10 and int(value) <= most
        return (kind, int(value)) if fits else None
    if kind == CORRELATION:
        return _correlation(name, value)
    if kind is None or (kind == RESPONSE_TOPIC and ("+" in value or "#" in value or not value)):
        return None
    return kind, _safe(value)


def _correlation(name: str, value: str) -> Property | None:
    try:
        raw = b64decode(value, validate=True) if name.endswith("base64") else value.encode()
    except (binascii.Error, ValueError):
        return None
    return (CORRELATION, raw) if len(raw) <= _MOST_BYTES else None


def _safe(text: str) -> str:
    if not unsafe(text):
        return text
    clean = _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", text)
    return clean.encode()[:_MOST_BYTES].decode(errors="ignore")
