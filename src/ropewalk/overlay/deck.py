"""What the parts of one agent share: who it is, what time it is, and what it wants done."""

from typing import Any

from ropewalk.overlay.chart import Chart
from ropewalk.overlay.events import Action, Send, Tell, Write
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.words import Word


class Deck:
    """One agent's common ground."""

    __slots__ = ("chart", "incarnation", "me", "now_us", "out", "settings", "written")

    def __init__(self, me: int, chart: Chart, settings: Settings, incarnation: int) -> None:
        self.me, self.chart, self.settings, self.incarnation = me, chart, settings, incarnation
        self.now_us = 0
        self.out: list[Action] = []
        self.written = 0
        """Records written since the start."""

    def send(self, link: int, word: Word) -> None:
        """Say a word over a link."""
        self.out.append(Send(link, word))

    def write(self, record: Any) -> int:
        """Append a record to the log; returns the count that `Logged` has to reach for it."""
        self.out.append(Write(record))
        self.written += 1
        return self.written

    def tell(self, what: str, *about: Any) -> None:
        """Something that a person or a trace may want to know."""
        self.out.append(Tell(what, about))

    def name(self, broker: int) -> str:
        """A broker as people write it."""
        names = self.chart.names
        return names[broker] if broker < len(names) else f"broker {broker} of a later chart"
