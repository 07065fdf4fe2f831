"""What a letter carries of its conversation."""

from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct, ValidationError, convert

from ropewalk.overlay.words import Letter
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.stamps import Stamp

Plain = tuple[int, int, int, int, int, tuple[int, ...], tuple[int, ...]]
"""A stamp on the wire."""


class Token(Struct, frozen=True, array_like=True):
    """Which message of which conversation a letter is, and its stamp if it has one."""

    digest: int
    """Of the protocol: agents with another version of it do not judge."""
    conversation: str
    message: str
    label: str
    """The message, and which of its guards hold."""
    plain: Plain | None = None

    @property
    def stamp(self) -> Stamp | None:
        """What a messenger wrote on it."""
        return None if self.plain is None else Stamp(*self.plain)

    def stamped(self, stamp: Stamp) -> "Token":
        """The same with a stamp."""
        head = stamp.number, stamp.base, stamp.first, stamp.state, stamp.heard
        plain = (*head, stamp.early, stamp.events)
        return Token(self.digest, self.conversation, self.message, self.label, plain)


def token_of(letter: Letter) -> Token | None:
    """A letter's token, as it was written here or as it came over a wire; None if it has none."""
    if letter.stamp is None or isinstance(letter.stamp, Token):
        return letter.stamp
    try:
        return convert(letter.stamp, Token)
    except ValidationError:
        return None


def digest_of(protocol: Automaton) -> int:
    """Tells versions of a protocol apart."""
    letters = [(one.name, one.sender, one.receiver, one.holding) for one in protocol.letters]
    places = [sorted(one.items()) for one in (protocol.conversation, protocol.message)]
    told = (letters, protocol.roles, protocol.rows, protocol.initial, places)
    return int.from_bytes(blake2b(repr(told).encode(), digest_size=6).digest(), "big")


def own_letters(stamp: Stamp, since: int) -> Sequence[int]:
    """Letters that the sender itself said up to a stamp, from a number on; as far as it tells."""
    own = [event for event in stamp.events if event >= 0]
    return own[max(0, since - stamp.first) :] if since >= stamp.first else ()
