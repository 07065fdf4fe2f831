"""Publications that could not be taken and whose publishers nobody can tell: they wait in lines.

A line for each topic, so that what is refused for one destination holds up no other topic. Only the
head of each line is tried again: to try all of them, again and again, would take the time that is
needed to get rid of what custody is full of.
"""

from collections import deque

from ropewalk.agent.brokers.contract import Incoming

HEAD = 32
"""Of each line, so many are tried at once."""
MANY = 8_192
"""More than so many in all: then nothing more is taken from clients."""


class Lines:
    """Messages by topic, each in the order in which they were published.

    >>> lines = Lines()
    >>> for topic, payload in (("a", b"1"), ("b", b"2"), ("a", b"3")):
    ...     lines.add(Incoming(None, topic, payload))
    >>> "a" in lines, len(lines), [one.payload for one in lines.heads(1)]
    (True, 3, [b'1', b'2'])
    >>> lines.put_back([Incoming(None, "a", b"1")])
    >>> [one.payload for one in lines.heads()], len(lines)
    ([b'1', b'3'], 0)
    """

    def __init__(self) -> None:
        self._lines: dict[str, deque[Incoming]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, topic: str) -> bool:
        return topic in self._lines

    @property
    def full(self) -> bool:
        """Whether so many wait that no more should come."""
        return self._count > MANY

    def add(self, message: Incoming) -> None:
        """At the end of its line."""
        self._lines.setdefault(message.topic, deque()).append(message)
        self._count += 1

    def heads(self, most: int = HEAD) -> list[Incoming]:
        """Take the first ones out of every line."""
        found: list[Incoming] = []
        for topic, line in list(self._lines.items()):
            found += [line.popleft() for _ in range(min(most, len(line)))]
            if not line:
                del self._lines[topic]
        self._count -= len(found)
        return found

    def put_back(self, messages: list[Incoming]) -> None:
        """Before all others of their lines, in the same order."""
        for one in reversed(messages):
            self._lines.setdefault(one.topic, deque()).appendleft(one)
            self._count += 1
