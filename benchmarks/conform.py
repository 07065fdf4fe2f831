"""Conformance of conversations: `benchmarks/conform.py [ROWS]`, ten million without a number.

The kernel over encoded ids, conversations all mixed, against a loop over a dict and against a pass
over the same bytes; and the whole job on Spark against Spark's own scan of the same columns. The
trace is made once and kept in the temporary folder.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ropewalk
from _measure import report
from ropewalk.pipeline.audit import protocol
from ropewalk.pipeline.audit.conform import conformance
from ropewalk.pipeline.audit.conversations import judge, run
from ropewalk.pipeline.audit.gathering import PARTS
from ropewalk.pipeline.ingest.job import ingest
from ropewalk.pipeline.session import session
from ropewalk.pipeline.store import Store, open_store
from ropewalk.protocol import automaton
from ropewalk.protocol.reading import load_automata

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPEATS = 7
LENGTH, NODES, TOPICS = 20, 8, 1_000
WRONG = 1e-4
CACHE = Path(tempfile.gettempdir()) / "ropewalk-bench"
DEAL = """\
protocol: deal
initial: idle
accepting: [offered]
transitions:
  - idle -> asked: request
  - asked -> offered: offer
  - offered -> asked: request
"""
FEDERATION = """\
federation: talk
brokers: {n0: }
protocols: {deal: deal.yaml}
topics: {'#': {publishers: [n0], protocol: deal, contract: {delivery: best-effort, order: none}}}
"""


def talk(rows: int, seed: int = 1) -> tuple[Any, Any]:
    """Conversations of twenty messages, all mixed; a wrong letter now and then."""
    random = np.random.default_rng(seed)
    count = rows // LENGTH
    conversation = random.permutation(np.repeat(np.arange(count), LENGTH))
    step = np.empty(rows, np.int64)
    step[np.argsort(conversation, kind="stable")] = np.tile(np.arange(LENGTH), count)
    letter = step % 2
    wrong = random.random(rows) < WRONG
    return conversation, np.where(wrong, 1 - letter, letter)


# --- the kernel ---------------------------------------------------------------------------------


def kernel(rows: int) -> dict[str, Any]:
    """Rows per second on one core."""
    conversation, letter = talk(rows)
    codes, letters = conversation.astype(np.int32), letter.astype(np.int16)
    tables, nodes = protocol.tables_of([automaton(DEAL)]), protocol.nodes_of({(1, 0): 0})
    states, left = np.zeros(rows // LENGTH, np.int32), np.full(rows // LENGTH, -1, np.int32)
    pieces = given_away(conversation, letters)
    few = 1_000_000
    plain = list(zip(codes[:few].tolist(), letters[:few].tolist(), strict=True))
    calls: dict[str, Callable[[], object]] = {
        "kernel": lambda: run(codes, letters, tables.step, states.copy(), left),
        "gathered": lambda: [judge([piece], tables, nodes) for piece in pieces],
        "scan": lambda: (int(codes.sum(dtype=np.int64)), int(letters.sum(dtype=np.int64))),
        "dict": lambda: by_dict(plain, tables.step.tolist()),
    }
    seconds = in_turns(calls)
    off = int((left >= 0).sum())
    assert off == sum(len(judge([piece], tables, nodes).off) for piece in pieces)
    return {
        "rows": rows,
        "conversations": len(states),
        "left_their_protocol": off,
        "million_rows_per_s": round(rows / seconds["kernel"] / 1e6, 1),
        "gathered_and_put_in_order_first": round(rows / seconds["gathered"] / 1e6, 1),
        "over_one_pass": round(seconds["kernel"] / seconds["scan"], 1),
        "faster_than_dict": round(seconds["dict"] / few * rows / seconds["kernel"], 1),
    }


def given_away(conversation: Any, letters: Any) -> list[bytes]:
    """The same rows as buckets give them away, by part."""
    said = np.zeros(len(letters), protocol.SAID)
    said["key"], said["letter"] = (conversation + 1) * 0x9E3779B97F4A7C1, letters
    said["ts"] = said["li"] = said["at"] = np.arange(len(letters))
    head = np.zeros(protocol.HEADS, protocol.SAID).tobytes()
    return [head + said[conversation % PARTS == one].tobytes() for one in range(PARTS)]


def by_dict(rows: list[tuple[int, int]], step: list[list[int]]) -> int:
    """The rival: a dict of states, row by row."""
    states: dict[int, int] = {}
    off = 0
    for conversation, letter in rows:
        state = states.get(conversation, 0)
        if state >= 0:
            states[conversation] = state = step[state][letter]
            off += state < 0
    return off


# --- through Spark ------------------------------------------------------------------------------


def prepared(spark: "SparkSession", rows: int) -> Path:
    """The same conversations as a trace in a store, over many topics and nodes."""
    folder = CACHE / f"talk-{rows:.0e}"
    if not (folder / "store" / "manifest.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "traces").mkdir(parents=True)
        (folder / "deal.yaml").write_text(DEAL)
        (folder / "federation.yaml").write_text(FEDERATION)
        conversation, letter = talk(rows)
        node = conversation % NODES
        for one in range(NODES):
            rows_here = np.flatnonzero(node == one)
            table = traced(one, rows_here, conversation[rows_here], letter[rows_here])
            pq.write_table(table, folder / "traces" / f"n{one}.parquet")
        ingest(spark, [folder / "traces"], folder / "store")
        shutil.rmtree(folder / "traces")
    return folder


def traced(node: int, at: Any, conversation: Any, letter: Any) -> pa.Table:
    """Rows as an agent records them."""
    topic = (conversation * 7 + letter) % TOPICS
    return pa.table(
        {
            "ts_ns": 10**18 + at * 1_000,
            "node": named(np.zeros(len(at)), [f"n{node}"]),
            "li": np.arange(len(at)),
            "kind": named(np.zeros(len(at)), ["publish"]),
            "topic": named(topic, [f"t{i}" for i in range(TOPICS)]),
            "producer": named(topic, [f"p{node}-{i}" for i in range(TOPICS)]),
            "pseq": np.arange(len(at)),
            "conversation": named(conversation, [f"c{i}" for i in range(conversation.max() + 1)]),
            "label": named(letter, ["request", "offer"]),
        }
    )


def named(codes: Any, names: list[str]) -> pa.Array:
    """Names by number."""
    codes = pa.array(codes.astype(np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array(names)).cast(pa.string())


def scan(spark: "SparkSession", store: Store) -> int:
    """Spark's own pass over the columns that conformance reads."""
    frame = spark.read.parquet(*store.paths("events")).selectExpr(
        *(f"sum(cast({one} as bigint) % 1000) as {one}" for one in protocol.COLUMNS)
    )
    return int(frame.collect()[0][0])


