"""Reads a model from SMV: the part of NuSMV's language that models of brokers are written in.

Modules are flattened (`scopes`), names are looked up (`resolving`), long tables become arrays
(`tables`). Every fault is told with its line, what is not supported as well.
"""

from graphlib import CycleError, TopologicalSorter

from ropewalk.errors import SmvError
from ropewalk.findings import Finding, Where
from ropewalk.verify.logic.folding import depth, size
from ropewalk.verify.logic.model import Model, Spec
from ropewalk.verify.logic.syntax import (
    CTL,
    LTL,
    Const,
    Expr,
    Lookup,
    Name,
    Op,
    Value,
    names_in,
    shown,
    walk,
)
from ropewalk.verify.smv.expressions import as_truth
from ropewalk.verify.smv.resolving import Resolver, as_truths, has, outcomes, with_outcomes
from ropewalk.verify.smv.scopes import Scope, World
from ropewalk.verify.smv.sections import Faults, Module, Said, modules

DEEPEST_TREE = 2500
MOST_PARTS = 2_000_000
LONG_TEXT = 2000
"""Shorter expressions are not that deep, unless parameters were put into them."""
TEMPORAL = CTL | LTL
LOGICS = {"ctl": CTL, "ltl": LTL}
ASSIGNED = ("init", "next", "always")


def read_smv(text: str, file: str) -> Model:
    r"""The model that a text has; an SmvError with all its faults if it cannot be read.

    >>> read_smv("MODULE main VAR up : boolean; ASSIGN next(up) := {TRUE, up};", "m.smv").domains
    {'up': (False, True)}
    >>> read_smv("MODULE main\nVAR up : boolean;\nINIT upp", "m.smv")
    Traceback (most recent call last):
    ropewalk.errors.SmvError: m.smv:3: Q005 column 6: upp is unknown; did you mean up?
    """
    faults = Faults()
    try:
        model = _model(text, faults)
    except RecursionError:
        faults.add(0, "expressions within expressions, too deep to read")
    if faults.found:
        raise SmvError(
            [
                Finding("Q005", *_told(text, at, told, file))
                for at, told in sorted(faults.found.items())
            ]
        )
    return model


def _told(text: str, at: int, message: str, file: str) -> tuple[str, Where]:
    column = at - text.rfind("\n", 0, at)
    return f"column {column}: {message}", Where(file, text.count("\n", 0, at) + 1)


def _model(text: str, faults: Faults) -> Model:
    known: dict[str, Module] = {}
    for module in modules(text, faults):
        if module.name in known:
            faults.add(module.at, f"module {module.name} is declared twice")
        known.setdefault(module.name, module)
    main = known.get("main")
    if main is None or main.parameters:
        faults.add(main.at if main else 0, "a MODULE main without parameters is expected")
        return Model({})
    world = World(faults, known)
    world.declare(main)
    return _Builder(world).built()


