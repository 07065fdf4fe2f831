"""What a run wrote, by the figures that each file has of itself: rows in and out must add up."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ropewalk.errors import UsageError
from ropewalk.pipeline.ingest import packing
from ropewalk.pipeline.store import Manifest, Source, Stored
from ropewalk.trace.columns import COLUMNS, DICTIONARIES

AGAIN = "again-"
"""How the name of a file begins that was written again, without rows stored before."""
SPARK_TYPES = {"int64": "bigint", "double": "double", "bool": "boolean", "string": "string"}


@dataclass(frozen=True, slots=True)
class Run:
    """A run of ingest: its name, the store before it, and its files in order."""

    name: str
    manifest: Manifest
    paths: list[str]

    @property
    def first(self) -> int:
        """The number of its first file."""
        return len(self.manifest.sources)

    @property
    def digests(self) -> frozenset[str]:
        """Of files that are in the store already."""
        return frozenset(one.digest for one in self.manifest.sources)


@dataclass(frozen=True, slots=True)
class Written:
    """A file that a run wrote, with its own figures."""

    file: Stored
    stats: dict[str, Any]


def look(folder: Path, path: str, run: str) -> Written:
    """A file's own figures."""
    schema = pq.read_schema(folder / path)
    stats = packing.stats_of(schema)
    table = path.rpartition("/")[0]
    extras = tuple(
        (one.name, SPARK_TYPES[str(one.type)])
        for one in schema
        if one.name not in COLUMNS and one.name not in dict(packing.WHENCE)
    )
    file = Stored(
        path,
        table,
        int(path.rpartition("-")[2].removesuffix(".parquet")),
        stats.get("rows", 0),
        run,
        tuple(map(tuple, stats.get("nodes", ()))),
        extras if table in packing.KEYS else (),
    )
    return Written(file, stats)


def overlapping(old: Sequence[Stored], new: Sequence[Written]) -> list[Stored]:
    """New files that may repeat rows of old ones, and those old ones."""
    by_bucket: dict[tuple[str, int], list[Stored]] = {}
    for one in old:
        by_bucket.setdefault((one.table, one.bucket), []).append(one)
    found: dict[str, Stored] = {}
    for written in new:
        file = written.file
        for other in by_bucket.get((file.table, file.bucket), ()):
            if _overlap(file, other):
                found |= {file.path: file, other.path: other}
    return list(found.values())


def _overlap(one: Stored, other: Stored) -> bool:
    ranges = {(node, incarnation): (low, high) for node, incarnation, low, high, _ in other.nodes}
    return any(
        low <= ranges[node, incarnation][1] and ranges[node, incarnation][0] <= high
        for node, incarnation, low, high, _ in one.nodes
        if (node, incarnation) in ranges
    )


def replaced(written: Sequence[Written], again: Sequence[Written]) -> list[Written]:
    """What a run wrote, with the files that it wrote again in the place of the first."""
    gone = {one.file.path.replace(AGAIN, "") for one in again if one.file.table != "quarantine"}
    return [*(one for one in written if one.file.path not in gone), *again]


def manifest_of(folder: Path, run: Run, written: Sequence[Written]) -> Manifest:
    """The manifest with the files of a run; UsageError for two names with one id."""
    _refuse_collisions(folder, run, written)
    seen: dict[int, tuple[str, int]] = {}
    good: Counter[int] = Counter()
    aside: Counter[int] = Counter()
    for one in written:
        for source, digest, rows in one.stats.get("sources", ()):
            seen[source] = digest, rows
        tally = aside if one.file.table == "quarantine" else good
        for source, rows in one.stats.get("by_source", ()):
            tally[source] += rows
    sources = []
    for number, path in enumerate(run.paths, run.first):
        digest, rows = seen[number]
        if rows != good[number] + aside[number]:
            raise RuntimeError(f"{path}: {rows} rows in, {good[number]} + {aside[number]} out")
        sources.append(Source(path, 0, 0, digest, run.name, rows, good[number], aside[number]))
    files = [one.file for one in written if one.file.table != "sources" and one.file.rows]
    before = run.manifest
    return Manifest(before.buckets, (*before.files, *files), (*before.sources, *sources))


def reasons_of(folder: Path, files: Sequence[Stored]) -> dict[str, int]:
    """Why rows were put aside, the most frequent first."""
    counts: Counter[str] = Counter()
    for one in files:
        if one.table == "quarantine":
            table = pq.read_table(folder / one.path, columns=["reason"], partitioning=None)
            for entry in table["reason"].value_counts().to_pylist():
                counts[entry["values"]] += entry["counts"]
    return dict(counts.most_common())


class Aside(NamedTuple):
    """A row that was put aside."""

    file: str
    line: int
    reason: str


def first_aside(
    folder: Path, files: Sequence[Stored], sources: Sequence[Source], most: int = 5
) -> list[Aside]:
    """The first rows that were put aside, by file and line."""
    found: list[Aside] = []
    for one in files:
        if one.table == "quarantine":
            columns = ["source", "line", "reason"]
            table = pq.read_table(folder / one.path, columns=columns, partitioning=None)
            rows = table.sort_by([("source", "ascending"), ("line", "ascending")]).slice(0, most)
            found += [
                Aside(sources[row["source"]].path, row["line"], row["reason"])
                for row in rows.to_pylist()
            ]
    return sorted(found)[:most]


def _refuse_collisions(folder: Path, run: Run, written: Sequence[Written]) -> None:
    """UsageError if two names have one id: what is said of one would be said of the other."""
    for column in DICTIONARIES:
        table = f"names/{column}"
        new = [one.file.path for one in written if one.file.table == table]
        if not new:
            continue
        old = [one.path for one in run.manifest.files if one.table == table]
        tables = [pq.read_table(folder / path, partitioning=None) for path in (*old, *new)]
        clash = first_collision(pa.concat_tables(tables))
        if clash:
            raise UsageError(
                f"the names {clash[0]!r} and {clash[1]!r} of column {column} have the same id:"
                " nothing was stored: rename one of them"
            )


def first_collision(names: pa.Table) -> tuple[str, str] | None:
    """Two names with one id, if there are any."""
    distinct = names.group_by(["id", "name"]).aggregate([])
    ids = distinct["id"].to_numpy()
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if not len(twice):
        return None
    pair = pc.take(distinct["name"], pa.array(order[twice[0] : twice[0] + 2])).to_pylist()
    return str(pair[0]), str(pair[1])
