import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from ropewalk.errors import UsageError
from ropewalk.pipeline.sink import COLUMNS, FORMAT, Files, FilesWriter, Written, _inside

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def save(spark: "SparkSession", rows: "DataFrame", folder: Path) -> None:
    spark.dataSource.register(Files)
    writer = rows.write.format(FORMAT).option("folder", str(folder))
    writer.option("done", str(folder / "_done.json")).mode("append").save()


def some_files(spark: "SparkSession", failing: int = -1) -> "DataFrame":
    """Four tasks, each with one file; one of them may fail."""

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                if number == failing:
                    raise ValueError("on purpose")
                rows = {"path": [f"sub/part-{number}.bin"], "content": [bytes([number]) * 1000]}
                yield pa.RecordBatch.from_pydict(
                    rows, schema=pa.schema([("path", pa.string()), ("content", pa.binary())])
                )

    return spark.range(0, 4, 1, 4).mapInArrow(make, COLUMNS)


def test_files_are_written_and_listed(spark: "SparkSession", tmp_path: Path) -> None:
    save(spark, some_files(spark), tmp_path / "out")
    found = {p.name: p.read_bytes() for p in (tmp_path / "out" / "sub").iterdir()}
    assert found == {f"part-{n}.bin": bytes([n]) * 1000 for n in range(4)}
    assert json.loads((tmp_path / "out" / "_done.json").read_text()) == [
        {"path": f"sub/part-{n}.bin", "bytes": 1000} for n in range(4)
    ]
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"sub", "_done.json"}


def test_a_failing_task_leaves_no_files_and_no_list(spark: "SparkSession", tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match="on purpose"):
        save(spark, some_files(spark, failing=3), tmp_path / "out")
    assert not [p for p in (tmp_path / "out").rglob("*") if p.is_file()]


def writer(folder: Path) -> FilesWriter:
    made = Files({"folder": str(folder), "done": str(folder / "done.json")})
    from pyspark.sql.types import BinaryType, StringType, StructField, StructType

    schema = StructType([StructField("path", StringType()), StructField("content", BinaryType())])
    return made.writer(schema, False)


def batch(path: str) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"path": [path], "content": [b"x"]})


def test_what_a_dead_attempt_wrote_is_not_put_in_place(tmp_path: Path) -> None:
    one = writer(tmp_path)
    one.write(batch("a"))  # its message never reaches the driver
    told = one.write(batch("a"))
    one.commit([told])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "done.json"]


def test_two_rows_with_one_path_are_refused(tmp_path: Path) -> None:
    one = writer(tmp_path)
    with pytest.raises(UsageError, match="two rows"):
        one.commit([one.write(batch("a")), one.write(batch("./a"))])


def test_a_task_that_outlives_an_abort_writes_nothing(tmp_path: Path) -> None:
    one = writer(tmp_path)
    one.abort([])
    with pytest.raises(FileNotFoundError):
        one.write(batch("a"))
    assert not list(tmp_path.iterdir())


def test_an_old_list_does_not_outlive_the_start_of_a_new_run(tmp_path: Path) -> None:
    (tmp_path / "done.json").write_text("[]")
    writer(tmp_path)
    assert not (tmp_path / "done.json").exists()


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", ""])
def test_paths_stay_inside(path: str) -> None:
    with pytest.raises(UsageError, match="stays in its folder"):
        _inside(path)


def test_a_message_holds_what_commit_needs(tmp_path: Path) -> None:
    told = writer(tmp_path).write(batch("a"))
    assert isinstance(told, Written)
    assert [(path, size) for path, _, size in told.files] == [("a", 1)]
