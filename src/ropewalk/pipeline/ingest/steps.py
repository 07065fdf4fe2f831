"""The steps of ingest, from DataFrame to DataFrame; each works on whole files or pieces at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.pipeline.batches import Batches, batch, rows
from ropewalk.pipeline.ingest import packing
from ropewalk.pipeline.ingest.checking import checked
from ropewalk.pipeline.ingest.counting import AGAIN
from ropewalk.pipeline.ingest.reading import parsed
from ropewalk.trace.columns import DICTIONARIES, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PIECES = "part string, bucket int, content binary"
"""A part of a table, as Arrow bytes; only those of `events` and `names` have several buckets."""
FILES = "path string, content binary"
"""A file to be written."""

ARROW_PIECES = pa.schema([("part", pa.string()), ("bucket", pa.int32()), ("content", pa.binary())])
ARROW_FILES = pa.schema([("path", pa.string()), ("content", pa.binary())])


class Piece(NamedTuple):
    """A row of PIECES."""

    part: str
    bucket: int
    content: bytes


def pieces_of(
    files: "DataFrame", numbers: Mapping[str, int], digests: frozenset[str], buckets: int
) -> "DataFrame":
    """Trace files (path, content) as pieces; files whose digest is known give none."""

    def cut(batches: Batches) -> Batches:
        for path, content in rows(batches):
            for one in _pieces(path, content.to_pybytes(), numbers[path], digests, buckets):
                yield batch(ARROW_PIECES, one)

    return files.mapInArrow(cut, PIECES)


def _pieces(
    path: str, content: bytes, source: int, digests: frozenset[str], buckets: int
) -> Iterator[Piece]:
    digest = packing.digest_of(content)
    if digest in digests:
        yield Piece("sources", 0, packing.account(source, digest, 0))
        return
    file = checked(parsed(path, content))
    yield Piece("sources", 0, packing.account(source, digest, file.seen))
    for table, found in packing.stored(file, source).items():
        if table == "events":
            for bucket, piece in packing.scattered(found, buckets):
                yield Piece(table, bucket, piece)
        else:
            yield Piece(table, 0, packing.as_bytes(found))
    for bucket, column in enumerate(DICTIONARIES):
        names = packing.names_table(file, column)
        if len(names):
            yield Piece("names", bucket, packing.as_bytes(names))
    if file.bad:
        yield Piece("quarantine", 0, packing.as_bytes(packing.quarantine_table(file, source)))


def files_of(pieces: "DataFrame", buckets: int, run: str) -> "DataFrame":
    """Pieces gathered by part and bucket into the files of a store."""

    def make(batches: Batches) -> Batches:
        pieces = map(Piece._make, rows(batches))
        for (part, bucket), group in groupby(pieces, lambda one: (one.part, one.bucket)):
            contents = (one.content for one in group)
            for path, content in _files(part, bucket, contents, run):
                yield batch(ARROW_FILES, (path, content))

    gathered = pieces.repartition(max(buckets, 4), "part", "bucket")
    return gathered.sortWithinPartitions("part", "bucket").mapInArrow(make, FILES)


def _files(
    part: str, bucket: int, contents: Iterable[bytes], run: str
) -> Iterator[tuple[str, bytes]]:
    place = f"{run}-{bucket}.parquet"
    if part == "names":
        column = DICTIONARIES[bucket]
        yield f"names/{column}/{place}", packing.names_file(contents)
    elif part in ("events", "control", "samples"):
        table: Table = part  # type: ignore[assignment]
        kept = packing.ordered(packing.joined(contents, table), packing.KEYS[table])
        yield f"{part}/{place}", packing.table_file(kept.table)
        if len(kept.repeated):
            yield f"quarantine/{part}-{place}", packing.quarantine_file(kept.repeated)
    elif part == "quarantine":
        aside = pa.concat_tables(map(packing.from_bytes, contents))
        yield f"quarantine/{place}", packing.quarantine_file(aside)
    else:
        yield f"sources/{place}", packing.accounts_file(contents)


def _folder(path: str) -> str:
    return path.split("/")[-2]


def without_repeats(files: "DataFrame", new: Sequence[str]) -> "DataFrame":
    """New files (path, bucket, content) again, without rows that older ones of a bucket have."""

    def rewrite(batches: Batches) -> Batches:
        for (table, _), group in groupby(rows(batches), lambda row: (_folder(row[0]), row[1])):
            tables = {path: pq.read_table(pa.BufferReader(content)) for path, _, content in group}
            fresh = {path: one for path, one in tables.items() if path.endswith(tuple(new))}
            old = [one for path, one in tables.items() if path not in fresh]
            for path, one in fresh.items():
                kept = packing.ordered(one, packing.KEYS[table], old)
                place = AGAIN + path.split("/")[-1]
                yield batch(ARROW_FILES, (f"{table}/{place}", packing.table_file(kept.table)))
                aside = packing.quarantine_file(kept.repeated)
                yield batch(ARROW_FILES, (f"quarantine/{table}-{place}", aside))

    return files.mapInArrow(rewrite, FILES)
