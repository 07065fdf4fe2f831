"""The facts of a federation: frozen records named by nouns of the trade.

They are written once, here, in `limits` and `latencies`: the file's fields, its JSON Schema and its
checks all follow from these annotations. Units are in the names; a reference to another record is
its name.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ropewalk.federation.arrays import Graph, TopicTable, graph_of, topic_table_of
from ropewalk.federation.bridges import Bridge as Bridge
from ropewalk.federation.bridges import Prefixes as Prefixes
from ropewalk.federation.contracts import DEFAULT
from ropewalk.federation.contracts import Contract as Contract
from ropewalk.federation.contracts import Order as Order
from ropewalk.federation.items import Lookup, lookup_of
from ropewalk.federation.kinds import (
    CLOSED,
    Cost,
    Count,
    Degrees,
    Name,
    NonNegative,
    Plane,
    Positive,
    Probability,
    Reference,
)
from ropewalk.federation.latencies import Histogram as Histogram
from ropewalk.federation.latencies import Jitter as Jitter
from ropewalk.federation.limits import Placement
from ropewalk.federation.source import Source, written_at
from ropewalk.findings import Where

Make = Literal["nats", "mosquitto", "rabbitmq"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place on the map, in degrees (`at`: latitude, longitude) or on a plane (`xy`: km)."""

    __pydantic_config__ = CLOSED
    at: Degrees | None = None
    """Latitude and longitude in degrees."""
    xy: Plane | None = None
    """Kilometres on a plane."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A local domain: edges carry no transit; several gateways stand by for each other."""

    __pydantic_config__ = CLOSED
    gateways: Annotated[tuple[Reference, ...], Field(min_length=1)]
    """Brokers that carry transit traffic; several stand by for each other."""
    edges: tuple[Reference, ...] = ()
    """Brokers that carry none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """What a message costs a broker: T = t_rcv + n_fltr * t_fltr + r * t_tx (Wang 2015, 4.2)."""

    __pydantic_config__ = CLOSED
    receive_us: NonNegative
    """To take a message in."""
    filter_us: NonNegative
    """To hold it against one filter."""
    send_us: NonNegative
    """To send one copy."""

    def service_us(self, *, filters: float, replication: float) -> float:
        """Processing time of a message that meets so many filters and leaves so many times.

        >>> activemq = Performance(receive_us=48.81, filter_us=0.162, send_us=16.4)
        >>> round(activemq.service_us(filters=3, replication=10), 3)
        213.296
        """
        return self.receive_us + filters * self.filter_us + replication * self.send_us

    def capacity_msgs_s(self, *, filters: float, replication: float) -> float:
        """The highest rate of incoming messages that the broker keeps up with."""
        service_us = self.service_us(filters=filters, replication=replication)
        return 1e6 / service_us if service_us else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """Who takes over a failed broker's clients, in order of preference."""

    __pydantic_config__ = CLOSED
    publishers: tuple[Reference, ...] = ()
    """Brokers that take its publishers, the preferred first."""
    subscribers: tuple[Reference, ...] = ()
    """Brokers that take its subscribers, the preferred first."""


def _for_both(value: Any) -> Any:
    """A plain list names the brokers that take over publishers and subscribers alike."""
    return {"publishers": value, "subscribers": value} if isinstance(value, list) else value


