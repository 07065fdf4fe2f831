"""Streams on Spark: after every batch what the log tells is what a batch job finds, also after kills."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from ropewalk.errors import UsageError
from ropewalk.pipeline.audit.job import audit, audited, ground_of
from ropewalk.pipeline.folders import alone
from ropewalk.pipeline.ingest.checking import checked
from ropewalk.pipeline.ingest.counting import Run
from ropewalk.pipeline.ingest.job import ingest, take_in
from ropewalk.pipeline.ingest.reading import parsed
from ropewalk.pipeline.store import binary_files, open_store
from ropewalk.pipeline.stream import step
from ropewalk.pipeline.stream.job import Streamed, run
from ropewalk.pipeline.stream.kept import last_step, load, log
from ropewalk.pipeline.stream.pulling import gap
from ropewalk.pipeline.stream.sources import Folder, Growing, JetStream
from ropewalk.pipeline.stream.step import Plan, catch_up, take_batch, taken_in
from tests.pipeline.nats_server import binary, make, send, server
from tests.pipeline.small_brinks import DEADLINE_NS
from tests.pipeline.stream_traces import (
    WINDOW_NS,
    Growth,
    Key,
    as_lines,
    growth,
    net,
    net_rates,
    put,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELAY_NS = 250
POINTS = ("taken in", "manifest", "kept", "told")
"""Where a step is killed: after each of the things that it leaves on disk."""


class KilledError(Exception):
    """Stands for a kill: nothing of the step is done after it."""


def dies_at(point: str) -> Callable[[str], None]:
    def pause(at: str) -> None:
        if at == point:
            raise KilledError(point)

    return pause


@pytest.fixture(scope="module")
def many() -> Growth:
    return growth(range(1000, 1012), len(POINTS))


def stream(
    spark: "SparkSession", source: Growing, folder: Path, trace: Growth, **options: Any
) -> Streamed:
    given = {"once": True, "delay_ns": DELAY_NS, "buckets": 4, **options}
    return run(
        spark,
        source,
        folder,
        trace.federation,
        window_ns=WINDOW_NS,
        deadline_ns=DEADLINE_NS,
        protocols=trace.protocols,
        **given,
    )


def keys(lines: set[Key]) -> set[Key]:
    return {line[:6] for line in lines}


def check(stage: Path, trace: Growth, parts: int) -> None:
    """The laws: what was told is what brute force finds, up to the watermark."""
    mark = load(stage).figures.watermark_ns
    assert keys(net(stage)) == trace.verdict(parts, mark)
    assert net_rates(stage) == trace.rates(parts, mark)
    tables = {name: pq.read_table(stage / f"{name}.parquet") for name in ("violations", "rates")}
    assert len(tables["violations"]) == len(net(stage))
    assert {
        (one["topic"], one["window"]): one["messages"] for one in tables["rates"].to_pylist()
    } == net_rates(stage)


def whole(table: Any) -> set[Key]:
    return {(*list(one.values())[:7], json.dumps(one["evidence"])) for one in table.to_pylist()}


def test_a_stream_that_is_killed_anywhere_tells_what_a_batch_job_finds(
    spark: "SparkSession", many: Growth, tmp_path: Path
) -> None:
    incoming, folder = tmp_path / "in", tmp_path / "store"
    incoming.mkdir()
    stage = folder / "stream"
    for number, part in enumerate(many.parts):
        half = len(part) // 2
        put(incoming, f"{9 - number}-a.jsonl", part[:half])
        put(incoming, f"{9 - number}-b.jsonl", part[half:])
        (incoming / "_note.jsonl").write_text("not a trace")
        (incoming / "x.jsonl.part").write_text("not whole")
        with pytest.raises(Exception, match=POINTS[number]):
            stream(spark, Folder(incoming), folder, many, pause=dies_at(POINTS[number]))
        stream(spark, Folder(incoming), folder, many)
        assert last_step(stage) == number, "a step is told once"
        check(stage, many, number + 1)
    store = open_store(folder)
    assert len(store.manifest.sources) == 2 * len(many.parts)

    mark = load(stage).figures.watermark_ns
    ground = ground_of(store, many.federation, DEADLINE_NS, mark, many.protocols, mark)
    judged = audited(spark, store, ground)
    assert net(stage) == whole(judged.violations)
    assert load(stage).unchecked.equals(judged.unchecked)

    done = stream(spark, Folder(incoming), folder, many, delay_ns=0)
    assert done.batches == 1
    check(stage, many, len(many.parts))
    everything = audit(
        spark, store, many.federation, deadline_ns=DEADLINE_NS, protocols=many.protocols
    )
    assert net(stage) == whole(everything.violations)
    assert load(stage).violations.equals(everything.violations)
    assert done.violations == len(everything.violations) > 50
    heads = [line for line in log(stage) if line["op"] == "batch"]
    assert sum(line["withdrawn"] for line in heads), "no late row corrected anything"
    assert sum(line["corrected"] for line in heads)
    assert stream(spark, Folder(incoming), folder, many, delay_ns=0).batches == 0


CHILD = """
import os, signal, sys
from pathlib import Path
from ropewalk.pipeline.quick import quick_options
from ropewalk.pipeline.session import session
from ropewalk.pipeline.stream.sources import Folder
from tests.pipeline.stream_traces import growth
from tests.pipeline.test_stream import stream

def pause(at):
    if at == sys.argv[2] and (Path(sys.argv[1]) / "store/stream/changes/batch-000000.jsonl").exists():
        os.kill(os.getpid(), signal.SIGKILL)

