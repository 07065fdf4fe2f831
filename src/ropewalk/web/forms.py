"""Fields of brokers, links and topics as a form has them, and back to what a file says.

A form shows every field with its default; a file says only what differs from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ropewalk.federation import Federation
from ropewalk.federation.contracts import DEFAULT, Delivery, Order
from ropewalk.federation.facts import Make
from ropewalk.routing.scenarios import link_names
from ropewalk.web.entries import Section

Kind = Literal["text", "number", "one", "many", "pair"]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form: where it is in the entry (a path of keys), and what may be put in."""

    label: str
    path: tuple[str, ...]
    kind: Kind
    default: Any = None
    hint: str = ""
    options: Callable[[Federation], Sequence[str]] | None = None


def _brokers(federation: Federation) -> Sequence[str]:
    return list(federation.brokers)


def _sites(federation: Federation) -> Sequence[str]:
    return list(federation.sites)


def _words(words: Any, *first: str) -> Callable[[Federation], Sequence[str]]:
    return lambda _: [*first, *get_args(words)]


FORMS: Mapping[Section, tuple[Field, ...]] = {
    "brokers": (
        Field("make", ("make",), "one", "nats", options=_words(Make)),
        Field("site", ("site",), "one", options=_sites),
        Field("url", ("url",), "text", hint="nats://HOST:4222"),
        Field("takeover", ("takeover",), "many", (), "who takes its clients", _brokers),
        Field("fails", ("fails",), "number", 0.0, "probability of being down"),
        Field("receive_us", ("capacity", "receive_us"), "number", hint="to take a message in"),
        Field("filter_us", ("capacity", "filter_us"), "number", hint="to try one filter"),
        Field("send_us", ("capacity", "send_us"), "number", hint="to send one copy"),
        Field("risk groups", ("risk_groups",), "many", (), "shares its fate with"),
    ),
    "links": (
        Field("between", ("between",), "pair", (), options=_brokers),
        Field("latency_ms", ("latency_ms",), "number", hint="default: of light in fibre"),
        Field("cost", ("cost",), "number", 1, "the smallest sum decides"),
        Field("loss", ("loss",), "number", 0.0, "probability"),
        Field("fails", ("fails",), "number", 0.0, "probability of being down"),
        Field("risk groups", ("risk_groups",), "many", (), "shares its fate with"),
    ),
    "topics": (
        Field("publishers", ("publishers",), "many", (), options=_brokers),
        Field("subscribers", ("subscribers",), "many", (), options=_brokers),
        Field("scope", ("scope",), "one", "federation", options=lambda _: ["federation", "domain"]),
        Field(
            "delivery", ("contract", "delivery"), "one", DEFAULT.delivery, options=_words(Delivery)
        ),
        Field("order", ("contract", "order"), "one", DEFAULT.order, options=_words(Order)),
        Field("within_ms", ("contract", "within_ms"), "number", hint="at most, end to end"),
    ),
}


def shown(entry: Mapping[str, Any], field: Field) -> Any:
    """What a form shows of an entry; named clients as BROKER/CLIENT.

    >>> shown({"contract": {"order": "fifo"}}, FORMS["topics"][4])
    'fifo'
    """
    value: Any = entry
    for key in field.path:
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is None:
        return list(field.default) if field.kind in ("many", "pair") else field.default
    if field.kind == "many":
        if field.label == "takeover" and isinstance(value, Mapping):
            return [f"{who}: {one}" for who, some in value.items() for one in some]
        parts = value if isinstance(value, list) else [value]
        return [one if isinstance(one, str) else _client(one) for one in parts]
    return value


def put(entry: Mapping[str, Any], field: Field, value: Any) -> dict[str, Any]:
    """The entry with a field as somebody has put it in; what is at its default is left out.

    >>> put({"site": "paris"}, FORMS["brokers"][0], "rabbitmq")
    {'site': 'paris', 'make': 'rabbitmq'}
    >>> put({"make": "rabbitmq"}, FORMS["brokers"][0], "nats")
    {}
    """
    said = _said(field, value)
    first, *rest = field.path
    changed = dict(entry)
    if rest:
        inner = dict(changed.get(first) or {})
        _set(inner, rest[0], said)
        said = inner or None
    _set(changed, first, said)
    return changed


def _set(values: dict[str, Any], key: str, said: Any) -> None:
    if said is None:
        values.pop(key, None)
    else:
        values[key] = said


def _said(field: Field, value: Any) -> Any:
    """As the file says it: None for what need not be said."""
    if value in (None, "", [], ()) or value == field.default:
        return None
    if field.kind == "many":
        return [_attachment(str(one)) for one in value]
    if field.kind == "number":
        return int(value) if float(value).is_integer() and field.default == 1 else value
    return list(value) if field.kind == "pair" else value


def _client(one: Mapping[str, Any]) -> str:
    return f"{one.get('broker')}/{one.get('client')}"


def _attachment(text: str) -> Any:
    broker, slash, client = text.partition("/")
    return {"broker": broker, "client": client} if slash else text


def names_of(federation: Federation, section: Section) -> list[str]:
    """What can be chosen in a section, in the order of the file."""
    return link_names(federation) if section == "links" else list(getattr(federation, section))
