"""Schemes side by side: how much they recover, how far round they send it, what they keep."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from typing import TYPE_CHECKING, get_args

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph
from ropewalk.federation.facts import Federation
from ropewalk.routing.all_pairs import Ground, ground_of
from ropewalk.routing.rivals.configurations import multiple_configurations
from ropewalk.routing.rivals.layers import resilient_layers
from ropewalk.routing.rivals.lfa import lfa
from ropewalk.routing.rivals.notvia import not_via
from ropewalk.routing.rivals.redundant import redundant_trees
from ropewalk.routing.rivals.remote import remote_lfa
from ropewalk.routing.rivals.scheme import Failures, Scheme
from ropewalk.routing.rivals.score import Tally, score
from ropewalk.routing.rivals.segments import ti_lfa
from ropewalk.routing.trees import NOWHERE, Longs
from ropewalk.routing.workers import slices, spread

if TYPE_CHECKING:
    import pandas as pd

MOST_LAYERS = 64
BLOCK = 64
"""Destinations that are looked at together."""


@dataclass(frozen=True, slots=True)
class Row:
    """A scheme against one kind of failure; shares and stretches are of recoverable cases."""

    scheme: str
    failures: Failures
    cases: int
    """Pairs and failures where the failure is on the pair's path and its ends stay connected."""
    recovered: int
    coverage: float | None
    stretch_mean: float | None
    stretch_p95: float | None
    stretch_max: float | None
    entries: float
    """Per broker, besides its table."""
    tables: int
    """Whole tables among them."""
    labels: int
    """Most that a message is given."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What each scheme does for a federation."""

    federation: Federation
    rows: Sequence[Row]

    def row(self, scheme: str, failures: Failures = "links") -> Row:
        """The row of a scheme."""
        return next(r for r in self.rows if (r.scheme, r.failures) == (scheme, failures))

    def frame(self) -> "pd.DataFrame":
        """A row per scheme and kind of failure."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])


def compare(
    federation: Federation, *, layers: Sequence[int] = (4,), failures: Failures | None = None
) -> Comparison:
    """All schemes on a federation, for every single link and every single broker that fails.

    `layers`: how many layers RRL and MRC have, a row for each. Raises UsageError where there is
    nothing to compare or too much.

    >>> from ropewalk.federation.generators import generate
    >>> rows = compare(generate("ring", brokers=6), failures="links")
    >>> rows.row("PCRT").coverage, round(rows.row("LFA").coverage, 3)
    (1.0, 0.111)
    """
    graph = federation.graph
    if not graph.links:
        raise UsageError("the federation has no links: there is nothing to repair")
    for count in layers:
        if not 1 <= count <= MOST_LAYERS:
            raise UsageError(f"{count} layers: it must be from 1 to {MOST_LAYERS}")
    ground = ground_of(graph)
    schemes = schemes_of(graph, ground, layers)
    kinds = [failures] if failures else get_args(Failures)
    return Comparison(federation, [row for kind in kinds for row in _rows(ground, schemes, kind)])


def schemes_of(graph: Graph, ground: Ground, layers: Sequence[int]) -> list[Scheme]:
    """The rivals, in the order of the table."""
    return [
        lfa(ground),
        remote_lfa(ground),
        ti_lfa(ground),
        not_via(ground),
        *(one for count in layers for one in reversed(resilient_layers(graph, ground, count))),
        *(multiple_configurations(graph, ground, count) for count in layers),
        redundant_trees(ground),
    ]


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """What came of all cases, and what was kept for it, by scheme."""

    tally: Tally
    entries: Longs
    labels: Longs

    def add(self, other: "Measured") -> "Measured":
        """This one, with what another one has counted."""
        self.tally.add(other.tally)
        self.entries[:] += other.entries
        self.labels[:] = np.maximum(self.labels, other.labels)
        return self


def _rows(ground: Ground, schemes: Sequence[Scheme], failures: Failures) -> Iterator[Row]:
    # Who switches at the source comes last: so the kernels count.
    ours = sorted((s for s in schemes if failures in s.protects), key=lambda s: s.repair is None)
    found = _measured(ground, ours, failures)
    cases, brokers = int(found.tally.cases[0]), len(ground.arc)
    patches = float(found.tally.changed[0] / brokers)
    full = 1.0 if cases else None
    yield Row("PCRT", failures, cases, cases, full, full, full, full, patches, 0, 0)
    for one in (one for one in schemes if one in ours):
        k = ours.index(one)
        recovered, total, most = found.tally.by_scheme[k].tolist()
        yield Row(
            scheme=one.name,
            failures=failures,
            cases=cases,
            recovered=recovered,
            coverage=recovered / cases if cases else None,
            stretch_mean=total / recovered if recovered else None,
            stretch_p95=found.tally.p95(k),
            stretch_max=most if recovered else None,
            entries=float(found.entries[k] / brokers) if one.entries is None else one.entries,
            tables=one.tables,
            labels=int(found.labels[k]),
        )


def _measured(ground: Ground, schemes: Sequence[Scheme], failures: Failures) -> Measured:
    """All destinations, a block at a time, spread over the cores."""
    blocks = list(slices(len(ground.arc), len(ground.arc) // BLOCK + 1))

    def work(first: int, last: int) -> Measured:
        parts = (_one_block(ground, schemes, failures, *block) for block in blocks[first:last])
        return reduce(Measured.add, parts)

    return reduce(Measured.add, spread(work, len(blocks)))


def _one_block(
    ground: Ground, schemes: Sequence[Scheme], failures: Failures, start: int, stop: int
) -> Measured:
    repairs = [one.repair(failures, start, stop) for one in schemes if one.repair]
    by_source = [one.at_source for one in schemes if one.at_source]
    entries, labels = np.zeros((2, len(schemes)), np.int64)
    for k, one in enumerate(repairs):
        entries[k] = one.entries()
        labels[k] = 0 if one.labels is None else one.labels.max()
    shape = (0, stop - start, len(ground.arc))
    costs = np.array([one.cost for one in repairs]).reshape(-1, *shape[1:])
    layers, layer_of_link = np.zeros(shape, np.int64), np.zeros((0, len(ground.ends)), np.int32)
    for source in by_source:
        own = np.where(source.layer_of_link < 0, NOWHERE, source.layer_of_link + len(layers))
        layer_of_link = np.vstack((layer_of_link, own.astype(np.int32)))
        layers = np.concatenate((layers, source.cost(start, stop)))
    tally = score(ground, start, costs, layers, layer_of_link, brokers=failures == "brokers")
    return Measured(tally, entries, labels)
