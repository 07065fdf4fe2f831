"""CTL on fair paths: where a formula holds, and a path that shows where it does not.

As in NuSMV, a formula holds if it holds in every state a fair path can start from.
"""

from dataclasses import dataclass, field

from ropewalk.verify.logic.encoding import Node
from ropewalk.verify.logic.fixpoints import Paths
from ropewalk.verify.logic.lasso import Trace, joined, lasso, path_to
from ropewalk.verify.logic.model import State
from ropewalk.verify.logic.stepping import System
from ropewalk.verify.logic.syntax import CTL, TRUE, Expr, Op, children, temporal

DUAL = {"AX": "EX", "AF": "EG", "AG": "EF"}


def plain(expr: Expr) -> Expr:
    """A formula in terms of EX, EU, EG, `!` and `&`."""
    if not isinstance(expr, Op) or not temporal(expr):
        return expr
    args = tuple(plain(one) for one in expr.args)
    if expr.op == "AU":
        stays, ends = (~one for one in args)
        return ~Op("EU", (ends, stays & ends)) & ~Op("EG", (ends,))
    if expr.op == "EF":
        return Op("EU", (TRUE, *args))
    if expr.op in DUAL:
        return ~plain(Op(DUAL[expr.op], (~args[0],)))
    if expr.op == "|":
        return ~(~args[0] & ~args[1])
    if expr.op == "->":
        return ~(args[0] & ~args[1])
    if expr.op in ("<->", "xor"):
        same = ~(args[0] & ~args[1]) & ~(args[1] & ~args[0])
        return same if expr.op == "<->" else ~same
    return Op(expr.op, args, expr.column)


@dataclass(slots=True)
class Branching:
    """A system's states by CTL formulas."""

    system: System
    paths: Paths = field(init=False)
    _known: dict[Expr, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.paths = Paths(self.system)

    def where(self, formula: Expr) -> Node:
        """States in which a plain formula holds."""
        if formula not in self._known:
            self._known[formula] = self._where(formula)
        return self._known[formula]

    def _where(self, formula: Expr) -> Node:
        if not temporal(formula):
            return self.system.encoding.truth(formula) & self.paths.states
        args = [self.where(one) for one in children(formula)]
        op = formula.op if isinstance(formula, Op) else ""
        if op == "!":
            return self.paths.states & ~args[0]
        if op == "&":
            return args[0] & args[1]
        if op == "EX":
            return self.paths.step(args[0])
        if op == "EU":
            return self.paths.until(*args)
        return self.paths.always(args[0])

    def breaches(self, formula: Expr) -> Node:
        """Starts in which a formula does not hold."""
        return self.system.init & self.paths.fair() & ~self.where(plain(formula))

    def trace(self, formula: Expr) -> Trace | None:
        """A path that shows that a formula does not hold, or nothing if it does."""
        bad = self.breaches(formula)
        if bad == self.system.false:
            return None
        return self._shown(self.system.pick(bad), plain(~formula))

    def _shown(self, state: State, formula: Expr) -> Trace:
        """A path from a state in which a formula holds, as far as a single path can show it."""
        here = Trace([state], [])
        if not isinstance(formula, Op) or not temporal(formula):
            return here
        if formula.op in ("!", "&"):
            return self._shown_in_part(state, formula)
        at = self.system.encoding.node_of(state)
        args = [self.where(one) for one in formula.args]
        if formula.op == "EX":
            near = self.system.after(at) & args[0] & self.paths.fair()
            found = self.system.pick(near, state)
            rest = self._shown(found, formula.args[0])
            return Trace([state, *rest.stem], rest.loop)
        if formula.op == "EU":
            goal = args[1] & self.paths.fair()
            steps = path_to(self.system, state, goal, within=args[0])
            return joined(Trace(steps, []), self._shown(steps[-1], formula.args[1]))
        return lasso(self.paths, at, within=args[0])

    def _shown_in_part(self, state: State, formula: Op) -> Trace:
        """Of several things to show, the first that a path can show."""
        if formula.op == "&":
            parts = list(formula.args)
        elif isinstance(inner := formula.args[0], Op) and inner.op == "!":
            parts = [inner.args[0]]
        elif isinstance(inner, Op) and inner.op == "&":
            at = self.system.encoding.node_of(state)
            parts = [~one for one in inner.args if at & self.where(~one) != self.system.false]
            plainly = [one for one in parts if not temporal(one)]
            parts = plainly or parts[:1]  # what needs no path is shown by the state itself
        else:
            return Trace([state], [])  # true of all paths: no single one shows it
        traces = [self._shown(state, one) for one in parts if _shows(one)]
        return max(
            traces, key=lambda one: len(one.stem) + len(one.loop), default=Trace([state], [])
        )


def _shows(formula: Expr) -> bool:
    return isinstance(formula, Op) and (formula.op in CTL or formula.op in ("!", "&"))
