"""What a destination may deliver of one origin's lane, in order and once.

A `Release` looks after all incarnations of one origin in one lane. `Address.after` alone says what
a letter waits for: nothing (order none), the letter before it in its stream (fifo), the one before
it of its stream and priority (priority, see `batch`). A number is *settled* when its letter was
released, or when the origin no longer has it: it lies below `base`, or its incarnation below
`since`. A letter is released when what it waits for is settled. `base` counts only in the oldest
incarnation that is not closed, so an origin has to tell `since` from its first letter on: a letter
that was given up may itself have waited for one of an older incarnation, and nobody here knows.

Receipts claim only what is settled and, where the agent says so, safe in its log (`confirmed`). A
letter that is held back is not claimed: the origin keeps it and sends it again, with a newer `base`
and `since`, which is what frees it when the letter before it was given up. So nothing that is held
back is needed after a crash, and `news` and `state` tell numbers only.

Nothing gets stuck: the number `upto + 1` waits for nothing in its own lane, so it is always taken;
all else may be refused when too much is held, and comes again.
"""

from msgspec import field

from ropewalk.overlay.order.window import Window
from ropewalk.overlay.words import Address, Letter, Receipt, Wire

RECEIPT_EXTRAS = 512
"""Numbers beyond `upto` that a receipt tells at most: the others are sent again."""

Place = tuple[int, int]
"""In the lanes of an origin: incarnation and number."""


class Came(Wire, frozen=True, tag="oc"):
    """A record of the log: what has settled in a lane; records add up."""

    origin: int
    lane: int
    incarnation: int
    upto: int
    extra: tuple[int, ...] = ()
    since: int = 0


class Lane(Window):
    """The lane of one incarnation."""

    incarnation: int = -1
    base: int = 0
    """The origin has nothing below this: what has not come by now is gone."""
    held: dict[int, Letter] = field(default_factory=dict)
    safe: Window | None = None
    """What receipts may claim."""
    fresh: list[int] = field(default_factory=list)
    """Settled beyond `upto` since the last `news`."""
    unlogged: bool = False
    unsaid: bool = False

    def settled(self, number: int) -> bool:
        """Whether nothing needs to wait for this number."""
        return self.got(number) or (number < self.base and number not in self.held)

    def rise(self) -> None:
        """Let `upto` follow `base` as far as nothing is held."""
        if self.base - 1 > self.upto:
            stuck = (number for number in self.held if number < self.base)
            self.fill(min(stuck, default=self.base) - 1)

    @property
    def size(self) -> int:
        """What it takes of the memory that an origin may use."""
        return 1 + len(self.held) + len(self.beyond)


