"""What was given to the broker for its clients, until the broker has confirmed it.

What the core writes to its log after a delivery says that the delivery happened; so it waits here
until that is true (`behind`). When the broker dies before, the delivery is made again, and when the
agent dies with it, the origin sends it again: its receipt never left.

Letters of this agent's own clients leave whatever the broker does, and nobody may get one that this
agent does not know after a crash: their records go to the log at once. So records get there in
another order than the core wrote them, and `safe` tells how many of the core's own are safe.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from ropewalk.agent.brokers.contract import Local, Outgoing
from ropewalk.overlay import Agent
from ropewalk.overlay.events import Deliver
from ropewalk.overlay.lane import Kept, KeptRun
from ropewalk.overlay.talk.past import KeptBack, Talked

AT_ONCE = 8_192
"""Messages that the broker has not confirmed: then others wait."""
LEAVING = (Kept, KeptRun, Talked, KeptBack)
"""Records of letters that leave, of what letters did to their conversations, and of those that wait
in one: their receipts leave as well."""


class Batch(Struct, gc=False):
    """Records that the core wrote together."""

    upto: int
    """How many it had written by then."""
    place: int = 0
    """How many records the log had been given when it had been given all of these; 0 before."""


class Delivery(Struct, gc=False):
    """A message for clients, and what the core said of it."""

    message: Outgoing
    action: Deliver


class Deliveries:
    """The way of messages to the broker, and of records that depend on them to the log."""

    def __init__(
        self,
        local: Local,
        write: Callable[[Sequence[Any]], None],
        done: Callable[[Sequence[Delivery]], None],
    ) -> None:
        self._local, self._write, self._done = local, write, done
        self._waiting: deque[Delivery] = deque()
        self._given: deque[Delivery] = deque()
        self._confirmed_here = 0
        """Of those given since the broker was reached last."""
        self._behind: deque[tuple[int, Sequence[Any], Batch]] = deque()
        self._batches: deque[Batch] = deque()
        """Those that are not safe."""
        self._written = self._logged = 0
        """Records, by the core and to the log."""
        self._total = self._confirmed = 0
        self._missing: set[str] = set()
        self.up = False

    @property
    def outstanding(self) -> int:
        """Messages that the broker has not confirmed, or not been given."""
        return len(self._waiting) + len(self._given)

    @property
    def settled(self) -> bool:
        """Whether all that the core says was delivered has been."""
        return self._confirmed == self._total

    def add(self, some: Sequence[Delivery]) -> None:
        """Messages for clients."""
        self._waiting.extend(some)
        self._total += len(some)
        self.push()

    def behind(self, records: Sequence[Any]) -> None:
        """Records of the log that follow all deliveries up to now."""
        self._written += len(records)
        batch = Batch(self._written)
        self._batches.append(batch)
        waiting: Sequence[Any] = ()
        if self._confirmed < self._total or self._behind:
            waiting = [one for one in records if type(one) not in LEAVING]
            records = [one for one in records if type(one) in LEAVING]
        if records:
            self._log(records)
        if waiting:
            self._behind.append((self._total, waiting, batch))
        else:
            batch.place = self._logged

    def _log(self, records: Sequence[Any]) -> None:
        self._logged += len(records)
        self._write(records)

    def safe(self, count: int) -> int:
        """How many of the core's records are safe when so many of the log's are."""
        batches, safe = self._batches, 0
        while batches and 0 < batches[0].place <= count:
            safe = batches.popleft().upto
        return safe

    def push(self) -> None:
        """Give the broker what it can take."""
        room = AT_ONCE - len(self._given)
        if not self._waiting or not self.up or self._missing or room <= 0 or self._local.busy:
            return
        waiting = self._waiting
        some = [waiting.popleft() for _ in range(min(room, len(waiting)))]
        self._given.extend(some)
        self._local.deliver([one.message for one in some])

    def delivered(self, count: int) -> None:
        """The broker has confirmed so many since it was reached last."""
        some = [self._given.popleft() for _ in range(count - self._confirmed_here)]
        self._confirmed_here = count
        self._confirmed += len(some)
        self._done(some)
        while self._behind and self._behind[0][0] <= self._confirmed:
            _, records, batch = self._behind.popleft()
            self._log(records)
            batch.place = self._logged
        self.push()

    # --- the broker and its clients come and go ---------------------------------------------

    def broker_up(self) -> None:
        """The broker is there: what it did not confirm is given again."""
        self.up, self._confirmed_here = True, 0
        self._waiting.extendleft(reversed(self._given))
        self._given.clear()
        self.push()

    def broker_down(self) -> None:
        """It is not."""
        self.up = False

    def miss(self, patterns: frozenset[str]) -> None:
        """Wait for clients that were there before the broker went."""
        self._missing = set(patterns)

    def returned(self, pattern: str) -> None:
        """They are back, or have been given up."""
        if pattern in self._missing:
            self._missing.discard(pattern)
            self.push()


def delivery_of(core: Agent, action: Deliver) -> Delivery:
    """What the core wants delivered, as the broker is given it."""
    letter = action.letter
    name = ""
    if action.exactly_once:
        name = (
            f"{core.deck.name(letter.origin)}-{letter.incarnation}-{letter.topic}-{letter.number}"
        )
    message = Outgoing(
        letter.topic,
        letter.payload,
        letter.headers,
        name,
        letter.retain,
        letter.priority,
        action.exactly_once,
    )
    return Delivery(message, action)
