"""A model's states and steps as decision diagrams: where it starts, what follows, what precedes.

The step relation is kept in parts, one for each variable or constraint; a variable is quantified
as soon as no later part mentions it (Burch, Clarke and Long 1991).
"""

from collections.abc import Callable
from dataclasses import dataclass

from dd import cudd

from ropewalk.errors import RopewalkError
from ropewalk.verify.logic.encoding import Encoding, Node, key
from ropewalk.verify.logic.model import Model, State

CLUSTER_NODES = 2_000
"""Parts are joined while the result stays this small: fewer products in each step."""

SELDOM = 32
"""Counting nodes takes milliseconds: not in every step."""


class OverBudget(RopewalkError):  # noqa: N818  # not a fault: a verdict that is not given
    """Time or nodes have run out; the message says which."""


@dataclass(slots=True)
class Budget:
    """What a check may use: seconds by a clock, and nodes of decision diagrams."""

    clock: Callable[[], float] = lambda: 0.0
    until: float = float("inf")
    nodes: int = 20_000_000
    _turn: int = 0

    def spend(self, encoding: Encoding) -> None:
        """Go on only while something is left."""
        self._turn += 1
        if self.clock() > self.until:
            raise OverBudget("out of time")
        if self._turn % SELDOM == 0 and len(encoding.bdd) > self.nodes:
            raise OverBudget(f"more than {self.nodes:,} nodes")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the step relation, and the bits that are quantified with it."""

    node: Node
    gone: frozenset[str]
    total: bool
    """Whether it allows some values of those bits, whatever the others are."""


class System:
    """A model that can be stepped through."""

    def __init__(self, model: Model, budget: Budget | None = None) -> None:
        self.model, self.budget = model, budget or Budget()
        self.encoding = Encoding(model)
        code = self.encoding
        self.true, self.false = code.bdd.true, code.bdd.false
        held = [code.truth(one) for one in model.invar]
        always = {n: code.becomes(n, expr, after=False) for n, expr in model.always.items()}
        held += [node for name, node in always.items() if name not in model.helpers]
        held += [code.valid(name) for name in model.domains if name not in model.helpers]
        self.held = code.all(held)
        starts = [code.becomes(name, expr, after=False) for name, expr in model.init.items()]
        starts += [code.truth(one) for one in model.starts]
        self.init = code.all((*starts, self.held))
        self.fair = [code.truth(one) for one in model.fair]
        self.compassion = [(code.truth(p), code.truth(q)) for p, q in model.compassion]
        self._forwards, self._backwards = self._directions(
            self._parts(held, [always.get(one, code.valid(one)) for one in sorted(model.helpers)])
        )

    def _parts(self, held: list[Node], helped: list[Node]) -> list[Node]:
        code, model = self.encoding, self.model
        parts = helped + [code.becomes(name, expr, after=True) for name, expr in model.next.items()]
        parts += [code.truth(one) for one in model.trans]
        parts += [code.forth(one) for one in held if one != self.true]
        self.budget.spend(code)
        return self._clustered([one for one in parts if one != self.true])

    def _clustered(self, parts: list[Node]) -> list[Node]:
        found: list[Node] = []
        for part in sorted(parts, key=len):
            small = bool(found) and len(found[-1]) + len(part) <= CLUSTER_NODES
            if small and len(joined := found[-1] & part) <= CLUSTER_NODES:
                found[-1] = joined
            else:
                found.append(part)
            self.budget.spend(self.encoding)
        return found

    def _directions(self, parts: list[Node]) -> tuple[list[_Part], list[_Part]]:
        """The parts in an order for images, and in one for preimages."""
        return (
            self._scheduled(parts, frozenset((*self.encoding.now, *self.encoding.aside))),
            self._scheduled(parts, frozenset((*self.encoding.later, *self.encoding.aside))),
        )

    def _scheduled(self, parts: list[Node], gone: frozenset[str]) -> list[_Part]:
        supports = [frozenset(self.encoding.bdd.support(part)) for part in parts]
        left, order = list(range(len(parts))), []
        while left:
            # First what frees most: bits that no other part mentions.
            def freed(k: int) -> tuple[int, int]:
                others = frozenset[str]().union(*(supports[o] for o in left if o != k))
                return len((supports[k] & gone) - others), -len(supports[k])

            best = max(left, key=freed) if len(left) < 40 else left[0]
            left.remove(best)
            order.append(best)
        scheduled, later = [], frozenset[str]()
        for k in reversed(order):
            mine = (supports[k] & gone) - later
            total = self.encoding.bdd.exist(mine, parts[k]) == self.true
            scheduled.append(_Part(parts[k], mine, total))
            later |= supports[k]
        return scheduled[::-1]

    def _through(self, node: Node, parts: list[_Part], gone: list[str]) -> Node:
        self.budget.spend(self.encoding)
        mentioned = frozenset[str]().union(*(part.gone for part in parts))
        found = self.encoding.bdd.exist([one for one in gone if one not in mentioned], node)
        for part in parts:
            if part.total and part.gone.isdisjoint(self.encoding.bdd.support(found)):
                continue  # it would say nothing: most sets are about few brokers' knowledge
            found = cudd.and_exists(found, part.node, part.gone)
            self.budget.spend(self.encoding)
        return found

    def after(self, node: Node) -> Node:
        """States that a step from these leads to."""
        code = self.encoding
        return code.back(self._through(node, self._forwards, code.now))

    def before(self, node: Node) -> Node:
        """States from which a step leads to these."""
        code = self.encoding
        return self._through(code.forth(node), self._backwards, code.later)

    def pick(self, node: Node, near: State | None = None) -> State:
        """One of these states; the more like another, the easier a path is to read."""
        node &= self.held
        for name, value in (near or {}).items():
            if name in self.encoding.places:
                place = self.encoding.places[name].get(key(value))
                same = node & self.encoding.equal(name)[place] if place is not None else self.false
                node = same if same != self.false else node
        return self.encoding.state(self.encoding.bdd.pick(node))
