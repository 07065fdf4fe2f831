"""The Mosquitto adapter against gmqtt: the same forwarder on both, between two real brokers.

It takes QoS 1 from one Mosquitto, hands it to another with QoS 1, and acknowledges it to the first
only when the second has confirmed it. All messages wait in the first broker before the clock
starts. Each forwarder is a process of its own: its CPU is measured there.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

from gmqtt import Client
from gmqtt.mqtt.constants import MQTTv50
from gmqtt.storage import PersistentStorage

from _measure import report
from ropewalk.agent.brokers.contract import Access, Headers, Incoming, Outgoing
from ropewalk.agent.brokers.mqtt import MqttLocal
from ropewalk.agent.brokers.mqtt.headers import properties_of
from ropewalk.agent.brokers.mqtt.local import RECEIVE_MAXIMUM
from ropewalk.agent.brokers.mqtt.packets import Ack, Reader, connect, publish, topic_bytes
from ropewalk.overlay.events import Burst

REPEATS = 3
MESSAGES = 20_000
PAYLOAD = b"x" * 100
TOPIC = "prices/equity"
CLIENT = "forwarder"
KINDS: dict[str, Headers] = {"plain": (), "two_headers": (("trace", "4711"), ("source", "desk"))}


class Clock:
    """Wall and CPU seconds from the first message to the last."""

    def __init__(self) -> None:
        self._wall = self._cpu = 0.0

    def start(self) -> None:
        """Begin with the first message."""
        if not self._wall:
            self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        """Print what was taken."""
        seconds = time.perf_counter() - self._wall
        print(json.dumps({"seconds": seconds, "cpu_s": time.process_time() - self._cpu}))


# --- the forwarder on this adapter ----------------------------------------------------------


class Side:
    """An agent's ears at one of the brokers."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()

    def up(self) -> None:
        """The broker is there."""
        self.ready.set()

    def down(self, why: str) -> None:
        """It must not go."""
        raise RuntimeError(why)

    def burst(self, some: Burst) -> None:
        """One by one."""
        self.published(some.each())

    def published(self, messages: Sequence[Incoming]) -> None:
        """Nothing is taken here."""

    def delivered(self, count: int) -> None:
        """Nothing is handed over here."""

    def missing(self, patterns: frozenset[str]) -> None:
        """Nobody is waited for."""

    def heard(self, words: Sequence[bytes]) -> None:
        """There are no neighbours."""

    def subscribed(self, subscriber: str, pattern: str) -> None:
        """Nobody's subscriptions matter."""

    def unsubscribed(self, subscriber: str, pattern: str) -> None:
        """Nobody's subscriptions matter."""


class Forwarder(Side):
    """Takes from one broker and is told by the other."""

    def __init__(self, ports: Sequence[int], messages: int) -> None:
        super().__init__()
        self.clock, self.done, self._messages = Clock(), asyncio.Event(), messages
        self._handles: list[Any] = []
        self._confirmed = 0
        self._to = Side()
        self._to.delivered = self._delivered  # type: ignore[method-assign]
        self.a = _local("a", ports[0], self, [TOPIC])
        self.b = _local("b", ports[1], self._to, [])

    async def run(self) -> None:
        """Forward all messages; none: only leave the subscription behind."""
        self.b.start()
        await self._to.ready.wait()
        self.a.start()
        if self._messages:
            await self.done.wait()
        else:
            await self.ready.wait()
        await self.a.close()
        await self.b.close()

    def published(self, messages: Sequence[Incoming]) -> None:
        """Hand on."""
        self.clock.start()
        self._handles += [one.ticket for one in messages]
        self.b.deliver([Outgoing(one.topic, one.payload, one.headers) for one in messages])

    def _delivered(self, count: int) -> None:
        self.a.accept(self._handles[self._confirmed : count])
        self._confirmed = count
        if count == self._messages:
            self.clock.stop()
            self.done.set()


def _local(name: str, port: int, ears: Side, topics: Sequence[str]) -> MqttLocal:
    access = Access(name=name, host="127.0.0.1", port=port)
    return MqttLocal(access, ears, topics=topics, durable=[TOPIC], client=CLIENT)


async def adapter(ports: Sequence[int], messages: int) -> None:
    await Forwarder(ports, messages).run()


# --- the same on gmqtt ----------------------------------------------------------------------


class Confirmations(PersistentStorage):  # type: ignore[misc]
    """gmqtt's own list of what is not yet confirmed, with a future for each."""

    def __init__(self) -> None:
        super().__init__()
        self.last: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._futures: dict[int, asyncio.Future[None]] = {}

    def push_message(self, mid: int, raw_package: bytes) -> None:
        """One is on its way."""
        super().push_message(mid, raw_package)
        self.last = self._futures[mid] = asyncio.get_running_loop().create_future()

    def remove_message_by_mid(self, mid: int) -> None:
        """One is confirmed."""
        super().remove_message_by_mid(mid)
        self._futures.pop(mid).set_result(None)


