"""What an origin keeps until every destination has it: a lane with numbers for each destination.

A letter is in the log with its numbers before a publisher is told that it was accepted. It is sent
again when something has newly failed, and when no receipt comes for long; a destination drops what
it had before. One destination that is away fills its own lane only; when that is full, publishers
are told to wait. How many letters of a lane are on their way at once grows with its receipts and is
halved when something is sent again, as TCP does: what has gathered in an outage, or is sent again
after a failure, must not keep agents so busy that they seem dead to each other. A restart goes on
with the lanes of earlier incarnations, under their old numbers, and opens new ones: a number that
was sent but not logged is never used again.
"""

from collections.abc import Callable, Iterable, Sequence

from ropewalk.overlay.deck import Deck
from ropewalk.overlay.holdings import Holdings
from ropewalk.overlay.lane import (
    DATA,
    LOCAL,
    Done,
    Entry,
    Kept,
    KeptRun,
    Lane,
    Stream,
    Struck,
    Taken,
    letters_of,
)
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.relaunch import lanes_of
from ropewalk.overlay.rules import Rule
from ropewalk.overlay.runs import in_a_row, stretch
from ropewalk.overlay.shipping import Shipping
from ropewalk.overlay.words import Address, Letter, Parcel, Receipt, Run

MOST_BACKOFF = 16


