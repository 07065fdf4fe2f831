"""Small traces through the product's audit, as keys with names: in this process, and on Spark."""

import gzip
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.federation.facts import Federation
from ropewalk.pipeline.audit import control as of_control
from ropewalk.pipeline.audit import conversations, evidence, protocol
from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit.bucket import bucket
from ropewalk.pipeline.audit.contracts import contracts_of
from ropewalk.pipeline.audit.due import control_rows, due_rows, stretches_of, windows_of
from ropewalk.pipeline.audit.job import audit
from ropewalk.pipeline.audit.judge import judge
from ropewalk.pipeline.audit.results import result_of
from ropewalk.pipeline.ingest.job import ingest
from ropewalk.pipeline.shapes import VIOLATION_KEY
from ropewalk.trace.columns import IDENTITY, KIND, ROW, stored_schema, table_of, written_schema
from ropewalk.trace.ids import id_of
from tests.pipeline.oracle import judge as by_force
from tests.pipeline.oracle_due import tidy
from tests.pipeline.small_brinks import Row
from tests.pipeline.small_traces import Small, small_trace, split

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIXED = ("client", "producer", "node", "conversation")
OF_CONTROL = ("A011", "A012")
SORTED = ("topic", "node", "incarnation", "li")
Key = tuple[Any, ...]


def apart(trace: Small, seed: int) -> Small:
    """The trace with names of its own, so that it does not meet others."""
    rows = [
        {
            name: f"{seed}/{one}"
            if name == "topic"
            else f"{seed}-{one}"
            if name in PREFIXED
            else one
            for name, one in row.items()
        }
        for row in trace.rows
    ]
    topics = {f"{seed}/{name}": topic for name, topic in trace.federation.topics.items()}
    return replace(trace, rows=rows, federation=replace(trace.federation, topics=topics))


def ids_of_key(key: Key) -> Key:
    """The key of a violation with ids for names."""
    return (key[0], *(id_of(one) if isinstance(one, str) else one for one in key[1:]))


def stored(row: Row) -> Row:
    """A row as it is stored: ids for names."""
    numbers = {
        name: id_of(row[name]) if one.is_name and row[name] is not None else row[name]
        for name, one in ROW.items()
    }
    flags = {name: bool(row[name]) for name in ("durable", "redelivered")}
    return numbers | flags | {"kind": KIND[row["kind"]]}


def in_process(trace: Small, *, deadline_ns: int | None = None) -> set[Key]:
    """What the kernels find in a trace, without Spark; the evidence must be rows of it."""
    deadline = trace.deadline_ns if deadline_ns is None else deadline_ns
    rows = tidy(trace.rows)
    tables: dict[str, list[Row]] = {"events": [], "control": [], "samples": []}
    for row in rows:
        tables[table_of(row["kind"])].append(stored(row))
    seen: dict[tuple[int, int], int] = {}
    for row in rows:
        key = id_of(row["node"]), row["incarnation"]
        seen[key] = max(row["ts_ns"], seen.get(key, 0))
    horizon = max(seen.values())
    topics = {id_of(row["topic"]): row["topic"] for row in rows if row.get("topic")}
    control = control_rows(pa.Table.from_pylist(tables["control"], stored_schema("control")))
    windows, stretches = windows_of(control), stretches_of(control, seen, horizon)
    found = []
    unchecked = of_control.unchecked(control)
    if "A011" not in unchecked:
        lost = of_control.lost_subscriptions(windows, stretches, horizon, deadline)
        found.append(to.as_lines(lost))
    if "A012" not in unchecked:
        unheard = of_control.lost_advertisements(
            control, windows, stretches, horizon, deadline, topics
        )
        found.append(to.as_lines(unheard))
    if tables["events"]:
        names = sorted(trace.protocols)
        contracts = contracts_of(trace.federation, topics, names)
        due = due_rows(windows, stretches, horizon, topics)
        content = _parquet(tables["events"])
        one = bucket([content], contracts, due)
        found.append(judge(one, deadline).violations)
        automata = protocol.tables_of([trace.protocols[name] for name in names])
        nodes = protocol.nodes_of(seen)
        for _, piece in protocol.pieces(one.rows, one.topics, 0, nodes, automata, 3):
            off = conversations.judge([piece], automata, nodes).off
            places = evidence.wanted(off).get(0, [])
            found.append(evidence.violations(off, [evidence.rows_at(0, [content], places)]))
    return _keys(pa.concat_tables(found), rows)


