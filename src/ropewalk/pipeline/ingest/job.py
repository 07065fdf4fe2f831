"""Ingest on Spark: files are read and cut into pieces, which are gathered into files by bucket."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ropewalk.errors import UsageError
from ropewalk.pipeline.folders import alone
from ropewalk.pipeline.ingest.counting import (
    Aside,
    Run,
    first_aside,
    look,
    manifest_of,
    overlapping,
    reasons_of,
    replaced,
)
from ropewalk.pipeline.ingest.reading import SUFFIXES, is_trace
from ropewalk.pipeline.ingest.steps import files_of, pieces_of, without_repeats
from ropewalk.pipeline.store import (
    MANIFEST,
    Manifest,
    Store,
    binary_files,
    open_store,
    with_paths,
    write_manifest,
)

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

LARGEST = 1 << 30
"""A file goes through Spark as one value: a larger one has to be cut."""
ROWS_PER_BUCKET = 800_000
BYTES_PER_ROW = {".parquet": 14, ".gz": 14, ".jsonl": 200, ".ndjson": 200}
"""Roughly; only the number of buckets depends on it."""
MOST_BUCKETS = 1024


@dataclass(frozen=True, slots=True)
class Ingested:
    """What a run did: rows in, let in and put aside (by reason; the first), files passed over."""

    rows: int
    good: int
    quarantined: int
    reasons: dict[str, int]
    aside: list[Aside]
    files: int
    passed_over: int
    store: Store

    @property
    def summary(self) -> dict[str, Any]:
        """For a report."""
        return {
            "files": self.files,
            "passed_over": self.passed_over,
            "in": self.rows,
            "good": self.good,
            "quarantined": self.quarantined,
            "reasons": self.reasons,
            "put_aside": [one._asdict() for one in self.aside],
            "stored": self.store.manifest.rows,
            "buckets": self.store.manifest.buckets,
        }

    @property
    def ok(self) -> bool:
        """Whether every row was let in."""
        return not self.quarantined

    def frame(self) -> "pd.DataFrame":
        """A row per reason for which rows were put aside."""
        import pandas as pd

        return pd.DataFrame(self.reasons.items(), columns=["reason", "rows"])


def ingest(
    spark: "SparkSession", traces: Sequence[Path], folder: Path, *, buckets: int | None = None
) -> Ingested:
    """Take trace files into the store in `folder`, which is made if it is not there.

    Files that are in it already are passed over: running twice adds nothing.
    """
    own = folder.resolve()
    found = [one for one in trace_files(traces) if not one.resolve().is_relative_to(own)]
    manifest = opened(folder, found, buckets)
    if not new_among(found, manifest):  # also where nothing can be written
        return Ingested(0, 0, 0, {}, [], 0, len(found), Store(folder, manifest))
    with alone(folder):
        return _ingest(spark, found, folder, opened(folder, found, buckets))


def _ingest(
    spark: "SparkSession", found: Sequence[Path], folder: Path, manifest: Manifest
) -> Ingested:
    new = new_among(found, manifest)
    if not new:
        return Ingested(0, 0, 0, {}, [], 0, len(found), Store(folder, manifest))
    paths = [str(one.resolve()) for one in new]
    taken = take_in(spark, binary_files(spark, paths), paths, folder, manifest)
    stamps = {path: (size, modified) for path, size, modified in map(stamp, new)}
    sources = tuple(
        replace(one, size=stamps[one.path][0], modified_ns=stamps[one.path][1])
        if one.path in stamps
        else one
        for one in taken.sources
    )
    store = Store(folder, replace(taken, sources=sources))
    write_manifest(folder, store.manifest)
    return _ingested(store, manifest, len(found))


def take_in(
    spark: "SparkSession",
    frame: "DataFrame",
    paths: Sequence[str],
    folder: Path,
    manifest: Manifest,
    *,
    small: bool = False,
) -> Manifest:
    """Write files (path, content) into a store; the manifest in which they count is returned.

    Nothing counts until that manifest is written. `small` says that all of it fits this process:
    a few tasks then do, and what they make is written from here.
    """
    run = Run(uuid4().hex[:12], manifest, list(paths))
    numbers = {path: run.first + at for at, path in enumerate(paths)}
    pieces = pieces_of(frame, numbers, run.digests, manifest.buckets)
    files = files_of(pieces, 0 if small else manifest.buckets, run.name)
    write = write_here if small else write_files
    written = [look(folder, path, run.name) for path in write(spark, files, folder)]
    clashing = overlapping(manifest.files, written)
    if clashing:
        new = [one.path for one in clashing if one.run == run.name]
        files = without_repeats(with_paths(spark, folder, clashing), new)
        again = [look(folder, path, run.name) for path in write(spark, files, folder)]
        written = replaced(written, again)
    return manifest_of(folder, run, written)


def write_files(spark: "SparkSession", files: "DataFrame", folder: Path) -> list[str]:
    """Put rows (path, content) into a folder as files; their paths."""
    from ropewalk.pipeline.sink import FORMAT, Files

    spark.dataSource.register(Files)
    folder = folder.resolve()  # tasks on a cluster run in folders of their own
    done = folder / f".done-{uuid4().hex}.json"
    writer = files.write.format(FORMAT).option("folder", str(folder)).option("done", str(done))
    writer.mode("append").save()
    try:
        return [one["path"] for one in json.loads(done.read_text(encoding="utf-8"))]
    finally:
        done.unlink()


def write_here(spark: "SparkSession", files: "DataFrame", folder: Path) -> list[str]:  # noqa: ARG001
    """The same by this process: quicker for a few megabytes."""
    made = files.toArrow()
    for path, content in zip(made["path"].to_pylist(), made["content"], strict=True):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.as_buffer())
    return list(made["path"].to_pylist())


def trace_files(traces: Sequence[Path]) -> list[Path]:
    """The trace files among these files and folders; UsageError for what is none."""
    found: dict[Path, None] = {}
    for one in traces:
        if not one.exists():
            raise UsageError(f"{one}: there is no such file or folder")
        if one.is_file() and not one.name.lower().endswith(SUFFIXES):
            raise UsageError(f"{one}: is no trace: its name ends in none of {', '.join(SUFFIXES)}")
        inside = sorted(one.rglob("*")) if one.is_dir() else [one]
        files = [file for file in inside if is_trace(file)]
        if not files:
            raise UsageError(f"{one}: holds no trace: no name ends in {', '.join(SUFFIXES)}")
        found |= dict.fromkeys(files)
    for file in found:
        if file.stat().st_size > LARGEST:
            raise UsageError(f"{file}: is larger than {LARGEST >> 20} MiB: cut it into several")
    return list(found)


def new_among(found: Sequence[Path], manifest: Manifest) -> list[Path]:
    """Files that the store does not have under this path, size and time; empty ones can wait."""
    known = {(one.path, one.size, one.modified_ns) for one in manifest.sources}
    return [one for one in found if one.stat().st_size and stamp(one) not in known]


def stamp(file: Path) -> tuple[str, int, int]:
    """By what a file is recognised without being read."""
    stat = file.stat()
    return str(file.resolve()), stat.st_size, stat.st_mtime_ns


def opened(folder: Path, traces: Sequence[Path], buckets: int | None) -> Manifest:
    """The manifest of a store, or of a new one with as many buckets as its first traces need."""
    if (folder / MANIFEST).exists():
        manifest = open_store(folder).manifest
        if buckets not in (None, manifest.buckets):
            raise UsageError(
                f"{folder}: has {manifest.buckets} buckets, not {buckets}: leave out --buckets,"
                " or ingest into another folder"
            )
        return manifest
    if buckets is None:
        rows = sum(one.stat().st_size / BYTES_PER_ROW[one.suffix.lower()] for one in traces)
        buckets = min(MOST_BUCKETS, 1 << max(4, round(rows / ROWS_PER_BUCKET) - 1).bit_length())
    elif buckets < 1 or buckets & (buckets - 1) or buckets > MOST_BUCKETS:
        raise UsageError(f"--buckets {buckets}: a power of two up to {MOST_BUCKETS} is needed")
    folder.mkdir(parents=True, exist_ok=True)
    return Manifest(buckets)


def _ingested(store: Store, before: Manifest, found: int) -> Ingested:
    new = store.manifest.sources[len(before.sources) :]
    taken = [one for one in new if one.rows]
    files = store.manifest.files[len(before.files) :]
    return Ingested(
        sum(one.rows for one in new),
        sum(one.good for one in new),
        sum(one.quarantined for one in new),
        reasons_of(store.folder, files),
        first_aside(store.folder, files, store.manifest.sources),
        len(taken),
        found - len(taken),
        store,
    )
