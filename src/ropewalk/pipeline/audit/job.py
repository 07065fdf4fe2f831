"""The audit on Spark: each task is given the files of buckets as bytes, and tells what they prove.

What costs in Spark is rows that cross between the JVM and Python; here only files and violations
do. Messages of conversations are given away in pieces and gathered by conversation in a second
step of the same job. `plain` holds the same audits as DataFrame operations: slower, and the
form for tables that were not written by us.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from ropewalk.federation.facts import Federation
from ropewalk.pipeline.audit import control as of_control
from ropewalk.pipeline.audit import conversations, protocol
from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit.bucket import bucket
from ropewalk.pipeline.audit.contracts import NO_PROTOCOL, Contracts, contracts_of
from ropewalk.pipeline.audit.due import COLUMNS as CONTROL
from ropewalk.pipeline.audit.due import (
    Control,
    DueRows,
    Stretch,
    Window,
    control_rows,
    due_rows,
    stretches_of,
    windows_of,
)
from ropewalk.pipeline.audit.gathering import (
    ARROW_TOLD,
    PARTS,
    TOLD,
    Told,
    gathered,
    looked_up,
    rows_until,
    tables_told,
)
from ropewalk.pipeline.audit.judge import REASONS, judge
from ropewalk.pipeline.batches import Batches, batch, rows
from ropewalk.pipeline.ingest.packing import as_bytes
from ropewalk.pipeline.shapes import VIOLATIONS
from ropewalk.pipeline.store import Store, contents
from ropewalk.protocol.automaton import Automaton
from ropewalk.trace.columns import stored_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEADLINE_NS = 5_000_000_000
UNCHECKED = pa.schema([("code", pa.string()), ("topic", pa.int64()), ("reason", pa.string())])


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What an audit holds rows against: contracts, who is due what, protocols."""

    contracts: Contracts
    due: DueRows
    deadline_ns: int
    tables: protocol.Tables
    protocols: Sequence[str]
    nodes: protocol.Nodes
    control: Sequence[Control]
    windows: Sequence[Window]
    stretches: Mapping[int, Sequence[Stretch]]
    horizon: int
    topics: Mapping[int, str]
    until: int | None = None
    """Rows with a later time are left out."""


class Audited(NamedTuple):
    """All violations of a trace, what could not be checked, and how conversations ended."""

    violations: pa.Table
    unchecked: pa.Table
    conversations: Mapping[str, Mapping[str, int]]
    """By protocol; see `conversations.COUNTS`."""


def audit(
    spark: "SparkSession",
    store: Store,
    federation: Federation,
    *,
    deadline_ns: int = DEADLINE_NS,
    horizon_ns: int | None = None,
    protocols: Mapping[str, Automaton] | None = None,
) -> Audited:
    """Everything that the rows of a store prove against the contracts of a federation."""
    ground = ground_of(store, federation, deadline_ns, horizon_ns, protocols or {})
    return audited(spark, store, ground)


def audited(
    spark: "SparkSession", store: Store, ground: Ground, buckets: Collection[int] | None = None
) -> Audited:
    """What rows prove, of all buckets or some; what control rows prove is always told."""
    files = [
        one
        for one in store.manifest.files
        if one.table == "events" and (buckets is None or one.bucket in buckets)
    ]
    if not files:
        return _gathered(ARROW_TOLD.empty_table(), ground, [])
    told = judged(contents(spark, store.folder, files), ground)
    if (ground.contracts.protocol != NO_PROTOCOL).any():
        told = gathered(told, ground.tables, ground.nodes)
    found = told.toArrow()
    off = _joined(list(tables_told(found, "off")), conversations.OFF)
    return _gathered(found, ground, [looked_up(spark, store, files, off, ground.until)])


def ground_of(
    store: Store,
    federation: Federation,
    deadline_ns: int = DEADLINE_NS,
    horizon_ns: int | None = None,
    protocols: Mapping[str, Automaton] | None = None,
    until_ns: int | None = None,
) -> Ground:
    """What rows are held against; small beside them, and sent along with the work.

    With `until_ns`, rows with a later time prove only that their node was still there.
    """
    names = store.names("topic")
    seen = store.last_seen()
    horizon = max(seen.values(), default=0)
    horizon = horizon if horizon_ns is None else min(horizon, horizon_ns)
    table = store.table("control", CONTROL)
    control = control_rows(stored_schema("control").empty_table() if table is None else table)
    if until_ns is not None:
        control = [row for row in control if row.ts <= until_ns]
    windows = windows_of(control)
    stretches = stretches_of(control, seen, horizon)
    due = due_rows(windows, stretches, horizon, names)
    automata = dict(sorted((protocols or {}).items()))
    contracts = contracts_of(federation, names, automata)
    tables = protocol.tables_of(list(automata.values()))
    return Ground(
        contracts,
        due,
        deadline_ns,
        tables,
        list(automata),
        protocol.nodes_of(seen),
        control,
        windows,
        stretches,
        horizon,
        names,
        until_ns,
    )


def judged(files: "DataFrame", ground: Ground) -> "DataFrame":
    """The files of buckets (bucket, content), judged; messages of conversations given away."""
    contracts, due, deadline = ground.contracts, ground.due, ground.deadline_ns
    until, nodes, tables = ground.until, ground.nodes, ground.tables

    def told(number: int, files: list[bytes]) -> Iterator[Told]:
        one = bucket(files, contracts, due)
        found = judge(one, deadline)
        if len(found.violations):
            yield Told(0, "violations", as_bytes(found.violations))
        if found.unchecked:
            yield Told(0, "unchecked", as_bytes(_unchecked(found.unchecked)))
        for part, piece in protocol.pieces(one.rows, one.topics, number, nodes, tables, PARTS):
            yield Told(part, "conversations", piece)

    def run(batches: Batches) -> Batches:
        for number, group in groupby(rows(batches), lambda row: row[0]):
            files = list(rows_until((content for _, content in group), until))
            # What one bucket took up is free before the next is read: new memory costs as much.
            for row in told(number, files) if files else ():
                yield batch(ARROW_TOLD, row)

    return files.mapInArrow(run, TOLD)


def _gathered(told: pa.Table, ground: Ground, more: Sequence[pa.Table]) -> Audited:
    """What all tasks told, with what control rows prove, and what more was found."""
    missing = of_control.unchecked(ground.control)
    everything = ground.windows, ground.stretches, ground.horizon, ground.deadline_ns
    proved: list[to.Proved] = []
    if to.name(to.LOST_SUBSCRIPTION) not in missing:
        proved += of_control.lost_subscriptions(*everything)
    if to.name(to.LOST_ADVERTISEMENT) not in missing:
        proved += of_control.lost_advertisements(ground.control, *everything, ground.topics)
    lines = [{"code": code, "topic": None, "reason": why} for code, why in missing.items()]
    missed = pa.Table.from_pylist(lines, UNCHECKED)
    return Audited(
        _joined([*tables_told(told, "violations"), *more, to.as_lines(proved)], VIOLATIONS),
        _joined([*tables_told(told, "unchecked"), missed], UNCHECKED),
        conversations.total(tables_told(told, "counts"), ground.protocols),
    )


def _joined(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    whole = pa.concat_tables([schema.empty_table(), *tables], promote_options="default")
    return whole.sort_by([(name, "ascending") for name in schema.names if name != "evidence"])


def _unchecked(found: Sequence[tuple[int, int]]) -> pa.Table:
    lines = [(to.name(code), topic, REASONS[code]) for code, topic in found]
    return pa.table(list(map(list, zip(*lines, strict=True))), schema=UNCHECKED)
