"""A federation as YAML text that a person can read and edit: one entry a line."""

import re
from collections.abc import Iterator
from typing import Any

from ropewalk.federation.facts import Federation
from ropewalk.federation.plain import plain
from ropewalk.federation.yaml_text import scalar

_SAFE = re.compile(r"[\w./][\w./@-]*\Z", re.ASCII)


def dump(federation: Federation) -> str:
    """A federation as YAML text; `loads(dump(f)) == f`."""
    return dump_plain(plain(federation))


def dump_plain(values: dict[str, Any]) -> str:
    """Plain sections as YAML text."""
    return "".join(f"{line}\n" for line in _lines(values))


def _lines(values: dict[str, Any]) -> Iterator[str]:
    for section, entries in values.items():
        if section in ("underlay", "placement"):
            yield f"{section}:"
            for part, inner in entries.items():
                yield f"  {part}:"
                yield from _entries(inner, "    ")
        elif isinstance(entries, dict | list):
            yield f"{section}:"
            yield from _entries(entries, "  ")
        else:
            yield f"{section}: {flow(entries)}"


def _entries(entries: dict[str, Any] | list[Any], indent: str) -> Iterator[str]:
    if isinstance(entries, dict):
        for name, entry in entries.items():
            yield f"{indent}{_text(name)}: {flow(entry)}"
    else:
        for entry in entries:
            yield f"{indent}- {flow(entry)}"


def flow(value: Any) -> str:
    """A plain value on one line.

    >>> flow({"between": ["a", "b"], "latency_ms": 8.0, "make": "no", "note": "1"})
    '{between: [a, b], latency_ms: 8.0, make: no, note: "1"}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else f"{value}"


def _text(text: str) -> str:
    if _SAFE.match(text) and isinstance(scalar(text), str):
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08x}"
