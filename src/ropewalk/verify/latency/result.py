"""Verdicts: which pairs keep what their contracts say of time, with and without failures."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Bools, Ints
from ropewalk.federation.facts import Federation, Histogram
from ropewalk.findings import Finding
from ropewalk.routing.scenarios import scenarios_of
from ropewalk.routing.table import Table, shortest_rows
from ropewalk.routing.trees import Longs, fill_rows
from ropewalk.verify.bridges import apart
from ropewalk.verify.check import Check, prepare
from ropewalk.verify.demand import demand_of, every_pair
from ropewalk.verify.latency.arrivals import arrivals
from ropewalk.verify.latency.asked import Asks, asks_of
from ropewalk.verify.latency.failing import Failing, Overall, Value, overall, parts_of
from ropewalk.verify.latency.load import Load, Rate, idle, load_of
from ropewalk.verify.latency.model import Ground, Model
from ropewalk.verify.latency.times import NS, Reals, Retry
from ropewalk.verify.latency.ways import Bounds, Brokers, in_time
from ropewalk.verify.paths import follow, row_of
from ropewalk.verify.takeover import Homes, homes_of

if TYPE_CHECKING:
    import pandas as pd

SLOTS, FINER, ROUNDS = 64, 4, 3
"""Slots of a bound to begin with; where they do not decide, so many times more, so often."""
MOST_SLOTS = 1 << 16
CASES, MORE_CASES = 300, 5_000
"""Failures of a pair that are looked at, and where these do not decide."""
FEW, MANY = 100, 50_000
"""Beyond few pairs, failures are followed until the verdict is certain; beyond many, not at all."""
ROWS = 256
"""Destinations that are looked at together: their probabilities are kept meanwhile."""
HAIR = 1e-12
"""What floating point may cost."""
RETRY = Retry(100 * NS)
"""When agents send a frame again that the neighbour did not acknowledge (`frame_again_us`)."""

Outcome = Literal["ok", "findings", "undecided"]


@dataclass(frozen=True, eq=False, repr=False)
class Latency:
    """The probability of every pair that was asked after to be in time, as bounds."""

    check: Check
    ground: Ground
    asks: Asks
    bounds: Reals
    """Low and high with nothing failed, a row per ask."""
    slot_ns: Longs
    """The slots by which each was decided, or not."""
    failing: Failing
    over: Mapping[int, Overall]
    """The same over failures, of those asks that were looked at so."""
    load: Load
    bridged: int
    """Pairs of clients that only bridges join: nothing is said of them."""
    _models: dict[tuple[int, int], Model] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Latency of {self.check.federation.name}: {self.outcome}>"

    @cached_property
    def missed(self) -> Bools:
        """Asks that are not kept with nothing failed."""
        return np.asarray(self.bounds[:, 1] < self.asks.wanted - HAIR)

    @cached_property
    def missed_over(self) -> Bools:
        """Asks that are kept with nothing failed, and not over failures."""
        wanted, missed = self.asks.wanted, self.missed
        found = np.zeros(len(self.asks), np.bool_)
        for row, one in self.over.items():
            found[row] = not missed[row] and one.high < wanted[row] - HAIR
        return found

    @cached_property
    def undecided(self) -> Bools:
        """Asks of which neither could be shown."""
        wanted = self.asks.wanted - HAIR
        found = (self.bounds[:, 0] < wanted) & ~self.missed
        for row, one in self.over.items():
            found[row] |= not self.missed[row] and one.low < wanted[row] <= one.high
        return np.asarray(found)

    @property
    def with_failures(self) -> bool:
        """Whether failures were looked at, or nothing can fail."""
        return bool(self.over) or not self.failing.parts or not len(self.asks)

    @property
    def outcome(self) -> Outcome:
        """Findings, or undecided, or ok."""
        if self.missed.any() or self.missed_over.any():
            return "findings"
        return "undecided" if self.undecided.any() else "ok"

    @property
    def ok(self) -> bool:
        """Whether all was decided and nothing is missed."""
        return self.outcome == "ok"

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Pairs that miss what they owe, the worst first."""
        from ropewalk.verify.latency.told import findings_of

        return tuple(findings_of(self))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """How many pairs keep what they owe, the worst of them, and how sure that is."""
        from ropewalk.verify.latency.told import summary_of

        return summary_of(self)

    def model(self, row: int) -> Model:
        """The model by which an ask was decided."""
        return _model(
            self._models, self.ground, int(self.asks.within_ns[row]), int(self.slot_ns[row])
        )

    def frame(self) -> "pd.DataFrame":
        """A row per pair and promise, with its bounds."""
        import pandas as pd

        names, asks = np.array(self.check.graph.names, dtype=object), self.asks
        over = [self.over.get(row) for row in range(len(asks))]
        return pd.DataFrame(
            {
                "from": names[asks.source],
                "to": names[asks.to],
                "within_ms": asks.within_ns / NS,
                "probability": asks.wanted,
                "low": self.bounds[:, 0],
                "high": self.bounds[:, 1],
                "low_with_failures": [np.nan if one is None else one.low for one in over],
                "high_with_failures": [np.nan if one is None else one.high for one in over],
            }
        )


