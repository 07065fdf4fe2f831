"""An explicit-state checker of CTL with fairness and of LTL with past: slow, short and plain.

What the symbolic one is held against. It lists all states and steps of a model and works on sets of
them. Paths are infinite and fair: each `fair` condition holds on them again and again for ever, and
of each `compassion` pair, too, the second if the first does.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise, product
from random import Random

from ropewalk.verify.logic.model import Model, Spec, State
from ropewalk.verify.logic.syntax import Const, Expr, Op
from tests.laws.logic_oracle_ltl import fair_path, holds_on_lasso, plain
from tests.laws.logic_oracle_paths import fair_components, fair_loop, reaching, way
from tests.laws.logic_oracle_values import Rules, steps_in, timed

__all__ = ["Explicit", "Lasso", "holds_on_lasso", "is_lasso", "is_path"]

Lasso = tuple[list[State], list[State]]
TRUE = Const(True)


def is_path(model: Model, states: Sequence[State]) -> bool:
    """Whether states are a model's, the first is initial, and each follows from the one before."""
    rules = Rules(model)
    return (
        bool(states)
        and rules.is_initial(states[0])
        and all(rules.is_step(a, b) for a, b in pairwise(states))
    )


def is_lasso(model: Model, stem: Sequence[State], loop: Sequence[State]) -> bool:
    """Whether a stem and a loop are a path, the loop closes, and staying in it is fair."""
    rules = Rules(model)
    if not loop or not is_path(model, [*stem, *loop, loop[0]]):
        return False

    def passes(expr: Expr) -> bool:
        return any(rules.true(expr, one) for one in loop)

    return all(passes(one) for one in rules.fair) and all(
        passes(q) or not passes(p) for p, q in rules.compassion
    )


