"""A population to a net: places for clients that are alike, as far as they can be reached.

Delzanno 2019 moves subscriptions and received messages into the control states, of which there are
as many as there are sets of them. Here places and rules are found together from the start on:
a place is made when some rule that was made can put a token there.

A publication is a rule with transfer arcs. Where it divides subscribers (the paper's publish_e), a
token of `free` is taken, and while it is gone nothing else happens: first any of those that are
subscribed may fail, then any may be reached, then the token comes back. The paper moves the three
classes to auxiliary places to keep them apart. There is no need: who has failed is not connected,
and so is not reached; that who is reached does not fail later follows from the order; and who is
reached twice is as if it were once. The publisher waits in a place of its own, as it is not
notified (if it is, by `echo`, it chooses last).
"""

from collections import defaultdict, deque
from collections.abc import Callable
from itertools import product
from typing import NamedTuple, TypeVar

from ropewalk.errors import PopulationError
from ropewalk.findings import Finding, Where
from ropewalk.verify.population.clients.effects import Effects
from ropewalk.verify.population.clients.facts import Pattern, Population, Step
from ropewalk.verify.population.clients.places import (
    FREE,
    PLACING,
    Cell,
    Client,
    Held,
    Key,
    Notice,
    Phase,
    Waiting,
    Way,
    bits,
    mask,
)
from ropewalk.verify.population.clients.slicing import Slice

MOST = 200_000
"""More places or rules than this are refused."""


class Act(NamedTuple):
    """What a rule stands for."""

    what: str
    source: Key | None = None
    """Where the client is that does it, and where it is then."""
    target: Key | None = None
    step: Step | None = None
    notice: Notice | None = None
    way: Way | None = None


class Spec(NamedTuple):
    """A rule before its places are all known."""

    act: Act
    takes: tuple[Key, ...]
    gives: tuple[Key, ...]
    needs: tuple[Key, ...] = ()
    tells: Notice | None = None
    """What brokers tell all their clients about at once."""
    gated: bool = True
    """Whether it may only happen while nobody's subscribers are being divided."""


Cells = tuple[tuple[int, int], ...]
"""Retained values that a rule looks at: brokers and topics."""
Make = Callable[[tuple[int, ...]], None]
K = TypeVar("K", bound=Key)


