"""One link fails and recovers, and messages are followed one by one (Jia 2014, 6.3.2).

A broker's table changes when the news of a change has reached it and it has reacted. Hellos are
sent at multiples of their interval, so detection follows from when the link fails.
"""

from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Floats, Graph, Ints
from ropewalk.federation.facts import Federation
from ropewalk.routing.delta import fail, plant, tree_room
from ropewalk.routing.rivals.outage import Method, Timers, hops_between
from ropewalk.routing.scenarios import resolve
from ropewalk.routing.trees import NOWHERE, net_of

if TYPE_CHECKING:
    import pandas as pd

MOST_HOPS = 64
"""A message that has gone so far is dropped, as IP does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Who sends what to whom, and what happens meanwhile; all from time 0."""

    source: str
    to: str
    link: str
    fail_ms: float
    recover_ms: float
    until_ms: float
    interval_ms: float
    """Between two messages."""
    hop_ms: float
    """Over one link."""


SIX_NODES = Story(
    source="b1",
    to="b3",
    link="b2--b3",
    fail_ms=50_000,
    recover_ms=100_000,
    until_ms=150_000,
    interval_ms=1_000,
    hop_ms=100,
)
"""6.3.2: 150 units of time, one packet each; 1000 bits at 10000 a unit. A unit is a second here."""

FAST = Timers(
    hello_ms=1_000,
    dead_ms=4_000,
    flood_ms=100,
    spf_delay_ms=1_000,
    spf_hold_ms=2_000,
    adjacency_ms=500,
)
""""Fast" OSPF: hellos every unit, dead after four. The text gives no further values."""


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one message."""

    sent_ms: float
    latency_ms: float | None
    """None: lost."""
    path: tuple[str, ...]


def timeline(federation: Federation, story: Story, timers: Timers, method: Method) -> list[Told]:
    """Every message of a story.

    >>> from ropewalk.federation.generators import generate
    >>> told = timeline(generate("six-node"), SIX_NODES, FAST, "PCRT")
    >>> sum(one.latency_ms is None for one in told), {one.path for one in told[60:99]}
    (3, {('b1', 'b2', 'b6', 'b5', 'b3')})
    """
    graph = federation.graph
    down = resolve(federation, story.link)
    if len(down.links) != 1 or story.source not in graph.names or story.to not in graph.names:
        raise UsageError("a story needs one link, and two brokers of the federation")
    run = _Run(federation, story, timers, method, down.links[0])
    count = floor(story.until_ms / story.interval_ms)
    return [run.follow(k * story.interval_ms) for k in range(count)]


def frame(messages: list[Told]) -> "pd.DataFrame":
    """A row per message."""
    import pandas as pd

    return pd.DataFrame(messages)


class _Run:
    def __init__(
        self, federation: Federation, story: Story, timers: Timers, method: Method, link: int
    ) -> None:
        graph = federation.graph
        self.names, self.story, self.link = graph.names, story, set(graph.ends[link].tolist())
        self.source, self.to = graph.names.index(story.source), graph.names.index(story.to)
        self.carrying = method == "PCRT carrying"
        self.old, self.new = _hops(graph, self.to, link)
        ends = hops_between(graph)[graph.ends[link]]
        self.switched = _switches(graph, story, timers, method, ends.min(axis=0))

    def follow(self, sent_ms: float) -> Told:
        at, now, path, colour = self.source, sent_ms, [self.source], 0
        while at != self.to:
            own = int((self.switched[:, at] <= now).sum())
            colour = max(colour, own) if self.carrying else own
            hop = int((self.new if colour == 1 else self.old)[at])
            dead = self.story.fail_ms <= now < self.story.recover_ms
            if hop == NOWHERE or (dead and {at, hop} == self.link) or len(path) > MOST_HOPS:
                return Told(sent_ms, None, tuple(self.names[u] for u in path))
            at, now = hop, now + self.story.hop_ms
            path.append(at)
        return Told(sent_ms, now - sent_ms, tuple(self.names[u] for u in path))


def _hops(graph: Graph, to: int, link: int) -> tuple[Ints, Ints]:
    """Next hops with the link up, and with it down."""
    net, tree, one = (
        net_of(graph),
        tree_room(graph.brokers, graph.links),
        np.array([link], np.int32),
    )
    plant(net, to, tree)
    fail(net, to, tree, graph.ends, one, one[:0])
    return tree.state["old_hop"].copy(), tree.state["hop"].copy()


def _switches(graph: Graph, story: Story, timers: Timers, method: Method, hops: Ints) -> Floats:
    """When each broker takes the table for the failure, and for the recovery."""
    beat = timers.hello_ms
    last_heard = beat * (ceil(story.fail_ms / beat) - 1)
    heard_again = beat * ceil(story.recover_ms / beat)
    react = timers.react_ms(method, graph)
    down = last_heard + timers.dead_ms + timers.flood_ms * hops + react
    test = timers.adjacency_ms if method == "OSPF" else 2 * timers.flood_ms
    up = heard_again + test + timers.flood_ms * hops + react
    if method == "OSPF":
        up = np.maximum(up, down + timers.spf_hold_ms)
    return np.array([down, up])