def latency(
    federation: Federation,
    *,
    pairs: Literal["topics", "all"] | None = None,
    table: Table | None = None,
    within_ms: float | None = None,
    probability: float | None = None,
    slot_ms: float | None = None,
    retry: Retry = RETRY,
    rates: Mapping[str, Rate] | None = None,
    measured: Mapping[str, Histogram] | None = None,
) -> Latency:
    """The probability that messages arrive in time, of every pair that owes it.

    `within_ms` and `probability` are for topics whose contract does not say, and for all pairs of
    brokers. `rates` of topics make brokers busy; `measured` latencies of links stand in for those
    of the file. Raises UsageError where nothing says how soon messages have to arrive.

    >>> from ropewalk import generate
    >>> found = latency(generate("six-broker"), pairs="all", within_ms=50)
    >>> found.ok, found.bounds.min().item()
    (True, 1.0)
    """
    check, bridged = _check(federation, pairs, table)
    asks = asks_of(
        federation,
        check.demand,
        everything=not check.moving,
        within_ms=within_ms,
        probability=probability,
    )
    load = load_of(check, rates) if rates else idle(federation)
    ground = Ground(federation, load, retry, dict(measured or {}))
    fixed = None if slot_ms is None else max(round(slot_ms * NS), 1)
    models: dict[tuple[int, int], Model] = {}
    bounds, slots = _nothing_failed(check, asks, ground, fixed, models)
    nobody: list[tuple[int, ...]] = [()] * check.graph.brokers
    homes = homes_of(federation) if check.moving else Homes(nobody, nobody)
    failing = Failing(check, parts_of(federation), homes)
    over = _over_failures(failing, asks, ground, slots, fixed, models)
    return Latency(check, ground, asks, bounds, slots, failing, over, load, bridged, models)


def _check(federation: Federation, pairs: str | None, table: Table | None) -> tuple[Check, int]:
    """What is owed over links with nothing failed, and how much only bridges carry."""
    everything = pairs == "all" or (pairs is None and not federation.topics)
    demand, bridged = every_pair(federation), 0
    if not everything:
        demand, others = apart(federation, demand_of(federation))
        bridged = others.pairs
    scenarios = scenarios_of(federation, "none")
    return prepare(federation, scenarios, demand, table=table, moving=not everything), bridged


