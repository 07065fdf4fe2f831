"""Sides of conversations at one broker: each role of each conversation, and whether it is judged.

A broker may have clients of several roles, and readers who take no part; so each role of each
conversation has a life of its own. A side that cannot be judged passes from then on: what it said
or heard goes its way as on any other topic.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ropewalk.overlay.deck import Deck
from ropewalk.overlay.talk.alarms import Alarms
from ropewalk.overlay.talk.lines import Side
from ropewalk.overlay.talk.past import OVER, Given, KeptBack, Talked, talked
from ropewalk.overlay.talk.place import Place, said_by
from ropewalk.overlay.words import Letter
from ropewalk.protocol.messenger import Messenger

MOST_PASSING = 65_536
"""Sides that are known not to be judged."""
LAST_OVER = 4_096
"""Of those, so many are known after a restart."""
DEADLINE, HELD, STALLED, AGAIN = range(4)
"""What has to be looked at: a deadline of the protocol, letters that wait, publications for which
there was no room, letters of before a restart."""

COUNTED = ("stamped", "refused", "waited", "passed", "broken", "given up")


class Sides:
    """What is known of all sides."""

    def __init__(self, deck: Deck, places: Mapping[str, Place]) -> None:
        self.deck, self.places = deck, places
        self.passing: dict[Side, bool] = {}
        """Sides that are not judged; True for those that have come to their end."""
        self.alarms = Alarms[tuple[int, Side]]()
        self.counts = dict.fromkeys(COUNTED, 0)
        self.release: Callable[[Letter], None] = lambda _letter: None
        """A letter is to be delivered."""
        self.moved: Callable[[Side], None] = lambda _side: None
        """More may be said on a side."""

    def messenger(self, side: Side) -> Messenger | None:
        """A side that is judged."""
        return self.places[side[0]].messenger(side)

    def each(self) -> Iterator[tuple[Side, Messenger]]:
        """All of these."""
        for place in self.places.values():
            for (conversation, role), messenger in place.talks.items():
                yield (place.name, conversation, role), messenger

    # --- what is not judged -----------------------------------------------------------------

    def make_room(self, side: Side) -> None:
        """A new side may find the table full: the one that is needed least is judged no more."""
        place = self.places[side[0]]
        if not place.talks.full or place.messenger(side) is not None:
            return
        (conversation, role), may_end = place.talks.to_give_up()
        if not may_end:
            if not self.counts["given up"]:
                told = f"{len(place.talks):,} are open; from now on the oldest are not judged"
                self.deck.tell("too many conversations", place.name, told)
            self.counts["given up"] += 1
        self.let_pass((place.name, conversation, role))

    def break_off(self, side: Side, why: str, given: Letter | None = None) -> None:
        """Judge a side no more; it is told where somebody takes part, not of mere readers."""
        messenger = self.messenger(side)
        held = [] if messenger is None else [one.payload for one in messenger.kept.values()]
        if said_by(messenger) or any(one is not given for one in held):
            self.counts["broken"] += 1
            self.deck.tell("conversation broken off", *side[:2], why)
        self.let_pass(side, given)

    def let_pass(self, side: Side, given: Letter | None = None) -> None:
        """From now on a side is not judged: what waits there waits no longer.

        But for a letter that its readers have already.
        """
        if side in self.passing:
            return
        messenger = self.messenger(side)
        self.counts["passed"] += 1
        self.end(side, over=False)
        if messenger is not None and messenger.kept:
            held = [messenger.kept[one].payload for one in sorted(messenger.kept)]
            self.give((one for one in held if one is not given), held)
        self.moved(side)

    def end(self, side: Side, *, over: bool) -> None:
        """A side is not judged any more; `over` if it came to its end."""
        place = self.places[side[0]]
        self.remember(side, over=over)
        place.forget(side)
        for kind in (DEADLINE, HELD):
            self.alarms.drop((kind, side))
        self.deck.write(Talked(place.name, place.digest, side[1], side[2], OVER if over else None))

    def remember(self, side: Side, *, over: bool) -> None:
        """That a side is not judged."""
        self.passing[side] = over
        if len(self.passing) > MOST_PASSING:
            del self.passing[next(iter(self.passing))]

    # --- letters ----------------------------------------------------------------------------

    def give(self, letters: Iterable[Letter], waited: Iterable[Letter] = ()) -> None:
        """Deliver letters; those that waited are written down, so that they are not given again."""
        for letter in letters:
            self.release(letter)
        if done := tuple(one.id for one in waited):
            self.deck.write(Given(done))

    def keep_back(self, side: Side, letter: Letter) -> None:
        """A letter waits: its origin will not keep it any longer."""
        self.deck.write(KeptBack(*side, letter))

    # --- how far sides are ------------------------------------------------------------------

    def write(self, side: Side, messenger: Messenger) -> None:
        """Let the log know how far a side is.

        What comes again after a crash must not be taken for the beginning of another conversation.
        """
        if messenger.over:
            self.end(side, over=True)
        else:
            self.deck.write(talked(self.places[side[0]], side, messenger))

    def watch(self, side: Side, messenger: Messenger, not_before_us: int = 0) -> None:
        """Look again when a deadline may pass, if that is sooner than the next look anyway."""
        due_us = messenger.due_us
        if due_us is not None:
            at_us = max(due_us, not_before_us)
            if at_us < self.alarms.get((DEADLINE, side)):
                self.alarms.set((DEADLINE, side), at_us)

    def records(self) -> Iterator[Any]:
        """Records that stand for all sides, and for the last that are not judged."""
        for side, messenger in self.each():
            yield talked(self.places[side[0]], side, messenger)
            yield from (KeptBack(*side, one.payload) for one in messenger.kept.values())
        for (name, conversation, role), over in list(self.passing.items())[-LAST_OVER:]:
            digest = self.places[name].digest
            yield Talked(name, digest, conversation, role, OVER if over else None)
