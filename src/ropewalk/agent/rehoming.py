"""A new plan is carried out: items go to their new homes, with their clients, one after the other.

Nothing moves before the council has decided the plan's policies: then a majority has the same plan.
Every agent has the whole list of moves and begins those of its own items. It waits for each earlier
move of others, which it sees by what their brokers still want, so that the order of the plan is
kept: no broker is ever worse off than it has to be. What does not go is told, and passed over after
`PATIENCE_S`. A move is made once: what comes back later by itself, or is shed, is left alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ropewalk.overlay.events import MoveItem
from ropewalk.overlay.managing import Managing

AGAIN_S = 1.0
"""Between two tries: the other broker may be in another session."""
PATIENCE_S = 20.0
"""So long a move is waited for, or tried."""

State = Literal["waiting", "moving", "done", "passed over"]


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """One move of a plan."""

    item: str
    source: str
    target: str


class Rehoming:
    """The moves of one plan, as one agent sees them; `look` a few times a second."""

    def __init__(
        self,
        managing: Managing,
        me: str,
        *,
        hand: Callable[[MoveItem], None],
        tell: Callable[[str, tuple[Any, ...]], None],
    ) -> None:
        self._managing, self._me, self._hand, self._tell = managing, me, hand, tell
        self._moves: tuple[PlannedMove, ...] = ()
        self.version = ""
        """Of the policies that go with these moves."""
        self._at = 0
        """The first move that is not over."""
        self._since_s: float | None = None
        self._again_s = 0.0
        self.states: list[State] = []

    def plan(self, version: str, moves: Sequence[PlannedMove]) -> None:
        """Carry these out, as soon as the council has decided on this version of the policies."""
        if version == self.version:
            return
        self.version, self._moves, self._at = version, tuple(moves), 0
        self._since_s, self.states = None, ["waiting" for _ in moves]

    @property
    def busy(self) -> bool:
        """Whether there are moves that are not over."""
        return self._at < len(self._moves)

    def look(self, now_s: float) -> None:
        """Go on as far as possible."""
        base = self._managing.mirrors.base
        if base is None or base.version != self.version:
            return
        while self._at < len(self._moves) and self._over(self._moves[self._at], now_s):
            self._at, self._since_s, self._again_s = self._at + 1, None, 0.0

    def _over(self, move: PlannedMove, now_s: float) -> bool:
        """Whether the next move can be looked at."""
        if self._since_s is None:
            self._since_s = now_s
        if not self._there(move):
            self.states[self._at] = "done"
            return True
        if now_s - self._since_s > PATIENCE_S:
            self.states[self._at] = "passed over"
            self._tell("does not move", (move.item, "from", move.source, "to", move.target))
            return True
        if move.source == self._me and now_s >= self._again_s:
            self._begin(move, now_s)
        return False

    def _begin(self, move: PlannedMove, now_s: float) -> None:
        self._again_s = now_s + AGAIN_S
        if self._managing.moving.state.session is None:
            if self.states[self._at] == "waiting":
                self._tell("moves by the plan", (move.item, "to", move.target))
            self.states[self._at] = "moving"
            self._hand(MoveItem(move.item, self._managing.moving.names.numbers[move.target], ()))

    def _there(self, move: PlannedMove) -> bool:
        """Whether an item still has clients at its old home, or a session there is not over."""
        carrying, names = self._managing.carrying, self._managing.moving.names
        if move.item not in carrying.items or {move.source, move.target} - names.numbers.keys():
            return False  # not of this federation
        if move.source != self._me:
            return names.numbers[move.source] in carrying.wanted_by(move.item)
        one = self._managing.moving.state.session
        on = one is not None and one.item == move.item
        return on or bool(carrying.clients_of(move.item))

    def status(self) -> list[dict[str, str]]:
        """For people who ask."""
        rows = zip(self._moves, self.states, strict=True)
        return [
            {"item": one.item, "from": one.source, "to": one.target, "state": state}
            for one, state in rows
        ]
