"""What arrives of conversations: it is delivered when it does no harm, and waits if it would."""

from ropewalk.errors import UsageError
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.talk.lines import PATIENCE_US, Side
from ropewalk.overlay.talk.place import Place
from ropewalk.overlay.talk.sides import HELD, Sides
from ropewalk.overlay.talk.token import token_of
from ropewalk.overlay.words import Letter
from ropewalk.protocol.messenger import Messenger, Stamped

BEFORE_ITS_TURN = "a client of the same broker had it before its turn"


class Hearing:
    """The sides of conversations as their readers meet them."""

    def __init__(self, sides: Sides) -> None:
        self._sides, self._deck, self._places = sides, sides.deck, sides.places

    def arrived(self, name: str | None, letter: Letter, *, given: bool = False) -> None:
        """A letter has come: it and others are delivered, or it is kept.

        One that was said here may be `given`: the broker let its own clients have it at once.
        """
        token, place = token_of(letter), self._places.get(name or "")
        role = None
        if token is not None and place is not None and token.digest == place.digest:
            role = place.hearer(token.message)
        unjudged = True
        if token is not None and place is not None and role is not None:
            side = (place.name, token.conversation, role)
            if token.stamp is None or side in self._sides.passing:
                self._sides.let_pass(side)
            else:
                stamped = Stamped(token.message, token.stamp, letter)
                unjudged = self._judged(place, side, stamped, letter if given else None)
        if unjudged and not given:
            self._sides.release(letter)

    def _judged(self, place: Place, side: Side, stamped: Stamped, given: Letter | None) -> bool:
        """Deliver what may be delivered; returns whether this letter has to be, unjudged."""
        why, unjudged = self._judge(place, side, stamped, given)
        if why is not None:
            self._sides.break_off(side, why, given)
        self._sides.moved(side)
        return unjudged

    def _judge(
        self, place: Place, side: Side, stamped: Stamped, given: Letter | None
    ) -> tuple[str | None, bool]:
        """The same, and why the conversation is to be broken off, if it is."""
        self._sides.make_room(side)
        letter = stamped.payload
        try:
            found = [
                one.payload for one in place.talks.get(side[1], stamped, now_us=self._deck.now_us)
            ]
        except UsageError as error:
            return str(error), True
        messenger = place.messenger(side)
        if messenger is None:
            return None, True
        self._sides.give(
            (one for one in found if one is not given), [one for one in found if one is not letter]
        )
        if any(one is stamped for one in messenger.kept.values()):
            self._sides.keep_back(side, letter)
            if given is not None:
                return BEFORE_ITS_TURN, False
        elif not any(one is letter for one in found):
            return _not_taken(messenger, stamped)
        if messenger.broken is not None:
            return messenger.broken, False
        self._go_on(side, messenger, moved=bool(found))
        return None, False

    def _go_on(self, side: Side, messenger: Messenger, *, moved: bool) -> None:
        """Write down how far a side is, and do not wait for ever for what it misses."""
        self._sides.watch(side, messenger)
        if not messenger.kept:
            self._sides.alarms.drop((HELD, side))
        elif moved or self._sides.alarms.get((HELD, side)) == NEVER:
            self._sides.alarms.set((HELD, side), self._deck.now_us + PATIENCE_US)
        self._sides.write(side, messenger)


def _not_taken(messenger: Messenger, stamped: Stamped) -> tuple[str | None, bool]:
    """What becomes of a letter that neither waits nor was delivered."""
    if messenger.broken is not None:
        return messenger.broken, True
    if messenger.delivered_before(stamped.stamp):
        return None, True  # a lane lets nothing pass twice: it was not safe before
    other = messenger.kept_as(stamped.stamp)
    if other is None:
        return "too many messages wait", True
    if other.payload.id == stamped.payload.id:
        return None, False
    return "two different messages have one number", True