class Flattening:
    """Places and rules, found from the start on."""

    def __init__(self, population: Population, pattern: Pattern, *, most: int = MOST) -> None:
        self.population, self.pattern, self.most = population, pattern, most
        self.slice = Slice(population, pattern)
        self.effects = Effects(population, self.slice)
        self.topics, self.kinds = self.effects.topics, self.effects.kinds
        self.brokers = {name: i for i, name in enumerate(population.brokers)}
        self.numbers: dict[Key, int] = {}
        self.specs: list[Spec] = []
        self.start: dict[Key, int] = {}
        self.open: set[Key] = set()
        self.live: dict[tuple[int, int], list[Notice]] = defaultdict(list)
        self.listeners: dict[tuple[int, int], list[Client]] = defaultdict(list)
        self._queue: deque[Key] = deque()
        self._retaining: set[tuple[int, int]] = set()
        self._known: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._makes: dict[tuple[int, int], list[tuple[Cells, Make]]] = defaultdict(list)
        self._begin()
        while self._queue:
            self._explore(self._queue.popleft())

    def told(self, notice: Notice) -> dict[Client, Client]:
        """Where all clients go that a broker tells something."""
        found = {}
        for one in self.listeners[notice.at, notice.topic]:
            after = self.effects.told(one, notice.topic, notice.message)
            if after is not None and after != one:
                found[one] = after
        return found

    # --- the start ----------------------------------------------------------------------------

    def _begin(self) -> None:
        asked = {name for kind in self.kinds for step in kind.steps for name in step.subscribe}
        for topic, one in enumerate(self.topics):
            if one.retained and one.name in asked and self.slice.worth(topic):
                for at in self.brokers.values():
                    self._retaining.add((at, topic))
                    self.start[self._add(Cell(at, topic, 0))] = 1
        placing = False
        for number, kind in enumerate(self.kinds):
            places = self._starts(number)
            if not places:
                continue
            if len(places) > 1 and not kind.open:  # how many go where is chosen before all else
                placing = True
                self.start[self._add(Waiting(number))] = kind.least
                for place in places:
                    act = Act("place", Waiting(number), place)
                    self._rule(Spec(act, (Waiting(number),), (place,), (PLACING,), gated=False))
                continue
            for place in places:
                self._add(place)
                # Where more may come, at least so many are no more than any number: nets are
                # monotone. So they are not divided among the brokers.
                self.start[place] = kind.least if len(places) == 1 else 0
                if kind.open:
                    self.open.add(place)
        if placing:
            self.start[self._add(PLACING)] = 1
            self._rule(Spec(Act("begin"), (PLACING,), (FREE,), gated=False))

    def _starts(self, number: int) -> list[Client]:
        kind = self.kinds[number]
        topics = mask(kind.subscribed, tuple(self.population.topics))
        found = [
            self.slice.normal(
                Client(number, kind.states.index(kind.start), self.brokers[at], True, topics, 0)
            )
            for at in kind.at
        ]
        return [one for one in dict.fromkeys(found) if one is not None]

    # --- finding places -----------------------------------------------------------------------

    def _add(self, key: K) -> K:
        if key not in self.numbers:
            self.numbers[key] = len(self.numbers)
            self._queue.append(key)
            self._bounded(len(self.numbers), "places")
        return key

    def _rule(self, spec: Spec) -> None:
        for key in (*spec.takes, *spec.gives, *spec.needs):
            self._add(key)
        self.specs.append(spec)
        self._bounded(len(self.specs), "rules")
        if spec.tells is not None:
            self._tell(spec.tells)

    def _bounded(self, count: int, what: str) -> None:
        if count > self.most:
            message = f"for {self.pattern.name} it has more than {self.most:,} {what}"
            fix = "ask about fewer messages, or let clients forget what they no longer need"
            where = Where(self.population.file, self.pattern.line)
            raise PopulationError([Finding("N013", f"{message}: {fix}", where)])

    def _explore(self, key: Key) -> None:
        match key:
            case Client():
                self._client(key)
            case Cell():
                self._cell(key)
            case Way():
                self._with_cells(*self._arrival(key))
            case Phase(notice, "fail"):
                act = Act("divided", notice=notice)
                self._rule(Spec(act, (key,), (Phase(notice, "reach"),), gated=False))
            case Held():
                self._done(key)

    def _cell(self, new: Cell) -> None:
        where = new.at, new.topic
        self._known[where].append(new.kept)
        for cells, make in list(self._makes[where]):
            some = [[new.kept] if one == where else self._known[one] for one in cells]
            for values in list(product(*some)):
                make(values)

    def _with_cells(self, cells: Cells, make: Make) -> None:
        """Make a rule for all values that brokers may retain there, now and later."""
        for one in cells:
            self._makes[one].append((cells, make))
        for values in list(product(*(self._known[one] for one in cells))):
            make(values)

    # --- what clients do ----------------------------------------------------------------------

    def _client(self, one: Client) -> None:
        for topic in bits(one.topics):
            self.listeners[one.at, topic].append(one)
            for notice in self.live[one.at, topic]:
                self._notify(one, notice)
        effects = self.effects
        if not one.on:
            if self.kinds[one.kind].connection == "reconnects":
                self._alone("back", one, effects.back(one))
            return
        for step in self.kinds[one.kind].steps:
            if effects.may(one, step):
                self._with_cells(*self._step(one, step))
        if self.kinds[one.kind].breaks:
            self._alone("cut", one, effects.cut(one))
        for topic, message in effects.under_way(one):
            notice = Notice(one.at, topic, message)
            self._alone("deliver", one, effects.arrived(one, topic, message), notice)
            if self.topics[topic].semantics == "global":
                self._alone("drop", one, effects.dropped(one, topic, message), notice)
                self._alone("fail", one, effects.failed(one, topic, message), notice)

    def _alone(
        self, what: str, one: Client, after: Client | None, notice: Notice | None = None
    ) -> None:
        """What happens to one client; where it would matter no more, it may as well not."""
        if after is not None and after != one:
            self._rule(Spec(Act(what, one, after, notice=notice), (one,), (after,)))

    def _step(self, one: Client, step: Step) -> tuple[Cells, Make]:
        if step.publish:
            return self._publication(one, step)
        cells = tuple(
            (one.at, topic)
            for topic in bits(mask(step.subscribe, tuple(self.population.topics)))
            if (one.at, topic) in self._retaining
        )

        def make(values: tuple[int, ...]) -> None:
            retained = 0
            for value in values:
                retained |= value
            after = self.effects.stepped(one, step, retained)
            if after is not None and after != one:
                needs = tuple(Cell(*c, value) for c, value in zip(cells, values, strict=True))
                self._rule(Spec(Act("step", one, after, step), (one,), (after,), needs))

        return cells, make

    def _publication(self, one: Client, step: Step) -> tuple[Cells, Make]:
        topic = list(self.population.topics).index(step.on)
        message = self.population.messages.index(step.publish)
        notice, after = Notice(one.at, topic, message), self.effects.stepped(one, step)
        echo = self.topics[topic].echo and after is not None
        if echo and after is not None:
            after = self.effects.told(after, topic, message)
        onward = self._onward(notice, None)

        def make(values: tuple[int, ...]) -> None:
            takes, gives = self._kept(notice, values)
            if self.topics[topic].splits:
                held = Held(notice, after)
                act = Act("step", one, held, step, notice)
                parts = Phase(notice, "fail"), held
                self._rule(
                    Spec(act, (one, FREE, *takes), (*parts, *gives, *onward), (), notice, False)
                )
            else:
                act = Act("step", one, after, step, notice)
                stays = () if after is None else (after,)
                self._rule(Spec(act, (one, *takes), (*stays, *gives, *onward), (), notice))

        return self._cells(notice), make

    def _arrival(self, way: Way) -> tuple[Cells, Make]:
        notice = Notice(way.target, way.topic, way.message)
        act = Act("arrive", notice=notice, way=way)
        onward = self._onward(notice, way.source)

        def make(values: tuple[int, ...]) -> None:
            takes, gives = self._kept(notice, values)
            if self.topics[way.topic].splits:
                parts = Phase(notice, "fail"), Held(notice, None)
                self._rule(
                    Spec(act, (way, FREE, *takes), (*parts, *gives, *onward), (), notice, False)
                )
            else:
                self._rule(Spec(act, (way, *takes), (*gives, *onward), (), notice))

        return self._cells(notice), make

    # --- what brokers do ----------------------------------------------------------------------

    def _cells(self, notice: Notice) -> Cells:
        where = notice.at, notice.topic
        return (where,) if where in self._retaining else ()

    def _kept(
        self, notice: Notice, values: tuple[int, ...]
    ) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
        """What a broker retained and what it retains then."""
        if not values:
            return (), ()
        where, [before] = (notice.at, notice.topic), values
        after = before if self.topics[notice.topic].retain == "all" else 0
        after |= 1 << notice.message & self.slice.worth(notice.topic)
        return (Cell(*where, before),), (Cell(*where, after),)

    def _onward(self, notice: Notice, source: int | None) -> tuple[Way, ...]:
        """Messages to the next brokers, but not back to the one that they came from."""
        if not self.slice.asked(notice.message, notice.topic):
            return ()
        names, topic = self.population.brokers, self.topics[notice.topic].name
        beside = [self.brokers[one] for one in self.population.beside(names[notice.at], topic)]
        return tuple(
            Way(notice.at, one, notice.topic, notice.message) for one in beside if one != source
        )

    def _tell(self, notice: Notice) -> None:
        """From now on a broker may tell its clients about this."""
        where = notice.at, notice.topic
        if notice not in self.live[where]:
            self.live[where].append(notice)
            for one in list(self.listeners[where]):
                self._notify(one, notice)

    def _notify(self, one: Client, notice: Notice) -> None:
        after = self.effects.told(one, notice.topic, notice.message)
        if after is None:
            return
        self._add(after)
        if self.topics[notice.topic].splits and one.on and after == one:
            reached = self.effects.reached(one, notice.message)
            for part, then in (
                (Phase(notice, "fail"), self.effects.cut(one)),
                (Phase(notice, "reach"), reached),
            ):
                if then is not None and then != one:
                    act = Act(f"{part.part}ing", one, then, notice=notice)
                    self._rule(Spec(act, (one,), (then,), (part,), gated=False))

    def _done(self, held: Held) -> None:
        """A publication is over; with echo, the publisher is reached, or fails, or neither."""
        takes = Phase(held.notice, "reach"), held
        ends = [held.client]
        one, (_, topic, message) = held.client, held.notice
        if one is not None and self.topics[topic].echo and one.topics >> topic & 1:
            ends += [self.effects.reached(one, message), self.effects.cut(one)]
        for what, end in zip(("done", "echoed", "echo failed"), ends, strict=False):
            if end is not None or what == "done":
                act = Act(what, held, end, notice=held.notice)
                stays = () if end is None else (end,)
                self._rule(Spec(act, takes, (FREE, *stays), gated=False))
