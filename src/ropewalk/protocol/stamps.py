"""What a messenger writes on a message: its number, and the way its sender has come.

A stamp tells the sender's last steps, its own letters and what it got from the other side, up to
the message itself: whoever gets a late message first knows what was said before it. How far back it
goes is bounded, so stamps are, too.
"""

from msgspec import Struct

from ropewalk.errors import UsageError

_LAYOUT = "NUMBER.BASE.FIRST.STATE.HEARD.EARLY.EVENTS"


class Stamp(Struct, frozen=True, gc=False):
    """A message's number in its sender's conversation, and the sender's steps before it."""

    number: int
    """Of the sender's letters, from 0."""
    base: int = 0
    """How many steps the sender had taken before those told here."""
    first: int = 0
    """How many of them were letters of its own."""
    state: int = 0
    """Where it was then."""
    heard: int = 0
    """How many of the other side's letters it had delivered then, without a gap."""
    early: tuple[int, ...] = ()
    """Numbers beyond the gap that it had delivered."""
    events: tuple[int, ...] = ()
    """Its steps from there: a letter of its own, or -1 - n for the other side's number n."""

    def text(self) -> str:
        """As a header carries it.

        >>> Stamp(2, 0, 0, 0, 0, (), (4, -1, 7)).text()
        '2.0.0.0.0..4,-1,7'
        """
        early, events = ",".join(map(str, self.early)), ",".join(map(str, self.events))
        head = f"{self.number}.{self.base}.{self.first}.{self.state}.{self.heard}"
        return f"{head}.{early}.{events}"


def stamp_of(text: str) -> Stamp:
    """A stamp as a header carries it; raises UsageError if it is none.

    >>> stamp_of("2.0.0.0.0..4,-1,7").events
    (4, -1, 7)
    """
    parts = text.split(".")
    if len(parts) != 7:
        raise UsageError(f"{text[:80]!r} is no stamp: it has {_LAYOUT}")
    try:
        head = [int(one) for one in parts[:5]]
        early, events = (tuple(map(int, one.split(","))) if one else () for one in parts[5:])
    except ValueError:
        raise UsageError(f"{text[:80]!r} is no stamp: it has {_LAYOUT}, all numbers") from None
    if min(head) < 0 or min(early, default=0) < 0:
        raise UsageError(f"{text[:80]!r} is no stamp: a count is below 0")
    return Stamp(head[0], head[1], head[2], head[3], head[4], early, events)
