"""What homes and readers of a total order say to each other and write in their logs.

A *ballot* is (term, incarnation of the home): who speaks for a topic. Letters are labelled with
their number in the term that a reader has begun.
"""

from ropewalk.overlay.words import Letter, Wire

Ballot = tuple[int, int]
Id = tuple[int, int, str, int]
"""Of a letter."""
Token = tuple[int, int]
"""Which time a reader has joined: its incarnation then, and a count."""
Stream = tuple[int, int, int, tuple[int, ...]]
"""Origin, incarnation, highest number known, numbers below it that are not."""

NOBODY: Ballot = (0, 0)


class Ask(Wire, frozen=True, tag="oa"):
    """A new home wants a reader's tail from a label on; the reader obeys no older ballot then."""

    topic: str
    ballot: Ballot
    after: int = 0


class Tail(Wire, frozen=True, tag="ot"):
    """A piece of it: what the reader keeps, with its labels, and what it has delivered."""

    topic: str
    ballot: Ballot
    token: Token
    begun: Ballot
    """Whose labels these are."""
    stable: int
    """As the home has said, not where this reader began."""
    after: int
    upto: int
    """The piece covers the labels above `after` up to this one."""
    last: bool
    letters: tuple[Letter, ...] = ()
    absent: tuple[tuple[int, Id], ...] = ()
    """Labels whose letters have not come to this reader."""
    streams: tuple[Stream, ...] = ()
    reads: bool = True
    """False for a member that does not read the topic."""
    vouched: tuple[int, ...] = ()
    """Readers of older homes that this member knows of."""


class Vouch(Wire, frozen=True, tag="ov"):
    """A home is about to have these readers: a majority of members must know of them first."""

    topic: str
    ballot: Ballot
    readers: tuple[int, ...]


class Vouched(Wire, frozen=True, tag="oV"):
    """The answer of a member that obeys no newer ballot."""

    topic: str
    ballot: Ballot
    readers: tuple[int, ...]


class Vowed(Wire, frozen=True, tag="ow"):
    """A member's record: the newest ballot it obeys, and the readers that it knows of."""

    topic: str
    ballot: Ballot
    vouched: Ballot
    """The ballot whose readers these are."""
    readers: tuple[int, ...]


class Fenced(Wire, frozen=True, tag="of"):
    """The reader or member obeys a newer ballot."""

    topic: str
    ballot: Ballot


class Begin(Wire, frozen=True, tag="ob"):
    """A reader starts in a term; also its record."""

    topic: str
    ballot: Ballot
    token: Token
    first: int
    """Deliver from this number on."""
    plan: tuple[Id, ...] = ()
    """The letters of the old terms that have the numbers from 1 on."""
    streams: tuple[Stream, ...] = ()
    """What was numbered before `first`."""


class Begun(Wire, frozen=True, tag="oB"):
    """The answer."""

    topic: str
    ballot: Ballot
    token: Token


class Join(Wire, frozen=True, tag="oj"):
    """A reader wants to start; also its record."""

    topic: str
    token: Token


class Stable(Wire, frozen=True, tag="os"):
    """Every reader has all up to this number and may forget it; also a reader's record."""

    topic: str
    ballot: Ballot
    upto: int


class Had(Wire, frozen=True, tag="oS"):
    """The answer."""

    topic: str
    ballot: Ballot
    upto: int


class Opened(Wire, frozen=True, tag="oo"):
    """A home's record: a term begins, or all of one so far."""

    topic: str
    ballot: Ballot
    number: int
    stable: int
    letters: tuple[Letter, ...]
    """Numbered and not stable."""
    streams: tuple[Stream, ...]
    readers: tuple[tuple[int, Token, int], ...]
    """With each one's first number."""
    plan: tuple[Id, ...] = ()
    joining: tuple[tuple[int, Begin], ...] = ()
    """What readers that have not yet begun are told."""


class Excluded(Wire, frozen=True, tag="oe"):
    """A home's record: the operator has given up a reader."""

    reader: int


class Numbered(Wire, frozen=True, tag="on"):
    """A home's record: a letter has its number."""

    letter: Letter


class Steady(Wire, frozen=True, tag="oy"):
    """A home's record: up to where all is stable.

    Not `Stable`: a broker may be home and reader, and must replay each one's records as they were.
    """

    topic: str
    upto: int


class Admitted(Wire, frozen=True, tag="om"):
    """A home's record: a reader has joined."""

    topic: str
    reader: int
    token: Token
    first: int


class Promised(Wire, frozen=True, tag="op"):
    """A reader's record: it obeys no ballot below this one."""

    topic: str
    ballot: Ballot


class Kept(Wire, frozen=True, tag="ok"):
    """A reader's record: a letter came and is kept."""

    letter: Letter


class Left(Wire, frozen=True, tag="ol"):
    """A reader's record: it no longer reads the topic."""

    topic: str


class Reading(Wire, frozen=True, tag="or"):
    """A reader's record: all that it knows of a topic."""

    topic: str
    token: Token
    promised: Ballot
    begun: Ballot
    next: int
    floor: int
    stable: int
    letters: tuple[Letter, ...]
    absent: tuple[tuple[int, Id], ...]
    streams: tuple[Stream, ...]
    before: tuple[Stream, ...]


class NeedsTerm(Wire, frozen=True, tag="ht"):
    """A note to the master: this home cannot number a topic any more in its term."""

    topic: str
    term: int
