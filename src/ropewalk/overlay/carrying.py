"""The agent's own part in moving an item: nothing is lost or doubled while its clients move.

The target subscribes to the item's topics and buffers what comes; when every reachable origin knows
of it, it is ready. From then on letters go to both brokers, so the source may stop at any moment:
it gives the moving clients nothing more, says what they have got, and sends on what still comes to
it alone. The target leaves out what they have got and keeps the order of streams (`berths`).

Everything that waits is in the log before its origin hears that it has arrived. The driver is asked
for one thing only, to disconnect clients: `Carry` with a `Disconnect`, answered by `Happened`. That
a client has come is seen by its subscription.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ropewalk.overlay.berths import Berth, Carried, Emptied, Held, Quay, SentOn
from ropewalk.overlay.council.handover import Frontier
from ropewalk.overlay.council.moving import Order, Skip
from ropewalk.overlay.custody import Custody
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.events import Carry, Subscribed, Unsubscribed
from ropewalk.overlay.interests import Interests
from ropewalk.overlay.leaving import OWN, Leaving
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.rules import Rules, matches
from ropewalk.overlay.words import Letter
from ropewalk.placement.reactive import session as s
from ropewalk.placement.reactive.arrows import TARGET, Phase

SETTLE_US = 200_000
"""A client that has come subscribes to all that it wants within this time."""
GAP_US = 30_000_000
"""So long a target waits for what only the source has before it goes on without it."""
QUICK_US = 1_000_000
"""Clients may come this long before an agent sees that their broker is dead."""
STRAGGLERS_US = 60_000_000
"""So long a mirror keeps all that comes for clients of a dead broker that have not come yet."""


class Carrying(Leaving):
    """One agent's items on the move; a `Part`."""

    def __init__(
        self,
        deck: Deck,
        rules: Rules,
        interests: Interests,
        custody: Custody,
        items: Mapping[str, tuple[str, ...]],
    ) -> None:
        super().__init__(deck, rules, interests, custody, items)
        self._settling: dict[tuple[s.SessionId, str], int] = {}
        """Clients that have come, and when they count as served."""
        self._arrived: dict[str, tuple[int, Frontier]] = {}
        """Clients of items: when they came, and what had been given to others by then."""
        self.on_interest: Callable[[], None] = lambda: None
        """Told when another broker begins to want something."""
        self.wake_us = NEVER
        interests.own = self._confirmed

    # --- letters ----------------------------------------------------------------------------

    def sift(self, letter: Letter, subscribers: tuple[str, ...]) -> tuple[str, ...]:
        """Those of a topic's subscribers that a letter may be given to at once."""
        items = self.items_of(letter.topic)
        if not items:
            return subscribers
        left = tuple(one for one in subscribers if not one.startswith(OWN))
        for item in items:
            left = self._at_source(item, letter, left)
            left = self._at_target(item, letter, left)
        if left:
            self.delivered.add(letter.id)
        return left

    def _at_target(self, item: str, letter: Letter, left: tuple[str, ...]) -> tuple[str, ...]:
        berth = self.berths.get(item)
        if berth is None:
            return left
        self._came(item, berth, letter)
        return tuple(one for one in left if one not in berth.clients)

    def _came(self, item: str, berth: Berth, letter: Letter) -> None:
        """A letter for clients that have moved here, or are going to."""
        going = berth.admit(letter, self._deck.now_us)
        if berth.holds(letter):
            self._deck.write(Held(item, letter))
        self._give(going, berth.live - berth.early.keys())
        for client in berth.early:
            self._give((one for one in going if not berth.has(client, one.id)), (client,))
        self.wake_us = min(self.wake_us, berth.wake_us)

    def _give(self, letters: Iterable[Letter], clients: Iterable[str]) -> None:
        some = set(clients)
        for letter in letters:
            wanting = self._interests.subscribers(letter.topic)
            to = tuple(one for one in wanting if one in some)
            if to:
                self._deliver(letter, to)

    def forwarded(self, letter: Letter) -> None:
        """A letter that the source sent on: for clients that have moved, and nobody else."""
        for item in self.items_of(letter.topic):
            if (berth := self.berths.get(item)) is not None:
                self._came(item, berth, letter)
            elif item in self.quays:
                self._at_source(item, letter, ())  # They are moving further.
            elif not self.delivered.covers(letter.id):
                clients = set(self.clients_of(item))
                wanting = self._interests.subscribers(letter.topic)
                if to := tuple(one for one in wanting if one in clients):
                    self._deliver(letter, to)

    # --- orders -----------------------------------------------------------------------------

    def do(self, order: Order) -> None:
        """What the mediator orders; each may come twice."""
        match order:
            case s.Buffer(id=id, item=item):
                self._buffer(id, item)
            case Skip(item=item, frontier=frontier):
                self._skip(item, frontier)
            case s.Replay(id=id, item=item, client=client):
                self._replay(id, item, client)
            case s.Flush(item=item):
                self._flush(item)
            case s.DropBuffer(item=item):
                self._drop(item)
            case s.Drain(id=id, item=item):
                self._drain(id, item)
            case s.Resume(item=item):
                self._resume(item)
            case s.Forward(item=item, to=to):
                self._forward(item, self._deck.chart.names.index(to))
            case s.Release(item=item):
                self._release(item)
            case s.Disconnect():
                self._deck.out.append(Carry("", -1, order))
            case s.Report(text=text):
                self._deck.tell("move", text)
            case _:
                pass  # Keep: the buffer stays open for clients that did not come.

    def _confirmed(self, subscriber: str, pattern: str) -> bool:
        """Origins know of a subscription; whether it is the agent's own."""
        if not subscriber.startswith(OWN):
            return False
        item = subscriber[len(OWN) :]
        self._ready.setdefault(item, set()).add(pattern)
        self._say_buffered(item)
        return True

    def _say_buffered(self, item: str) -> None:
        one = self.moving.state.session if self.moving is not None else None
        berth = self.berths.get(item)
        if one is None or one.item != item or berth is None or not berth.open:
            return
        if self._ready.get(item, set()).issuperset(self.items.get(item, ())) and self.moving:
            self.moving.happened(self._deck.now_us, s.Buffered(one.id))

    # At the target.

    def _buffer(self, id: s.SessionId, item: str) -> None:
        one = self.moving.state.session if self.moving is not None else None
        if one is None or one.id != id:
            return  # It is over already.
        berth = self.berths.get(item)
        if berth is None or not berth.open or berth.anyone:
            berth = self.berths[item] = self._new_berth()
            berth.open = True
        if (quay := self.quays.pop(item, None)) is not None and quay.to >= 0:
            self._deck.write(SentOn(item, -1))  # It comes back.
        berth.clients = self._session_clients()
        self._watch(item)
        self._say_buffered(item)
        for client in sorted(berth.clients.intersection(self.clients_of(item))):
            self._connected(client)

    def _new_berth(self) -> Berth:
        rules = self._rules
        return Berth(lambda topic: rules.of(topic).order == "fifo", GAP_US)

    def _skip(self, item: str, frontier: Frontier) -> None:
        berth = self.berths.get(item)
        if berth is not None and not berth.serving:
            self._deck.write(Carried(item, tuple(sorted(berth.clients)), frontier))
            self.delivered.join(frontier)
            berth.serve(frontier, self._deck.now_us)
            self.wake_us = min(self.wake_us, berth.wake_us)

    def _replay(self, id: s.SessionId, item: str, client: str) -> None:
        berth = self.berths.get(item)
        if berth is None:
            return
        if not berth.serving:
            berth.serve(Frontier(), self._deck.now_us)
        if client not in berth.live:
            self._give(list(berth.passed.values()), (client,))
            berth.live.add(client)
        self._settling[id, client] = self._deck.now_us + SETTLE_US
        self.wake_us = min(self.wake_us, self._deck.now_us + SETTLE_US)

    def _flush(self, item: str) -> None:
        berth = self.berths.get(item)
        if berth is None or berth.anyone or not berth.clients <= berth.live:
            return  # Some did not come: it is kept for them.
        self._close(item, berth)
        self._leave(item)

    def _close(self, item: str, berth: Berth) -> None:
        """Keep nothing more for clients that have not come."""
        berth.close()
        self._deck.write(Emptied(item, leaving=False))
        for letter in berth.waiting:
            self._deck.write(Held(item, letter))

    def _drop(self, item: str) -> None:
        if self.berths.pop(item, None) is not None:
            self._deck.write(Emptied(item, leaving=False))
        self._leave(item)

    def expects(self, pattern: str) -> bool:
        """Whether something is kept here for a client that is to come with this subscription."""
        return any(one.open and pattern in self.items[i] for i, one in self.berths.items())

    def subscribed(self, event: Subscribed) -> None:
        """A client subscribes: it may be one that has moved here."""
        self._note(event)
        for item, berth in list(self.berths.items()):
            if berth.anyone and event.pattern in self.items[item]:
                self._stranger(berth, event.subscriber)
            if event.subscriber in berth.clients and event.pattern in self.items[item]:
                if event.subscriber in berth.live:
                    fitting = [x for x in berth.passed.values() if matches(event.pattern, x.topic)]
                    self._give(fitting, (event.subscriber,))
                elif berth.serving and not self._coming(item):
                    berth.live.add(event.subscriber)  # It comes late, or after a restart.
                    self._give(berth.in_turn(), (event.subscriber,))
                    self._flush(item)
                else:
                    self._connected(event.subscriber)

    def _coming(self, item: str) -> bool:
        """Whether a session that brings an item here is on."""
        state = self.moving.state if self.moving is not None else None
        return state is not None and state.phase in TARGET and self._in_session(item)

    def _stranger(self, berth: Berth, client: str) -> None:
        """Somebody comes while its broker is dead: it gets what has come since."""
        if client not in berth.before and client not in berth.clients:
            berth.clients |= {client}

    def take_over(self, item: str, since_us: int) -> None:
        """The item's broker is dead since then: keep what comes for clients that come here.

        Some are here already: they were quicker than the council, and get what comes as it comes.
        """
        berth = self.berths.setdefault(item, self._new_berth())
        if not berth.anyone:
            berth.anyone = berth.open = True
            berth.until_us = self._deck.now_us + STRAGGLERS_US
            self.wake_us = min(self.wake_us, berth.until_us)
            here = frozenset(self.clients_of(item)) - berth.clients
            seen = {one: self._arrived[one] for one in here if one in self._arrived}
            first_us = since_us - QUICK_US
            quick = {one: had for one, (at_us, had) in seen.items() if at_us >= first_us}
            berth.before = here - quick.keys()
            berth.board(quick, self.delivered.frontier())
            berth.serve(Frontier(), self._deck.now_us)
            self._watch(item)

    def _note(self, event: Subscribed) -> None:
        """When a client came: it may turn out later that its broker was dead by then."""
        now_us = self._deck.now_us
        if any(event.pattern in names for names in self.items.values()):
            self._arrived.setdefault(event.subscriber, (now_us, self.delivered.frontier()))
        while self._arrived and now_us - next(iter(self._arrived.values()))[0] > STRAGGLERS_US:
            del self._arrived[next(iter(self._arrived))]

    def unsubscribed(self, event: Unsubscribed) -> None:
        """A client no longer does."""
        self._arrived.pop(event.subscriber, None)

    def adopt(self, item: str, home: int, mirror: int) -> None:
        """As an origin: what is kept for a dead broker's readers goes to their mirror as well."""
        for letter in self._custody.kept_for(home):
            if item in self.items_of(letter.topic):
                if mirror == self._deck.me:
                    self.forwarded(letter)
                else:
                    self._send_on(letter, mirror)

    def guests(self, item: str) -> tuple[str, ...]:
        """Clients that came because their broker was dead: those of this broker stay."""
        berth = self.berths.get(item)
        mine = berth.before if berth is not None and berth.anyone else frozenset[str]()
        return tuple(one for one in self.clients_of(item) if one not in mine)

    def give_back(self, item: str) -> None:
        """It no longer has to."""
        berth = self.berths.get(item)
        if berth is not None and berth.anyone:
            self._drop(item)

    def _connected(self, client: str) -> None:
        if self.moving is not None:
            self.moving.happened(self._deck.now_us, s.Connected(client))

    # --- the part ---------------------------------------------------------------------------

    def heard(self, now_us: int, sender: int, body: Any) -> bool:
        """It gets no notes of its own."""
        del now_us, sender, body
        return False

    def changed(self, now_us: int) -> None:
        """A new chart may have brought names."""
        del now_us
        if self.moving is not None:
            self.moving.know(self._deck.chart.names)

    def due(self, now_us: int) -> None:
        """Clients that have settled are served; gaps that do not close are left."""
        self.wake_us = NEVER
        for (id, client), at_us in list(self._settling.items()):
            if at_us <= now_us:
                del self._settling[id, client]
                if self.moving is not None:
                    self.moving.happened(now_us, s.Replayed(id, client))
        for berth in self.berths.values():
            if berth.wake_us <= now_us:
                self._deck.tell("gap", "letters that only the source had did not come")
                self._give(berth.overdue(), berth.live)
        for item, berth in self.berths.items():
            if berth.until_us <= now_us:
                self._close(item, berth)
        wakes = (min(one.wake_us, one.until_us) for one in self.berths.values())
        times = [*self._settling.values(), *wakes]
        self.wake_us = min([self.wake_us, *times])

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """What waited before a restart; the mediator's orders follow."""
        del now_us
        act: Mapping[type, Callable[[Any], None]] = {
            Held: self._held_before,
            Emptied: self._emptied_before,
            Carried: self._carried_before,
            SentOn: self._sent_on_before,
        }
        for record in records:
            if type(record) in act:
                act[type(record)](record)
        state = self.moving.state if self.moving is not None else None
        if state and state.session and state.phase in (Phase.DISCONNECTING, Phase.MOVED):
            # What clients have got is said already: they get nothing more here.
            quay = self.quays.setdefault(state.session.item, Quay())
            quay.clients, quay.frozen = state.session.clients, True

    def _held_before(self, one: Held) -> None:
        if one.clients:
            quay = self.quays.setdefault(one.item, Quay(frozen=True))
            quay.clients = frozenset(one.clients)
            quay.late.append(one)
        else:
            berth = self.berths.setdefault(one.item, self._new_berth())
            berth.open = True
            berth.admit(one.letter, self._deck.now_us)

    def _emptied_before(self, one: Emptied) -> None:
        if one.leaving:
            self.quays.pop(one.item, None)
        elif (berth := self.berths.get(one.item)) is not None:
            berth.restart()
            if not berth.serving:
                del self.berths[one.item]

    def _carried_before(self, one: Carried) -> None:
        berth = self.berths.setdefault(one.item, self._new_berth())
        berth.clients = frozenset(one.clients)
        # Not into `delivered`: what was given after it is forgotten, and would look like a gap.
        berth.serve(one.frontier, self._deck.now_us)

    def records(self) -> Iterator[Any]:
        """What has to be in the log, should it be written anew."""
        for item, quay in self.quays.items():
            yield from quay.late
            if quay.to >= 0:
                yield SentOn(item, quay.to)
        for item, berth in self.berths.items():
            if berth.serving:
                yield Carried(item, tuple(sorted(berth.clients)), berth.frontier)
            yield from (Held(item, letter) for letter in berth.waiting)
