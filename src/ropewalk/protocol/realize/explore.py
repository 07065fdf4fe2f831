"""What roles can do that follow a protocol by what they see of it, without any messenger.

Every run is explored, each channel holding so many messages at most. For two roles without
deadlines one message is enough to find every illegal trace: Finkel & Lozes (ICALP 2017) show that
for rings of peers, of which two are one. For more roles it is not, and what was not found may
still exist; unless no channel was ever full: then everything was seen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from ropewalk.protocol.automaton import NOBODY, Automaton
from ropewalk.protocol.realize.runs import HEARS, SAYS, Move, Run
from ropewalk.protocol.views import View, Views

Medium = Literal["fifo", "unordered"]
ILLEGAL = "the last is not allowed"
MOST = 200_000
"""Situations that are explored."""

Channel = tuple[int, ...]
T = TypeVar("T")


class Situation(NamedTuple):
    """Where everybody is: what each role believes, what is on its way, where the protocol is."""

    views: tuple[View, ...]
    channels: tuple[Channel, ...]
    """From each role to each other one, by `number of the first * roles + number of the second`."""
    state: int


@dataclass(frozen=True)
class Explored:
    """What was found, and whether it was all."""

    automaton: Automaton
    illegal: Run | None
    """The shortest run whose trace the protocol does not have."""
    stuck: Run | None
    """The shortest run after which nobody can do anything, and they have not ended well."""
    lost: Run | None
    """The shortest run from which, in what was seen, no good end can be reached any more."""
    complete: bool
    """Whether no channel was ever full and no limit was met."""
    situations: int
    given_up: bool = False
    """Whether there were too many situations to look at them all."""


class Explorer:
    """Explores one protocol over one kind of channel."""

    def __init__(self, automaton: Automaton, medium: Medium, bound: int) -> None:
        self._automaton, self._medium, self._bound = automaton, medium, bound
        self._roles = len(automaton.roles)
        self._views = [Views(automaton, role) for role in range(self._roles)]
        self._said = [automaton.said_by(role) for role in range(self._roles)]
        self._full = False
        """Whether a channel ever was."""
        self._held_back = False
        """Whether somebody would speak here if his channel were longer."""

    def explore(self, most: int = MOST) -> Explored:
        """All situations, breadth first."""
        start = Situation(
            tuple(one.start for one in self._views),
            ((),) * (self._roles * self._roles),
            self._automaton.initial,
        )
        came: dict[Situation, tuple[Situation, Move] | None] = {start: None}
        before: dict[Situation, list[Situation]] = {start: []}
        order, ends = [start], list[Situation]()
        illegal: Run | None = None
        stuck: Run | None = None
        for here in order:
            moved = self._held_back = False
            for move, to in self._moves(here):
                moved = True
                if to.state < 0:
                    illegal = illegal or self._run(came, here, ILLEGAL, move, to.views)
                    continue
                if to not in came:
                    came[to] = (here, move)
                    before[to] = []
                    order.append(to)
                before[to].append(here)
            if self._ends_well(here):
                ends.append(here)
            elif not (moved or self._held_back or stuck) and self._may_end(here):
                stuck = self._run(came, here, self._why_stuck(here))
            if len(order) > most:
                return Explored(self._automaton, illegal, stuck, None, False, len(order), True)
        lost = None if stuck else self._lost(came, before, order, ends)
        return Explored(self._automaton, illegal, stuck, lost, not self._full, len(order))

    # --- moves ------------------------------------------------------------------------------

    def _moves(self, here: Situation) -> Iterator[tuple[Move, Situation]]:
        for role, view in enumerate(here.views):
            for letter in self._said[role]:
                to = self._views[role].step(view, letter)
                if to is not None:
                    yield from self._says(here, role, letter, to)
        for at, channel in enumerate(here.channels):
            if channel:
                yield from self._hears(here, at, channel)

    def _says(
        self, here: Situation, role: int, letter: int, view: View
    ) -> Iterator[tuple[Move, Situation]]:
        receiver, channels = self._automaton.letters[letter].receiver, here.channels
        if receiver != NOBODY:
            at = role * self._roles + receiver
            if len(channels[at]) >= self._bound:
                self._full = self._held_back = True
                return
            line = (*channels[at], letter)
            line = line if self._medium == "fifo" else tuple(sorted(line))
            channels = _with(channels, at, line)
        state = self._automaton.rows[here.state][letter]
        yield Move(SAYS, role, letter), Situation(_with(here.views, role, view), channels, state)

    def _hears(
        self, here: Situation, at: int, channel: Channel
    ) -> Iterator[tuple[Move, Situation]]:
        role = at % self._roles
        places = [0] if self._medium == "fifo" else _first_of_each(channel)
        for place in places:
            letter = channel[place]
            view = self._views[role].step(here.views[role], letter)
            if view is not None:
                rest = (*channel[:place], *channel[place + 1 :])
                views = _with(here.views, role, view)
                to = Situation(views, _with(here.channels, at, rest), here.state)
                yield Move(HEARS, role, letter), to

    # --- ends -------------------------------------------------------------------------------

    def _ends_well(self, here: Situation) -> bool:
        return (
            here.state in self._automaton.accepting
            and not any(here.channels)
            and all(here.state in view for view in here.views)
        )

    def _may_end(self, here: Situation) -> bool:
        """Whether the protocol itself still has an end from here."""
        return here.state not in self._automaton.hopeless

    def _why_stuck(self, here: Situation) -> str:
        names, roles = self._automaton.states, self._automaton.roles
        for at, channel in enumerate(here.channels):
            if channel:
                letter = self._automaton.letters[channel[0]].name
                return f"{roles[at % self._roles]} cannot take {letter}"
        believes = [
            f"{role} in {' or '.join(names[state] for state in sorted(view))}"
            for role, view in zip(roles, here.views, strict=True)
        ]
        return f"nobody goes on: {', '.join(believes)}"

    def _lost(
        self,
        came: dict[Situation, tuple[Situation, Move] | None],
        before: dict[Situation, list[Situation]],
        order: list[Situation],
        ends: list[Situation],
    ) -> Run | None:
        good, edge = set(ends), list(ends)
        while edge:
            for one in before[edge.pop()]:
                if one not in good:
                    good.add(one)
                    edge.append(one)
        for here in order:
            if here not in good and self._may_end(here):
                return self._run(came, here, "no good end can be reached from here")
        return None

    def _run(
        self,
        came: dict[Situation, tuple[Situation, Move] | None],
        end: Situation,
        why: str,
        last: Move | None = None,
        views: tuple[View, ...] = (),
    ) -> Run:
        moves, at = [last] if last else [], came[end]
        while at is not None:
            moves.append(at[1])
            at = came[at[0]]
        return Run(self._automaton, tuple(moves[::-1]), views or end.views, why)


def explore(
    automaton: Automaton, medium: Medium = "fifo", *, bound: int = 1, most: int = MOST
) -> Explored:
    """All that roles can do over channels that hold so many messages."""
    return Explorer(automaton, medium, bound).explore(most)


def _with(some: tuple[T, ...], at: int, one: T) -> tuple[T, ...]:
    return (*some[:at], one, *some[at + 1 :])


def _first_of_each(channel: Sequence[int]) -> list[int]:
    return [i for i, letter in enumerate(channel) if letter not in channel[:i]]
