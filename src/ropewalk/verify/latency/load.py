"""How busy brokers are, and how long a message keeps one at work.

Without rates a message costs a broker its `capacity` for one filter and one copy, and waits for
nobody. With rates, every message of a topic is followed from its publishers to all its
subscribers: each broker on the way takes it in once and sends a copy over each link and to each
client.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ropewalk.federation.facts import Federation, Performance
from ropewalk.federation.topics import held, is_pattern
from ropewalk.verify.check import Check
from ropewalk.verify.latency.times import Reals
from ropewalk.verify.paths import path_in

NS_PER_US = 1_000
FREE = Performance(receive_us=0.0, filter_us=0.0, send_us=0.0)
"""Of a broker whose capacity is not known."""


@dataclass(frozen=True, eq=False, slots=True)
class Load:
    """By broker: the work of a message on average, and the part of its time it works."""

    service_ns: Reals
    utilisation: Reals


@dataclass(frozen=True, slots=True)
class Rate:
    """What is known of a topic's messages."""

    msgs_s: float
    filters: float = 1.0


def idle(federation: Federation) -> Load:
    """Brokers that have nothing else to do."""
    costs = [one.capacity or FREE for one in federation.brokers.values()]
    service = [one.service_us(filters=1, replication=1) * NS_PER_US for one in costs]
    return Load(np.array(service), np.zeros(len(service)))


def load_of(check: Check, rates: Mapping[str, Rate]) -> Load:
    """Brokers under these rates, with nothing failed."""
    federation = check.federation
    alone = idle(federation)
    costs = [one.capacity or FREE for one in federation.brokers.values()]
    arrivals, work_us = np.zeros(len(costs)), np.zeros(len(costs))
    rate_of = _by_topic(tuple(federation.topics), rates)
    for topic, source, copies in _spread(check):
        rate = rate_of.get(topic)
        if rate is None:
            continue
        share = rate.msgs_s / max(len(federation.topics[topic].publishers), 1)
        for broker, sent in copies.items():
            arrivals[broker] += share * source[1]
            each = costs[broker].service_us(filters=rate.filters, replication=sent)
            work_us[broker] += share * source[1] * each
    busy = arrivals > 0
    service = np.where(busy, work_us / np.where(busy, arrivals, 1) * NS_PER_US, alone.service_ns)
    return Load(service, work_us / 1e6)


def _spread(check: Check) -> Iterable[tuple[str, tuple[int, int], dict[int, int]]]:
    """Topic, publishing broker with its publishers, and the copies that each broker sends."""
    demand = check.demand
    trees: dict[tuple[int, int], tuple[set[tuple[int, int]], dict[int, int]]] = {}
    for pair in range(len(demand.to)):
        source, to = int(demand.source[pair]), int(demand.to[pair])
        arcs = set(pairwise(path_in(check, source, to).brokers))
        for topic in demand.topic_numbers(pair):
            links, clients = trees.setdefault((topic, source), (set(), {}))
            links |= arcs
            clients[to] = clients.get(to, 0) + 1
    table = check.federation.topic_table
    for (topic, source), (links, clients) in trees.items():
        ours = table.publisher[table.first_publisher[topic] : table.first_publisher[topic + 1]]
        many = max(int((ours == source).sum()), 1)
        copies = dict.fromkeys((source, *(one[1] for one in links)), 0)
        for tail, _ in links:
            copies[tail] = copies.get(tail, 0) + 1
        for broker, count in clients.items():
            # A client pair stands in the demand once for each publisher at the source.
            copies[broker] = copies.get(broker, 0) + count // many
        yield demand.topic_names[topic], (source, many), copies


def _by_topic(topics: tuple[str, ...], rates: Mapping[str, Rate]) -> dict[str, Rate]:
    """Rates of the file's topics: a pattern has those of all names that it stands for."""
    found = {name: rates[name] for name in topics if name in rates}
    taken = set(topics)
    for pattern, name in held([one for one in topics if is_pattern(one)], tuple(rates)):
        if name not in taken:
            taken.add(name)  # of several patterns the first of the file has it
            before, one = found.get(pattern, Rate(0.0)), rates[name]
            total = before.msgs_s + one.msgs_s
            mixed = before.msgs_s * before.filters + one.msgs_s * one.filters
            found[pattern] = Rate(total, mixed / total if total else 1.0)
    return found
