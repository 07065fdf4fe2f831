"""Traces that agents write, through ingest and audit: what went well is clean, what did not is told."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from ropewalk.federation.facts import Contract, Federation, Topic
from ropewalk.pipeline.audit.job import audit
from ropewalk.pipeline.audit.results import result_of
from ropewalk.pipeline.ingest.job import ingest
from tests.bench import federation
from tests.pipeline.traced import TracedBench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEADLINE_NS = 1_000_000_000
FEDERATION = federation(
    "a-b b-c",
    topics={
        "t": Topic(publishers=("a",), subscribers=("b", "c")),
        "once": Topic(
            publishers=("a", "c"),
            subscribers=("b", "c"),
            contract=Contract(delivery="exactly-once", order="fifo"),
        ),
        "all": Topic(
            publishers=("a", "c"), subscribers=("b", "c"), contract=Contract(order="total")
        ),
    },
)


@contextmanager
def subscribed(folder: Path, of: Federation = FEDERATION) -> Iterator[TracedBench]:
    """Agents whose clients at b and c have all topics."""
    bench = TracedBench(of, folder)
    for broker in ("b", "c"):
        for topic in of.topics:
            bench.subscribe(broker, topic)
    bench.run(200)
    yield bench
    bench.run(3_000)
    bench.close()


def found_in(spark: "SparkSession", traces: Path, of: Federation = FEDERATION) -> set[Any]:
    """Violations of a trace: code, topic, producer, pseq, consumer."""
    store = traces.with_name(f"store of {traces.name}")
    done = ingest(spark, [traces], store, buckets=1)
    assert done.quarantined == 0
    assert done.good > 100
    result = result_of(audit(spark, done.store, of, deadline_ns=DEADLINE_NS), done.store)
    assert not {one["code"] for one in result.summary["unchecked"]} & {"A001", "A004", "A007"}
    names = ("code", "topic", "producer", "pseq", "consumer")
    return set(zip(*(result.violations[one].to_pylist() for one in names), strict=True))


def changed(traces: Path, to: Path, node: str, change: Callable[[pa.Table], pa.Table]) -> Path:
    """A trace of which the rows of a node's first life are others."""
    copytree(traces, to)
    path = min((to / node).glob("*.parquet"))
    pq.write_table(change(pq.read_table(path)), path)
    return to


def delivery(rows: pa.Table, topic: str, producer: str, pseq: int) -> pa.ChunkedArray:
    told = {"kind": "deliver", "topic": topic, "producer": producer}
    here = pc.equal(rows["pseq"], pseq)
    for name, value in told.items():
        here = pc.and_(here, pc.equal(rows[name].cast(pa.string()), value))
    here = pc.fill_null(here, False)
    assert pc.sum(here).as_py() == 1
    return here


@pytest.mark.timeout(300)  # the first call compiles the kernels
def test_a_clean_run_is_clean_and_what_is_done_to_it_is_told(
    spark: "SparkSession", tmp_path: Path
) -> None:
    traces = tmp_path / "traces"
    with subscribed(traces) as bench:
        for topic in FEDERATION.topics:
            bench.publish("a", 30, topic=topic)
        bench.publish("c", 30, topic="all")
        bench.publish("c", 30, topic="once")
    assert found_in(spark, traces) == set()

    def without_one(rows: pa.Table) -> pa.Table:
        return rows.filter(pc.invert(delivery(rows, "t", "a~1", 7)))

    def with_one_twice(rows: pa.Table) -> pa.Table:
        again = rows.filter(delivery(rows, "once", "c~1", 9))
        at = rows.column_names.index("li")
        return pa.concat_tables([rows, again.set_column(at, "li", pc.add(again["li"], 1_000_000))])

    lost = changed(traces, tmp_path / "lost", "c", without_one)
    both = changed(lost, tmp_path / "both", "b", with_one_twice)
    assert found_in(spark, both) == {
        ("A001", "t", "a~1", 7, "at c"),
        ("A002", "once", "c~1", 9, "at b"),
    }


def crashing(folder: Path) -> None:
    """First an origin, then a reader crashes amid traffic, and comes back."""
    with subscribed(folder) as bench:
        for broker in ("a", "c"):
            bench.publish("a", 60, topic="once")
            bench.publish("a", 60, topic="t")
            bench.run(25.5)
            bench.crash(broker)
            bench.run(40)
            bench.start(bench.number[broker], incarnation=2)
            if broker == "c":
                for topic in FEDERATION.topics:
                    bench.subscribe(broker, topic)
            bench.run(3_000)


@pytest.mark.timeout(300)
def test_a_crash_of_origin_or_reader_is_not_misjudged(
    spark: "SparkSession", tmp_path: Path
) -> None:
    traces = tmp_path / "traces"
    crashing(traces)
    rows = pa.concat_tables(
        [pq.read_table(one) for one in (traces / "c").glob("*.parquet")], promote_options="default"
    )
    assert pc.sum(rows["redelivered"]).as_py() > 0, "the crash came between delivery and log"
    producers = set(rows["producer"].cast(pa.string()).drop_null().to_pylist())
    assert producers >= {"a~1", "a~2"}
    assert found_in(spark, traces) == set()

    def without_journal(rows: pa.Table) -> pa.Table:
        """Without what was in memory."""
        end_ns = pc.max(rows["ts_ns"]).as_py()
        return rows.filter(pc.less(rows["ts_ns"], end_ns - 20_000_000))

    poorer = changed(traces, tmp_path / "poorer", "c", without_journal)
    assert {one[0] for one in found_in(spark, poorer)} == {"A001"}, "these were saved"
