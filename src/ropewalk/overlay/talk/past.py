"""Conversations over a restart: records of how far each side is, and how they are read again.

A letter is in the log before the record of what it did to its conversation; so letters behind the
last record are followed again. A record may tell of deliveries that the broker had not confirmed:
their letters come once more, and whoever knows them already lets them pass.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import ValidationError

from ropewalk.overlay.lane import Kept
from ropewalk.overlay.talk.token import own_letters, token_of
from ropewalk.overlay.words import Letter, Wire
from ropewalk.protocol.conversations import Conversations
from ropewalk.protocol.horizon import Horizon
from ropewalk.protocol.memory import recall, remembered
from ropewalk.protocol.messenger import Messenger, Stamped
from ropewalk.protocol.stamps import Stamp
from ropewalk.protocol.strict import Strict

Side = tuple[str, int]
"""A conversation and a role."""

OVER = "over"


class Talked(Wire, frozen=True, tag="tk"):
    """A record: how far one role's side of a conversation is, and the letters that wait there."""

    protocol: str
    digest: int
    conversation: str
    role: int
    memory: Any
    """None if it is no longer judged, OVER if it came to its end."""
    held: tuple[Letter, ...] = ()


def talked(name: str, digest: int, side: Side, messenger: Messenger | None) -> Talked:
    """How far a side is; without a messenger, that it is no longer judged."""
    if messenger is None or not isinstance(messenger.course, Horizon | Strict):
        return Talked(name, digest, *side, None)
    held = tuple(one.payload for one in messenger.kept.values())
    return Talked(name, digest, *side, remembered(messenger.course), held)


def recovered(
    name: str, digest: int, talks: Conversations, records: Iterable[Any], now_us: int
) -> Iterator[tuple[str, bool]]:
    """Bring conversations of one protocol back; yields those that are over or not judged."""
    last: dict[Side, Talked] = {}
    later: dict[Side, list[Stamp]] = {}
    over: dict[str, bool] = {}
    for record in records:
        if isinstance(record, Talked) and (record.protocol, record.digest) == (name, digest):
            side = record.conversation, record.role
            last[side] = record
            later.pop(side, None)
            if record.memory in (None, OVER):
                over[record.conversation] = record.memory == OVER
        elif isinstance(record, Kept):
            token = token_of(record.letter)
            stamp = None if token is None or token.digest != digest else token.stamp
            if token is not None and stamp is not None and stamp.events:
                role = talks.protocol.letters[stamp.events[-1]].sender
                later.setdefault((token.conversation, role), []).append(stamp)
    for side, record in last.items():
        if side[0] not in over and not _recalled(talks, side, record, now_us):
            over[side[0]] = False
    for side, stamps in later.items():
        for stamp in stamps if side[0] not in over else ():
            _follow(talks, side, stamp)
    yield from over.items()


def _recalled(talks: Conversations, side: Side, record: Talked, now_us: int) -> bool:
    messenger = talks.open(side[0], talks.protocol.roles[side[1]])
    if messenger is None or not isinstance(messenger.course, Horizon | Strict):
        return False
    try:
        recall(messenger.course, record.memory)
    except ValidationError:
        talks.forget(*side)
        return False
    for letter in record.held:
        token = token_of(letter)
        if token is not None and token.stamp is not None:
            messenger.keep(Stamped(token.message, token.stamp, letter))
    messenger.entered(now_us)
    return True


def _follow(talks: Conversations, side: Side, stamp: Stamp) -> None:
    """Say again what was said after the last record."""
    messenger = talks.open(side[0], talks.protocol.roles[side[1]])
    if messenger is not None and isinstance(messenger.course, Horizon):
        for letter in own_letters(stamp, messenger.course.said):
            messenger.course.speak(letter)
    elif messenger is not None and isinstance(messenger.course, Strict):
        to = talks.protocol.letters[stamp.events[-1]].receiver
        if stamp.number >= messenger.course.said.get(to, 0):
            messenger.course.speak(stamp.events[-1])
