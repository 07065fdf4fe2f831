"""Small random traces that come near every rule of the audit, from both sides.

Times lie on a coarse grid, and so do clock errors, the deadline and the bounds: that equal times
meet is frequent, and a few rows are then moved by a nanosecond.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ropewalk.federation.facts import Broker, Contract, Federation, Topic
from ropewalk.protocol import Automaton, automaton
from tests.pipeline.small_brinks import DEADLINE_NS, WITHIN_MS, Row, brink

MOST_ROWS, FEWEST_ROWS = 150, 20

DEAL = """\
protocol: deal
initial: idle
accepting: [done]
transitions:
  - idle -> asked: ask
  - asked -> offered: offer
  - offered -> asked: ask
  - offered -> done: take
  - asked -> done: leave
"""

BID = """\
protocol: bid
messages: {bidder -> house: [bid, retract], house -> bidder: [sold, over]}
initial: open
accepting: [gone]
transitions:
  - open -> low: {message: bid, when: price < 10}
  - open -> high: {message: bid, when: price >= 10}
  - low -> open: over
  - high -> gone: sold
  - high -> tired: {timeout_s: 5, at: bidder}
  - tired -> open: retract
"""

TOPICS = {
    "a/late": Topic(contract=Contract(within_ms=WITHIN_MS)),
    "a/once": Topic(contract=Contract(delivery="exactly-once", within_ms=WITHIN_MS)),
    "a/most": Topic(contract=Contract(delivery="at-most-once", order="none")),
    "b/total": Topic(contract=Contract(order="total")),
    "c/bid": Topic(contract=Contract(order="none"), protocol="bid"),
    "c/+": Topic(contract=Contract(order="none"), protocol="deal"),
    "b/#": Topic(contract=Contract(delivery="at-least-once", order="priority")),
    "+/best": Topic(contract=Contract(delivery="best-effort", order="none", within_ms=WITHIN_MS)),
}
"""A topic's own entry stands before patterns; a/plain has none at all."""

NAMES = ("a/plain", "a/late", "a/once", "a/most", "a/best", "b/total", "b/prio", "c/one", "c/two")


@dataclass(frozen=True)
class Small:
    rows: list[Row]
    federation: Federation
    deadline_ns: int
    protocols: dict[str, Automaton]


@dataclass
class Client:
    name: str
    moves: list[tuple[int, str]]
    """From when it is at which node."""

    def node_at(self, t: int) -> str:
        return [node for since, node in self.moves if since <= t or since == 0][-1]


@dataclass
class Maker:
    """Notes what happens when, then writes it as the nodes' agents would."""

    random: Random
    noted: list[tuple[int, int, str, Row]] = field(default_factory=list)
    restarts: list[tuple[int, str]] = field(default_factory=list)
    unseen: set[tuple[str | None, str]] = field(default_factory=set)
    """(topic, kind) and (topic, column) that no agent writes."""

    def __post_init__(self) -> None:
        self.grid = self.random.choice((1, 5, 10))
        self.nodes = [f"n{i}" for i in range(self.random.randint(2, 4))]
        scale = self.random.choice((0, 0, 1, 1, 2))
        self.errors = {
            node: scale * self.random.choice((0, 0, 5, 10, 30)) // self.grid * self.grid
            for node in self.nodes
        }
        self.clients = [self.client(f"k{i}") for i in range(self.random.randint(2, 4))]

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def client(self, name: str) -> Client:
        moves = [(0, self.random.choice(self.nodes))]
        if self.chance(0.35):
            moves.append((self.time(300, 1200), self.random.choice(self.nodes)))
        return Client(name, moves)

    def time(self, low: int, high: int) -> int:
        return self.random.randint(low, high) // self.grid * self.grid

    def note(self, t: int, node: str, kind: str, **columns: Any) -> None:
        topic = columns.get("topic")
        seen = {name: one for name, one in columns.items() if (topic, name) not in self.unseen}
        if (topic, kind) not in self.unseen:
            self.noted.append((t, len(self.noted), node, {"kind": kind, **seen}))

    def write(self) -> list[Row]:
        """Rows in the order of true time, which is the order at each node."""
        index: dict[tuple[str, int], int] = {}
        rows = []
        for t, _, node, columns in sorted(self.noted, key=lambda one: one[:2]):
            incarnation = sum(at <= t and where == node for at, where in self.restarts)
            li = index.get((node, incarnation), 0)
            index[node, incarnation] = li + self.random.choice((1, 1, 1, 3))
            error = self.errors[node]
            off = self.random.choice((-error, 0, 0, 0, error))
            row = {"ts_ns": max(0, t + off), "node": node, "li": li, **columns}
            if incarnation or self.chance(0.5):
                row["incarnation"] = incarnation
            if error or self.chance(0.5):
                row["clock_err_ns"] = error
            rows.append(row)
        return rows


