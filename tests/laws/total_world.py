"""A small world of origins, homes and readers of one totally ordered topic, with every mishap.

Messages are lost, doubled and overtaken; agents crash with and without their disks; partitions come
and go; the council appoints homes, and agents hear of it late. Writing to the log is safe at once.
"""

from dataclasses import dataclass, field, replace
from itertools import combinations
from random import Random
from typing import Any

from ropewalk.overlay.order.desk import Desk
from ropewalk.overlay.order.sequencer import Sequencer
from ropewalk.overlay.words import Letter

TOPIC = "t"
STEP_US = 1_000
Id = tuple[int, int, str, int]


@dataclass(frozen=True)
class Message:
    sender: int
    to: int
    kind: str
    body: Any
    incarnation: int = 0
    """Of the home in whose lane it goes."""


class Node:
    """An agent: its parts, the custody that the core would keep, and what its clients have got."""

    def __init__(self, world: "World", me: int, incarnation: int) -> None:
        self.world, self.me, self.incarnation = world, me, incarnation
        self.home, self.term = -1, 0
        self.custody: dict[tuple[int, int], set[int]] = {}
        """As a home: who has not acknowledged a numbered letter."""
        self.letters: dict[tuple[int, int], Letter] = {}
        limits = {"most": world.most, "again_us": 4 * STEP_US}
        everyone = frozenset(range(world.size))
        self.sequencer = Sequencer(
            self, lambda: everyone, lambda _: frozenset(world.readers), **limits
        )
        self.desk = Desk(self, **limits)

    def reachable(self) -> frozenset[int]:
        nodes = self.world.nodes
        return frozenset(one for one in nodes if self.world.connected(self.me, one))

    def note(self, to: int, body: Any) -> None:
        self.world.post(Message(self.me, to, "note", body))

    def write(self, record: Any) -> None:
        self.world.disks[self.me].append(record)

    def tell(self, what: str, *about: Any) -> None:
        self.world.told.append((self.me, what, *about))

    def start(self) -> None:
        now_us, records = self.world.now_us, list(self.world.disks[self.me])
        self.sequencer.recover(now_us, records)
        self.desk.recover(now_us, records)
        if self.me in self.world.readers:
            self.desk.subscribed(now_us, TOPIC)

    def hear_council(self, home: int, term: int) -> None:
        if term > self.term:
            self.home, self.term = home, term
            self.custody = {order: who for order, who in self.custody.items() if order[0] == term}
        self.sequencer.appointed(self.world.now_us, TOPIC, home, term)
        self.desk.appointed(self.world.now_us, TOPIC, home, term)

    def work(self) -> None:
        """What the core does after every event."""
        for part in (self.sequencer, self.desk):
            if part.wake_us <= self.world.now_us:
                part.due(self.world.now_us)
        for letter in self.sequencer.take():
            self.send_on(letter)
        begun = self.desk.take()
        self.deliver([] if self.world.by_arrival else begun)
        self.settle()

    def resend(self) -> None:
        if self.term:
            for letter in self.world.kept[self.me].values():
                self.world.post(Message(self.me, self.home, "letter", letter))
        for order, who in self.custody.items():
            for reader in sorted(who):
                self.world.post(self.numbered(reader, self.letters[order]))

    def numbered(self, reader: int, letter: Letter) -> Message:
        return Message(self.me, reader, "numbered", letter, self.incarnation)

    def send_on(self, letter: Letter) -> None:
        assert letter.order
        self.letters[letter.order] = letter
        self.custody[letter.order] = set(self.sequencer.audience(TOPIC))
        for reader in sorted(self.custody[letter.order]):
            self.world.post(self.numbered(reader, letter))

    def settle(self) -> None:
        audience = self.sequencer.audience(TOPIC)
        for order in [one for one, who in self.custody.items() if not who & audience]:
            del self.custody[order]
            done = self.sequencer.done(TOPIC, order)
            if done:
                self.world.post(Message(self.me, done[0], "done", done))

    def got(self, message: Message) -> None:
        now_us, body = self.world.now_us, message.body
        match message.kind:
            case "note":
                if not self.sequencer.heard(now_us, message.sender, body):
                    assert self.desk.heard(now_us, message.sender, body)
            case "letter" if self.sequencer.finished(body):
                self.world.post(Message(self.me, message.sender, "done", body.id))
            case "letter":
                numbered = self.sequencer.arrived(now_us, body)
                if numbered:
                    self.send_on(numbered)
            case "numbered":
                self.read(message, body)
            case "ack" if message.incarnation == self.incarnation:
                self.custody.get(body, set()).discard(message.sender)
            case "done":
                self.world.kept[self.me].pop(body, None)

    def read(self, message: Message, letter: Letter) -> None:
        ready = self.desk.arrived(letter, message.incarnation)
        if self.world.by_arrival:
            ready = [] if letter.id in self.world.delivered[self.me] else [letter]
        if ready is not None:
            self.deliver(ready)
            self.world.post(
                replace(message, sender=self.me, to=message.sender, kind="ack", body=letter.order)
            )

    def deliver(self, letters: list[Letter]) -> None:
        self.world.delivered[self.me] += [letter.id for letter in letters]


