"""What really happens, put together from what every agent says of itself and its links.

An agent that does not answer is unreachable, whatever it said before; a link is up only if both
ends say so.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

AgentState = Literal["up", "faulty", "unreachable", "waiting"]
LinkState = Literal["up", "suspect", "down", "unknown"]
WORST_FIRST: tuple[LinkState, ...] = ("down", "suspect", "unknown", "up")
MOST_NEWS = 60


class Said(msgspec.Struct, frozen=True):
    """A word of an agent's news."""

    at: float
    what: str


class Figures(msgspec.Struct, frozen=True):
    """What changes all the time."""

    published: int = 0
    delivered: int = 0
    forwarded: int = 0
    resent: int = 0
    custody: int = 0
    utilisation: float | None = None


class Brief(msgspec.Struct, frozen=True):
    """What an agent's `/events` tells, as far as the console shows it."""

    broker: str
    faults: list[str] = []
    links: dict[str, str] = {}
    down: list[str] = []
    news: list[Said] = []
    figures: Figures = Figures()


@dataclass(frozen=True, slots=True)
class Heard:
    """What is known of one agent: what it last said, or why it says nothing."""

    brief: Brief | None = None
    silent: str = ""
    """Why it cannot be heard; empty while it can be, or has not been asked yet."""

    @property
    def state(self) -> AgentState:
        """How it is."""
        if self.silent:
            return "unreachable"
        if self.brief is None:
            return "waiting"
        return "faulty" if self.brief.faults else "up"


@dataclass(frozen=True, slots=True)
class Watched:
    """What there is to watch: where agents answer, links with their ends, what a lab has broken."""

    agents: Mapping[str, str] = field(default_factory=dict)
    """URLs by broker."""
    links: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    """What the lab was told to break, and how."""


@dataclass(frozen=True, slots=True)
class AgentSeen:
    """A row of the table of agents."""

    broker: str
    state: AgentState
    why: str
    links: str
    utilisation: float | None
    custody: int
    published: int
    delivered: int
    news: str


@dataclass(frozen=True, slots=True)
class Told:
    """News with who told them."""

    at: float
    broker: str
    what: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that the agents say, together."""

    agents: tuple[AgentSeen, ...] = ()
    links: Mapping[str, LinkState] = field(default_factory=dict)
    news: tuple[Told, ...] = ()
    """The newest first."""
    broken: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    """Why there is nothing to see."""

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)

    def counts(self) -> Counter[str]:
        """How many agents are in each state, and links (`links up`)."""
        found = Counter[str](one.state for one in self.agents)
        found.update(f"links {state}" for state in self.links.values())
        return found


def brief_in(text: bytes, broker: str) -> Heard:
    """What an agent's event says.

    >>> brief_in(b'{"broker": "a", "links": {"b": "up"}}', "a").state
    'up'
    >>> brief_in(b'{"broker": "b"}', "a").silent
    "here answers the agent of 'b'"
    """
    try:
        brief = msgspec.json.decode(text, type=Brief)
    except msgspec.DecodeError:
        return Heard(silent="what it says cannot be read: is it an agent of this version?")
    if brief.broker != broker:
        return Heard(silent=f"here answers the agent of {brief.broker!r}")
    return Heard(brief)


def watched_in(folder: Path) -> Watched:
    """What a lab's record says; raises OSError or ValueError where no lab runs in the folder."""
    told = json.loads((folder / "lab.json").read_text("utf-8"))
    try:
        faults = [
            (f"{mark}{name}", one.get("fault"))
            for kind, mark in (("links", ""), ("brokers", ""), ("agents", "agent:"))
            for name, one in told[kind].items()
        ]
        return Watched(
            {name: str(one["http"]) for name, one in told["agents"].items()},
            {name: (one["between"][0], one["between"][1]) for name, one in told["links"].items()},
            {name: str(fault) for name, fault in faults if fault},
        )
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"{folder}/lab.json is no lab's record") from error


def picture_of(watched: Watched, heard: Mapping[str, Heard], news: Iterable[Told]) -> Picture:
    """All of it together."""
    known = {name: heard.get(name, Heard()) for name in watched.agents}
    return Picture(
        agents=tuple(_seen(name, one) for name, one in known.items()),
        links={
            name: _link(ends, known)
            for name, ends in watched.links.items()
            if ends[0] in known or ends[1] in known
        },
        news=tuple(sorted(news, key=lambda one: -one.at)[:MOST_NEWS]),
        broken=dict(watched.broken),
    )


def added(news: Sequence[Told], heard: Heard) -> list[Told]:
    """News with those of one agent that are not among them yet."""
    if heard.brief is None:
        return list(news)
    known = set(news)
    more = [Told(one.at, heard.brief.broker, one.what) for one in heard.brief.news]
    fresh = [one for one in more if one not in known]
    return sorted([*news, *fresh], key=lambda one: one.at)[-MOST_NEWS:]


def _seen(broker: str, heard: Heard) -> AgentSeen:
    brief = heard.brief or Brief(broker)
    states = Counter(brief.links.values())
    links = ", ".join(f"{states[one]} {one}" for one in ("up", "suspect", "down") if states[one])
    shown = heard.state in ("up", "faulty")
    return AgentSeen(
        broker=broker,
        state=heard.state,
        why=heard.silent or "; ".join(brief.faults),
        links=links if shown else "",
        utilisation=brief.figures.utilisation if shown else None,
        custody=brief.figures.custody,
        published=brief.figures.published,
        delivered=brief.figures.delivered,
        news=brief.news[-1].what if brief.news else "",
    )


def _link(ends: tuple[str, str], heard: Mapping[str, Heard]) -> LinkState:
    """What both ends say; an end that cannot be heard keeps it from being up."""
    a, b = ends
    said = {_says(heard.get(a), b), _says(heard.get(b), a)}
    return next((state for state in WORST_FIRST if state in said), "up")


def _says(heard: Heard | None, neighbour: str) -> LinkState:
    if heard is None or heard.brief is None or heard.silent:
        return "unknown"
    said = heard.brief.links.get(neighbour)
    return next((state for state in WORST_FIRST if state == said), "unknown")
