"""Records to plain maps and lists, as a file writes them: only what differs from the default."""

from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any

from ropewalk.federation.facts import Federation, Takeover


def plain(value: Any) -> Any:
    """A record as a map of its fields that are not at their default.

    >>> from ropewalk.federation.facts import Link
    >>> plain(Link(between=("a", "b"), cost=3))
    {'between': ['a', 'b'], 'cost': 3}
    """
    if isinstance(value, str | int | float) or value is None:
        return value
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, Takeover) and value.publishers == value.subscribers:
        return list(value.publishers)
    if is_dataclass(value) and not isinstance(value, type):
        return {
            label: plain(inner)
            for name, label, default in _layout(type(value))
            if (inner := getattr(value, name)) != default
        }
    raise TypeError(f"no plain form for {type(value).__name__}")


@cache
def _layout(record: type) -> tuple[tuple[str, str, Any], ...]:
    """Name, label in the file and default of each field of a record."""
    return tuple((one.name, _label(one, record), _default(one)) for one in fields(record))


def _label(one: Field[Any], record: type) -> str:
    return "federation" if one.name == "name" and record is Federation else one.name.rstrip("_")


def _default(one: Field[Any]) -> Any:
    return one.default_factory() if one.default_factory is not MISSING else one.default