def _parquet(rows: list[Row]) -> bytes:
    ordered = sorted(rows, key=lambda row: tuple(row[name] for name in SORTED))
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ordered, stored_schema("events")), sink)
    return sink.getvalue()


def _keys(violations: pa.Table, rows: Iterable[Row]) -> set[Key]:
    names = {
        id_of(row[name]): row[name]
        for row in rows
        for name, column in ROW.items()
        if column.is_name and row.get(name) is not None
    }
    there = {(id_of(row["node"]), row["incarnation"], row["li"]) for row in rows}
    keys = []
    for line in violations.to_pylist():
        proofs = [tuple(one[name] for name in IDENTITY) for one in line["evidence"]]
        assert proofs, line
        assert set(proofs) <= there, line
        keys.append(
            tuple(
                names[line[name]]
                if name not in ("code", "pseq") and line[name] is not None
                else line[name]
                for name in VIOLATION_KEY
            )
        )
    assert len(keys) == len(set(keys)), "a violation is told once"
    return set(keys)


def both_ways(
    spark: "SparkSession", seeds: Iterable[int], folder: Path
) -> tuple[set[Key], set[Key], dict[str, Any]]:
    """What the pipeline finds in small traces put together, and what brute force finds in each."""
    traces, expected, unchecked = together(seeds)
    found, summary = on_spark(spark, traces, folder)
    return {key for key in found if key[0] not in unchecked[trace_of(key)]}, expected, summary


def together(seeds: Iterable[int]) -> tuple[list[Small], set[Any], dict[str, set[str]]]:
    """Traces with names of their own, what brute force finds, and what it cannot check in which.

    All of them end at the same time: the horizon of all together is that of each.
    """
    traces: list[Small] = []
    expected: set[Key] = set()
    unchecked: dict[str, set[str]] = {}
    end = {"kind": "sample", "window_ns": 1, "messages_in": 0, "ts_ns": 9_000, "li": 0}
    for seed in seeds:
        one = apart(small_trace(seed), seed)
        one = replace(one, rows=[*one.rows, {**end, "node": f"{seed}-end"}])
        verdict = by_force(
            one.rows, one.federation, deadline_ns=one.deadline_ns, protocols=one.protocols
        )
        traces.append(one)
        expected |= verdict.violations
        unchecked[str(seed)] = {code for code, _ in verdict.unchecked if code in OF_CONTROL}
    return traces, expected, unchecked


def trace_of(key: tuple[Any, ...]) -> str:
    return str(key[1]).split("/")[0]


def on_spark(
    spark: "SparkSession", traces: Sequence[Small], folder: Path, *, files: int = 9
) -> tuple[set[Key], dict[str, Any]]:
    """What the whole pipeline finds in traces put together, from shuffled overlapping files.

    The second half of the files comes in a second run, so that the store has several files per
    bucket and rows that are in it already.
    """
    parts: list[list[Row]] = [[] for _ in range(files)]
    for seed, trace in enumerate(traces):
        for at, part in enumerate(split(trace.rows, seed)):
            parts[(seed + at) % files] += part
    half = files // 2
    for at, part in enumerate(parts):
        write_trace(folder / ("first" if at < half else "second") / f"part-{at}", part, at % 3)
    ingest(spark, [folder / "first"], folder / "store", buckets=4)
    done = ingest(spark, [folder / "first", folder / "second"], folder / "store")
    assert done.rows == sum(map(len, parts[half:])) == done.good + done.quarantined
    topics = {name: one for trace in traces for name, one in trace.federation.topics.items()}
    audited = audit(
        spark,
        done.store,
        Federation(name="together", brokers={}, topics=topics),
        deadline_ns=traces[0].deadline_ns,
        protocols=traces[0].protocols,
    )
    found = result_of(audited, done.store).violations
    columns = [found[name].to_pylist() for name in VIOLATION_KEY]
    keys = list(zip(*columns, strict=True))
    assert len(keys) == len(set(keys)), "a violation is told once"
    return set(keys), done.summary


def write_trace(path: Path, rows: Sequence[Row], form: int) -> Path:
    """A trace file as JSON lines, compressed ones, or Parquet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    given = [{name: one for name, one in row.items() if one is not None} for row in rows]
    text = "".join(json.dumps(row) + "\n" for row in given).encode()
    path = path.with_suffix((".jsonl", ".jsonl.gz", ".parquet")[form])
    if form == 2:
        pq.write_table(pa.Table.from_pylist(list(rows), written_schema()), path)
    else:
        path.write_bytes(gzip.compress(text) if form == 1 else text)
    return path
