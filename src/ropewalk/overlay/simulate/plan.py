"""What one run is asked to do: who publishes and subscribes when, and what goes wrong meanwhile."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ropewalk.overlay.simulate.faults import Fault

if TYPE_CHECKING:
    from ropewalk.overlay.simulate.turns import Turn


class Publication(NamedTuple):
    """A client's wish to publish; its number is told in the payload and never given twice."""

    number: int
    at_us: int
    broker: int
    topic: str
    producer: str

    @property
    def key(self) -> str:
        """The client's own id of the message: the same when it has to send it again."""
        return f"p{self.number}"


class Wish(NamedTuple):
    """A client's subscription, and until when it lasts; None for to the end."""

    at_us: int
    until_us: int | None
    broker: int
    subscriber: str
    pattern: str


class Shift(NamedTuple):
    """An item is to move between two brokers, with the clients that it has at the first."""

    at_us: int
    item: str
    source: str
    to: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run: together with the federation and the settings it decides everything."""

    publications: tuple[Publication, ...]
    wishes: tuple[Wish, ...]
    faults: tuple[Fault, ...]
    end_us: int
    """When the run ends: long enough after the last fault that all should be settled."""
    seed: int = 1
    charts: "tuple[Turn, ...]" = ()
    """When the federation becomes another one."""
    moves: tuple[Shift, ...] = ()
    """When items move, and where to."""
    mirrors: bool = False
    """Whether clients of a broker that dies go to the one that takes over."""
    quick: bool = False
    """Whether they go at once, before anybody has decided that it does."""


def payload_of(number: int, size: int = 8) -> bytes:
    """The payload of a publication."""
    return number.to_bytes(8, "big").ljust(size, b".")


def number_of(payload: bytes) -> int:
    """Which publication a payload belongs to.

    >>> number_of(payload_of(77, 100))
    77
    """
    return int.from_bytes(payload[:8], "big")
