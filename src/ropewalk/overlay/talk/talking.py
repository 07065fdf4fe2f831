"""All conversations at one broker: what clients publish is stamped, what arrives is judged.

A publication is stamped, or refused for good, or waits a while for what the other side has to say
first. A letter that arrives is delivered when it does no harm. Nothing is lost by it: what cannot
be judged (a conversation that began elsewhere, was broken off or forgotten; a message that does not
say what it is) passes as on any other topic, and the audit judges it later.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from msgspec import Struct

from ropewalk.errors import UsageError
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.events import Published
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.talk.lines import Key, Lines
from ropewalk.overlay.talk.past import OVER, Talked, recovered, talked
from ropewalk.overlay.talk.token import Token, digest_of, token_of
from ropewalk.overlay.words import Letter
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.binding import Said, said
from ropewalk.protocol.conversations import Conversations
from ropewalk.protocol.messenger import Messenger, Stamped

MOST_HELD = 256
"""Letters that wait in one conversation."""
MOST_PASSING = 65_536
"""Conversations that are known not to be judged."""
LAST_OVER = 4_096
"""Of those, so many are known after a restart."""


class Answer(Struct, frozen=True, gc=False):
    """What becomes of a publication: what its letter carries, or why it is not taken."""

    token: Token | None = None
    why: str | None = None
    waits: bool = False
    """It is kept here until it can be said."""


WAITS = Answer(waits=True)


@dataclass(frozen=True, slots=True)
class Place:
    """One protocol at this broker."""

    name: str
    protocol: Automaton
    talks: Conversations
    digest: int

    def sender(self, message: str) -> int | None:
        """The role that says a message."""
        letters = self.protocol.of_message.get(message)
        return None if letters is None else self.protocol.letters[letters[0]].sender

    def messenger(self, conversation: str, role: int) -> Messenger | None:
        """A side of a conversation that is open here."""
        return self.talks.messenger(conversation, self.protocol.roles[role])


class Talking:
    """A part of an agent (`parts.Part`)."""

    def __init__(self, deck: Deck, protocols: Mapping[str, Automaton]) -> None:
        self._deck = deck
        self._places = {
            name: Place(name, one, Conversations(one, most_waiting=MOST_HELD), digest_of(one))
            for name, one in protocols.items()
            if len(one.roles) > 1
        }
        self._passing: dict[Key, bool] = {}
        """Conversations that are not judged; True for those that have come to their end."""
        self._lines = Lines()
        self._deadlines: list[tuple[int, Key, int]] = []
        self._timed: dict[tuple[Key, int], int] = {}
        """When each of them is looked at next."""
        self.ready: Callable[[Published], bool] = lambda _event: True
        """Whether a publication could be taken now."""
        self.answered: Callable[[Published, Answer], None] = lambda _event, _answer: None
        """One that waited need not wait any more."""
        self.release: Callable[[Letter], None] = lambda _letter: None
        """A letter that waited is to be delivered: its conversation is no longer judged."""
        self.wake_us = NEVER
        self.counts = dict.fromkeys(("stamped", "refused", "waited", "passed", "broken"), 0)

    def prepare(self) -> None:
        """Find out all that conversations will ask of their protocols: it takes a second or two."""
        for place in self._places.values():
            place.talks.grounds.prepare()

    def __contains__(self, protocol: str | None) -> bool:
        return protocol in self._places

    @property
    def held(self) -> int:
        """Letters and publications that wait."""
        return sum(place.talks.waiting for place in self._places.values()) + len(self._lines)

    # --- what clients publish ---------------------------------------------------------------

    def say(self, name: str, event: Published, *, judged: bool) -> Answer:
        """What becomes of a publication; one that is not to be judged is only labelled."""
        place = self._places[name]
        try:
            found = said(place.protocol, dict(event.headers), event.payload)
        except UsageError:
            self.counts["passed"] += 1
            return Answer()
        key = (name, found.conversation)
        if not judged:
            return Answer(self._token(place, found))
        answer = WAITS if key in self._lines else self._answer(place, key, found)
        if answer.waits:
            if self._lines.full:
                return self._refused(key, "too many messages wait for their turn")
            self.counts["waited"] += 1
            self._lines.add(key, event, self._deck.now_us)
            self._set_wake()
        return answer

    def _token(self, place: Place, found: Said) -> Token:
        letter = place.protocol.letter_of(found.message, found.fields)
        label = found.message if letter is None else place.protocol.labels[letter]
        return Token(place.digest, found.conversation, found.message, label)

    def _put(self, place: Place, key: Key, found: Said) -> Answer:
        role = place.sender(found.message)
        known = role is not None and place.messenger(found.conversation, role) is not None
        put = place.talks.put(
            found.conversation, found.message, fields=found.fields, now_us=self._deck.now_us
        )
        if put.stamped is not None:
            self.counts["stamped"] += 1
            return Answer(self._token(place, found).stamped(put.stamped.stamp))
        if not known:
            # It began elsewhere: its client was at another broker, or it was forgotten here.
            self._let_pass(place, key)
            return Answer(self._token(place, found))
        return WAITS if put.answer == "wait" else self._refused(key, put.why)

    def _refused(self, key: Key, why: str) -> Answer:
        self.counts["refused"] += 1
        return Answer(None, f"{key[0]}, conversation {key[1]}: {why}")

    def kept(self, name: str, letter: Letter) -> None:
        """A letter is in custody: after a restart its conversation goes on behind it."""
        token, place = token_of(letter), self._places[name]
        if token is not None and token.stamp is not None:
            role = place.sender(token.message)
            if role is not None:
                self._write(place, token.conversation, role)

    def _work_off(self, key: Key) -> None:
        """Say what waits in a conversation, in order, as long as it can be said."""
        place = self._places[key[0]]
        while (event := self._lines.head(key)) is not None and self.ready(event):
            found = said(place.protocol, dict(event.headers), event.payload)
            answer = self._answer(place, key, found)
            if answer.waits:
                break
            self.answered(self._lines.pop(key), answer)

    def _answer(self, place: Place, key: Key, found: Said) -> Answer:
        if self._passing.get(key):
            return self._refused(key, "it has come to its end")
        if key in self._passing:
            return Answer(self._token(place, found))
        return self._put(place, key, found)

    # --- what arrives -----------------------------------------------------------------------

    def arrived(self, name: str | None, letter: Letter) -> list[Letter]:
        """What may be delivered now that this letter is here, in order; the rest is kept."""
        token, place = token_of(letter), self._places.get(name or "")
        if token is None or place is None or token.digest != place.digest:
            return [letter]
        key, stamp = (place.name, token.conversation), token.stamp
        if stamp is None or key in self._passing:
            self._let_pass(place, key)
            return [letter]
        stamped = Stamped(token.message, stamp, letter)
        try:
            found = place.talks.get(token.conversation, stamped, now_us=self._deck.now_us)
        except UsageError as error:
            self._deck.tell("not judged", token.conversation, str(error))
            return [letter]
        role = place.protocol.letters[stamp.events[-1]].receiver
        return self._judged(place, key, role, stamped, [one.payload for one in found])

    def _judged(
        self, place: Place, key: Key, role: int, stamped: Stamped, letters: list[Letter]
    ) -> list[Letter]:
        messenger = place.messenger(key[1], role)
        if messenger is None:
            return [stamped.payload]
        taken = letters or any(one is stamped for one in messenger.kept.values())
        if not taken and messenger.broken is None:
            if messenger.delivered_before(stamped.stamp):
                return [stamped.payload]  # a lane lets nothing pass twice: it was not safe before
            if not messenger.room:
                return self._break_off(place, key, role, "too many messages wait", stamped)
            return []
        if messenger.broken is not None:
            return [*letters, *self._break_off(place, key, role, messenger.broken, stamped)]
        self._write(place, key[1], role)
        self._work_off(key)
        return letters

    def _break_off(
        self, place: Place, key: Key, role: int, why: str, last: Stamped
    ) -> list[Letter]:
        """Judge a conversation no more; returns its last letter, if that did not wait."""
        self.counts["broken"] += 1
        self._deck.tell("conversation broken off", *key, why)
        messenger = place.messenger(key[1], role)
        waited = messenger is not None and any(one is last for one in messenger.kept.values())
        self._let_pass(place, key)
        return [] if waited else [last.payload]

    def _let_pass(self, place: Place, key: Key) -> None:
        """From now on a conversation is not judged: what waits in it waits no longer."""
        if key in self._passing:
            return
        self.counts["passed"] += 1
        self._remember_passing(key)
        held: list[Letter] = []
        for role in range(len(place.protocol.roles)):
            messenger = place.messenger(key[1], role)
            if messenger is not None:
                held += [messenger.kept[one].payload for one in sorted(messenger.kept)]
                place.talks.forget(key[1], role)
        self._deck.write(Talked(place.name, place.digest, key[1], 0, None))
        for letter in held:
            self.release(letter)
        self._work_off(key)

    def _remember_passing(self, key: Key, *, over: bool = False) -> None:
        self._passing[key] = over
        if len(self._passing) > MOST_PASSING:
            del self._passing[next(iter(self._passing))]

    # --- time -------------------------------------------------------------------------------

    def heard(self, now_us: int, sender: int, body: Any) -> bool:  # noqa: ARG002
        """No note is for this part."""
        return False

    def changed(self, now_us: int) -> None:
        """It does not matter who can be reached."""

    def due(self, now_us: int) -> None:
        """Patience is over, or a deadline has passed."""
        moved: dict[Key, None] = {}
        for key, event in self._lines.expired(now_us):
            self.answered(event, self._refused(key, "what goes before it was not said in time"))
            moved[key] = None
        while self._deadlines and self._deadlines[0][0] <= now_us:
            at_us, key, role = heappop(self._deadlines)
            if self._timed.get((key, role)) == at_us:
                del self._timed[key, role]
            place = self._places[key[0]]
            messenger = place.messenger(key[1], role)
            if messenger is not None and messenger.tick(now_us) is not None:
                self._write(place, key[1], role)
                moved[key] = None
            elif messenger is not None:
                self._watch(key, role, messenger)
        for key in moved:
            self._work_off(key)
        self._set_wake()

    def _set_wake(self) -> None:
        first = self._deadlines[0][0] if self._deadlines else NEVER
        self.wake_us = min(self._lines.wake_us, first)

    # --- restart ----------------------------------------------------------------------------

    def _write(self, place: Place, conversation: str, role: int) -> None:
        """Let the log know how far a conversation is."""
        messenger = place.messenger(conversation, role)
        if messenger is None:
            return
        self._watch((place.name, conversation), role, messenger)
        self._deck.write(talked(place.name, place.digest, (conversation, role), messenger))
        if messenger.over:
            # What comes again after a crash must not be taken for the beginning of another.
            self._remember_passing((place.name, conversation), over=True)
            place.talks.forget(conversation, role)
            self._deck.write(Talked(place.name, place.digest, conversation, role, OVER))

    def _watch(self, key: Key, role: int, messenger: Messenger) -> None:
        """Look again when a deadline may pass, if that is sooner than the next look anyway."""
        due_us = messenger.due_us
        if due_us is not None and due_us < self._timed.get((key, role), NEVER):
            self._timed[key, role] = due_us
            heappush(self._deadlines, (due_us, key, role))
            self._set_wake()

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """Go on with the conversations of before."""
        every = list(records)
        for place in self._places.values():
            for talk, over in recovered(place.name, place.digest, place.talks, every, now_us):
                self._remember_passing((place.name, talk), over=over)
            for (talk, role), messenger in place.talks.items():
                self._watch((place.name, talk), role, messenger)

    def records(self) -> Iterator[Any]:
        """Records that stand for all conversations, and for the last that are over."""
        for place in self._places.values():
            for side, messenger in place.talks.items():
                yield talked(place.name, place.digest, side, messenger)
        for (name, conversation), over in list(self._passing.items())[-LAST_OVER:]:
            digest = self._places[name].digest
            yield Talked(name, digest, conversation, 0, OVER if over else None)