@dataclass
class World:
    """`seed` decides everything."""

    seed: int
    size: int = 4
    most: int = 12
    by_arrival: bool = False
    lossy: float = 0.25
    disks_fail: bool = True
    mishaps: float = 0.02
    told: list[tuple[Any, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.now_us = 0
        self.term, self.home = 1, 0
        self.incarnations = dict.fromkeys(range(self.size), 1)
        self.numbers: dict[tuple[int, int], int] = {}
        self.disks: dict[int, list[Any]] = {one: [] for one in range(self.size)}
        self.kept: dict[int, dict[Id, Letter]] = {one: {} for one in range(self.size)}
        self.delivered: dict[int, list[Id]] = {one: [] for one in range(self.size)}
        self.gone: set[Id] = set()
        self.published: set[Id] = set()
        self.readers = set(range(1, self.size))
        self.faithful = set(self.readers)
        """Readers from the start that never lost their disk or left."""
        self.wire: list[Message] = []
        self.cut: set[int] = set()
        self.nodes: dict[int, Node] = {}
        for one in range(self.size):
            self.boot(one)
            self.nodes[one].hear_council(self.home, self.term)

    def connected(self, one: int, other: int) -> bool:
        up = one in self.nodes and other in self.nodes
        return up and (one == other or (one in self.cut) == (other in self.cut))

    def post(self, message: Message) -> None:
        copies = 0 if self.rng.random() < self.lossy else self.rng.choice((1, 1, 1, 2))
        self.wire += [message] * (1 if message.sender == message.to else copies)

    def boot(self, one: int) -> None:
        self.nodes[one] = Node(self, one, self.incarnations[one])
        self.nodes[one].start()

    def publish(self) -> None:
        if not self.nodes:
            return
        one = self.rng.choice(sorted(self.nodes))
        stream = (one, self.incarnations[one])
        self.numbers[stream] = self.numbers.get(stream, 0) + 1
        letter = Letter(*stream, TOPIC, self.numbers[stream], b"")
        self.kept[one][letter.id] = letter
        self.published.add(letter.id)

    def arrive(self) -> None:
        if self.wire:
            message = self.wire.pop(self.rng.randrange(len(self.wire)))
            if self.connected(message.sender, message.to):
                self.nodes[message.to].got(message)
                self.nodes[message.to].work()

    def tick(self) -> None:
        self.now_us += STEP_US
        for node in list(self.nodes.values()):
            if self.rng.random() < 0.2:
                node.hear_council(self.home, self.term)
            if self.rng.random() < 0.2:
                node.resend()
            node.work()
        if len(self.wire) > 300:
            del self.wire[: len(self.wire) // 2]

    def crash(self, one: int, disk: bool) -> None:
        self.nodes.pop(one, None)
        self.incarnations[one] += 1
        if not disk:
            self.disks[one].clear()
            self.gone |= set(self.kept[one])
            self.kept[one].clear()
            self.delivered[one] = []
            self.faithful.discard(one)

    def compact(self, one: int) -> None:
        node = self.nodes[one]
        self.disks[one][:] = [*node.sequencer.records(), *node.desk.records()]

    def appoint(self) -> None:
        self.term += 1
        self.home = self.rng.choice(sorted(self.nodes) or [0])

    def mishap(self) -> None:
        chance, one = self.rng.random(), self.rng.randrange(self.size)
        if chance < 0.3:
            self.crash(one, disk=not self.disks_fail or chance < 0.2)
        elif chance < 0.55:
            for down in sorted(set(range(self.size)) - set(self.nodes)):
                self.boot(down)
        elif chance < 0.7:
            self.cut = {one, self.rng.randrange(self.size)} if chance < 0.6 else set()
            self.changed()
        elif chance < 0.85:
            self.appoint()
        elif chance < 0.92 and one in self.nodes:
            self.compact(one)
        elif one in self.nodes:
            self.come_or_go(one)

    def come_or_go(self, one: int) -> None:
        self.delivered[one] = []
        self.faithful.discard(one)
        if one in self.readers:
            self.readers.discard(one)
            self.nodes[one].desk.left(TOPIC)
        else:
            self.readers.add(one)
            self.nodes[one].desk.subscribed(self.now_us, TOPIC)

    def changed(self) -> None:
        for node in self.nodes.values():
            node.sequencer.changed(self.now_us)
            node.desk.changed(self.now_us)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            chance = self.rng.random()
            if chance < 0.08:
                self.publish()
            elif chance < 0.16:
                self.tick()
            elif chance < 1 - self.mishaps:
                self.arrive()
            else:
                self.mishap()
        self.heal()

    def heal(self) -> None:
        self.cut, self.lossy = set(), 0.0
        for one in range(self.size):
            if one not in self.nodes:
                self.boot(one)
        self.changed()
        self.calm()
        if any(self.kept.values()):  # a home that has lost its disk needs a new term
            self.appoint()
            self.calm()

    def calm(self) -> None:
        for _ in range(200):
            self.tick()
            for _ in range(len(self.wire)):
                self.arrive()

    def disagreements(self) -> list[tuple[int, int]]:
        """Readers that have two letters in different orders."""
        lists = {one: self.delivered[one] for one in sorted(self.readers)}
        return [(a, b) for a, b in combinations(lists, 2) if differ(lists[a], lists[b])]

    def doubled(self) -> list[int]:
        return [one for one, ids in self.delivered.items() if len(ids) != len(set(ids))]

    def lost(self) -> set[Id]:
        return {
            id_
            for id_ in self.published - self.gone
            for one in self.faithful
            if id_ not in self.delivered[one]
        }


def differ(one: list[Id], other: list[Id]) -> bool:
    both = set(one) & set(other)
    return [id_ for id_ in one if id_ in both] != [id_ for id_ in other if id_ in both]
