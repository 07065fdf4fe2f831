"""A verdict on a property of a model, with a counterexample, within a budget."""

from dataclasses import dataclass, replace

from ropewalk.verify.logic.branching import Branching
from ropewalk.verify.logic.fixpoints import Paths
from ropewalk.verify.logic.fragment import AHEAD, Breach, breach_of
from ropewalk.verify.logic.lasso import Trace, lasso, walk_to
from ropewalk.verify.logic.model import Model, Spec, State
from ropewalk.verify.logic.stepping import Budget, OverBudget, System
from ropewalk.verify.logic.syntax import CTL, LTL, Expr, Op, names_in, temporal
from ropewalk.verify.logic.tableau import OWN, with_memory, with_negation


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a property holds (None: not decided), why not, and what it took."""

    holds: bool | None
    trace: Trace | None = None
    reason: str = ""
    """Why it was not decided."""
    nodes: int = 0
    bits: int = 0


Shared = dict[bool, Branching]
"""What was found out for CTL on one model, with and without its inputs in the states."""


def check(
    model: Model, spec: Spec, budget: Budget | None = None, shared: Shared | None = None
) -> Outcome:
    """Decide a property; with `shared`, for several of CTL on the same model.

    >>> from ropewalk.verify.logic.parsing import parse
    >>> from ropewalk.verify.logic.syntax import Const, Name
    >>> flip = Model({"up": (False, True)}, init={"up": Const(True)}, next={"up": ~Name("up")})
    >>> check(flip, Spec("ltl", parse("G F up"))).holds
    True
    >>> check(flip, Spec("ctl", parse("AG up"))).trace.stem
    [{'up': True}, {'up': False}]
    """
    budget = budget or Budget()
    try:
        if spec.kind == "ctl":
            return _branching(model, spec, budget, {} if shared is None else shared)
        return (_linear if spec.kind == "ltl" else _invariant)(model, spec, budget)
    except OverBudget as over:
        return Outcome(None, reason=str(over))
    except RecursionError:
        return Outcome(None, reason="the formula is too deep")
    except (MemoryError, RuntimeError) as error:
        return Outcome(None, reason=f"out of memory: {error}".removesuffix(": "))
    except ValueError as error:  # what dd says when CUDD has no room for a node
        if "NULL" not in str(error):
            raise
        return Outcome(None, reason="out of memory")


def _branching(model: Model, spec: Spec, budget: Budget, shared: Shared) -> Outcome:
    aside = bool(model.inputs) and not model.inputs & _of_states(model, spec)
    if aside not in shared:
        helpers = model.helpers | model.inputs if aside else model.helpers
        shared[aside] = Branching(System(replace(model, helpers=helpers), budget))
    known = shared[aside]
    return _told(known.system, known.trace(spec.formula))


def _of_states(model: Model, spec: Spec) -> frozenset[str]:
    """Names that states are asked after, or kept to; inputs among them are taken as states' own."""
    asked = [spec.formula, *model.starts, *model.invar, *model.fair, *model.init.values()]
    asked += [*model.always.values(), *(one for pair in model.compassion for one in pair)]
    found = frozenset[str]().union(*map(names_in, asked))
    while (
        more := frozenset[str]().union(
            *(names_in(model.defines[name]) for name in found if name in model.defines)
        )
        - found
    ):
        found |= more
    return found


def _invariant(model: Model, spec: Spec, budget: Budget) -> Outcome:
    """In every state that is ever reached, on a fair path or not, as NuSMV's INVARSPEC."""
    system = System(model, budget)
    bad = system.held & ~system.encoding.truth(spec.formula)
    if system.init & bad != system.false:
        return _told(system, Trace([system.pick(system.init & bad)], []))
    path = walk_to(system, system.init, bad, within=system.held)
    return _told(system, None if path is None else Trace(path, []))


def _linear(model: Model, spec: Spec, budget: Budget) -> Outcome:
    formula = spec.formula
    if isinstance(formula, Op) and formula.op == "G" and not temporal(formula.args[0]) & AHEAD:
        return _never(model, formula.args[0], budget)
    breach = breach_of(formula)
    if breach is not None:
        return _settling(model, breach, budget)
    system = System(with_negation(model, formula), budget)
    paths = Paths(system)
    bad = system.init & paths.fair()
    if bad == system.false:
        return _told(system, None)
    return _told(system, _own(lasso(paths, bad, within=system.true)))


def _never(model: Model, kept: Expr, budget: Budget) -> Outcome:
    """G of something about now and the past: the shortest way to where it does not hold."""
    model, now = with_memory(model, [kept])
    system = System(model, budget)
    paths = Paths(system)
    bad = paths.fair() & ~system.encoding.truth(now[0])
    if system.init & bad != system.false:
        path: list[State] | None = [system.pick(system.init & bad)]
    else:
        path = walk_to(system, system.init & paths.fair(), bad, within=paths.fair())
    if path is None:
        return _told(system, None)
    rest = lasso(paths, system.encoding.node_of(path[-1]), within=system.true)
    whole = Trace([*path[:-1], *rest.stem], rest.loop, len(path) - 1)
    return _told(system, _own(whole))


def _settling(model: Model, breach: Breach, budget: Budget) -> Outcome:
    """A path that starts and stays as it must, and settles in a fair cycle."""
    kinds = (breach.first, breach.stays, breach.settles, breach.returns)
    model, exprs = with_memory(model, [one for kind in kinds for one in kind])
    parts = [[exprs.pop(0) for _ in kind] for kind in kinds]
    system = System(replace(model, fair=(*parts[3], *model.fair)), budget)
    paths = Paths(system)
    first, stays, settles = (
        system.encoding.all([system.encoding.truth(one) for one in part]) for part in parts[:3]
    )
    stays &= paths.states
    ends = paths.always(stays & settles)
    starts = system.init & first & stays
    if starts & ends != system.false:
        path: list[State] | None = [system.pick(starts & ends)]
    else:
        path = walk_to(system, starts, ends, within=stays)
    if path is None:
        return _told(system, None)
    rest = lasso(paths, system.encoding.node_of(path[-1]), within=stays & settles)
    return _told(system, _own(Trace([*path[:-1], *rest.stem], rest.loop)))


def _own(trace: Trace) -> Trace:
    """A path without the formula's own variables."""
    stem, loop = (
        [{name: v for name, v in state.items() if not name.startswith(OWN)} for state in part]
        for part in (trace.stem, trace.loop)
    )
    return Trace(stem, loop, trace.breach)


def _told(system: System, trace: Trace | None) -> Outcome:
    bits = len(system.encoding.bdd.vars)
    return Outcome(trace is None, trace, nodes=len(system.encoding.bdd), bits=bits)


def logic_of(formula: Expr) -> str:
    """Which logic a formula is of: ctl or ltl (also without any operator), or mixed."""
    found = temporal(formula)
    if found & CTL:
        return "mixed" if found & LTL else "ctl"
    return "ltl"
