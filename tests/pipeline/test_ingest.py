"""Traces into a store: nothing is lost, nothing counted twice, what is bad is told by file and line."""

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.pipeline.audit.job import ground_of
from ropewalk.pipeline.ingest import job, packing, reading
from ropewalk.pipeline.ingest.checking import checked
from ropewalk.pipeline.ingest.counting import first_collision
from ropewalk.pipeline.ingest.reading import parsed
from ropewalk.pipeline.store import Store, open_store
from ropewalk.trace.columns import KIND
from ropewalk.trace.ids import id_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]


def row(li: int, **more: Any) -> Row:
    return {"ts_ns": 1000 + li, "node": "n", "li": li, "kind": "connect", "client": "c", **more}


def lines(*rows: Row | str) -> bytes:
    return "".join(
        (one if isinstance(one, str) else json.dumps(one)) + "\n" for one in rows
    ).encode()


BAD = {
    "not JSON": "{no",
    "not an object": "[1]",
    "ts_ns is not int64": {**row(1), "ts_ns": "soon"},
    "li is not int64": {**row(1), "li": 1.5},
    "node is not text": {**row(1), "node": 7},
    "durable is not bool": {**row(1), "durable": 1},
    "no li": {name: one for name, one in row(1).items() if name != "li"},
    "no node": {**row(1), "node": ""},
    "no kind": {**row(1), "kind": None},
    "unknown kind 'dance'": {**row(1), "kind": "dance"},
    "connect without client": {**row(1), "client": None},
    "publish without pseq": {**row(1), "kind": "publish", "topic": "t", "producer": "p"},
    "ts_ns is no time in nanoseconds since 1970": {**row(1), "ts_ns": -1},
    "clock_err_ns is negative": {**row(1), "clock_err_ns": -1},
    "a message on the pattern 't/#'": {
        **row(1), "kind": "publish", "topic": "t/#", "producer": "p", "pseq": 1,
    },
}  # fmt: skip


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_line_is_told_by_number_and_reason(reason: str) -> None:
    content = lines(row(1), BAD[reason], row(2))  # type: ignore[arg-type]
    found = checked(parsed("t.jsonl", content))
    assert [(one.line, one.reason) for one in found.bad] == [(2, reason)]
    assert found.lines.tolist() == [1, 3]


@given(
    st.lists(st.sampled_from(["good", "", "{no", "[1]", '{"ts_ns": 5}', "\xff"]), max_size=60),
    st.booleans(),
    st.integers(10, 200),
)
def test_every_line_is_good_or_bad_and_keeps_its_number(
    given_lines: list[str], zipped: bool, block: int
) -> None:
    texts = [json.dumps(row(at)) if one == "good" else one for at, one in enumerate(given_lines)]
    content = "\n".join(texts).encode("latin-1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BLOCK", block)
        found = checked(
            parsed(
                "t.jsonl.gz" if zipped else "t.jsonl", gzip.compress(content) if zipped else content
            )
        )
    good = [at for at, one in enumerate(given_lines, 1) if one == "good"]
    bad = [at for at, one in enumerate(given_lines, 1) if one not in ("good", "")]
    assert found.lines.tolist() == good
    assert sorted(one.line for one in found.bad) == bad
    assert found.seen == len(good) + len(bad)


def test_a_file_that_breaks_off_keeps_its_whole_lines() -> None:
    content = gzip.compress(b"".join(lines(row(at, client=f"c{at * 7919}")) for at in range(2000)))
    found = parsed("t.jsonl.gz", content[: len(content) // 2])
    assert 0 < len(found.lines) < 2000
    assert [one.reason for one in found.bad] == ["gzip data breaks off here"]
    damaged = parsed("t.jsonl.gz", b"no gzip at all")
    assert "damaged" in damaged.bad[0].reason


def test_a_parquet_file_that_cannot_be_read_is_put_aside_whole(tmp_path: Path) -> None:
    found = parsed("t.parquet", b"PAR1 and then nothing")
    assert (found.bad[0].line, found.seen) == (0, 1)
    assert "not a readable Parquet file" in found.bad[0].reason
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"ts_ns": ["soon"], "node": ["n"]}), path)
    assert parsed("t.parquet", path.read_bytes()).bad[0].reason == (
        "column ts_ns has type string, not int64"
    )


def test_two_names_with_one_id_are_found() -> None:
    names = pa.table({"id": [1, 2, 1, 2], "name": ["a", "b", "a", "c"]})
    assert first_collision(names) == ("b", "c")
    assert first_collision(names.slice(0, 3)) is None


