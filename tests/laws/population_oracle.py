"""Populations of a few clients, explored client by client: what the reduction to nets is held to.

Nothing of the reduction or of the replay is used here. A client is a tuple of numbers, sets are
bits; clients of a configuration are sorted, as it does not matter which is which.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations_with_replacement, product
from typing import NamedTuple

from ropewalk.verify.population.clients.facts import Need, Pattern, Population, Step
from ropewalk.verify.population.net import Net, covers, fired
from ropewalk.verify.population.run import Run


class One(NamedTuple):
    kind: int
    at: int
    state: int
    on: bool
    topics: int
    got: int
    due: int
    missed: int


Ways = tuple[tuple[int, int, int, int], ...]
"""Messages between brokers: from, to, topic, message."""


class World(NamedTuple):
    clients: tuple[One, ...]
    kept: tuple[int, ...]
    """What is retained: at broker x number of topics + topic."""
    ways: Ways


class Oracle:
    """All that a population of a given size can do."""

    def __init__(self, population: Population, *, most_ways: int = 2) -> None:
        self.population, self.most_ways = population, most_ways
        self.kinds = list(population.kinds.values())
        self.topics = list(population.topics.values())
        self.messages = list(population.messages)
        self.brokers = list(population.brokers)
        self.beside = {
            (i, j): [self.brokers.index(one) for one in population.beside(broker, topic.name)]
            for i, broker in enumerate(self.brokers)
            for j, topic in enumerate(self.topics)
        }

    def starts(self, numbers: Mapping[str, int]) -> Iterator[World]:
        """All worlds with so many clients of each kind at the start."""
        nothing = (0,) * (len(self.brokers) * len(self.topics))
        for way in product(
            *(
                combinations_with_replacement(kind.at, numbers.get(kind.name, 0))
                for kind in self.kinds
            )
        ):
            clients = [
                One(
                    i, self.brokers.index(at), kind.states.index(kind.start), True,
                    self._topics(kind.subscribed), 0, 0, 0,
                )
                for i, (kind, places) in enumerate(zip(self.kinds, way, strict=True))
                for at in places
            ]  # fmt: skip
            yield World(tuple(sorted(clients)), nothing, ())

    def reaches(
        self, pattern: Pattern, numbers: Mapping[str, int], *, most: int = 20_000
    ) -> bool | None:
        """Whether the pattern comes about; None if more worlds than `most` would be needed."""
        seen = set(self.starts(numbers))
        waiting = deque(seen)
        while waiting:
            world = waiting.popleft()
            if self.bad(world, pattern):
                return True
            for after in self.successors(world):
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
            if len(seen) > most:
                return None
        return False

    # --- what may happen ----------------------------------------------------------------------

    def successors(self, world: World) -> Iterator[World]:
        clients = world.clients
        for i, one in enumerate(clients):
            if i and clients[i - 1] == one:
                continue  # the same as the one before
            others = clients[:i] + clients[i + 1 :]
            kind = self.kinds[one.kind]
            if not one.on:
                if kind.connection == "reconnects":
                    state = kind.states.index(kind.returns) if kind.returns else one.state
                    yield self._with(world, others, one._replace(on=True, state=state))
                continue
            if kind.connection != "stable":
                yield self._with(world, others, self._cut(one))
            for after in self._notified(one):
                yield self._with(world, others, after)
            for step in kind.steps:
                yield from self._stepped(world, others, one, step)
        for way in set(world.ways):
            left = list(world.ways)
            left.remove(way)
            source, target, topic, message = way
            rest = world._replace(ways=tuple(left))
            yield from self._published(rest, clients, None, (target, topic, message), source)

    def _with(self, world: World, others: tuple[One, ...], one: One) -> World:
        return world._replace(clients=tuple(sorted((*others, one))))

    def _stepped(
        self, world: World, others: tuple[One, ...], one: One, step: Step
    ) -> Iterator[World]:
        kind = self.kinds[one.kind]
        if kind.states[one.state] != step.source:
            return
        needs, hates = self._messages(step.received), self._messages(step.not_received)
        if needs & ~one.got or hates & one.got:
            return
        got = one.got & ~self._messages(step.forget)
        after = one._replace(state=kind.states.index(step.target), got=got)
        leaving = self._topics(step.unsubscribe)
        for topic, message in self._pairs(after.due):
            if leaving >> topic & 1:
                after = self._passed_by(after, topic, message)
        after = after._replace(topics=after.topics & ~leaving | self._topics(step.subscribe))
        for topic in range(len(self.topics)):
            if self._topics(step.subscribe) >> topic & 1:
                kept = world.kept[one.at * len(self.topics) + topic]
                after = after._replace(got=after.got | kept, missed=after.missed & ~kept)
        if not step.publish:
            yield self._with(world, others, after)
            return
        topic = [one.name for one in self.topics].index(step.on)
        notice = one.at, topic, self.messages.index(step.publish)
        yield from self._published(world, others, after, notice, None)

    def _published(
        self,
        world: World,
        others: tuple[One, ...],
        publisher: One | None,
        notice: tuple[int, int, int],
        source: int | None,
    ) -> Iterator[World]:
        """A broker has a message for its clients and for the brokers beside it."""
        at, topic, message = notice
        kept, cell = list(world.kept), at * len(self.topics) + topic
        if self.topics[topic].semantics == "retained":
            before = kept[cell] if self.topics[topic].retain == "all" else 0
            kept[cell] = before | 1 << message
        ways = [(at, one, topic, message) for one in self.beside[at, topic] if one != source]
        if len(world.ways) + len(ways) > self.most_ways:
            return
        all_ways = tuple(sorted((*world.ways, *ways)))
        chances = [self._fates(one, at, topic, message) for one in others]
        if publisher is not None and self.topics[topic].echo:
            chances.append(self._fates(publisher, at, topic, message))
        elif publisher is not None:
            chances.append([publisher])
        for clients in {tuple(sorted(some)) for some in product(*chances)}:
            yield World(clients, tuple(kept), all_ways)

    def _fates(self, one: One, at: int, topic: int, message: int) -> list[One]:
        """What a message may do to a client."""
        if one.at != at or not one.topics >> topic & 1:
            return [one]
        said = self.topics[topic]
        waits = one._replace(due=one.due | 1 << topic * len(self.messages) + message)
        missing = one._replace(missed=one.missed | 1 << message)
        if not one.on:
            return [waits if self._queues(one) else missing]
        if said.notification == "asynchronous":
            return [waits]
        if said.semantics == "global":
            return [self._reached(one, message), missing, self._cut(missing)]
        return [self._reached(one, message)]

    def _notified(self, one: One) -> Iterator[One]:
        """What may come of notifications that are under way."""
        for topic, message in self._pairs(one.due):
            left = self._passed_by(one, topic, message)
            yield self._reached(left, message)._replace(
                missed=one.missed & ~(1 << message)  # it was not passed by after all
            )
            if self.topics[topic].semantics == "global":
                yield left
                yield self._cut(left)

    def _reached(self, one: One, message: int) -> One:
        return one._replace(got=one.got | 1 << message, missed=one.missed & ~(1 << message))

    def _passed_by(self, one: One, topic: int, message: int) -> One:
        due = one.due & ~(1 << topic * len(self.messages) + message)
        return one._replace(due=due, missed=one.missed | 1 << message)

    def _cut(self, one: One) -> One:
        if not self._queues(one):
            for topic, message in self._pairs(one.due):
                one = self._passed_by(one, topic, message)
        if self.kinds[one.kind].session == "clean":
            one = one._replace(topics=0)
        return one._replace(on=False)

    def _queues(self, one: One) -> bool:
        kind = self.kinds[one.kind]
        return kind.session == "queued" and kind.connection == "reconnects"

    # --- what is bad --------------------------------------------------------------------------

    def bad(self, world: World, pattern: Pattern) -> bool:
        slots = [need for need in pattern.needs for _ in range(need.at_least)]
        return self._seated(list(world.clients), slots)

    def _seated(self, clients: list[One], slots: list[Need]) -> bool:
        if not slots:
            return True
        return any(
            self._meets(one, slots[0]) and self._seated(clients[:i] + clients[i + 1 :], slots[1:])
            for i, one in enumerate(clients)
            if clients.index(one) == i
        )

    def _meets(self, one: One, need: Need) -> bool:
        kind = self.kinds[one.kind]
        return all(
            (
                kind.name in need.kinds,
                not need.states or kind.states[one.state] in need.states,
                not need.at or self.brokers[one.at] in need.at,
                need.connected is None or need.connected is one.on,
                self._topics(need.subscribed) & ~one.topics == 0,
                self._topics(need.not_subscribed) & one.topics == 0,
                self._messages(need.received) & ~one.got == 0,
                self._messages(need.not_received) & one.got == 0,
                self._messages(need.missed) & ~one.missed == 0,
            )
        )

    # --- numbers ------------------------------------------------------------------------------

    def _topics(self, some: frozenset[str]) -> int:
        return _bits(some, tuple(one.name for one in self.topics))

    def _messages(self, some: frozenset[str]) -> int:
        return _bits(some, tuple(self.messages))

    def _pairs(self, due: int) -> list[tuple[int, int]]:
        width = len(self.messages)
        return [
            (topic, message)
            for topic in range(len(self.topics))
            for message in range(width)
            if due >> topic * width + message & 1
        ]


@cache
def _bits(some: frozenset[str], names: tuple[str, ...]) -> int:
    return sum(1 << i for i, name in enumerate(names) if name in some)


def sizes(population: Population, most: int) -> Iterator[dict[str, int]]:
    """All numbers of clients that the population allows, up to `most` together, small ones first."""
    kinds = list(population.kinds.values())
    ranges = [range(one.least, (most if one.open else one.least) + 1) for one in kinds]
    for some in sorted(product(*ranges), key=sum):
        if sum(some) <= most:
            yield {kind.name: count for kind, count in zip(kinds, some, strict=True)}


def unsafe(
    population: Population, pattern: Pattern, *, clients: int = 3, most: int = 20_000
) -> bool | None:
    """Whether up to so many clients reach the pattern; None if that was too much to explore."""
    oracle, open = Oracle(population), False
    for numbers in sizes(population, clients):
        found = oracle.reaches(pattern, numbers, most=most)
        if found:
            return True
        open |= found is None
    return None if open else False


# --- nets, token by token ----------------------------------------------------------------------


def run_of(
    net: Net,
    start: Mapping[int, int],
    *,
    most: int = 100_000,
    most_of: Mapping[int, int] | None = None,
) -> Run | bool | None:
    """A run to a target from a marking; False if there is none, None if there is too much.

    Places of `most_of` are not followed to more tokens than that.
    """
    first = tuple(sorted((place, count) for place, count in start.items() if count))
    came: dict[tuple[tuple[int, int], ...], tuple[tuple[tuple[int, int], ...], int] | None]
    came, waiting = {first: None}, deque([first])
    while waiting:
        marking = waiting.popleft()
        now = dict(marking)
        if any(covers(now, target) for target in net.targets):
            steps = []
            while (before := came[marking]) is not None:
                marking, number = before
                steps.append((number, 1))
            return Run(dict(first), tuple(reversed(steps)))
        for i, rule in enumerate(net.rules):
            if any(now.get(place, 0) < count for place, count in rule.needs):
                continue
            then = fired(rule, now)
            assert then is not None
            if any(then.get(place, 0) > count for place, count in (most_of or {}).items()):
                continue
            after = tuple(sorted((place, count) for place, count in then.items() if count))
            if after not in came:
                came[after] = marking, i
                waiting.append(after)
        if len(came) > most:
            return None
    return False
