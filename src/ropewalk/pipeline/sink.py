"""A sink for Spark jobs that make whole files: rows (path, content) become files in a folder.

    spark.dataSource.register(Files)
    rows.write.format("ropewalk-files").option("folder", F).option("done", D).mode("append").save()

Tasks write under a scratch folder inside the folder. Only when all of them have ended well does
the driver move the files to their places and write the list of them to the `done` file. A job
that fails leaves neither files nor list. This module needs pyspark: import it where it is used.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from shutil import rmtree
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from ropewalk.errors import UsageError

FORMAT = "ropewalk-files"
COLUMNS = "path string, content binary"
"""What a row holds: a path relative to the folder, with `/`, and the file's bytes."""


class Files(DataSource):
    """Rows (path, content) as files under the option `folder`; `done` names the list of them."""

    @classmethod
    def name(cls) -> str:
        """What `format` of a writer says."""
        return FORMAT

    def writer(self, schema: StructType, overwrite: bool) -> "FilesWriter":  # noqa: ARG002
        """The writer of one job; its scratch folder is there before any task starts."""
        missing = {"folder", "done"} - set(self.options)
        if missing:
            raise UsageError(f"{FORMAT}: say .option({min(missing)!r}, ...) before .save()")
        if schema.names != ["path", "content"]:
            raise UsageError(f"{FORMAT}: rows are ({COLUMNS}), not ({', '.join(schema.names)})")
        folder, done = Path(self.options["folder"]), Path(self.options["done"])
        scratch = folder / f".run-{uuid4().hex}"
        scratch.mkdir(parents=True)
        done.unlink(missing_ok=True)  # a list of an earlier run would be taken for this one's
        return FilesWriter(folder, done, scratch)


@dataclass(frozen=True, slots=True)
class Written(WriterCommitMessage):
    """What a task wrote: each file's place, its scratch file, its size."""

    files: tuple[tuple[str, str, int], ...]


class FilesWriter(DataSourceArrowWriter):
    """Writes files of tasks beside their places; `commit` moves them there, `abort` forgets."""

    def __init__(self, folder: Path, done: Path, scratch: Path) -> None:
        self.folder, self.done, self.scratch = folder, done, scratch

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the files of one task, under names that no other attempt uses."""
        files: list[tuple[str, str, int]] = []
        attempt = uuid4().hex
        for batch in iterator:
            for path, content in zip(batch.column(0), batch.column(1), strict=True):
                # `open` makes no folder: a task that outlives an abort leaves nothing behind.
                part = self.scratch / f"{attempt}-{len(files)}"
                part.write_bytes(content.as_buffer())
                files.append((_inside(path.as_py()), part.name, part.stat().st_size))
        return Written(tuple(files))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Move all files to their places, then write the list of them."""
        files = sorted(one for told in messages if isinstance(told, Written) for one in told.files)
        twice = [a[0] for a, b in pairwise(files) if a[0] == b[0]]
        if twice:
            raise UsageError(f"{FORMAT}: two rows have the path {twice[0]!r}")
        for path, part, _ in files:
            place = self.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            (self.scratch / part).replace(place)
        listed = self.scratch / "done"
        listed.write_text(json.dumps([{"path": path, "bytes": size} for path, _, size in files]))
        self.done.parent.mkdir(parents=True, exist_ok=True)
        listed.replace(self.done)
        rmtree(self.scratch, ignore_errors=True)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        """Forget what was written."""
        for _ in range(
            3
        ):  # a task that is still writing may put a file into a folder being emptied
            rmtree(self.scratch, ignore_errors=True)


def _inside(path: str) -> str:
    """The path, if it stays inside the folder."""
    parts = PurePosixPath(path)
    if parts.is_absolute() or not parts.parts or ".." in parts.parts:
        raise UsageError(f"{FORMAT}: a path is relative and stays in its folder, not {path!r}")
    return str(parts)
