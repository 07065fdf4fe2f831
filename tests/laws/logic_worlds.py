"""Models and formulas by chance, small enough for an oracle that lists all states."""

from math import prod
from random import Random
from typing import Literal

import numpy as np

from ropewalk.verify.logic.model import Model, State
from ropewalk.verify.logic.parsing import parse
from ropewalk.verify.logic.syntax import (
    CTL,
    LTL,
    TRUE,
    Case,
    Const,
    Expr,
    Lookup,
    Name,
    OneOf,
    Op,
    Value,
    equals,
    rebuilt,
)
from tests.laws.logic_oracle import Explicit

MOST_STATES = 60
BOTH: tuple[Value, ...] = (False, True)
WORDS: tuple[Value, ...] = ("idle", "busy", "done", "lost", "late")
LOGIC_OF_TWO = ("&", "|", "xor", "->", "<->")
OF_TWO = frozenset(("U", "R", "W", "S", "T", "EU", "AU"))
Domains = dict[str, tuple[Value, ...]]
Sort = Literal["truth", "number", "word"]


def sort_of(domain: tuple[Value, ...]) -> Sort:
    """What kind of values a domain has."""
    if isinstance(domain[0], bool):
        return "truth"
    return "number" if isinstance(domain[0], int) else "word"


def random_domain(rng: Random) -> tuple[Value, ...]:
    """Truth values, a few numbers (some below zero, rarely only one), or a few words."""
    match rng.randrange(8):
        case 0 | 1 | 2:
            return BOTH
        case 3 | 4 | 5:
            low = rng.choice((0, 0, 0, 1, -1, -2))
            return tuple(range(low, low + rng.choice((2, 3, 3, 4, 5, 1))))
        case _:
            return tuple(rng.sample(WORDS, rng.randint(2, 4)))


class Maker:
    """Expressions over variables; those in `new` may be spoken of after the step, too."""

    def __init__(self, rng: Random, domains: Domains, new: tuple[str, ...] = ()) -> None:
        self.rng, self.domains, self.new = rng, domains, new

    def name(self, name: str) -> Name:
        """A variable now, or after the step."""
        return Name(name, next=name in self.new and self.rng.random() < 0.5)

    def test(self, depth: int) -> Expr:
        """A condition."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.4:
            return self._fact()
        if rng.random() < 0.2:
            return ~self.test(depth - 1)
        return Op(rng.choice(LOGIC_OF_TWO), (self.test(depth - 1), self.test(depth - 1)))

    def _fact(self) -> Expr:
        rng = self.rng
        if not self.domains or rng.random() < 0.03:
            return Const(rng.random() < 0.5)
        name = rng.choice(list(self.domains))
        domain = self.domains[name]
        of, value = self.name(name), Const(rng.choice(domain))
        if rng.random() < 0.15:
            some = rng.sample(domain, rng.randint(1, len(domain)))
            return Op("in", (of, OneOf(tuple(Const(one) for one in some))))
        if rng.random() < 0.15:
            other = rng.choice(
                [o for o in self.domains if sort_of(self.domains[o]) == sort_of(domain)]
            )
            return Op(rng.choice(("=", "!=")), (of, self.name(other)))
        if sort_of(domain) == "truth":
            return rng.choice((of, of, ~of, Op(rng.choice(("=", "!=")), (of, value))))
        if sort_of(domain) == "number":
            left = self.number(name) if rng.random() < 0.4 else of
            return Op(rng.choice(("=", "=", "!=", "<", "<=", ">", ">=")), (left, value))
        return Op(rng.choice(("=", "=", "!=")), (of, value))

    def number(self, name: str) -> Expr:
        """A sum of numbers, a product, a rest..."""
        rng = self.rng
        of: Expr = self.name(name)
        if rng.random() < 0.2:
            of = Op("neg", (of,))
        numbers = [one for one in self.domains if sort_of(self.domains[one]) == "number"]
        other = self.name(rng.choice(numbers)) if rng.random() < 0.5 else Const(rng.randint(-2, 3))
        match rng.randrange(3):
            case 0:
                return Op(rng.choice(("+", "-", "*")), (of, other))
            case 1:
                return Op(rng.choice(("/", "mod")), (of, Const(rng.choice((2, 3, -2)))))
            case _:
                return Op(
                    "mod", (Op(rng.choice(("+", "-")), (of, other)), Const(rng.choice((2, 3))))
                )

    def value(self, name: str, domain: tuple[Value, ...], depth: int, choice: float = 0.4) -> Expr:
        """What a variable may become: always within its domain."""
        rng = self.rng
        if depth > 0 and rng.random() < 0.6:
            branches = [
                (self.test(1), self.value(name, domain, depth - 1, choice))
                for _ in range(rng.randint(1, 3))
            ]
            return Case((*branches, (TRUE, self.value(name, domain, 0, choice))))
        if rng.random() < choice:
            some: list[Expr] = [
                Const(one) for one in rng.sample(domain, rng.randint(1, len(domain)))
            ]
            if rng.random() < 0.3:
                return Op("union", (OneOf(tuple(some)), self._like(name, domain)))
            return OneOf((*some, self._like(name, domain)) if rng.random() < 0.3 else tuple(some))
        if rng.random() < 0.3 and sort_of(domain) == "truth":
            return self.test(1)
        if rng.random() < 0.5 and sort_of(domain) == "number" and name in self.domains:
            return self._counted(name, domain)
        return self._like(name, domain)

    def _like(self, name: str, domain: tuple[Value, ...]) -> Expr:
        """Another variable's value, or its own, or a constant."""
        alike = [one for one, has in self.domains.items() if set(has) <= set(domain)]
        alike = [one for one in alike if sort_of(self.domains[one]) == sort_of(domain)]
        if alike and self.rng.random() < 0.6:
            return self.name(self.rng.choice(alike))
        return Const(self.rng.choice(domain))

    def _counted(self, name: str, domain: tuple[Value, ...]) -> Expr:
        """One more, and around or up to the last."""
        of, last = Name(name), domain[-1]
        more = Op("+", (of, Const(1)))
        if domain[0] == 0 and self.rng.random() < 0.5:
            return Op("mod", (more, Const(len(domain))))
        stop = Const(self.rng.choice((domain[0], last)))
        return Case(((Op("<", (of, Const(last))), more), (TRUE, stop)))


