"""Why nothing came for a while: what was broken then, and what the agents' traces say of it.

An outage is explained if something was broken when it began or a moment before. Else the traces
have to tell: an agent was away (its next life began later), agents stood still themselves (their
samples say for how long), or messages were handed to the subscriber's broker all the while. The
clients' own process may have stood still, too; it says so itself. What is left is unexplained.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropewalk.agent.drive import DriveResult
from ropewalk.agent.drive.plan import Pair
from ropewalk.agent.drive.timing import Order
from ropewalk.agent.lab.targets import HEAL
from ropewalk.pipeline.store import Store
from ropewalk.trace.columns import KIND
from ropewalk.trace.ids import id_of

EARLY_S = 0.05
"""An outage may begin so long before its fault is noted: with the last message before it."""
BACK_S = 3.0
"""Something that was killed takes so long at most, once it is healed, to be of use again."""
EDGE_NS = 10_000_000
"""What is noted so near to an outage's ends is not in it: clients and agents see things apart."""
MOST_PART = 0.5
"""Of an outage, that stalls have to make up to explain it: one may follow the other."""
SHOWN = 10

AT_END, BETWEEN, AWAY = "at an end", "between", "agent away"
STOOD, CLIENTS, UNEXPLAINED = "agents stood still", "clients stood still", "unexplained"
WHYS = (AT_END, BETWEEN, AWAY, STOOD, CLIENTS, UNEXPLAINED)
KEPT = "accepted and kept: there was no way to the subscriber's agent yet"
NOTHING = "nothing was accepted: the publisher's broker or agent was away"
BEYOND = "at the subscriber's broker or client, or on its way there"

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
        if what != HEAL:
            since[target] = what, order.at_s
        elif target in since:
            found.append(Broken(since[target][0], target, since.pop(target)[1], order.at_s))
    left = (Broken(what, target, at_s, until_s) for target, (what, at_s) in since.items())
    return [*found, *left]


def near_to(faults: Iterable[Broken], at_s: float) -> list[Broken]:
    """What was broken then, or had been a moment before."""
    return [one for one in faults if one.since_s - EARLY_S <= at_s <= one.until_s + BACK_S]


@dataclass(frozen=True, slots=True)
class Lapse:
    """A time in which nothing came, in nanoseconds since 1970."""

    topic: str
    since_ns: int
    until_ns: int

    @property
    def length_ns(self) -> int:
        """How long it took."""
        return self.until_ns - self.since_ns


class Traces:
    """What the agents' traces say of a time."""

    def __init__(self, store: Store) -> None:
        self._events = _columns(store, "events", ("topic", "kind", "ts_ns", "node", "incarnation"))
        self._samples = _columns(store, "samples", ("node", "ts_ns", "window_ns", "stall_us"))
        self._absences = list(_absences(self._events))

    def where(self, lapse: Lapse) -> str:
        """Where messages of a topic stood while none came."""
        if not self._count("accepted", lapse):
            return NOTHING
        return BEYOND if self._count("deliver", lapse) else KEPT

    def away(self, lapse: Lapse) -> bool:
        """Whether an agent was between two lives when it began."""
        return any(since < lapse.since_ns + EDGE_NS < until for since, until in self._absences)

    def stood_ns(self, lapse: Lapse) -> int:
        """How long agents stood still then: the longest stall of each, added up."""
        rows = self._samples
        begin = rows["ts_ns"] - rows["window_ns"]
        here = (begin <= lapse.until_ns) & (rows["ts_ns"] >= lapse.since_ns)
        longest: dict[int, int] = {}
        for node, us in zip(rows["node"][here].tolist(), rows["stall_us"][here], strict=True):
            longest[node] = max(longest.get(node, 0), int(us))
        return 1_000 * sum(longest.values())

    def _count(self, kind: str, lapse: Lapse) -> int:
        rows = self._events
        mine = (rows["topic"] == id_of(lapse.topic)) & (rows["kind"] == KIND[kind])
        times = rows["ts_ns"][mine]
        inside = (times > lapse.since_ns + EDGE_NS) & (times < lapse.until_ns - EDGE_NS)
        return int(np.count_nonzero(inside))


def _columns(store: Store, table: Any, names: Sequence[str]) -> dict[str, Longs]:
    found = store.table(table, list(names))
    if found is None:
        raise ValueError(f"the store has no {table}")
    return {name: found[name].fill_null(0).to_numpy() for name in names}


def _absences(rows: dict[str, Longs]) -> Iterator[tuple[int, int]]:
    """From an agent's last row in one life to its first in the next."""
    for node in np.unique(rows["node"]).tolist():
        mine = rows["node"] == node
        lives, times = rows["incarnation"][mine], rows["ts_ns"][mine]
        spans = sorted(
            (int(times[lives == one].min()), int(times[lives == one].max()))
            for one in np.unique(lives).tolist()
        )
        for (_, ended), (began, _) in pairwise(spans):
            yield ended, began


def cause(near: Sequence[Broken], pair: Pair) -> str | None:
    """What an outage of a pair with such faults near comes from; None without any."""
    if any(one.at_an_end(pair) for one in near):
        return AT_END
    return BETWEEN if near else None


def without_fault(traces: Traces, result: DriveResult, lapse: Lapse) -> str:
    """What an outage with nothing broken near comes from."""
    if traces.away(lapse):
        return AWAY
    begin_s, end_s = ((ns - result.began_ns) / 1e9 for ns in (lapse.since_ns, lapse.until_ns))
    own = sum(ms for at, ms in result.stalls if at < end_s and at + ms / 1e3 > begin_s)
    if own * 1e6 >= MOST_PART * lapse.length_ns:
        return CLIENTS
    return STOOD if traces.stood_ns(lapse) >= MOST_PART * lapse.length_ns else UNEXPLAINED


def explained(results: Sequence[DriveResult], store: Store) -> dict[str, Any]:
    """Every outage of some runs, by what it comes from."""
    traces = Traces(store)
    lengths: dict[str, list[float]] = {name: [] for name in WHYS}
    places: dict[str, Counter[str]] = {name: Counter() for name in WHYS}
    by_fault: dict[str, list[float]] = {}
    strange = []
    for result in results:
        faults = broken(result.done, result.seconds)
        for pair in result.pairs:
            for at_s, ms in pair.figures.outages:
                begin_ns = result.began_ns + round(at_s * 1e9)
                lapse = Lapse(pair.stream.topic, begin_ns, begin_ns + round(ms * 1e6))
                near = near_to(faults, at_s)
                why = cause(near, pair) or without_fault(traces, result, lapse)
                lengths[why].append(ms)
                places[why][traces.where(lapse)] += 1
                what = " + ".join(sorted({one.kind for one in near})) or "nothing"
                by_fault.setdefault(f"{what}, {why}", []).append(ms)
                if why == UNEXPLAINED:
                    strange.append({"topic": lapse.topic, "at_s": at_s, "ms": ms})
    found: dict[str, Any] = {
        name: {**_figures(some), "messages_were": dict(places[name])}
        for name, some in lengths.items()
    }
    each = {what: _figures(some) for what, some in sorted(by_fault.items())}
    return {**found, "by_fault": each, "strange": strange[:SHOWN]}


def _figures(some: Sequence[float]) -> dict[str, Any]:
    return {
        "count": len(some),
        "median_ms": median(some) if some else None,
        "worst_ms": max(some, default=None),
    }
