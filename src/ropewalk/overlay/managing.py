"""An agent's seat in the council: who is master, which policies hold, who numbers which topic.

The parts of `council` are put together here, and what they decide is passed on: mirrors and moves
to the driver as actions, homes of totally ordered topics to `totals`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ropewalk.errors import StoryError
from ropewalk.overlay.carrying import Carrying
from ropewalk.overlay.council.cases import CaseLog
from ropewalk.overlay.council.election import Election
from ropewalk.overlay.council.handover import Frontier
from ropewalk.overlay.council.loads import Load, Loads
from ropewalk.overlay.council.mirrors import Mirrors
from ropewalk.overlay.council.moving import Moving, Order
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.council.words import Appoint, Entry, Restore, Switch
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.draining import Draining
from ropewalk.overlay.events import GiveBack, Happened, MoveItem, Proposed, TakeOver
from ropewalk.overlay.order.notes import NeedsTerm
from ropewalk.overlay.parts import NEVER, Office, Part
from ropewalk.overlay.rules import matches
from ropewalk.overlay.setup import Setup
from ropewalk.overlay.totals import Totals

if TYPE_CHECKING:
    from ropewalk.overlay.agent import Agent

GROUP = "federation"


class Homes:
    """Sees to it that every totally ordered topic has a home that lives; a `Part`.

    A term of a total order is one more than the number of the decision that began it.
    """

    def __init__(self, office: Office, log: CaseLog, totals: Totals) -> None:
        self._office, self._log, self._totals = office, log, totals
        self._gone: dict[str, int] = {}
        """Since when a topic's home cannot be reached."""
        self._asked: dict[str, tuple[int, int]] = {}
        """The term whose end was proposed, and when."""
        self.wake_us = NEVER
        log.listeners.append(self._decided)

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """All that matters is in the log's records."""
        del records
        self.wake_us = now_us + self._log.pace.grace_us if self._totals.topics else NEVER

    def records(self) -> tuple[Any, ...]:
        """Nothing of its own."""
        return ()

    def heard(self, now_us: int, sender: int, body: Any) -> bool:
        """A home asks for a new term."""
        if not isinstance(body, NeedsTerm):
            return False
        if self._totals.homes.get(body.topic) == (sender, body.term):
            self._propose(now_us, body.topic, sender)
        return True

    def changed(self, now_us: int) -> None:
        """Somebody has gone or come back."""
        if self._totals.topics:
            self.wake_us = min(self.wake_us, now_us + self._log.pace.grace_us)

    def due(self, now_us: int) -> None:
        """Ask for a term where one is needed; as master, replace homes that are gone."""
        self.wake_us = now_us + self._log.pace.grace_us if self._totals.topics else NEVER
        reachable, master = self._office.reachable(), self._log.election.master
        for topic, (home, term) in self._totals.homes.items():
            if home in reachable:
                self._gone.pop(topic, None)
                stuck = home == self._office.me and self._totals.sequencer.needs(topic)
                if stuck and master is not None:
                    self._office.note(master, NeedsTerm(topic, term))
            elif now_us - self._gone.setdefault(topic, now_us) >= self._log.pace.grace_us:
                self._propose(now_us, topic, min(reachable))

    def _propose(self, now_us: int, topic: str, home: int) -> None:
        term = self._totals.homes[topic][1]
        before, asked_us = self._asked.get(topic, (0, 0))
        pause = 4 * self._log.pace.grace_us
        if not self._log.current or (before == term and now_us - asked_us < pause):
            return
        if self._log.propose(now_us, Appoint(topic, home)) is not None:
            self._asked[topic] = (term, now_us)

    def _decided(self, now_us: int, entry: Entry) -> None:
        del now_us
        if isinstance(entry.body, Appoint):
            self._totals.appointed(entry.body.topic, entry.body.home, entry.number + 1)


