"""Who subscribes at a NATS server, as it tells its leaf nodes or its monitoring port.

A leaf node is told each subject when the first client wants it and when the last one no longer
does, and each queue group. That is all an agent needs; clients are not told apart, so the pattern
itself is the subscriber's name.
"""

from collections.abc import Callable, Sequence

from ropewalk.agent.brokers.contract import PREFIX
from ropewalk.federation.spelling import pattern_from_nats, to_nats
from ropewalk.federation.topics import common
from ropewalk.overlay.rules import matches

KNOWN = 65_536
OURS_AND_THEIRS = (f"{PREFIX}.", "$", "_INBOX.", "_R_.", "_GR_.")
"""Subjects of agents, of the server itself, and of requests that wait for their answer."""


def is_plain(subject: str) -> bool:
    """Whether a subject is one of people's."""
    return not subject.startswith(OURS_AND_THEIRS) and subject != PREFIX


Wants = set[tuple[str, str]]
"""Subjects and queue groups; the group is often empty."""


def read_line(line: bytes) -> tuple[bool, tuple[str, str]]:
    """Whether something is newly wanted, and what.

    >>> read_line(b"LS+ a.b q 2"), read_line(b"LS- a.>")
    ((True, ('a.b', 'q')), (False, ('a.>', '')))
    """
    parts = line.decode("utf-8", "replace").split(" ")
    return parts[0] == "LS+", (parts[1], parts[2] if len(parts) > 2 else "")


class Interest:
    """What clients of one server want, of the federation's topics."""

    def __init__(
        self,
        topics: Sequence[str],
        subscribed: Callable[[str, str], None],
        unsubscribed: Callable[[str, str], None],
    ) -> None:
        self._topics, self._subscribed, self._unsubscribed = topics, subscribed, unsubscribed
        self._wanted: dict[str, Wants] = {}
        """By pattern: the subjects that stand for it; none if its clients are about to return."""
        self._groups: dict[str, tuple[str, ...]] = {}
        self.changes = 0
        """Counts up with every change."""

    def line(self, line: bytes) -> None:
        """`LS+ SUBJECT [QUEUE WEIGHT]` or `LS- SUBJECT [QUEUE]` of the leaf-node protocol."""
        adds, want = read_line(line)
        (self.add if adds else self.remove)(*want)

    def add(self, subject: str, queue: str = "") -> None:
        """Somebody wants a subject."""
        pattern = self._pattern(subject)
        if pattern is None:
            return
        some = self._wanted.setdefault(pattern, set())
        new = not some
        some.add((subject, queue))
        self._changed()
        if new:
            self._subscribed(pattern, pattern)

    def remove(self, subject: str, queue: str = "") -> None:
        """Nobody wants it any more."""
        pattern = self._pattern(subject)
        some = self._wanted.get(pattern or "")
        if pattern is None or not some:
            return
        some.discard((subject, queue))
        self._changed()
        if not some:
            del self._wanted[pattern]
            self._unsubscribed(pattern, pattern)

    def replace(self, now: Wants) -> None:
        """All that is wanted now, as one look at the server showed it."""
        before = {one for some in self._wanted.values() for one in some}
        for subject, queue in sorted(now - before):
            self.add(subject, queue)
        for subject, queue in sorted(before - now):
            self.remove(subject, queue)

    def begin(self, now: Wants) -> frozenset[str]:
        """What is wanted after the server came back; returns what was wanted and is not yet again.

        Those patterns are kept until `give_up`: their clients may take a moment to come back.
        """
        patterns = {self._pattern(subject) for subject, _ in now}
        for some in self._wanted.values():
            some.clear()
        missing = frozenset(self._wanted.keys() - patterns)
        self.replace(now)
        return missing

    def give_up(self) -> None:
        """Who has not come back by now no longer wants anything."""
        for pattern in sorted(one for one, some in self._wanted.items() if not some):
            del self._wanted[pattern]
            self._unsubscribed(pattern, pattern)

    def groups(self, topic: str) -> tuple[str, ...]:
        """Queue groups that want a topic: a leaf node names those that shall get a message."""
        found = self._groups.get(topic)
        if found is None:
            if len(self._groups) >= KNOWN:
                self._groups.clear()
            wanted = (some for one, some in self._wanted.items() if matches(one, topic))
            names = {queue for some in wanted for _, queue in some if queue}
            found = self._groups[topic] = tuple(sorted(names))
        return found

    def _changed(self) -> None:
        self._groups.clear()
        self.changes += 1

    def _pattern(self, subject: str) -> str | None:
        pattern = pattern_from_nats(subject) if is_plain(subject) else None
        if pattern is None or all(common(pattern, topic) is None for topic in self._topics):
            return None
        return pattern


def subject_of(*levels: str) -> str:
    """A subject of the agents' own."""
    return ".".join([PREFIX, *(to_nats(one) for one in levels)])
