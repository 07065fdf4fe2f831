"""Publications that wait for what others have to say first in their conversation."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from ropewalk.overlay.events import Published
from ropewalk.overlay.parts import NEVER

PATIENCE_US = 5_000_000
"""How long one waits."""
MOST = 1_024
"""How many may wait, in all conversations."""

Side = tuple[str, str, int]
"""A protocol, a conversation and a role."""


class Waiting(NamedTuple):
    """A publication, and until when it waits."""

    until_us: int
    event: Published


class Lines:
    """A line for each role of each conversation."""

    def __init__(self) -> None:
        self._lines: dict[Side, deque[Waiting]] = {}
        self._times: deque[int] = deque()
        """When those that have come so far will have waited for too long, in order."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, side: Side) -> bool:
        return side in self._lines

    @property
    def full(self) -> bool:
        """Whether no more may wait."""
        return self._count >= MOST

    def add(self, side: Side, event: Published, now_us: int) -> None:
        """At the end of its line."""
        self._lines.setdefault(side, deque()).append(Waiting(now_us + PATIENCE_US, event))
        self._times.append(now_us + PATIENCE_US)
        self._count += 1

    def head(self, side: Side) -> Published | None:
        """Whose turn it is."""
        return self._lines[side][0].event if side in self._lines else None

    def pop(self, side: Side) -> Waiting:
        """Take the head out."""
        line = self._lines[side]
        self._count -= 1
        first = line.popleft()
        if not line:
            del self._lines[side]
        return first

    def put_back(self, side: Side, first: Waiting) -> None:
        """It is not its turn yet."""
        self._lines.setdefault(side, deque()).appendleft(first)
        self._count += 1

    def expired(self, now_us: int) -> Iterator[tuple[Side, Published]]:
        """Take out what has waited for too long."""
        while self._times and self._times[0] <= now_us:
            self._times.popleft()
        for side in [side for side, line in self._lines.items() if line[0].until_us <= now_us]:
            while side in self._lines and self._lines[side][0].until_us <= now_us:
                yield side, self.pop(side).event

    @property
    def wake_us(self) -> int:
        """When the first of them will have, if it still waits."""
        return self._times[0] if self._times else NEVER
