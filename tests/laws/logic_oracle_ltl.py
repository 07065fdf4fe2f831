"""LTL with past, twice: on one word that repeats, and on all fair paths of a graph.

The two have nothing in common but the atoms. A word is evaluated bottom up: each part of the
formula is a row of truth values that repeats in the end. For a graph, the formula's negation is
carried along the path as a set of obligations; the past is a few bits that are kept up to date, and
a future that stands within a past is guessed at each step and made an obligation.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import product
from typing import Any

from ropewalk.verify.logic.model import State
from ropewalk.verify.logic.syntax import FALSE, LTL, TRUE, Case, Expr, Op
from tests.laws.logic_oracle_paths import Pairs, fair_components, fair_loop, reaching, way
from tests.laws.logic_oracle_values import NONE, Defines, timed, truth

MOST_NODES = 400_000


@dataclass
class Row:
    """Truth values at the places of a word: some, then some that repeat for ever."""

    before: list[bool]
    again: list[bool]

    def longer(self, size: int) -> "Row":
        """The same with more of it written out: whole rounds."""
        rounds = (size - len(self.before)) // len(self.again)
        return Row(self.before + self.again * rounds, self.again)


def plain(expr: Expr) -> Expr:
    """Choices and comparisons of formulas as operators of truth values."""
    if isinstance(expr, Case) and timed(expr):
        found: Expr = FALSE
        for test, value in reversed(expr.branches):
            found = (test & value) | (~test & found)
        return plain(found)
    if isinstance(expr, Op) and timed(expr):
        op = {"=": "<->", "!=": "xor"}.get(expr.op, expr.op)
        if op == "?":
            return plain(Case(((expr.args[0], expr.args[1]), (TRUE, expr.args[2]))))
        return Op(op, tuple(plain(one) for one in expr.args))
    return expr


def holds_on_lasso(
    formula: Expr, stem: Sequence[State], loop: Sequence[State], defines: Defines = NONE
) -> bool:
    """Whether a formula holds at the start of the word stem, loop, loop, loop..."""
    row = _row(plain(formula), stem, loop, defines)
    return (row.before + row.again)[0]


def _row(formula: Expr, stem: Sequence[State], loop: Sequence[State], defines: Defines) -> Row:
    if not timed(formula):
        return Row(
            [truth(formula, one, None, defines) for one in stem],
            [truth(formula, one, None, defines) for one in loop],
        )
    assert isinstance(formula, Op)
    rows = [_row(one, stem, loop, defines) for one in formula.args]
    size = max(len(one.before) for one in rows)
    rows = [one.longer(size) for one in rows]
    op, p, q = formula.op, rows[0], rows[-1]
    if op == "!":
        return Row([not one for one in p.before], [not one for one in p.again])
    if op in BOTH:
        return Row(
            [BOTH[op](a, b) for a, b in zip(p.before, q.before, strict=True)],
            [BOTH[op](a, b) for a, b in zip(p.again, q.again, strict=True)],
        )
    if op == "X":
        every = p.before + p.again
        return Row(every[1 : size + 1], [*every[size + 1 :], p.again[0]])
    if op in LATER:
        return _backward(*LATER[op], p, q)
    if op in EARLIER:
        return _forward(*EARLIER[op], p, q)
    raise ValueError(f"not an operator of LTL: {op}")


Join = Callable[[bool, bool], bool]
Step = Callable[[bool, bool, bool], bool]
BOTH: dict[str, Join] = {
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    "xor": lambda a, b: a != b,
    "->": lambda a, b: b if a else True,
    "<->": lambda a, b: a == b,
}
LATER: dict[str, tuple[bool, Step]] = {
    # What is taken for granted about what never happens; then p, q and what comes next.
    "F": (False, lambda p, q, on: p or on),
    "G": (True, lambda p, q, on: p and on),
    "U": (False, lambda p, q, on: q or (p and on)),
    "W": (True, lambda p, q, on: q or (p and on)),
    "R": (True, lambda p, q, on: q and (p or on)),
}
EARLIER: dict[str, tuple[bool, Step, bool]] = {
    # What is so before the start; then p, q and what was before; whether that is p or the result.
    "Y": (False, lambda p, q, was: was, True),
    "Z": (True, lambda p, q, was: was, True),
    "O": (False, lambda p, q, was: p or was, False),
    "H": (True, lambda p, q, was: p and was, False),
    "S": (False, lambda p, q, was: q or (p and was), False),
    "T": (True, lambda p, q, was: q and (p or was), False),
}
assert {*LATER, *EARLIER, "X"} == LTL


def _backward(end: bool, step: Step, p: Row, q: Row) -> Row:
    """From what is true of the end of time, twice around the loop, then to the start."""
    on = end
    for _ in range(2):
        again = []
        for a, b in zip(reversed(p.again), reversed(q.again), strict=True):
            on = step(a, b, on)
            again.append(on)
    before = []
    for a, b in zip(reversed(p.before), reversed(q.before), strict=True):
        on = step(a, b, on)
        before.append(on)
    return Row(before[::-1], again[::-1])


def _forward(start: bool, step: Step, keeps_p: bool, p: Row, q: Row) -> Row:
    """From the start, and around the loop until a round begins as the one before it did."""
    was = start

    def run(ps: list[bool], qs: list[bool]) -> list[bool]:
        nonlocal was
        found = []
        for a, b in zip(ps, qs, strict=True):
            found.append(step(a, b, was))
            was = a if keeps_p else found[-1]
        return found

    before = run(p.before, q.before)
    while True:
        begun = was
        again = run(p.again, q.again)
        if was == begun:
            return Row(before, again)
        before += again


Core = tuple[Any, ...]
"""("atom", n), ("const", b), ("not", f), ("and" | "or", f, g), ("X" | "Y", f), ("U" | "S", f, g);
as obligations, ("is", atom or past, b) and ("R", f, g) in place of "not"."""
YES: Core = ("const", True)
Expansion = tuple[frozenset[Core], tuple[bool, ...], frozenset[Core]]
Node = tuple[int, frozenset[Core], tuple[bool, ...], frozenset[Core]]


def _no(one: Core) -> Core:
    return ("not", one)


class Watcher:
    """Obligations along a path for one formula to be true of it."""

    def __init__(self, formula: Expr, true: Callable[[Expr, int], bool]) -> None:
        self.true = true
        self.atoms: list[Expr] = []
        self.pasts: list[Core] = []
        self.guesses: list[Core] = []
        self.first = self.core(plain(formula))
        self._past(self.first)
        self.made: dict[tuple[int, frozenset[Core], tuple[bool, ...]], list[Expansion]] = {}

    def core(self, formula: Expr) -> Core:
        """The formula with X, U, Y and S only."""
        if not timed(formula):
            if formula not in self.atoms:
                self.atoms.append(formula)
            return ("atom", self.atoms.index(formula))
        assert isinstance(formula, Op)
        p, q = self.core(formula.args[0]), self.core(formula.args[-1])
        made: dict[str, Core] = {
            "!": _no(p),
            "&": ("and", p, q),
            "|": ("or", p, q),
            "->": ("or", _no(p), q),
            "<->": ("or", ("and", p, q), ("and", _no(p), _no(q))),
            "xor": ("or", ("and", p, _no(q)), ("and", _no(p), q)),
            "X": ("X", p),
            "F": ("U", YES, p),
            "G": _no(("U", YES, _no(p))),
            "U": ("U", p, q),
            "R": _no(("U", _no(p), _no(q))),
            "W": _no(("U", _no(q), ("and", _no(p), _no(q)))),
            "Y": ("Y", p),
            "Z": _no(("Y", _no(p))),
            "O": ("S", YES, p),
            "H": _no(("S", YES, _no(p))),
            "S": ("S", p, q),
            "T": _no(("S", _no(p), _no(q))),
        }
        return made[formula.op]

    def _past(self, one: Core, within: bool = False) -> None:
        """Notes the pasts, the inner ones first, and the futures that they speak of."""
        if one[0] in ("const", "atom"):
            return
        for part in one[1:]:
            self._past(part, one[0] in ("Y", "S") or (within and one[0] not in ("X", "U")))
        if one[0] in ("Y", "S") and one not in self.pasts:
            self.pasts.append(one)
        if one[0] in ("X", "U") and within and one not in self.guesses:
            self.guesses.append(one)

    def owed(self, one: Core, wanted: bool) -> Core:
        """An obligation, with negations at atoms and pasts only."""
        kind = one[0]
        if kind == "const":
            return ("const", one[1] == wanted)
        if kind in ("atom", "Y", "S"):
            return ("is", one, wanted)
        if kind == "not":
            return self.owed(one[1], not wanted)
        parts = tuple(self.owed(part, wanted) for part in one[1:])
        dual = {"and": "or", "or": "and", "X": "X", "U": "R"}
        return (kind if wanted else dual[kind], *parts)

    def expanded(self, at: int, owed: frozenset[Core], bits: tuple[bool, ...]) -> list[Expansion]:
        """Ways to meet obligations in a state: what is owed next, the past's bits, what was put off."""
        key = (at, owed, bits)
        if key not in self.made:
            found: set[Expansion] = set()
            for guess in product((False, True), repeat=len(self.guesses)):
                guessed = dict(zip(self.guesses, guess, strict=True))
                known, kept = self._now(at, guessed, bits)
                more = [self.owed(one, value) for one, value in guessed.items()]
                for later, put_off in self._met(at, [*owed, *more], known):
                    found.add((later, kept, put_off))
            # Who owes less, and has put off less, can do what another can.
            self.made[key] = [
                one
                for one in found
                if not any(
                    other != one
                    and other[1] == one[1]
                    and other[0] <= one[0]
                    and other[2] <= one[2]
                    for other in found
                )
            ]
        return self.made[key]

    def _now(
        self, at: int, guessed: dict[Core, bool], bits: tuple[bool, ...]
    ) -> tuple[dict[Core, bool], tuple[bool, ...]]:
        """What the pasts are worth now, and the bits to keep of them."""
        known: dict[Core, bool] = {}
        kept: list[bool] = []

        def worth(one: Core) -> bool:
            if one[0] == "const":
                return bool(one[1])
            if one[0] == "atom":
                return self.true(self.atoms[one[1]], at)
            if one[0] == "not":
                return not worth(one[1])
            if one[0] == "and":
                return worth(one[1]) and worth(one[2])
            if one[0] == "or":
                return worth(one[1]) or worth(one[2])
            return known[one] if one[0] in ("Y", "S") else guessed[one]

        for one, bit in zip(self.pasts, bits, strict=True):
            if one[0] == "Y":
                known[one] = bit
                kept.append(worth(one[1]))
            else:
                known[one] = worth(one[2]) or (worth(one[1]) and bit)
                kept.append(known[one])
        return known, tuple(kept)

    def _met(
        self, at: int, owed: list[Core], known: dict[Core, bool]
    ) -> set[tuple[frozenset[Core], frozenset[Core]]]:
        found: set[tuple[frozenset[Core], frozenset[Core]]] = set()
        none: frozenset[Core] = frozenset()
        waiting = [(owed, none, none, none)]
        while waiting:
            todo, seen, later, put_off = waiting.pop()
            if not todo:
                found.add((later, put_off))
                continue
            one, rest = todo[-1], todo[:-1]
            kind = one[0]
            if one in seen:
                waiting.append((rest, seen, later, put_off))
                continue
            seen |= {one}
            if kind == "const":
                if one[1]:
                    waiting.append((rest, seen, later, put_off))
            elif kind == "is":
                of = one[1]
                value = self.true(self.atoms[of[1]], at) if of[0] == "atom" else known[of]
                if value == one[2]:
                    waiting.append((rest, seen, later, put_off))
            elif kind == "and":
                waiting.append(([*rest, one[1], one[2]], seen, later, put_off))
            elif kind == "or":
                waiting += [([*rest, part], seen, later, put_off) for part in one[1:]]
            elif kind == "X":
                waiting.append((rest, seen, later | {one[1]}, put_off))
            elif kind == "U":
                waiting.append(([*rest, one[2]], seen, later, put_off))
                waiting.append(([*rest, one[1]], seen, later | {one}, put_off | {one}))
            else:
                waiting.append(([*rest, one[2], one[1]], seen, later, put_off))
                waiting.append(([*rest, one[2]], seen, later | {one}, put_off))
        return found