def small_trace(seed: int) -> Small:
    """A trace of 20 to 150 rows, always the same for a seed."""
    maker = Maker(Random(seed))
    for client in maker.clients:
        _connections(maker, client)
    topics = maker.random.sample(NAMES, maker.random.randint(1, 3))
    for topic in topics:
        for client in maker.clients:
            if maker.chance(0.93):
                _subscription(maker, topic, client)
        _traffic(maker, topic)
    if seed % 7 == 3:
        maker.random, kept = Random(-seed), maker.random
        _conversations(maker, "c/bid")
        maker.random = kept
    if maker.chance(0.5):
        _advertisements(maker, topics)
    _endings(maker)
    rows = _slips(maker, maker.write())
    federation = Federation(
        name=f"small-{seed}", brokers={node: Broker() for node in maker.nodes}, topics=TOPICS
    )
    protocols = {"deal": automaton(DEAL), "bid": automaton(BID)}
    return Small(rows, federation, DEADLINE_NS, protocols)


def split(rows: list[Row], seed: int) -> list[list[Row]]:
    """The rows as shuffled files; some rows are in two of them."""
    random = Random(seed)
    files: list[list[Row]] = [[] for _ in range(random.randint(1, 4))]
    for row in rows:
        for file in random.sample(files, 2 if len(files) > 1 and random.random() < 0.1 else 1):
            file.append(row)
    for file in files:
        random.shuffle(file)
    return files


def _connections(maker: Maker, client: Client) -> None:
    """Connects and disconnects: in pairs, one without the other, or none at all."""
    pattern = maker.random.choice(("none", "none", "whole", "whole", "odd"))
    if pattern == "none":
        return
    for since, node in client.moves:
        begin = since or maker.time(0, 60)
        steps = [(begin, node, "connect")]
        for _ in range(maker.random.choice((0, 0, 1, 2))):
            leave = maker.time(begin + 20, begin + 500)
            begin = maker.time(leave, leave + 150)
            steps += [(leave, node, "disconnect"), (begin, node, "connect")]
        if pattern == "odd":
            steps = [step for step in steps if maker.chance(0.6)]
        for t, where, kind in steps:
            maker.note(t, where, kind, client=client.name)


def _patterns(topic: str) -> list[str]:
    first, last = topic.split("/")
    return [topic, topic, topic, f"{first}/+", f"{first}/#", f"+/{last}", "#"]


def _subscription(maker: Maker, topic: str, client: Client) -> None:
    """One to three windows of a subscription; any of its rows may be missing."""
    what = {"topic": maker.random.choice(_patterns(topic)), "client": client.name}
    if maker.chance(0.25):
        what["subscription"] = maker.random.choice(("s1", "s2"))
    durable = {"durable": True} if maker.chance(0.3) else {}
    t = maker.time(0, 150)
    for _ in range(maker.random.choice((1, 1, 1, 2, 3))):
        kept = maker.random.choice((1.0, 1.0, 0.6))
        ends = maker.chance(0.25)
        for kind, asked in (("subscribe", 1.0), ("subscribed", 1.0), ("un", ends), ("done", ends)):
            name = {"un": "unsubscribe", "done": "unsubscribed"}.get(kind, kind)
            if asked and maker.chance(kept):
                flag = durable if kind in ("subscribe", "subscribed") else {}
                maker.note(t, client.node_at(t), name, **what, **flag)
            t = maker.time(t, t + (400 if kind == "subscribed" else 40))
        t = maker.time(t, t + 150)