def test_a_row_seen_twice_is_told_from_another_with_its_place() -> None:
    table = packing.stored(
        checked(parsed("t.jsonl", lines(row(1), row(1), row(1, client="d"), row(2)))), 0
    )["control"]
    found = packing.ordered(table, packing.KEYS["control"])
    assert len(found.table) == 2
    assert found.repeated["reason"].to_pylist() == [packing.REPEATED, packing.DIFFERENT]
    again = packing.ordered(table, packing.KEYS["control"], [found.table])
    assert len(again.table) == 0


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    folder.mkdir()
    message = {"kind": "publish", "topic": "prices/a", "producer": "p"}
    (folder / "a [1].jsonl").write_bytes(
        lines(row(1, **message, pseq=1, zone=5), "{no", row(2, **message, pseq=2))
    )
    (folder / "b.jsonl.gz").write_bytes(
        gzip.compress(lines(row(3, **message, pseq=3, zone="five"), row(2, **message, pseq=2)))
    )
    pq.write_table(
        pa.Table.from_pylist([{**row(4), "shelf": True}, {**row(5), "shelf": None}]),
        folder / "c.parquet",
    )
    return folder


def everything(store: Store) -> set[str]:
    return {str(one.relative_to(store.folder)) for one in store.folder.rglob("*") if one.is_file()}


@pytest.mark.timeout(300)
def test_a_store_keeps_what_it_was_given_once(
    spark: "SparkSession", traces: Path, tmp_path: Path
) -> None:
    done = job.ingest(spark, [traces], tmp_path / "store", buckets=2)
    assert (done.rows, done.good, done.quarantined) == (7, 5, 2)
    assert done.reasons == {"not JSON": 1, packing.REPEATED: 1}
    events = done.store.frame(spark, "events").orderBy("li").collect()
    assert [(one.li, one.kind, one.topic) for one in events] == [
        (li, KIND["publish"], id_of("prices/a")) for li in (1, 2, 3)
    ]
    assert [one.zone for one in events] == ["5", None, "five"], "a new column is kept"
    control = done.store.frame(spark, "control").orderBy("li").collect()
    assert [one.shelf for one in control] == [True, None]
    assert control[0].durable is False
    assert events[0].rank is None, "a missing optional column is null"
    assert done.store.names("topic") == {id_of("prices/a"): "prices/a"}
    table = done.store.table("quarantine", packing.QUARANTINE.names)
    assert table is not None
    aside = table.to_pylist()
    sources = done.store.manifest.sources
    told = sorted((Path(sources[one["source"]].path).name, one["line"]) for one in aside)
    assert told == [("a [1].jsonl", 2), ("b.jsonl.gz", 2)]

    files = everything(done.store)
    again = job.ingest(spark, [traces], tmp_path / "store")
    assert (again.rows, again.passed_over, everything(again.store)) == (0, 3, files)

    (traces / "copy.jsonl").write_bytes((traces / "a [1].jsonl").read_bytes())
    (traces / "grown.jsonl").write_bytes(
        (traces / "a [1].jsonl").read_bytes() + lines(row(9, kind="disconnect", shelf="high"))
    )
    more = job.ingest(spark, [traces], tmp_path / "store")
    assert (more.rows, more.good, more.quarantined) == (4, 1, 3)
    assert more.store.manifest.rows["events"] == 3
    assert more.store.frame(spark, "events").count() == 3
    shelves = more.store.frame(spark, "control").orderBy("li").collect()
    assert [one.shelf for one in shelves] == ["true", None, "high"]
    assert len(ground_of(more.store, Federation(name="f", brokers={})).control) == 3


@pytest.mark.timeout(300)
def test_what_does_not_end_well_leaves_the_store_as_it_was(
    spark: "SparkSession", traces: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "store"
    job.ingest(spark, [traces / "c.parquet"], folder, buckets=2)
    before = (folder / "manifest.json").read_bytes()
    (folder / "events").mkdir(exist_ok=True)
    (folder / "events" / "left-0.parquet").write_bytes(b"of a run that was killed")
    names = next((folder / "names" / "client").glob("*.parquet"))
    table = pq.read_table(names, partitioning=None)
    clash = pa.table({"id": [id_of("c")], "name": ["another"]}, schema=table.schema)
    pq.write_table(clash, names)
    (traces / "d.jsonl").write_bytes(lines(row(7)))
    with pytest.raises(UsageError, match="have the same id"):
        job.ingest(spark, [traces], folder)
    assert (folder / "manifest.json").read_bytes() == before
    assert open_store(folder).frame(spark, "control").count() == 2


def test_what_is_no_trace_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no such file"):
        job.trace_files([tmp_path / "nowhere"])
    with pytest.raises(UsageError, match="holds no trace"):
        job.trace_files([tmp_path])
    (tmp_path / "t.csv").write_text("")
    with pytest.raises(UsageError, match="is no trace"):
        job.trace_files([tmp_path / "t.csv"])
    (tmp_path / "t.jsonl").write_bytes(lines(row(1)))
    monkeypatch.setattr(job, "LARGEST", 10)
    with pytest.raises(UsageError, match="cut it"):
        job.trace_files([tmp_path])


def test_a_store_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no store"):
        open_store(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        open_store(tmp_path)
    (tmp_path / "manifest.json").write_text('{"version": 99}')
    with pytest.raises(UsageError, match="version 99"):
        open_store(tmp_path)
