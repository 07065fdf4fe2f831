"""Guards: conditions on a message's fields, and which of them can hold at once.

A field's values fall into finitely many classes as far as comparisons can tell: each constant, the
gaps between numbers, and anything else. One value of each class decides everything.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isfinite
from operator import eq, ge, gt, le, lt, ne
from typing import Any

MOST_CASES = 4_096
"""Combinations of classes that are tried for one message."""
ELSE = "else"
"""How a letter is named of whose guards none holds."""

Value = str | int | float | Fraction | bool | None
Compare = Callable[[Any, Any], bool]

_SIGNS: Mapping[str, Compare] = {
    "<=": le, ">=": ge, "!=": ne, "==": eq, "=": eq, "<": lt, ">": gt
}  # fmt: skip
_SHAPE = re.compile(r"([A-Za-z_][\w.-]*)\s*(<=|>=|!=|==|=|<|>)\s*(\S.*)")


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """One comparison of a field with a constant; to Python 1 is true, here it is not.

    >>> condition("x = 1") == condition("x = true"), condition("x = 1") == condition("x = 1.0")
    (False, True)
    """

    field: str
    sign: str
    constant: Value

    def __str__(self) -> str:
        # A text that would be read as something else is told in quotes.
        plain = isinstance(self.constant, str) and _constant(self.constant) == self.constant
        return f"{self.field} {self.sign} {self.constant if plain else json.dumps(self.constant)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, str, str, Value]:
        return self.field, self.sign, _kind(self.constant), self.constant

    def holds(self, value: Value) -> bool:
        """Whether a value meets it; values of another kind are neither equal nor in order."""
        if _kind(value) != _kind(self.constant):
            return self.sign == "!="
        return _SIGNS[self.sign](value, self.constant)


@dataclass(frozen=True, slots=True)
class Guard:
    """Conditions that must hold together."""

    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.conditions))

    def holds(self, fields: Any) -> bool:
        """Whether a message's fields meet all of it."""
        return all(one.holds(at(fields, one.field)) for one in self.conditions)


def condition(text: str) -> Condition | None:
    """A comparison as it is written, or None if it is none.

    >>> print(condition("order.amount >= 100"), "/", condition('kind == "a b"'))
    order.amount >= 100 / kind = a b
    """
    found = _SHAPE.fullmatch(text.strip())
    if found is None:
        return None
    field, sign, constant = found.groups()
    value = _constant(constant)
    ordered = sign in ("<", "<=", ">", ">=")
    if ordered and _kind(value) != "number":
        return None
    return Condition(field, "=" if sign == "==" else sign, value)


def at(fields: Any, path: str) -> Value:
    """The value of a field; of one inside another by its path; None if there is none."""
    for step in path.split("."):
        if not isinstance(fields, Mapping):
            return None
        fields = fields.get(step)
    return fields if isinstance(fields, str | int | float | Fraction | bool) else None


def cases(guards: Sequence[Guard]) -> Iterator[tuple[tuple[int, ...], dict[str, Value]]]:
    """Every set of guards that can hold at once, with fields for which it does.

    >>> small, large = (Guard((condition(text),)) for text in ("n < 5", "n >= 3"))
    >>> [holding for holding, _ in cases([small, large])]
    [(0,), (0, 1), (1,), ()]
    """
    constants: dict[str, list[Value]] = {}
    for guard in guards:
        for one in guard.conditions:
            constants.setdefault(one.field, []).append(one.constant)
    classes = [list(_classes(some)) for some in constants.values()]
    seen = set()
    for values in product(*classes):
        fields = dict(zip(constants, values, strict=True))
        holding = tuple(i for i, guard in enumerate(guards) if _met(guard, fields))
        if holding not in seen:
            seen.add(holding)
            yield holding, fields


def many_cases(guards: Sequence[Guard]) -> bool:
    """Whether there are too many combinations of classes to try them all."""
    constants: dict[str, set[tuple[str, Value]]] = {}
    for guard in guards:
        for one in guard.conditions:
            constants.setdefault(one.field, set()).add((_kind(one.constant), one.constant))
    total = 1
    for some in constants.values():
        total *= 2 * len(some) + 2
    return total > MOST_CASES


def _met(guard: Guard, fields: Mapping[str, Value]) -> bool:
    return all(one.holds(fields[one.field]) for one in guard.conditions)


def _classes(constants: Sequence[Value]) -> Iterator[Value]:
    """A value of each class that these constants can tell apart."""
    numbers = sorted({one for one in constants if _kind(one) == "number"})  # type: ignore[type-var]
    for i, number in enumerate(numbers):
        yield _below(numbers[i - 1] if i else None, number)
        yield number
    if numbers:
        yield Fraction(numbers[-1]) + 1  # type: ignore[arg-type]
    yield from dict.fromkeys(one for one in constants if _kind(one) != "number")
    yield None


def _below(low: Any, high: Any) -> Any:
    """A number below one, and above another if there is one: exactly, however large they are."""
    return Fraction(high) - 1 if low is None else (Fraction(low) + Fraction(high)) / 2


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "truth"
    return (
        "number"
        if isinstance(value, int | float | Fraction)
        else "text"
        if value is not None
        else "none"
    )


def _constant(text: str) -> Value:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or nested without end
        return text.strip("'\"")
    plain = isinstance(value, str | int | float | bool)
    return value if plain and not (isinstance(value, float) and not isfinite(value)) else text
