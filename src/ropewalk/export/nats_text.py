"""Values as a NATS configuration: texts always in quotes, one setting a line."""

import re
from typing import Any

from ropewalk.federation.readers.nats.syntax import Unset

_PLAIN_KEY = re.compile(r"(?!include\Z)[A-Za-z_][A-Za-z0-9_.-]*\Z", re.IGNORECASE)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\x00"}


def dump(value: dict[str, Any]) -> str:
    """A configuration's text.

    >>> print(dump({"port": 4222, "cluster": {"routes": ["nats://a:6222"]}}), end="")
    port: 4222
    cluster {
      routes: ["nats://a:6222"]
    }
    """
    return "".join(f"{line}\n" for line in _settings(value, ""))


def _settings(value: dict[str, Any], indent: str) -> list[str]:
    lines: list[str] = []
    for key, one in value.items():
        name = indent + _key(str(key))
        if isinstance(one, dict) and one:
            lines += [f"{name} {{", *_settings(one, indent + "  "), f"{indent}}}"]
        elif isinstance(one, list) and any(isinstance(item, dict | list) for item in one):
            lines += [f"{name}: [", *_items(one, indent + "  "), f"{indent}]"]
        else:
            lines.append(f"{name}: {_value(one)}".rstrip(" "))
    return lines


def _items(items: list[Any], indent: str) -> list[str]:
    lines: list[str] = []
    for one in items:
        if isinstance(one, dict) and one:
            lines += [f"{indent}{{", *_settings(one, indent + "  "), f"{indent}}}"]
        else:
            lines.append(indent + _value(one))
    return lines


def _value(value: Any) -> str:
    if isinstance(value, Unset):
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(one, one) for one in value) + '"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.12f}".rstrip("0") + ("0" if value == int(value) else "")
    if isinstance(value, list):
        return "[" + ", ".join(f"{_value(one)}" for one in value) + "]"
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(str(key))}: {_value(one)}" for key, one in value.items())
        return "{" + inner + "}"
    # A number swallows a bracket that follows it.
    return f"{value} " if isinstance(value, int) else str(value)


def _key(name: str) -> str:
    if _PLAIN_KEY.match(name):
        return name
    return f"'{name}'" if '"' in name else f'"{name}"'
