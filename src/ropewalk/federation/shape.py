"""A file's faults of shape, in plain words, and the JSON Schema of a file."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ropewalk.federation.facts import Federation
from ropewalk.federation.sense.fault import Fault, did_you_mean
from ropewalk.federation.yaml_text import Path

NOUNS = {
    "sites": "site",
    "domains": "domain",
    "brokers": "broker",
    "links": "link",
    "bridges": "bridge",
    "risk_groups": "risk group",
    "topics": "topic",
    "items": "item",
    "routes": "route",
    "protocols": "protocol",
}
UNITS = {"_ms": "milliseconds", "_us": "microseconds", "_km": "kilometres"}
FORMS = {
    "federation": "NAME",
    "brokers": "{NAME: {}}",
    "between": "[BROKER, BROKER]",
    "gateways": "[BROKER]",
    "at": "[LATITUDE, LONGITUDE]",
    "xy": "[X, Y]",
    "broker": "BROKER",
    "client": "NAME",
    "radius_km": "100",
}
"""How a field is written, where its name alone does not tell."""

_WITH_UNIT = re.compile(r"^\s*[-+]?[\d.]+\s*[A-Za-zµ%]+\s*$")
_BRANCHES = ("Client", "constrained-str")


def explain(error: ValidationError, values: Mapping[str, Any]) -> Iterator[Fault]:
    """Each fault that the shape check found, with its path in the file."""
    for detail in error.errors(include_url=False):
        path, took_branch = place_in_file(detail["loc"], values)
        if took_branch is not False:
            place = _Place(path, value_at(values, path))
            in_words = _WORDS.get(detail["type"], _wrong_type)
            code, message = (_secret if "credentials" in path else in_words)(detail, place)
            yield Fault(code, path, message)


def place_in_file(loc: tuple[str | int, ...], values: Any) -> tuple[Path, bool | None]:
    """The part of an error's place that the file has.

    Also whether the error is of the branch that the file took where a publisher may be a name or
    {broker, client}: the other branch's complaint would only confuse.
    """
    path: list[str | int] = []
    took_branch = None
    for i, step in enumerate(loc):
        try:
            values = values[step]
        except (KeyError, IndexError, TypeError):
            if step in _BRANCHES:
                took_branch = (step == "Client") == isinstance(values, dict)
                continue
            if i < len(loc) - 1:
                continue  # a step that only the checker knows
        path.append(step)
    return tuple(path), took_branch


def value_at(values: Any, path: Path) -> Any:
    """The value at a path, or None."""
    for step in path:
        try:
            values = values[step]
        except (KeyError, IndexError, TypeError):
            return None
    return values


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a fault is and what was found there, ready to be put into words."""

    path: Path
    found: Any

    @property
    def field(self) -> str:
        names = [step for step in self.path if isinstance(step, str)]
        return names[-1] if names else ""

    @property
    def around(self) -> str:
        return _subject(self.path[:-1])

    def __str__(self) -> str:
        text = repr(self.found) if self.found is not None else "empty"
        return f"{_subject(self.path)} is {text if len(text) <= 60 else f'{text[:57]}...'}"


def _subject(path: Path) -> str:
    """A path in words: `link 3: latency_ms`."""
    if not path:
        return "the file"
    section, rest = str(path[0]), path[1:]
    if section not in NOUNS or not rest:
        return ".".join(str(step) for step in path)
    entry = rest[0] + 1 if isinstance(rest[0], int) else rest[0]
    inner = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest[1:])
    return f"{NOUNS[section]} {entry}" + (f": {inner.lstrip('.')}" if inner else "")


def _missing(_: ErrorDetails, place: _Place) -> tuple[str, str]:
    field = place.field
    advice = f"write {field}: {FORMS.get(field, '...')}"
    if isinstance(place.path[-1], int):
        return "F010", f"{place.around} has too few entries: {advice}"
    return "F010", f"{place.around}: {field!r} is missing: {advice}"


def _unknown_field(_: ErrorDetails, place: _Place) -> tuple[str, str]:
    known = fields_at(place.path[:-1])
    hint = did_you_mean(place.field, known) or f"it has {', '.join(known)}"
    return "F011", f"{place.around}: there is no field {place.field!r}: {hint}"


