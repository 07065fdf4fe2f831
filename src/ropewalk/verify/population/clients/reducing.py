"""A population and one of its bad patterns as a net, and back: a run of the net as a story."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ropewalk.errors import UsageError
from ropewalk.verify.population.clients.facts import Pattern, Population
from ropewalk.verify.population.clients.flattening import MOST, Act, Flattening, Spec
from ropewalk.verify.population.clients.naming import Naming
from ropewalk.verify.population.clients.notes import near
from ropewalk.verify.population.clients.patterns import MOST_TARGETS, Meeting, few, judged, listed
from ropewalk.verify.population.clients.places import (
    FREE,
    JUDGING,
    PLACING,
    Client,
    Key,
    Phase,
    Seen,
    Waiting,
)
from ropewalk.verify.population.clients.telling import Story, told
from ropewalk.verify.population.clients.translating import choices_of
from ropewalk.verify.population.net import Amounts, Net, Rule, rule_of
from ropewalk.verify.population.run import Run

Moves = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Reduced:
    """A population as a net whose targets are one bad pattern."""

    population: Population
    pattern: Pattern
    net: Net
    keys: tuple[Key, ...]
    """What each place stands for."""
    acts: tuple[Act, ...]
    """What each rule stands for."""

    def clients(self, start: Mapping[int, int]) -> dict[str, int]:
        """How many clients of each kind there are in a marking at the start."""
        kinds = tuple(self.population.kinds.values())
        found = {kind.name: 0 for kind in kinds}
        for place, count in start.items():
            key = self.keys[place]
            if isinstance(key, Client | Waiting):
                found[kinds[key.kind].name] += count
        # Clients that cannot matter have no places; there are as few as may be.
        return {kind.name: max(found[kind.name], kind.least) for kind in kinds}

    def tell(self, run: Run) -> Story:
        """A run of the net as what single clients do, checked against the model.

        Raises StoryError, if the model does not allow it, or if it does not end badly.
        """
        begun, choices = choices_of(self.population, self.net, self.keys, self.acts, run)
        return told(self.population, self.pattern, begun, choices)


def reduced(population: Population, *, most: int = MOST) -> tuple[Reduced, ...]:
    """A net for each bad pattern; raises PopulationError, if one is too large."""
    return tuple(reduce(population, name, most=most) for name in population.patterns)


def reduce(
    population: Population, bad: str, *, most: int = MOST, targets: int = MOST_TARGETS
) -> Reduced:
    """A net that covers its targets if and only if the bad pattern can come about.

    Raises PopulationError, if it is too large; UsageError, if no pattern has this name.
    """
    if bad not in population.patterns:
        known = near(bad, population.patterns)
        raise UsageError(f"{population.name} has no bad pattern {bad!r}: {known}")
    pattern = population.patterns[bad]
    flat = Flattening(population, pattern, most=most)
    number = dict(flat.numbers)
    places = Meeting(population).places(pattern.needs, number)
    judge = not few(pattern.needs, places, targets)
    specs = flat.specs + (_judging(places) if judge else [])
    if judge:
        more: list[Key] = [FREE, JUDGING, *(Seen(i) for i in range(len(places)))]
        for key in more:
            number.setdefault(key, len(number))
    gated = judge or any(isinstance(key, Phase) or key == PLACING for key in number)
    if gated:
        number.setdefault(FREE, len(number))
    rules = _rules(flat, specs, number, gated=gated)
    start = dict(flat.start)
    if gated and PLACING not in start:
        start[FREE] = 1
    net = Net(
        _names(population, number),
        tuple(rule for rule, _ in rules),
        tuple(start.get(key, 0) for key in number),
        frozenset(number[key] for key in flat.open),
        bads := _targets(pattern, places, number, judge=judge),
        population.name,
        (bad,) * len(bads),
    )
    return Reduced(population, pattern, net, tuple(number), tuple(act for _, act in rules))


def _targets(
    pattern: Pattern, places: list[list[Client]], number: dict[Key, int], *, judge: bool
) -> tuple[Amounts, ...]:
    return judged(pattern.needs, number) if judge else listed(pattern.needs, places, number)


def _judging(places: list[list[Client]]) -> list[Spec]:
    found = [Spec(Act("judge"), (FREE,), (JUDGING,), gated=False)]
    for i, some in enumerate(places):
        for one in some:
            act = Act("seen", one, Seen(i))
            found.append(Spec(act, (one,), (Seen(i),), (JUDGING,), gated=False))
    return found


def _names(population: Population, keys: Mapping[Key, int]) -> tuple[str, ...]:
    naming = Naming(population)
    return tuple(naming.place(key) for key in keys)


def _rules(
    flat: Flattening, specs: list[Spec], number: Mapping[Key, int], *, gated: bool
) -> list[tuple[Rule, Act]]:
    """The rules, without those that change nothing or are there already."""
    naming, (moves, shared) = Naming(flat.population), _moves(flat, number)
    made: dict[tuple[object, ...], tuple[Rule, Act]] = {}
    for spec in specs:
        needs = {number[key]: 1 for key in spec.needs}
        if gated and spec.gated:
            needs[number[FREE]] = 1
        takes, moved = _counted(spec.takes, number), moves.get(spec.tells, {})
        rule = rule_of(
            naming.rule(spec.act),
            takes=takes,
            gives=_counted(spec.gives, number),
            needs=needs,
            moves={place: moved[place] for place in takes if place in moved},
            line=spec.act.step.line if spec.act.step is not None else 0,
        )
        if moved:  # thousands of publishers may have the same subscribers, who are moved with them
            rule = replace(rule, moves=shared[spec.tells])
        if rule.changes or rule.moves:
            # To compare thousands of moves for each rule would take hours: equal ones are the same.
            same = rule.needs, rule.changes, id(rule.moves) if rule.moves else 0
            made.setdefault(same, (rule, spec.act))
    return list(made.values())


def _moves(
    flat: Flattening, number: Mapping[Key, int]
) -> tuple[dict[object, dict[int, int]], dict[object, Moves]]:
    """Where clients go that are told something, by what they are told; as pairs, too.

    Equal pairs are one object, so that rules can be compared by it.
    """
    moves: dict[object, dict[int, int]] = {}
    for notice in (one for some in flat.live.values() for one in some):
        found = flat.told(notice)
        moves[notice] = {number[one]: number[after] for one, after in found.items()}
    known: dict[Moves, Moves] = {}
    pairs = {key: tuple(sorted(some.items())) for key, some in moves.items()}
    return moves, {key: known.setdefault(one, one) for key, one in pairs.items()}


def _counted(keys: tuple[Key, ...], number: Mapping[Key, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for key in keys:
        found[number[key]] = found.get(number[key], 0) + 1
    return found
