"""What driving asks of a client library, whatever the make: the contract of its two roles.

A client reconnects by its library's own means, over the URLs it was given, until it is closed.
Topics are the federation's names; each client turns them into its make's own.
"""

import asyncio
import re
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.drive.window import RESEND_S
from ropewalk.errors import UsageError
from ropewalk.federation.facts import Make

CONNECT_S = 10.0
"""How long a first connection may take."""
BACK_S = 0.1
"""How long clients wait before they connect again."""

_USER = re.compile(r"(?<=://)[^/@]*@")

Qos = Literal[0, 1, 2]
OnMessage = Callable[[str, bytes, Headers], None]
"""Called on the loop's thread with topic, payload and headers of each message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a client publishes and subscribes."""

    name: str
    """The client's own name: no other client of the run has it."""
    qos: Qos = 1
    """0: nobody acknowledges. 1: acknowledged. 2: once, where the make has it."""
    window: int = 256
    """How many publications may wait for an answer."""
    resend_s: float = RESEND_S
    """How long one waits before it is sent again."""
    named: bool = True
    """Publications have an id, so that one that is sent again is still one; for `fast_nats`."""
    tls: ssl.SSLContext | None = None
    """For URLs that ask for TLS; None: what the system trusts."""


class Publisher(Protocol):
    """A client that publishes; constructed with `Options`."""

    async def connect(self, urls: Sequence[str]) -> None:
        """Connect to the first URL that answers; UsageError if none does."""

    @property
    def room(self) -> int:
        """How many may be published now; none while there is no connection."""

    async def publish(
        self, topic: str, payload: bytes, headers: Headers = ()
    ) -> asyncio.Future[int] | None:
        """Hand a message to the library.

        The future is how often it had to be sent until it was acknowledged; it is cancelled if the
        client is closed before, and raises ConnectionError if it is refused for good. None: nobody
        acknowledges.
        """

    async def close(self) -> None:
        """Disconnect for good."""


class Subscriber(Protocol):
    """A client that subscribes; constructed with `Options`."""

    async def connect(self, urls: Sequence[str], pattern: str, on_message: OnMessage) -> None:
        """Connect and subscribe; returns when the broker has confirmed the subscription."""

    async def close(self) -> None:
        """Disconnect for good, and leave nothing behind at the broker."""


def publisher_of(make: Make, options: Options) -> Publisher:
    """A publisher with the usual library of a make."""
    try:
        if make == "nats":
            from ropewalk.agent.drive.nats_client import NatsPublisher

            return NatsPublisher(options)
        if make == "mosquitto":
            from ropewalk.agent.drive.mqtt_client import MqttPublisher

            return MqttPublisher(options)
        from ropewalk.agent.drive.rabbit_client import RabbitPublisher

        return RabbitPublisher(options)
    except ImportError as error:
        raise _not_installed(make, error) from error


def subscriber_of(make: Make, options: Options) -> Subscriber:
    """A subscriber with the usual library of a make."""
    try:
        if make == "nats":
            from ropewalk.agent.drive.nats_client import NatsSubscriber

            return NatsSubscriber(options)
        if make == "mosquitto":
            from ropewalk.agent.drive.mqtt_client import MqttSubscriber

            return MqttSubscriber(options)
        from ropewalk.agent.drive.rabbit_client import RabbitSubscriber

        return RabbitSubscriber(options)
    except ImportError as error:
        raise _not_installed(make, error) from error


def _not_installed(make: Make, error: ImportError) -> UsageError:
    extra = {"mosquitto": "mqtt"}.get(make, make)
    return UsageError(f"{error}: clients of {make} need pip install 'ropewalk[{extra}]'")


def unreachable(options: Options, urls: Sequence[str], why: object) -> UsageError:
    """The error of a first connection that failed; URLs without their secrets."""
    shown = ", ".join(_USER.sub("", url) for url in urls)
    return UsageError(f"{options.name}: no connection to {shown} ({why}): is the lab up?")