def _traffic(maker: Maker, topic: str) -> None:
    if topic == "b/total" and maker.chance(0.4):
        _cycle(maker, topic)
    if topic.startswith("c/"):
        _conversations(maker, topic)
        return
    for blind in (("publish", "accepted"), ("publish",), ("enqueue",), ("rank",)):
        if maker.chance(0.08):
            maker.unseen |= {(topic, one) for one in blind}
    calm = maker.chance(0.4)
    for producer in ("p", "q")[: maker.random.randint(1, 2)]:
        node = maker.random.choice(maker.nodes)
        pseq = maker.random.choice((1, 5))
        t = maker.time(100, 400)
        for _ in range(maker.random.randint(2, 7)):
            message = {"topic": topic, "producer": producer, "pseq": pseq}
            _publication(maker, node, message, t, calm)
            _deliveries(maker, message, t, calm)
            pseq += maker.random.choice((1, 1, 1, 2))
            t += maker.time(0, maker.random.choice((20, 100, 300)))


def _publication(maker: Maker, node: str, message: Row, t: int, calm: bool) -> None:
    if maker.chance(0.97 if calm else 0.9):
        maker.note(t, node, "publish", **message)
    if maker.chance(0.9):
        elsewhere = maker.random.choice(maker.nodes)
        where = elsewhere if maker.chance(0.1) else node
        maker.note(maker.time(t, t + 12), where, "accepted", **message)
    if maker.chance(0.06):
        maker.note(maker.time(t, t + 200), node, "publish", **message)


def _deliveries(maker: Maker, message: Row, t: int, calm: bool) -> None:
    """To each client once, or never, late, twice, marked, acknowledged, or while it waits."""
    level = {"priority": maker.random.choice((0, 1, 5))} if message["topic"] == "b/prio" else {}
    order: Row = {"rank": maker.random.choice((t, t, t - 30))} if maker.chance(0.8) else {}
    if message["topic"] != "b/total":
        order = {}
    delays = (10, 10, 20) if calm else (5, 10, 30, 40, 60, 120)
    for client in maker.clients:
        what = {**message, "client": client.name}
        if maker.chance(0.1):
            continue
        at = t + maker.random.choice(delays) // maker.grid * maker.grid
        node = client.node_at(at) if maker.chance(0.95) else maker.random.choice(maker.nodes)
        if level and maker.chance(0.85):
            maker.note(t, node, "enqueue", **what, **level)
            at += maker.random.choice((0, 30, 60))
        marked = {"redelivered": True} if maker.chance(0.06) else {}
        maker.note(at, node, "deliver", **what, **level, **order, **marked)
        _repetitions(maker, client, {**what, **level, **order}, at, node)
    if maker.chance(0.05):
        maker.note(t + 10, maker.random.choice(maker.nodes), "deliver", **message, client="stray")
    if maker.chance(0.05):
        early = {**message, "pseq": message["pseq"] - maker.random.randint(1, 6)}
        maker.note(t, maker.random.choice(maker.nodes), "deliver", **early, client="k0")


def _repetitions(maker: Maker, client: Client, what: Row, at: int, node: str) -> None:
    if maker.chance(0.3):
        where = node if maker.chance(0.6) else maker.random.choice(maker.nodes)
        maker.note(maker.time(at, at + 60), where, "ack", **what)
    if maker.chance(0.18):
        again = maker.time(at, at + 90)
        where = client.node_at(again) if maker.chance(0.7) else maker.random.choice(maker.nodes)
        marked = {"redelivered": True} if maker.chance(0.6) else {}
        maker.note(again, where, "deliver", **what, **marked)


def _cycle(maker: Maker, topic: str) -> None:
    """Consumers that each have two neighbours of a ring: no two of them disagree if it is longer
    than two. One link of the ring may be missing, or lie at two nodes.
    """
    size = maker.random.randint(2, min(4, max(2, len(maker.clients))))
    ring = maker.clients[:size]
    t = maker.time(900, 1200)
    spoiled = maker.random.choice((None, None, 0, 1))
    for i, client in enumerate(ring):
        home = maker.random.choice(maker.nodes)
        pair = (i, (i + 1) % size) if i != spoiled else ((i + 1) % size, i)
        for step, number in enumerate(pair):
            node = maker.random.choice(maker.nodes) if maker.chance(0.1) else home
            what = {"topic": topic, "producer": "ring", "pseq": 1 + number, "client": client.name}
            maker.note(t + 10 * step, node, "deliver", **what)


