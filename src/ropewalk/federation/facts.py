"""The facts of a federation: frozen records named by nouns of the trade.

They are written once, here: the file's fields, its JSON Schema and its checks all follow from
these annotations. Units are in the names; a reference to another record is its name.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from ropewalk.federation.arrays import Graph, TopicTable, graph_of, topic_table_of
from ropewalk.federation.names import NAME_PATTERN
from ropewalk.federation.source import Source

Name = Annotated[str, WithJsonSchema({"type": "string", "pattern": NAME_PATTERN})]
"""A new name; whether it is a good one is a question of sense, not of shape (see sense.py)."""
Reference = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(strict=True, ge=0, le=1)]
Cost = Annotated[int, Field(strict=True, ge=1, le=2**24 - 1)]
Count = Annotated[int, Field(strict=True, ge=0, le=100)]
Degrees = tuple[
    Annotated[float, Field(strict=True, ge=-90, le=90)],
    Annotated[float, Field(strict=True, ge=-180, le=180)],
]
Plane = tuple[Number, Number]

Make = Literal["nats", "mosquitto", "rabbitmq"]
Delivery = Literal["best-effort", "at-most-once", "at-least-once", "exactly-once"]
Order = Literal["none", "fifo", "priority", "total"]

CLOSED = ConfigDict(extra="forbid")
"""A field that the record does not have is a fault, not a silent nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place on the map, in degrees (`at`: latitude, longitude) or on a plane (`xy`: km)."""

    __pydantic_config__ = CLOSED
    at: Degrees | None = None
    xy: Plane | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A local domain: edges carry no transit; several gateways stand by for each other."""

    __pydantic_config__ = CLOSED
    gateways: Annotated[tuple[Reference, ...], Field(min_length=1)]
    edges: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """What a message costs a broker: T = t_rcv + n_fltr * t_fltr + r * t_tx (Wang 2015, 4.2)."""

    __pydantic_config__ = CLOSED
    receive_us: NonNegative
    filter_us: NonNegative
    send_us: NonNegative

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
    subscribers: tuple[Reference, ...] = ()


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
    make: Make = "nats"
    url: Reference | None = None
    credentials: Annotated[str, Field(pattern=r"^(env|file):\S+$")] | None = None
    address: Reference | None = None
    takeover: TakeoverField = Takeover()
    capacity: Performance | None = None
    fails: Probability = 0.0
    at: Degrees | None = None
    xy: Plane | None = None
    node: Reference | None = None
    risk_groups: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link that the overlay routes over; `via` names its underlay nodes (default: shortest)."""

    __pydantic_config__ = CLOSED
    between: tuple[Reference, Reference]
    latency_ms: NonNegative | None = None
    cost: Cost = 1
    loss: Probability = 0.0
    fails: Probability = 0.0
    risk_groups: tuple[Name, ...] = ()
    via: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """What a bridge puts before a topic name on its own side and on the far side."""

    __pydantic_config__ = CLOSED
    local: str = ""
    remote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """What a native broker does by itself: it floods topics that match over to another broker."""

    __pydantic_config__ = CLOSED
    from_: Annotated[Reference, Field(alias="from")]
    to: Reference
    patterns: Annotated[tuple[Reference, ...], Field(min_length=1)] = ("#",)
    direction: Literal["in", "out", "both"] = "out"
    qos: Annotated[int, Field(strict=True, ge=0, le=2)] = 0
    prefixes: Prefixes = Prefixes()
    max_hops: Annotated[int, Field(strict=True, ge=1)] | None = None
    addresses: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderlayNode:
    """A physical node: a router, an exchange, a landing point."""

    __pydantic_config__ = CLOSED
    at: Degrees | None = None
    xy: Plane | None = None
    risk_groups: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderlayLink:
    """A physical link; its length is the distance of its ends unless it is given."""

    __pydantic_config__ = CLOSED
    between: tuple[Reference, Reference]
    length_km: NonNegative | None = None
    risk_groups: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Underlay:
    """The physical network below the overlay; regions and risk groups cut it."""

    __pydantic_config__ = CLOSED
    nodes: dict[Name, UnderlayNode] = field(default_factory=dict)
    links: tuple[UnderlayLink, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskGroup:
    """Links, brokers and nodes that share a fate: a duct, a grid, a flood plain."""

    __pydantic_config__ = CLOSED
    fails: Probability = 0.0
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A named client at a broker."""

    __pydantic_config__ = CLOSED
    broker: Reference
    client: Reference


Attachment = Reference | Client
"""A publisher or subscriber: a broker's name, or a named client at one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a topic promises; `home` is the broker that sequences it where order is total."""

    __pydantic_config__ = CLOSED
    delivery: Delivery = "at-least-once"
    order: Order = "fifo"
    within_ms: Positive | None = None
    priority: Annotated[int, Field(strict=True, ge=0, le=9)] = 0
    home: Reference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic, or a pattern of topics: who publishes, who subscribes, how far it goes."""

    __pydantic_config__ = CLOSED
    publishers: tuple[Attachment, ...] = ()
    subscribers: tuple[Attachment, ...] = ()
    scope: Literal["federation", "domain"] = "federation"
    contract: Contract = Contract()
    protocol: Reference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A hand-made table entry; it holds while its link is up.

    `at`, `from` and `to` are brokers' names or addresses, with `*` for any part. `next` is a
    broker, or `*` for the destination itself. `colours` names the failures it is meant for.
    """

    __pydantic_config__ = CLOSED
    at: Reference
    from_: Annotated[Reference, Field(alias="from")] = "*"
    to: Reference
    next: Reference
    colours: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Survive:
    """How many failures at once every topic has to survive."""

    __pydantic_config__ = CLOSED
    links: Count = 0
    brokers: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """The size of the regional disaster that alternate paths have to escape."""

    __pydantic_config__ = CLOSED
    radius_km: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What the federation is asked to stand."""

    __pydantic_config__ = CLOSED
    survive: Survive = Survive()
    regions: Regions | None = None


@dataclass(frozen=True, kw_only=True)
class Federation:
    """All that is known of a federation. Integers and arrays: `graph` and `topic_table`."""

    __pydantic_config__ = CLOSED
    name: Annotated[Name, Field(alias="federation")]
    sites: dict[Name, Site] = field(default_factory=dict)
    domains: dict[Name, Domain] = field(default_factory=dict)
    brokers: Annotated[dict[Name, Broker], Field(min_length=1)]
    links: tuple[Link, ...] = ()
    bridges: tuple[Bridge, ...] = ()
    underlay: Underlay = Underlay()
    risk_groups: dict[Name, RiskGroup] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    items: dict[Name, Annotated[tuple[Reference, ...], Field(min_length=1)]] = field(
        default_factory=dict
    )
    routes: tuple[Route, ...] = ()
    protocols: dict[Name, Reference] = field(default_factory=dict)
    requirements: Requirements = Requirements()

    @cached_property
    def graph(self) -> Graph:
        """Brokers and links as integer arrays."""
        return graph_of(self)

    @cached_property
    def topic_table(self) -> TopicTable:
        """Topics, their publishers and subscribers as integer arrays."""
        return topic_table_of(self)

    @cached_property
    def source(self) -> Source:
        """Where each fact was written; of no file for a federation made in memory."""
        return Source()

    def written_in(self, source: Source) -> "Federation":
        """This federation, told where its facts were written."""
        vars(self)["source"] = source
        return self
