"""Instances of modules, and what names mean in them.

A variable `state` of the instance `b1` is `b1.state` in the model; parameters are replaced by what
the instance was given. Every name is looked up as variable, definition, then word of a domain.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain

from ropewalk.verify.logic.syntax import Const, Expr, Name, Value
from ropewalk.verify.smv.sections import (
    Array,
    Declared,
    Faults,
    Instance,
    Module,
    Said,
    Type,
    Values,
)

MOST_INSTANCES = 10_000
MOST_VARIABLES = 100_000
DEEPEST_INSTANCE = 30
MOST_HINTS = 2000


@dataclass(frozen=True, eq=False, slots=True)
class Scope:
    """An instance of a module: its prefix (`b1.`), and its parameters with whose they are."""

    module: Module
    prefix: str = ""
    given: dict[str, Expr] = field(default_factory=dict)
    outer: "Scope | None" = None
    depth: int = 0


@dataclass(slots=True)
class World:
    """All that names can mean."""

    faults: Faults
    modules: dict[str, Module]
    scopes: list[Scope] = field(default_factory=list)
    domains: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    sections: dict[str, str] = field(default_factory=dict)
    """The section in which a variable was declared."""
    defines: dict[str, int] = field(default_factory=dict)
    """Definitions, and where they are."""
    instances: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    def declare(self, main: Module) -> None:
        """Everything from `main` down, in the order in which it is written."""
        waiting = [Scope(main)]
        while waiting:
            scope = waiting.pop()
            if len(self.scopes) == MOST_INSTANCES:
                self.faults.add(
                    scope.module.at, f"more than {MOST_INSTANCES:,} instances of modules"
                )
                return
            self.scopes.append(scope)
            self.words.update(scope.module.constants)
            inner = [new for one in scope.module.declared for new in self._declared(scope, one)]
            waiting.extend(reversed(inner))
            for said in scope.module.said:
                self._define(scope, said)
        self._check_words()

    def _define(self, scope: Scope, said: Said) -> None:
        if said.role == "DEFINE" and said.target:
            name = scope.prefix + said.target.name
            if self._is_new(scope, said.target.name, said.at):
                self.defines[name] = said.at

    def _is_new(self, scope: Scope, own: str, at: int) -> bool:
        name = scope.prefix + own
        taken = name in self.domains or name in self.defines or name in self.instances
        if taken or own in scope.given:
            self.faults.add(at, f"{own} is declared twice")
        return not taken

    def _check_words(self) -> None:
        """A word that is a variable of `main` as well cannot be told from it."""
        for name in sorted(self.words & self.domains.keys()):
            at = next(
                (one.at for one in self.scopes[0].module.declared if one.name == name),
                self.scopes[0].module.at,
            )
            self.faults.add(at, f"{name} is a variable and a value of another")

    def _declared(self, scope: Scope, one: Declared) -> Iterator[Scope]:
        if not self._is_new(scope, one.name, one.at):
            return
        if isinstance(one.type, Instance):
            yield from self._instance(scope, one, one.type)
            return
        for name, values in self._flat(scope.prefix + one.name, one.type):
            if len(self.domains) >= MOST_VARIABLES:
                self.faults.add(one.at, f"more than {MOST_VARIABLES:,} variables")
                return
            if isinstance(values, Instance):
                self.faults.add(one.at, "not supported: an array of modules")
                return
            self.domains[name], self.sections[name] = values.values, one.section
            self.words.update(value for value in values.values if isinstance(value, str))

    def _flat(self, name: str, given: Type) -> Iterator[tuple[str, Values | Instance]]:
        """The variables of an array, one by one."""
        if not isinstance(given, Array):
            yield name, given
            return
        for i in range(given.low, given.high + 1):
            yield from self._flat(f"{name}[{i}]", given.of)

    def _instance(self, scope: Scope, one: Declared, given: Instance) -> Iterator[Scope]:
        module = self.modules.get(given.module)
        self.instances.add(scope.prefix + one.name)
        if module is None:
            close = get_close_matches(given.module, self.modules, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            self.faults.add(one.at, f"there is no module {given.module}{hint}")
        elif len(module.parameters) != len(given.given):
            count = f"takes {len(module.parameters)}, not {len(given.given)}"
            self.faults.add(one.at, f"module {given.module} {count} parameters")
        elif scope.depth == DEEPEST_INSTANCE:
            self.faults.add(one.at, f"modules within modules, {DEEPEST_INSTANCE} deep")
        else:
            parameters = dict(zip(module.parameters, given.given, strict=True))
            prefix = f"{scope.prefix}{one.name}."
            yield Scope(module, prefix, parameters, scope, scope.depth + 1)

    def meaning(self, name: str, scope: Scope) -> "tuple[Expr, Scope | None]":
        """What a name stands for: an expression, and the scope in which it is to be read, or none.

        Raises LookupError if it stands for nothing.
        """
        if name in scope.given and scope.outer:
            return scope.given[name], scope.outer
        head = name.split(".")[0].split("[")[0]
        bound = scope.given.get(head)
        if isinstance(bound, Name) and scope.outer and not bound.next:
            return Name(bound.name + name[len(head) :]), scope.outer
        full = scope.prefix + name
        if full in self.domains or full in self.defines:
            return Name(full), None
        if name in self.words:
            return Const(name), None
        raise LookupError(self.why_unknown(name, scope))

    def why_unknown(self, name: str, scope: Scope) -> str:
        """A name that nothing has, and what may have been meant."""
        if name.split(".")[0] == "self":
            return "not supported: self"
        if scope.prefix + name in self.instances:
            return f"{name} is a module, not a value"
        own = scope.prefix
        known = [
            one.removeprefix(own)
            for one in chain(self.domains, self.defines)
            if one.startswith(own)
        ]
        if any(one.startswith(f"{name}[") for one in known):
            return f"{name} is an array: give an index"
        if "-" in name and all(one.isdigit() or one in known for one in name.split("-")):
            return f"{name} is unknown; write spaces around - for a difference"
        near = [*known, *scope.given, *sorted(self.words)][:MOST_HINTS]
        close = [] if self.faults.many() else get_close_matches(name, near, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        return f"{name} is unknown{hint}"
