"""Where the pieces of a trace come from: rows (path, content) that can be read again."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ropewalk.errors import UsageError
from ropewalk.pipeline.ingest.reading import SUFFIXES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BINARY = "path string, modificationTime timestamp, length bigint, content binary"
NAMES = "*{" + ",".join(SUFFIXES) + "}"
FOR_EVER = "36500d"
"""Spark passes over files that are older than this when they come: rows must not be lost so."""


class Growing(Protocol):
    """A trace that grows."""

    @property
    def reads_twice(self) -> bool:
        """Whether reading a batch again is cheap."""
        ...

    def frame(self, spark: "SparkSession") -> "DataFrame":
        """Its pieces as a streaming DataFrame (path, content)."""
        ...


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that files are renamed into when they are whole; also those in folders below.

    Names that begin with `.` or `_`, or end otherwise than a trace's, are passed over.
    """

    path: Path
    files_per_batch: int = 1000
    reads_twice: bool = True

    def frame(self, spark: "SparkSession") -> "DataFrame":
        """Files as they come."""
        from pyspark.sql import functions as f

        if not self.path.is_dir():
            raise UsageError(f"{self.path}: there is no such folder: make it, or name another")
        if self.files_per_batch < 1:
            raise UsageError(f"files per batch is {self.files_per_batch}: one or more are needed")
        reader = spark.readStream.format("binaryFile").schema(BINARY)
        for name, value in (
            ("pathGlobFilter", NAMES),
            ("recursiveFileLookup", "true"),
            ("maxFilesPerTrigger", str(self.files_per_batch)),
            ("maxFileAge", FOR_EVER),
        ):
            reader = reader.option(name, value)
        frame = reader.load(str(self.path.resolve()))
        return frame.select(f.regexp_replace("path", "^file:(//)?", "").alias("path"), "content")


@dataclass(frozen=True, slots=True)
class JetStream:
    """A stream of NATS JetStream whose messages are pieces of a trace.

    `gaps` says what happens when messages were deleted before they were read: `error`, or `skip`,
    which notes them in the store's quarantine. Who may read is told by the environment (`pulling`).
    """

    servers: str
    stream: str
    subject: str | None = None
    messages_per_batch: int = 10_000
    gaps: str = "error"
    reads_twice: bool = False

    def frame(self, spark: "SparkSession") -> "DataFrame":
        """Messages as they come."""
        from ropewalk.pipeline.stream.jetstream import FORMAT, Messages

        spark.dataSource.register(Messages)
        reader = spark.readStream.format(FORMAT)
        options = {
            "servers": self.servers,
            "stream": self.stream,
            "subject": self.subject or "",
            "messages": str(self.messages_per_batch),
            "gaps": self.gaps,
        }
        for name, value in options.items():
            reader = reader.option(name, value)
        return reader.load()
