"""Who plays, what is played, and what was seen: plain facts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ropewalk.errors import UsageError

Reach = Callable[[str, str, int], str | None]
"""The server that an address means: its file, host and port as written; None: nobody is known."""
Copies = Mapping[tuple[str, str], int]
"""How often the message arrived, by broker and topic as the federation names them."""

STORM = 500
"""With more copies than this of one topic at one broker nothing more is to be learnt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A real server, and the files it is configured with."""

    name: str
    make: str
    """nats, mosquitto or rabbitmq."""
    text: str = field(repr=False)
    """Its main file, as it was read."""
    file: str
    parts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Files that it includes, by the path as written."""
    assumed: tuple[tuple[str, str], ...] = ()
    """RabbitMQ: virtual host and name of exchanges that its clients are taken to declare."""
    spaces: Mapping[str, str]
    """Its brokers in the federation, each with its virtual host or account ("": the default)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One message, and where copies of it are counted."""

    broker: str
    """Where it is published: a broker of the federation."""
    topic: str
    down: tuple[str, ...] = ()
    """Servers that are killed before."""
    watch: tuple[str, ...] = ()
    """Brokers at which everything is subscribed."""
    subscribe: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Patterns that are subscribed at other brokers."""
    seconds: float = 3.0
    """How long copies are counted."""

    def wanted(self) -> Mapping[str, tuple[str, ...]]:
        """What is subscribed at each broker: everything, or its patterns."""
        return {**self.subscribe, **dict.fromkeys(self.watch, ("#",))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What came of a scene."""

    copies: Copies
    left_out: tuple[str, ...]
    """Settings that were changed or left out."""
    seconds: float
    """How long copies were counted: less than asked if there was a storm."""
    setup_seconds: float
    """How long it took until the message could be published."""
    missing: tuple[str, ...] = ()
    """Connections that the files ask for and that did not come up."""
    storm: bool = False
    """Whether counting was ended because there were more than `STORM` copies."""

    def at(self, broker: str) -> int:
        """Copies of all topics at a broker.

        >>> Observed(copies={("a", "x"): 2, ("a", "y"): 1}, left_out=(), seconds=3,
        ...          setup_seconds=1).at("a")
        3
        """
        return sum(many for (at, _), many in self.copies.items() if at == broker)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A connection that a server's file asks for."""

    server: str
    name: str
    """What its make calls it, or what its state is kept under."""
    kind: str
    """bridge, route, gateway, leaf, federation or shovel."""
    to: tuple[str, ...]
    """The servers it may connect to, in the order of its addresses; unknown ones are left out."""
    ports: tuple[int, ...] = ()
    """Their ports in the lab, in the same order."""
    first: bool = False
    """Whether it has to be at the first of them that is up."""
    space: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} of {self.server} to {' or '.join(self.to)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A server's files as the lab runs them."""

    text: str = field(repr=False)
    left_out: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    exchanges: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """RabbitMQ: the types of the exchanges of each virtual host."""


def homes_of(actors: Sequence[Actor]) -> Mapping[str, tuple[Actor, str]]:
    """The server and space of each broker of the federation."""
    return {broker: (one, space) for one in actors for broker, space in one.spaces.items()}


def check(actors: Sequence[Actor], scene: Scene) -> None:
    """UsageError if a scene names what is not in its cast."""
    for fault in _faults(actors, scene):
        raise UsageError(fault)


def _faults(actors: Sequence[Actor], scene: Scene) -> Iterator[str]:
    servers = [one.name for one in actors]
    homes = homes_of(actors)
    for name in {one for one in servers if servers.count(one) > 1}:
        yield f"two servers are called {name!r}: give each its own name"
    for broker in (scene.broker, *scene.wanted()):
        if broker not in homes:
            yield f"broker {broker!r} is at none of the servers {', '.join(servers)}"
    for server in scene.down:
        if server not in servers:
            yield f"server {server!r} cannot be killed: there are {', '.join(servers)}"
    if scene.broker in homes and homes[scene.broker][0].name in scene.down:
        yield f"nobody can publish at {scene.broker}: its server is to be down"