class _Builder:
    """Puts together what the instances say."""

    def __init__(self, world: World) -> None:
        self.world, self.faults = world, world.faults
        self.rules: dict[str, dict[str, Expr]] = {role: {} for role in (*ASSIGNED, "DEFINE")}
        self.constraints: dict[str, list[Expr]] = {
            role: [] for role in ("INIT", "INVAR", "TRANS", "JUSTICE")
        }
        self.compassion: list[tuple[Expr, Expr]] = []
        self.specs: list[Spec] = []

    def built(self) -> Model:
        """The model."""
        for scope in self.world.scopes:
            resolver = Resolver(self.world, scope)
            for said in scope.module.said:
                self._add(said, scope, resolver)
        self._check_circles()
        return Model(
            domains=self.world.domains,
            init=self.rules["init"],
            next=self.rules["next"],
            always=self.rules["always"],
            defines=self.rules["DEFINE"],
            starts=tuple(self.constraints["INIT"]),
            invar=tuple(self.constraints["INVAR"]),
            trans=tuple(self.constraints["TRANS"]),
            fair=tuple(self.constraints["JUSTICE"]),
            compassion=tuple(self.compassion),
            frozen=frozenset(v for v, s in self.world.sections.items() if s == "FROZENVAR"),
            inputs=frozenset(v for v, s in self.world.sections.items() if s == "IVAR"),
            specs=tuple(self.specs),
        )

    def _add(self, said: Said, scope: Scope, resolver: Resolver) -> None:
        for one in (said.expr, said.other):
            if one is not None and not self._is_allowed(one, said):
                return
        is_spec = bool(said.text)
        expr = resolver.expr(said.expr, said.at if is_spec else 0)
        if (scope.given or said.end - said.at > LONG_TEXT) and not self._is_small(expr, said):
            return
        if said.role in ASSIGNED:
            self._assign(said, resolver, expr)
        elif said.role == "DEFINE" and said.target:
            self.rules["DEFINE"].setdefault(scope.prefix + said.target.name, expr)
        elif said.role in self.constraints:
            self.constraints[said.role].append(as_truth(expr))
        elif said.other is not None:
            self.compassion.append((as_truth(expr), as_truth(resolver.expr(said.other))))
        else:
            name = scope.prefix + said.name if said.name else ""
            self.specs.append(Spec(said.role, as_truth(expr), said.text, name))  # type: ignore[arg-type]

    def _is_small(self, expr: Expr, said: Said) -> bool:
        if depth(expr) > DEEPEST_TREE or size(expr) > MOST_PARTS:
            self.faults.add(said.at, "this expression is too long or too deep, written out")
            return False
        return True

    def _is_allowed(self, expr: Expr, said: Said) -> bool:
        """Temporal operators belong into specifications of their logic, `next` into steps."""
        allowed = LOGICS.get(said.role, frozenset())
        with_next = said.role in ("next", "TRANS")
        for one in walk(expr):
            if isinstance(one, Op) and one.op in TEMPORAL and one.op not in allowed:
                self.faults.add(one.column, _misplaced(one.op, said.role))
                return False
            if isinstance(one, Name) and one.next and not with_next:
                self.faults.add(one.column, f"next({one.name}) outside of next(...) := and TRANS")
                return False
        return True

    def _assign(self, said: Said, resolver: Resolver, expr: Expr) -> None:
        target = resolver.named(said.target) if said.target else expr
        if not isinstance(target, Name):
            written = said.target.name if said.target else ""
            self.faults.add(said.target.column if said.target else 0, f"{written} is no variable")
            return
        name = target.name
        if wrong := self._unassignable(name, said.role):
            self.faults.add(said.at, wrong)
            return
        if resolver.is_boolean(target):
            expr = with_outcomes(expr, as_truths)
        self.rules[said.role][name] = expr
        for value in _constants(expr):
            if not has(self.world.domains[name], value):
                self.faults.add(said.at, f"{shown(value)} is not among the values of {name}")

    def _unassignable(self, name: str, role: str) -> str:
        """Why a variable cannot be assigned so; nothing if it can."""
        section = self.world.sections.get(name)
        if section is None:
            return f"{name} is a definition: it cannot be assigned"
        if section == "IVAR" or (section == "FROZENVAR" and role != "init"):
            return f"{name} is of {section}: it cannot be assigned like this"
        if name in self.rules[role]:
            return f"{name} is assigned twice"
        others = ("init", "next") if role == "always" else ("always",)
        if any(name in self.rules[one] for one in others):
            return f"{name} is assigned both plainly and with init or next"
        return ""

    def _check_circles(self) -> None:
        rules = self.rules["DEFINE"]
        uses = {name: names_in(expr) & rules.keys() for name, expr in rules.items()}
        try:
            TopologicalSorter(uses).prepare()
        except CycleError as error:
            circle = error.args[1]
            at = min(self.world.defines.get(name, 0) for name in circle)
            self.faults.add(at, f"definitions go round: {' -> '.join(reversed(circle))}")


def _misplaced(op: str, role: str) -> str:
    if role == "ctl":
        return f"{op} is of LTL, this is a specification in CTL: write LTLSPEC, or A or E before it"
    if role == "ltl":
        return (
            f"{op} is of CTL, this is a specification in LTL: write CTLSPEC, or leave A and E out"
        )
    place = "INVARSPEC" if role == "invariant" else role
    return f"the temporal operator {op} has no place in {place}"


def _constants(expr: Expr) -> list[Value]:
    """Values that an expression may come to, as far as they are written."""
    found: list[Value] = []
    for one in outcomes(expr):
        if isinstance(one, Const):
            found.append(one.value)
        elif isinstance(one, Lookup):
            found.extend(one.domain)
    return found
