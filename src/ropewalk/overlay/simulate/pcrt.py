"""Ropewalk's own agents on the packet network of Jia 2014, 6.3.2.

Two settings. As in the thesis: heartbeats as often as OSPF's hellos, dead after four, no early
copies, one link test, best effort. Even then an agent sends again, by another way, what a neighbour
had not acknowledged when the link to it died. And with custody, as Ropewalk is used: the origin
keeps every message until it has arrived, and copies go another way once a link is suspect.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from msgspec import msgpack

from ropewalk.federation.facts import Contract, Federation, Topic
from ropewalk.overlay.agent import Agent, Setup
from ropewalk.overlay.chart import chart_of
from ropewalk.overlay.events import (
    Accepted,
    Action,
    Deliver,
    Due,
    Event,
    Logged,
    Published,
    Received,
    Refused,
    Send,
    Subscribed,
    Tell,
    Write,
)
from ropewalk.overlay.rules import rules_of
from ropewalk.overlay.runs import singles
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.simulate.measures import Course
from ropewalk.overlay.simulate.packets import Arrived, Doing, Dropped, Node, Noticed, Out, Packet
from ropewalk.overlay.simulate.plain_pcrt import HEADER_BYTES, PCRT, PcrtTimers
from ropewalk.overlay.simulate.routers import DATA_BITS
from ropewalk.overlay.words import Address, Frame, Letter, Parcel, Word

TOPIC, SUBSCRIBER = "data", "sink"
NUMBER_BYTES = 4
"""A payload starts with the number of its data packet."""
NEVER_SLOW = 1e9
LINK_TOLD = {"link down": False, "link up": True}
LOSSES = ("no road", "hop limit", "link full")
"""What an agent tells of a parcel that it gives up."""

BEST_EFFORT = Contract(delivery="best-effort", order="none")
EXACTLY_ONCE = Contract(delivery="exactly-once", order="fifo")


def thesis_settings(unit_us: int, timers: PcrtTimers = PCRT) -> Settings:
    """The thesis' own terms: suspect is dead, one test is enough, and no link is slow."""
    plain, dead_us = _settings(unit_us, timers), round(timers.dead * unit_us)
    return replace(plain, suspect_us=dead_us, tests=1, slow_loss=1.0, slow_delay=NEVER_SLOW)


def custody_settings(unit_us: int, timers: PcrtTimers = PCRT) -> Settings:
    """Copies after three silent beats, three tests: Ropewalk's defaults, in beats."""
    return replace(_settings(unit_us, timers), suspect_us=3 * round(timers.heartbeat * unit_us))


def _settings(unit_us: int, timers: PcrtTimers) -> Settings:
    """Defaults in proportion to the beat, but for what the comparison sets equal for all."""
    plain, beat_us = Settings(), round(timers.heartbeat * unit_us)
    scale = beat_us / plain.beat_us
    return Settings(
        beat_us=beat_us,
        suspect_us=beat_us,
        dead_us=round(timers.dead * unit_us),
        flood_again_us=round(timers.ack * unit_us),
        calm_us=round(plain.calm_us * scale),
        receipt_us=round(plain.receipt_us * scale),
        resend_us=round(plain.resend_us * scale),
        frame_again_us=round(plain.frame_again_us * scale),
    )


def agents(
    federation: Federation, course: Course, contract: Contract, settings: Settings
) -> Sequence[Node]:
    """An agent for every broker; the one where data goes has the only subscriber."""
    names = federation.graph.names
    topic = Topic(
        publishers=(names[course.source],), subscribers=(names[course.to],), contract=contract
    )
    alone = replace(federation, topics={TOPIC: topic}, items={})
    chart, rules, letters = chart_of(alone), rules_of(alone), Letters()
    setups = (Setup(me=b, chart=chart, rules=rules, settings=settings) for b in range(len(names)))
    return [AgentNode(Agent(one), letters, sink=one.me == course.to) for one in setups]


@dataclass(slots=True)
class Letters:
    """Which data packet each letter is: the network's book-keeping, no agent reads it."""

    numbers: dict[tuple[int, int, str, int], int] = field(default_factory=dict)


class AgentNode:
    """An agent as a node: its words are packets, and its log is safe at once."""

    def __init__(self, agent: Agent, letters: Letters, *, sink: bool) -> None:
        self.agent, self._letters, self._sink = agent, letters, sink
        self._written = 0

    @property
    def wake_us(self) -> int:
        """When the agent wants to be woken."""
        return self.agent.wake_us

    def start(self, now_us: int) -> Iterable[Doing]:
        """The agent starts; the sink subscribes."""
        doings = self._doings(self.agent.start(now_us), now_us)
        if self._sink:
            doings += self._handle(Subscribed(SUBSCRIBER, TOPIC), now_us)
        return doings

    def received(self, now_us: int, link: int, packet: Packet) -> Iterable[Doing]:
        """A word came."""
        return self._handle(Received(link, packet.body), now_us)

    def due(self, now_us: int) -> Iterable[Doing]:
        """The agent is woken."""
        return self._handle(Due(), now_us)

    def publish(self, now_us: int, number: int, to: int) -> Iterable[Doing]:  # noqa: ARG002
        """A client publishes; who subscribes gets it."""
        return self._handle(Published(number, TOPIC, payload_of(number)), now_us)

    def _handle(self, event: Event, now_us: int) -> list[Doing]:
        return self._doings(self.agent.handle(event, now_us), now_us)

    def _doings(self, actions: list[Action], now_us: int) -> list[Doing]:
        written = sum(isinstance(one, Write) for one in actions)
        doings = [doing for one in actions for doing in self._doing(one)]
        if written:
            self._written += written
            doings += self._handle(Logged(self._written), now_us)
        return doings

    def _doing(self, action: Action) -> list[Doing]:
        match action:
            case Send(link, word):
                return [Out(link, packet_of(word))]
            case Deliver(letter, _):
                return [Arrived(number_of(letter))]
            case Accepted(ticket, letter):
                self._letters.numbers[letter.id] = ticket
            case Refused(ticket, reason):
                return [Dropped(ticket, reason)]
            case Tell(what, (link, *_)) if what in LINK_TOLD:
                return [Noticed(link, LINK_TOLD[what])]
            case Tell(what, (letter_id, *_)) if what in LOSSES:
                if letter_id in self._letters.numbers:
                    return [Dropped(self._letters.numbers[letter_id], what)]
        return []


def packet_of(word: Word) -> Packet:
    """A word as it goes over the line: as agents encode it, with the header that all have here."""
    parcels = singles(word.parcels) if isinstance(word, Frame) else ()
    data = tuple(number_of(one.letter) for one in parcels)
    return Packet(8 * (HEADER_BYTES + len(msgpack.encode(word))), word, data)


def number_of(letter: Letter) -> int:
    """Which data packet a letter is."""
    return int.from_bytes(letter.payload[:NUMBER_BYTES], "big")


def payload_of(number: int) -> bytes:
    """So long that a frame with it alone has the thesis' 1,000 bits, as near as may be."""
    letter = Letter(1, 1, TOPIC, 100, b"", 10**8)
    frame = Frame(1, 1 << 20, 100, (Parcel(letter, (Address(1, 1, 100, 100),), 1),))
    room = DATA_BITS // 8 - packet_of(frame).bits // 8
    return number.to_bytes(NUMBER_BYTES, "big").ljust(room, b"\0")