DEALS = {
    "idle": [("ask", "asked")],
    "asked": [("offer", "offered"), ("leave", "done")],
    "offered": [("ask", "asked"), ("take", "done")],
}
BIDS = {
    "idle": [("bid", "any"), ("bid[price < 10]", "low"), ("bid[price >= 10]", "high")],
    "any": [("over", "idle"), ("sold", "done"), ("retract", "idle")],
    "low": [("over", "idle")],
    "high": [("sold", "done"), ("retract", "idle")],
}
"""Labels with and without what guards say; deadlines are not seen."""


def _conversations(maker: Maker, topic: str) -> None:
    """Walks over the automaton, with a wrong step now and then; some use both topics."""
    moves = BIDS if topic == "c/bid" else DEALS
    words = sorted({label for some in moves.values() for label, _ in some})
    pseq = 1
    for conversation in ("v1", "v2", "v3")[: maker.random.randint(1, 3)]:
        state, t = "idle", maker.time(100, 500)
        wide = maker.chance(0.5)
        for _ in range(maker.random.randint(1, 6)):
            label, state = maker.random.choice(moves.get(state, moves["idle"]))
            if maker.chance(0.12):
                label = maker.random.choice((*words, "shout"))
            on = maker.random.choice(("c/one", "c/two")) if wide and moves is DEALS else topic
            message = {"topic": on, "producer": topic[-1] + conversation, "pseq": pseq}
            node = maker.random.choice(maker.nodes)
            told = {**message, "conversation": conversation, "label": label}
            if moves is BIDS and maker.chance(0.3):  # an agent was killed and tells it again
                maker.note(t + maker.time(0, 200), node, "publish", **told, redelivered=True)
                if maker.chance(0.4):
                    maker.note(t + 1, node, "publish", **told, redelivered=True)
            if moves is not BIDS or maker.chance(0.8):
                maker.note(t, node, "publish", **told)
            if maker.chance(0.5):
                _deliveries(maker, message, t, True)
            pseq += 1
            t += maker.time(0, 60)
            if state == "done" and maker.chance(0.8):
                break


def _advertisements(maker: Maker, topics: Iterable[str]) -> None:
    for topic in topics:
        origin = maker.random.choice(maker.nodes)
        what = {"topic": topic, "producer": "p"}
        t = maker.time(100, 600)
        maker.note(t, origin, "advertise", **what, **({"hop": 0} if maker.chance(0.9) else {}))
        for node in maker.nodes:
            if node != origin and maker.chance(0.6):
                maker.note(t + maker.time(0, 150), node, "advertise", **what, hop=1)
        if maker.chance(0.3):
            gone = t + maker.random.choice((0, 10, 40, 50, 60, 90)) // maker.grid * maker.grid
            maker.note(gone, origin, "unadvertise", **what)


def _endings(maker: Maker) -> None:
    """Nodes restart, and most are seen alive at the end."""
    for node in maker.nodes:
        if maker.chance(0.2):
            maker.restarts.append((maker.time(200, 1000), node))
        if maker.chance(0.6):
            end = maker.time(900, 2000)
            maker.note(end, node, "sample", window_ns=100, messages_in=3)


def _slips(maker: Maker, rows: list[Row]) -> list[Row]:
    """A few rows off by a nanosecond, lost, or written twice; then as many as there may be."""
    random = maker.random
    kept = [row for row in rows if random.random() > 0.02]
    for row in random.sample(kept, len(kept) // 12):
        row["ts_ns"] = max(0, row["ts_ns"] + random.choice((-1, 1)))
    if random.random() < 0.4:
        kept += brink(random)
    if random.random() < 0.05:
        kept = [row for row in kept if row["kind"] != "subscribed"]
    kept += [dict(row) for row in random.sample(kept, len(kept) // 30)]
    while len(kept) < FEWEST_ROWS:
        filler = {"ts_ns": len(kept), "node": "idle", "li": len(kept), "kind": "sample"}
        kept.append({**filler, "window_ns": 10, "messages_in": 0})
    if len(kept) > MOST_ROWS:
        kept = [kept[i] for i in sorted(random.sample(range(len(kept)), MOST_ROWS))]
    return kept