class Managing:
    """The council as one agent has it."""

    def __init__(self, deck: Deck, agent: "Agent", setup: Setup) -> None:
        self._deck, self._agent, self._rules = deck, agent, setup.rules
        office = agent.book
        members, names = sorted(deck.chart.members), deck.chart.names
        pace, first = setup.council or Pace(), setup.preference
        self.election = Election(office, members, pace, group=GROUP, preference=first)
        self.log = CaseLog(office, self.election)
        self.homes = Homes(office, self.log, agent.totals)
        self.carrying = Carrying(deck, setup.rules, agent.interests, agent.keeper, setup.items)
        self.mirrors = Mirrors(
            office,
            self.log,
            names,
            take=self._take,
            give_back=self._give_back,
            move=self._move,
        )
        self.moving = Moving(
            office,
            names,
            act=self._act,
            delivered=self._frontier,
            on_end=lambda now, item, moved: self.mirrors.ended(now, item, moved=moved),
            objection=self._objection,
        )
        self.draining = Draining(
            deck, office, agent.keeper, agent.arrivals, agent.interests, self.carrying.drained
        )
        self.carrying.moving, self.carrying.draining = self.moving, self.draining
        self.carrying.on_interest = self._adopt
        self._adopted: set[str] = set()
        self._stay: set[str] = set()
        """Items of which it was told that they cannot go."""
        if setup.items:
            agent.front.carrying = self.carrying
            agent.arrivals.forwarded = self.carrying.forwarded
        self.log.listeners.append(self._decided)
        self.loads = Loads(deck, office)
        self.parts: list[Part] = [self.election, self.log, self.homes, self.mirrors]
        self.parts += [self.moving, self.carrying, self.draining, self.loads]

    def proposed(self, event: Proposed) -> None:
        """A new case base from the planner; only a master can have it decided."""
        if self.log.propose_cases(self._deck.now_us, event.text, event.version) is None:
            self._deck.tell("not the master", self.election.master)

    def move(self, event: MoveItem) -> None:
        """An item is to go to another broker with its clients."""
        clients = event.clients or self.carrying.clients_of(event.item)
        self._begin(event.item, event.to, clients)

    def _begin(self, item: str, to: int, clients: tuple[str, ...]) -> bool:
        """Whether an item can go: clients go with it, and have to be disconnected for that."""
        if not clients or self._agent.setup.disconnects:
            self._stay.discard(item)
            self.moving.begin(self._deck.now_us, item, to, clients)
            return True
        if item not in self._stay:
            self._stay.add(item)
            self._deck.tell("clients stay here: this broker cannot disconnect them", item)
        return False

    def happened(self, event: Happened) -> None:
        """Something that a session ordered is done, or a sample was taken."""
        if isinstance(event.event, Load):
            self.loads.share(event.event)
            return
        try:
            self.moving.happened(self._deck.now_us, event.event)
        except StoryError as error:  # of a session that is over: the driver's answer came late
            self._deck.tell("makes no sense", str(error))

    def _move(self, now_us: int, item: str, to: int) -> None:
        """An item goes home, with the clients that came here meanwhile."""
        if not self._begin(item, to, self.carrying.guests(item)):
            self.mirrors.ended(now_us, item, moved=False)  # Later, when they have left.

    def _take(self, now_us: int, items: tuple[str, ...]) -> None:
        for item in items:
            home = self.mirrors.home(item)
            if home != self._deck.me:
                self.carrying.take_over(item, self.mirrors.gone_since(home, now_us))
        self._deck.out.append(TakeOver(items))

    def _give_back(self, now_us: int, items: tuple[str, ...]) -> None:
        del now_us
        for item in items:
            self.carrying.give_back(item)
        self._deck.out.append(GiveBack(items))

    def _act(self, now_us: int, order: Order) -> None:
        """Orders are carried out when what was written before them is safe."""
        del now_us
        self._agent.book.when_safe(self._deck.written, lambda: self.carrying.do(order))

    def _frontier(self, item: str) -> Frontier:
        topics = self.carrying.items.get(item, ())
        return self.carrying.delivered.frontier(lambda t: any(matches(one, t) for one in topics))

    def _objection(self, item: str) -> str:
        """Why an item cannot come here."""
        for topic in self.carrying.items.get(item, ()):
            rule = self._rules.of(topic)
            if rule.order == "total" or rule.local:
                return f"{topic} is in total order, or of one domain: its readers stay"
        return "" if item in self.carrying.items else f"{item} is not known here"

    def _decided(self, now_us: int, entry: Entry) -> None:
        if isinstance(entry.body, Switch):
            for broker in entry.body.down:
                self.moving.dead(now_us, broker)
            self._adopted = set()
        if isinstance(entry.body, Switch | Restore):
            self._adopt()

    def _adopt(self) -> None:
        """Once for each switch, when the mirror's wish is known here: from then on it gets all."""
        remote, mirrors = self._agent.interests.remote, self.mirrors
        for item, mirror in mirrors.moves.items():
            topics, home = self.carrying.items.get(item, ()), mirrors.home(item)
            mine = mirror == self._deck.me
            if item in self._adopted or home not in mirrors.down or home is None:
                continue
            if mine or all(mirror in remote.get(topic, ()) for topic in topics):
                self._adopted.add(item)
                self.carrying.adopt(item, home, mirror)
