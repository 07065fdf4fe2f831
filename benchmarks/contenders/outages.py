"""Why nothing came for a while: what was broken then, and where messages stood by the traces."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropewalk.agent.drive import DriveResult
from ropewalk.agent.drive.plan import Pair
from ropewalk.agent.drive.timing import Order
from ropewalk.pipeline.store import Store
from ropewalk.trace.columns import KIND
from ropewalk.trace.ids import id_of

EARLY_S = 0.05
"""An outage may begin so long before its fault is noted: with the last message before it."""
BACK_S = 3.0
"""Something that was killed takes so long at most, once it is healed, to be of use again."""
EDGE_NS = 10_000_000
"""What is noted so near to an outage's ends is not in it: clients and agents see things apart."""
SHOWN = 10

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Broken:
    """Something that was broken for a while, in seconds after the run's start."""

    what: str
    target: str
    since_s: float
    until_s: float

    @property
    def kind(self) -> str:
        """What was done to what, without names."""
        link = "link" if "--" in self.target else "broker"
        return f"{self.what} {'agent' if self.target.startswith('agent:') else link}"

    def at_an_end(self, pair: Pair) -> bool:
        """Whether the publisher's or the subscriber's own broker or agent is concerned."""
        return self.target.removeprefix("agent:") in (pair.stream.broker, pair.reader.broker)


def broken(orders: Iterable[Order], until_s: float) -> list[Broken]:
    """What was broken, and from when to when."""
    since: dict[str, tuple[str, float]] = {}
    found = []
    for order in orders:
        what, target = order.text.split(" ")[:2]
        if what != "heal":
            since[target] = what, order.at_s
        elif target in since:
            found.append(Broken(since[target][0], target, since.pop(target)[1], order.at_s))
    left = (Broken(what, target, at_s, until_s) for target, (what, at_s) in since.items())
    return [*found, *left]


class Stood:
    """When messages of each topic were accepted and delivered, by the agents' traces."""

    def __init__(self, store: Store) -> None:
        table = store.table("events", ["topic", "kind", "ts_ns"])
        if table is None:
            raise ValueError("the store has no messages")
        self._columns = {name: table[name].to_numpy() for name in table.column_names}

    def where(self, topic: str, since_ns: int, until_ns: int) -> str:
        """Where messages of a topic stood while none came."""
        accepted = self._count(topic, "accepted", since_ns, until_ns)
        delivered = self._count(topic, "deliver", since_ns, until_ns)
        if not accepted:
            return "nothing was accepted: the publisher's broker or agent was away"
        if not delivered:
            return "accepted and kept: there was no way to the subscriber's agent yet"
        return "at the subscriber's broker or client, or on its way there"

    def _count(self, topic: str, kind: str, since_ns: int, until_ns: int) -> int:
        rows = self._columns
        mine = (rows["topic"] == id_of(topic)) & (rows["kind"] == KIND[kind])
        times: Longs = rows["ts_ns"][mine]
        return int(np.count_nonzero((times > since_ns + EDGE_NS) & (times < until_ns - EDGE_NS)))


def explained(
    parts: Sequence[tuple[tuple[Order, ...], DriveResult]], store: Store
) -> dict[str, Any]:
    """Every outage of some runs: at an end, between the ends, or without a fault."""
    stood = Stood(store)
    lengths: dict[str, list[float]] = {"at an end": [], "between": [], "unexplained": []}
    places: dict[str, dict[str, int]] = {name: {} for name in lengths}
    strange = []
    by_fault: dict[str, list[float]] = {}
    for orders, result in parts:
        faults = broken(orders, result.seconds)
        for pair in result.pairs:
            for at_s, ms in pair.figures.outages:
                near = near_to(faults, at_s)
                why = cause(near, pair)
                begin_ns = result.began_ns + round(at_s * 1e9)
                where = stood.where(pair.stream.topic, begin_ns, begin_ns + round(ms * 1e6))
                lengths[why].append(ms)
                what = " + ".join(sorted({one.kind for one in near})) or "nothing"
                by_fault.setdefault(f"{what}, {why}", []).append(ms)
                places[why][where] = places[why].get(where, 0) + 1
                if why == "unexplained":
                    strange.append({"topic": pair.stream.topic, "at_s": at_s, "ms": ms})
    found: dict[str, Any] = {
        name: {
            "count": len(some),
            "median_ms": median(some) if some else None,
            "worst_ms": max(some, default=None),
            "messages_were": places[name],
        }
        for name, some in lengths.items()
    }
    each = {
        what: {"count": len(some), "median_ms": median(some), "worst_ms": max(some)}
        for what, some in sorted(by_fault.items())
    }
    return {**found, "by_fault": each, "strange": strange[:SHOWN]}


def near_to(faults: Iterable[Broken], at_s: float) -> list[Broken]:
    """What was broken then, or had been a moment before."""
    return [one for one in faults if one.since_s - EARLY_S <= at_s <= one.until_s + BACK_S]


def cause(near: Sequence[Broken], pair: Pair) -> str:
    """What an outage of a pair with such faults near comes from."""
    if any(one.at_an_end(pair) for one in near):
        return "at an end"
    return "between" if near else "unexplained"
