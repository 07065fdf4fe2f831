"""Two brokers, their clients and a bad network: a session is run, and what clients got is counted."""

import heapq
from collections.abc import Callable
from random import Random

from ropewalk.placement.reactive import session as s
from ropewalk.placement.reactive.mediation import Mediator, Patience, step

CLIENTS = ("c1", "c2")
MESSAGES = 40
CALM_S = 300.0
"""From here on nothing is lost: what is said again and again gets there before the end."""
END_S = 400.0


class World:
    """Control messages are lost, doubled and late; data is late only (agents keep custody of it)."""

    def __init__(self, seed: int, *, target_buffers: bool = True) -> None:
        self.rng = Random(seed)
        self.target_buffers = target_buffers
        self.now_s, self.count = 0.0, 0
        self.agenda: list[tuple[float, int, Callable[[], None]]] = []
        patience = Patience(answer_s=1.0, tries=self.rng.choice([1, 3]), clients_s=20.0)
        self.agents = {name: Mediator(name, patience) for name in ("source", "target")}
        self.loss = self.rng.choice([0.0, 0.2, 0.5])
        self.cut_s = (self.rng.uniform(0, 30), self.rng.uniform(0, 40))
        self.reports: list[str] = []
        # Data at the source: a queue per client; at the target: one buffer, and durable queues.
        self.at: dict[str, str | None] = dict.fromkeys(CLIENTS, "source")
        self.queue: dict[str, list[int]] = {client: [] for client in CLIENTS}
        self.subscribed = {"source"}
        self.forwards = self.draining = self.buffering = False
        self.buffer: list[int] = []
        self.live: set[str] = set()
        self.kept: dict[str, list[int]] = {}
        self.got: dict[str, set[int]] = {client: set() for client in CLIENTS}
        self.published: set[int] = set()

    def later(self, delay_s: float, what: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.agenda, (self.now_s + delay_s, self.count, what))

    def soon(self, what: Callable[[], None]) -> None:
        self.later(self.rng.uniform(0, 2), what)

    def run(self) -> None:
        for start_s in (2.0, self.rng.uniform(4, 60)):
            self.later(start_s, self.begin)
        for number in range(MESSAGES):
            self.later(self.rng.uniform(0, 90), lambda number=number: self.publish(number))  # type: ignore[misc]
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            self.later(self.rng.uniform(2, 40), self.trouble)
        self.later(0.3, self.tick)
        while self.agenda and self.agenda[0][0] <= END_S:
            self.now_s, _, what = heapq.heappop(self.agenda)
            what()

    def begin(self) -> None:
        """A session, also a second one if the first was given up."""
        if self.agents["source"].session is None and set(self.at.values()) == {"source"}:
            self.tell("source", s.Begin("target", "item", frozenset(CLIENTS)))

    def trouble(self) -> None:
        """Somebody wants out, or takes the other for dead."""
        name = self.rng.choice(["source", "target"])
        other = "target" if name == "source" else "source"
        self.tell(name, s.Abort() if self.rng.random() < 0.5 else s.PeerDead(other))

    def tick(self) -> None:
        for name in self.agents:
            self.tell(name, s.Tick())
        self.pump()
        self.later(0.3, self.tick)

    def tell(self, name: str, event: s.Event) -> None:
        self.agents[name], actions = step(self.agents[name], event, self.now_s)
        for action in actions:
            self.act(name, action)

    def send(self, sender: str, say: s.Say) -> None:
        cut = self.cut_s[0] <= self.now_s < sum(self.cut_s)
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            lost = self.rng.random() < self.loss and self.now_s < CALM_S
            if not cut and not lost:
                self.later(self.rng.uniform(0, 3), lambda: self.hear(sender, say))

    def hear(self, sender: str, say: s.Say) -> None:
        self.tell(say.to, s.Heard(sender, say.message))

    def act(self, name: str, action: s.Action) -> None:
        match action:
            case s.Say():
                self.send(name, action)
            case s.Buffer(id=id):
                # Every origin has to acknowledge the subscription first.
                self.later(self.rng.uniform(0, 6), lambda: self.start_buffer(id))
            case s.Drain(id=id):
                self.draining = True
                self.soon(lambda: self.check_drained(id))
            case s.Resume():
                self.draining = False
            case s.Disconnect(id=id):
                self.soon(lambda: self.disconnect(id))
            case s.Forward():
                self.forwards = True
            case s.Release():
                self.subscribed.discard("source")
                self.draining = False
            case s.Replay(id=id, client=client):
                self.hand(client, self.buffer)
                self.soon(lambda: self.tell("target", s.Replayed(id, client)))
            case s.Keep(clients=clients):
                for client in clients:
                    self.kept[client] = list(self.buffer)
                    if self.at[client] == "target":
                        self.hand(client, self.kept.pop(client))
            case s.Flush():
                self.buffering, self.buffer = False, []
            case s.DropBuffer():
                self.buffering, self.buffer, self.kept = False, [], {}
                self.subscribed.discard("target")
            case s.Report(text=text):
                self.reports.append(text)

    # What brokers and clients do.

    def publish(self, number: int) -> None:
        self.published.add(number)
        for name in sorted(self.subscribed):
            arrives = self.at_source if name == "source" else self.at_target
            longest_s = self.rng.choice([1.0, 1.0, 15.0])
            delay_s = self.rng.uniform(0, longest_s)
            self.later(delay_s, lambda arrives=arrives: arrives(number))  # type: ignore[misc]

    def at_source(self, number: int) -> None:
        for client in CLIENTS:
            self.queue[client].append(number)

    def at_target(self, number: int) -> None:
        if self.buffering and self.target_buffers:
            self.buffer.append(number)
        for client in CLIENTS:
            if client in self.live:
                self.got[client].add(number)
            elif client in self.kept:
                self.kept[client].append(number)

    def hand(self, client: str, numbers: list[int]) -> None:
        self.got[client] |= set(numbers)
        self.live.add(client)

    def pump(self) -> None:
        """The source sends one queued message to each client, or passes all on."""
        for client, queue in self.queue.items():
            if self.at[client] == "source" and queue:
                self.got[client].add(queue.pop(0))
            elif self.forwards:
                for number in queue:
                    self.soon(lambda number=number: self.at_target(number))  # type: ignore[misc]
                queue.clear()

    def start_buffer(self, id: s.SessionId) -> None:
        session = self.agents["target"].session
        if session is not None and session.id == id:
            self.buffering = True
            self.subscribed.add("target")
            self.tell("target", s.Buffered(id))

    def check_drained(self, id: s.SessionId) -> None:
        if self.draining and not any(self.queue.values()):
            self.tell("source", s.Drained(id))
        elif self.draining:
            self.soon(lambda: self.check_drained(id))

    def disconnect(self, id: s.SessionId) -> None:
        for client in CLIENTS:
            if self.at[client] == "source" and self.rng.random() < 0.7:
                self.at[client] = None
                # Some come at once, some after the target has stopped waiting for them.
                wait_s = self.rng.choice([1.0, 5.0, 90.0])
                self.later(wait_s, lambda client=client: self.connect(client))  # type: ignore[misc]
        if "source" not in self.at.values():
            self.tell("source", s.Disconnected(id))

    def connect(self, client: str) -> None:
        self.at[client] = "target"
        if client in self.kept:
            self.hand(client, self.kept.pop(client))
        self.tell("target", s.Connected(client))

    def lost(self) -> set[tuple[str, int]]:
        return {(client, n) for client in CLIENTS for n in self.published - self.got[client]}