class Release:
    """The lanes of one origin's incarnations at a destination."""

    __slots__ = ("_lanes", "_newest", "_waiting", "lane", "most", "origin", "refused", "since")

    def __init__(self, origin: int, lane: int, most: int) -> None:
        self.origin, self.lane = origin, lane
        self.most = most
        """Letters held back and numbers out of order at most: `Settings.held`."""
        self.since = 0
        self.refused = 0
        """How many letters were not taken because too much was held."""
        self._lanes: dict[int, Lane] = {}
        self._newest = Lane()
        self._waiting: dict[Place, list[Place]] = {}

    def arrived(self, incarnation: int, address: Address, letter: Letter) -> list[Letter]:
        """What may be delivered now, in order; nothing for a double or a letter that waits."""
        if self.in_turn(incarnation, address, 1):
            return [letter]
        return self._with_care(incarnation, address, letter)

    def in_turn(self, incarnation: int, address: Address, count: int) -> bool:
        """Whether so many letters, the first of which stands there, may be delivered now.

        The common case: they are in order, and nothing is held. If not, each has to be looked at.
        """
        lane = self._newest
        if (
            lane.incarnation == incarnation
            and address.number == lane.upto + 1
            and not self._waiting
            and not lane.beyond
            and not address.after_incarnation
            and address.since <= self.since
        ):
            lane.upto += count
            lane.unlogged = True
            return True
        return False

    def got(self, incarnation: int, number: int) -> bool:
        """Whether a letter has been here: released, held back or given up by its origin."""
        lane = self._lanes.get(incarnation)
        return incarnation < self.since or (
            lane is not None and (lane.settled(number) or number in lane.held)
        )

    @property
    def incarnations(self) -> tuple[int, ...]:
        """Those whose lanes are open."""
        return tuple(sorted(self._lanes))

    def upto(self, incarnation: int) -> int:
        """All numbers up to this one are settled."""
        return self._lanes[incarnation].upto

    def extras(self, incarnation: int) -> tuple[int, ...]:
        """Numbers beyond it that are settled."""
        return self._lanes[incarnation].extras()

    @property
    def held(self) -> int:
        """Letters that are held back."""
        return sum(len(lane.held) for lane in self._lanes.values())

    def news(self) -> list[Came]:
        """Records of what has settled since the last call, for the log."""
        return [self._record(lane) for lane in self._lanes.values() if lane.unlogged]

    def confirmed(self, came: Came) -> None:
        """A record is safe (or need not be): receipts may claim what it says."""
        lane = self._lanes.get(came.incarnation)
        if lane is not None:
            lane.safe = lane.safe or Window()
            lane.safe.join(came.upto, came.extra)
            lane.unsaid = True

    def receipts(self) -> list[Receipt]:
        """For the origin: of each lane that has something new to say, or was asked again."""
        told = []
        for lane in self._lanes.values():
            if lane.unsaid and lane.safe is not None:
                extras = lane.safe.extras(RECEIPT_EXTRAS)
                told.append(Receipt(self.lane, lane.incarnation, lane.safe.upto, extras))
            lane.unsaid = False
        return told

    def state(self) -> list[Came]:
        """Everything that is settled, in records that replace all earlier ones."""
        return [
            Came(self.origin, self.lane, lane.incarnation, lane.upto, lane.extras(), self.since)
            for lane in self._lanes.values()
        ]

    def restore(self, came: Came) -> None:
        """Take a record from before a restart; in the order in which they were written."""
        if came.since > self.since:
            self._close(came.since)
        if came.incarnation >= self.since:
            lane = self._lanes.get(came.incarnation) or self._open(came.incarnation)
            lane.join(came.upto, came.extra)
            self.confirmed(came)

    def _with_care(self, incarnation: int, address: Address, letter: Letter) -> list[Letter]:
        freed = self._close(address.since) if address.since > self.since else []
        if incarnation < self.since:
            return freed
        lane = self._lanes.get(incarnation)
        if lane is None:
            if incarnation > self._newest.incarnation and not self._room():
                self.refused += 1  # not of an older one: what is held may wait for it
                return freed
            lane = self._open(incarnation)
        if lane.upto < address.base - 1 >= lane.base and incarnation == self.since:
            freed += self._give_up(lane, address.base)
        if lane.settled(address.number):
            lane.unsaid = True  # the origin has missed the receipt
            return freed
        return freed + self._take(lane, address, letter)

    def _take(self, lane: Lane, address: Address, letter: Letter) -> list[Letter]:
        place = (lane.incarnation, address.number)
        before = (address.after_incarnation or lane.incarnation, address.after)
        ready = not address.after or self._settled(before)
        known = address.number in lane.held
        in_turn = ready and address.number == lane.upto + 1
        if not known and not in_turn and not self._room():
            self.refused += 1
            return []
        if not known:
            lane.held[address.number] = letter
            if not ready:
                self._waiting.setdefault(before, []).append(place)
        return self._let_go([place]) if ready else []

    def _let_go(self, places: list[Place]) -> list[Letter]:
        """Release held letters, then those that waited for them."""
        freed = []
        ahead = places[::-1]
        while ahead:
            place = ahead.pop()
            lane = self._lanes.get(place[0])
            letter = lane.held.pop(place[1], None) if lane else None
            if lane is None or letter is None:
                continue
            freed.append(letter)
            self._settle(lane, place[1])
            ahead += reversed(self._waiting.pop(place, []))
        return freed

    def _settle(self, lane: Lane, number: int) -> None:
        lane.add(number)
        lane.rise()
        if lane.beyond:
            lane.fresh.append(number)
        lane.unlogged = True

    def _settled(self, place: Place) -> bool:
        incarnation, number = place
        lane = self._lanes.get(incarnation)
        return incarnation < self.since or (lane is not None and lane.settled(number))

    def _give_up(self, lane: Lane, base: int) -> list[Letter]:
        """The origin has nothing below `base`: what has not come by now is gone."""
        lane.base = base
        lane.rise()
        lane.unlogged = True
        return self._let_go(self._no_longer_waiting())

    def _no_longer_waiting(self) -> list[Place]:
        """Places that waited for one that has settled, oldest first; they wait no more."""
        over = sorted(filter(self._settled, self._waiting))
        return sorted(place for before in over for place in self._waiting.pop(before))

    def _close(self, since: int) -> list[Letter]:
        """Lanes of incarnations below `since` are at their end: release what they hold."""
        self.since = since
        over = sorted(incarnation for incarnation in self._lanes if incarnation < since)
        freed = []
        for incarnation in over:
            held = self._lanes[incarnation].held
            freed += self._let_go([(incarnation, number) for number in sorted(held)])
        for incarnation in over:
            del self._lanes[incarnation]
        if self._newest.incarnation < since:
            self._newest = Lane()
        freed += self._let_go(self._no_longer_waiting())
        (self._lanes.get(since) or self._open(since)).unlogged = True  # so that the log has `since`
        return freed

    def _open(self, incarnation: int) -> Lane:
        lane = Lane(incarnation=incarnation)
        self._lanes[incarnation] = lane
        if incarnation > self._newest.incarnation:
            self._newest = lane
        return lane

    def _room(self) -> bool:
        return sum(lane.size for lane in self._lanes.values()) < self.most

    def _record(self, lane: Lane) -> Came:
        extra = tuple(number for number in lane.fresh if number > lane.upto)
        lane.fresh, lane.unlogged = [], False
        return Came(self.origin, self.lane, lane.incarnation, lane.upto, extra, self.since)