def slot_for(within_ns: int, retry_ns: int, slots: int) -> int:
    """A slot of about a part of the bound; where one divides the time of a retry, that one.

    >>> slot_for(250_000_000, 100_000_000, 64)
    3125000
    """
    slot = max(within_ns // slots, 1)
    if retry_ns < within_ns:
        least = -(-retry_ns // slot)
        whole = next((n for n in range(least, 2 * least) if retry_ns % n == 0), None)
        slot = slot if whole is None else retry_ns // whole
    return max(slot, 1)


def _model(
    models: dict[tuple[int, int], Model], ground: Ground, within_ns: int, slot_ns: int
) -> Model:
    if within_ns // slot_ns > MOST_SLOTS:
        raise UsageError(
            f"{within_ns / NS:g} ms are more than {MOST_SLOTS:,} slots of {slot_ns / NS:g} ms:"
            " give a larger --slot-ms"
        )
    key = within_ns, slot_ns
    if key not in models:
        models[key] = ground.model(within_ns, slot_ns)
    return models[key]


def _slots(within_ns: int, ground: Ground, fixed: int | None) -> Iterator[int]:
    """Slots to try, ever finer; a slot that was given is the only one."""
    for turn in range(1 if fixed is not None else ROUNDS + 1):
        yield fixed or slot_for(within_ns, ground.retry.after_ns, SLOTS * FINER**turn)


def _nothing_failed(
    check: Check,
    asks: Asks,
    ground: Ground,
    fixed: int | None,
    models: dict[tuple[int, int], Model],
) -> tuple[Reals, Longs]:
    """Bounds of every ask, and the slots that they were found by."""
    bounds, slots = np.zeros((len(asks), 2)), np.zeros(len(asks), np.int64)
    tables = Tables(check)
    for within in np.unique(asks.within_ns).tolist():
        todo = np.flatnonzero(asks.within_ns == within).astype(np.int64)
        for slot in _slots(within, ground, fixed):
            model = _model(models, ground, within, slot)
            slots[todo] = slot
            bounds[todo] = _bounds(model, tables, asks, todo)
            wanted = asks.wanted[todo] - HAIR
            todo = todo[(bounds[todo, 0] < wanted) & (bounds[todo, 1] >= wanted)]
            if not len(todo) or model.exact:
                break
    return bounds, slots


def _bounds(model: Model, tables: "Tables", asks: Asks, todo: Longs) -> Reals:
    """Bounds of some asks by one model: all by trees, then those over two paths by themselves."""
    found = np.zeros((len(todo), 2))
    number, rows, to = tables.of(asks.source[todo], asks.to[todo])
    for start in range(0, len(rows), ROWS):
        some = arrivals(model, rows[start : start + ROWS], to[start : start + ROWS])
        here = (number >= start) & (number < start + ROWS)
        found[here] = some[number[here] - start, asks.source[todo[here]]]
    for i, row in enumerate(todo.tolist()):
        if second := asks.second_of(row):
            first = tables.path(rows[number[i]], int(asks.source[row]), int(asks.to[row]))
            found[i] = in_time(model, [one for one in (first, second) if one])
    return found


class Tables:
    """Rows of next hops with nothing failed, only of destinations that are asked after."""

    def __init__(self, check: Check) -> None:
        self.check = check
        self._rows: dict[tuple[int, int], Ints] = {}

    def of(self, source: Ints, to: Ints) -> tuple[Longs, Ints, Ints]:
        """For each pair the number of its row; then the rows and their destinations."""
        check = self.check
        if not check.federation.routes and check.table is None:
            ends, place_of = np.unique(to, return_inverse=True)
            number = place_of.astype(np.int64)
            if len(ends) == check.graph.brokers:
                return number, np.asarray(shortest_rows(check.graph), np.int32), ends
            rows = np.empty((len(ends), check.graph.brokers), np.int32)
            for i, end in enumerate(ends.tolist()):
                fill_rows(check.net, end, end + 1, rows[i : i + 1], end)
            return number, rows, ends
        pairs = zip(source.tolist(), to.tolist(), strict=True)
        keys = [(d, check.group_of(d, s)) for s, d in pairs]
        place = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        for end, group in place:
            if (end, group) not in self._rows:
                self._rows[end, group] = row_of(check, end, 0, group)[0]
        size = check.graph.brokers
        rows = np.array([self._rows[key] for key in place], np.int32).reshape(-1, size)
        number = np.array([place[key] for key in keys], np.int64)
        return number, rows, np.array([key[0] for key in place], np.int32)

    def path(self, row: Ints, source: int, to: int) -> Brokers:
        """Where a row leads from a source, or nothing."""
        found = follow(self.check, row, source, to)
        return found.brokers if found.arrives else ()


def _over_failures(
    failing: Failing,
    asks: Asks,
    ground: Ground,
    slots: Longs,
    fixed: int | None,
    models: dict[tuple[int, int], Model],
) -> dict[int, Overall]:
    """The same over all that may fail, unless there are too many pairs."""
    if not failing.parts or len(asks) > MANY:
        return {}
    few = len(asks) <= FEW
    known: dict[tuple[int, int, tuple[Brokers, ...]], Bounds] = {}

    def search(row: int, value: Value, most: int, wanted: float | None) -> Overall:
        ends = int(asks.source[row]), int(asks.to[row])
        return overall(failing, ends, asks.second_of(row), value, most=most, wanted=wanted)

    found = {}
    for row in range(len(asks)):
        within, wanted = int(asks.within_ns[row]), float(asks.wanted[row]) - HAIR
        finer = [one for one in _slots(within, ground, fixed) if one < slots[row]]
        for turn, slot in enumerate([int(slots[row]), *finer]):

            def value(paths: tuple[Brokers, ...], within: int = within, slot: int = slot) -> Bounds:
                key = within, slot, paths
                if key not in known:
                    known[key] = in_time(_model(models, ground, within, slot), paths)
                return known[key]

            one = search(row, value, CASES, None if few and not turn else wanted)
            if one.low < wanted <= one.high:
                one = search(row, value, MORE_CASES, wanted)
            found[row] = one
            # Finer slots help only where slots, not failures left out, keep the bounds apart.
            if not one.low < wanted <= one.high or one.rest > (one.high - one.low) / 2:
                break
    return found