def through_spark(rows: int) -> dict[str, Any]:
    """The whole job against Spark's own scan, in turns."""
    spark = session("local[2]")
    folder = prepared(spark, rows)
    store, federation = open_store(folder / "store"), ropewalk.load(folder / "federation.yaml")
    protocols = load_automata(federation.protocols, folder)
    found = conformance(spark, store, federation, protocols)
    seconds = in_turns(
        {
            "scan": lambda: scan(spark, store),
            "conformance": lambda: conformance(spark, store, federation, protocols),
        },
        clock=time.perf_counter,
    )
    spark.stop()
    return {
        "rows": store.manifest.rows["events"],
        "conversations": found.conversations["deal"],
        "seconds": {name: round(one, 2) for name, one in seconds.items()},
        "over_scan": round(seconds["conformance"] / seconds["scan"], 2),
    }


def in_turns(
    calls: dict[str, Callable[[], object]], clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Median seconds of each call, in turns; the first turn warms up and does not count."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(REPEATS + 1):
        for name, call in calls.items():
            start = clock()
            call()
            if turn:
                taken[name].append(clock() - start)
        print(f"  turn {turn} of {REPEATS}", file=sys.stderr)
    return {name: median(each) for name, each in taken.items()}


def main() -> None:
    rows = int(float(sys.argv[1])) if sys.argv[1:] else 10_000_000
    report("conform", kernel=kernel(rows), spark=through_spark(rows))


if __name__ == "__main__":
    main()
