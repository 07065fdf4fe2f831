"""Random federations with random faults: as many as there are seeds, each reproducible by its own.

A campaign is how the core earns its promises: small federations of every shape, contracts of every
kind, a few faults at once. What a seed breaks is shrunk and kept as a named schedule in the tests.
"""

from collections.abc import Iterator
from random import Random

from ropewalk.federation.facts import Broker as BrokerFacts
from ropewalk.federation.facts import Contract, Domain, Federation, Link, Topic
from ropewalk.overlay.simulate.plan import Plan
from ropewalk.overlay.simulate.run import Run, simulate
from ropewalk.overlay.simulate.schedule import Load, plan_of, random_faults

S = 1_000_000
CONTRACTS = (
    Contract(delivery="exactly-once", order="fifo"),
    Contract(delivery="at-least-once", order="fifo"),
    Contract(delivery="exactly-once", order="none"),
    Contract(delivery="at-most-once", order="fifo"),
    Contract(delivery="best-effort", order="none"),
    Contract(delivery="exactly-once", order="priority", priority=3),
    Contract(delivery="exactly-once", order="fifo", paths=2),
    Contract(delivery="at-least-once", order="none", retained=True),
)
TOTAL = (
    Contract(delivery="exactly-once", order="total", home="b1"),
    Contract(delivery="at-least-once", order="total", home="b2"),
)
TOTAL_SHARE = 0.2
"""Of the seeds: these federations have totally ordered topics only."""


def small_federation(seed: int) -> Federation:
    """Three to eight brokers on a ring, sometimes cut open, with some chords and some topics."""
    draw = Random(f"federation {seed}")  # noqa: S311  (nothing here is secret)
    count = draw.randint(3, 8)
    names = [f"b{i}" for i in range(count)]
    total = draw.random() < TOTAL_SHARE
    domains = count >= 5 and not total and draw.random() < 0.4
    topics = {f"t{k}": _topic(draw, names, total) for k in range(draw.randint(1, 4))}
    if domains:
        contract = Contract(delivery="exactly-once", order="fifo")
        topics["local"] = Topic(
            publishers=("b0",), subscribers=("b1",), scope="domain", contract=contract
        )
    return Federation(
        name=f"small-{seed}",
        brokers=dict.fromkeys(names, BrokerFacts()),
        domains={"d1": Domain(gateways=("b0", "b1")), "d2": Domain(gateways=("b2", "b3"))}
        if domains
        else {},
        links=tuple(_links(draw, names)),
        topics=topics,
    )


def _links(draw: Random, names: list[str]) -> Iterator[Link]:
    count = len(names)
    pairs = {(min(i, (i + 1) % count), max(i, (i + 1) % count)) for i in range(count)}
    for _ in range(draw.randint(0, count)):
        a, b = sorted(draw.sample(range(count), 2))
        pairs.add((a, b))
    if draw.random() < 0.2:
        pairs.discard((0, count - 1))
    for a, b in sorted(pairs):
        latency_ms = float(draw.choice((1, 2, 5, 10, 30)))
        yield Link(between=(names[a], names[b]), latency_ms=latency_ms)


def _topic(draw: Random, names: list[str], total: bool) -> Topic:
    return Topic(
        publishers=tuple(draw.sample(names, draw.randint(1, 2))),
        subscribers=tuple(draw.sample(names, draw.randint(1, 3))),
        contract=draw.choice(TOTAL if total else CONTRACTS),
    )


def plan_of_seed(federation: Federation, seed: int, *, duration_us: int = 2 * S) -> Plan:
    """One to five faults in so much time, with publishers and subscribers that come and go."""
    draw = Random(f"plan {seed}")  # noqa: S311  (nothing here is secret)
    faults = random_faults(federation, draw.randint(1, 5), seed=seed, duration_us=duration_us)
    rate = draw.choice((20.0, 100.0))
    burst = draw.choice((1, 1, 5))
    load = Load(rate_msgs_s=rate, duration_us=duration_us, late=0.2, leaving=0.1, burst=burst)
    return plan_of(federation, faults, load, seed=seed)


def run_of_seed(seed: int, *, duration_us: int = 2 * S) -> Run:
    """The run that a seed stands for."""
    federation = small_federation(seed)
    return simulate(federation, plan_of_seed(federation, seed, duration_us=duration_us))
