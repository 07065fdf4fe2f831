"""What members of a council say to each other and what they keep in their logs.

Every word has the council's `group`: an agent can sit in several (its domain's, the gateways').
Tags begin with `council.`: they cannot be taken for those of `overlay.words`.
"""

from typing import Any

import msgspec

from ropewalk.overlay.council.handover import Frontier
from ropewalk.overlay.words import Wire

# The election.


class Ballot(Wire, frozen=True, tag="council.ballot"):
    """A record: the term this member is in, and whom it voted for; -1 for nobody."""

    group: str
    term: int
    vote: int


class Candidacy(Wire, frozen=True, tag="council.candidacy"):
    """I would be master in this term; `trial`: would you vote for me? Nothing is promised yet."""

    group: str
    term: int
    round: int
    """Of the candidate: an answer names it."""
    trial: bool
    position: tuple[int, int]
    """Term and number of the candidate's last entry."""


class Vote(Wire, frozen=True, tag="council.vote"):
    """The answer to a candidacy."""

    group: str
    term: int
    """Of the candidacy."""
    round: int
    trial: bool
    granted: bool
    known: int
    """The voter's own term."""


class Lead(Wire, frozen=True, tag="council.lead"):
    """I am master of this term."""

    group: str
    term: int
    sent_us: int
    """By the master's clock: the answer gives it back, the lease runs from it."""


class Follow(Wire, frozen=True, tag="council.follow"):
    """The answer to a Lead; a higher term says that the sender is master no more."""

    group: str
    term: int
    sent_us: int


# What is decided.


class Began(Wire, frozen=True, tag="council.began"):
    """The first entry of a term: with it all that came before is decided too."""

    master: int


class Cases(Wire, frozen=True, tag="council.cases"):
    """A part of a case base, as `CaseBase.text()` has it; it counts when all parts are here."""

    version: str
    part: int
    parts: int
    text: str


class Switch(Wire, frozen=True, tag="council.switch"):
    """These brokers are down: each item in `moves` is at that broker, all others at home."""

    down: tuple[int, ...]
    moves: tuple[tuple[str, int], ...]


class Restore(Wire, frozen=True, tag="council.restore"):
    """Brokers are back; items in `moves` whose home is up are on their way back to it."""

    up: tuple[int, ...]
    down: tuple[int, ...]
    moves: tuple[tuple[str, int], ...]


class Appoint(Wire, frozen=True, tag="council.appoint"):
    """This broker orders a totally ordered topic from here on."""

    topic: str
    home: int


class Opaque(Wire, frozen=True, tag="council.opaque"):
    """Somebody else's decision; the newest of a name counts."""

    name: str
    data: bytes


Body = Began | Cases | Switch | Restore | Appoint | Opaque


class Entry(Wire, frozen=True, tag="council.entry"):
    """One decision and its place: the term it was proposed in, and its number from 1."""

    term: int
    number: int
    body: Body


class Kept(Wire, frozen=True, tag="council.kept"):
    """A record: this entry is stored; any that were at its number or above are void."""

    group: str
    entry: Entry


class Folded(Wire, frozen=True, tag="council.folded"):
    """A record: all up to `number` is decided, and this is what still matters of it."""

    group: str
    term: int
    number: int
    entries: tuple[Entry, ...]


class Decided(Wire, frozen=True, tag="council.decided"):
    """A record: all up to this number is decided."""

    group: str
    number: int


class Append(Wire, frozen=True, tag="council.append"):
    """Master: store these after the entry that is named."""

    group: str
    term: int
    after_term: int
    after: int
    entries: tuple[Entry, ...]
    decided: int
    """All up to this number is decided."""


class Install(Wire, frozen=True, tag="council.install"):
    """Master: what you lack is folded already; this is a part of what still matters."""

    group: str
    term: int
    base_term: int
    base: int
    part: int
    parts: int
    entries: tuple[Entry, ...]


class Stored(Wire, frozen=True, tag="council.stored"):
    """The answer: stored as far as `upto`, or it does not fit and that is where to try."""

    group: str
    term: int
    fits: bool
    upto: int
    decided: int
    part: int = 0
    """The part of an Install that is wanted next; 0 outside of one."""


# Mirrors and moves.


class Returned(Wire, frozen=True, tag="council.returned"):
    """To the master: these items are at home again, their clients too."""

    group: str
    number: int
    """Of the newest Switch or Restore that the sender knows: this is said of that state."""
    items: tuple[str, ...]


class Move(Wire, frozen=True, tag="council.move"):
    """A message of a session (`placement.reactive.session`), brokers by number."""

    kind: str
    source: int
    number: int
    item: str = ""
    clients: tuple[str, ...] = ()
    """Of an offer those that move; of a done those that did not come."""
    reason: str = ""
    frontier: Frontier | None = None
    """Of a moved: what the clients have got."""


class Over(Wire, frozen=True, tag="council.over"):
    """In a `Sitting`: a session that is over, and what it ended with."""

    source: int
    number: int
    peer: int
    item: str
    answer: Move


class Sitting(Wire, frozen=True, tag="council.sitting"):
    """A record: where this broker stands in its session; the newest counts."""

    number: int
    phase: str
    source: int = -1
    session: int = 0
    target: int = -1
    item: str = ""
    clients: tuple[str, ...] = ()
    replayed: tuple[str, ...] = ()
    owed: tuple[Over, ...] = ()
    ended: tuple[Over, ...] = ()
    seen: tuple[tuple[int, int], ...] = ()
    frontier: Frontier | None = None


NOTES = (Candidacy, Vote, Lead, Follow, Append, Install, Stored, Returned, Move)
"""What parts of a council send."""
RECORDS = (Ballot, Kept, Folded, Decided, Sitting)
"""What they write."""

Word = (
    Candidacy
    | Vote
    | Lead
    | Follow
    | Append
    | Install
    | Stored
    | Returned
    | Move
    | Ballot
    | Kept
    | Folded
    | Decided
    | Sitting
)
TAG = "council."


def is_word(plain: Any) -> bool:
    """Decoded without a type, it is a word of a council."""
    first = plain[0] if isinstance(plain, list | tuple) and plain else None
    return isinstance(first, str) and first.startswith(TAG)


def word(plain: Any) -> Word:
    """A note or record that was decoded without its type; raises msgspec.ValidationError.

    >>> word(["council.ballot", "uk", 3, -1])
    Ballot(group='uk', term=3, vote=-1)
    """
    return msgspec.convert(plain, Word)  # type: ignore[no-any-return]
