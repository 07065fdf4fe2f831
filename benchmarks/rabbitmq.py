"""What a message costs an agent at RabbitMQ: our adapter against aiormq on the same broker.

100 bytes and one header; publishing waits for the broker's confirm, consuming acknowledges. The
two take turns; medians. CPU is that of this process alone, the broker's is not in it.
"""

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import aiormq

from _measure import report
from ropewalk.agent.brokers.contract import Incoming, Outgoing
from ropewalk.agent.brokers.rabbitmq import RabbitLocal
from ropewalk.overlay.events import Burst

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.conformance.rabbit import Rabbit, program

OURS = 10_000
THEIRS = 4_000
REPEATS = 3
IN_FLIGHT = 512
PAYLOAD = b"x" * 100
QUEUES = ("_rw.in.ours", "rival")


class Counting:
    """Ears that count, and accept at once."""

    def __init__(self, rabbit: Rabbit, name: str, topics: Sequence[str]) -> None:
        self.taken = self.confirmed = 0
        self.changed = asyncio.Event()
        self.local = RabbitLocal(
            rabbit.access(name), self, topics=topics, declared=[], durable=topics, client=name
        )
        self.local.start()

    def burst(self, some: Burst) -> None:
        """One by one."""
        self.published(some.each())

    def published(self, messages: Sequence[Incoming]) -> None:
        """Accept."""
        self.taken += len(messages)
        self.local.accept([one.ticket for one in messages])
        self.changed.set()

    def delivered(self, count: int) -> None:
        """Count."""
        self.confirmed = count
        self.changed.set()

    def up(self) -> None:
        """Begin."""
        self.changed.set()

    def down(self, why: str) -> None:
        """Give up."""
        raise RuntimeError(why)

    def missing(self, patterns: frozenset[str]) -> None:
        """Nobody is waited for."""

    def heard(self, words: Sequence[bytes]) -> None:
        """Not here."""

    def subscribed(self, subscriber: str, pattern: str) -> None:
        """Not here."""

    def unsubscribed(self, subscriber: str, pattern: str) -> None:
        """Not here."""


async def publish_ours(rabbit: Rabbit, _: Any) -> None:
    ears = Counting(rabbit, "publisher", [])
    await ears.changed.wait()
    sent = 0
    while ears.confirmed < OURS:
        while sent < OURS and not ears.local.busy:
            ears.local.deliver([Outgoing("b/c", PAYLOAD, (("a", "b"),)) for _ in range(50)])
            sent += 50
        ears.changed.clear()
        await ears.changed.wait()
    await ears.local.close()


async def consume_ours(rabbit: Rabbit, _: Any) -> None:
    ears = Counting(rabbit, "ours", ["b/#"])
    while ears.taken < OURS:
        ears.changed.clear()
        await ears.changed.wait()
    await ears.local.close()


async def publish_rival(_: Rabbit, channel: Any) -> None:
    room = asyncio.Semaphore(IN_FLIGHT)
    said = aiormq.spec.Basic.Properties(headers={"a": "b"})

    async def one() -> None:
        async with room:
            await channel.basic_publish(
                PAYLOAD, exchange="amq.topic", routing_key="b.c", properties=said
            )

    await asyncio.gather(*(one() for _ in range(THEIRS)))


async def consume_rival(_: Rabbit, channel: Any) -> None:
    taken, done = 0, asyncio.Event()

    async def take(message: Any) -> None:
        nonlocal taken
        taken += 1
        await channel.basic_ack(message.delivery.delivery_tag, wait=False)
        if taken == THEIRS:
            done.set()

    await channel.basic_qos(prefetch_count=2048)
    consumer = await channel.basic_consume("rival", take)
    await done.wait()
    await channel.basic_cancel(consumer.consumer_tag)


Step = Callable[[Rabbit, Any], Awaitable[None]]
STEPS: dict[str, Step] = {
    "publish_ours": publish_ours,
    "consume_ours": consume_ours,
    "consume_aiormq": consume_rival,
    "publish_aiormq": publish_rival,
}


async def measure(rabbit: Rabbit) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in STEPS}
    connection = await aiormq.connect(f"amqp://guest:guest@127.0.0.1:{rabbit.port}/")
    channel = await connection.channel()
    ready = Counting(rabbit, "ours", ["b/#"])  # its queue stays
    await ready.changed.wait()
    await ready.local.close()
    await channel.queue_declare("rival", durable=True)
    await channel.queue_bind("rival", "amq.topic", "b.#")
    for _ in range(REPEATS):
        for name, step in STEPS.items():
            wall, cpu = time.perf_counter(), time.process_time()
            await step(rabbit, channel)
            took = time.perf_counter() - wall, time.process_time() - cpu
            found[name].append(took)
            print(f"  {name} {took[0]:.2f} s", file=sys.stderr)
        for queue in QUEUES:
            await channel.queue_purge(queue)
    await connection.close()
    return found


def main() -> None:
    if not program("rabbitmq-server"):
        report("rabbitmq", skipped="rabbitmq-server is not installed")
        return
    folder = Path(tempfile.mkdtemp())
    rabbit = Rabbit(folder)
    try:
        rabbit.start()
        found = asyncio.run(measure(rabbit))
    finally:
        rabbit.end()
        shutil.rmtree(folder)
    count = {name: OURS if name.endswith("ours") else THEIRS for name in STEPS}
    rates = {f"{n}_msgs_s": round(count[n] / median(w for w, _ in t)) for n, t in found.items()}
    costs = {n: median(c for _, c in took) / count[n] * 1e6 for n, took in found.items()}
    ratios = {
        f"{what}_cpu_ratio": round(costs[f"{what}_aiormq"] / costs[f"{what}_ours"], 1)
        for what in ("publish", "consume")
    }
    cpu = {f"{name}_cpu_us": round(cost, 1) for name, cost in costs.items()}
    report("rabbitmq", **rates, **cpu, **ratios)


if __name__ == "__main__":
    main()
