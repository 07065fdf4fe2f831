"""Latency: the probability of all pairs to be in time, against numpy in two forms.

`recursion` is the textbook one for a fixed time per hop and losses that are sent again each slot:
one array of all pairs per slot. `convolution` folds the hops of each pair's path with numpy.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from _measure import cpu_seconds, interleaved, report
from ropewalk.federation.facts import Federation, Jitter
from ropewalk.federation.generators import generate
from ropewalk.routing.table import shortest_rows
from ropewalk.verify.latency.arrivals import arrivals
from ropewalk.verify.latency.load import Load, idle
from ropewalk.verify.latency.model import Ground, Model
from ropewalk.verify.latency.result import latency
from ropewalk.verify.latency.times import Retry

MS = 1_000_000
SLOTS, STEPS, LOSS = 64, 12, 0.05
SAMPLE = 20
"""Destinations of the convolution by pairs at 500 brokers; its time is scaled up to all."""


def network(brokers: int) -> Federation:
    return generate("waxman", brokers=brokers, m=2, seed=1)


def rows_of(federation: Federation) -> Any:
    return np.asarray(shortest_rows(federation.graph), np.int32)


def geometric(federation: Federation) -> Model:
    """A slot per hop, and one more for each loss."""
    links = tuple(replace(one, latency_ms=1.0, loss=LOSS) for one in federation.links)
    given = replace(federation, links=links)
    return Ground(given, idle(given), Retry(MS), {}).model(STEPS * MS, MS)


def recursion(rows: Any) -> Any:
    """P(at most t slots) for t = 0, 1, ...: through with 1 - loss, else the same again."""
    brokers = len(rows)
    here = np.eye(brokers)
    to = np.arange(brokers)[:, None]
    for _ in range(STEPS):
        here = (1 - LOSS) * here[to, rows] + LOSS * here
        np.fill_diagonal(here, 1.0)
    return here


def spread_out(federation: Federation, *, busy: bool) -> Model:
    """Lognormal latencies of many means, losses, and brokers that are half busy."""
    jitter = Jitter(shape="lognormal", sd_ms=2.0)
    links = tuple(
        replace(one, latency_ms=3.0 + i % 7, loss=0.01, jitter=jitter)
        for i, one in enumerate(federation.links)
    )
    given = replace(federation, links=links)
    size = federation.graph.brokers
    load = Load(np.full(size, 200_000.0), np.full(size, 0.5)) if busy else idle(given)
    return Ground(given, load, Retry(100 * MS), {}).model(SLOTS * MS, MS)


def convolution(model: Model, rows: Any, destinations: int) -> Any:
    """The lower bound of each pair by itself: the hops of its path, one after the other."""
    found = np.zeros((destinations, len(rows)))
    for to in range(destinations):
        for source in range(len(rows)):
            total, base, at = model.start[source].late, model.start[source].base_ns, source
            while at != to:
                hop = model.hop[model.arc[at, int(rows[to, at])]]
                total = np.convolve(total, hop.late)[: SLOTS + 1]
                base, at = base + hop.base_ns, int(rows[to, at])
            most = (model.within_ns - base) // model.grid.slot_ns
            found[to, source] = total[: most + 1].sum() if most >= 0 else 0.0
    return found


def all_pairs(brokers: int) -> dict[str, Any]:
    federation = network(brokers)
    rows, to = rows_of(federation), np.arange(brokers, dtype=np.int32)
    plain = geometric(federation)
    wide, busy = (spread_out(federation, busy=one) for one in (False, True))
    some = min(brokers, SAMPLE) if brokers > 100 else brokers
    ours = arrivals(plain, rows, to)[:, :, 0]
    apart = {"geometric": float(abs(ours - recursion(rows)).max())}
    by_pair = convolution(busy, rows, some)
    apart["lognormal"] = float(abs(arrivals(busy, rows, to)[:some, :, 0] - by_pair).max())
    taken = interleaved(
        5,
        geometric=lambda: arrivals(plain, rows, to, threads=1),
        numpy_recursion=lambda: recursion(rows),
        lognormal=lambda: arrivals(wide, rows, to, threads=1),
        lognormal_busy=lambda: arrivals(busy, rows, to, threads=1),
        numpy_convolution=lambda: convolution(busy, rows, some),
    )
    scaled = taken["numpy_convolution"] * brokers / some
    low_only = max(taken["lognormal_busy"], 1e-3)
    return {
        "brokers": brokers,
        "pairs": brokers * (brokers - 1),
        "steps": STEPS,
        "slots": SLOTS,
        "cpu_s": taken,
        "model_cpu_s": round(cpu_seconds(lambda: spread_out(federation, busy=True).packed), 3),
        "largest_difference": apart,
        "recursion_over_ours": round(taken["numpy_recursion"] / max(taken["geometric"], 1e-3), 2),
        "convolution_cpu_s_all": round(scaled, 2),
        "convolution_over_ours": round(scaled / low_only, 1),
    }


def with_failures(brokers: int, pairs: int) -> dict[str, Any]:
    """Topics' pairs over failures of every link and broker, until the verdict is certain."""
    federation = generate("waxman", brokers=brokers, m=2, topics=pairs, seed=1)
    jitter = Jitter(shape="lognormal", sd_ms=1.0)
    federation = replace(
        federation,
        links=tuple(
            replace(one, latency_ms=4.0, loss=0.001, fails=0.001, jitter=jitter)
            for one in federation.links
        ),
        brokers={n: replace(one, fails=0.0005) for n, one in federation.brokers.items()},
    )
    found = []
    taken = cpu_seconds(lambda: found.append(latency(federation, within_ms=60)))
    result = found[0]
    cases = sum(one.cases for one in result.over.values())
    return {
        "brokers": brokers,
        "pairs": len(result.asks),
        "parts": len(result.failing.parts),
        "cases": cases,
        "missed": result.summary["missed_with_failures"],
        "undecided": result.summary["undecided"],
        "cpu_s": round(taken, 2),
    }


def main() -> None:
    with_failures(20, 20)  # kernels are compiled, or loaded
    report(
        "latency",
        fifty=all_pairs(50),
        five_hundred=all_pairs(500),
        with_failures=with_failures(200, 200),
    )


if __name__ == "__main__":
    main()
