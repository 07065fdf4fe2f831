"""Random models, and what expressions come to: by enumerating, with nothing of the product's own."""

import operator
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from random import Random
from typing import Any

import numpy as np

from ropewalk.verify.logic.model import Model, Spec, SpecKind
from ropewalk.verify.logic.syntax import Case, Const, Expr, Lookup, Name, OneOf, Op, Value

State = Mapping[str, Value]
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    "xor": operator.ne,
    "->": lambda a, b: not a or b,
    "<->": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "mod": operator.mod,
}


def states(model: Model) -> list[State]:
    return [
        dict(zip(model.domains, values, strict=True)) for values in product(*model.domains.values())
    ]


def values(expr: Expr, model: Model, now: State, then: State) -> set[Value]:
    """All that an expression may come to in a step."""

    def of(one: Expr) -> set[Value]:
        return values(one, model, now, then)

    match expr:
        case Const(value):
            return {value}
        case Name(name, after):
            if name in model.defines:
                later = then if after else now
                return values(model.defines[name], model, later, later)
            return {(then if after else now)[name]}
        case OneOf(given):
            return set().union(*map(of, given))
        case Case(branches):
            return next((of(value) for test, value in branches if of(test) == {True}), set())
        case Lookup(index, table, domain):
            (place,) = product(*(of(name) for name in index))
            spots = [model.domains[n.name].index(v) for n, v in zip(index, place, strict=True)]
            return {domain[int(table[tuple(spots)])]}
        case Op("in", (left, right)):
            (one,) = of(left)
            return {one in of(right)}
        case Op("union", (left, right)):
            return of(left) | of(right)
        case Op("!", (one,)):
            return {not value for value in of(one)}
        case Op("neg", (one,)):
            return {-int(value) for value in of(one)}
        case Op(op, (left, right)):
            return {TWO[op](a, b) for a, b in product(of(left), of(right))}
    raise AssertionError(expr)


NAMES = ["x", "y-1", "next", "b1.state", "2nd", "lon gw", "in", "x_", "U", "word", "a/b", "up"]
WORDS = ["up", "down", "X", "lon-gw", "lon_gw", "case", "3rd", "x", "at sea"]


