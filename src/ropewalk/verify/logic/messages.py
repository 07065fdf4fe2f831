"""The part of a model that a message is: where it is, where it came from, whether it has arrived.

A message goes by the tables of the broker it is at, in the colour that this broker believes in; if
it carries what was known on its way, the newer of the two. What a dead broker had is sent again
from where it was published, or lost; what has no way on waits there, or is lost.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ropewalk.federation.arrays import Ints
from ropewalk.verify.logic.asking import LOST, NOWHERE, Key
from ropewalk.verify.logic.colours import COLOUR, Colours
from ropewalk.verify.logic.syntax import (
    FALSE,
    TRUE,
    Case,
    Const,
    Expr,
    Lookup,
    Name,
    Op,
    Value,
    disj,
    equals,
)
from ropewalk.verify.logic.world import World
from ropewalk.verify.takeover import GONE

STUCK = "stuck"
"""The hop of who has none."""
YES_OR_NO: tuple[Value, ...] = (False, True)


@dataclass(frozen=True, eq=False, slots=True)
class Course:
    """A message to one destination: from where, and how every broker would send it on."""

    key: Key
    dest: int
    sources: tuple[int, ...]
    to: tuple[int, ...]
    """Where its subscribers are, in each scenario."""
    hops: Ints
    """Next hops, scenario x broker; -1 for none."""
    brokers: tuple[int, ...]
    """Where it can get to."""


def course(world: World, key: Key, dest: int, sources: Sequence[int]) -> Course:
    """A course; its sources' messages all meet the same tables."""
    to = world.homes_in(dest, "subscriber")
    hops = world.hops(to, sources[0])
    reached, waiting = set(sources), list(sources)
    while waiting:
        for hop in np.unique(hops[:, waiting.pop()]).tolist():
            if hop >= 0 and hop not in reached:
                reached.add(hop)
                waiting.append(hop)
    return Course(key, dest, tuple(sources), tuple(to), hops, tuple(sorted(reached)))


def signature(world: World, one: Course, k: int) -> tuple[object, ...]:
    """All that a scenario means to a message: scenarios with the same are one colour."""
    joined = world.working(k)
    target = one.to[k]
    working = [
        (u, hop, world.links[u, hop] in world.cut[k])
        for u in one.brokers
        for hop in np.unique(one.hops[:, u]).tolist()
        if hop >= 0 and hop != u
    ]
    reachable = [target != GONE and bool(joined[u, target]) for u in one.brokers]
    dead = world.down[k].intersection(one.brokers)
    return one.hops[k, list(one.brokers)].tobytes(), target, tuple(working), tuple(reachable), dead


