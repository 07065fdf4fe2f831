"""A store: a folder of Parquet files and the manifest that says which of them count.

    manifest.json      every file that counts, what was taken in, how many rows
    events/            messages, a file per run and bucket of topics, by topic and node
    control/ samples/  subscriptions and connections; brokers' own figures
    names/             which name an id stands for, a file per column
    quarantine/        rows that were not let in: source, line, reason

The manifest is replaced whole, and last: files of a run that did not end are in nobody's way.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.errors import UsageError
from ropewalk.federation.saving import write_text
from ropewalk.pipeline.batches import BETWEEN
from ropewalk.trace.columns import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MANIFEST = "manifest.json"
VERSION = 1
FILES = "bucket int, content binary"
"""What a job is given: a row per bucket or file, with its bytes or paths (`batches`)."""
ARROW_FILES = pa.schema([("bucket", pa.int32()), ("content", pa.binary())])


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that counts; `nodes` has [node, incarnation, first li, last li, latest time]."""

    path: str
    table: str
    bucket: int
    rows: int
    run: str
    nodes: tuple[tuple[int, int, int, int, int], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    """Columns that its users added, with their types."""


@dataclass(frozen=True, slots=True)
class Source:
    """A trace file that was taken in: how it is recognised, and what came of its rows."""

    path: str
    size: int
    modified_ns: int
    digest: str
    run: str
    rows: int
    good: int
    quarantined: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a store holds."""

    buckets: int
    files: tuple[Stored, ...] = ()
    sources: tuple[Source, ...] = ()
    version: int = VERSION

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each table has."""
        tables = dict.fromkeys(("events", "control", "samples", "quarantine"), 0)
        for one in self.files:
            if one.table in tables:
                tables[one.table] += one.rows
        return tables


@dataclass(frozen=True, slots=True)
class Store:
    """A store that is there, as its manifest has it when it is opened."""

    folder: Path
    manifest: Manifest = field(repr=False)

    def paths(self, *tables: str) -> list[str]:
        """The files of some tables."""
        return [str(self.folder / one.path) for one in self.manifest.files if one.table in tables]

    def frame(self, spark: "SparkSession", table: Table) -> "DataFrame":
        """A table as Spark reads it, with every column that its users added."""
        from pyspark.sql import functions as f

        groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for one in self._of(table):
            groups.setdefault(one.columns, []).append(str(self.folder / one.path))
        types = _common_types(list(groups))
        frames = []
        for columns, paths in groups.items():
            frame = spark.read.parquet(*map(escaped, paths))
            for name, type in columns:
                if types[name] != type:
                    frame = frame.withColumn(name, f.col(name).cast(types[name]))
            frames.append(frame)
        if not frames:
            raise UsageError(f"{self.folder}: no {table} are stored: ingest a trace that has some")
        together = frames[0]
        for frame in frames[1:]:
            together = together.unionByName(frame, allowMissingColumns=True)
        return together

    def contents(self, spark: "SparkSession", table: str = "events") -> "DataFrame":
        """The files of a table as rows (bucket, content): what kernels are fed."""
        return contents(spark, self.folder, self._of(table))

    def table(self, name: str, columns: Sequence[str]) -> pa.Table | None:
        """Columns of a small table, in this process; None if there are no rows of it."""
        paths = self.paths(name)
        tables = [pq.ParquetFile(path).read(columns=list(columns)) for path in paths]
        return pa.concat_tables(tables) if tables else None

    def names(self, column: str) -> dict[int, str]:
        """The names of a column by id."""
        found: dict[int, str] = {}
        for path in self.paths(f"names/{column}"):
            table = pq.read_table(path, columns=["id", "name"], partitioning=None)
            found.update(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))
        return found

    def last_seen(self) -> dict[tuple[int, int], int]:
        """The latest time of each node's incarnation."""
        seen: dict[tuple[int, int], int] = {}
        for one in self.manifest.files:
            for node, incarnation, _, _, latest in one.nodes:
                key = node, incarnation
                seen[key] = max(latest, seen.get(key, latest))
        return seen

    def _of(self, table: str) -> list[Stored]:
        return [one for one in self.manifest.files if one.table == table]


