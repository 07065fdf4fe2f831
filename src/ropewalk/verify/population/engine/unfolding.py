"""From a way with loops that go on "as often as it takes" to a run in exact numbers.

Backwards from the target: what is demanded tells how often each loop has to be gone through. A run
of loops in loops may be longer than can be written down; then it is told as steps in a row that
happen so many times. With moves that cannot be told backwards, so loops are gone through more and
more often until the target is covered.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ropewalk.verify.population.engine.demands import Demand, demand_before
from ropewalk.verify.population.engine.shortening import shortened
from ropewalk.verify.population.net import Net
from ropewalk.verify.population.run import Run, Step

MOST_STEPS = 50_000
"""A longer run is told as steps in a row."""
OFTEN = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 48, 120, 240)


@dataclass(frozen=True, slots=True)
class Way:
    """Steps to a target: a rule's number, or -1 - a loop's; each loop has steps of its own."""

    steps: tuple[int, ...]
    loops: Mapping[int, Sequence[int]]
    target: int

    def after(self, before: "Way") -> "Way":
        """This way behind another one."""
        return Way((*before.steps, *self.steps), {**before.loops, **self.loops}, self.target)

    def renamed(self, rules: Sequence[int]) -> "Way":
        """The same way in a net whose rules have other numbers."""

        def one(step: int) -> int:
            return step if step < 0 else rules[step]

        loops = {loop: [one(step) for step in steps] for loop, steps in self.loops.items()}
        return Way(tuple(map(one, self.steps)), loops, self.target)


class _TooLong(Exception):  # noqa: N818 - nothing that leaves this module
    """A run would have too many steps."""


def unfolded(net: Net, way: Way) -> Run | None:
    """A run along a way to a target; None if there is none of a length that can be told."""
    if net.moving:
        return _tried(net, way)
    steps, demand = demanded(net, way)
    run = Run(_start(net, demand), steps)
    if run.length <= MOST_STEPS:
        return shortened(net, [rule for rule, times in run.flat() for _ in range(times)])
    return run if enough(net, demand) else None


def demanded(net: Net, way: Way) -> tuple[tuple[Step, ...], Demand]:
    """What to do along a way to cover its target, and what that demands at the start."""
    return _Backwards(net, way).steps()


def enough(net: Net, demand: Demand) -> bool:
    """Whether a net starts with what is demanded."""
    return all(place in net.open or net.start[place] >= count for place, count in demand.items())


def _start(net: Net, demand: Demand) -> Demand:
    start = {place: count for place, count in enumerate(net.start) if count}
    for place in net.open:
        if demand.get(place, 0) > start.get(place, 0):
            start[place] = demand[place]
    return start


def _tried(net: Net, way: Way) -> Run | None:
    try:
        for times in OFTEN:
            run = shortened(net, list(_forwards(way.steps, way.loops, times)))
            if run is not None:
                return run
    except _TooLong:
        pass
    return None


def _forwards(
    steps: Sequence[int], loops: Mapping[int, Sequence[int]], times: int
) -> Iterator[int]:
    """Every step, with each loop gone through so many times."""
    count = 0
    for step in steps:
        if step >= 0:
            inner: Iterator[int] = iter((step,))
        else:
            again = loops[-1 - step]
            inner = (one for _ in range(times) for one in _forwards(again, loops, times))
        for one in inner:
            count += 1
            if count > MOST_STEPS:
                raise _TooLong
            yield one


@dataclass(frozen=True, slots=True)
class _Block:
    """Steps that are made several times in a row, with what they need and bring each time."""

    items: tuple["int | _Block", ...]
    times: int
    need: Demand
    gain: Demand

    def all_times(self) -> tuple[Demand, Demand]:
        """What all the times together need and bring."""
        again = self.times - 1
        need = {
            place: count - min(again * self.gain.get(place, 0), 0)
            for place, count in self.need.items()
        }
        return need, {place: self.times * change for place, change in self.gain.items()}


_Once = tuple[tuple["int | _Block", ...], Demand, Demand]
"""Steps, what they need, and what they bring."""


class _Backwards:
    """How often each loop has to be gone through, from what is demanded at its end."""

    def __init__(self, net: Net, way: Way) -> None:
        self._net, self._way = net, way
        self._gains: dict[int, set[int]] = {}
        self._known: dict[tuple[int, tuple[tuple[int, int], ...]], _Once] = {}

    def steps(self) -> tuple[tuple[Step, ...], Demand]:
        """What to do to cover the target, and what that demands at the start."""
        items, demand = self._back(self._way.steps, dict(self._net.targets[self._way.target]))
        return _written(items, {}), demand

    def _back(
        self, steps: Sequence[int], demand: Demand
    ) -> tuple[tuple["int | _Block", ...], Demand]:
        """What is done for a demand, and what is demanded before it."""
        items, demand = list["int | _Block"](), dict(demand)
        for step in reversed(steps):
            if step < 0:
                items += self._loop(-1 - step, demand)
                continue
            items.append(step)
            rule = self._net.rules[step]
            demand_before(demand, dict(rule.needs), dict(rule.changes))
        return tuple(reversed(items)), demand

    def _loop(self, loop: int, demand: Demand) -> Iterator[_Block]:
        """A loop as often as it lessens what is demanded, which is changed to what is before it.

        Each time it is asked for as little as possible: first for nothing but going through it,
        then for one token more of what that does not bring.
        """
        gains = self._gained(loop)
        asked = Demand()
        while any(demand.get(place, 0) > 0 for place in gains):
            items, need, gain = self._once(loop, asked)
            lacks = {place: demand.get(place, 0) - need.get(place, 0) for place in gains}
            lacks = {place: count for place, count in lacks.items() if count > 0}
            times = max(
                (
                    -(-count // gain[place])
                    for place, count in lacks.items()
                    if gain.get(place, 0) > 0
                ),
                default=0,
            )
            if times:
                block = _Block(items, times, need, gain)
                demand_before(demand, *block.all_times())
                yield block
            more = {place: need.get(place, 0) + 1 for place in lacks if gain.get(place, 0) <= 0}
            if not more.keys() - asked.keys():
                return
            asked |= more

    def _once(self, loop: int, asked: Demand) -> "_Once":
        """What going through a loop once is, if so much is asked of it; the same every time."""
        key = loop, tuple(sorted(asked.items()))
        if key not in self._known:
            items, _ = self._back(self._way.loops[loop], asked)
            self._known[key] = items, *self._sum(items)
        return self._known[key]

    def _sum(self, items: Sequence["int | _Block"]) -> tuple[Demand, Demand]:
        """What steps need and bring together."""
        need, gain = Demand(), Demand()
        for item in items:
            if isinstance(item, int):
                rule = self._net.rules[item]
                needs, changes = dict(rule.needs), dict(rule.changes)
            else:
                needs, changes = item.all_times()
            for place, count in needs.items():
                need[place] = max(need.get(place, 0), count - gain.get(place, 0))
            for place, change in changes.items():
                gain[place] = gain.get(place, 0) + change
        return need, gain

    def _gained(self, loop: int) -> set[int]:
        """Places that a loop brings tokens to each time."""
        if loop not in self._gains:
            total: dict[int, int] = {}
            always = set[int]()
            for step in self._way.loops[loop]:
                if step < 0:
                    always |= self._gained(-1 - step)
                    continue
                for place, change in self._net.rules[step].changes:
                    total[place] = total.get(place, 0) + change
            self._gains[loop] = always | {place for place, sum_ in total.items() if sum_ > 0}
        return self._gains[loop]


def _written(
    items: tuple["int | _Block", ...], known: dict[int, tuple[Step, ...]]
) -> tuple[Step, ...]:
    """What is done, as steps; the same items are the same object there, too."""
    if id(items) not in known:
        known[id(items)] = tuple(
            (item, 1) if isinstance(item, int) else (_written(item.items, known), item.times)
            for item in items
        )
    return known[id(items)]


def rules_of(steps: tuple[Step, ...]) -> set[int]:
    """The rules that steps are made of."""
    found, waiting, seen = set[int](), [steps], set[int]()
    while waiting:
        some = waiting.pop()
        if id(some) in seen:
            continue
        seen.add(id(some))
        for one, _ in some:
            if isinstance(one, int):
                found.add(one)
            else:
                waiting.append(one)
    return found
