"""All conversations at one broker: what clients publish is stamped, what arrives is judged.

A publication is stamped, or refused for good, or waits a while for what others have to say first. A
letter that arrives is delivered when it does no harm, and waits a while if it would. Nothing is
lost by it: what cannot be judged (a conversation that began at another broker, of which something
does not come, that was broken off or given up; a message that does not say what it is) passes as on
any other topic, and the audit judges it later.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ropewalk.overlay.deck import Deck
from ropewalk.overlay.events import Published
from ropewalk.overlay.talk.hearing import Hearing
from ropewalk.overlay.talk.lines import PATIENCE_US, Side
from ropewalk.overlay.talk.past import KeptBack, Told, recovered
from ropewalk.overlay.talk.place import Place
from ropewalk.overlay.talk.sides import AGAIN, DEADLINE, HELD, Sides
from ropewalk.overlay.talk.speaking import RETRY_US, Answer, Speaking
from ropewalk.overlay.talk.token import Token, digest_of, token_of
from ropewalk.overlay.words import Letter
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.conversations import MOST, Conversations

MOST_HELD = 256
"""Letters that wait on one side of a conversation."""
AGAIN_US = 1_000_000
"""After a restart: until letters that may have been given out before are given again."""
ABSENT_US = 60_000_000
"""How long clients are waited for after a restart."""


class Talking:
    """A part of an agent (`parts.Part`)."""

    def __init__(self, deck: Deck, protocols: Mapping[str, Automaton], *, most: int = MOST) -> None:
        self._deck = deck
        self._places = {
            name: Place(
                name, one, Conversations(one, most=most, most_waiting=MOST_HELD), digest_of(one)
            )
            for name, one in protocols.items()
            if len(one.roles) > 1
        }
        self._sides = Sides(deck, self._places)
        self._speaking, self._hearing = Speaking(self._sides), Hearing(self._sides)
        self._sides.moved = self._speaking.work_off
        self.again: dict[Side, list[Letter]] = {}
        """Letters of before a restart that are still to be given out."""
        self._absent_until_us = 0
        """After a restart clients may not be back before this."""
        self._wanted: Callable[[str], bool] = lambda _topic: True
        self.counts = self._sides.counts

    def attach(
        self,
        *,
        ready: Callable[[Published], bool],
        answered: Callable[[Published, Answer], None],
        release: Callable[[Letter], None],
        wanted: Callable[[str], bool],
    ) -> None:
        """Whether a publication could be taken now; what becomes of one that waited.

        A letter is to be delivered; whether a topic has subscribers here.
        """
        self._speaking.ready, self._speaking.answered = ready, answered
        self._sides.release, self._wanted = release, wanted

    def prepare(self) -> None:
        """Find out all that conversations will ask of their protocols: it takes a second or two."""
        for place in self._places.values():
            place.talks.grounds.prepare()

    def __contains__(self, protocol: str | None) -> bool:
        return protocol in self._places

    def takes_part(self, records: Iterable[Any]) -> bool:
        """Whether there is anything to do: protocols, or letters that waited before a restart."""
        return bool(self._places) or any(isinstance(one, KeptBack) for one in records)

    @property
    def held(self) -> int:
        """Letters and publications that wait."""
        waiting = sum(place.talks.waiting for place in self._places.values())
        return waiting + len(self._speaking.lines) + sum(map(len, self.again.values()))

    @property
    def open(self) -> int:
        """Sides of conversations that are judged."""
        return sum(len(place.talks) for place in self._places.values())

    # --- what happens -----------------------------------------------------------------------

    def say(self, name: str, event: Published, *, judged: bool) -> Answer:
        """What becomes of a publication; one that is not to be judged is only labelled."""
        return self._speaking.say(name, event, judged=judged)

    def kept(self, name: str, letter: Letter, *, logged: bool) -> None:
        """A letter is taken, and in the log itself or not."""
        self._speaking.kept(name, letter, logged=logged)

    def arrived(self, name: str | None, letter: Letter, *, given: bool = False) -> None:
        """A letter has come; `given` if the broker let its own clients have it at once."""
        self._hearing.arrived(name, letter, given=given)

    def heard(self, now_us: int, sender: int, body: Any) -> bool:  # noqa: ARG002
        """No note is for this part."""
        return False

    def changed(self, now_us: int) -> None:
        """It does not matter who can be reached."""

    # --- time -------------------------------------------------------------------------------

    @property
    def wake_us(self) -> int:
        """When something has to be looked at again."""
        return min(self._speaking.lines.wake_us, self._sides.alarms.wake_us)

    def due(self, now_us: int) -> None:
        """Patience is over, or a deadline has passed."""
        self._speaking.expire(now_us)
        for kind, side in list(self._sides.alarms.due(now_us)):
            if kind == DEADLINE:
                self._pass_deadline(side, now_us)
            elif kind == HELD:
                self._lose_patience(side)
            elif kind == AGAIN and not self._absent((AGAIN, side), self.again.get(side, ())):
                self._give_again(side, self.again.get(side, ()))
            self._speaking.work_off(side)

    def _pass_deadline(self, side: Side, now_us: int) -> None:
        messenger = self._sides.messenger(side)
        if messenger is None:
            return
        passed = messenger.tick(now_us) is not None
        self._sides.watch(side, messenger, not_before_us=now_us + RETRY_US)
        if passed:
            self._sides.write(side, messenger)

    def _lose_patience(self, side: Side) -> None:
        """Letters wait for others that have not come for long."""
        messenger = self._sides.messenger(side)
        letters = [one.payload for one in messenger.kept.values()] if messenger is not None else []
        if not self._absent((HELD, side), letters):
            why = f"what goes before did not come within {PATIENCE_US // 10**6} s"
            self._sides.break_off(side, why)

    def _absent(self, alarm: tuple[int, Side], letters: Iterable[Letter]) -> bool:
        """Whether nobody is there yet after a restart who would get letters: then look again."""
        now_us = self._deck.now_us
        if now_us >= self._absent_until_us or any(self._wanted(one.topic) for one in letters):
            return False
        self._sides.alarms.set(alarm, now_us + AGAIN_US)
        return True

    # --- restart ----------------------------------------------------------------------------

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """Go on with the conversations of before."""
        past, alarms = recovered(self._places, records, now_us), self._sides.alarms
        for side, over in past.over.items():
            self._sides.remember(side, over=over)
        self.again, self._absent_until_us = past.again, now_us + ABSENT_US
        for side in self.again:
            alarms.set((AGAIN, side), now_us + AGAIN_US)
        for side, messenger in self._sides.each():
            self._sides.watch(side, messenger)
            if messenger.kept:
                alarms.set((HELD, side), now_us + PATIENCE_US)

    def give_again(self, letter: Letter) -> None:
        """A letter comes: those of before a restart that go before it are given again first."""
        token = token_of(letter)
        for side, letters in list(self.again.items()):
            self._give_again(side, [one for one in letters if _goes_before(one, letter, token)])

    def _give_again(self, side: Side, letters: Sequence[Letter]) -> None:
        if not letters:
            return
        self._sides.give(letters, letters)
        rest = [one for one in self.again.pop(side) if one not in letters]
        if rest:
            self.again[side] = rest
        else:
            self._sides.alarms.drop((AGAIN, side))

    def records(self) -> Iterator[Any]:
        """Records that stand for all conversations, and for the last that are over."""
        yield from self._sides.records()
        for side, letters in self.again.items():
            yield from (KeptBack(*side, one) for one in letters)
        yield Told()


def _goes_before(one: Letter, other: Letter, told: Token | None) -> bool:
    """Whether a letter goes before another: in its topic's stream, or in their conversation."""
    if (one.origin, one.topic) == (other.origin, other.topic):
        return (one.incarnation, one.number) < (other.incarnation, other.number)
    mine = token_of(one)
    if mine is None or told is None or mine.stamp is None or told.stamp is None:
        return False
    same = (mine.digest, mine.conversation) == (told.digest, told.conversation)
    return same and one.origin == other.origin and mine.stamp.number < told.stamp.number
