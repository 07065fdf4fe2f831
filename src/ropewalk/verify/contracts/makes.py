"""What brokers of each make do on the last hop, and their bridges between them.

As the adapters of `agent/brokers` have it, and docs/brokers.md tells it; tests hold the two against
each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ropewalk.federation.facts import Bridge, Federation

Can = Literal["yes", "for some", "no"]


@dataclass(frozen=True, slots=True)
class LastHop:
    """What becomes of a message between an agent and the clients of its broker."""

    drops_doubles: Can
    """Whether the broker drops a message that the agent hands it again after a crash."""
    doubles: str
    """Who gets one nevertheless, and what helps."""
    gives_again: bool
    """Whether what the broker has not confirmed is handed over again, promised or not."""
    sorts: bool
    """Whether what waits in the broker can be passed by what is more urgent."""
    tells_priority: bool
    """Whether publishers can give a message its priority."""


LAST_HOP: Mapping[str, LastHop] = MappingProxyType(
    {
        "nats": LastHop(
            "for some",
            "subscribers of core NATS may get a message again after a crash, consumers of a"
            " JetStream stream do not",
            gives_again=True,
            sorts=False,
            tells_priority=False,
        ),
        "mosquitto": LastHop(
            "yes",
            "QoS 2 with packet ids that outlive the connection",
            gives_again=False,
            sorts=False,
            tells_priority=False,
        ),
        "rabbitmq": LastHop(
            "no",
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
    return {"nats": LOSES, "rabbitmq": DOUBLES}.get(make, bridge.qos)
