"""Conversations over a restart: records of how far each side is, and how they are read again.

A letter is in the log before the record of what it did to its conversation, and such a record is
not written for each; so letters behind the last one are followed again. A letter that waits here
has a record of its own (`KeptBack`), since its origin keeps it no longer; it is void when the
broker has confirmed that it was given out (`Given`), and until then it is given again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import ValidationError

from ropewalk.overlay.lane import Kept
from ropewalk.overlay.talk.lines import Side
from ropewalk.overlay.talk.place import Place
from ropewalk.overlay.talk.token import own_letters, token_of
from ropewalk.overlay.words import Letter, Wire
from ropewalk.protocol.horizon import Horizon
from ropewalk.protocol.memory import recall, remembered
from ropewalk.protocol.messenger import Messenger, Stamped
from ropewalk.protocol.stamps import Stamp
from ropewalk.protocol.strict import Strict

OVER = "over"
LetterId = tuple[int, int, str, int]


class Talked(Wire, frozen=True, tag="tk"):
    """A record: how far one role's side of a conversation is."""

    protocol: str
    digest: int
    conversation: str
    role: int
    memory: Any
    """None if it is no longer judged, OVER if it came to its end."""


class KeptBack(Wire, frozen=True, tag="tb"):
    """A record: a letter waits here for those that go before it."""

    protocol: str
    conversation: str
    role: int
    letter: Letter


class Given(Wire, frozen=True, tag="tg"):
    """A record: letters that waited were given out. It is written when the broker has them."""

    letters: tuple[LetterId, ...]


class Told(Wire, frozen=True, tag="tt"):
    """A record: of all conversations before this it is told how far they are."""


def talked(place: Place, side: Side, messenger: Messenger) -> Talked:
    """How far a side is; it is no longer judged if its rule cannot be remembered."""
    course = messenger.course
    memory = remembered(course) if isinstance(course, Horizon | Strict) else None
    return Talked(place.name, place.digest, side[1], side[2], memory)


@dataclass(slots=True)
class Past:
    """What a log tells of conversations."""

    over: dict[Side, bool] = field(default_factory=dict)
    """Sides that are not judged; True for those that came to their end."""
    again: dict[Side, list[Letter]] = field(default_factory=dict)
    """Letters that waited and may have been given out, or have nothing to wait for any more."""


def recovered(places: Mapping[str, Place], records: Iterable[Any], now_us: int) -> Past:
    """Bring all conversations back."""
    last: dict[Side, Talked] = {}
    later: dict[Side, list[Stamp]] = {}
    held: dict[LetterId, KeptBack] = {}
    for record in records:
        if isinstance(record, Talked):
            side = record.protocol, record.conversation, record.role
            last[side] = record
            later.pop(side, None)
        elif isinstance(record, KeptBack):
            held[record.letter.id] = record
        elif isinstance(record, Given):
            for letter in record.letters:
                held.pop(letter, None)
        elif isinstance(record, Told):
            later.clear()
        elif isinstance(record, Kept) and record.letter.stamp is not None:
            _note(places, later, record.letter)
    past = Past()
    for side, record in last.items():
        _recall(places, side, record, now_us, past)
    for side, stamps in later.items():
        for stamp in stamps if side not in past.over else ():
            _follow(places[side[0]], side, stamp)
    for waited in held.values():
        _keep_back(places, waited, past)
    return past


def _note(places: Mapping[str, Place], later: dict[Side, list[Stamp]], letter: Letter) -> None:
    """A letter of this origin that may have to be followed again."""
    token = token_of(letter)
    stamp = None if token is None else token.stamp
    if token is None or stamp is None or not stamp.events:
        return
    place = next((one for one in places.values() if one.digest == token.digest), None)
    if place is not None and stamp.events[-1] < len(place.protocol.letters):
        role = place.protocol.letters[stamp.events[-1]].sender
        later.setdefault((place.name, token.conversation, role), []).append(stamp)


def _recall(
    places: Mapping[str, Place], side: Side, record: Talked, now_us: int, past: Past
) -> None:
    place = places.get(side[0])
    if place is None or place.digest != record.digest:
        return
    if record.memory in (None, OVER):
        past.over[side] = record.memory == OVER
    elif not _recalled(place, side, record.memory, now_us):
        past.over[side] = False


def _recalled(place: Place, side: Side, memory: Any, now_us: int) -> bool:
    messenger = place.open(side)
    if messenger is None or not isinstance(messenger.course, Horizon | Strict):
        return False
    try:
        recall(messenger.course, memory)
    except ValidationError:
        place.forget(side)
        return False
    messenger.entered(now_us)
    return True


def _follow(place: Place, side: Side, stamp: Stamp) -> None:
    """Say again what was said after the last record."""
    messenger = place.open(side)
    if messenger is not None and isinstance(messenger.course, Horizon):
        for letter in own_letters(stamp, messenger.course.said):
            messenger.course.speak(letter)
    elif messenger is not None and isinstance(messenger.course, Strict):
        to = place.protocol.letters[stamp.events[-1]].receiver
        if stamp.number >= messenger.course.said.get(to, 0):
            messenger.course.speak(stamp.events[-1])


def _keep_back(places: Mapping[str, Place], record: KeptBack, past: Past) -> None:
    """A letter that waited waits again, if its side still waits for what goes before it."""
    side = record.protocol, record.conversation, record.role
    place, token = places.get(side[0]), token_of(record.letter)
    messenger = None if place is None or side in past.over else place.messenger(side)
    stamp = None if token is None or place is None or token.digest != place.digest else token.stamp
    if messenger is None or token is None or stamp is None or not messenger.awaits(stamp):
        past.again.setdefault(side, []).append(record.letter)
    else:
        messenger.keep(Stamped(token.message, stamp, record.letter))
