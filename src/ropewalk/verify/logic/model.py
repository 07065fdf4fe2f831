"""A transition system: variables with finite domains, where they start, how they step.

A step changes all variables at once. A variable without a `next` may take any value of its domain,
one without an `init` may start with any; `invar` holds in every state, `trans` in every step, and
of `fair` each holds again and again for ever on every path that counts (NuSMV's `JUSTICE`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ropewalk.verify.logic.syntax import Const, Expr, Lookup, Value, names_in, walk

State = dict[str, Value]
"""A value for each variable."""

SpecKind = Literal["ctl", "ltl", "invariant"]


@dataclass(frozen=True, slots=True)
class Spec:
    """A property: which logic, the formula, and how it was written."""

    kind: SpecKind
    formula: Expr
    text: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """A transition system, as NuSMV's MODULE main would have it."""

    domains: Mapping[str, tuple[Value, ...]]
    """Variables in the order in which they are to be encoded."""
    init: Mapping[str, Expr] = field(default_factory=dict)
    """`init(x) := e`; e may be a set, and may mention other variables."""
    next: Mapping[str, Expr] = field(default_factory=dict)
    """`next(x) := e`; e may be a set."""
    always: Mapping[str, Expr] = field(default_factory=dict)
    """`x := e`: in every state."""
    defines: Mapping[str, Expr] = field(default_factory=dict)
    """Names for expressions."""
    starts: tuple[Expr, ...] = ()
    """`INIT`."""
    invar: tuple[Expr, ...] = ()
    """`INVAR`."""
    trans: tuple[Expr, ...] = ()
    """`TRANS`: may mention next values."""
    fair: tuple[Expr, ...] = ()
    """`JUSTICE`."""
    compassion: tuple[tuple[Expr, Expr], ...] = ()
    """`COMPASSION(p, q)`: if p again and again for ever, then q, too."""
    frozen: frozenset[str] = frozenset()
    """Variables that never change: `FROZENVAR`."""
    helpers: frozenset[str] = frozenset()
    """Variables of `always` that only steps look at: no part of a state is worth keeping."""
    inputs: frozenset[str] = frozenset()
    """What comes from outside with each step (`IVAR`): CTL asks whether some input would do."""
    specs: tuple[Spec, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    """What a variable is, for people."""

    def words(self) -> frozenset[str]:
        """Words that are values of some domain."""
        return frozenset(
            value for domain in self.domains.values() for value in domain if isinstance(value, str)
        )


def constraints(model: Model) -> tuple[Expr, ...]:
    """What a model demands beyond what its variables are assigned."""
    pairs = tuple(p & q for p, q in model.compassion)
    return (*model.starts, *model.invar, *model.trans, *model.fair, *pairs)


def cone(model: Model, formula: Expr) -> frozenset[str]:
    """Variables that a formula depends on, through definitions, steps and constraints.

    What is left out is only ever assigned: it can always step on, so it hinders no path.
    """
    rules: dict[str, set[str]] = {}
    for part in (model.init, model.next, model.always, model.defines):
        for name, expr in part.items():
            rules.setdefault(name, set()).update(names_in(expr))
    waiting = [name for one in (formula, *constraints(model)) for name in names_in(one)]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(rules.get(name, ()))
    return frozenset(found & model.domains.keys())


def reduced(model: Model, formula: Expr) -> Model:
    """The model with only those variables that a formula depends on."""
    kept = cone(model, formula)
    if len(kept) == len(model.domains):
        return model

    def only(rules: Mapping[str, Expr]) -> dict[str, Expr]:
        return {name: expr for name, expr in rules.items() if name in kept}

    return replace(
        model,
        domains={name: model.domains[name] for name in model.domains if name in kept},
        init=only(model.init),
        next=only(model.next),
        always=only(model.always),
        frozen=model.frozen & kept,
    )


def constants_in(expr: Expr) -> frozenset[Value]:
    """Constants that an expression mentions; tables' are in their domains."""
    found: set[Value] = set()
    for one in walk(expr):
        if isinstance(one, Const):
            found.add(one.value)
        elif isinstance(one, Lookup):
            found.update(one.domain)
    return frozenset(found)