def fair_path(
    formula: Expr,
    initial: Sequence[int],
    graph: Sequence[Sequence[int]],
    true: Callable[[Expr, int], bool],
    justice: Sequence[AbstractSet[int]],
    compassion: Pairs,
) -> tuple[list[int], list[int]] | None:
    """A fair path for which a formula is true, as a stem and a loop, if there is one."""
    every = set(range(len(graph)))
    stays = {n for one in fair_components(every, graph, justice, compassion) for n in one}
    useful = reaching(stays, every, graph)
    watcher = Watcher(formula, true)
    nodes: list[Node] = []
    places: dict[Node, int] = {}
    arrows: list[list[int]] = []

    def places_of(at: int, owed: frozenset[Core], bits: tuple[bool, ...]) -> list[int]:
        found = []
        for later, kept, put_off in watcher.expanded(at, owed, bits) if at in useful else ():
            node = (at, later, kept, put_off)
            if node not in places:
                places[node] = len(nodes)
                nodes.append(node)
            found.append(places[node])
        return found

    first = frozenset((watcher.owed(watcher.first, True),))
    starts = [n for at in initial for n in places_of(at, first, (False,) * len(watcher.pasts))]
    while len(arrows) < len(nodes):
        at, owed, bits, _ = nodes[len(arrows)]
        arrows.append([n for other in graph[at] for n in places_of(other, owed, bits)])
        if len(nodes) > MOST_NODES:
            raise MemoryError("the formula is too large for this oracle")

    def where(states: AbstractSet[int]) -> set[int]:
        return {n for n, node in enumerate(nodes) if node[0] in states}

    untils = {one for node in nodes for one in node[3]}
    goals = [
        *(where(one) for one in justice),
        *({n for n, node in enumerate(nodes) if one not in node[3]} for one in untils),
    ]
    pairs = [(where(p), where(q)) for p, q in compassion]
    everywhere = set(range(len(nodes)))
    for one in fair_components(everywhere, arrows, goals, pairs):
        stem = way(starts, one, everywhere, arrows)
        loop = fair_loop(stem[-1], one, arrows, goals, pairs)
        return [nodes[n][0] for n in stem[:-1]], [nodes[n][0] for n in loop]
    return None
