"""A transition system: variables with finite domains, where they start, how they step.

A step changes all variables at once. A variable without a `next` may take any value of its domain,
one without an `init` may start with any; `invar` holds in every state, `trans` in every step, and
of `fair` each holds again and again for ever on every path that counts (NuSMV's `JUSTICE`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ropewalk.verify.logic.syntax import Expr, Value

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
