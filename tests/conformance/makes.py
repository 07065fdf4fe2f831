"""What a real broker is to a test, whatever its make: started on loopback, ended with the test."""

import os
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import trustme

from ropewalk.agent.brokers.contract import Access, Headers, Lane, Local

PORTS = iter(range(20_100 + os.getpid() % 90 * 100, 32_000))
USER, PASSWORD = "agent", "right"


@dataclass(frozen=True)
class Got:
    """What an ordinary client has received."""

    topic: str
    payload: bytes
    headers: Headers = ()
    retain: bool = False


class Client(Protocol):
    """An ordinary client of a make, as its users would write it."""

    got: list[Got]

    async def publish(
        self, topic: str, payload: bytes, headers: Headers = (), retain: bool = False
    ) -> None: ...

    async def subscribe(self, pattern: str) -> None: ...

    async def close(self) -> None: ...


@dataclass
class Broker:
    """A running broker of some make."""

    make: "Make"
    folder: Path
    port: int
    tls: bool
    process: "subprocess.Popen[bytes] | None" = None
    ca: trustme.CA = field(default_factory=trustme.CA)

    def access(self, *, password: str = PASSWORD, tls: bool | None = None) -> Access:
        use = self.tls if tls is None else tls
        return Access(
            name="b",
            host="127.0.0.1",
            port=self.port,
            tls=self.context() if use else None,
            user=USER,
            password=password,
            watch=self.make.watch(self),
        )

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.ca.configure_trust(context)
        return context

    def start(self) -> None:
        self.process = self.make.launch(self)
        for _ in range(400):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.make.name} has ended: see {self.folder}")
            time.sleep(0.02)
        raise TimeoutError(f"{self.make.name} does not answer")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@dataclass(frozen=True)
class Make:
    """How a make is started and used."""

    name: str
    missing: Callable[[], str]
    """Why it cannot be started here; empty if it can."""
    launch: Callable[[Broker], "subprocess.Popen[bytes]"]
    client: Callable[[Broker, Callable[[], None]], Any]
    """Connects an ordinary client, which calls back when it has received something."""
    local: Callable[..., Local]
    lane: Callable[..., Lane]
    retains: bool = False
    """Its clients know retained messages."""
    keeps: bool = True
    """What clients publish waits for an agent that is away."""
    repeats: bool = True
    """Its clients can give several headers the same name."""
    figures: bool = True
    """It shows its own figures."""
    watch: Callable[["Broker"], str] = lambda _broker: ""
    """Where its subscriptions can be seen."""
    notices_silence: bool = False
    """A lane is told that nobody listens at the neighbour's broker."""
    settings: tuple[str, ...] = ()
    """More lines for its configuration."""


@contextmanager
def running(make: Make, folder: Path, *, tls: bool = False) -> Iterator[Broker]:
    """A broker that ends with the block."""
    broker = Broker(make, folder, free_port(), tls)
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


def free_port() -> int:
    for port in PORTS:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port")
