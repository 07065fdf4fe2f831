"""Who helps the edge: it seals words, keeps the log and writes down what happened."""

from collections.abc import Sequence
from typing import Any, Protocol

from ropewalk.agent.seal import Opened
from ropewalk.overlay.events import Deliver
from ropewalk.overlay.words import Letter, Run


class Sealer(Protocol):
    """Seals words to neighbours and opens theirs; see `seal`."""

    def seal(self, link: int, to: str, word: bytes) -> bytes:
        """A word that only its receiver takes, and once."""

    def open(self, data: bytes) -> Opened | None:
        """The word inside; None if it is forged, replayed or for somebody else."""


class Log(Protocol):
    """The custody log; see `custody_log`."""

    @property
    def wants_compaction(self) -> bool:
        """Whether it has grown too long."""

    def append(self, records: Sequence[Any]) -> None:
        """Write records; `safe` is told how many are safe."""

    def compact(self, records: Sequence[Any]) -> None:
        """Replace everything by records that stand for it."""


class Witness(Protocol):
    """Who writes down what happened; see `tracing`."""

    def flush(self) -> None:
        """What was seen is safe from a crash of this process."""

    def accepted(self, letters: Sequence[Letter], *, again: bool = False) -> None:
        """Publications that are in custody; `again`, at a start, those of the life before."""

    def accepted_run(self, run: Run) -> None:
        """The same of a run of them."""

    def delivered(self, deliveries: Sequence[Deliver]) -> None:
        """Messages that the broker has for its clients."""

    def subscribed(self, subscriber: str, pattern: str, *, stood: bool = False) -> None:
        """A client subscribes; `stood`: it did elsewhere, and what came since is kept here."""

    def confirmed(self, subscriber: str, pattern: str) -> None:
        """Every origin that can be reached knows of it."""

    def unsubscribed(self, subscriber: str, pattern: str) -> None:
        """It no longer does."""
