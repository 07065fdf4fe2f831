"""Which adapter serves which make of broker; imported when it is needed."""

from collections.abc import Callable, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import cast

from ropewalk.agent.brokers.contract import Access, Ears, Hears, Lane, Local

_ADAPTERS = MappingProxyType(
    {
        "nats": ("nats", "NatsLocal", "NatsLane"),
        "mosquitto": ("mqtt", "MqttLocal", "MqttLane"),
        "rabbitmq": ("rabbitmq", "RabbitLocal", "RabbitLane"),
    }
)


def local_of(
    make: str,
    access: Access,
    ears: Ears,
    *,
    topics: Sequence[str],
    declared: Sequence[str],
    durable: Sequence[str],
    client: str,
) -> Local:
    """The connection to an agent's own broker."""
    package, name, _ = _ADAPTERS[make]
    made = getattr(import_module(f"ropewalk.agent.brokers.{package}"), name)
    maker = cast("Callable[..., Local]", made)
    return maker(access, ears, topics=topics, declared=declared, durable=durable, client=client)


def lane_of(make: str, access: Access, hears: Hears, *, client: str) -> Lane:
    """The connection to a neighbour's broker."""
    package, _, name = _ADAPTERS[make]
    made = getattr(import_module(f"ropewalk.agent.brokers.{package}"), name)
    return cast("Callable[..., Lane]", made)(access, hears, client=client)


def can_disconnect(make: str, access: Access) -> bool:
    """Whether an agent can have clients of its broker disconnected.

    NATS needs a user of the system account, RabbitMQ its management API; Mosquitto has no way.
    """
    return bool(access.admin_user) if make == "nats" else make == "rabbitmq" and bool(access.watch)
