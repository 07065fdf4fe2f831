"""Work on trees from the leaves up, without recursion and once for each part.

Formulas may be deeper than Python calls, and the same part may stand in many places: `F [0,1000] p`
is 1,000 steps deep and has `p` in each.
"""

from collections.abc import Callable
from typing import TypeVar

from ropewalk.verify.logic.syntax import Expr, Op, children, rebuilt

LONG_CHAIN = 64
T = TypeVar("T")


def fold(expr: Expr, combine: Callable[[Expr, list[T]], T]) -> T:
    """What `combine` makes of an expression, given what it made of its children.

    >>> from ropewalk.verify.logic.parsing import parse
    >>> fold(parse("a & b & c"), lambda _, parts: 1 + sum(parts))
    5
    """
    found: dict[int, T] = {}
    waiting: list[tuple[Expr, bool]] = [(expr, False)]
    while waiting:
        one, ready = waiting.pop()
        if id(one) in found:
            continue
        parts = children(one)
        if ready or not parts:
            found[id(one)] = combine(one, [found[id(part)] for part in parts])
        else:
            waiting.append((one, True))
            waiting.extend((part, False) for part in reversed(parts) if id(part) not in found)
    return found[id(expr)]


def changed(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with each part changed, after its own parts were."""

    def combine(one: Expr, parts: list[Expr]) -> Expr:
        given = iter(parts)
        return change(rebuilt(one, lambda _: next(given)) if parts else one)

    return fold(expr, combine)


def size(expr: Expr) -> int:
    """How many parts an expression has, written out."""
    return fold(expr, lambda _, parts: 1 + sum(parts))


def depth(expr: Expr) -> int:
    """How many operators are within each other."""
    return fold(expr, lambda _, parts: 1 + max(parts, default=0))


def joined(sign: str, parts: list[Expr], places: list[int]) -> Expr:
    """Many parts of one sign, each at its place in the text; of a long chain, a flat tree."""
    if len(parts) > LONG_CHAIN:
        k = len(parts) // 2
        halves = joined(sign, parts[:k], places[:k]), joined(sign, parts[k:], places[k:])
        return Op(sign, halves, places[k])
    found = parts[0]
    for one, at in zip(parts[1:], places[1:], strict=True):
        found = Op(sign, (found, one), at)
    return found
