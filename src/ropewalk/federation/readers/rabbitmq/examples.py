"""A name that a regular expression matches, to stand for all the names that it matches."""

import re
from collections.abc import Iterable
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_LONGEST = 255
"""RabbitMQ's names are no longer."""
_FILLERS = ("x", "0", "-", "_", ".", " ", "X")
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


def example(pattern: str) -> str | None:
    r"""The most telling name that is easily had: as short as it may be, `any` if all will do.

    >>> example(r"^fed\."), example(".*drone.*"), example(r"^fed-\d+$"), example("^(?!amq).*")
    ('fed.x', 'drone', 'fed-0', 'any')
    """
    text = _spelled(_parser.parse(pattern))
    ends = ("x", "") if text.endswith(".") else ("", "x", ".x")
    names = [*(["any"] if set(text) <= {"x", "0"} else []), *(text + end for end in ends)]
    return next((one for one in names if one and re.search(pattern, one)), None)


def _spelled(parts: Iterable[tuple[Any, Any]]) -> str:
    """The shortest text of a parsed pattern; what only looks around gives nothing."""
    return "".join(_part(str(kind), value) for kind, value in parts)[:_LONGEST]


def _part(kind: str, value: Any) -> str:
    if kind == "LITERAL":
        return chr(value)
    if kind == "NOT_LITERAL":
        return "x" if chr(value).lower() != "x" else "0"
    if kind == "ANY":
        return "x"
    if kind == "IN":
        return _of_class([(str(one), what) for one, what in value])
    if kind.endswith("_REPEAT"):
        return _spelled(value[2]) * min(int(value[0]), _LONGEST)
    if kind == "BRANCH":
        return _spelled(value[1][0])
    if kind == "SUBPATTERN":
        return _spelled(value[-1])
    return _spelled(value) if kind == "ATOMIC_GROUP" else ""


def _of_class(parts: list[tuple[str, Any]]) -> str:
    """One of the characters of a class."""
    wanted = parts[0][0] != "NEGATE"
    first = [chr(what if kind == "LITERAL" else what[0]) for kind, what in parts if kind in _PLAIN]
    return next((one for one in (*_FILLERS, *first) if _within(one, parts) == wanted), "")


_PLAIN = ("LITERAL", "RANGE")


def _within(one: str, parts: list[tuple[str, Any]]) -> bool:
    return any(
        (kind == "LITERAL" and ord(one) == what)
        or (kind == "RANGE" and what[0] <= ord(one) <= what[1])
        or (kind == "CATEGORY" and re.match(_CATEGORIES[str(what)], one))
        for kind, what in parts
    )
