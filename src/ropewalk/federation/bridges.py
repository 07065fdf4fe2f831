"""Bridges: what native brokers do by themselves, whatever their make calls it."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from ropewalk.federation.kinds import CLOSED, Reference

BridgeKind = Literal[
    "bridge", "federation", "shovel", "binding", "route", "gateway", "leaf", "import"
]
"""MQTT bridge; RabbitMQ federation, shovel and binding of exchanges; NATS route, gateway, leaf
node and import from an account."""
Choice = Literal["first", "next", "any"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """What a bridge puts before a topic name on its own side and on the far side."""

    __pydantic_config__ = CLOSED
    local: str = ""
    """Put before the name at the bridge's own broker."""
    remote: str = ""
    """Put before the name at the far broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """What a native broker does by itself: it floods topics that match over to another broker."""

    __pydantic_config__ = CLOSED
    from_: Annotated[Reference, Field(alias="from")]
    """The broker that holds the bridge's configuration."""
    to: Reference
    """The broker it connects to."""
    name: Reference | None = None
    """What its connection is called there; bridges of one broker with one name share it."""
    kind: BridgeKind = "bridge"
    """What its make calls it: that decides what it carries on."""
    patterns: Annotated[tuple[Reference, ...], Field(min_length=1)] = ("#",)
    """Which topics it carries."""
    except_: Annotated[tuple[Reference, ...], Field(alias="except")] = ()
    """Which of these it does not carry."""
    direction: Literal["in", "out", "both"] = "out"
    """Seen from the broker that holds it: out sends, in fetches."""
    qos: Annotated[int, Field(strict=True, ge=0, le=2)] = 0
    """MQTT quality of service."""
    prefixes: Prefixes = Prefixes()
    """How topic names change on the way."""
    max_hops: Annotated[int, Field(strict=True, ge=1)] | None = None
    """How many bridges a message may cross; default: no limit."""
    addresses: tuple[Reference, ...] = ()
    """Where it connects when the first fails, in order: brokers or HOST:PORT."""
    reached_at: tuple[Reference, ...] = ()
    """HOST:PORT of `to` and of each of addresses, where they are not those of their brokers."""
    choice: Choice = "first"
    """Of `to` and addresses: always the first that is up, on failure the next, or any of them."""
    echoes: bool = False
    """Whether the far broker sends back what it brought, not knowing that it is a bridge."""
    written: dict[str, Reference] = field(default_factory=dict)
    """Where it was read, FILE:LINE: the `entry`, and fields with lines of their own."""
