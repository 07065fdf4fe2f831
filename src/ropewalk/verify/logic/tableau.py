"""LTL, past included, as a model: variables that promise what follows and remember what was.

Clarke, Grumberg and Hamaguchi 1997: each `X f` is a variable that says whether f holds after the
step, each `Y f` one that says whether it held before; `f U g` and `f S g` unroll into those, and a
fairness constraint sees to it that every `U` is redeemed. A formula fails where a fair path of the
model with these variables starts with its negation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ropewalk.verify.logic.model import Model
from ropewalk.verify.logic.syntax import (
    LTL,
    TRUE,
    Expr,
    Name,
    Op,
    rebuilt,
    temporal,
)

BOOLEAN = (False, True)
OWN = "ltl."
"""Begins the names of these variables."""


def core(formula: Expr) -> Expr:
    """A formula in terms of X, U, Y and S.

    >>> from ropewalk.verify.logic.parsing import parse
    >>> core(parse("G p")).op, core(parse("p T q")).args[0].op
    ('!', 'S')
    """
    if not temporal(formula):
        return formula
    formula = rebuilt(formula, core)
    if not isinstance(formula, Op) or formula.op not in LTL:
        return formula
    return _RULES[formula.op](*formula.args) if formula.op in _RULES else formula


_RULES: dict[str, Callable[..., Expr]] = {
    "F": lambda p: Op("U", (TRUE, p)),
    "G": lambda p: ~Op("U", (TRUE, ~p)),
    "R": lambda p, q: ~Op("U", (~p, ~q)),
    "W": lambda p, q: ~Op("U", (~q, ~p & ~q)),
    "Z": lambda p: ~Op("Y", (~p,)),
    "O": lambda p: Op("S", (TRUE, p)),
    "H": lambda p: ~Op("S", (TRUE, ~p)),
    "T": lambda p, q: ~Op("S", (~p, ~q)),
}


@dataclass(slots=True)
class _Tableau:
    """The variables and constraints of a formula's parts."""

    domains: dict[str, tuple[bool, bool]] = field(default_factory=dict)
    defines: dict[str, Expr] = field(default_factory=dict)
    starts: list[Expr] = field(default_factory=list)
    trans: list[Expr] = field(default_factory=list)
    fair: list[Expr] = field(default_factory=list)
    known: dict[Expr, Expr] = field(default_factory=dict)

    def holds(self, formula: Expr) -> Expr:
        """A state expression for a core formula."""
        if not temporal(formula):
            return formula
        if formula not in self.known:
            self.known[formula] = self._holds(formula)
        return self.known[formula]

    def _holds(self, formula: Expr) -> Expr:
        if not isinstance(formula, Op) or formula.op not in ("X", "U", "Y", "S"):
            return rebuilt(formula, self.holds)
        number = len(self.domains)
        promise, whole = Name(f"{OWN}{formula.op}{number}"), Name(f"{OWN}{formula.op}{number}.is")
        self.domains[promise.name] = BOOLEAN
        args = [self.holds(one) for one in formula.args]
        if formula.op in ("X", "Y"):
            self.defines[whole.name] = args[0]
            found: Expr = promise
        else:
            found = self.defines[whole.name] = args[1] | (args[0] & promise)
        if formula.op in ("X", "U"):
            self.trans.append(Op("<->", (promise, Name(whole.name, next=True))))
        else:
            self.starts.append(~promise)
            self.trans.append(Op("<->", (Name(promise.name, next=True), whole)))
        if formula.op == "U":
            self.fair.append(~whole | args[1])
        return whole if formula.op in ("U", "S") else found


def with_negation(model: Model, formula: Expr) -> Model:
    """The model together with what makes a formula false: its fair paths are counterexamples."""
    tableau = _Tableau()
    start = tableau.holds(~core(formula))
    return _joined(model, tableau, start)


def with_memory(model: Model, formulas: Sequence[Expr]) -> tuple[Model, list[Expr]]:
    """The model with what formulas of the past have to remember, and they as a state's."""
    tableau = _Tableau()
    now = [tableau.holds(core(one)) for one in formulas]
    return _joined(model, tableau, TRUE), now


def _joined(model: Model, tableau: _Tableau, start: Expr) -> Model:
    return replace(
        model,
        domains={**model.domains, **tableau.domains},
        defines={**model.defines, **tableau.defines},
        starts=(*model.starts, *tableau.starts, start),
        trans=(*model.trans, *tableau.trans),
        fair=(*model.fair, *tableau.fair),
        specs=(),
    )
