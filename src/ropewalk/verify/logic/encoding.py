"""Expressions as decision diagrams (`dd` on CUDD).

A variable of n values takes log2(n) bits; those after the step follow those before it, so that a
table of next values is built node by node, without searching. Variables that never change have no
bits after the step. Codes that stand for no value are never reached: no step leads to them.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from dd import cudd

from ropewalk.verify.logic.lexing import FormulaError
from ropewalk.verify.logic.model import Model
from ropewalk.verify.logic.syntax import (
    COMPARE,
    SUMS,
    Case,
    Const,
    Expr,
    Lookup,
    Name,
    OneOf,
    Op,
    Value,
    shown,
)

Node = Any
"""A decision diagram."""
BOOLEAN: tuple[Value, ...] = (False, True)
MARK = "'"
"""Ends the names of bits after the step."""


class Encoding:
    """The bits of a model's variables, and its expressions over them."""

    def __init__(self, model: Model, *, max_bytes: int = 2**32) -> None:
        self.model, self.words = model, model.words()
        self.bdd = cudd.BDD()
        self.bdd.configure(reordering=False, max_memory=max_bytes)
        self.bits: dict[str, list[str]] = {}
        for name, domain in model.domains.items():
            width = max(len(domain) - 1, 0).bit_length()
            self.bits[name] = [f"{name}.{k}" for k in range(width)]
            self.bdd.declare(*self.bits[name])
            if name not in model.frozen | model.helpers:
                self.bdd.declare(*(bit + MARK for bit in self.bits[name]))
        self.places = {
            name: {key(value): i for i, value in enumerate(domain)}
            for name, domain in model.domains.items()
        }
        still = model.frozen | model.helpers
        moving = [bit for name in self.bits if name not in still for bit in self.bits[name]]
        self.aside = [bit for name in model.helpers for bit in self.bits[name]]
        self.now, self.later = moving, [bit + MARK for bit in moving]
        self._forth = dict(zip(self.now, self.later, strict=True))
        self._back = dict(zip(self.later, self.now, strict=True))
        self._equal: dict[tuple[str, bool], list[Node]] = {}
        self._known: dict[tuple[Expr, bool], Node] = {}

    def forth(self, node: Node) -> Node:
        """The same of the state after the step."""
        return self.bdd.let(self._forth, node) if self._forth else node

    def back(self, node: Node) -> Node:
        """What is said of the state after the step, of the state now."""
        return self.bdd.let(self._back, node) if self._back else node

    def equal(self, name: str, *, after: bool = False) -> list[Node]:
        """That a variable has a value, for each place in its domain."""
        after = after and name not in self.model.frozen
        if (name, after) not in self._equal:
            bits = [bit + MARK if after else bit for bit in self.bits[name]]
            self._equal[name, after] = [
                self.bdd.cube({bit: bool(place >> k & 1) for k, bit in enumerate(reversed(bits))})
                for place in range(len(self.model.domains[name]))
            ]
        return self._equal[name, after]

    def valid(self, name: str, *, after: bool = False) -> Node:
        """That a variable's code stands for a value."""
        if len(self.model.domains[name]) == 1 << len(self.bits[name]):
            return self.bdd.true
        return self.any(self.equal(name, after=after))

    def any(self, nodes: Iterable[Node]) -> Node:
        """One of them at least; halves first, which keeps intermediate ones small."""
        return self._joined(list(nodes), self.bdd.false, lambda a, b: a | b)

    def all(self, nodes: Iterable[Node]) -> Node:
        """Each of them."""
        return self._joined(list(nodes), self.bdd.true, lambda a, b: a & b)

    def _joined(self, nodes: list[Node], empty: Node, join: Callable[[Node, Node], Node]) -> Node:
        while len(nodes) > 1:
            pairs = [join(a, b) for a, b in zip(nodes[::2], nodes[1::2], strict=False)]
            nodes = [*pairs, *nodes[2 * len(pairs) :]]
        return nodes[0] if nodes else empty

    def truth(self, expr: Expr) -> Node:
        """Where an expression holds."""
        known = self._known.get((expr, True))
        if known is None:
            known = self._truth(expr)
            self._known[expr, True] = known
        return known

    def _truth(self, expr: Expr) -> Node:
        if isinstance(expr, Const):
            return self._constant(expr.value)
        if isinstance(expr, Name):
            return self._named(expr)
        if isinstance(expr, Op) and expr.op in _LOGIC:
            return _LOGIC[expr.op](*(self.truth(one) for one in expr.args))
        if isinstance(expr, Op) and expr.op in COMPARE:
            return self._compared(expr)
        if isinstance(expr, Op) and expr.op == "in":
            left, right = (self.values(one) for one in expr.args)
            return self.any(node & right[value] for value, node in left.items() if value in right)
        if isinstance(expr, Case):
            found = self.bdd.false
            for test, value in reversed(expr.branches):
                found = self.bdd.ite(self.truth(test), self.truth(value), found)
            return found
        if isinstance(expr, Lookup):
            leaves = [self._constant(value) for value in expr.domain]
            return self.table(expr, leaves)
        raise FormulaError(f"a truth value is expected, not {_words(expr)}", _column(expr))

    def _constant(self, value: Value) -> Node:
        if isinstance(value, bool) or value in (0, 1):
            return self.bdd.true if value else self.bdd.false
        raise FormulaError(f"a truth value is expected, not {shown(value)}", 0)

    def _named(self, expr: Name) -> Node:
        if expr.name in self.model.defines:
            found = self.truth(self.model.defines[expr.name])
            return self.forth(found) if expr.next else found
        values = self._variable(expr)
        if not values.keys() <= {"1", "0", "=TRUE", "=FALSE"}:
            raise FormulaError(f"{expr.name} has other values than TRUE and FALSE", expr.column)
        return self.any(node for value, node in values.items() if value in ("1", "=TRUE"))

    def _variable(self, expr: Name) -> dict[str, Node]:
        if expr.name not in self.model.domains:
            if expr.name in self.words:
                return {key(expr.name): self.bdd.true}
            raise FormulaError(f"nothing is called {expr.name}", expr.column)
        nodes = self.equal(expr.name, after=expr.next)
        domain = self.model.domains[expr.name]
        return {key(value): node for value, node in zip(domain, nodes, strict=True)}

    def values(self, expr: Expr) -> dict[str, Node]:
        """For each value that an expression can have, where it can; by `key`."""
        known = self._known.get((expr, False))
        if known is None:
            known = self._values(expr)
            self._known[expr, False] = known
        found: dict[str, Node] = known
        return found

    def _values(self, expr: Expr) -> dict[str, Node]:
        if isinstance(expr, Const):
            return {key(expr.value): self.bdd.true}
        if isinstance(expr, Name) and expr.name in self.model.defines:
            found = self.values(self.model.defines[expr.name])
            return {v: self.forth(node) for v, node in found.items()} if expr.next else found
        if isinstance(expr, Name):
            return self._variable(expr)
        if isinstance(expr, OneOf) or (isinstance(expr, Op) and expr.op == "union"):
            parts = expr.values if isinstance(expr, OneOf) else expr.args
            return self._union([self.values(one) for one in parts])
        if isinstance(expr, Case):
            return self._case(expr)
        if isinstance(expr, Lookup):
            return self._looked_up(expr)
        if isinstance(expr, Op) and expr.op in SUMS | {"neg"}:
            return self._sum(expr)
        yes = self.truth(expr)
        return {"=TRUE": yes, "=FALSE": ~yes}

    def _union(self, maps: list[dict[str, Node]]) -> dict[str, Node]:
        found: dict[str, list[Node]] = {}
        for one in maps:
            for value, node in one.items():
                found.setdefault(value, []).append(node)
        return {value: self.any(nodes) for value, nodes in found.items()}

    def _case(self, expr: Case) -> dict[str, Node]:
        left, maps = self.bdd.true, []
        for test, value in expr.branches:
            here = left & self.truth(test)
            left &= ~here
            maps.append({v: node & here for v, node in self.values(value).items()})
        return self._union(maps)

    def _looked_up(self, expr: Lookup) -> dict[str, Node]:
        found = {}
        for place in np.unique(expr.table).tolist():
            leaves = [
                self.bdd.true if k == place else self.bdd.false for k in range(len(expr.domain))
            ]
            found[key(expr.domain[place])] = self.table(expr, leaves)
        return found

    def _sum(self, expr: Op) -> dict[str, Node]:
        maps = [self._numbers(one) for one in expr.args]
        if len(maps) == 1:
            return {key(-a): node for a, node in maps[0].items()}
        found: dict[str, list[Node]] = {}
        for a, left in maps[0].items():
            for b, right in maps[1].items():
                both = left & right
                if both != self.bdd.false and not (expr.op in ("/", "mod") and b == 0):
                    found.setdefault(key(_SUMS[expr.op](a, b)), []).append(both)
        return {value: self.any(nodes) for value, nodes in found.items()}

    def _numbers(self, expr: Expr) -> dict[int, Node]:
        found = self.values(expr)
        if any(value.startswith("=") for value in found):
            raise FormulaError(f"a number is expected, not {_words(expr)}", _column(expr))
        return {int(value): node for value, node in found.items()}

    def _compared(self, expr: Op) -> Node:
        left, right = expr.args
        if expr.op == "!=":
            return ~self.truth(Op("=", expr.args, expr.column))
        if expr.op == "=":
            return self._same(left, right)
        a, b = self._numbers(left), self._numbers(right)
        test = _ORDER[expr.op]
        return self.any(x & self.any(y for w, y in b.items() if test(v, w)) for v, x in a.items())

    def _same(self, left: Expr, right: Expr) -> Node:
        if isinstance(left, Name) and isinstance(right, Name):
            bits = [self._bits(one) for one in (left, right)]
            if all(bits) and self._domain(left) == self._domain(right):
                return self.all(a.equiv(b) for a, b in zip(*bits, strict=True))
        if isinstance(left, Const):
            left, right = right, left
        if isinstance(right, Const) and isinstance(left, Lookup):
            own = key(right.value)
            yes = [self.bdd.true if key(v) == own else self.bdd.false for v in left.domain]
            return self.table(left, yes)
        a, b = self.values(left), self.values(right)
        return self.any(node & b[value] for value, node in a.items() if value in b)

    def _domain(self, name: Name) -> tuple[Value, ...]:
        return self.model.domains.get(name.name, ())

    def _bits(self, name: Name) -> list[Node]:
        after = name.next and name.name not in self.model.frozen
        bits = self.bits.get(name.name, ())
        return [self.bdd.var(bit + MARK if after else bit) for bit in bits]

    def becomes(self, name: str, expr: Expr, *, after: bool) -> Node:
        """That a variable, now or after the step, has a value that an expression can have."""
        if isinstance(expr, Case):
            found = self.bdd.false
            for test, value in reversed(expr.branches):
                found = self.bdd.ite(
                    self.truth(test), self.becomes(name, value, after=after), found
                )
            return found
        if isinstance(expr, Name):
            return self._same(Name(name, next=after), expr)
        leaves, places = self.equal(name, after=after), self.places[name]
        if isinstance(expr, Lookup):
            own = [
                leaves[places[key(v)]] if key(v) in places else self.bdd.false for v in expr.domain
            ]
            return self.table(expr, own)
        found = self.values(expr)
        return self.any(node & leaves[places[v]] for v, node in found.items() if v in places)

    def table(self, expr: Lookup, leaves: list[Node]) -> Node:
        """A diagram of a table, built from below: equal parts are made once.

        What the table has no entry for (codes without a value) does not matter: it is as the last.
        """
        bits: list[tuple[str, int]] = []
        table = expr.table
        for axis, index in enumerate(expr.index):
            own = [self.bdd.level_of_var(str(bit)) for bit in self._names(index)]
            bits.extend(zip(self._names(index), own, strict=True))
            extra = (1 << len(own)) - table.shape[axis]
            pad = [(0, extra if a == axis else 0) for a in range(table.ndim)]
            table = np.pad(table, pad, mode="edge")
        table = table.reshape((2,) * len(bits))
        order = sorted(range(len(bits)), key=lambda k: bits[k][1])
        row = table.transpose(order).ravel()
        nodes = leaves
        for k in reversed(order):
            low, high = row[0::2], row[1::2]
            pairs, row = np.unique(low * len(nodes) + high, return_inverse=True)
            variable = self.bdd.var(bits[k][0])
            made = [divmod(pair, len(nodes)) for pair in pairs.tolist()]
            nodes = [
                nodes[a] if a == b else self.bdd.ite(variable, nodes[b], nodes[a]) for a, b in made
            ]
        return nodes[int(row[0])]

    def _names(self, index: Name) -> list[str]:
        after = index.next and index.name not in self.model.frozen
        return [bit + MARK if after else bit for bit in self.bits[index.name]]

    def state(self, picked: dict[str, bool]) -> dict[str, Value]:
        """The values that bits stand for."""
        found: dict[str, Value] = {}
        for name, bits in self.bits.items():
            if name in self.model.helpers:
                continue
            place = 0
            for bit in bits:
                place = 2 * place + bool(picked.get(bit, False))
            found[name] = self.model.domains[name][place]
        return found

    def node_of(self, state: dict[str, Value]) -> Node:
        """A single state."""
        cube: dict[str, bool] = {}
        for name, bits in self.bits.items():
            if name in self.model.helpers:
                continue
            place = self.places[name][key(state[name])]
            cube |= {bit: bool(place >> k & 1) for k, bit in enumerate(reversed(bits))}
        return self.bdd.cube(cube)


def key(value: Value) -> str:
    """A value as a key: truth values, numbers and words are kept apart (True == 1 in Python).

    >>> key(True), key(1), key("b1")
    ('=TRUE', '1', '=b1')
    """
    return f"={shown(value)}" if isinstance(value, bool | str) else str(value)


def _column(expr: Expr) -> int:
    return expr.column if isinstance(expr, Name | Op) else 0


def _words(expr: Expr) -> str:
    if isinstance(expr, Op):
        return f"'{expr.op}'"
    return expr.name if isinstance(expr, Name) else "this"


def _divided(a: int, b: int) -> int:
    """Towards zero, as NuSMV and C do."""
    return int(np.sign(a) * np.sign(b)) * (abs(a) // abs(b))


_LOGIC: dict[str, Callable[..., Node]] = {
    "!": lambda a: ~a,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "xor": lambda a, b: ~a.equiv(b),
    "->": lambda a, b: ~a | b,
    "<->": lambda a, b: a.equiv(b),
}
_SUMS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "mod": lambda a, b: a - b * _divided(a, b),
}
_ORDER: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
