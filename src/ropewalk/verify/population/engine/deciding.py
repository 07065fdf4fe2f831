"""All engines on one net: what matters of it, then each in turns, until one has an answer.

The first turns are short and go round: most nets fall to signs, to one linear program, or to a few
hundred markings. What is left goes on in two lanes, which may run beside each other: forward limits
in one, backward and directed search in the other. Every answer is checked on the whole net before
it is given; one that fails is not told, and the search goes on without its engine.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Literal

from ropewalk.verify.population.engine.arrays import start_of
from ropewalk.verify.population.engine.backward import Backward
from ropewalk.verify.population.engine.condensing import condensed
from ropewalk.verify.population.engine.continuous import Continuous
from ropewalk.verify.population.engine.directed import Directed
from ropewalk.verify.population.engine.forward import Forward
from ropewalk.verify.population.engine.slicing import sliced
from ropewalk.verify.population.engine.unfolding import Way, unfolded
from ropewalk.verify.population.engine.verdict import (
    Answer,
    Basis,
    GaveUp,
    Invariant,
    Limits,
    Safe,
    Unsafe,
)
from ropewalk.verify.population.evidence import objection, replayed
from ropewalk.verify.population.evidence.runs import RefusedRunError
from ropewalk.verify.population.net import Amounts, Net, rule_of
from ropewalk.verify.population.run import Run

Lane = Literal["limits", "aimed"]
LANES: tuple[Lane, ...] = ("limits", "aimed")

FIRST_S = 1.5
"""How long engines go round before the lanes part."""
SLOT_S, SLOT = 0.1, 32
"""An engine's share of a round: turns for so long, and at most so many."""
LONG, SHORTER_S = 60, 2.0
"""For a run of more steps a shorter one is looked for, so long."""

Turn = Callable[[], Answer | Way | None]


