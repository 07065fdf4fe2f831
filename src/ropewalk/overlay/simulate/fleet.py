"""Large fleets: the same agents, on links whose beats are only simulated where something is wrong.

On a link that nothing has touched all beats are alike: each comes when it is due and changes
nothing. So the fleet vouches for such a link, and the two agents send no beats and hear no silence
on it. When a fault touches the link, the time of the last beat that would have come is reckoned
from each end's rhythm, and from there on everything happens as it would have.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import cast

from ropewalk.overlay.agent import Agent, Setup
from ropewalk.overlay.chart import Chart
from ropewalk.overlay.events import Deliver, Due, Event, Send, Write
from ropewalk.overlay.events import Logged as LoggedEvent
from ropewalk.overlay.interface import Interface, State
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.rules import Rules
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.words import Beat, BeatAck, Flood, FloodAck, Frame, Test, TestAck, Word

DUE = Due()
KINDS: dict[type, str] = {
    Beat: "beats",
    BeatAck: "beats",
    Flood: "floods",
    FloodAck: "flood acks",
    Test: "tests",
    TestAck: "tests",
    Frame: "frames",
}


@dataclass(slots=True)
class Tally:
    """What has been said so far."""

    events: int = 0
    words: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS.values(), 0))
    delivered: int = 0
    things_us: int = 0
    """When an agent last changed its colour."""
    first_us: int | None = None
    """When one did first, since this was set to None."""


class Fleet:
    """Agents of one chart, links with fixed delays, and faults."""

    def __init__(
        self,
        chart: Chart,
        rules: Rules,
        delay_us: Iterable[int],
        *,
        settings: Settings | None = None,
        seed: int = 0,
        setup: Callable[[int], Setup] | None = None,
        lazy: bool = True,
    ) -> None:
        """`lazy`: beats of links that nothing has touched are not simulated."""
        self.chart, self.settings = chart, settings or Settings()
        self.now_us = 0
        self.tally = Tally()
        self._delay_us = list(delay_us)
        self._heap: list[tuple[int, int, int, int, Event | Word]] = []
        """When, a running number, the broker, the link of a word or -1, and what happens."""
        self._count = 0
        self._cut: set[int] = set()
        draw = Random(seed)  # noqa: S311  (nothing here is secret)
        beat_us = self.settings.beat_us
        self._phase = [(draw.randrange(beat_us), draw.randrange(beat_us)) for _ in self._delay_us]
        make = setup or (lambda b: Setup(me=b, chart=chart, rules=rules, settings=self.settings))
        self.agents = [Agent(make(b)) for b in range(len(chart.names))]
        self._written = [0] * len(self.agents)
        self._due_us = [NEVER] * len(self.agents)
        self._colour = [(agent.gazette.down, agent.gazette.dead) for agent in self.agents]
        self._dead: set[int] = set()
        for agent in self.agents:
            self._act(agent, agent.start(0, settled=True))
            for face in agent.liveness.faces.values():
                face.vouched = True
            agent.liveness.reckon_wake()
            self._wake(agent)
        for link in () if lazy else self.chart.own_link:
            self._touch(link)

    # --- time -------------------------------------------------------------------------------

    def hand(self, broker: int, event: Event, *, at_us: int | None = None) -> None:
        """Let something happen to an agent."""
        self._count += 1
        time_us = self.now_us if at_us is None else at_us
        heappush(self._heap, (time_us, self._count, broker, -1, event))

    def run(self, until_us: int) -> None:
        """Let everything happen up to a time."""
        heap, agents, dead, due_us, events = self._heap, self.agents, self._dead, self._due_us, 0
        while heap and heap[0][0] <= until_us:
            time_us, _, broker, link, what = heappop(heap)
            if broker in dead:
                continue
            agent = agents[broker]
            if link >= 0:
                actions = agent.receive(link, cast("Word", what), time_us)
            else:
                if what is DUE:
                    if due_us[broker] != time_us:
                        continue
                    due_us[broker] = NEVER
                actions = agent.handle(cast("Event", what), time_us)
            events += 1
            self.now_us = time_us
            if actions:
                self._act(agent, actions)
            if agent.wake_us < due_us[broker]:
                self._wake(agent)
        self.tally.events += events
        self.now_us = until_us

    def _act(self, agent: Agent, actions: Iterable[object]) -> None:
        heap, now_us, delay_us, cut = self._heap, self.now_us, self._delay_us, self._cut
        words, me, ends, wrote = self.tally.words, agent.deck.me, self.chart.link_ends, False
        for action in actions:
            if type(action) is Send:
                link, word = action.link, action.word
                words[KINDS[type(word)]] += 1
                if link not in cut:
                    self._count += 1
                    a, b = ends[link]
                    to, at_us = b if a == me else a, now_us + delay_us[link]
                    heappush(heap, (at_us, self._count, to, link, word))
            elif type(action) is Deliver:
                self.tally.delivered += len(action.subscribers)
            elif type(action) is Write:
                self._written[me] += 1
                wrote = True
        colour = agent.gazette.down, agent.gazette.dead
        if self._colour[me] != colour:
            self._colour[me] = colour
            self.tally.things_us = now_us
            if self.tally.first_us is None:
                self.tally.first_us = now_us
        if wrote:
            self.hand(me, LoggedEvent(self._written[me]))

    def _wake(self, agent: Agent) -> None:
        wake_us, me = agent.wake_us, agent.deck.me
        if wake_us < self._due_us[me]:
            self._due_us[me] = wake_us
            self._count += 1
            heappush(self._heap, (max(wake_us, self.now_us), self._count, me, -1, DUE))

    # --- faults -----------------------------------------------------------------------------

    def cut(self, link: int) -> None:
        """From now on nothing crosses a link, and nobody is told."""
        self._touch(link)
        self._cut.add(link)

    def mend(self, link: int) -> None:
        """A link works again."""
        self._cut.discard(link)

    def kill(self, broker: int) -> None:
        """A broker and its agent are gone, silently."""
        for link in self.chart.ports(broker):
            self.cut(link)
        self._dead.add(broker)

    def _touch(self, link: int) -> None:
        """Beats of a link begin to matter: what was heard last is reckoned."""
        for which, end in enumerate(self.chart.link_ends[link]):
            face = self.agents[end].liveness.faces[link]
            if face.vouched:
                face.vouched = False
                self._rhythm(face, self._phase[link][which], self._phase[link][1 - which], link)
                self.agents[end].liveness.reckon_wake()
                self.agents[end].wake_us = min(
                    self.agents[end].wake_us, self.agents[end].liveness.wake_us
                )
                self._wake(self.agents[end])

    def _rhythm(self, face: Interface, mine_us: int, theirs_us: int, link: int) -> None:
        beat_us = self.settings.beat_us
        face.next_beat_us = self.now_us + (mine_us - self.now_us) % beat_us
        heard_us = self.now_us - (self.now_us - theirs_us - self._delay_us[link]) % beat_us
        face.heard_us = heard_us
        face.beats = self.now_us // beat_us
        face.peer_beat, face.peer_incarnation = face.beats, 1

    def vouch(self) -> int:
        """Links that work and have settled need no beats again; returns how many were touched."""
        left = 0
        for link, ends in enumerate(self.chart.link_ends):
            faces = [self.agents[end].liveness.faces.get(link) for end in ends]
            if any(face is None or face.vouched for face in faces):
                continue
            if all(face and face.state is State.NORMAL and not face.suspect for face in faces):
                for face in faces:
                    if face is not None:
                        face.vouched = True
            else:
                left += 1
        return left

    # --- what has come of it ----------------------------------------------------------------

    def colours(self) -> dict[tuple[int, ...], int]:
        """What agents that live hold for down, and how many of them do."""
        found: dict[tuple[int, ...], int] = {}
        for b, agent in enumerate(self.agents):
            if b not in self._dead:
                found[agent.things] = found.get(agent.things, 0) + 1
        return found
