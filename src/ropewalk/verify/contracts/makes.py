"""What brokers of each make do on the last hop, and their bridges between them.

As the adapters of `agent/brokers` have it, and docs/brokers.md tells it; a test holds that page's
table against this one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ropewalk.federation.facts import Bridge, Federation


@dataclass(frozen=True, slots=True)
class LastHop:
    """What becomes of a message between an agent and the clients of its broker."""

    drops_doubles: bool
    """Whether the broker knows a message that it is handed again, at least as a rule."""
    doubles: str
    """Who gets one nevertheless."""
    gives_again: bool
    """Whether what the broker has not confirmed is handed over again, promised or not."""
    sorts: bool
    """Whether what waits in the broker can be passed by what is more urgent."""
    tells_priority: bool
    """Whether publishers can give a message its priority."""


LAST_HOP: Mapping[str, LastHop] = MappingProxyType(
    {
        "nats": LastHop(
            True,
            "subscribers of core NATS may get a message again after a crash, consumers of a"
            " JetStream stream do not",
            gives_again=True,
            sorts=False,
            tells_priority=False,
        ),
        "mosquitto": LastHop(
            True,
            # QoS 2 with packet ids that outlive the connection, but not the agent.
            "clients of Mosquitto may get a message again if the agent is killed while it hands it"
            " over",
            gives_again=False,
            sorts=False,
            tells_priority=False,
        ),
        "rabbitmq": LastHop(
            False,
            "RabbitMQ drops no message that it has had",
            gives_again=True,
            sorts=True,
            tells_priority=True,
        ),
    }
)

LOSES, DOUBLES, EXACT = 0, 1, 2
"""Grades of a bridge: what breaks off is lost; it is sent again; it is sent again and known."""


def grade(federation: Federation, bridge: Bridge) -> int:
    """What a bridge does with a message when its connection breaks.

    Leaf nodes and gateways of NATS have no acknowledgements; RabbitMQ's federation and shovels
    confirm, and know no doubles; of Mosquitto's bridges the quality of service decides.
    """
    make = federation.brokers[bridge.from_].make
    most = DOUBLES if ends_at_rabbitmq(federation, bridge) else EXACT
    return {"nats": LOSES, "rabbitmq": DOUBLES}.get(make, min(bridge.qos, most))


def ends_at_rabbitmq(federation: Federation, bridge: Bridge) -> bool:
    """Whether it may connect to RabbitMQ, whose MQTT has QoS 0 and 1 only."""
    ends = (bridge.to, *(one for one in bridge.addresses if one in federation.brokers))
    return any(federation.brokers[end].make == "rabbitmq" for end in ends)