spark = session("local[2]", **{"spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": quick_options()})
base = Path(sys.argv[1])
stream(spark, Folder(base / "in", files_per_batch=1), base / "store", growth(range(1000, 1004), 2), pause=pause)
"""


def test_a_process_that_is_killed_goes_on_where_it_was(
    spark: "SparkSession", tmp_path: Path
) -> None:
    few = growth(range(1000, 1004), 2)
    (tmp_path / "in").mkdir()
    for number, part in enumerate(few.parts):
        put(tmp_path / "in", f"{number}.jsonl", part)
        os.utime(tmp_path / "in" / f"{number}.jsonl", (1000 + number, 1000 + number))
    root = Path(__file__).parents[2]
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), "kept"],
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"},
        capture_output=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr.decode()[-2000:]
    stage = tmp_path / "store" / "stream"
    assert last_step(stage) == 0
    assert len(open_store(tmp_path / "store").manifest.sources) == 2
    done = stream(spark, Folder(tmp_path / "in", files_per_batch=1), tmp_path / "store", few)
    assert (done.batches, last_step(stage)) == (1, 1)
    check(stage, few, 2)


@pytest.mark.skipif(binary() is None, reason="no nats-server is installed")
def test_messages_of_a_stream_are_taken_in_once(spark: "SparkSession", tmp_path: Path) -> None:
    few = growth(range(1004, 1008), 2)
    folder = tmp_path / "store"
    with server(tmp_path / "nats") as url:
        make(url, "TRACE")
        first, second = ([as_lines(part[at::4]) for at in range(4)] for part in few.parts)
        send(url, "TRACE", first)
        source = JetStream(url, "TRACE", messages_per_batch=3)

        def dies_and_more_comes(at: str) -> None:
            if at == "manifest":
                send(url, "TRACE", second)
                raise KilledError(at)

        with pytest.raises(Exception, match="manifest"):
            stream(spark, source, folder, few, pause=dies_and_more_comes)

        def stops_when_all_is_told(at: str) -> None:
            if at == "told" and last_step(folder / "stream") == 2:
                os.kill(os.getpid(), signal.SIGTERM)

        done = stream(
            spark, source, folder, few, pause=stops_when_all_is_told, once=False, interval_s=0
        )
        assert (done.stopped, done.batches) == (True, 3)
        check(folder / "stream", few, 2)
        paths = [one.path for one in open_store(folder).manifest.sources]
        assert paths == [f"jetstream/TRACE/{one}.jsonl" for one in ("1-3", "4-6", "7-8")]
        assert stream(spark, source, folder, few).batches == 0
        with pytest.raises(UsageError, match="stream GONE: stream not found"):
            stream(spark, replace(source, stream="GONE"), tmp_path / "other", few)


def by_hand(spark: "SparkSession", trace: Growth, base: Path, delay_ns: int) -> Plan:
    """Batches taken in one after the other, without a query."""
    plan = Plan(
        base / "store",
        trace.federation,
        delay_ns,
        WINDOW_NS,
        DEADLINE_NS,
        trace.protocols,
        buckets=4,
        checkpoint="c",
    )
    plan.stage.mkdir(parents=True)
    for number, part in enumerate(trace.parts):
        put(base, f"{number}.jsonl", part)
        take_batch(plan, binary_files(spark, [str(base / f"{number}.jsonl")]), number)
    return plan


def test_rows_after_the_watermark_would_be_judged_too_soon(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = growth(range(1000, 1004), 1)
    monkeypatch.setattr(step, "ground_of", lambda *given: ground_of(*given[:-1]))
    plan = by_hand(spark, few, tmp_path, 1500)
    mark = load(plan.stage).figures.watermark_ns
    assert keys(net(plan.stage)) != few.verdict(1, mark)

    monkeypatch.undo()
    before = open_store(plan.folder).manifest
    path = str(tmp_path / "0.jsonl")
    frame = binary_files(spark, [path])
    assert taken_in(spark, frame, plan).manifest == before, "a batch again adds nothing"
    monkeypatch.setattr(Run, "digests", frozenset())
    again = take_in(spark, frame, [path], plan.folder, before)
    assert again.rows["events"] == before.rows["events"], "rows are known by their places too"
    assert again.rows["quarantine"] > before.rows["quarantine"]
    other = replace(plan, deadline_ns=5 * DEADLINE_NS)
    assert catch_up(spark, other), "other settings: everything is judged again"
    assert not catch_up(spark, other)
    ground = ground_of(
        open_store(plan.folder), few.federation, other.deadline_ns, mark, few.protocols, mark
    )
    judged = audited(spark, open_store(plan.folder), ground)
    assert net(plan.stage) == whole(judged.violations)
    with pytest.raises(UsageError, match="its windows are 200 ns long, not 7"):
        catch_up(spark, replace(plan, window_ns=7))


def test_only_one_writes_to_a_store(many: Growth, tmp_path: Path) -> None:
    none: Any = None
    trace, store = tmp_path / "trace.jsonl", tmp_path / "store"
    trace.write_text("{}\n")
    store.mkdir()
    with alone(store):
        with pytest.raises(UsageError, match="another ingest or stream is writing to it"):
            run(none, Folder(tmp_path), store, many.federation)
        with pytest.raises(UsageError, match="another ingest or stream is writing to it"):
            ingest(none, [trace], store)
    assert not (store / "manifest.json").exists()
    with pytest.raises(UsageError, match="the delay is -1: 0 is the least"):
        run(none, Folder(tmp_path), tmp_path, many.federation, delay_ns=-1)


def test_a_gap_is_put_aside_with_what_it_was() -> None:
    path, content = gap("T", 5, 9)
    (bad,) = checked(parsed(path, content)).bad
    assert bad.text == "messages 5 to 9 of stream T were deleted before they were read"