def random_domains(rng: Random) -> Domains:
    """Two to four variables with at most `MOST_STATES` states between them."""
    while True:
        found = {f"v{n}": random_domain(rng) for n in range(rng.randint(2, 4))}
        if 4 <= prod(len(one) for one in found.values()) <= MOST_STATES:
            return found


def random_model(
    rng: Random, *, fair: bool = True, gaps: bool = True, choice: float = 0.4
) -> Model:
    """A model; nine in ten have a fair path.

    `gaps` allows cases in which no branch matches, which leave no step; `choice` is how often a
    value is a set.
    """
    empty = rng.random() < 0.1
    while True:
        model = _model(rng, fair, gaps, choice)
        explicit = Explicit(model)
        if empty or explicit.fair & set(explicit.initial):
            return model


def _model(rng: Random, fair: bool, gaps: bool, choice: float) -> Model:
    domains = random_domains(rng)
    init: dict[str, Expr] = {}
    step: dict[str, Expr] = {}
    always: dict[str, Expr] = {}
    frozen: set[str] = set()
    before: Domains = {}
    for name, domain in domains.items():
        # Values may depend on earlier variables of the same moment only: no circles.
        kind = rng.random()
        if kind < 0.1 and before:
            always[name] = Maker(rng, before).value(name, domain, 1, choice)
        else:
            if rng.random() < 0.6:
                init[name] = Maker(rng, before).value(name, domain, 1, choice)
            if kind < 0.2:
                frozen.add(name)
            elif kind < 0.9:
                new = tuple(before) if rng.random() < 0.3 else ()
                step[name] = Maker(rng, domains, new).value(name, domain, 2, choice)
        before[name] = domain
    if gaps and step and rng.random() < 0.1:
        name = rng.choice(list(step))
        step[name] = Case(((Maker(rng, domains).test(1), step[name]),))
    now, both = Maker(rng, domains), Maker(rng, domains, tuple(domains))
    defines: dict[str, Expr] = {}
    if rng.random() < 0.2:
        defines["d0"] = now.test(2)
        defines["d1"] = Op(rng.choice(LOGIC_OF_TWO), (Name("d0"), now.test(1)))
    named = [Name(one) for one in defines]

    def fact(depth: int) -> Expr:
        return rng.choice(named) if named and rng.random() < 0.4 else now.test(depth)

    def some(chance: float, *, steps: bool = False) -> tuple[Expr, ...]:
        if rng.random() > chance:
            return ()
        # Weak ones: most states and steps are to remain.
        return (fact(0) | (both.test(1) if steps else now.test(1)),)

    pairs = tuple((fact(1), fact(0)) for _ in range(rng.choice((0, 0, 1, 1, 2))) if fair)
    many = (0, 0, 1) if pairs else (0, 1, 1, 2, 3)
    return Model(
        domains=domains,
        init=init,
        next=step,
        always=always,
        defines=defines,
        starts=some(0.2),
        invar=some(0.2),
        trans=some(0.3, steps=True),
        fair=tuple(fact(0) for _ in range(rng.choice(many)) if fair),
        compassion=pairs,
        frozen=frozenset(frozen),
    )


