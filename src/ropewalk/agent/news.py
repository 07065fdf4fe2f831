"""What an agent tells people: its core's words with names, and nothing over and over."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ropewalk.federation.facts import Federation

QUIET = frozenset({"no road", "hop limit"})
"""Told by letters: counted, not said."""
AGAIN_S = 10.0
"""The same words are said again after this time at the earliest."""
KEPT = 100


class News:
    """Says what happens, and keeps the last of it."""

    def __init__(self, broker: str, federation: Federation, say: Callable[[str], None]) -> None:
        self._broker, self._say = broker, say
        ends = federation.graph.ends.tolist()
        names = federation.graph.names
        self._links = [f"{names[a]}--{names[b]}" for a, b in ends]
        self._said: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        self.last: list[tuple[float, str]] = []

    def tell(self, what: str, about: Sequence[Any]) -> None:
        """A word of the core or of the edge."""
        self.counts[what] += 1
        if what in QUIET:
            return
        if what.startswith("link ") and about and isinstance(about[0], int):
            about = (self._link(about[0]), *about[1:])
        self.say(" ".join([what, *map(str, about)]))

    def say(self, text: str) -> None:
        """Something for people, unless it was said a moment ago."""
        now = time.time()
        if now - self._said.get(text, 0.0) < AGAIN_S:
            return
        if len(self._said) > KEPT:
            self._said.clear()
        self._said[text] = now
        self.last = [*self.last[1 - KEPT :], (now, text)]
        self._say(f"{self._broker}: {text}")

    def _link(self, number: int) -> str:
        return self._links[number] if number < len(self._links) else f"link {number}"
