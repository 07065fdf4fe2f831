"""What agents say to each other over a link, and what they keep in their logs.

Brokers and links are numbers of the chart (`chart`), times are microseconds of the speaker's own
clock. Words are plain arrays on the wire: an agent encodes them as they are.

Heartbeats in their three kinds, each with its acknowledgement, are those of Jia 2014, 6.1.3 and
table 6-5: `Beat`, `Flood`, `Test`. A `Frame` carries parcels, runs of them, and notes. What a flood
or a frame tells are `Item`s: one fact of one broker each, of which the newest counts.
"""

from itertools import count, repeat
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

LINKS, INTEREST, CHART, WHOLE = 0, 1, 2, 3
"""Kinds of items: a broker's links that are not well, what it wants, which chart it has ready; and
all that it wants in this life, so that what it said in earlier ones no longer counts."""

Key = tuple[int, int, str]
"""Of an item: its kind, its broker, its name."""

MOST_IN_RUN = 65_536
_MOST = 1 << 62
"""No number that is behind another can be too large to be written."""
Number = Annotated[int, Meta(ge=0, le=_MOST)]
Count = Annotated[int, Meta(ge=1, le=_MOST)]
"""What parcels and notes say of brokers and of places in lanes is checked where it is decoded."""


class Wire(Struct, frozen=True, array_like=True, tag=True, gc=False):
    """Everything that is said."""


class Item(Wire, frozen=True, tag="i"):
    """One fact of one broker; the highest (incarnation, number) counts."""

    kind: int
    broker: int
    name: str
    """Of an interest its pattern, of links which part of them; empty otherwise."""
    incarnation: int
    number: int
    body: Any
    domain: int = -1
    """The domain that it does not leave; -1 for none, -2 if all gateways hear it and no edges."""

    @property
    def key(self) -> Key:
        """What it is a fact about."""
        return self.kind, self.broker, self.name


class Down(Wire, frozen=True, tag="d"):
    """A link that its end does not hear, and the last that was known of the other end by then.

    While the other end has said nothing newer it is held for dead: a broker that is alive and reads
    this of itself contradicts at once.
    """

    link: int
    incarnation: int
    number: int


class LinkStates(Wire, frozen=True, tag="l"):
    """The body of a `LINKS` item."""

    down: tuple[Down, ...] = ()
    slow: tuple[int, ...] = ()
    """Links that work badly: they cost more."""
    away: tuple[int, ...] = ()
    """Told to edges only: gateways that this one cannot reach and another of the domain may."""


class Beat(Wire, frozen=True, tag="b"):
    """The regular heartbeat."""

    incarnation: int
    number: int
    """Counts up, so that missing ones are seen."""
    sent_us: int
    every_us: int
    """When the next one is to be expected."""
    stall_us: int
    """How long the sender itself stood still before this."""
    digest: int
    """Of all items it knows that concern the receiver."""
    epoch: int
    down: bool
    """The sender holds the link for down."""
    ask: bool
    """A `BeatAck` is wanted: it measures the round trip."""
    session: int
    got: int
    """All frames up to this one of that session have come."""
    extra: tuple[int, ...] = ()
    """Frames beyond it that have come."""
    knows: bool = True
    """The sender knows who subscribes: one that agrees with it knows, too."""


class BeatAck(Wire, frozen=True, tag="B"):
    """The answer to a beat that asked for one."""

    number: int
    sent_us: int
    """As in the beat."""


class Flood(Wire, frozen=True, tag="f"):
    """The flood notification: news that must be acknowledged."""

    items: tuple[Item, ...]


class FloodAck(Wire, frozen=True, tag="F"):
    """Which items have come: key, incarnation and number of each."""

    stamps: tuple[tuple[Key, int, int], ...]


class Test(Wire, frozen=True, tag="t"):
    """The link test: asked over a link that was down before it is used again."""

    incarnation: int
    number: int


class TestAck(Wire, frozen=True, tag="T"):
    """The answer to a link test."""

    incarnation: int
    number: int


class Letter(Wire, frozen=True, tag="m"):
    """A message as its origin took it; nothing in it changes on the way."""

    origin: int
    incarnation: int
    topic: str
    number: Number
    """Of the origin's stream of this topic; grows."""
    payload: bytes
    sent_us: int = 0
    priority: int = 0
    producer: str = ""
    """The client, where it is known."""
    key: str = ""
    """The client's own id of the message, if it gave one."""
    retain: bool = False
    stamp: Any = None
    """What a protocol's messenger put on it."""
    order: tuple[int, int] | None = None
    """Where it stands in a total order: (term, number)."""
    domain: int = -1
    """The domain that it does not leave; -1 for none."""
    headers: tuple[tuple[str, str], ...] = ()
    """What came with the payload."""

    @property
    def id(self) -> tuple[int, int, str, int]:
        """Tells it from all others, also after restarts."""
        return self.origin, self.incarnation, self.topic, self.number


