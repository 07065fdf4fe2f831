"""A fault of shape in plain words: what is wrong and what to write."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic_core import ErrorDetails

from ropewalk.federation.schema import fields_at
from ropewalk.federation.sense.fault import Fault, did_you_mean, entry_of
from ropewalk.federation.showing import label, shown
from ropewalk.federation.yaml_text import Path

UNKNOWN_FIELD = "unexpected_keyword_argument"
FORMS = {
    ".federation": "NAME",
    ".brokers": "{NAME: {}}",
    ".sites": "{NAME: {at: [LATITUDE, LONGITUDE]}}",
    ".domains": "{NAME: {gateways: [BROKER]}}",
    ".topics": "{NAME: {publishers: [BROKER]}}",
    ".risk_groups": "{NAME: {fails: 0.001}}",
    ".links": "[{between: [BROKER, BROKER]}]",
    ".bridges": "[{from: BROKER, to: BROKER}]",
    ".routes": "[{at: BROKER, to: BROKER, next: BROKER}]",
    ".items": "{NAME: [TOPIC]}",
    ".placement": "{limits: {utilisation: 0.8}}",
    ".underlay": "{nodes: {NAME: {}}, links: [{between: [NODE, NODE]}]}",
    ".requirements": "{survive: {links: 1}}",
    "underlay.nodes": "{NAME: {at: [LATITUDE, LONGITUDE]}}",
    "underlay.links": "[{between: [NODE, NODE]}]",
    "placement.at": "{ITEM: BROKER}",
    "placement.pinned": "[ITEM]",
    "placement.only": "{ITEM: [BROKER]}",
    "placement.apart": "[[ITEM, ITEM]]",
    "placement.limits": "{utilisation: 0.8}",
    "placement.brokers": "{BROKER: {utilisation: 0.8}}",
    "placement.sites": "{SITE: {items: 400}}",
    "requirements.survive": "{links: 1}",
    "requirements.regions": "{radius_km: 100}",
    "between": "[BROKER, BROKER]",
    "via": "[NODE, NODE]",
    "gateways": "[BROKER]",
    "edges": "[BROKER]",
    "takeover": "[BROKER]",
    "publishers": "[BROKER]",
    "subscribers": "[BROKER]",
    "risk_groups": "[NAME]",
    "patterns": "['#']",
    "colours": "[none]",
    "at": "[LATITUDE, LONGITUDE]",
    "xy": "[X, Y]",
    "jitter": "{shape: lognormal, sd_ms: 2}",
    "histogram": "{edges_ms: [0, 5, 10], counts: [90, 10]}",
    "edges_ms": "[0, 5, 10]",
    "counts": "[90, 10]",
    "capacity": "{receive_us: 48.8, filter_us: 0.162, send_us: 16.4}",
    "contract": "{delivery: at-least-once}",
    "url": "SCHEME://HOST:PORT, one only",
    "from": "BROKER",
    "to": "BROKER",
    "next": "BROKER",
    "broker": "BROKER",
    "client": "NAME",
}
"""How a field is written, by its name and, where that matters, by what it is in."""

ENTRY_FORMS = {
    "sites": "{at: [LATITUDE, LONGITUDE]}",
    "domains": "{gateways: [BROKER]}",
    "brokers": "{site: SITE}",
    "links": "{between: [BROKER, BROKER]}",
    "bridges": "{from: BROKER, to: BROKER}",
    "risk_groups": "{fails: 0.001}",
    "topics": "{publishers: [BROKER], subscribers: [BROKER]}",
    "items": "[TOPIC]",
    "routes": "{at: BROKER, to: BROKER, next: BROKER}",
    "protocols": "FILE",
    "placement.at": "BROKER",
    "placement.pinned": "ITEM",
    "placement.only": "[BROKER]",
    "placement.apart": "[ITEM, ITEM]",
    "placement.brokers": "{utilisation: 0.8}",
    "placement.sites": "{items: 400}",
}
"""How an entry of a section is written."""

MEANT = {
    **dict.fromkeys(("lat", "lon", "lng", "latitude", "longitude"), "at: [LATITUDE, LONGITUDE]"),
    **dict.fromkeys(("host", "hostname", "port"), "url: SCHEME://HOST:PORT"),
    **dict.fromkeys(("from", "to", "ends", "source", "target"), "between: [BROKER, BROKER]"),
    **dict.fromkeys(("type", "kind", "vendor"), "make: MAKE"),
    **dict.fromkeys(("weight", "metric"), "cost: 1"),
    **dict.fromkeys(("delay", "delay_ms", "rtt", "rtt_ms"), "latency_ms: NUMBER"),
    **dict.fromkeys(("sd", "stddev", "std_ms"), "sd_ms: NUMBER"),
    "distribution": "shape: lognormal",
    "qos": "delivery: at-least-once",
}
"""What people write for a field that is called otherwise here."""

SECRETS = frozenset(
    {"password", "passwd", "pass", "pwd", "user", "username", "token", "secret", "key", "auth"}
)
SYNONYMS = {"mqtt": "mosquitto", "amqp": "rabbitmq", "rabbit": "rabbitmq"}

UNITS = {
    "_ms": ("milliseconds", {"us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3, "min": 6e4}),
    "_us": ("microseconds", {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}),
    "_km": ("kilometres", {"m": 1e-3, "km": 1.0, "mi": 1.609344}),
    "_bytes_s": ("bytes per second", {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}),
    "": ("", {"%": 0.01}),
}
"""By the end of a field's name: what it counts, and what other units are worth in it."""

