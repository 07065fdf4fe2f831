"""What links carry, and the brokers' own figures per minute, from their true parameters."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.pipeline.generate.kernels import Ints
from ropewalk.pipeline.generate.plan import MINUTE, SECOND, TOPIC_KINDS
from ropewalk.pipeline.generate.scene import Scene
from ropewalk.trace.columns import KIND

OUTLIERS = 0.02
NOISE = 0.02


def link_numbers(scene: Scene) -> tuple[Ints, Ints]:
    """Messages that left their origin and the links they took; only of topics that tell it."""
    brokers, made = scene.world.brokers, scene.made
    told = np.array([one.forwards for one in TOPIC_KINDS])[made.kind] & made.kept
    message = made.message[told]
    origin = scene.world.streams.node[scene.messages.stream[message]]
    hop = brokers.next_hop[origin, made.node[told]]
    away = hop != origin
    number = np.full((len(brokers.names),) * 2, -1, np.int64)
    for place, (a, b) in enumerate(brokers.links):
        number[a, b] = number[b, a] = place
    links = len(brokers.links)
    pairs = _once(message[away] * links + number[origin[away], hop[away]])
    return pairs // links, pairs % links


def samples_of(rng: np.random.Generator, scene: Scene) -> dict[str, npt.NDArray[Any]]:
    """Sample rows of a slice: T = t_rcv + n_fltr * t_fltr + r * t_tx, with noise and outliers."""
    brokers, nodes = scene.world.brokers, scene.world.size.brokers
    first, end = scene.span.begin // MINUTE, scene.span.end // MINUTE
    minutes = end - first
    received, sent, size_in, size_out = _traffic(scene, first, minutes)
    node = np.tile(np.arange(nodes), minutes)
    held = np.bincount(
        scene.world.clients.node[scene.world.subscriptions.client, 0], minlength=nodes
    )[node]
    filters = np.maximum(held, 4) * rng.uniform(0.5, 1.5, node.size)
    each = brokers.receive_us[node] + filters * brokers.filter_us[node]
    cpu = received * each + sent * brokers.send_us[node]
    cpu *= 1 + NOISE * rng.normal(size=node.size)
    wild = rng.random(node.size) < OUTLIERS
    cpu = np.where(wild, cpu * rng.uniform(1.5, 4, node.size), cpu)
    service = cpu / np.maximum(received, 1)
    busy = np.minimum(cpu / (MINUTE / 1000), 0.95)
    minute = np.repeat(np.arange(first, end), nodes)
    return {
        "time": (minute + 1) * MINUTE - 20_000 + node * 1_024,
        "node": node,
        "kind": np.full(node.size, KIND["sample"]),
        "window_ns": np.full(node.size, 60 * SECOND),
        "messages_in": received,
        "messages_out": sent,
        "subscriptions": held,
        "filters": filters.round(2),
        "delay_us": (service / (1 - busy)).round(3),
        "store_bytes": (size_in * rng.uniform(0.05, 0.2, node.size)).astype(np.int64),
        "cpu_us": cpu.round(1),
        "memory_bytes": (2e8 + 1e5 * held + 1e6 * rng.random(node.size)).astype(np.int64),
        "bytes_in": size_in,
        "bytes_out": size_out,
    }


def _traffic(scene: Scene, first: int, minutes: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Messages in and copies out, and their bytes, of each minute and broker.

    A message counts at its origin, and at every other broker that delivers it; what is sent are
    deliveries, and one copy to each of those brokers. All count when they were published.
    """
    made, messages, nodes = scene.made, scene.messages, scene.world.size.brokers
    origin = scene.world.streams.node[messages.stream]
    cell = (messages.time // MINUTE - first) * nodes
    kept = made.kept
    message, node = made.message[kept], made.node[kept]
    away = node != origin[message]
    copies = _once(message[away] * nodes + node[away])
    copied, there = copies // nodes, copies % nodes
    into = np.concatenate([cell + origin, cell[copied] + there])
    out = np.concatenate([cell[message] + node, cell[copied] + origin[copied]])
    size_in = np.concatenate([messages.size, messages.size[copied]])
    size_out = np.concatenate([messages.size[message], messages.size[copied]])
    wide = minutes * nodes
    return (
        np.bincount(into, minlength=wide),
        np.bincount(out, minlength=wide),
        np.bincount(into, size_in, minlength=wide).astype(np.int64),
        np.bincount(out, size_out, minlength=wide).astype(np.int64),
    )


def _once(numbers: Ints) -> Ints:
    """Small numbers once each, in order; faster than sorting where they lie densely."""
    seen = np.zeros(int(numbers.max(initial=-1)) + 1, bool)
    seen[numbers] = True
    return np.flatnonzero(seen)