def random_lookup_model(rng: Random) -> Model:
    """A few switches that change as they like, and two variables that follow by tables."""
    domains: Domains = {f"up{n}": BOTH for n in range(rng.randint(1, 2))}
    places = tuple(rng.sample(WORDS, 3))
    domains |= {"load": tuple(range(rng.choice((2, 3)))), "at": places}
    step: dict[str, Expr] = {
        name: Maker(rng, domains).value(name, domain, 1)
        for name, domain in domains.items()
        if name.startswith("up") and rng.random() < 0.7
    }

    def table(index: list[Name], domain: tuple[Value, ...]) -> Lookup:
        shape = tuple(len(domains[one.name]) for one in index)
        size = int(np.prod(shape))
        entries = [rng.randrange(len(domain)) for _ in range(size)]
        return Lookup(tuple(index), np.array(entries, dtype=np.int64).reshape(shape), domain)

    ups = [Name(name, next=rng.random() < 0.5) for name in domains if name.startswith("up")]
    step["at"] = table([*ups, Name("at")], tuple(rng.sample(places, len(places))))
    always: dict[str, Expr] = {}
    if rng.random() < 0.5:
        always["load"] = table([Name("at"), Name("up0")], domains["load"])
    else:
        step["load"] = table([Name("load"), Name("at")], domains["load"])
    seen = table([Name("at")], BOTH)
    fair = Maker(rng, domains)
    return Model(
        domains=domains,
        init={"at": Const(places[0])},
        next=step,
        always=always,
        defines={"seen": seen},
        fair=tuple(fair.test(0) for _ in range(rng.choice((0, 1, 2)))),
    )


def lasso_model(stem: list[State], loop: list[State]) -> Model:
    """A model with one path: these states, numbered by one more variable, `at`."""
    every = [*stem, *loop]
    places = tuple(range(len(every)))

    def by_place(name: str) -> Expr:
        return Case(tuple((equals("at", n), Const(one[name])) for n, one in enumerate(every)))

    around = Case(
        (
            (equals("at", places[-1]), Const(len(stem))),
            (TRUE, Op("+", (Name("at"), Const(1)))),
        )
    )
    return Model(
        domains={"at": places, **dict.fromkeys(every[0], BOTH)},
        init={"at": Const(0)},
        next={"at": around},
        always={name: by_place(name) for name in every[0]},
    )


BITS = Model(domains=dict.fromkeys("abc", BOTH))
"""What random words are about."""


def random_word(rng: Random) -> tuple[list[State], list[State]]:
    """A stem and a loop of truth values."""

    def states(size: int) -> list[State]:
        return [{name: rng.random() < 0.5 for name in BITS.domains} for _ in range(size)]

    return states(rng.randrange(5)), states(rng.randint(1, 4))


def _random_formula(rng: Random, model: Model, depth: int, temporal: list[str]) -> Expr:
    if depth <= 0 or rng.random() < 0.1:
        if model.defines and rng.random() < 0.2:
            return Name(rng.choice(list(model.defines)))
        demands = [*model.fair, *(one for pair in model.compassion for one in pair)]
        if demands and rng.random() < 0.35:
            # What fairness is about: else it would rarely matter.
            return rng.choice(demands)
        return Maker(rng, dict(model.domains)).test(rng.choice((0, 0, 1)))
    below = [_random_formula(rng, model, depth - 1, temporal) for _ in range(2)]
    op = rng.choice(("!", *LOGIC_OF_TWO) if rng.random() < 0.25 else temporal)
    return Op(op, (below[0], below[1]) if op in OF_TWO or op in LOGIC_OF_TWO else (below[0],))


# Shapes in which fairness decides.
CTL_SHAPES = """
AF p
AF q
AG AF q
EG !q
EG (p & !q)
EF EG (p & !q)
AF (q | !p)
AG AF (q | !p)
AG (p -> AF q)
AF (q | EG !p)
E [!q U EG p]
A [!q U !p | q]
"""
LTL_SHAPES = """
F q
G F q
G F p -> G F q
F G !p | F q
G (p -> F q)
F (q | !p)
G F (q | !p)
G F p -> F (q & O p)
F G (p -> O q)
F G (q S p) -> F q
G F (q & Y TRUE) | F H !p
F G !p | G F (q & (!q S p) | q & Z !q)
"""


def _shaped(rng: Random, model: Model, depth: int, shapes: str) -> Expr:
    """One of these, with p and q from what a model's fairness is about, or by chance."""
    pairs = [*model.compassion, *model.compassion, *((one, one) for one in model.fair)]
    if pairs and rng.random() < 0.8:
        p, q = rng.choice(pairs)
    else:
        p, q = (Maker(rng, dict(model.domains)).test(depth - 2) for _ in range(2))

    def put(expr: Expr) -> Expr:
        if isinstance(expr, Name):
            return p if expr.name == "p" else q
        return rebuilt(expr, put)

    return put(parse(rng.choice(shapes.strip().splitlines())))


def random_ctl(rng: Random, model: Model, depth: int) -> Expr:
    """A CTL formula over a model's variables."""
    if depth > 1 and rng.random() < 0.3:
        return _shaped(rng, model, depth, CTL_SHAPES)
    return _random_formula(rng, model, depth, sorted(CTL))


def random_ltl(rng: Random, model: Model, depth: int) -> Expr:
    """An LTL formula, with past, over a model's variables."""
    if depth > 1 and rng.random() < 0.3:
        return _shaped(rng, model, depth, LTL_SHAPES)
    return _random_formula(rng, model, depth, sorted(LTL))
