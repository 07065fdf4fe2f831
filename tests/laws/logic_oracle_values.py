"""What expressions may be worth in a state or a step, and what a model demands of both.

Plain recursion over the tree: an expression has a set of possible values, which is empty where
nothing is said (a case in which no branch matches, a division by zero) and has many members only
where the model leaves a choice.
"""

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType

from ropewalk.verify.logic.model import Model, State
from ropewalk.verify.logic.syntax import (
    COMPARE,
    CTL,
    LOGIC,
    LTL,
    SUMS,
    Case,
    Const,
    Expr,
    Lookup,
    Name,
    OneOf,
    Op,
    Value,
    walk,
)

Values = frozenset[Value]
Defines = Mapping[str, Expr]
NONE: Defines = MappingProxyType({})
TESTS: Mapping[str, tuple[bool, bool, bool, bool]] = {
    # Results for (F, F), (F, T), (T, F), (T, T): tables, so that no operator leans on another.
    "&": (False, False, False, True),
    "|": (False, True, True, True),
    "xor": (False, True, True, False),
    "->": (True, True, False, True),
    "<->": (True, False, False, True),
}


def values(expr: Expr, now: State, then: State | None = None, defines: Defines = NONE) -> Values:
    """What an expression may be worth; `then` is the state after the step, where there is one."""
    if isinstance(expr, Const):
        return frozenset((expr.value,))
    if isinstance(expr, Name):
        return _named(expr, now, then, defines)
    if isinstance(expr, Case):
        return _case(expr.branches, now, then, defines)
    if isinstance(expr, OneOf):
        return _all(expr.values, now, then, defines)
    if not isinstance(expr, Op):  # tables need domains: `Rules.unfolded` has replaced them
        raise TypeError(f"not an expression: {expr}")
    if expr.op == "union":
        return _all(expr.args, now, then, defines)
    if expr.op == "?":
        test, yes, no = expr.args
        return _case(((test, yes), (Const(True), no)), now, then, defines)
    args = [values(one, now, then, defines) for one in expr.args]
    if expr.op == "in":
        return frozenset((args[0] <= args[1],)) if all(args) else frozenset()
    found: set[Value] = set()
    for combination in product(*args):
        found |= _applied(expr.op, combination)
    return frozenset(found)


def _all(parts: tuple[Expr, ...], now: State, then: State | None, defines: Defines) -> Values:
    found: set[Value] = set()
    for one in parts:
        found |= values(one, now, then, defines)
    return frozenset(found)


def _named(expr: Name, now: State, then: State | None, defines: Defines) -> Values:
    state = then if expr.next else now
    if state is None:
        raise ValueError(f"next({expr.name}) where there is no step")
    if expr.name in state:
        return frozenset((state[expr.name],))
    if expr.name in defines:
        return values(defines[expr.name], state, None, defines)
    return frozenset((expr.name,))  # a word of some domain


def _case(
    branches: tuple[tuple[Expr, Expr], ...], now: State, then: State | None, defines: Defines
) -> Values:
    found: set[Value] = set()
    for test, value in branches:
        outcomes = values(test, now, then, defines)
        if True in outcomes:
            found |= values(value, now, then, defines)
        if False not in outcomes:
            return frozenset(found)
    return frozenset(found)


def _applied(op: str, args: tuple[Value, ...]) -> set[Value]:
    if op == "!":
        return {not _truth(args[0])}
    if op in LOGIC:
        return {TESTS[op][2 * _truth(args[0]) + _truth(args[1])]}
    if op in ("=", "!="):
        if isinstance(args[0], bool) != isinstance(args[1], bool):
            raise TypeError(f"{args[0]!r} {op} {args[1]!r}")
        return {(args[0] == args[1]) == (op == "=")}
    numbers = [_number(one) for one in args]
    if op == "neg":
        return {-numbers[0]}
    a, b = numbers
    if op in COMPARE:
        return {{"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]}
    if op not in SUMS:
        raise ValueError(f"not an operator of expressions: {op}")
    if op in ("+", "-", "*"):
        return {{"+": a + b, "-": a - b, "*": a * b}[op]}
    if b == 0:
        return set()
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)  # as C has it: toward zero
    return {quotient if op == "/" else a - b * quotient}


def _truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"not a truth value: {value!r}")
    return value


