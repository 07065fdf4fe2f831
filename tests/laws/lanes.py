"""An origin that restarts, and a network that loses, doubles and reorders: the oracle of `Release`."""

from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from ropewalk.overlay.order.release import Release
from ropewalk.overlay.words import Address, Letter

Place = tuple[int, int]


@dataclass
class Kept:
    letter: Letter
    after: Place | None


@dataclass
class Origin:
    """Numbers letters of a few streams into one lane, and keeps them until they are acknowledged."""

    rng: Random
    incarnation: int = 1
    number: int = 0
    kept: dict[Place, Kept] = field(default_factory=dict)
    streams: dict[str, Place] = field(default_factory=dict)
    sent: dict[Place, Kept] = field(default_factory=dict)
    gone: set[Place] = field(default_factory=set)

    def publish(self, ordered: bool) -> None:
        self.number += 1
        topic = self.rng.choice("abc")
        place = (self.incarnation, self.number)
        letter = Letter(7, self.incarnation, topic, self.number, b"")
        kept = Kept(letter, self.streams.get(topic) if ordered else None)
        self.kept[place] = self.sent[place] = kept
        self.streams[topic] = place

    def restart(self, disk: bool) -> None:
        if not disk:
            self.gone |= set(self.kept)
            self.kept, self.streams = {}, {}
        self.incarnation += 1
        self.number = 0

    def give_up(self) -> None:
        if self.kept:
            place = self.rng.choice(sorted(self.kept))
            self.gone.add(place)
            del self.kept[place]

    def address(self, place: Place) -> Address:
        incarnation, number = place
        after = self.kept[place].after or (0, 0)
        base = min(n for i, n in self.kept if i == incarnation)
        since = min((i for i, _ in self.kept), default=self.incarnation)
        other = after[0] if after[0] != incarnation else 0
        return Address(0, 0, number, base, after[1], other, since)

    def acknowledged(self, incarnation: int, upto: int, extra: tuple[int, ...]) -> list[Place]:
        over = [p for p in self.kept if p[0] == incarnation and (p[1] <= upto or p[1] in extra)]
        for place in over:
            del self.kept[place]
        return over


@dataclass
class Line:
    """One origin, one destination and what is on its way between them."""

    seed: int
    most: int = 64
    ordered: bool = True
    wrong: bool = False
    """The control: the destination takes letters as they come."""

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.origin = Origin(self.rng)
        self.release = Release(7, 0, self.most)
        self.wire: list[tuple[Place, Address, Letter]] = []
        self.delivered: list[Place] = []
        self.log: list[object] = []

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()
        for _ in range(40):
            self.send(lose=0.0)
            while self.wire:
                self.arrive()
            self.acknowledge()

    def step(self) -> None:
        chance = self.rng.random()
        if chance < 0.4:
            self.origin.publish(self.ordered)
        elif chance < 0.6:
            self.send(lose=0.4)
        elif chance < 0.9:
            self.arrive()
        elif chance < 0.95:
            self.acknowledge()
        else:
            self.mishap()

    def mishap(self) -> None:
        chance = self.rng.random()
        if chance < 0.3:
            self.origin.give_up()
        elif chance < 0.5:
            self.origin.restart(disk=chance < 0.4)
        elif chance < 0.7:
            self.wire.clear()
        else:
            self.crash(compact=chance < 0.85)

    def send(self, lose: float) -> None:
        for place, kept in self.origin.kept.items():
            copies = 0 if self.rng.random() < lose else self.rng.choice((1, 1, 2))
            self.wire += [(place, self.origin.address(place), kept.letter)] * copies

    def arrive(self) -> None:
        for _ in range(min(len(self.wire), 3)):
            place, address, letter = self.wire.pop(self.rng.randrange(len(self.wire)))
            freed = self.release.arrived(place[0], address, letter)
            if self.wrong:
                freed = [letter] if place not in self.delivered else []
            self.delivered += [(one.incarnation, one.number) for one in freed]
            self.write()

    def write(self) -> None:
        for came in self.release.news():
            self.log.append(came)
            self.release.confirmed(came)

    def acknowledge(self) -> None:
        for receipt in self.release.receipts():
            over = self.origin.acknowledged(receipt.incarnation, receipt.upto, receipt.extra)
            unclaimed = set(over) - set(self.delivered)
            assert not unclaimed, f"claimed but never came: {unclaimed}"

    def crash(self, compact: bool) -> None:
        """The destination restarts with its log; what it held back is forgotten."""
        records = self.release.state() if compact else self.log
        self.release = Release(7, 0, self.most)
        for record in records:
            self.release.restore(record)  # type: ignore[arg-type]

    def doubled(self) -> set[Place]:
        return {place for place in self.delivered if self.delivered.count(place) > 1}

    def lost(self) -> set[Place]:
        return set(self.origin.sent) - set(self.delivered) - self.origin.gone

    def out_of_order(self) -> list[tuple[Place, Place]]:
        """Letters delivered after one of their stream that came later in it."""
        wrong = []
        for topic in "abc":
            places = [p for p in self.delivered if self.origin.sent[p].letter.topic == topic]
            wrong += [(a, b) for a, b in pairwise(places) if a > b]
        return wrong