class Explicit:
    """All states of a model by number, and what holds in them."""

    def __init__(self, model: Model) -> None:
        self.model, self.rules = model, Rules(model)
        self.states: list[State] = []
        for chosen in product(*model.domains.values()):
            state = dict(zip(model.domains, chosen, strict=True))
            if self.rules.is_state(state):
                self.states.append(state)
        self.all = frozenset(range(len(self.states)))
        self.initial = [n for n in self.all if self.rules.is_initial(self.states[n])]
        self.late = {name: one for name, one in self.rules.next.items() if steps_in(one)}
        self.wanted = [one for one in self.rules.trans if steps_in(one)]
        self.graph = [self._steps(one) for one in self.states]
        self.known: dict[Expr, list[bool]] = {}
        self.justice = [self.where(one) for one in self.rules.fair]
        self.compassion = [(self.where(p), self.where(q)) for p, q in self.rules.compassion]
        self.fair = self.forever(self.all)

    def _steps(self, now: State) -> list[int]:
        """What may follow: as `Rules.is_step`, with what depends on one state only asked once."""
        rules, late, wanted = self.rules, self.late, self.wanted
        if not all(rules.true(one, now) for one in rules.trans if one not in wanted):
            return []
        may = {name: frozenset((now[name],)) for name in self.model.frozen}
        for name in rules.next.keys() - late.keys():
            may[name] = rules.worth(rules.next[name], now)
        return [
            n
            for n, then in enumerate(self.states)
            if all(then[name] in some for name, some in may.items())
            and all(then[name] in rules.worth(one, now, then) for name, one in late.items())
            and all(rules.true(one, now, then) for one in wanted)
        ]

    def number(self, state: State) -> int:
        """The place of a state among all."""
        return self.states.index(state)

    def true(self, expr: Expr, at: int) -> bool:
        """Whether a condition without temporal operators holds in a state."""
        if expr not in self.known:
            known = self.rules.unfolded(expr)
            self.known[expr] = [self.rules.true(known, one) for one in self.states]
        return self.known[expr][at]

    def where(self, expr: Expr) -> set[int]:
        """States in which a condition holds."""
        return {n for n in self.all if self.true(expr, n)}

    def forever(self, within: AbstractSet[int]) -> set[int]:
        """States from which a fair path stays within some."""
        stays = fair_components(within, self.graph, self.justice, self.compassion)
        return reaching({n for one in stays for n in one}, within, self.graph)

    def ctl(self, formula: Expr) -> set[int]:
        """States in which a CTL formula holds."""
        return self._ctl(plain(formula))

    def _ctl(self, formula: Expr) -> set[int]:
        if not timed(formula):
            return self.where(formula)
        assert isinstance(formula, Op)
        p, q = self._ctl(formula.args[0]), self._ctl(formula.args[-1])
        no, every = self._not, set(self.all)
        match formula.op:
            case "!":
                return no(p)
            case "&":
                return p & q
            case "|":
                return p | q
            case "->":
                return no(p) | q
            case "<->":
                return no(p ^ q)
            case "xor":
                return p ^ q
            case "EX":
                return self._before(p)
            case "AX":
                return no(self._before(no(p)))
            case "EF":
                return self._until(every, p)
            case "AF":
                return no(self.forever(no(p)))
            case "EG":
                return self.forever(p)
            case "AG":
                return no(self._until(every, no(p)))
            case "EU":
                return self._until(p, q)
            case "AU":
                # Not so where q stays away for ever, or p ends before there is a q.
                return no(self._until(no(q), no(p) & no(q)) | self.forever(no(q)))
        raise ValueError(f"not an operator of CTL: {formula.op}")

    def _not(self, some: AbstractSet[int]) -> set[int]:
        return set(self.all - some)

    def _before(self, some: AbstractSet[int]) -> set[int]:
        return {n for n in self.all if some & self.fair & set(self.graph[n])}

    def _until(self, through: AbstractSet[int], some: AbstractSet[int]) -> set[int]:
        return reaching(some & self.fair, through, self.graph)

    def holds_ctl(self, formula: Expr) -> bool:
        """Whether a CTL formula holds where fair paths start."""
        return set(self.initial) & self.fair <= self.ctl(formula)

    def violates_ctl(self, formula: Expr, state: State) -> bool:
        """Whether a state is one that fair paths start in, and the formula fails there."""
        at = self.number(state)
        return at in self.initial and at in self.fair and at not in self.ctl(formula)

    def witness(self, formula: Expr) -> Lasso | None:
        """A fair path from an initial state of which an LTL formula is true, if there is one."""
        found = fair_path(
            formula, self.initial, self.graph, self.true, self.justice, self.compassion
        )
        return found and ([self.states[n] for n in found[0]], [self.states[n] for n in found[1]])

    def violation(self, formula: Expr) -> Lasso | None:
        """A fair path from an initial state of which an LTL formula is false, if there is one."""
        return self.witness(~formula)

    def holds_ltl(self, formula: Expr) -> bool:
        """Whether an LTL formula is true of all fair paths from initial states."""
        return self.violation(formula) is None

    def after(self, starts: Iterable[int]) -> set[int]:
        """States on any path from some, fair or not, with an end or without."""
        found = set(starts)
        waiting = list(found)
        while waiting:
            new = set(self.graph[waiting.pop()]) - found
            found |= new
            waiting += new
        return found

    def holds(self, spec: Spec) -> bool:
        """The verdict on a property."""
        if spec.kind == "ctl":
            return self.holds_ctl(spec.formula)
        if spec.kind == "ltl":
            return self.holds_ltl(spec.formula)
        return self.after(self.initial) <= self.where(spec.formula)

    def random_lasso(self, rng: Random) -> Lasso | None:
        """Some fair path, if there is one: a walk, then a loop through all that fairness wants."""
        starts = sorted(set(self.initial) & self.fair)
        if not starts:
            return None
        path = [rng.choice(starts)]
        for _ in range(rng.randrange(6)):
            path.append(rng.choice([n for n in self.graph[path[-1]] if n in self.fair]))
        stays = fair_components(self.all, self.graph, self.justice, self.compassion)
        near = [one for one in stays if path[-1] in reaching(one, self.all, self.graph)]
        inside = rng.choice(near)
        entry = rng.choice(sorted(inside))
        path += way([path[-1]], [entry], self.all, self.graph)[1:]
        loop = fair_loop(path[-1], inside, self.graph, self.justice, self.compassion, rng)
        return [self.states[n] for n in path[:-1]], [self.states[n] for n in loop]
