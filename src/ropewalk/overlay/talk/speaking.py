"""What clients publish in conversations: it is stamped, refused, or waits for its turn."""

from collections import deque
from collections.abc import Callable

from msgspec import Struct

from ropewalk.errors import UsageError
from ropewalk.overlay.events import Published
from ropewalk.overlay.talk.lines import Lines, Side
from ropewalk.overlay.talk.place import Place, said_by
from ropewalk.overlay.talk.sides import STALLED, Sides
from ropewalk.overlay.talk.token import Token, token_of
from ropewalk.overlay.words import Letter
from ropewalk.protocol.binding import STAMP, Said, said

MOST_BYTES = 256
"""Of a conversation's id: longer ones are not judged."""
EVERY = 32
"""Of so many letters that a side says, one record tells how far it is: letters tell it as well."""
RETRY_US = 50_000
"""Until what found no room is tried again."""


class Answer(Struct, frozen=True, gc=False):
    """What becomes of a publication: what its letter carries, or why it is not taken."""

    token: Token | None = None
    why: str | None = None
    waits: bool = False
    """It is kept here until it can be said."""
    final: bool = True
    """Of one that is not taken: it never will be."""


WAITS = Answer(waits=True)


class Speaking:
    """The sides of conversations as their speakers meet them."""

    def __init__(self, sides: Sides) -> None:
        self._sides, self._deck, self._places = sides, sides.deck, sides.places
        self.lines = Lines()
        self._moved: deque[Side] = deque()
        self._working = False
        self.ready: Callable[[Published], bool] = lambda _event: True
        """Whether a publication could be taken now."""
        self.answered: Callable[[Published, Answer], None] = lambda _event, _answer: None
        """One that waited need not wait any more."""

    def say(self, name: str, event: Published, *, judged: bool) -> Answer:
        """What becomes of a publication; one that is not to be judged is only labelled."""
        place = self._places[name]
        try:
            found = said_in(place, event)
        except UsageError:
            self._sides.counts["passed"] += 1
            return Answer()
        role = place.sender(found.message)
        if not judged:
            return Answer(_token(place, found))
        if role is None:
            return self._unheard_of(place, found)
        side = (name, found.conversation, role)
        answer = WAITS if side in self.lines else self._answer(place, side, found)
        if answer.waits:
            if self.lines.full:
                return self._refused(side, "too many messages wait for their turn", final=False)
            self._sides.counts["waited"] += 1
            self.lines.add(side, event, self._deck.now_us)
        return answer

    def _unheard_of(self, place: Place, found: Said) -> Answer:
        """A message that the protocol does not have: refused where it is known to bind."""
        if not place.speaks(found.conversation):
            return Answer(_token(place, found))
        side = (place.name, found.conversation, -1)
        return self._refused(side, f"{place.protocol.name} has no message {found.message!r}")

    def _answer(self, place: Place, side: Side, found: Said) -> Answer:
        over = self._sides.passing.get(side)
        if over:
            return self._refused(side, "it has come to its end")
        if over is not None:
            return Answer(_token(place, found))
        known = place.messenger(side) is not None
        self._sides.make_room(side)
        put = place.talks.put(
            found.conversation, found.message, fields=found.fields, now_us=self._deck.now_us
        )
        if put.stamped is not None:
            self._sides.counts["stamped"] += 1
            return Answer(_token(place, found).stamped(put.stamped.stamp))
        if not known:
            # It began elsewhere: its client was at another broker, or it was forgotten here.
            self._sides.let_pass(side)
            return Answer(_token(place, found))
        return WAITS if put.answer == "wait" else self._refused(side, put.why)

    def _refused(self, side: Side, why: str, *, final: bool = True) -> Answer:
        self._sides.counts["refused"] += 1
        return Answer(None, f"{side[0]}, conversation {side[1]}: {why}", final=final)

    def kept(self, name: str, letter: Letter, *, logged: bool) -> None:
        """A letter is taken: after a restart its conversation goes on behind it.

        A letter that is in the log itself can be followed again, as long as nothing is left out.
        """
        token, place = token_of(letter), self._places[name]
        role = None if token is None or token.stamp is None else place.sender(token.message)
        if token is None or role is None:
            return
        side = (name, token.conversation, role)
        messenger = place.messenger(side)
        if messenger is not None:
            self._sides.watch(side, messenger)
            if not logged or messenger.over or said_by(messenger) % EVERY == 0:
                self._sides.write(side, messenger)

    # --- what waits -------------------------------------------------------------------------

    def work_off(self, side: Side) -> None:
        """Say what waits on a side, as far as it can be said.

        What is said may move other sides at this broker: they have their turn afterwards.
        """
        if side in self.lines:
            self._moved.append(side)
        if self._working:
            return
        self._working = True
        try:
            while self._moved:
                self._work_off(self._moved.popleft())
        finally:
            self._working = False

    def _work_off(self, side: Side) -> None:
        place = self._places[side[0]]
        while (event := self.lines.head(side)) is not None:
            if not self.ready(event):
                self._sides.alarms.set((STALLED, side), self._deck.now_us + RETRY_US)
                return
            first = self.lines.pop(side)
            answer = self._answer(place, side, said_in(place, event))
            if answer.waits:
                self.lines.put_back(side, first)
                return
            self.answered(event, answer)

    def expire(self, now_us: int) -> None:
        """Refuse what has waited for too long; what found no room may come again."""
        for side, event in list(self.lines.expired(now_us)):
            final = self.ready(event)
            why = "what goes before it was not said in time"
            why = why if final else "there was no room for it in time"
            self.answered(event, self._refused(side, why, final=final))
            self.work_off(side)


def said_in(place: Place, event: Published) -> Said:
    """What a publication says; raises UsageError if it does not say, or in a way of no use."""
    headers = {key: value for key, value in event.headers if key.lower() != STAMP}
    found = said(place.protocol, headers, event.payload)
    for name in (found.conversation, found.message):
        if len(name) > MOST_BYTES or not _is_text(name):
            raise UsageError("its conversation or its name is too long, or no text")
    return found


def _is_text(name: str) -> bool:
    """JSON may have halves of characters, which no wire and no log can carry."""
    try:
        return len(name.encode()) <= MOST_BYTES
    except UnicodeEncodeError:
        return False


def _token(place: Place, found: Said) -> Token:
    letter = place.protocol.letter_of(found.message, found.fields)
    label = found.message if letter is None else place.protocol.labels[letter]
    return Token(place.digest, found.conversation, found.message, label)