_WITH_UNIT = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)\s*([A-Za-zµ%]+)\s*")


def fault_of(detail: ErrorDetails, place: "Place") -> Fault:
    """What the shape check complains of, as a fault."""
    in_words = _secret if place.is_secret else _WORDS.get(detail["type"], _wrong_type)
    code, what, advice = in_words(detail, place)
    return Fault(code=code, path=place.path, what=what, advice=advice)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fault is and what was found there, ready to be put into words."""

    path: Path
    found: Any

    @property
    def field(self) -> str:
        """The name of the field that is wrong."""
        names = [step for step in self.path if isinstance(step, str)]
        return names[-1] if names else ""

    @property
    def form(self) -> str:
        """How the value is written, where that can be said."""
        entry, inner = entry_of(self.path)
        if entry and not inner:
            return ENTRY_FORMS.get(".".join(map(str, self.path[:-1])), "")
        if isinstance(self.path[-1], int):
            return ""
        if self.path[:1] == ("routes",) and self.field == "at":
            return "BROKER"
        around = self.path[-2] if len(self.path) > 1 else ""
        return FORMS.get(f"{around}.{self.field}", "") or FORMS.get(self.field, "")

    @property
    def near(self) -> Path:
        """The path with a misspelt field put right; as it is where no known one is near."""
        known = fields_at(self.path[:-1])
        meant = MEANT.get(self.field, "").partition(":")[0]
        if self.field in known or not known:
            return self.path
        close = [meant] if meant in known else get_close_matches(self.field, known, 1, 0.7)
        return (*self.path[:-1], *(close or [self.field]))

    @property
    def is_secret(self) -> bool:
        """Whether what stands there is a secret."""
        return self.path[:1] == ("brokers",) and self.path[2:3] == ("credentials",)

    @property
    def may_hold_secrets(self) -> bool:
        """Whether what stands there may have a secret in it."""
        whole_broker = self.path[:1] == ("brokers",) and len(self.path) == 2
        named = {str(step).lower() for step in self.path}
        return whole_broker or not named.isdisjoint(SECRETS | {"url", "addresses", "credentials"})

    def __str__(self) -> str:
        _, inner = entry_of(self.path)
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in inner)
        return f"{steps.lstrip('.') or 'it'} is {self._value()}"

    def _value(self) -> str:
        if self.may_hold_secrets and self.found is not None:
            kinds = {"str": "a text", "list": "a list", "dict": "a map"}
            return kinds.get(type(self.found).__name__, "a number")
        return shown(self.found)


Words = tuple[str, str, str]
"""A code, what is wrong, what to write."""


def _missing(_: ErrorDetails, place: Place) -> Words:
    if isinstance(place.path[-1], int):
        whole = Place(place.path[:-1], None)
        return "F010", f"{place.field} has too few entries", f"write {place.field}: {whole.form}"
    return (
        "F010",
        f"{shown(place.field)} is missing",
        f"write {place.field}: {place.form or 'NUMBER'}",
    )


def _unknown_field(detail: ErrorDetails, place: Place) -> Words:  # noqa: ARG001
    known = fields_at(place.path[:-1])
    field, colon, _ = place.field.partition(":")
    what = f"there is no field {shown(field)}"
    if field.lower() in SECRETS:
        return "F017", f"{shown(field)} does not belong here", "write credentials: env:NAME"
    if colon:
        return "F011", what, f"write {label(field)}: VALUE, with a space after the colon"
    if field.isdigit():
        return "F011", what, "write decimals with a point, not a comma"
    meant = MEANT.get(field, "")
    if meant.partition(":")[0] in known:
        return "F011", what, f"write {meant}"
    return "F011", what, did_you_mean(field, known) or f"there are {', '.join(known)}"


def _not_a_choice(detail: ErrorDetails, place: Place) -> Words:
    choices = re.findall(r"'([^']+)'", str(detail["ctx"]["expected"]))
    written = str(place.found).lower()
    hint = did_you_mean(SYNONYMS.get(written, written), choices)
    return "F015", f"{place}", f"write {' or '.join(choices)}{hint and f' ({hint})'}"


def _secret(_: ErrorDetails, __: Place) -> Words:
    return "F017", "credentials go by reference", "write env:NAME or file:PATH"


def _out_of_range(detail: ErrorDetails, place: Place) -> Words:
    if place.field in ("fails", "loss", "probability"):
        return "F013", f"{place}", "it is a probability: write a number from 0 to 1"
    limit = next((f"{value:,}".removesuffix(".0") for value in detail.get("ctx", {}).values()), "")
    return "F013", f"{place}", f"it must be {_BOUNDS[detail['type']].format(limit)}"


def _wrong_length(detail: ErrorDetails, place: Place) -> Words:
    context = detail["ctx"]
    limit = context.get("min_length", context.get("max_length"))
    bound = "at least" if "min_length" in context else "at most"
    return "F013", f"{place}", f"it takes {bound} {limit} {'entry' if limit == 1 else 'entries'}"


def _wrong_type(detail: ErrorDetails, place: Place) -> Words:
    kind = detail["type"]
    if kind in ("float_type", "int_type") and (plain := _without_unit(place)):
        return "F014", f"{place}", plain
    if kind == "string_type" and isinstance(place.found, bool | int | float):
        text = str(place.found).lower() if isinstance(place.found, bool) else place.found
        return "F012", f"{place}", f'write a text, in quotes: "{text}"'
    return "F012", f"{place}", f"write {place.form or _EXPECTED.get(kind, detail['msg'])}"


def _without_unit(place: Place) -> str:
    """What to write for a number with a unit, or nothing if it is something else."""
    written = _WITH_UNIT.fullmatch(place.found) if isinstance(place.found, str) else None
    if written is None:
        return ""
    meaning, worth = next(known for end, known in UNITS.items() if place.field.endswith(end))
    of = f" of {meaning}" if meaning else ""
    if written[2] not in worth:
        return f"write a plain number{of}, without the unit"
    value = float(written[1]) * worth[written[2]]
    if written[2] == "%" and value > 1:
        return "write a plain number from 0 to 1"
    return f"write {value:.12g}, a plain number{of}"


_BOUNDS = {
    "greater_than": "more than {}",
    "greater_than_equal": "at least {}",
    "less_than": "less than {}",
    "less_than_equal": "at most {}",
    "finite_number": "a finite number",
    "string_too_short": "a text of at least {} character",
}
_EXPECTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "a text",
    "tuple_type": "a list: [..., ...]",
    "dict_type": "a map: {NAME: ...}",
    "dataclass_type": "a map: {FIELD: ...}",
}
_WORDS: dict[str, Callable[[ErrorDetails, Place], Words]] = {
    "missing": _missing,
    UNKNOWN_FIELD: _unknown_field,
    "literal_error": _not_a_choice,
    "too_short": _wrong_length,
    "too_long": _wrong_length,
    **dict.fromkeys(_BOUNDS, _out_of_range),
}
