"""An agent's place taken by a test: it writes down what an adapter says, and can wait for it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from ropewalk.agent.brokers.contract import Incoming, Local, Outgoing
from ropewalk.overlay.events import Burst


class Board:
    """Wakes whoever waits for a condition each time that something has happened."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def poke(self) -> None:
        self._event.set()

    async def until(self, condition: Callable[[], Any], within_s: float = 15) -> None:
        async with asyncio.timeout(within_s):
            while not condition():
                self._event.clear()
                await self._event.wait()


class Recorder:
    """Ears and hears in one."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.local: Local | None = None
        self.accepts = True
        self.taken: list[Incoming] = []
        self.words: list[bytes] = []
        self.interests: list[tuple[str, str]] = []
        self.confirmed = 0
        self.story: list[str] = []
        """`up`, `down`, `opened` and `closed`, in order."""
        self.whys: list[str] = []

    def payloads(self) -> list[bytes]:
        return [one.payload for one in self.taken]

    def burst(self, some: Burst) -> None:
        self.published(some.each())

    def published(self, messages: Sequence[Incoming]) -> None:
        self.taken += messages
        if self.accepts and self.local is not None:
            self.local.accept([one.ticket for one in messages])
        self.board.poke()

    def heard(self, words: Sequence[bytes]) -> None:
        self.words += words
        self.board.poke()

    def subscribed(self, subscriber: str, pattern: str) -> None:
        self.interests.append((subscriber, pattern))
        self.board.poke()

    def unsubscribed(self, subscriber: str, pattern: str) -> None:
        self.interests.remove((subscriber, pattern))
        self.board.poke()

    def missing(self, patterns: frozenset[str]) -> None:
        self.story.append("missing")
        self.board.poke()

    def delivered(self, count: int) -> None:
        assert count > self.confirmed
        self.confirmed = count
        self.board.poke()

    def _tell(self, what: str, why: str = "") -> None:
        self.story.append(what)
        if why:
            self.whys.append(why)
        self.board.poke()

    def up(self) -> None:
        self.confirmed = 0
        self._tell("up")

    def down(self, why: str) -> None:
        self._tell("down", why)

    def opened(self, neighbour: str) -> None:
        self._tell("opened")

    def closed(self, neighbour: str, why: str) -> None:
        self._tell("closed", why)


class Deliverer(Recorder):
    """Hands messages over, and again after each `up` what was not confirmed before."""

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._open: list[Outgoing] = []

    @property
    def left(self) -> int:
        return len(self._open) - self.confirmed

    def give(self, messages: Sequence[Outgoing]) -> None:
        self._open += messages
        if self.local is not None and self.story[-1:] == ["up"]:
            self.local.deliver(messages)

    def up(self) -> None:
        self._open = self._open[self.confirmed :]
        super().up()
        if self.local is not None:
            self.local.deliver(self._open)
