"""Agents to try the simulator with: a naive one that floods and stores, and ones that are broken.

Every letter goes over every link until the neighbour acknowledges it; destinations de-duplicate.
That is slow and simple, and keeps every promise but total order.
"""

from collections.abc import Callable
from typing import Any

from ropewalk.federation import Federation
from ropewalk.federation.topics import common
from ropewalk.overlay.events import (
    Accepted,
    Action,
    Closed,
    Confirmed,
    Deliver,
    Due,
    Event,
    Logged,
    Published,
    Received,
    Send,
    Subscribed,
    Unsubscribed,
    Write,
)
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.runs import singles
from ropewalk.overlay.simulate.clients import topic_of
from ropewalk.overlay.simulate.cores import Maker
from ropewalk.overlay.words import Frame, FrameAck, Letter, Parcel, Word

AGAIN_US = 50_000


class Flooder:
    """Floods every letter over every link again and again until it is acknowledged."""

    def __init__(
        self, federation: Federation, me: int, incarnation: int, records: tuple[Any, ...]
    ) -> None:
        graph = federation.graph
        self.me, self.incarnation, self.federation = me, incarnation, federation
        self.links = [e for e, ends in enumerate(graph.ends.tolist()) if me in ends]
        self.leaves = {e for e in self.links if len({*graph.domain[graph.ends[e]].tolist()}) > 1}
        self.things: tuple[int, ...] = ()
        self.wake_us = NEVER
        self.numbers: dict[str, int] = {}
        self.known: dict[Any, Parcel] = {letter.id: Parcel(letter, ()) for letter in records}
        self.owed: dict[tuple[int, Any], None] = {
            (link, one): None for link in self.links for one in self.known
        }
        self.wants: dict[str, set[str]] = {}
        self.tickets: list[tuple[int, Letter]] = []
        self.written = 0
        self.queue: dict[tuple[int, int, str], dict[int, Letter]] = {}
        self.next: dict[tuple[int, int, str], int] = {}
        self.keys = {letter.key: letter for letter in records}

    def start(self, now_us: int) -> list[Action]:
        self.wake_us = now_us + AGAIN_US
        return [out for parcel in self.known.values() for out in self.deliver(parcel.letter)]

    def handle(self, event: Event, now_us: int) -> list[Action]:
        match event:
            case Published():
                return self.publish(event, now_us)
            case Logged():
                return self.logged(event.count)
            case Received():
                return self.receive(event.link, event.word)
            case Subscribed():
                self.wants.setdefault(event.subscriber, set()).add(event.pattern)
                return [Confirmed(event.subscriber, event.pattern)]
            case Unsubscribed():
                self.wants.pop(event.subscriber, None)
            case Due():
                self.wake_us = now_us + AGAIN_US
                return [self.send(link, one) for link, one in self.owed]
            case Closed():
                pass
        return []

    def publish(self, event: Published, now_us: int) -> list[Action]:
        if event.key in self.keys:
            return [Accepted(event.ticket, self.keys[event.key])]
        number = self.numbers[event.topic] = self.numbers.get(event.topic, 0) + 1
        letter = Letter(
            self.me, self.incarnation, event.topic, number, event.payload, now_us, key=event.key
        )
        self.keys[event.key] = letter
        self.tickets.append((event.ticket, letter))
        return [Write(letter)]

    def logged(self, count: int) -> list[Action]:
        done: list[Action] = []
        while self.written < count and self.tickets:
            ticket, letter = self.tickets.pop(0)
            self.written += 1
            done += [Accepted(ticket, letter), *self.take(Parcel(letter, ()), -1)]
        return done

    def receive(self, link: int, word: Word) -> list[Action]:
        if isinstance(word, FrameAck):
            self.owed.pop((link, word.extra), None)
            return []
        assert isinstance(word, Frame)
        parcel = next(singles(word.parcels))
        said: list[Action] = [Send(link, FrameAck(0, 0, parcel.letter.id))]  # type: ignore[arg-type]
        return said if parcel.letter.id in self.known else said + self.take(parcel, link)

    def take(self, parcel: Parcel, came: int) -> list[Action]:
        letter = parcel.letter
        self.known[letter.id] = Parcel(letter, (), parcel.hops + 1)
        local = topic_of(self.federation.topics, letter.topic).scope == "domain"
        out = [e for e in self.links if e != came and not (local and e in self.leaves)]
        self.owed.update(((e, letter.id), None) for e in out)
        kept: list[Action] = [Write(letter)] if came >= 0 else []
        return kept + self.deliver(letter) + [self.send(e, letter.id) for e in out]

    def send(self, link: int, one: Any) -> Send:
        return Send(link, Frame(0, 0, 0, (self.known[one],)))

    def deliver(self, letter: Letter) -> list[Action]:
        """In order of the origin's stream."""
        stream = letter.id[:3]
        waiting = self.queue.setdefault(stream, {})
        waiting[letter.number] = letter
        out: list[Action] = []
        while (number := self.next.get(stream, 0) + 1) in waiting:
            out += self.hand_out(waiting.pop(number))
            self.next[stream] = number
        return out

    def hand_out(self, letter: Letter) -> list[Action]:
        to = tuple(
            name
            for name, patterns in sorted(self.wants.items())
            if any(common(one, letter.topic) == letter.topic for one in patterns)
        )
        return [Deliver(letter, to, exactly_once=True)] if to else []

    def custody(self) -> set[tuple[Any, int]]:
        brokers = range(self.federation.graph.brokers)
        return {(one, b) for _, one in self.owed for b in brokers}

    def memory(self) -> dict[str, int]:
        return {"owed": len(self.owed)}


class Loser(Flooder):
    """Forgets every seventh letter that it should pass on."""

    def take(self, parcel: Parcel, came: int) -> list[Action]:
        if came >= 0 and parcel.letter.number % 7 == 0:
            return []
        return super().take(parcel, came)

    def receive(self, link: int, word: Word) -> list[Action]:
        return super().receive(link, word)

    def deliver(self, letter: Letter) -> list[Action]:
        return self.hand_out(letter)


class Doubler(Flooder):
    """Delivers each letter as often as it comes."""

    def receive(self, link: int, word: Word) -> list[Action]:
        done = super().receive(link, word)
        if isinstance(word, Frame) and not any(isinstance(one, Deliver) for one in done):
            done += self.hand_out(word.parcels[0].letter)
        return done

    def hand_out(self, letter: Letter) -> list[Action]:
        return [
            Deliver(one.letter, one.subscribers)
            for one in super().hand_out(letter)
            if isinstance(one, Deliver)
        ]


class Muddler(Flooder):
    """Delivers in the order of arrival."""

    def deliver(self, letter: Letter) -> list[Action]:
        return self.hand_out(letter)


class Leaker(Flooder):
    """Sends domain-local letters everywhere, and believes that link 0 is down."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.leaves = set()
        self.things = (0,)


class Hoarder(Flooder):
    """Lets letters go round, and hoards what it cannot send."""

    def take(self, parcel: Parcel, came: int) -> list[Action]:
        return super().take(Parcel(parcel.letter, (), parcel.hops + 16), came)

    def memory(self) -> dict[str, int]:
        return {"link": 1_000_000}


def made_of(federation: Federation, kind: Callable[..., Flooder] = Flooder) -> Maker:
    """Makes such agents."""
    return lambda me, incarnation, records: kind(federation, me, incarnation, records)