TakeoverField = Annotated[
    Takeover,
    BeforeValidator(_for_both, json_schema_input_type=tuple[Reference, ...] | Takeover),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A broker: where it is, what it is, and who stands in for it."""

    __pydantic_config__ = CLOSED
    site: Reference | None = None
    """The site it is at."""
    make: Make = "nats"
    """Whose software it runs."""
    url: Reference | None = None
    """Where it listens, without user and password."""
    watch: Annotated[str, Field(pattern=r"^(leaf|http|https)://\S+$")] | None = None
    """Where its subscriptions can be seen: leaf://HOST:PORT[?monitor=PORT] or http://HOST:PORT."""
    credentials: Annotated[str, Field(pattern=r"^(env:\S+|file:\S.*)$")] | None = None
    """Where its secret is kept: env:NAME or file:PATH."""
    address: Reference | None = None
    """A second name that routes may use."""
    takeover: TakeoverField = Takeover()
    """Who takes its clients over when it fails: [BROKER], or apart by publishers, subscribers."""
    capacity: Performance | None = None
    """What a message costs it."""
    fails: Probability = 0.0
    """Probability of being down."""
    at: Degrees | None = None
    """Its own place in degrees, where it is not its site's."""
    xy: Plane | None = None
    """Its own place on a plane, where it is not its site's."""
    server: Reference | None = None
    """The server that it is a part of, where several virtual hosts or accounts share one."""
    space: Reference | None = None
    """Its virtual host or account there; default: its make's default one."""
    cluster: Reference | None = None
    """Its cluster, as its make names it."""
    node: Reference | None = None
    """The underlay node it is attached to; default: the nearest."""
    risk_groups: tuple[Name, ...] = ()
    """What it shares its fate with."""
    written: dict[str, Reference] = field(default_factory=dict)
    """Where it was read, FILE:LINE: the `entry`, and fields with lines of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link that the overlay routes over; `via` names its underlay nodes (default: shortest)."""

    __pydantic_config__ = CLOSED
    between: tuple[Reference, Reference]
    """The two brokers it joins."""
    latency_ms: NonNegative | None = None
    """One way; default: what light in fibre takes between the places of its ends."""
    cost: Cost = 1
    """The smallest sum of costs decides a route."""
    loss: Probability = 0.0
    """Probability that a message is lost on the way."""
    fails: Probability = 0.0
    """Probability of being down."""
    risk_groups: tuple[Name, ...] = ()
    """What it shares its fate with."""
    via: tuple[Reference, ...] = ()
    """Underlay nodes from end to end; default: the shortest way."""
    jitter: Jitter | None = None
    """How latencies spread around latency_ms; default: they do not."""
    histogram: Histogram | None = None
    """Latencies as they were measured, the next broker's own time included, instead of the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderlayNode:
    """A physical node: a router, an exchange, a landing point."""

    __pydantic_config__ = CLOSED
    at: Degrees | None = None
    """Latitude and longitude in degrees."""
    xy: Plane | None = None
    """Kilometres on a plane."""
    risk_groups: tuple[Name, ...] = ()
    """What it shares its fate with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderlayLink:
    """A physical link; its length is the distance of its ends unless it is given."""

    __pydantic_config__ = CLOSED
    between: tuple[Reference, Reference]
    """The two nodes it joins."""
    length_km: NonNegative | None = None
    """Default: the distance of its ends."""
    risk_groups: tuple[Name, ...] = ()
    """What it shares its fate with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Underlay:
    """The physical network below the overlay; regions and risk groups cut it."""

    __pydantic_config__ = CLOSED
    nodes: dict[Name, UnderlayNode] = field(default_factory=dict)
    """Physical nodes by name."""
    links: tuple[UnderlayLink, ...] = ()
    """Physical links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskGroup:
    """Links, brokers and nodes that share a fate: a duct, a grid, a flood plain."""

    __pydantic_config__ = CLOSED
    fails: Probability = 0.0
    """Probability that all of it is down."""
    about: str = ""
    """What it is, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A named client at a broker."""

    __pydantic_config__ = CLOSED
    broker: Reference
    """The broker it connects to."""
    client: Reference
    """Its name."""


Attachment = Reference | Client
"""A publisher or subscriber: a broker's name, or a named client at one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic, or a pattern of topics: who publishes, who subscribes, how far it goes."""

    __pydantic_config__ = CLOSED
    publishers: tuple[Attachment, ...] = ()
    """Brokers, or {broker: B, client: C}."""
    subscribers: tuple[Attachment, ...] = ()
    """Brokers, or {broker: B, client: C}."""
    scope: Literal["federation", "domain"] = "federation"
    """Whether it leaves its domain."""
    contract: Contract = DEFAULT
    """What it promises."""
    protocol: Reference | None = None
    """The protocol that its messages follow."""
    assumed: bool = False
    """Nobody stated it: bridges carry it, and whoever may publish it or be served is listed."""
    written: dict[str, Reference] = field(default_factory=dict)
    """Where it was read, FILE:LINE: the `entry`, and fields with lines of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A hand-made table entry; it holds while its link is up.

    `at`, `from` and `to` are brokers' names or addresses, with `*` for any part. `next` is a
    broker, or `*` for the destination itself. `colours` names the failures it is meant for.
    """

    __pydantic_config__ = CLOSED
    at: Reference
    """Where the message is: a broker, or a pattern with *."""
    from_: Annotated[Reference, Field(alias="from")] = "*"
    """Where it was published; default: anywhere."""
    to: Reference
    """Where it goes."""
    next: Reference
    """The neighbour it is sent to, or * for the destination itself."""
    colours: tuple[Reference, ...] = ()
    """Failures it is meant for: none, or BROKER, BROKER--BROKER, group:NAME, site:NAME with +."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survive:
    """How many failures at once every topic has to survive."""

    __pydantic_config__ = CLOSED
    links: Count = 0
    """Links down at once."""
    brokers: Count = 0
    """Brokers down at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """The size of the regional disaster that alternate paths have to escape."""

    __pydantic_config__ = CLOSED
    radius_km: Positive
    """How far the disaster reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What the federation is asked to stand."""

    __pydantic_config__ = CLOSED
    survive: Survive = Survive()
    """Failures that must cost no topic."""
    regions: Regions | None = None
    """Disasters that alternate paths must escape."""


@dataclass(frozen=True, kw_only=True)
class Federation:
    """All that is known of a federation. Integers and arrays: `graph` and `topic_table`."""

    __pydantic_config__ = CLOSED
    name: Annotated[Name, Field(alias="federation")]
    """Its name."""
    epoch: Annotated[int, Field(strict=True, ge=1)] = 1
    """Raised with each change of brokers or links that agents at work shall take over."""
    sites: dict[Name, Site] = field(default_factory=dict)
    """Places by name."""
    domains: dict[Name, Domain] = field(default_factory=dict)
    """Local domains by name."""
    brokers: Annotated[dict[Name, Broker], Field(min_length=1)]
    """Brokers by name."""
    links: tuple[Link, ...] = ()
    """What the overlay routes over."""
    bridges: tuple[Bridge, ...] = ()
    """What native brokers do by themselves."""
    underlay: Underlay = Underlay()
    """The physical network."""
    risk_groups: dict[Name, RiskGroup] = field(default_factory=dict)
    """What fails together; if it is there, every group is declared in it."""
    topics: dict[str, Topic] = field(default_factory=dict)
    """Topics, or patterns: + one level, # all that follow."""
    items: dict[Name, Annotated[tuple[Reference, ...], Field(min_length=1)]] = field(
        default_factory=dict
    )
    """Topics that are moved together."""
    placement: Placement = field(default_factory=Placement)
    """What placing items on brokers has to respect."""
    routes: tuple[Route, ...] = ()
    """Hand-made table entries."""
    protocols: dict[Name, Reference] = field(default_factory=dict)
    """Protocol files by name."""
    requirements: Requirements = Requirements()
    """What has to be survived."""

    @cached_property
    def graph(self) -> Graph:
        """Brokers and links as integer arrays."""
        return graph_of(self)

    @cached_property
    def topic_table(self) -> TopicTable:
        """Topics, their publishers and subscribers as integer arrays."""
        return topic_table_of(self)

    @cached_property
    def lookup(self) -> Lookup:
        """Items, domains and sites, looked up once; see `items`."""
        return lookup_of(self)

    @cached_property
    def source(self) -> Source:
        """Where each fact was written; of no file for a federation made in memory."""
        return Source()

    def where(self, section: str, index: int, field: str = "entry") -> Where:
        """Where an entry was written: in the file that it was read from, else in this one."""
        entries = getattr(self, section)
        entry = entries[index] if isinstance(entries, tuple) else tuple(entries.values())[index]
        return written_at(entry, field) or self.source.where(section, index)

    def written_in(self, source: Source) -> "Federation":
        """This federation, told where its facts were written."""
        vars(self)["source"] = source
        return self