class Address(Wire, frozen=True, tag="a"):
    """One destination of a parcel, and the place in the lane from the origin to it."""

    to: Number
    lane: int
    """0 for messages in custody, 1 for those without, 2 on the way to a sequencer, 3 for messages
    in custody that do not leave their domain."""
    number: Count
    base: int
    """The origin's lowest number that is not acknowledged."""
    after: int = 0
    """Deliver it after that number of the lane; 0 for at once."""
    after_incarnation: int = 0
    """And of that incarnation's lane, if it is another."""
    since: int = 0
    """Incarnations of the origin below this one have nothing more to say in this lane."""
    origin: int = -1
    """Whose lane it is: the letter's origin, or the home that gave it its number."""
    incarnation: int = 0
    """Of the lane."""
    late: bool = False
    """The last value for somebody who subscribed after it was published."""


class Parcel(Wire, frozen=True, tag="p"):
    """A letter on its way to some destinations."""

    letter: Letter
    to: Annotated[tuple[Address, ...], Meta(min_length=1)]
    hops: int = 0
    avoid: tuple[int, ...] = ()
    """Links that this copy keeps off; nobody else concludes anything from it."""
    route: tuple[int, ...] = ()
    """Links that this copy follows as long as they are up."""


class Run(Wire, frozen=True, tag="q"):
    """Parcels of one stream to one destination, each with the number behind the one before.

    Busy publishers make many of them; as one object they cost a hop as much as one. `runs` has what
    takes them apart again.
    """

    letter: Letter
    """The first without its payload; the others differ in number, payload and key alone."""
    to: Address
    """Where the first stands in its lane; the others behind it."""
    chained: bool
    """Each is delivered after the one before it."""
    payloads: Annotated[tuple[bytes, ...], Meta(min_length=1, max_length=MOST_IN_RUN)]
    keys: tuple[str, ...] = ()
    """The clients' ids; none if none has one."""
    hops: int = 0

    def letters(self) -> list[Letter]:
        """All its letters."""
        one = self.letter
        origin, life, topic, sent_us = one.origin, one.incarnation, one.topic, one.sent_us
        priority, producer, domain = one.priority, one.producer, one.domain
        every = zip(count(one.number), self.payloads, self.keys or repeat(""), strict=False)
        return [
            Letter(
                origin,
                life,
                topic,
                number,
                payload,
                sent_us,
                priority,
                producer,
                key,
                False,
                None,
                None,
                domain,
            )
            for number, payload, key in every
        ]

    def letter_at(self, index: int) -> Letter:
        """One of its letters; 0 for the first."""
        return replace(
            self.letter,
            number=self.letter.number + index,
            payload=self.payloads[index],
            key=self.keys[index] if self.keys else "",
        )

    def place_at(self, index: int) -> Address:
        """Where one of its letters stands in the lane."""
        if not index:
            return self.to
        number = self.to.number + index
        after = number - 1 if self.chained else 0
        return replace(self.to, number=number, after=after, after_incarnation=0)


class Receipt(Wire, frozen=True, tag="r"):
    """The end-to-end acknowledgement of a lane."""

    lane: int
    incarnation: int
    """Of the origin."""
    upto: int
    """All numbers up to this one have come for good."""
    extra: tuple[int, ...] = ()
    """Numbers beyond it that have come."""


class Note(Wire, frozen=True, tag="n"):
    """Something small from one agent to another; nobody keeps it, so the sender repeats it."""

    sender: Number
    incarnation: int
    to: Number
    body: Any
    hops: int = 0
    avoid: tuple[int, ...] = ()
    """Links that it keeps off."""


class Frame(Wire, frozen=True, tag="s"):
    """Parcels and notes that cross a link together, and what the neighbour must know first."""

    epoch: int
    session: int
    number: int
    parcels: tuple[Parcel | Run, ...] = ()
    notes: tuple[Note, ...] = ()
    items: tuple[Item, ...] = ()
    """Link states that the neighbour may not know: messages carry what their senders knew."""


class FrameAck(Wire, frozen=True, tag="S"):
    """The acknowledgement of frames between two agents; beats say the same."""

    session: int
    got: int
    extra: tuple[int, ...] = ()


Word = Beat | BeatAck | Flood | FloodAck | Test | TestAck | Frame | FrameAck
