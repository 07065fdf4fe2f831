"""A council in a bad network: notes lost, doubled and late, members that crash, and partitions.

Everything that is said or written goes through msgspec, as it would in an agent. A note leaves only
when the records that were written before it are safe; a crash loses what was not safe yet.
"""

import heapq
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.council.words import is_word, word
from ropewalk.overlay.parts import NEVER, Part

PACE = Pace()
S = 1_000_000


def through_wire(body: Any) -> Any:
    plain = msgspec.msgpack.decode(msgspec.msgpack.encode(body))
    assert is_word(plain)
    return word(plain)


class Desk:
    """The office of one member, and its disk."""

    def __init__(self, world: "World", me: int) -> None:
        self.world, self.me, self.incarnation = world, me, 0
        self.disk: list[Any] = []
        self.unsafe: list[Any] = []
        self.held: list[Callable[[], None]] = []
        self.parts: list[Part] = []
        self.told: list[tuple[Any, ...]] = []
        self.up = False

    def reachable(self) -> frozenset[int]:
        return self.world.component(self.me)

    def note(self, to: int, body: Any) -> None:
        self.when_safe(lambda: self.world.send(self.me, to, body))

    def when_safe(self, what: Callable[[], None]) -> None:
        if self.world.forgetful or not self.unsafe:
            what()
        else:
            self.held.append(what)

    def write(self, record: Any) -> None:
        self.unsafe.append(through_wire(record))
        incarnation = self.incarnation
        delay_us = self.world.rng.randrange(1, 20_000)
        self.world.later(delay_us, lambda: self.safe(incarnation))

    def safe(self, incarnation: int) -> None:
        """The disk has caught up: notes that waited for it leave."""
        if incarnation != self.incarnation or not self.up:
            return
        if not self.world.forgetful:
            self.disk += self.unsafe
        held, self.unsafe, self.held = self.held, [], []
        for what in held:
            what()

    def tell(self, what: str, *about: Any) -> None:
        self.told.append((what, *about))


Staff = Callable[[Desk], list[Part]]


class World:
    """Members by number; `staff` makes the parts of one, anew after each restart."""

    def __init__(
        self, seed: int, size: int, staff: Staff, *, calm: bool = False, forgetful: bool = False
    ) -> None:
        self.rng = Random(seed)
        self.staff, self.forgetful = staff, forgetful
        self.now_us, self.count = 0, 0
        self.agenda: list[tuple[int, int, Callable[[], None]]] = []
        self.loss = 0.0 if calm else self.rng.choice([0.0, 0.05, 0.2])
        self.slow_us = 5_000 if calm else self.rng.choice([5_000, 30_000, 120_000])
        self.lag_us = 0 if calm else self.rng.choice([0, 200_000, 3_000_000])
        """Until members know who can be reached."""
        self.view: dict[int, frozenset[int]] = {}
        self.side: dict[int, int] = dict.fromkeys(range(size), 0)
        self.desks = [Desk(self, me) for me in range(size)]
        self.laws: list[Callable[[], None]] = []
        for me in range(size):
            self.start(me)

    def later(self, delay_us: int, what: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.agenda, (self.now_us + delay_us, self.count, what))

    def component(self, me: int) -> frozenset[int]:
        return self.view.get(me, frozenset()) | {me}

    def look(self) -> None:
        up = [desk.me for desk in self.desks if desk.up]
        for me in up:
            self.view[me] = frozenset(one for one in up if self.side[one] == self.side[me])

    # What happens to members.

    def start(self, me: int) -> None:
        desk = self.desks[me]
        if desk.up:
            return
        desk.up, desk.incarnation = True, desk.incarnation + 1
        desk.unsafe, desk.held = [], []
        desk.parts = self.staff(desk)
        for part in desk.parts:
            part.recover(self.now_us, list(desk.disk))
        self.all_changed()

    def crash(self, me: int) -> None:
        desk = self.desks[me]
        # A prefix of what was being written may have come to the disk.
        desk.disk += desk.unsafe[: self.rng.randrange(len(desk.unsafe) + 1)]
        if self.forgetful:
            desk.disk = []
        desk.up, desk.parts, desk.unsafe, desk.held = False, [], [], []
        self.all_changed()

    def split(self, sides: dict[int, int]) -> None:
        self.side = sides
        self.all_changed()

    def all_changed(self) -> None:
        if self.lag_us:
            self.later(self.lag_us, self.tell_all)
        else:
            self.tell_all()

    def tell_all(self) -> None:
        self.look()
        for desk in self.desks:
            for part in desk.parts:
                part.changed(self.now_us)

    # Notes.

    def send(self, sender: int, to: int, body: Any) -> None:
        body = through_wire(body)
        for _ in range(self.rng.choice([1, 1, 1, 1, 2])):
            if self.rng.random() >= self.loss:
                delay_us = self.rng.randrange(1_000, self.slow_us)
                self.later(delay_us, lambda: self.arrive(sender, to, body))

    def arrive(self, sender: int, to: int, body: Any) -> None:
        if self.desks[to].up and self.side[sender] == self.side[to]:
            assert any(part.heard(self.now_us, sender, body) for part in self.desks[to].parts)

    # Time.

    def run(self, until_us: int) -> None:
        while True:
            wake_us = min((p.wake_us for d in self.desks for p in d.parts), default=NEVER)
            next_us = min(wake_us, self.agenda[0][0] if self.agenda else NEVER)
            if next_us > until_us:
                break
            self.now_us = max(self.now_us, next_us)
            self.step()
            for law in self.laws:
                law()
        self.now_us = until_us

    def step(self) -> None:
        while self.agenda and self.agenda[0][0] <= self.now_us:
            heapq.heappop(self.agenda)[2]()
        for desk in self.desks:
            for part in desk.parts:
                if part.wake_us <= self.now_us:
                    part.due(self.now_us)
                    assert part.wake_us > self.now_us, part

    def trouble(self, until_us: int, often_us: int = 1_500_000) -> None:
        """Crashes, restarts and partitions up to a time; then all is whole again."""
        while self.now_us < until_us:
            self.run(self.now_us + self.rng.randrange(1, often_us))
            me = self.rng.randrange(len(self.desks))
            match self.rng.randrange(4):
                case 0:
                    self.crash(me)
                case 1:
                    self.start(me)
                case 2:
                    self.split({d.me: self.rng.randrange(2) for d in self.desks})
                case 3:
                    self.split(dict.fromkeys(self.side, 0))
        self.split(dict.fromkeys(self.side, 0))
        for desk in self.desks:
            self.start(desk.me)

    def settle(self) -> None:
        """From here on round trips are shorter than the lease, and few notes are lost."""
        self.loss, self.slow_us = min(self.loss, 0.02), min(self.slow_us, 30_000)
        self.lag_us = min(self.lag_us, 200_000)
        self.all_changed()