@dataclass(slots=True)
class Rules:
    """Variables and what becomes of them; see `model.Model`."""

    domains: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    init: dict[str, Expr] = field(default_factory=dict)
    next: dict[str, Expr] = field(default_factory=dict)
    always: dict[str, Expr] = field(default_factory=dict)
    defines: dict[str, Expr] = field(default_factory=dict)
    starts: list[Expr] = field(default_factory=list)
    fair: list[Expr] = field(default_factory=list)
    frozen: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Message:
    """A message's variables, all with the same ending where there are several messages."""

    world: World
    colours: Colours
    course: Course
    ending: str
    rules: Rules
    wanted: frozenset[str]
    """Atoms that are asked after."""

    def name(self, what: str) -> str:
        """A variable's name."""
        return what + self.ending

    @property
    def changing(self) -> bool:
        """Whether anything that matters to it can fail."""
        return len(self.colours) > 1

    @property
    def free(self) -> bool:
        """Whether it may take its time."""
        return self.changing and self.world.manner.timing == "free"

    @property
    def carrying(self) -> bool:
        """Whether it carries what was known on its way."""
        return self.free and self.world.manner.forwarding == "carrying"

    @property
    def resend(self) -> bool:
        """Whether what is dropped is sent again."""
        return self.changing and self.world.manner.resend

    def add(self) -> None:
        """Its variables, with their rules."""
        names = [self.world.names[u] for u in self.course.brokers]
        loc = self.name("loc")
        self.rules.domains[loc] = (*names, *(() if self.resend else (LOST,)))
        sources = [self.world.names[s] for s in self.course.sources]
        self._add_source(loc, sources)
        if self.changing:
            self._add_done()
        if self.free:
            self.rules.domains[self.name("go")] = (False, True)
            self.rules.fair.append(Name(self.name("go")))
        self.rules.next[loc] = self._step(loc)
        self.rules.defines[self.name("delivered")] = self.delivered()
        if self.wanted & {"came", "bounced"}:
            self._add_past(loc, names)

    def _add_source(self, loc: str, sources: list[str]) -> None:
        if len(sources) == 1:
            self.rules.init[loc] = Const(sources[0])
        elif "from" in self.wanted or self.resend:
            src = self.name("src")
            self.rules.domains[src] = tuple(sources)
            self.rules.frozen.add(src)
            self.rules.init[loc] = Name(src)
        else:
            self.rules.starts.append(disj([equals(loc, one) for one in sources]))

    def source(self) -> Expr:
        """Where it was published."""
        if self.name("src") in self.rules.domains:
            return Name(self.name("src"))
        return Const(self.world.names[self.course.sources[0]])

    def _add_done(self) -> None:
        done = self.name("done")
        self.rules.domains[done] = (False, True)
        self.rules.init[done] = FALSE
        self.rules.next[done] = Name(self.name("delivered"))

    def delivered(self) -> Expr:
        """That it is, or was, where its subscribers are."""
        there = [u for u in self.course.brokers if u in self.course.to]
        here = [self._here(u) & self._arrived(u) for u in there]
        arrived = disj(here)
        return Name(self.name("done")) | arrived if self.changing else arrived

    def _here(self, u: int) -> Expr:
        return equals(self.name("loc"), self.world.names[u])

    def _arrived(self, u: int) -> Expr:
        targets = [self.course.to[k] == u for k in self.colours.scenarios]

        def there(belief: str) -> Expr:
            return self.colours.by(belief, targets)

        return self._believed(u, there) & self.colours.up(u)

    def _believed(self, u: int, make: Callable[[str], Expr]) -> Expr:
        """What follows from the colour that counts at a broker."""
        if not self.free:
            return make(COLOUR)
        own = knows(self.world.names[u])
        return self._newest(own, make) if self.carrying else make(own)

    def _newest(self, own: str, make: Callable[[str], Expr]) -> Expr:
        """What follows from the newer of two beliefs: a broker's, and what the message carries.

        Of two that are both out of date it is the broker's: as long as nothing changes before all
        have heard of the last change, that is the newer one.
        """
        carried = self.name("carries")
        current = _same(own, COLOUR) | _same(carried, COLOUR)
        return Case(((current, make(COLOUR)), (TRUE, make(own))))

    def _step(self, loc: str) -> Expr:
        """Where it is after the step: its broker's table says so, if broker and link work."""
        at, hop, colour = Name(loc), Name(self.name("hop")), Name(COLOUR)
        self._add_helpers(loc)
        branches: list[tuple[Expr, Expr]] = []
        if self.free:
            branches.append((~Name(self.name("go")), at))
        branches.append((Name(self.name("delivered")), at))
        stuck: Expr = at if self.resend else Const(LOST)
        if self.changing:
            gone = self.source() if self.resend else Const(LOST)
            branches.append((Lookup((at, colour), self._dead(), YES_OR_NO), gone))
            branches.append((Lookup((at, hop, colour), self._blocked(), YES_OR_NO), stuck))
        branches.append((equals(hop.name, STUCK), stuck))
        return Case((*branches, (TRUE, hop)))

    def _add_helpers(self, loc: str) -> None:
        """What the broker it is at believes, what counts then, and where its table points."""
        places = self.rules.domains[loc]
        counts, hop = COLOUR, self.name("hop")
        if self.free:
            counts = held = self.name("held")
            own = [(self._here(u), Name(knows(self.world.names[u]))) for u in self.course.brokers]
            last = Name(knows(self.world.names[self.course.brokers[-1]]))
            self._help(held, self.colours.names, Case((*own[:-1], (TRUE, last))))
        if self.carrying:
            counts = self.name("counts")
            self._help(counts, self.colours.names, self._newest(self.name("held"), Name))
            self._add_carried(counts)
        names = tuple(self.world.names[u] for u in self.course.brokers)
        table = np.full((len(places), len(self.colours)), len(names), np.int64)
        number = {b: i for i, b in enumerate(self.course.brokers)}
        for i, u in enumerate(self.course.brokers):
            hops = [int(self.course.hops[k, u]) for k in self.colours.scenarios]
            table[i] = [number[one] if one >= 0 else len(names) for one in hops]
        domain = (*names, STUCK)
        index: tuple[Name, ...] = (Name(loc), Name(counts))
        if not self.changing:
            index, table = index[:1], table[:, 0]
        self._help(hop, domain, Lookup(index, table, domain))

    def _help(self, name: str, domain: tuple[Value, ...], value: Expr) -> None:
        self.rules.domains[name] = domain
        self.rules.always[name] = value

    def _dead(self) -> npt.NDArray[np.int64]:
        """Whether a broker is down: brokers x colours."""
        places = self.rules.domains[self.name("loc")]
        found = np.zeros((len(places), len(self.colours)), np.int64)
        for i, u in enumerate(self.course.brokers):
            found[i] = [u in self.world.down[k] for k in self.colours.scenarios]
        return found

    def _blocked(self) -> npt.NDArray[np.int64]:
        """Whether a hop cannot be made: brokers x next brokers x colours."""
        brokers = self.course.brokers
        places = self.rules.domains[self.name("loc")]
        found = np.zeros((len(places), len(brokers) + 1, len(self.colours)), np.int64)
        for i, u in enumerate(brokers):
            for j, hop in enumerate(brokers):
                link = self.world.links.get((u, hop))
                if link is not None:
                    found[i, j] = [link in self.world.cut[k] for k in self.colours.scenarios]
        return found

    def _add_carried(self, counts: str) -> None:
        carried = self.name("carries")
        self.rules.domains[carried] = self.colours.names
        self.rules.init[carried] = Const(self.colours.names[0])
        stays = ~Name(self.name("go")) | Name(self.name("delivered"))
        self.rules.next[carried] = Case(((stays, Name(carried)), (TRUE, Name(counts))))

    def _add_past(self, loc: str, names: list[str]) -> None:
        """Where it came from; and whether two brokers have sent it to and fro."""
        came, turned, bounced = (self.name(one) for one in ("came", "turned", "bounced"))
        self.rules.domains[came] = (*names, NOWHERE)
        self.rules.init[came] = Const(NOWHERE)
        after = Name(loc, next=True)
        stays = Op("=", (after, Name(loc)))
        branches: list[tuple[Expr, Expr]] = [(stays, Name(came)), (TRUE, Name(loc))]
        calm: Expr = TRUE
        if self.changing:  # after a change, to go back may well be right
            calm = Op("=", (Name(COLOUR, next=True), Name(COLOUR)))
            branches.insert(0, (~calm, Const(NOWHERE)))
        self.rules.next[came] = Case(tuple(branches))
        if "bounced" not in self.wanted:
            return
        for one in (turned, bounced):
            self.rules.domains[one] = (False, True)
            self.rules.init[one] = FALSE
        back = Op("=", (after, Name(came))) & ~stays
        self.rules.next[turned] = (back | (stays & Name(turned))) & calm
        self.rules.next[bounced] = Name(bounced) | (Name(turned) & back & calm)

    def reachable(self) -> Expr:
        """That a path of working links leads from where it is to its subscribers."""
        parts = []
        for u in self.course.brokers:
            can = [
                self.course.to[k] != GONE and bool(self.world.working(k)[u, self.course.to[k]])
                for k in self.colours.scenarios
            ]
            parts.append(self._here(u) & self.colours.by(COLOUR, can))
        return disj(parts)


def knows(broker: str) -> str:
    """The variable of what a broker believes."""
    return f"knows.{broker}"


def _same(a: str, b: str) -> Expr:
    return Op("=", (Name(a), Name(b)))