class Maker:
    """Makes expressions over a model's variables."""

    def __init__(self, random: Random, domains: dict[str, tuple[Value, ...]]) -> None:
        self.random, self.domains = random, domains
        self.flags = [n for n, d in domains.items() if isinstance(d[0], bool)]
        self.numbers = [n for n, d in domains.items() if type(d[0]) is int]

    def truth(self, depth: int, *, later: bool = False) -> Expr:
        if depth == 0 or self.random.random() < 0.2:
            return self._test(later)
        sub = partial(self.truth, depth - 1, later=later)
        match self.random.randrange(8):
            case 0:
                return Op("!", (sub(),))
            case 1:
                return Case(((sub(), sub()), (Const(True), sub())))
            case 2 if self.numbers:
                op = self.random.choice(["<", "<=", ">", ">=", "=", "!="])
                return Op(op, (self.number(depth - 1, later), self.number(depth - 1, later)))
            case _:
                return Op(self.random.choice(["&", "|", "xor", "->", "<->"]), (sub(), sub()))

    def _test(self, later: bool) -> Expr:
        name = self.random.choice(list(self.domains))
        after = later and self.random.random() < 0.5
        if name in self.flags and self.random.random() < 0.5:
            return Name(name, after)
        domain = self.domains[name]
        if self.random.random() < 0.3:
            chosen = self.random.sample(domain, self.random.randint(1, len(domain)))
            return Op("in", (Name(name, after), OneOf(tuple(map(Const, chosen)))))
        return Op(
            self.random.choice(["=", "!="]), (Name(name, after), Const(self.random.choice(domain)))
        )

    def number(self, depth: int, later: bool = False) -> Expr:
        if depth <= 0 or self.random.random() < 0.3:
            if self.random.random() < 0.5:
                return Const(self.random.randint(-2, 4))
            return Name(self.random.choice(self.numbers), later and self.random.random() < 0.5)
        match self.random.randrange(6):
            case 0:
                return Op("neg", (Name(self.random.choice(self.numbers)),))
            case 1:
                return Op("mod", (self.number(depth - 1, later), Const(self.random.randint(1, 3))))
            case _:
                op = self.random.choice(["+", "-", "*"])
                return Op(op, (self.number(depth - 1, later), self.number(depth - 1, later)))

    def value(self, name: str, depth: int) -> Expr:
        """Something that a variable can be assigned."""
        domain = self.domains[name]
        match self.random.randrange(6):
            case 0 | 1:
                return Const(self.random.choice(domain))
            case 2:
                chosen = self.random.sample(domain, self.random.randint(1, len(domain)))
                return OneOf(tuple(map(Const, chosen)))
            case 3 if depth:
                rest = (Const(True), self.value(name, depth - 1))
                return Case(((self.truth(2), self.value(name, depth - 1)), rest))
            case 4:
                return Name(name)
            case _:
                table = self.table(domain)
                if self.random.random() < 0.5:
                    return Case(((self.truth(1), self.value(name, 0)), (Const(True), table)))
                return table

    def table(self, domain: tuple[Value, ...]) -> Lookup:
        count = self.random.randint(1, min(3, len(self.domains)))
        index = self.random.sample(list(self.domains), count)
        shape = [len(self.domains[one]) for one in index]
        seeded = np.random.default_rng(self.random.randrange(2**32))
        places = seeded.integers(0, len(domain), shape, np.int64)
        return Lookup(tuple(map(Name, index)), places, domain)

    def formula(self, kind: str, depth: int) -> Expr:
        if depth == 0:
            return self._test(later=False)
        sub = partial(self.formula, kind, depth - 1)
        ones = {"ltl": "XFGYZOH", "ctl": ("EX", "AX", "EF", "AF", "EG", "AG"), "invariant": "!"}
        twos = {"ltl": "URWST", "ctl": ("AU", "EU"), "invariant": ("&", "->")}
        match self.random.randrange(4):
            case 0:
                return Op(self.random.choice(ones[kind]), (sub(),))
            case 1:
                return Op(self.random.choice(twos[kind]), (sub(), sub()))
            case 2:
                return Op("!", (sub(),))
            case _:
                return Op(self.random.choice(["&", "|", "xor", "->", "<->"]), (sub(), sub()))


def random_domain(random: Random) -> tuple[Value, ...]:
    match random.randrange(4):
        case 0:
            return (False, True)
        case 1:
            return tuple(range(random.randint(-1, 1), random.randint(2, 5)))
        case 2:
            return tuple(random.sample([1, 3, 5, 8], random.randint(2, 3)))
        case _:
            return tuple(random.sample(WORDS, random.randint(2, 3)))


def random_model(random: Random) -> Model:
    names = random.sample(NAMES, random.randint(2, 4))
    domains = {name: random_domain(random) for name in names}
    make = Maker(random, domains)
    rules: dict[str, dict[str, Expr]] = {"init": {}, "next": {}, "always": {}}
    frozen = {name for name in names if random.random() < 0.1}
    for name in names:
        for role in random.choice([(), ("init",), ("init", "next"), ("next",), ("always",)]):
            if name not in frozen or role == "init":
                rules[role][name] = make.value(name, 2)
    kinds: list[SpecKind] = random.choices(["ctl", "ltl", "invariant"], k=2)
    specs = [Spec(k, make.formula(k, 3), name=random.choice(["", "p1", "a b"])) for k in kinds]
    return Model(
        domains,
        init=rules["init"],
        next=rules["next"],
        always=rules["always"],
        defines={"all well": make.truth(3), "some-sum": make.truth(1)}
        if random.random() < 0.5
        else {},
        starts=(make.truth(2),),
        invar=tuple(make.truth(2) for _ in range(random.randint(0, 2))),
        trans=(make.truth(3, later=True),),
        fair=tuple(make.truth(1) for _ in range(random.randint(0, 1))),
        compassion=((make.truth(1), make.truth(1)),),
        frozen=frozenset(frozen),
        specs=tuple(specs),
    )
