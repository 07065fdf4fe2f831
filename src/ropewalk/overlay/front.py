"""Towards the broker's own clients: what they publish, what they get, what they subscribe to."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ropewalk.overlay.client_ids import ClientIds, ClientKey, key_of
from ropewalk.overlay.custody import Custody
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.events import (
    Accepted,
    AcceptedRun,
    Burst,
    Deliver,
    Published,
    Refused,
    Subscribed,
    Unsubscribed,
)
from ropewalk.overlay.interests import Interests
from ropewalk.overlay.lane import DATA, FREE, HOME, LOCAL, Kept, Taken
from ropewalk.overlay.logbook import Logbook
from ropewalk.overlay.plan import Plan
from ropewalk.overlay.retained import Value, Values
from ropewalk.overlay.rules import UNORDERED, Rule, Rules
from ropewalk.overlay.shipping import Shipping
from ropewalk.overlay.talk.speaking import Answer
from ropewalk.overlay.talk.talking import Talking
from ropewalk.overlay.words import Address, Item, Letter, Parcel, Run

if TYPE_CHECKING:
    from ropewalk.overlay.carrying import Carrying
    from ropewalk.overlay.totals import Totals


class Front:
    """The side of an agent that its broker's clients see."""

    def __init__(
        self,
        deck: Deck,
        rules: Rules,
        shipping: Shipping,
        custody: Custody,
        interests: Interests,
        *,
        book: Logbook,
        talking: Talking,
        deliver_local: bool,
    ) -> None:
        self._deck, self._rules, self._shipping = deck, rules, shipping
        self._custody, self._interests = custody, interests
        self._when_safe = book.when_safe
        self._talking, self._deliver_local = talking, deliver_local
        talking.attach(
            ready=self._could,
            answered=self._judged,
            release=partial(self._hand_over, late=False),
            wanted=lambda topic: bool(interests.subscribers(topic)),
        )
        most = deck.settings.streams
        self.values, self.seen = Values(most), Values(most)
        """Last values: of this origin's own topics, and of what was delivered here."""
        self.totals: Totals | None = None
        self.carrying: Carrying | None = None
        self.leaving = False
        """Nothing more is taken: this broker is not part of the next epoch."""
        self.synced = False
        """Whether it is known here who subscribes."""
        self.synced_home = False
        """The same of topics of the domain: only neighbours in it know who wants them."""
        self.numbers: OrderedDict[str, int] = OrderedDict()
        self._used = 0
        """Topics whose number is no longer remembered have used none above this."""
        self.ids = ClientIds(deck)

    # --- knowing who subscribes -------------------------------------------------------------

    def begin(self, peers: Sequence[int], *, settled: bool) -> None:
        """At the start: where nobody can know better, what is known is all."""
        domain, me = self._deck.chart.domain, self._deck.me
        self.synced |= settled or not peers
        self.synced_home |= settled or all(domain[one] != domain[me] for one in peers)

    @property
    def in_touch(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.synced and self.synced_home

    def agreed(self, peer: int) -> None:
        """A neighbour knows what this broker knows."""
        domain = self._deck.chart.domain
        self.synced = True
        self.synced_home |= domain[peer] == domain[self._deck.me]

    # --- publishing -------------------------------------------------------------------------

    def published(self, events: Iterable[Published]) -> None:
        """Take publications that come together, or say why not.

        What those of a topic have in common is looked up once: nothing that one of them leads to
        before the next is taken changes who subscribes, or where the topic's home is. Queues,
        windows and links have their limits checked for each.
        """
        plans: dict[str, Plan] = {}
        for event in events:
            plan = plans.get(event.topic)
            if plan is None:
                plan = plans[event.topic] = self._plan(event.topic)
            key = key_of(event)
            if key is None or not self.ids.repeats(key, event):
                self._publish(event, plan, key)

    def burst(self, event: Burst) -> None:
        """The same for publications that differ in payload and key alone: as a run, if it can be.

        Of a run all are in the log or none.
        """
        plan = self._plan(event.topic)
        if not plan.runs or len(event.payloads) > self._custody.room_in(plan.lanes[0]):
            self.published(event.each())
            return
        if event.keys:
            event = self._new_ones(event)
        if event.payloads:
            letter = self._run_letter(event, plan)
            run, count = self._custody.send_run(
                letter, event.payloads, event.keys, plan.lanes[0], plan.rule
            )
            self._when_safe(count, partial(self._accepted_run, event.tickets, run))

    def _new_ones(self, event: Burst) -> Burst:
        """Those that have no id, or one that has not come before."""
        new = []
        for one in event.each():
            key = key_of(one)
            if key is not None:
                if self.ids.repeats(key, one):
                    continue
                self.ids.taking(key)
            new.append(one)
        return Burst(
            event.topic,
            [one.payload for one in new],
            [one.ticket for one in new],
            [one.key for one in new],
            event.producer,
        )

    def _run_letter(self, event: Burst, plan: Plan) -> Letter:
        deck, first = self._deck, self._next(event.topic, len(event.payloads))
        return Letter(
            deck.me,
            deck.incarnation,
            event.topic,
            first,
            b"",
            deck.now_us,
            plan.rule.priority,
            event.producer,
            domain=plan.domain,
        )

    def _accepted_run(self, tickets: Sequence[Any], run: Run) -> None:
        self._deck.out.append(AcceptedRun(tickets, run))
        if run.keys or self._deliver_local:
            for letter in run.letters():
                key = key_of(letter)
                again = () if key is None else self.ids.taken(key, letter)
                for one in again:
                    self._deck.out.append(Accepted(one.ticket, letter))
                if self._deliver_local:
                    self.deliver(letter, late=False)

    def _plan(self, topic: str) -> Plan:
        rule = self._rules.of(topic)
        home = self.totals.home(topic) if self.totals is not None else None
        kind = HOME if home is not None else LOCAL if rule.local else DATA
        to = (home,) if home is not None else self._interests.destinations(topic)
        domain = self._deck.chart.domain[self._deck.me] if rule.local else -1
        why = self._objection(rule, to, kind)
        lanes = self._custody.lanes_to(to, kind) if rule.custody and not why else []
        protocol = rule.protocol if rule.protocol in self._talking else None
        special = protocol or why or rule.exactly_once or rule.retained or kind != DATA
        runs = not special and len(lanes) == 1 and rule.paths == 1 and rule.order != "priority"
        return Plan(rule, kind, to, lanes, domain, protocol, why, runs)

    def _publish(self, event: Published, plan: Plan, key: ClientKey | None) -> None:
        why = plan.why or self._custody.objection(plan.lanes)
        if why:
            self._deck.out.append(Refused(event.ticket, why, event))
        elif plan.protocol is None:
            self._take(event, plan, key, None)
        else:
            answer = self._talking.say(plan.protocol, event, judged=plan.rule.custody)
            if not answer.waits:
                self._say(event, plan, key, answer)
            elif key is not None:
                self.ids.taking(key)

    def _take(self, event: Published, plan: Plan, key: ClientKey | None, stamp: Any) -> None:
        letter = self._letter(event, plan, stamp)
        if plan.rule.custody:
            self._into_custody(event.ticket, letter, plan, key)
        else:
            self._pass_on(letter, plan.to)
            self._accepted(event.ticket, letter, key, None, self._deliver_local)

    # --- conversations ----------------------------------------------------------------------

    def _say(self, event: Published, plan: Plan, key: ClientKey | None, answer: Answer) -> None:
        """What a messenger has answered."""
        if answer.why is not None:
            again = () if key is None else self.ids.given_up(key)
            for one in (event, *again):
                self._deck.out.append(Refused(one.ticket, answer.why, one, final=answer.final))
        else:
            self._take(event, plan, key, answer.token)

    def _could(self, event: Published) -> bool:
        """Whether a publication could be taken now, if its conversation allows it."""
        plan = self._plan(event.topic)
        return not (plan.why or self._custody.objection(plan.lanes))

    def _judged(self, event: Published, answer: Answer) -> None:
        """A publication that waited for its turn."""
        self._say(event, self._plan(event.topic), key_of(event), answer)

    def _objection(self, rule: Rule, destinations: tuple[int, ...], kind: int) -> str | None:
        if self.leaving:
            return f"{self._deck.name(self._deck.me)} leaves the federation"
        if not (self.synced_home if rule.local else self.synced):
            return "who subscribes is not known here yet"
        if kind == HOME and rule.local and not self._is_near(destinations[0]):
            return f"its home {self._deck.name(destinations[0])} is outside the topic's domain"
        return None

    def _is_near(self, broker: int) -> bool:
        chart = self._deck.chart
        return chart.domain_of(broker) == chart.domain[self._deck.me]

    def _letter(self, event: Published, plan: Plan, stamp: Any) -> Letter:
        rule, deck = plan.rule, self._deck
        return Letter(
            deck.me,
            deck.incarnation,
            event.topic,
            self._next(event.topic),
            event.payload,
            deck.now_us,
            rule.priority if event.priority is None else event.priority,
            event.producer,
            event.key,
            event.retain or rule.retained,
            stamp,
            None,
            plan.domain,
            event.headers,
        )

    def _next(self, topic: str, many: int = 1) -> int:
        """The first of so many numbers of a topic."""
        numbers = self.numbers
        before = numbers.get(topic, self._used)
        numbers[topic] = before + many
        numbers.move_to_end(topic)
        if len(numbers) > self._deck.settings.streams:
            self._used = max(self._used, numbers.popitem(last=False)[1])
        return before + 1

    def _into_custody(self, ticket: Any, letter: Letter, plan: Plan, key: ClientKey | None) -> None:
        taken, count = None, 0
        if key is not None:
            self.ids.taking(key)
        if not plan.lanes:
            count = self._deck.write(Kept(letter, (), plan.rule.order)) if key else 0
        elif plan.rule.exactly_once:
            taken = self._custody.keep(letter, plan.lanes, plan.rule)
            count = taken.count
        else:
            # Sent before it is safe: if it is lost with this agent, nobody was told that it is.
            count = self._custody.send(letter, plan.lanes, plan.rule)
        if plan.protocol is not None:
            self._talking.kept(plan.protocol, letter, logged=bool(plan.lanes or key))
            if not self._deliver_local and self._interests.subscribers(letter.topic):
                self._talking.arrived(plan.protocol, letter, given=True)
        local = self._deliver_local and plan.kind != HOME
        self._when_safe(count, partial(self._accepted, ticket, letter, key, taken, local))

    def _accepted(
        self, ticket: Any, letter: Letter, key: ClientKey | None, taken: Taken | None, local: bool
    ) -> None:
        out = self._deck.out
        again = self.ids.taken(key, letter) if key is not None else ()
        if letter.retain and self.values.put(letter):
            self._deck.write(Value(letter))
        out.append(Accepted(ticket, letter))
        for one in again:
            out.append(Accepted(one.ticket, letter))
        if taken is not None:
            self._custody.release(taken)
        if local:
            self.deliver(letter, late=False)

    def _pass_on(self, letter: Letter, destinations: tuple[int, ...]) -> None:
        """Without custody: sent once, and forgotten."""
        me, number, incarnation = self._deck.me, letter.number, self._deck.incarnation
        addresses = tuple(
            Address(to, FREE, number, number, origin=me, incarnation=incarnation)
            for to in destinations
        )
        if addresses:
            self._shipping.forward((Parcel(letter, addresses),))

    # --- delivering -------------------------------------------------------------------------

    def deliver(self, letter: Letter, late: bool) -> None:
        """A letter that is in order and not a double."""
        if self._talking.again:
            self._talking.give_again(letter)
        own = letter.origin == self._deck.me and not self._interests.subscribers(letter.topic)
        if letter.stamp is None or late or own:
            self._hand_over(letter, late)
        else:
            self._talking.arrived(self._rules.of(letter.topic).protocol, letter)

    def _hand_over(self, letter: Letter, late: bool) -> None:
        subscribers = self._interests.subscribers(letter.topic)
        if self.carrying is not None:
            subscribers = self.carrying.sift(letter, subscribers)
        if letter.retain:
            newest = self.seen.put(letter)
            given = [one for one in subscribers if self.seen.give(one, letter)]
            if late:
                subscribers = tuple(given) if newest else ()
        if subscribers:
            once = self._rules.of(letter.topic).exactly_once
            self._deck.out.append(Deliver(letter, subscribers, late, once))

    # --- subscribing ------------------------------------------------------------------------

    def subscribed(self, event: Subscribed) -> None:
        """A client subscribes; last values that are known here it gets at once."""
        self._interests.subscribe(event.subscriber, event.pattern)
        for letter in self.seen.matching(event.pattern):
            if self.seen.give(event.subscriber, letter):
                self._deck.out.append(Deliver(letter, (event.subscriber,), True))
        if self.carrying is not None:
            self.carrying.subscribed(event)

    def unsubscribed(self, event: Unsubscribed) -> None:
        """A client no longer subscribes."""
        self._interests.unsubscribe(event.subscriber, event.pattern)
        if self.carrying is not None:
            self.carrying.unsubscribed(event)

    def wanted(self, item: Item) -> None:
        """Another broker wants something: it may rely on that once it is in the log."""
        new = self._interests.heard(item)
        count = self._deck.write(item)
        if item.body:
            self._when_safe(count, lambda: self._interests.heed(item))
        if new and self.carrying is not None:
            self.carrying.on_interest()
        if new:
            for letter in self.values.matching(item.name):
                self._send_late(letter, item.broker)

    def _send_late(self, letter: Letter, to: int) -> None:
        if letter.domain >= 0 and not self._is_near(to):
            return
        kind = DATA if letter.domain < 0 else LOCAL
        self._custody.send(letter, self._custody.lanes_to((to,), kind), UNORDERED, late=True)

    # --- restart ----------------------------------------------------------------------------

    def recover(self, records: Iterable[object]) -> None:
        """Last values and clients' ids from before a restart."""
        for record in records:
            if isinstance(record, Value):
                self.values.put(record.letter)
            else:
                self.ids.recover(record)

    def state(self) -> Iterator[object]:
        """Records that stand for values and ids."""
        yield from self.values.state()
        yield from self.ids.state()
