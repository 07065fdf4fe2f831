"""An item moves while its publisher goes on, agents crash and notes are lost: who got what?

Broker 0 has the clients, broker 1 is to get them, broker 2 publishes. What brokers hold (queues, the
buffer, what was given) survives its agent, as an agent's custody does; letters are late, in any
order, and never lost between agents.
"""

from collections import Counter
from functools import partial
from typing import Any

from ropewalk.overlay.council.handover import Delivered, LetterId
from ropewalk.overlay.council.moving import Moving, Order, Skip
from ropewalk.overlay.parts import Part
from ropewalk.placement.reactive import session as s
from ropewalk.placement.reactive.mediation import Patience
from tests.laws.council_world import Desk, S, World

NAMES = ("source", "target", "origin")
CLIENTS = ("c1", "c2")
LETTERS = 150


class Item:
    """The item's clients and letters at all brokers."""

    def __init__(self, world: World, *, skips: bool, buffers: bool) -> None:
        self.world, self.skips, self.buffers = world, skips, buffers
        self.at: dict[str, int | None] = dict.fromkeys(CLIENTS, 0)
        self.got = {client: Counter[LetterId]() for client in CLIENTS}
        self.published: list[LetterId] = []
        self.subscribed = {0}
        # At the source.
        self.queue: list[LetterId] = []
        self.late: list[LetterId] = []
        self.frozen = self.draining = self.forwards = False
        self.delivered = Delivered()
        # At the target.
        self.buffering = False
        self.buffer: list[LetterId] = []
        self.live: set[str] = set()
        self.kept: dict[str, list[LetterId]] = {}
        self.given = {client: Delivered() for client in CLIENTS}
        self.skipped = Delivered()

    def publish(self) -> None:
        id = (2, 1, "t", len(self.published) + 1)
        self.published.append(id)
        for broker in sorted(self.subscribed):
            longest_us = self.world.rng.choice([S // 10, S // 10, 2 * S])
            self.world.later(
                self.world.rng.randrange(1, longest_us),
                lambda broker=broker: self.arrive(broker, id),  # type: ignore[misc]
            )

    def arrive(self, broker: int, id: LetterId) -> None:
        if broker == 1:
            self.at_target(id)
        elif self.forwards:
            self.forward(id)
        else:
            (self.late if self.frozen else self.queue).append(id)

    def forward(self, id: LetterId) -> None:
        self.world.later(self.world.rng.randrange(1, S), lambda: self.at_target(id))

    def at_target(self, id: LetterId) -> None:
        if self.buffering and self.buffers:
            self.buffer.append(id)
        for client in CLIENTS:
            if client in self.live:
                self.give(client, id)
            elif client in self.kept:
                self.kept[client].append(id)

    def give(self, client: str, id: LetterId) -> None:
        if not self.skipped.covers(id) and not self.given[client].covers(id):
            self.given[client].add(id)
            self.got[client][id] += 1

    def pump(self) -> None:
        """The source gives one letter to all its clients."""
        if self.queue and set(self.at.values()) == {0}:
            id = self.queue.pop(0)
            if not self.delivered.covers(id):
                self.delivered.add(id)
                for client in CLIENTS:
                    self.got[client][id] += 1
        if self.draining and not self.queue:
            self.frozen = True
        self.world.later(45_000, self.pump)

    def serve(self, client: str) -> None:
        self.live.add(client)
        for id in [*self.buffer, *self.kept.pop(client, [])]:
            self.give(client, id)


class Agent:
    """The agent of one broker, anew after each restart."""

    def __init__(self, desk: Desk, item: Item, patience: Patience) -> None:
        self.desk, self.item, self.world = desk, item, desk.world
        self.incarnation = desk.incarnation
        self.moving = Moving(
            desk,
            NAMES,
            act=lambda now_us, order: desk.when_safe(lambda: self.do(order)),
            delivered=lambda _: item.delivered.frontier(),
            patience=patience,
        )

    @property
    def alive(self) -> bool:
        return self.desk.up and self.desk.incarnation == self.incarnation

    def tell(self, event: s.Event) -> None:
        if self.alive:
            self.moving.happened(self.world.now_us, event)

    def soon(self, what: Any) -> None:
        self.world.later(
            self.world.rng.randrange(1, S // 2), lambda: what() if self.alive else None
        )

    def do(self, order: Order) -> None:
        item = self.item
        match order:
            case Skip(frontier=frontier):
                if item.skips:
                    item.skipped.join(frontier)
            case s.Buffer(id=id):
                self.soon(lambda: self.buffered(id))
            case s.Drain(id=id):
                item.draining = True
                self.soon(lambda: self.drained(id))
            case s.Resume():
                item.draining = item.frozen = False
                item.queue += item.late
                item.late = []
            case s.Disconnect(id=id):
                self.soon(lambda: self.disconnect(id))
            case s.Forward():
                item.forwards = True
                for one in item.queue + item.late:
                    item.forward(one)
                item.queue, item.late = [], []
            case s.Replay(id=id, client=client):
                item.serve(client)
                self.soon(lambda: self.tell(s.Replayed(id, client)))
            case s.Keep(clients=clients):
                for client in clients - item.live:
                    item.kept[client] = list(item.buffer)
            case s.Flush():
                item.buffering, item.buffer = False, []
            case s.DropBuffer():
                item.buffering, item.buffer, item.kept, item.live = False, [], {}, set()
                item.subscribed.discard(1)
            case s.Release():
                item.subscribed.discard(0)

    def buffered(self, id: s.SessionId) -> None:
        session = self.moving.state.session
        if session is not None and session.id == id:
            self.item.buffering = True
            self.item.subscribed.add(1)
            self.soon(lambda: self.tell(s.Buffered(id)))  # When every origin has confirmed.

    def drained(self, id: s.SessionId) -> None:
        if self.item.frozen:
            self.tell(s.Drained(id))
        elif self.item.draining:
            self.soon(lambda: self.drained(id))

    def disconnect(self, id: s.SessionId) -> None:
        for client, at in self.item.at.items():
            if at == 0 and self.world.rng.random() < 0.7:
                self.item.at[client] = None
                delay_us = self.world.rng.choice([S // 10, S, 8 * S])
                self.world.later(delay_us, partial(connect, self.world, self.item, client))
        if 0 not in self.item.at.values():
            self.tell(s.Disconnected(id))


def connect(world: World, item: Item, client: str) -> None:
    item.at[client] = 1
    if client in item.kept:
        item.serve(client)
    for part in world.desks[1].parts:
        if isinstance(part, Moving):
            part.happened(world.now_us, s.Connected(client))


def moving_world(seed: int, *, skips: bool = True, buffers: bool = True) -> tuple[World, Item]:
    """Runs it all; what is left is to look."""
    holder: list[Item] = []
    patience = Patience(answer_s=0.2, tries=[3, 5, 10][seed % 3], clients_s=3.0)

    def staff(desk: Desk) -> list[Part]:
        if not holder:
            holder.append(Item(desk.world, skips=skips, buffers=buffers))
        agent = Agent(desk, holder[0], patience)
        if desk.me == 1:
            for client, at in holder[0].at.items():
                if at == 1:
                    agent.soon(partial(agent.tell, s.Connected(client)))
        return [agent.moving]

    world = World(seed, 3, staff)
    item, rng = holder[0], world.rng
    item.pump()
    for _ in range(LETTERS):
        world.later(rng.randrange(1, 9 * S), item.publish)
    for at_us in (S // 2, 3 * S, 6 * S, 20 * S):
        world.later(at_us, lambda: begin(world, item))
    for _ in range(rng.choice([0, 1, 2])):
        me, at_us = rng.randrange(2), rng.randrange(S // 2, 6 * S)
        world.later(at_us, lambda me=me: bounce(world, me))  # type: ignore[misc]
    if rng.random() < 0.5:
        at_us = rng.randrange(S // 2, 4 * S)
        world.later(at_us, lambda: world.split({0: 0, 1: 1, 2: 2}))
        world.later(at_us + rng.randrange(1, 2 * S), lambda: world.split({0: 0, 1: 0, 2: 0}))
    world.run(60 * S)
    return world, item


def begin(world: World, item: Item) -> None:
    for part in world.desks[0].parts:
        if isinstance(part, Moving) and set(item.at.values()) == {0}:
            part.begin(world.now_us, "item", 1, CLIENTS)


def bounce(world: World, me: int) -> None:
    if world.desks[me].up:
        world.crash(me)
        world.later(world.rng.randrange(1, S), lambda: world.start(me))


def faults(item: Item) -> dict[str, set[tuple[str, LetterId]]]:
    """What was lost, and what came twice."""
    pairs = [(client, id) for client in CLIENTS for id in item.published]
    return {
        "lost": {one for one in pairs if item.got[one[0]][one[1]] == 0},
        "twice": {one for one in pairs if item.got[one[0]][one[1]] > 1},
    }