async def gmqtt(ports: Sequence[int], messages: int) -> None:
    clock, done, count = Clock(), asyncio.Event(), 0
    storage = Confirmations()
    options = {"receive_maximum": RECEIVE_MAXIMUM, "session_expiry_interval": 3600}
    a = Client(CLIENT, clean_session=False, optimistic_acknowledgement=False, **options)
    b = Client(CLIENT, persistent_storage=storage, **options)

    async def forward(
        _client: object, topic: str, payload: bytes, _qos: int, properties: dict[str, Any]
    ) -> int:
        nonlocal count
        clock.start()
        user = (
            {"user_property": properties["user_property"]} if "user_property" in properties else {}
        )
        b.publish(topic, payload, qos=1, **user)
        await storage.last
        count += 1
        if count == messages:
            asyncio.get_running_loop().call_soon(done.set)
        return 0

    a.on_message = forward
    subscribed = asyncio.Event()
    a.on_subscribe = lambda *_: subscribed.set()
    await b.connect("127.0.0.1", ports[1], version=MQTTv50)
    await a.connect("127.0.0.1", ports[0], version=MQTTv50)
    if messages:
        await done.wait()
        clock.stop()
    else:
        a.subscribe(TOPIC, qos=1)
        await subscribed.wait()
    await a.disconnect()
    await b.disconnect()


FORWARDERS = {"adapter": adapter, "gmqtt": gmqtt}


# --- brokers and load -----------------------------------------------------------------------


@contextmanager
def mosquitto(port: int, folder: Path) -> Iterator[int]:
    lines = [
        f"listener {port} 127.0.0.1",
        "allow_anonymous true",
        "set_tcp_nodelay true",
        "max_queued_messages 0",
        "max_inflight_messages 0",
        "user root" if os.getuid() == 0 else "",
    ]
    config = folder / f"{port}.conf"
    config.write_text("\n".join(lines))
    process = subprocess.Popen(
        ["mosquitto", "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(port)
        yield port
    finally:
        process.kill()
        process.wait()


def _wait(port: int) -> None:
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise TimeoutError(f"mosquitto does not answer on {port}")


def fill(port: int, headers: Headers) -> None:
    """Leave the messages in the broker for the forwarder, which is away."""
    properties, topic = properties_of(headers), topic_bytes(TOPIC)
    with socket.create_connection(("127.0.0.1", port), 10) as link:
        link.sendall(connect("publisher", clean=True, keep_alive_s=60))
        reader, confirmed = Reader(), 0
        for start in range(0, MESSAGES, 1000):
            packets = (publish(topic, PAYLOAD, properties, 2, n + 1) for n in range(1000))
            link.sendall(b"".join(b"".join(one) for one in packets))
            while confirmed < start + 1000:
                confirmed += sum(type(one) is Ack for one in reader.feed(link.recv(65_536)))


def forward(name: str, ports: Sequence[int], messages: int) -> dict[str, float]:
    command = [sys.executable, __file__, name, *map(str, ports), str(messages)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    found: dict[str, float] = json.loads(done.stdout) if messages else {}
    return found


def once(name: str, ports: Sequence[int], headers: Headers) -> tuple[float, float]:
    """Messages per second, and microseconds of CPU for each."""
    forward(name, ports, 0)
    fill(ports[0], headers)
    found = forward(name, ports, MESSAGES)
    return MESSAGES / found["seconds"], found["cpu_s"] * 1e6 / MESSAGES


def compare(headers: Headers, folder: Path) -> dict[str, Any]:
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in FORWARDERS}
    for turn in range(REPEATS):
        for name in FORWARDERS:
            print(f"  {name} ({turn + 1} of {REPEATS})", file=sys.stderr)
            with ExitStack() as stack:
                ports = [stack.enter_context(mosquitto(free_port(), folder)) for _ in range(2)]
                runs[name].append(once(name, ports, headers))
    rate = {name: median(one for one, _ in found) for name, found in runs.items()}
    cpu = {name: median(one for _, one in found) for name, found in runs.items()}
    return {
        "messages_per_s": {name: round(one) for name, one in rate.items()},
        "cpu_us_per_message": {name: round(one, 1) for name, one in cpu.items()},
        "times_the_throughput_of_gmqtt": round(rate["adapter"] / rate["gmqtt"], 2),
        "times_less_cpu_than_gmqtt": round(cpu["gmqtt"] / cpu["adapter"], 2),
    }


def free_port() -> int:
    for port in range(21_000, 32_000):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port")


def main() -> None:
    if shutil.which("mosquitto") is None:
        print("mosquitto is not installed (apt install mosquitto): skipped", file=sys.stderr)
        report("mqtt_client", skipped="mosquitto is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        found = {kind: compare(headers, Path(folder)) for kind, headers in KINDS.items()}
    report("mqtt_client", messages=MESSAGES, payload_bytes=len(PAYLOAD), **found)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        name, *numbers = sys.argv[1:]
        *ports, messages = map(int, numbers)
        asyncio.run(FORWARDERS[name](ports, messages))
    else:
        main()
