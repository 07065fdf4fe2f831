"""How messages of real transports carry conversations: NATS, MQTT 5, AMQP and CloudEvents.

Which conversation a message belongs to and what it is called are told by the application's own
headers or fields, as the protocol's file says; the stamp is a header of its own. These functions
touch headers only, so they go around any client library.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ropewalk.errors import UsageError
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.guards import at
from ropewalk.protocol.stamps import Stamp, stamp_of

STAMP = "ropewalk-stamp"
SEQUENCE_DIGITS = 20
"""CloudEvents compares `sequence` as text."""

Headers = dict[str, str]


class Said(NamedTuple):
    """A message as a protocol sees it."""

    conversation: str
    message: str
    fields: Any
    stamp: Stamp | None


class Binding(NamedTuple):
    """Headers of one kind of transport: to plain text by name, and back with a stamp."""

    plain: Callable[[Any], Headers]
    stamped: Callable[[Any, Stamp], Any]


def said(protocol: Automaton, headers: Mapping[str, str], payload: bytes | str = b"") -> Said:
    """What a message says, by its headers and fields; raises UsageError if it does not say.

    >>> from ropewalk.protocol import automaton
    >>> one = automaton('''{protocol: p, initial: a, accepting: [b], transitions: [a -> b: ask],
    ...                     conversation: {field: order.id}}''')
    >>> said(one, {"message": "ask"}, b'{"order": {"id": 7}}')[:2]
    ('7', 'ask')
    """
    places = (protocol.conversation, protocol.message)
    inside = any("field" in one for one in places) or bool(protocol.guards)
    fields = _fields(payload) if inside else None
    found = [_at(place, headers, fields) for place in places]
    for name, place in zip(found, places, strict=True):
        if not name:
            [(kind, where)] = place.items()
            raise UsageError(f"the message has no {kind} {where!r}, which {protocol.name} needs")
    text = _header(headers, STAMP)
    return Said(found[0], found[1], fields, stamp_of(text) if text else None)


def _at(place: Mapping[str, str], headers: Mapping[str, str], fields: Any) -> str:
    [(kind, name)] = place.items()
    value = _header(headers, name) if kind == "header" else at(fields, name)
    return "" if value is None else str(value)


def _header(headers: Mapping[str, str], name: str) -> str | None:
    """A header, whatever its case: libraries change it on the way, and CloudEvents more of it."""
    found = headers.get(name)
    if found is None:
        low = name.lower()
        found = next((value for key, value in headers.items() if key.lower() == low), None)
    return headers.get(_cloud_name(name)) if found is None else found


def _fields(payload: bytes | str) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):  # no JSON, or nested without end
        return None


# --- NATS: headers of text, several values of a name are a list -------------------------------


def _nats_plain(headers: Mapping[str, Any] | None) -> Headers:
    return {
        key: value if isinstance(value, str) else str(value[-1])
        for key, value in (headers or {}).items()
        if value
    }


def _nats_stamped(headers: Mapping[str, Any] | None, stamp: Stamp) -> dict[str, Any]:
    return {**_without(headers or {}), STAMP: stamp.text()}


# --- MQTT 5: user properties, pairs of text ---------------------------------------------------


def _mqtt_plain(properties: Iterable[tuple[str, str]] | None) -> Headers:
    return dict(properties or ())


def _mqtt_stamped(
    properties: Iterable[tuple[str, str]] | None, stamp: Stamp
) -> list[tuple[str, str]]:
    kept = [(key, value) for key, value in properties or () if key.lower() != STAMP]
    return [*kept, (STAMP, stamp.text())]


# --- AMQP: a table of headers, texts as bytes or str ------------------------------------------


def _amqp_plain(headers: Mapping[Any, Any] | None) -> Headers:
    given = (headers or {}).items()
    return {_text(key): _text(value) for key, value in given if value is not None}


def _amqp_stamped(headers: Mapping[Any, Any] | None, stamp: Stamp) -> dict[Any, Any]:
    return {**_without(headers or {}), STAMP: stamp.text()}


# --- CloudEvents: extension attributes, lower-case letters and digits only ---------------------


def _cloud_name(name: str) -> str:
    return "".join(one for one in name.lower() if one.isascii() and one.isalnum())


def _cloud_plain(attributes: Mapping[str, Any] | None) -> Headers:
    """Attributes by their own names; the event's type is the message, unless that is told."""
    given = (attributes or {}).items()
    plain = {key: str(value) for key, value in given if value is not None}
    plain.setdefault("message", plain.get("type", ""))
    if _cloud_name(STAMP) in plain:
        plain[STAMP] = plain.pop(_cloud_name(STAMP))
    return plain


def _cloud_stamped(attributes: Mapping[str, Any] | None, stamp: Stamp) -> dict[str, Any]:
    sequence = f"{stamp.number:0{SEQUENCE_DIGITS}d}"
    return {**(attributes or {}), _cloud_name(STAMP): stamp.text(), "sequence": sequence}


def _without(headers: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: value for key, value in headers.items() if _text(key).lower() != STAMP}


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


BINDINGS: Mapping[str, Binding] = {
    "nats": Binding(_nats_plain, _nats_stamped),
    "mqtt": Binding(_mqtt_plain, _mqtt_stamped),
    "amqp": Binding(_amqp_plain, _amqp_stamped),
    "cloudevents": Binding(_cloud_plain, _cloud_stamped),
}
"""By transport; the headers are what its usual clients take and give."""
