"""The audit on Spark: each task is given the files of buckets as bytes, and tells what they prove.

What costs in Spark is rows that cross between the JVM and Python; here only files and violations
do. Messages of conversations are given away in pieces and gathered by conversation in a second
step of the same job. `plain` holds the same audits as DataFrame operations: slower, and the
form for tables that were not written by us.
"""

import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ropewalk.federation.facts import Federation
from ropewalk.pipeline.audit import control as of_control
from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit import protocol
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
from ropewalk.pipeline.audit.judge import REASONS, judge
from ropewalk.pipeline.batches import Batches, batch, one_by_one, parquet_files, rows
from ropewalk.pipeline.ingest.packing import as_bytes, from_bytes
from ropewalk.pipeline.shapes import VIOLATIONS
from ropewalk.pipeline.store import Store, contents
from ropewalk.protocol.automaton import Automaton
from ropewalk.trace.columns import stored_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEADLINE_NS = 5_000_000_000
TOLD = "part int, what string, content binary"
ARROW_TOLD = pa.schema([("part", pa.int32()), ("what", pa.string()), ("content", pa.binary())])
UNCHECKED = pa.schema([("code", pa.string()), ("topic", pa.int64()), ("reason", pa.string())])
PARTS = 64
"""Into how many parts conversations are cut."""


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What an audit holds rows against: contracts, who is due what, protocols."""

    contracts: Contracts
    due: DueRows
    deadline_ns: int
    tables: protocol.Tables
    control: Sequence[Control]
    windows: Sequence[Window]
    stretches: Mapping[int, Sequence[Stretch]]
    horizon: int
    topics: Mapping[int, str]
    until: int | None = None
    """Rows with a later time are left out."""


class Told(NamedTuple):
    """What a task tells: violations, what it could not check, or messages of conversations."""

    part: int
    what: str
    content: bytes


class Audited(NamedTuple):
    """All violations of a trace, and what could not be checked."""

    violations: pa.Table
    unchecked: pa.Table


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
        return _gathered(ARROW_TOLD.empty_table(), ground)
    told = judged(contents(spark, store.folder, files), ground)
    if (ground.contracts.protocol != NO_PROTOCOL).any():
        told = conversations_judged(told, ground.tables)
    return _gathered(told.toArrow(), ground)


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
    until = ground.until

    def told(files: list[bytes]) -> Iterator[Told]:
        one = bucket(files, contracts, due)
        found = judge(one, deadline)
        if len(found.violations):
            yield Told(0, "violations", as_bytes(found.violations))
        if found.unchecked:
            yield Told(0, "unchecked", as_bytes(_unchecked(found.unchecked)))
        for part, content in protocol.pieces(one.rows, one.topics, PARTS):
            yield Told(part, "conversations", content)

    def run(batches: Batches) -> Batches:
        for _, group in groupby(rows(batches), lambda row: row[0]):
            files = list(rows_until((content for _, content in group), until))
            # What one bucket took up is free before the next is read: new memory costs as much.
            for row in told(files) if files else ():
                yield batch(ARROW_TOLD, row)

    return files.mapInArrow(run, TOLD)


def rows_until(files: Iterable[bytes], until: int | None) -> Iterator[bytes]:
    """Files without rows of a later time; one that has none is passed on as it is."""
    for content in files if until is None else chain.from_iterable(map(one_by_one, files)):
        if until is None:
            yield content
            continue
        for file in parquet_files(content):
            if _latest(file.metadata) <= until:
                yield content
                continue
            table = file.read(use_threads=False)
            table = table.filter(pc.less_equal(table["ts_ns"], until))
            if len(table):
                sink = io.BytesIO()
                pq.write_table(table, sink, compression="none", use_dictionary=False)
                yield sink.getvalue()


def _latest(file: pq.FileMetaData) -> int:
    """The latest time in a file, by its own statistics."""
    column = file.schema.names.index("ts_ns")
    groups = [file.row_group(at).column(column) for at in range(file.num_row_groups)]
    return max((one.statistics.max for one in groups), default=0)


def conversations_judged(told: "DataFrame", tables: protocol.Tables) -> "DataFrame":
    """Conversations gathered and judged; all else as it was told."""

    def run(batches: Batches) -> Batches:
        for (part, what), group in groupby(rows(batches), lambda row: (row[0], row[1])):
            contents = [content for _, _, content in group]
            if what == "conversations":
                found = protocol.judge_conversations(contents, tables)
                if len(found):
                    yield batch(ARROW_TOLD, (part, "violations", as_bytes(found)))
                continue
            for content in contents:
                yield batch(ARROW_TOLD, (part, what, content.to_pybytes()))

    # Without a number Spark chooses as few tasks as the conversations need: mostly one a core.
    gathered = told.repartition("part").sortWithinPartitions("part", "what")
    return gathered.mapInArrow(run, TOLD)


def _gathered(told: pa.Table, ground: Ground) -> Audited:
    """What all tasks told, with what control rows prove."""
    parts: dict[str, list[pa.Table]] = {"violations": [], "unchecked": []}
    for what, content in zip(told["what"].to_pylist(), told["content"], strict=True):
        parts[what].append(from_bytes(content.as_buffer()))
    missing = of_control.unchecked(ground.control)
    everything = ground.windows, ground.stretches, ground.horizon, ground.deadline_ns
    proved: list[to.Proved] = []
    if to.name(to.LOST_SUBSCRIPTION) not in missing:
        proved += of_control.lost_subscriptions(*everything)
    if to.name(to.LOST_ADVERTISEMENT) not in missing:
        proved += of_control.lost_advertisements(ground.control, *everything, ground.topics)
    lines = [{"code": code, "topic": None, "reason": why} for code, why in missing.items()]
    return Audited(
        _joined([*parts["violations"], to.as_lines(proved)], VIOLATIONS),
        _joined([*parts["unchecked"], pa.Table.from_pylist(lines, UNCHECKED)], UNCHECKED),
    )


def _joined(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    whole = pa.concat_tables([schema.empty_table(), *tables], promote_options="default")
    return whole.sort_by([(name, "ascending") for name in schema.names if name != "evidence"])


def _unchecked(found: Sequence[tuple[int, int]]) -> pa.Table:
    lines = [(to.name(code), topic, REASONS[code]) for code, topic in found]
    return pa.table(list(map(list, zip(*lines, strict=True))), schema=UNCHECKED)