class Custody(Holdings):
    """Everything that one agent keeps as an origin."""

    def __init__(self, deck: Deck, shipping: Shipping) -> None:
        super().__init__(deck)
        self._shipping = shipping
        self.alternates: dict[int, tuple[int, ...]] = {}
        """A second path to some destinations, as links."""
        self.wake_us = NEVER
        self.resent = 0

    # --- in ---------------------------------------------------------------------------------

    def objection(self, lanes: Iterable[Lane]) -> str | None:
        """Why nothing more can be taken into these lanes; None if it can."""
        deck = self._deck
        for lane in lanes:
            if self.room_in(lane) <= 0:
                return f"{deck.settings.queue} messages wait for {deck.name(lane.to)} already"
        return None

    def keep(self, letter: Letter, lanes: Sequence[Lane], rule: Rule) -> Taken:
        """Take a letter into custody; it leaves by `release`."""
        to, count = self._into(lanes, letter, rule)
        return Taken(letter, lanes, to, rule.paths, count)

    def send(
        self,
        letter: Letter,
        lanes: Sequence[Lane],
        rule: Rule,
        *,
        late: bool = False,
        log: bool = True,
    ) -> int:
        """Take a letter into custody that may leave at once; returns when its record is safe."""
        to, count = self._into(lanes, letter, rule, late, log)
        self._depart(letter, lanes, to, rule.paths)
        return count

    def room_in(self, lane: Lane) -> int:
        """How many letters more a lane takes."""
        waits = len(lane.entries)
        if self.old:
            waits += sum(len(old.entries) for old in self._old_lanes(lane.to, lane.kind))
        return self._deck.settings.queue - waits

    def send_run(
        self, letter: Letter, payloads: Sequence[bytes], keys: Sequence[str], lane: Lane, rule: Rule
    ) -> tuple[Run, int]:
        """`send` for letters of one topic; returns them, and when their record is safe."""
        place = self._enter(lane, letter, rule, late=False)
        ordered = rule.order != "none"
        run = Run(letter, place, ordered, tuple(payloads), tuple(keys))
        end = place.number + len(payloads)
        record, lane.next = KeptRun(run, rule.order), end
        lane.entries.update(dict.fromkeys(range(place.number, end), record))
        if ordered:
            lane.last[letter.topic, 0] = end - 1
        count = self._deck.write(record)
        self._depart_in_run(lane, run)
        return run, count

    def _depart_in_run(self, lane: Lane, run: Run) -> None:
        """As much of a run as has room leaves; the rest waits."""
        first, count = run.to.number, len(run.payloads)
        free = min(self._free(lane), count) if lane.idle else 0
        lane.waiting.extend(range(first + free, first + count))
        if free:
            self._fly_in_run(lane, stretch(run, 0, free, run.to))
        else:
            self._look_again(lane)

    def _look_again(self, lane: Lane) -> None:
        """Something waits: if nothing of its lane is on its way, no receipt will call it."""
        if not lane.flying:
            self.wake_us = min(self.wake_us, self._deck.now_us + self._deck.settings.beat_us)

    def _free(self, lane: Lane) -> int:
        """How many letters of a lane may leave now."""
        return max(0, min(self._window(lane) - len(lane.flying), self._shipping.space(lane.to)))

    def _window(self, lane: Lane) -> int:
        return min(lane.allowed, self._deck.settings.window)

    def _fly_in_run(self, lane: Lane, run: Run) -> None:
        first = run.to.number
        lane.flying.update(
            dict.fromkeys(range(first, first + len(run.payloads)), self._deck.now_us)
        )
        self._expects(lane)
        self._shipping.forward_run(run)

    def _into(
        self,
        lanes: Sequence[Lane],
        letter: Letter,
        rule: Rule,
        late: bool = False,
        log: bool = True,
    ) -> tuple[tuple[Address, ...], int]:
        """Give a letter its place in each lane; returns them, and when their record is safe."""
        if len(lanes) == 1:  # as of most topics: this and the same in `_depart` save 1 us in 5
            to: tuple[Address, ...] = (self._enter(lanes[0], letter, rule, late),)
        else:
            to = tuple([self._enter(lane, letter, rule, late) for lane in lanes])
        return to, self._deck.write(Kept(letter, to, rule.order, rule.paths)) if log else 0

    def lanes_to(self, destinations: Iterable[int], kind: int = DATA) -> list[Lane]:
        """The lanes in which letters to these destinations go now."""
        return [self._lane(to, kind) for to in destinations]

    def _lane(self, to: int, kind: int) -> Lane:
        lane = self.lanes.get((to, kind))
        if lane is None:
            lane = self.lanes[(to, kind)] = Lane(self._deck.me, to, kind, self._deck.incarnation)
            lane.since = min(
                [old.incarnation for old in self._old_lanes(to, kind)] + [lane.incarnation]
            )
        return lane

    def _enter(self, lane: Lane, letter: Letter, rule: Rule, late: bool) -> Address:
        number = lane.next
        lane.next = number + 1
        after = incarnation = 0
        if rule.order != "none":
            stream = (letter.topic, letter.priority if rule.order == "priority" else 0)
            after = lane.last.get(stream, 0)
            if after not in lane.entries:
                after, incarnation = 0, 0
                if self.old:
                    after, incarnation = self._earlier(lane, stream)
            lane.last[stream] = number
            if len(lane.last) > self._deck.settings.streams:
                kept = lane.entries.keys()
                lane.last = {one: n for one, n in lane.last.items() if n in kept or n == number}
        lane.entries[number] = Entry(letter, after, incarnation, rule.order, rule.paths, late)
        return Address(
            lane.to,
            lane.kind,
            number,
            lane.base,
            after,
            incarnation,
            lane.since,
            lane.origin,
            lane.incarnation,
            late,
        )

    def _earlier(self, lane: Lane, stream: Stream) -> tuple[int, int]:
        """The last letter of a stream from before a restart that is not acknowledged yet."""
        for old in sorted(self._old_lanes(lane.to, lane.kind), key=lambda one: -one.incarnation):
            after = old.last.get(stream, 0)
            if after in old.entries:
                return after, old.incarnation
        return 0, 0

    # --- out --------------------------------------------------------------------------------

    def release(self, taken: Taken) -> None:
        """A letter may leave now; what its lanes have acknowledged meanwhile counts."""
        places = [(lane, one.number) for lane, one in zip(taken.lanes, taken.to, strict=True)]
        left = [(lane, number) for lane, number in places if number in lane.entries]
        lanes = [lane for lane, _ in left]
        addresses = tuple([lane.address(number) for lane, number in left])
        self._depart(taken.letter, lanes, addresses, taken.paths)

    def _depart(
        self, letter: Letter, lanes: Sequence[Lane], to: tuple[Address, ...], paths: int
    ) -> None:
        """One parcel for all lanes that have room; in others a letter waits."""
        if len(lanes) == 1:
            ready = to if self._takes_off(lanes[0], to[0].number) else ()
        else:
            pairs = zip(lanes, to, strict=True)
            ready = tuple([one for lane, one in pairs if self._takes_off(lane, one.number)])
        if ready:
            self._ship(letter, ready, paths)

    def _takes_off(self, lane: Lane, number: int) -> bool:
        """Whether a letter need not wait for others."""
        free = (not lane.waiting or lane.idle) and len(lane.flying) < self._window(lane)
        if free and self._shipping.has_room(lane.to, home=lane.kind == LOCAL):
            self._flies(lane, number)
            return True
        lane.wait(number)
        self._look_again(lane)
        return False

    def _open(self, lane: Lane) -> bool:
        return self._shipping.has_road(lane.to, home=lane.kind == LOCAL)

    def _room(self, lane: Lane) -> bool:
        return self._shipping.room(lane.to, home=lane.kind == LOCAL)

    def _flies(self, lane: Lane, number: int) -> None:
        lane.flying[number] = self._deck.now_us
        self._expects(lane)

    def _expects(self, lane: Lane) -> None:
        """Something of a lane is on its way: its receipt is due some day."""
        if lane.due_us == NEVER:
            lane.due_us = self._deck.now_us + lane.backoff * self._deck.settings.resend_us
            self.wake_us = min(self.wake_us, lane.due_us)

    def _ship(self, letter: Letter, to: tuple[Address, ...], paths: int) -> None:
        self._shipping.post(letter, to)
        if paths > 1:
            for address in to:
                route = self.alternates.get(address.to)
                if route:
                    self._shipping.forward((Parcel(letter, (address,), route=route),))

    def pump(self, lane: Lane) -> None:
        """Send what waits, as far as the window and the next link allow."""
        deck, window = self._deck, self._window(lane)
        reach = max(1, deck.settings.held // 2)  # what a destination can remember beyond a gap
        while not lane.idle and len(lane.flying) < window:
            if not self._open(lane):
                return
            if not self._room(lane):
                self.wake_us = min(self.wake_us, deck.now_us + deck.settings.beat_us)
                return
            number = lane.pop(reach)
            kept = lane.entries[number]
            if isinstance(kept, KeptRun):
                self._pump_run(lane, kept.run, number)
                continue
            self._flies(lane, number)
            self._ship(kept.letter, (lane.address(number),), kept.paths)

    def _pump_run(self, lane: Lane, run: Run, number: int) -> None:
        """Send a letter that waited, and those of its run that waited behind it."""
        start, most = number - run.to.number, self._free(lane)
        together = 1 + lane.follow(number, min(most - 1, len(run.payloads) - start - 1))
        self._fly_in_run(lane, stretch(run, start, start + together, lane.address(number)))

    # --- acknowledgements -------------------------------------------------------------------

    def receipt(self, sender: int, word: Receipt) -> list[Struck]:
        """A destination has some letters for good; returns what was kept of them."""
        lane = self.lanes.get((sender, word.lane))
        if lane is None or lane.incarnation != word.incarnation:
            lane = self.old.get((sender, word.lane, word.incarnation))
            if lane is None:
                return []
        gone = self._strike(lane, word.upto, word.extra)
        if gone:
            record = Done(sender, word.lane, word.incarnation, word.upto, word.extra)
            self._deck.write(record)
            lane.backoff = 1
            lane.allowed = min(lane.allowed + len(gone), self._deck.settings.window)
            patience = self._deck.settings.resend_us
            lane.due_us = lane.sent_us(self._deck.now_us) + patience if lane.flying else NEVER
            self.wake_us = min(self.wake_us, lane.due_us)
            self.pump(lane)
        elif lane.backoff > 1:
            lane.backoff = 1  # It can be reached again: no need to wait any longer.
            self.resend(lane)
            self.pump(lane)
        return gone

    def _strike(self, lane: Lane, upto: int, extra: Iterable[int]) -> list[Struck]:
        gone = lane.strike(upto, extra)
        if not lane.entries and lane.incarnation != self._deck.incarnation:
            self._finish(lane)
        return gone

    def _finish(self, lane: Lane) -> None:
        """A lane of an earlier incarnation is empty: later ones need not speak of it."""
        self.old.pop((lane.to, lane.kind, lane.incarnation), None)
        left = list(self._old_lanes(lane.to, lane.kind))
        now = self.lanes.get((lane.to, lane.kind))
        if now is not None:
            left.append(now)
        for one in left:
            one.since = min(other.incarnation for other in left)

    def take_out(
        self, which: Callable[[Letter], bool], *, to: int | None = None, kind: int = DATA
    ) -> list[Letter]:
        """Give up letters that need not arrive any more, or not there; returns them."""
        found: list[Letter] = []
        for lane in self.everywhere():
            if lane.kind != kind or to not in (None, lane.to):
                continue
            numbers = [number for number in lane.entries if which(lane.entry(number).letter)]
            found += letters_of(self._strike(lane, 0, numbers))
            if numbers:
                self._deck.write(Done(lane.to, kind, lane.incarnation, 0, tuple(numbers)))
        return found

    # --- again ------------------------------------------------------------------------------

    def due(self) -> None:
        """Send again what has waited too long for its receipt."""
        deck = self._deck
        self.wake_us = NEVER
        for lane in self.everywhere():
            if lane.due_us <= deck.now_us and lane.flying:
                lane.backoff = min(2 * lane.backoff, MOST_BACKOFF)
                lane.due_us = deck.now_us + lane.backoff * deck.settings.resend_us
                if self._open(lane):
                    self.resend(lane)
            elif not lane.flying:
                lane.due_us = NEVER
            self.pump(lane)
            self.wake_us = min(self.wake_us, lane.due_us)

    def changed(self, *, failed: bool) -> None:
        """The colour has changed: what is on its way may be lost, or have a way again."""
        for lane in self.everywhere():
            if not self._open(lane):
                lane.cut = True
                continue
            if failed or lane.cut or lane.backoff > 1:
                lane.backoff, lane.cut = 1, False
                self.resend(lane)
            self.pump(lane)

    def resend(self, lane: Lane) -> None:
        """Everything of a lane that is on its way, once more; what has no room waits again."""
        deck, numbers = self._deck, sorted(lane.flying)
        if not numbers:
            return
        lane.ease(deck.now_us, deck.settings.suspect_us)
        most = self._window(lane)
        again, at = numbers[:most], 0
        lane.take_back(numbers[most:])
        while at < len(again):
            if not self._room(lane):
                lane.take_back(again[at:])
                break
            at += self._again(lane, again, at)
        self.resent += at
        lane.due_us = deck.now_us + lane.backoff * deck.settings.resend_us
        self.wake_us = min(self.wake_us, lane.due_us)

    def _again(self, lane: Lane, numbers: Sequence[int], at: int) -> int:
        """Send one letter again, and those of its run right behind it; returns how many."""
        number = numbers[at]
        kept = lane.entries[number]
        if not isinstance(kept, KeptRun):
            lane.flying[number] = self._deck.now_us
            self._shipping.post(kept.letter, (lane.address(number),))
            return 1
        first = kept.run.to.number
        most = min(first + len(kept.run.payloads) - number, self._shipping.space(lane.to))
        count, start = in_a_row(numbers, at, most), number - first
        self._fly_in_run(lane, stretch(kept.run, start, start + count, lane.address(number)))
        return count

    # --- restart ----------------------------------------------------------------------------

    def recover(self, records: Iterable[object]) -> None:
        """Lanes as the log left them."""
        found = lanes_of(self._deck.me, records)
        self.old = {key: lane for key, lane in found.items() if lane.entries}
        for lane in self.old.values():
            lane.since = min(old.incarnation for old in self._old_lanes(lane.to, lane.kind))
