"""Populations: kinds of clients, their steps, topics, brokers, and what would be bad."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Semantics = Literal["local", "retained", "global"]
SEMANTICS: tuple[Semantics, ...] = ("local", "retained", "global")
ALONE = ""
"""The broker of a population that names none."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and what its broker does with what is published on it."""

    name: str
    semantics: Semantics = "local"
    retain: Literal["last", "all"] = "last"
    echo: bool = False
    """Whether who publishes is notified as well, if it is subscribed."""
    notification: Literal["atomic", "asynchronous"] = "atomic"

    @property
    def retained(self) -> bool:
        """Whether who subscribes later gets what was published before."""
        return self.semantics == "retained"

    @property
    def later(self) -> bool:
        """Whether notifications are under way for a while."""
        return self.notification == "asynchronous"

    @property
    def splits(self) -> bool:
        """Whether a publication divides subscribers at once: some get it, some not, some fail."""
        return self.semantics == "global" and not self.later


@dataclass(frozen=True, slots=True)
class Step:
    """What a client may do: it forgets first, then subscribes, unsubscribes or publishes."""

    source: str
    target: str
    subscribe: frozenset[str] = frozenset()
    unsubscribe: frozenset[str] = frozenset()
    publish: str = ""
    on: str = ""
    received: frozenset[str] = frozenset()
    """Only if it has received all of these."""
    not_received: frozenset[str] = frozenset()
    """Only if it has received none of these."""
    forget: frozenset[str] = frozenset()
    line: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """Clients that all do the same."""

    name: str
    start: str
    steps: tuple[Step, ...]
    states: tuple[str, ...]
    least: int = 0
    """As many there are at least."""
    open: bool = True
    """Whether there may be more."""
    subscribed: frozenset[str] = frozenset()
    at: tuple[str, ...] = (ALONE,)
    connection: Literal["stable", "breaks", "reconnects"] = "stable"
    session: Literal["kept", "clean", "queued"] = "kept"
    returns: str = ""
    """The state of a client that comes back; where it was, if none."""
    line: int = 0

    @property
    def breaks(self) -> bool:
        """Whether connections may be lost at any time."""
        return self.connection != "stable"


@dataclass(frozen=True, slots=True)
class Need:
    """Clients that a bad pattern needs: so many, each with all of this."""

    kinds: frozenset[str]
    states: frozenset[str] = frozenset()
    """In one of these; in any if there are none."""
    at_least: int = 1
    at: frozenset[str] = frozenset()
    """At one of these brokers; at any if there are none."""
    connected: bool | None = None
    subscribed: frozenset[str] = frozenset()
    not_subscribed: frozenset[str] = frozenset()
    received: frozenset[str] = frozenset()
    not_received: frozenset[str] = frozenset()
    missed: frozenset[str] = frozenset()
    """It was subscribed when these were published, and they do not reach it."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What must never be: different clients for all needs, at once."""

    name: str
    needs: tuple[Need, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    """Two brokers that pass on to each other what is published."""

    ends: tuple[str, str]
    topics: frozenset[str]


@dataclass(frozen=True, slots=True)
class Population:
    """Clients of some kinds, in any number, around brokers."""

    name: str
    topics: Mapping[str, Topic]
    messages: tuple[str, ...]
    kinds: Mapping[str, Kind]
    patterns: Mapping[str, Pattern]
    brokers: tuple[str, ...] = (ALONE,)
    links: tuple[Link, ...] = ()
    file: str = "population"

    def beside(self, broker: str, topic: str) -> list[str]:
        """The brokers to which one passes on what is published on a topic."""
        found = []
        for link in self.links:
            if broker in link.ends and topic in link.topics:
                one, other = link.ends
                found.append(other if broker == one else one)
        return found
