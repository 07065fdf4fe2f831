"""What expressions of a module's instance say in the model: names in full, words as values."""

from collections.abc import Callable

from ropewalk.verify.logic.folding import fold
from ropewalk.verify.logic.parsing import LONGEST_NUMBER
from ropewalk.verify.logic.syntax import (
    COMPARE,
    CTL,
    FALSE,
    LOGIC,
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
    rebuilt,
)
from ropewalk.verify.smv.expressions import as_truth
from ropewalk.verify.smv.scanning import Run
from ropewalk.verify.smv.scopes import Scope, World
from ropewalk.verify.smv.tables import branches_of

TRUTHS = LOGIC | LTL | CTL
BOOLEAN = (False, True)


class Resolver:
    """Reads expressions in the scope of an instance; faults are noted, and TRUE is put there."""

    def __init__(self, world: World, scope: Scope) -> None:
        self.world, self.scope = world, scope
        self.known: dict[tuple[str, bool], Expr] = {}
        self.words: dict[str, Expr] = {}

    def expr(self, expr: Expr, shift: int = 0) -> Expr:
        """The expression with its columns moved to the left."""

        def combine(one: Expr, parts: list[Expr]) -> Expr:
            if isinstance(one, Name):
                return self.named(one, shift)
            if isinstance(one, Op):
                return self._operation(one, parts, shift)
            if isinstance(one, Case):
                return self._case(one, parts)
            given = iter(parts)
            return rebuilt(one, lambda _: next(given))

        return fold(expr, combine)

    def named(self, name: Name, shift: int = 0) -> Expr:
        """What a name stands for."""
        key = (name.name, name.next)
        found = self.known.get(key)
        if found is None:
            found = self._looked_up(name)
            self.known[key] = found
        if isinstance(found, Name):
            return Name(found.name, found.next, max(name.column - shift, 0))
        return found

    def _looked_up(self, name: Name) -> Expr:
        try:
            found, scope = self.world.meaning(name.name, self.scope)
            while scope and isinstance(found, Name) and not found.next:
                found, scope = self.world.meaning(found.name, scope)
        except LookupError as error:
            self.world.faults.add(name.column, str(error.args[0]))
            return TRUE
        if scope:
            found = Resolver(self.world, scope).expr(found)
        return fold(found, self._after) if name.next else found

    @staticmethod
    def _after(one: Expr, parts: list[Expr]) -> Expr:
        given = iter(parts)
        if isinstance(one, Name):
            return Name(one.name, True, one.column)
        return rebuilt(one, lambda _: next(given))

    def _operation(self, one: Op, parts: list[Expr], shift: int) -> Expr:
        if one.op in TRUTHS:
            parts = [as_truth(part) for part in parts]
        elif one.op in COMPARE:
            parts = self._compared(parts)
        return Op(one.op, tuple(parts), max(one.column - shift, 0))

    def _compared(self, parts: list[Expr]) -> list[Expr]:
        """`b = 1` of a boolean is `b = TRUE`."""
        truths = [as_truth(part) for part in parts]
        if any(a is not b for a, b in zip(truths, parts, strict=True)) and any(
            self.is_boolean(part) for part in parts
        ):
            return truths
        return parts

    def is_boolean(self, expr: Expr) -> bool:
        """Whether it is a variable that is true or false."""
        return (
            isinstance(expr, Name)
            and self.world.domains.get(expr.name) == BOOLEAN
            and all(type(one) is bool for one in self.world.domains[expr.name])
        )

    def _case(self, one: Case, parts: list[Expr]) -> Expr:
        pairs = [
            (test if isinstance(test, Run) else as_truth(test), value)
            for test, value in zip(parts[::2], parts[1::2], strict=True)
        ]
        if any(isinstance(test, Run) for test, _ in one.branches):
            pairs = branches_of(pairs, self.world.domains, self._word)
        return Case(tuple(pairs))

    def _word(self, text: str, at: int) -> Expr:
        """A word of a table's row."""
        found = self.words.get(text)
        if found is None:
            found = self.words[text] = self._read(text, at)
        return found

    def _read(self, text: str, at: int) -> Expr:
        if text.lstrip("-").isdecimal():
            if len(text) > LONGEST_NUMBER:
                self.world.faults.add(at, f"a number has {LONGEST_NUMBER} digits at most")
                return TRUE
            return Const(int(text))
        if text in ("TRUE", "true", "FALSE", "false"):
            return TRUE if text.upper() == "TRUE" else FALSE
        return self.named(Name(text, column=at))


def outcomes(expr: Expr) -> list[Expr]:
    """What an assigned expression may come to, as far as it is written out."""
    waiting, found, seen = [expr], [], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Case):
            waiting.extend(value for _, value in one.branches)
        elif isinstance(one, OneOf):
            waiting.extend(one.values)
        elif isinstance(one, Op) and one.op == "union":
            waiting.extend(one.args)
        else:
            found.append(one)
    return found


def with_outcomes(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with what it may come to changed."""
    if isinstance(expr, Case):
        return Case(tuple((test, with_outcomes(value, change)) for test, value in expr.branches))
    if isinstance(expr, OneOf):
        return OneOf(tuple(with_outcomes(one, change) for one in expr.values))
    if isinstance(expr, Op) and expr.op == "union":
        return Op("union", tuple(with_outcomes(one, change) for one in expr.args), expr.column)
    return change(expr)


def as_truths(expr: Expr) -> Expr:
    """Values 1 and 0 of a boolean variable as TRUE and FALSE, in tables as well."""
    if isinstance(expr, Lookup):
        told = [as_truth(Const(value)) for value in expr.domain]
        domain = tuple(one.value for one in told if isinstance(one, Const))
        return Lookup(expr.index, expr.table, domain)
    return as_truth(expr)


def has(domain: tuple[Value, ...], value: Value) -> bool:
    """Whether a value is in a domain; TRUE is not 1."""
    return any(type(one) is type(value) and one == value for one in domain)
