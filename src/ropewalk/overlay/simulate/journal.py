"""What happened in a run, in order: plain tuples, so that two runs can be compared at once.

Each entry is (time, kind, where, facts ...); where is a broker's or link's number, -1 for neither:

    publish   broker  number             accept   broker  number letter-id
    refuse    broker  number reason      deliver  broker  subscriber number letter-id
    repeat    broker  subscriber number  (a second copy, dropped by the last hop)
    subscribe, unsubscribe               broker  subscriber pattern
    confirm                              broker  subscriber pattern {origins that know}
    fault, heal       -1  text           truth    -1  links-down brokers-away
    start     broker  incarnation        crash    broker  disk custody
    things    broker  things             tell     broker  what about
    carry     link    from numbers hops  (only if words are asked for)
    leak      link    from number topic  far      link  from number hops
    chart     -1  epoch                  (agents begin to get it)
    part, join        broker  client     (a client that moves)
    stray     broker  subscriber number  (given to a client that is elsewhere: lost)
"""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

Entry = tuple[Any, ...]


@dataclass(slots=True)
class Journal:
    """Everything that happened, and what was counted."""

    entries: list[Entry] = field(default_factory=list)
    peaks: dict[tuple[str, int], int] = field(default_factory=dict)
    """Most that was in a store (name, broker) whenever somebody looked."""
    custody: set[tuple[Any, int]] = field(default_factory=set)
    """What was still kept at the end, by agents alive or on disks."""
    events: int = 0
    frames: int = 0
    control: int = 0
    """Words that are not frames."""

    def of(self, *kinds: str) -> list[Entry]:
        """Entries of some kinds, in order."""
        wanted = frozenset(kinds)
        return [entry for entry in self.entries if entry[1] in wanted]

    def digest(self) -> str:
        """Tells whether two runs were the same."""
        told = [self.frames, self.control, self.events, sorted(self.peaks.items())]
        plain = [_plain(entry) for entry in self.entries]
        return blake2b(repr((told, plain)).encode(), digest_size=12).hexdigest()


def _plain(fact: Any) -> Any:
    """Sets have no order of their own."""
    if isinstance(fact, set | frozenset):
        return sorted(fact)
    return tuple(map(_plain, fact)) if isinstance(fact, tuple) else fact