def _number(value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"not a number: {value!r}")
    return value


def truth(expr: Expr, now: State, then: State | None = None, defines: Defines = NONE) -> bool:
    """Whether a condition holds; one without a value does not, one with two is nobody's."""
    found = values(expr, now, then, defines)
    if len(found) > 1:
        raise ValueError(f"true or false by choice: {expr}")
    return any(_truth(one) for one in found)


def timed(expr: Expr) -> bool:
    """Whether it has temporal operators."""
    return any(isinstance(one, Op) and one.op in LTL | CTL for one in walk(expr))


def steps_in(expr: Expr) -> bool:
    """Whether it mentions values after the step."""
    return any(isinstance(one, Name) and one.next for one in walk(expr))


class Rules:
    """A model's demands, with tables as cases, asked of one state or one step."""

    def __init__(self, model: Model) -> None:
        self.model, self.words = model, model.words()
        self.defines = {name: self.unfolded(one) for name, one in model.defines.items()}
        self.init = {name: self.unfolded(one) for name, one in model.init.items()}
        self.next = {name: self.unfolded(one) for name, one in model.next.items()}
        self.always = {name: self.unfolded(one) for name, one in model.always.items()}
        self.starts = [self.unfolded(one) for one in model.starts]
        self.invar = [self.unfolded(one) for one in model.invar]
        self.trans = [self.unfolded(one) for one in model.trans]
        self.fair = [self.unfolded(one) for one in model.fair]
        self.compassion = [(self.unfolded(p), self.unfolded(q)) for p, q in model.compassion]

    def unfolded(self, expr: Expr) -> Expr:
        """The same with a branch per entry of each table; and every name must be known."""
        if isinstance(expr, Name) and not (
            expr.name in self.model.domains
            or expr.name in self.model.defines
            or expr.name in self.words
        ):
            raise KeyError(expr.name)
        if isinstance(expr, Op):
            return Op(expr.op, tuple(self.unfolded(one) for one in expr.args))
        if isinstance(expr, Case):
            return Case(tuple((self.unfolded(a), self.unfolded(b)) for a, b in expr.branches))
        if isinstance(expr, OneOf):
            return OneOf(tuple(self.unfolded(one) for one in expr.values))
        if not isinstance(expr, Lookup):
            return expr
        branches: list[tuple[Expr, Expr]] = []
        domains = [self.model.domains[one.name] for one in expr.index]
        for places in product(*(range(len(domain)) for domain in domains)):
            test: Expr = Const(True)
            for name, domain, place in zip(expr.index, domains, places, strict=True):
                test = Op("&", (test, Op("=", (name, Const(domain[place])))))
            branches.append((test, Const(expr.domain[int(expr.table[places])])))
        return Case(tuple(branches))

    def true(self, expr: Expr, now: State, then: State | None = None) -> bool:
        """Whether a condition (unfolded) holds."""
        return truth(expr, now, then, self.defines)

    def worth(self, expr: Expr, now: State, then: State | None = None) -> Values:
        """What an expression (unfolded) may be worth."""
        return values(expr, now, then, self.defines)

    def is_state(self, state: State) -> bool:
        """Whether it has a value of each variable's domain, and all that holds always."""
        if set(state) != set(self.model.domains):
            return False
        for name, domain in self.model.domains.items():
            # 1 and TRUE are equal in Python, and not in a model.
            if not any(type(state[name]) is type(one) and state[name] == one for one in domain):
                return False
        return all(self.true(one, state) for one in self.invar) and all(
            state[name] in self.worth(one, state) for name, one in self.always.items()
        )

    def is_initial(self, state: State) -> bool:
        """Whether a path may start there."""
        return (
            self.is_state(state)
            and all(self.true(one, state) for one in self.starts)
            and all(state[name] in self.worth(one, state) for name, one in self.init.items())
        )

    def is_step(self, now: State, then: State) -> bool:
        """Whether one state may follow another."""
        return (
            self.is_state(now)
            and self.is_state(then)
            and all(now[name] == then[name] for name in self.model.frozen)
            and all(then[name] in self.worth(one, now, then) for name, one in self.next.items())
            and all(self.true(one, now, then) for one in self.trans)
        )
