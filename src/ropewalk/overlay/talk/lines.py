"""Publications that wait for what the other side of their conversation has to say first."""

from collections import deque
from collections.abc import Iterator

from ropewalk.overlay.events import Published
from ropewalk.overlay.parts import NEVER

PATIENCE_US = 5_000_000
"""How long one waits."""
MOST = 1_024
"""How many may wait, in all conversations."""

Key = tuple[str, str]
"""A protocol and a conversation."""


class Lines:
    """A line for each conversation."""

    def __init__(self) -> None:
        self._lines: dict[Key, deque[tuple[int, Published]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: Key) -> bool:
        return key in self._lines

    @property
    def full(self) -> bool:
        """Whether no more may wait."""
        return self._count >= MOST

    def add(self, key: Key, event: Published, now_us: int) -> None:
        """At the end of its line."""
        self._lines.setdefault(key, deque()).append((now_us + PATIENCE_US, event))
        self._count += 1

    def head(self, key: Key) -> Published | None:
        """Whose turn it is in a conversation."""
        return self._lines[key][0][1] if key in self._lines else None

    def pop(self, key: Key) -> Published:
        """Take the head out."""
        line = self._lines[key]
        self._count -= 1
        _, event = line.popleft()
        if not line:
            del self._lines[key]
        return event

    def expired(self, now_us: int) -> Iterator[tuple[Key, Published]]:
        """Take out what has waited for too long."""
        for key in [key for key, line in self._lines.items() if line[0][0] <= now_us]:
            while key in self._lines and self._lines[key][0][0] <= now_us:
                yield key, self.pop(key)

    @property
    def wake_us(self) -> int:
        """When the first of them has waited for too long."""
        return min((line[0][0] for line in self._lines.values()), default=NEVER)
