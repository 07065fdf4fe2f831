"""Expressions over a model's variables, and formulas over expressions: one small tree for both.

Operators are NuSMV's, by the names that people write. A formula is an expression with temporal
operators in it; atoms that name a federation (`up(lon-gw)`) are replaced before anything is
checked, so the engine knows variables, constants and operators only.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Value = bool | int | str

FUTURE = ("X", "F", "G", "U", "R", "W")
PAST = ("Y", "Z", "O", "H", "S", "T")
LTL = frozenset((*FUTURE, *PAST))
CTL = frozenset(("EX", "AX", "EF", "AF", "EG", "AG", "EU", "AU"))
LOGIC = frozenset(("!", "&", "|", "xor", "->", "<->"))
COMPARE = frozenset(("=", "!=", "<", "<=", ">", ">="))
SUMS = frozenset(("+", "-", "*", "/", "mod"))


class Expr:
    """Any expression or formula."""

    __slots__ = ()

    def __invert__(self) -> "Expr":
        return Op("!", (self,))

    def __and__(self, other: "Expr") -> "Expr":
        return Op("&", (self, other))

    def __or__(self, other: "Expr") -> "Expr":
        return Op("|", (self, other))


@dataclass(frozen=True, eq=False, slots=True)
class Const(Expr):
    """A truth value, a whole number or a word of a variable's domain."""

    value: Value

    def __eq__(self, other: object) -> bool:
        """TRUE and 1 are two things, which Python takes for one."""
        return isinstance(other, Const) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[type, Value]:
        return type(self.value), self.value


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A variable or a definition, now; `next` is its value after the step."""

    name: str
    next: bool = False
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Op(Expr):
    """An operator of `LOGIC`, `COMPARE`, `SUMS`, `LTL` or `CTL`, or `in`, `union`, `neg`, `?`."""

    op: str
    args: tuple[Expr, ...]
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Case(Expr):
    """The value of the first branch whose condition holds."""

    branches: tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True, slots=True)
class OneOf(Expr):
    """Any of these values: what a variable may become."""

    values: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Lookup(Expr):
    """A table: the values at the places of its index variables in their domains.

    What a `Case` with a branch per entry says, in an array: tables of brokers have 100,000s of
    entries.
    """

    index: tuple[Name, ...]
    table: npt.NDArray[np.int64]
    """Places in `domain`, one axis per index variable."""
    domain: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Atom(Expr):
    """A statement about a federation, such as `attached(feed-1)`, with where it was written."""

    name: str
    args: tuple[str, ...]
    column: int = field(default=0, compare=False)


TRUE, FALSE = Const(True), Const(False)


def equals(name: str, value: Value) -> Expr:
    """That a variable has a value."""
    return Op("=", (Name(name), Const(value)))


def conj(parts: "list[Expr] | tuple[Expr, ...]") -> Expr:
    """All of them.

    >>> conj([]), conj([Name("a")])
    (Const(value=True), Name(name='a', next=False, column=0))
    """
    return _fold("&", TRUE, parts)


def disj(parts: "list[Expr] | tuple[Expr, ...]") -> Expr:
    """One of them at least."""
    return _fold("|", FALSE, parts)


def _fold(op: str, empty: Expr, parts: "list[Expr] | tuple[Expr, ...]") -> Expr:
    """Halves of halves: a thousand parts are ten levels deep, not a thousand."""
    if len(parts) < 2:
        return parts[0] if parts else empty
    half = len(parts) // 2
    return Op(op, (_fold(op, empty, parts[:half]), _fold(op, empty, parts[half:])))


def children(expr: Expr) -> tuple[Expr, ...]:
    """What an expression is made of."""
    if isinstance(expr, Op):
        return expr.args
    if isinstance(expr, Case):
        return tuple(one for branch in expr.branches for one in branch)
    if isinstance(expr, OneOf):
        return expr.values
    if isinstance(expr, Lookup):
        return expr.index
    return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """An expression and everything in it, the outermost first."""
    waiting = [expr]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(children(one)))


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The same expression with its parts changed."""
    if isinstance(expr, Op):
        return Op(expr.op, tuple(change(one) for one in expr.args), expr.column)
    if isinstance(expr, Case):
        return Case(tuple((change(test), change(value)) for test, value in expr.branches))
    if isinstance(expr, OneOf):
        return OneOf(tuple(change(one) for one in expr.values))
    return expr


def temporal(expr: Expr) -> frozenset[str]:
    """The temporal operators in an expression.

    >>> sorted(temporal(Op("G", (Op("Y", (Name("a"),)),))))
    ['G', 'Y']
    """
    found: set[str] = set()
    for one in walk(expr):
        if isinstance(one, Op) and one.op in LTL | CTL:
            found.add(one.op)
    return frozenset(found)


def names_in(expr: Expr) -> frozenset[str]:
    """The names that an expression mentions."""
    return frozenset(one.name for one in walk(expr) if isinstance(one, Name))


def shown(value: Any) -> str:
    """A value as it is written.

    >>> shown(True), shown(3), shown("b1")
    ('TRUE', '3', 'b1')
    """
    return str(value).upper() if isinstance(value, bool) else str(value)
