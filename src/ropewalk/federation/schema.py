"""What a federation file looks like: the checker of its shape and its JSON Schema."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter

from ropewalk.federation.facts import Federation
from ropewalk.federation.yaml_text import Path


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
        "properties": {
            key: _closed(one) if key == "federation" else _or_empty(_closed(one))
            for key, one in made["properties"].items()
        },
    }


def _closed(part: Any) -> Any:
    """A map whose names follow a pattern takes no others; its records may be left empty."""
    if isinstance(part, dict):
        closed = {key: _closed(inner) for key, inner in part.items()}
        if "patternProperties" in part:
            entries = closed["patternProperties"].items()
            closed["patternProperties"] = {name: _or_empty(one) for name, one in entries}
            closed["additionalProperties"] = False
        if part.get("title") in ("Underlay", "Placement"):
            closed["properties"] = {k: _or_empty(one) for k, one in closed["properties"].items()}
        return closed
    return [_closed(inner) for inner in part] if isinstance(part, list) else part


def _or_empty(part: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [part, {"type": "null"}]}


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
