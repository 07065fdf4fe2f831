"""What places of the net stand for: clients that are alike, and what brokers hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple


class Client(NamedTuple):
    """All clients of a kind that are in the same situation; sets are bits of a number."""

    kind: int
    state: int
    at: int
    """The broker."""
    on: bool
    """Whether it is connected."""
    topics: int
    """What it is subscribed to."""
    got: int
    """The messages it has received."""
    due: int = 0
    """Notifications under way to it: topic x number of messages + message."""
    missed: int = 0
    """The messages that did not reach it although it was subscribed."""


class Notice(NamedTuple):
    """A message on a topic that a broker tells its clients about."""

    at: int
    topic: int
    message: int


@dataclass(frozen=True, slots=True)
class Phase:
    """How far a broker is that divides its subscribers: first who fails, then who is reached."""

    notice: Notice
    part: Literal["fail", "reach"]


@dataclass(frozen=True, slots=True)
class Held:
    """Who publishes while subscribers are divided: it is not among them.

    Nobody, where a message comes from another broker, or where the publisher no longer matters.
    """

    notice: Notice
    client: Client | None


@dataclass(frozen=True, slots=True)
class Cell:
    """What a broker retains on a topic; bits of a number."""

    at: int
    topic: int
    kept: int


@dataclass(frozen=True, slots=True)
class Way:
    """Messages on their way from a broker to the next."""

    source: int
    target: int
    topic: int
    message: int


@dataclass(frozen=True, slots=True)
class Gate:
    """A token that only one of several activities can have."""

    name: Literal["placing", "free", "judging"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Clients that have not yet been given a broker."""

    kind: int


@dataclass(frozen=True, slots=True)
class Seen:
    """Clients that were found to meet a need of the bad pattern."""

    need: int


Key = Client | Phase | Held | Cell | Way | Gate | Waiting | Seen

FREE, PLACING, JUDGING = Gate("free"), Gate("placing"), Gate("judging")


def bits(number: int) -> Iterator[int]:
    """The places of a number's bits.

    >>> list(bits(0b1011))
    [0, 1, 3]
    """
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def mask(some: frozenset[str], names: Sequence[str]) -> int:
    """Names as bits of a number.

    >>> mask(frozenset({"a", "c"}), ["a", "b", "c"])
    5
    """
    return sum(1 << i for i, name in enumerate(names) if name in some)
