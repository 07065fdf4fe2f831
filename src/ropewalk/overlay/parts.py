"""The contract of an agent's parts that talk to their like in other agents.

A part is given an `Office` and gets what concerns it: notes, the time it asked for, and word that
other agents have become reachable or unreachable. Notes may be lost, doubled and late; records are
given back in order after a restart.
"""

from collections.abc import Iterable
from typing import Any, Protocol

NEVER = 1 << 62
"""No time."""


class Office(Protocol):
    """What a part may use of its agent."""

    @property
    def me(self) -> int:
        """This broker."""

    @property
    def incarnation(self) -> int:
        """Of its agent."""

    def reachable(self) -> frozenset[int]:
        """Brokers that can be reached now, this one included."""

    def note(self, to: int, body: Any) -> None:
        """Send something small to another agent; it may not arrive."""

    def write(self, record: Any) -> None:
        """Append to the log: it is there again after a restart with the disk intact."""

    def tell(self, what: str, *about: Any) -> None:
        """Say something that a person or a trace may want to know."""


class Part(Protocol):
    """One part of an agent."""

    @property
    def wake_us(self) -> int:
        """When it wants `due`; NEVER for not at all."""

    def heard(self, now_us: int, sender: int, body: Any) -> bool:
        """A note; False if it is not for this part."""

    def due(self, now_us: int) -> None:
        """The time has come."""

    def changed(self, now_us: int) -> None:
        """`reachable` has changed."""

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """Once, at the start: what was written before; each part picks out its own."""

    def records(self) -> Iterable[Any]:
        """What has to be in the log for this part, should it be written anew."""
