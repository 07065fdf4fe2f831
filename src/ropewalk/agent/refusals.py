"""Publications that the core does not take: their publishers are told, or they are tried again.

Where nobody can be told, a message waits here in line and is tried again; one that will never be
taken is given up, so that its broker need not keep it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ropewalk.agent.brokers.contract import Incoming, Local
from ropewalk.agent.waiting import Lines
from ropewalk.overlay.events import Refused

AGAIN_S = 0.005
"""Until what could not be taken is tried again."""


class Refusals:
    """What becomes of publications that are refused."""

    def __init__(
        self,
        counts: dict[str, int],
        *,
        tell: Callable[[str, tuple[Any, ...]], None],
        later: Callable[[float, Callable[[], None]], object],
        again: Callable[[Sequence[Incoming]], None],
    ) -> None:
        self._counts, self._tell, self._later, self._again = counts, tell, later, again
        self.local: Local | None = None
        self.lines = Lines()
        """Those that wait."""
        self._back: list[Incoming] | None = None
        """Of those that are being tried again, what was refused; None at other times."""
        self._paused = False
        self.stopping = False

    def refused(self, action: Refused) -> None:
        """A publication was not taken."""
        self._counts["refused"] += 1
        local, message = self.local, action.event
        if local is None or local.refuse(action.ticket, action.reason):
            return
        if action.final:
            self._counts["dropped"] += 1
            self._tell("dropped", (message.topic, action.reason))
            local.accept([action.ticket])
        elif self._back is not None:
            self._back.append(message)
        else:
            if not self.lines:
                self._later(AGAIN_S, self._try_again)
            self.hold(message)

    def hold(self, message: Incoming) -> None:
        """Let a message wait; when there are too many, clients have to."""
        self.lines.add(message)
        if self.lines.full and not self._paused and self.local is not None:
            self._paused = True
            self.local.pause()

    def _try_again(self) -> None:
        """Hand the heads of all lines to the core; those behind them once these are taken."""
        heads, self._back = self.lines.heads(), []
        self._again(heads)
        back, self._back = self._back, None
        self.lines.put_back(back)
        if self.lines:
            self._later(AGAIN_S if back else 0, self._try_again)
        if self._paused and not self.lines.full and not self.stopping and self.local is not None:
            self._paused = False
            self.local.resume()