def _not_a_choice(detail: ErrorDetails, place: _Place) -> tuple[str, str]:
    choices = re.findall(r"'([^']+)'", str(detail["ctx"]["expected"]))
    hint = did_you_mean(str(place.found), choices)
    return "F015", f"{place}: write {' or '.join(choices)}{hint and f' ({hint})'}"


def _secret(_: ErrorDetails, place: _Place) -> tuple[str, str]:
    # What stands under credentials may be a secret: never repeat it.
    return "F017", f"{place.around}: credentials go by reference: write env:NAME or file:PATH"


def _out_of_range(detail: ErrorDetails, place: _Place) -> tuple[str, str]:
    limit = next((f"{value:g}" for value in detail.get("ctx", {}).values()), "")
    return "F013", f"{place}: it must be {_BOUNDS[detail['type']].format(limit)}"


def _wrong_length(detail: ErrorDetails, place: _Place) -> tuple[str, str]:
    context = detail["ctx"]
    limit = context.get("min_length", context.get("max_length"))
    least = "at least" if "min_length" in context else "at most"
    return "F013", f"{place}: it takes {least} {limit} entries"


def _wrong_type(detail: ErrorDetails, place: _Place) -> tuple[str, str]:
    if isinstance(place.found, str) and _WITH_UNIT.match(place.found):
        ends = (unit for end, unit in UNITS.items() if place.field.endswith(end))
        unit = next((f" of {unit}, without the unit" for unit in ends), "")
        if detail["type"] in ("float_type", "int_type"):
            return "F014", f"{place}: write a plain number{unit}"
    return "F012", f"{place}: write {_EXPECTED.get(detail['type'], detail['msg'].lower())}"


_BOUNDS = {
    "greater_than": "more than {}",
    "greater_than_equal": "at least {}",
    "less_than_equal": "at most {}",
    "finite_number": "a finite number",
    "string_too_short": "a text of at least {} character",
}
_EXPECTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": 'a text (a number or yes/no as a name goes in quotes: "1")',
    "tuple_type": "a list: [..., ...]",
    "dict_type": "a map: {NAME: ...}",
    "dataclass_type": "a map: {FIELD: ...}",
}
_WORDS: dict[str, Callable[[ErrorDetails, _Place], tuple[str, str]]] = {
    "missing": _missing,
    "unexpected_keyword_argument": _unknown_field,
    "literal_error": _not_a_choice,
    "too_short": _wrong_length,
    "too_long": _wrong_length,
    **dict.fromkeys(_BOUNDS, _out_of_range),
}


@cache
def adapter() -> TypeAdapter[Federation]:
    """What checks the shape of a federation file."""
    return TypeAdapter(Federation)


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of a federation file."""
    made = adapter().json_schema(mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Ropewalk federation",
        **{key: _closed(value) for key, value in made.items() if key != "title"},
    }


def _closed(part: Any) -> Any:
    """A map whose names follow a pattern takes no others; pydantic leaves that open."""
    if isinstance(part, dict):
        shut = {"additionalProperties": False} if "patternProperties" in part else {}
        return {key: _closed(inner) for key, inner in part.items()} | shut
    return [_closed(inner) for inner in part] if isinstance(part, list) else part


def fields_at(path: Path) -> list[str]:
    """The fields that the record at this path may have."""
    here = schema()
    for step in path:
        here = _resolve(_below(_resolve(here), step))
    return sorted(_resolve(here).get("properties", {}))


def _below(here: dict[str, Any], step: str | int) -> dict[str, Any]:
    if isinstance(step, int):
        prefix = here.get("prefixItems", [])
        inner = prefix[step] if step < len(prefix) else here.get("items", {})
    else:
        others = [*here.get("patternProperties", {}).values(), here.get("additionalProperties", {})]
        inner = here.get("properties", {}).get(step, others[0])
    return inner if isinstance(inner, dict) else {}


def _resolve(here: dict[str, Any]) -> dict[str, Any]:
    """Follow references, and of several branches the one that has fields."""
    while "$ref" in here or "anyOf" in here:
        if "$ref" in here:
            here = schema()["$defs"][here["$ref"].rsplit("/", 1)[1]]
        else:
            branches = [_resolve(branch) for branch in here["anyOf"]]
            return max(branches, key=lambda branch: "properties" in branch)
    return here