def with_paths(spark: "SparkSession", folder: Path, files: Iterable[Stored]) -> "DataFrame":
    """Files as rows (path, bucket, content), those of a bucket one after the other."""
    from pyspark.sql import functions as f

    frame = binary_files(spark, [str(folder / one.path) for one in files])
    rows = frame.select("path", _bucket().alias("bucket"), "content")
    table = f.regexp_extract("path", r"([a-z]+)/[^/]*$", 1)
    return rows.repartition(table, "bucket").sortWithinPartitions(table, "bucket")


def contents(spark: "SparkSession", folder: Path, files: Iterable[Stored]) -> "DataFrame":
    """Files as rows (bucket, content), a row per bucket: content has the paths of its files.

    Tasks open them where they lie, as those of ingest wrote them there: bytes that cross from Java
    cost more than all that is done with them. Rows are dealt out by size, so that each core has
    as much to do.
    """
    paths: dict[int, list[Stored]] = {}
    for one in files:
        paths.setdefault(one.bucket, []).append(one)
    heavy = sorted(paths, key=lambda bucket: -sum(one.rows for one in paths[bucket]))
    hands = _cores(spark)
    dealt = [bucket for hand in range(hands) for bucket in _dealt(heavy, hand, hands)]
    folder = folder.resolve()  # tasks on a cluster run in folders of their own
    texts = [BETWEEN.join(str(folder / one.path) for one in paths[bucket]) for bucket in dealt]
    columns = [pa.array(dealt, pa.int32()), pa.array([one.encode() for one in texts], pa.binary())]
    return spark.createDataFrame(pa.table(columns, schema=ARROW_FILES))


def _dealt(buckets: list[int], hand: int, hands: int) -> list[int]:
    """What a hand gets when cards are dealt there and back again."""
    there, back = buckets[hand :: 2 * hands], buckets[2 * hands - 1 - hand :: 2 * hands]
    return [*there, *back]


def _cores(spark: "SparkSession") -> int:
    """How many tasks run at once, as far as this session tells."""
    if not hasattr(spark, "_jsparkSession"):  # Spark Connect does not tell
        return 2
    return int(spark.sparkContext.defaultParallelism)


def binary_files(spark: "SparkSession", paths: Sequence[str]) -> "DataFrame":
    """Files as rows (path, content), each under the path that it was asked for by."""
    from pyspark.sql import functions as f

    frame = spark.read.format("binaryFile").load([escaped(path) for path in paths])
    return frame.select(f.regexp_replace("path", "^file:(//)?", "").alias("path"), "content")


def escaped(path: str) -> str:
    """A path as Spark takes it, which expands patterns."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)


def _bucket() -> "Column":
    from pyspark.sql import functions as f

    return f.regexp_extract("path", r"-(\d+)\.parquet$", 1).cast("int")


def open_store(folder: Path) -> Store:
    """A store that is there; UsageError tells what is wrong with one that cannot be read."""
    path = folder / MANIFEST
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if said.get("version") != VERSION:
            raise UsageError(
                f"{path}: version {said.get('version')!r} is not {VERSION}: ingest its traces anew"
            )
        return Store(folder, _manifest(said))
    except FileNotFoundError:
        raise UsageError(
            f"{folder}: there is no store: make one with `ropewalk pipeline ingest`"
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UsageError(f"{path}: cannot be read: remove the folder and ingest anew") from None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Let files count, all at once."""
    write_text(folder / MANIFEST, json.dumps(asdict(manifest), separators=(",", ":")) + "\n")


def _manifest(said: Mapping[str, Any]) -> Manifest:
    files = tuple(
        Stored(
            **{
                **one,
                "nodes": tuple(map(tuple, one["nodes"])),
                "columns": tuple(map(tuple, one["columns"])),
            }
        )
        for one in said["files"]
    )
    return Manifest(said["buckets"], files, tuple(Source(**one) for one in said["sources"]))


def _common_types(groups: Sequence[tuple[tuple[str, str], ...]]) -> dict[str, str]:
    """The type by which files with different ones are read as one: text where they disagree."""
    types: dict[str, set[str]] = {}
    for columns in groups:
        for name, type in columns:
            types.setdefault(name, set()).add(type)
    return {name: _common(found) for name, found in types.items()}


def _common(types: set[str]) -> str:
    if len(types) == 1:
        return min(types)
    return "double" if types == {"bigint", "double"} else "string"
