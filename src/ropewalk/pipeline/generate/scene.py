"""A slice while faults are put into it: what they change, and which places are taken."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ropewalk.pipeline.generate.deliveries import Deliveries
from ropewalk.pipeline.generate.kernels import Ints
from ropewalk.pipeline.generate.ledger import Entry
from ropewalk.pipeline.generate.messages import Messages, Span
from ropewalk.pipeline.generate.plan import MS, TOPIC_KINDS
from ropewalk.pipeline.generate.rates import Slices
from ropewalk.pipeline.generate.world import World

Yes = npt.NDArray[np.bool_]
TRIES = 200
APART = 8
"""So many messages are between two faults of a total order, at least."""


@dataclass(frozen=True, slots=True)
class Extra:
    """A delivery too many."""

    stream: int
    pseq: int
    message: int
    """-1 if it was never published."""
    client: int
    node: int
    time: int
    redelivered: bool = False


@dataclass(slots=True)
class Scene:
    """A slice while faults are put into it."""

    world: World
    slices: Slices
    span: Span
    messages: Messages
    made: Deliveries
    subscribed: Ints
    """Clients and topics that have to do with each other: client x topics + topic."""
    rng: np.random.Generator
    entries: list[Entry] = field(default_factory=list)
    extras: list[Extra] = field(default_factory=list)
    bad: list[tuple[int, int]] = field(default_factory=list)
    """Bad rows: a message and the number of the reason."""
    placed: dict[str, int] = field(default_factory=dict)
    routes: set[int] = field(default_factory=set)
    ordered: list[int] = field(default_factory=list)
    """Messages of totally ordered topics that have a fault."""
    talks: set[tuple[int, int]] = field(default_factory=set)
    strangers: set[tuple[int, int]] = field(default_factory=set)
    """Clients that got what was not for them, and its topic."""

    def candidates(self, where: Yes) -> Iterator[int]:
        """Some deliveries, or messages, of those that are asked for, in random order."""
        found = np.flatnonzero(where)
        for _ in range(TRIES if found.size else 0):
            yield int(found[self.rng.integers(0, found.size)])

    def free(self, one: int) -> bool:
        """Whether no fault has touched what this delivery belongs to."""
        if TOPIC_KINDS[self.made.kind[one]].order == "total":
            return self.alone(int(self.made.message[one]))
        return int(self.made.route[one]) not in self.routes

    def alone(self, message: int) -> bool:
        """Whether no fault of a total order is near; messages are numbered in their order."""
        return all(abs(message - other) > APART for other in self.ordered)

    def strange(self, client: int, topic: int) -> bool:
        """Whether a client has nothing to do with a topic."""
        return not np.any(self.subscribed == client * self.world.size.topics + topic)

    def take(self, one: int) -> None:
        """Keep other faults away from it."""
        self.routes.add(int(self.made.route[one]))
        if TOPIC_KINDS[self.made.kind[one]].order == "total":
            self.ordered.append(int(self.made.message[one]))

    def topic(self, message: int) -> str:
        """A message's topic."""
        return str(self.world.topics.names[self.messages.topic[message]])

    def key(self, message: int) -> tuple[str, int]:
        """A message's producer and number."""
        stream = self.messages.stream[message]
        producer = self.world.producers[self.world.streams.producer[stream]]
        return producer, int(self.messages.pseq[message])

    def consumer(self, one: int) -> str:
        """The client of a delivery."""
        return str(self.world.clients.names[self.made.client[one]])

    def tell(self, code: str, one: int) -> None:
        """Put a delivery into the ledger."""
        message = int(self.made.message[one])
        self.entries.append(
            Entry(code, self.topic(message), *self.key(message), self.consumer(one))
        )

    def following(self, one: int, *, stream: bool) -> list[int]:
        """The next two deliveries to the same client, of the topic or of the stream only."""
        made, messages = self.made, self.messages
        same = (made.route == made.route[one]) & made.kept & (made.time > made.time[one])
        found = np.flatnonzero(same)
        if stream:
            streams = messages.stream[made.message[found]]
            found = found[streams == messages.stream[made.message[one]]]
        order: list[int] = found[np.argsort(made.time[found], kind="stable")[:2]].tolist()
        return order

    def after(self, one: int, then: list[int]) -> int:
        """A time after a delivery and before what comes then; 0 if there is no room."""
        limit = int(self.made.time[then[0]]) if then else self.span.end
        room = limit - int(self.made.time[one])
        return int(self.made.time[one]) + min(room // 2, MS) if room > 2_000 else 0

    def kinds(self, *kinds: int) -> Yes:
        """Deliveries of topics of these kinds."""
        return np.isin(self.made.kind, kinds)