class Deciding:
    """A net that is being decided; `clock` counts seconds, and it is given up at `until`."""

    def __init__(
        self, net: Net, clock: Callable[[], float] = lambda: 0.0, until: float = float("inf")
    ) -> None:
        self.net, self._clock, self._until = net, clock, until
        self._slice = sliced(net)
        inner = self._slice.net
        self.failed: list[GaveUp] = []
        """Engines that have come to an end without an answer."""
        if inner.targets:
            self._forward, self._directed = Forward(inner), Directed(inner)
            start = self._forward.raised()[0]
            self._backward, self._before = Backward(inner, start), Way((), {}, -1)

    def first(self) -> Answer | None:
        """Short turns of all engines; None if that was not enough."""
        if not self._slice.net.targets:
            return self._told(Safe("signs", Basis()))
        begun = self._clock()
        engines = (self._step_back, self._directed.turn, self._forward.turn)
        answer = None
        for turns, answer in enumerate(self._sides(*engines), start=1):
            over = self._clock() >= min(self._until, begun + FIRST_S)
            if answer is not None or (over and turns >= len(engines)):
                break
        if answer is None:
            self._raise_start()
        return answer

    def lane(self, lane: Lane) -> Iterator[Answer | None]:
        """Go on in a lane: what it has found after each turn, until it has found an answer."""
        if lane == "limits":
            return self._sides(self._forward.turn)
        return self._sides(self._step_back, self._directed.turn)

    def alone(self, lane: Lane) -> Answer:
        """The first turns, then this lane alone; GaveUp says why it has no answer."""
        answer = self.first()
        for found in self.lane(lane) if answer is None else ():
            answer = found or self.out_of_time()
            if answer is not None:
                break
        return answer or self.why_not()

    def out_of_time(self) -> GaveUp | None:
        """That time is over, if it is."""
        return GaveUp("", "out of time") if self._clock() >= self._until else None

    def why_not(self) -> GaveUp:
        """Why there is no answer."""
        return GaveUp("", "; ".join(f"{one.method}: {one.reason}" for one in self.failed))

    def _sides(self, *turns: Turn) -> Iterator[Answer | None]:
        """Turns of some engines, round and round; those that give up are left out."""
        left = list(turns)
        while left:
            for turn in tuple(left):
                try:
                    answer = self._slot(turn)
                    told = None if answer is None else self._told(self._run(answer))
                except RecursionError:
                    told = GaveUp("", "loops are too deep within each other")
                if isinstance(told, GaveUp):
                    self.failed.append(told)
                    left.remove(turn)
                    told = None
                yield told
                if told is not None:
                    return

    def _slot(self, turn: Turn) -> Answer | Way | None:
        begun = self._clock()
        for _ in range(SLOT):
            answer = turn()
            if answer is not None or self._clock() > begun + SLOT_S:
                return answer
        return None

    def _step_back(self) -> Answer | Way | None:
        found = self._backward.turn()
        return found.after(self._before) if isinstance(found, Way) else found

    def _run(self, answer: Answer | Way) -> Answer:
        """A run along a way; if it is long, a shorter one is looked for some time."""
        if not isinstance(answer, Way):
            return answer
        method = "forward limits" if answer.loops else "backward search"
        inner = self._slice.net
        run = None
        if answer.loops and not inner.moving:
            shorter_until = self._clock() + SHORTER_S
            run = unfolded(inner, condensed(inner, answer, lambda: self._clock() < shorter_until))
        run = run or unfolded(inner, answer)
        if run and run.length <= LONG:
            return Unsafe(method, run)
        shorter = self._search(self._clock() + SHORTER_S if run else self._until)
        if isinstance(shorter, Unsafe):
            return shorter
        if run:
            return Unsafe(method, run)
        return GaveUp(method, "a target can be reached, but no run there could be told")

    def _search(self, until: float) -> Answer | None:
        found = self._directed.turn()
        while found is None and self._clock() < min(until, self._until):
            found = self._directed.turn()
        return found

    def _raise_start(self) -> None:
        """What the forward search has found to be without bound need not be demanded."""
        start, way = self._forward.raised()
        if way.steps:
            self._backward, self._before = Backward(self._slice.net, start), way

    def _told(self, answer: Answer) -> Answer:
        """An answer in terms of the whole net, if its evidence holds there."""
        if isinstance(answer, Unsafe):
            run = self._outside(answer.run)
            try:
                replayed(self.net, run)
            except RefusedRunError as error:
                return GaveUp(answer.method, f"its run does not hold: {error}")
            return replace(answer, run=run)
        if isinstance(answer, Safe):
            invariant = self._widened(answer.invariant)
            wrong = objection(self.net, invariant)
            if wrong:
                return GaveUp(answer.method, f"its invariant does not hold: {wrong}")
            return Safe(_method(answer, invariant), invariant)
        return answer

    def _outside(self, run: Run) -> Run:
        start = {place: count for place, count in enumerate(self.net.start) if count}
        for place, count in run.start.items():
            start[self._slice.places[place]] = count
        return Run(start, run.renamed(self._slice.rules))

    def _widened(self, invariant: Invariant) -> Invariant:
        empty = tuple(sorted(self._slice.never))
        if isinstance(invariant, Limits):
            places = [self._slice.places[place] for place in invariant.places]
            order = sorted(range(len(places)), key=places.__getitem__)
            columns = tuple(places[column] for column in order)
            return Limits(columns, invariant.rows[:, order], empty)
        return Basis(
            tuple(map(self._renamed, invariant.demands)),
            tuple(map(self._renamed, invariant.bounds)),
            tuple(
                (self._renamed(demand), tuple(map(self._renamed, proof)))
                for demand, proof in invariant.excluded
            ),
            empty,
        )

    def _renamed(self, given: Amounts) -> Amounts:
        return tuple(sorted((self._slice.places[place], count) for place, count in given))


@cache
def prepare() -> None:
    """Load kernels and the solver once, for a process that is about to fork; it solves nothing."""
    for name in ("highspy", "scipy.sparse"):
        import_module(name)
    net = Net(("a", "b"), (rule_of("go", takes={0: 1}, gives={1: 1}),), (1, 0), frozenset(), ())
    found = Forward(net).turn()
    assert isinstance(found, Safe)  # noqa: S101
    objection(net, found.invariant)
    objection(net, Basis(demands=(((1, 2),),)))
    Continuous(net, start_of(net)).signs_exclude(((1, 2),))
    Backward(replace(net, targets=(((1, 2),),)), start_of(net), prune=False).turn()


def decide(
    net: Net, clock: Callable[[], float] = lambda: 0.0, until: float = float("inf")
) -> Answer:
    """Decide a net, with all engines in turns; GaveUp says why there is no answer."""
    deciding = Deciding(net, clock, until)
    answer = deciding.first()
    lanes = [deciding.lane(lane) for lane in LANES] if answer is None else []
    while answer is None and lanes:
        answer = deciding.out_of_time()
        for lane in tuple(lanes):
            try:
                answer = answer or next(lane)
            except StopIteration:
                lanes.remove(lane)
    return answer or deciding.why_not()


def _method(answer: Safe, invariant: Invariant) -> str:
    """What a basis comes to: it may have turned out that weights alone, or signs, are enough."""
    if isinstance(invariant, Limits) or invariant.demands:
        return answer.method
    if invariant.excluded:
        return "continuous reachability"
    return "state equation" if invariant.bounds else "signs"
