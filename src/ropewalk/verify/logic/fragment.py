"""The formulas that most properties are, decided without promises about the future.

What breaks `F G a -> F b` is a path on which b never holds and, from some time on, a always does:
conditions on where a path starts, on what always holds, on what holds from some time on, and on
what holds again and again. Those need a cycle in a smaller set of states, and no tableau.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ropewalk.verify.logic.syntax import FUTURE, Expr, Op, temporal

AHEAD = frozenset(FUTURE)
TURNED = {"F": "G", "G": "F"}


@dataclass(slots=True)
class Breach:
    """What a path has to do to break a formula; each is about now and the past only."""

    first: list[Expr] = field(default_factory=list)
    """Holds at the start."""
    stays: list[Expr] = field(default_factory=list)
    """Holds always."""
    settles: list[Expr] = field(default_factory=list)
    """Holds from some time on."""
    returns: list[Expr] = field(default_factory=list)
    """Holds again and again."""


def breach_of(formula: Expr) -> Breach | None:
    """How a formula is broken, if it is one of these.

    >>> from ropewalk.verify.logic.parsing import parse
    >>> found = breach_of(parse("F G a -> F b"))
    >>> [one.name for one in found.settles], len(found.stays), breach_of(parse("a U b"))
    (['a'], 1, None)
    """
    found = Breach()
    for part, positive in _conjuncts(formula, False):
        op, inner = _seen(part, positive)
        if op == "":
            found.first.append(inner)
            continue
        deeper, core = _seen(*_under(part, positive))
        if op == "G" and deeper == "":
            found.stays.append(core)
        elif {op, deeper} == {"G", "F"} and _plain(_under(*_under(part, positive))):
            last = _signed(*_under(*_under(part, positive)))
            (found.returns if op == "G" else found.settles).append(last)
        else:
            return None
    return found


def _conjuncts(expr: Expr, positive: bool) -> Iterator[tuple[Expr, bool]]:
    """What has to hold together for an expression to be true, or false."""
    if isinstance(expr, Op) and temporal(expr) & AHEAD:
        if expr.op == "!":
            yield from _conjuncts(expr.args[0], not positive)
            return
        if expr.op == ("&" if positive else "|"):
            for one in expr.args:
                yield from _conjuncts(one, positive)
            return
        if expr.op == "->" and not positive:
            yield from _conjuncts(expr.args[0], True)
            yield from _conjuncts(expr.args[1], False)
            return
    yield expr, positive


def _seen(expr: Expr, positive: bool) -> tuple[str, Expr]:
    """The operator that a signed expression begins with: F, G, none, or one that does not fit."""
    if not temporal(expr) & AHEAD:
        return "", _signed(expr, positive)
    expr, positive = _bare(expr, positive)
    op = expr.op if isinstance(expr, Op) else "?"
    return (op if positive else TURNED.get(op, "?")) if op in TURNED else "?", expr


def _under(expr: Expr, positive: bool) -> tuple[Expr, bool]:
    """What stands below the first operator."""
    expr, positive = _bare(expr, positive)
    return (expr.args[0], positive) if isinstance(expr, Op) and expr.args else (expr, positive)


def _bare(expr: Expr, positive: bool) -> tuple[Expr, bool]:
    while isinstance(expr, Op) and expr.op == "!":
        expr, positive = expr.args[0], not positive
    return expr, positive


def _plain(signed: tuple[Expr, bool]) -> bool:
    return not temporal(signed[0]) & AHEAD


def _signed(expr: Expr, positive: bool) -> Expr:
    return expr if positive else ~expr
