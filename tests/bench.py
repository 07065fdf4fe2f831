"""A workbench for agents: every word in sight, nothing goes wrong unless a test says so."""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

from ropewalk.federation import Federation
from ropewalk.federation.facts import Broker, Contract, Link, Topic
from ropewalk.overlay.agent import Agent, Setup
from ropewalk.overlay.chart import Chart, chart_of
from ropewalk.overlay.events import (
    Action,
    Deliver,
    Due,
    Event,
    Logged,
    Published,
    Received,
    Send,
    Subscribed,
    Tell,
    Write,
)
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.rules import rules_of
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.words import Word

MS = 1_000
DELAY_US = 2 * MS


def federation(
    links: str,
    contract: Contract | None = None,
    topics: dict[str, Topic] | None = None,
    **more: Any,
) -> Federation:
    """A federation by its links, such as "a-b b-c"; topic t under a contract."""
    pairs = [tuple(pair.split("-")) for pair in links.split()]
    names = sorted({name for pair in pairs for name in pair})
    topic = Topic(publishers=(names[0],), subscribers=(names[-1],), contract=contract or Contract())
    return Federation(
        name="bench",
        brokers={name: Broker() for name in names},
        links=tuple(Link(between=(a, b)) for a, b in pairs),
        topics=topics or {"t": topic},
        **more,
    )


class Bench:
    """Agents of a federation, links with one delay, and a log that is safe at once."""

    def __init__(self, of: Federation, *, settled: bool = True, **setup: Any) -> None:
        self.of, self.chart, self.setup = of, chart_of(of), setup
        self.now_us = 0
        self.agents: dict[int, Agent] = {}
        self.said: list[tuple[int, int, int, Word]] = []
        self.done: list[tuple[int, int, Action]] = []
        self.logs: dict[int, list[Any]] = {}
        self.pass_word: Callable[[int, int, Word], bool] = lambda _b, _link, _word: True
        """Whether a word that a broker says over a link arrives."""
        self._heap: list[tuple[int, int, int, Event, int]] = []
        self._count = 0
        self._life: dict[int, int] = {}
        self._written: dict[int, int] = {}
        self._due_us: dict[int, int] = {}
        self.number = {name: b for b, name in enumerate(self.chart.names)}
        for b in range(len(of.brokers)):
            self.start(b, settled=settled)

    def start(self, broker: int, *, settled: bool = False, incarnation: int = 1) -> None:
        """An agent starts with what its log holds."""
        setup = {"settings": Settings(), **self.setup}
        made = Setup(
            me=broker, chart=self.chart, rules=rules_of(self.of), incarnation=incarnation, **setup
        )
        self._life[broker] = self._life.get(broker, 0) + 1
        self._written[broker] = 0
        self._due_us.pop(broker, None)
        agent = self.agents[broker] = Agent(made, records=tuple(self.logs.setdefault(broker, [])))
        self.act(broker, agent.start(self.now_us, settled=settled))

    def stop(self, broker: int) -> None:
        """An agent is gone."""
        del self.agents[broker]

    def hand(self, broker: str | int, event: Event, *, after_us: int = 0) -> None:
        """Let something happen to an agent."""
        b = self.number[broker] if isinstance(broker, str) else broker
        self._push(self.now_us + after_us, b, event)

    def publish(self, broker: str, count: int = 1, *, topic: str = "t", every_us: int = MS) -> None:
        """Publications with payloads 0, 1, 2, ..."""
        for i in range(count):
            event = Published(i, topic, str(i).encode(), key=f"{broker}{topic}{i}")
            self.hand(broker, event, after_us=i * every_us)

    def subscribe(self, broker: str, pattern: str = "t") -> None:
        """A client called after its broker."""
        self.hand(broker, Subscribed(f"at {broker}", pattern))

    def run(self, ms: float) -> None:
        """Let so much time pass."""
        until_us = self.now_us + int(ms * MS)
        while self._heap and self._heap[0][0] <= until_us:
            at_us, _, b, event, life = heappop(self._heap)
            self.now_us = at_us
            agent = self.agents.get(b)
            if agent is None or life != self._life[b]:
                continue
            if type(event) is Due:
                if self._due_us.get(b) != at_us:
                    continue
                del self._due_us[b]
                if agent.wake_us > at_us:
                    self._wake(b)
                    continue
            self.act(b, agent.handle(event, at_us))
        self.now_us = until_us

    def _push(self, at_us: int, broker: int, event: Event) -> None:
        self._count += 1
        heappush(self._heap, (at_us, self._count, broker, event, self._life[broker]))

    def act(self, broker: int, actions: Iterable[Action]) -> None:
        """Do what an agent wants done."""
        for action in actions:
            if isinstance(action, Send):
                self._say(broker, action.link, action.word)
            elif isinstance(action, Write):
                self.logs[broker].append(action.record)
                self._written[broker] += 1
                self._push(self.now_us, broker, Logged(self._written[broker]))
            else:
                self.done.append((self.now_us, broker, action))
        self._wake(broker)

    def _say(self, broker: int, link: int, word: Word) -> None:
        self.said.append((self.now_us, broker, link, word))
        peer = self.chart.other(link, broker)
        if peer in self._life and self.pass_word(broker, link, word):
            self._push(self.now_us + DELAY_US, peer, Received(link, word))

    def _wake(self, broker: int) -> None:
        wake_us = max(self.agents[broker].wake_us, self.now_us)
        if wake_us < min(NEVER, self._due_us.get(broker, NEVER)):
            self._due_us[broker] = wake_us
            self._push(wake_us, broker, Due())

    # What tests ask.

    def link(self, name: str) -> int:
        """A link's number."""
        a, b = sorted(self.number[one] for one in name.split("-"))
        return self.chart.link_ends.index((a, b))

    def cut(self, *names: str) -> None:
        """From now on nothing crosses these links; nobody is told."""
        links = {self.link(name) for name in names}
        self.pass_word = lambda _b, link, _word: link not in links

    def agent(self, name: str) -> Agent:
        """An agent by its broker's name."""
        return self.agents[self.number[name]]

    def deliveries(self, broker: str) -> list[Deliver]:
        """What clients of a broker were given, in order."""
        b = self.number[broker]
        return [one for _, at, one in self.done if at == b and isinstance(one, Deliver)]

    def delivered(self, broker: str) -> list[int]:
        """The same by the numbers in it."""
        return [int(one.letter.payload) for one in self.deliveries(broker)]

    def told(self, what: str) -> list[tuple[int, tuple[Any, ...]]]:
        """Who said something, and about what."""
        return [
            (b, action.about)
            for _, b, action in self.done
            if isinstance(action, Tell) and action.what == what
        ]

    def words(self, kind: type) -> list[tuple[int, int, int, Any]]:
        """All words of a kind: when, by whom, over which link."""
        return [one for one in self.said if type(one[3]) is kind]


def same_chart(of: Federation, before: Chart, epoch: int) -> Chart:
    """The next chart."""
    return chart_of(of, epoch=epoch, before=before)
