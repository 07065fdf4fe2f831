"""A source for Spark: messages of a NATS JetStream stream as rows (path, content).

    spark.dataSource.register(Messages)
    spark.readStream.format("ropewalk-jetstream").option("servers", S).option("stream", N).load()

Options: servers, stream, subject (a filter), messages (at most so many in a batch), gaps (`error`
or `skip`). An offset is the sequence number up to which messages were read, so a batch can be read
again as long as the stream keeps its messages. This module needs pyspark 4.2: import it where it
is used.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from ropewalk.errors import UsageError
from ropewalk.pipeline.stream.pulling import ERROR, SKIP, Place, extent, pulled

FORMAT = "ropewalk-jetstream"
SCHEMA = "path string, content binary"
MESSAGES = 10_000
PER_TASK = 2_500
"""A task reads as many neighbours, and makes pieces of them."""

Offset = dict[str, int]


class Range(InputPartition):
    """Messages that one task reads."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__((first, last))
        self.first, self.last = first, last


class Messages(DataSource):
    """The messages of a stream."""

    @classmethod
    def name(cls) -> str:
        """What `format` of a reader says."""
        return FORMAT

    def schema(self) -> str:
        """A piece of a trace: where it comes from, and its bytes."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> "MessagesReader":  # noqa: ARG002, N802
        """The reader of a query; UsageError for options that are missing or make no sense."""
        options = {name: value for name, value in self.options.items() if value}
        for needed in ("servers", "stream"):
            if needed not in options:
                raise UsageError(f"{FORMAT}: say .option({needed!r}, ...) before .load()")
        gaps = options.get("gaps", ERROR)
        if gaps not in (ERROR, SKIP):
            raise UsageError(f"{FORMAT}: gaps is {gaps!r}: write {ERROR} or {SKIP}")
        most = options.get("messages", str(MESSAGES))
        if not most.isdecimal() or int(most) < 1:
            raise UsageError(f"{FORMAT}: messages is {most!r}: write a number of one or more")
        place = Place(options["servers"], options["stream"], options.get("subject"), gaps)
        return MessagesReader(place, int(most))


class MessagesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are sequence numbers; tasks read ranges of them."""

    def __init__(self, place: Place, most: int) -> None:
        self.place, self.most = place, most
        self.target: int | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        """Before the first message that the stream has."""
        return {"sequence": max(0, asyncio.run(extent(self.place)).first - 1)}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """So many messages that a batch stays small."""
        return ReadMaxRows(self.most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Read no further than what is there now."""
        self.target = asyncio.run(extent(self.place)).last

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """As far as there are messages, and as far as one batch may go."""
        since = start["sequence"]
        last = asyncio.run(extent(self.place)).last
        if last < since:
            raise UsageError(
                f"stream {self.place.stream}: ends at message {last}, but {since} were read: it"
                " was made anew: stream into another folder, or remove the checkpoint"
            )
        last = last if self.target is None else min(last, max(self.target, since))
        if isinstance(limit, ReadMaxRows):
            last = min(last, since + limit.max_rows)
        elif not isinstance(limit, ReadAllAvailable):
            last = min(last, since + self.most)
        return {"sequence": last}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Ranges for tasks; they depend on the two offsets alone, so that pieces are the same."""
        first, last = start["sequence"] + 1, end["sequence"]
        return [
            Range(low, min(low + PER_TASK - 1, last)) for low in range(first, last + 1, PER_TASK)
        ]

    def read(self, partition: Any) -> Iterator[tuple[str, bytes]]:
        """The messages of a range as pieces."""
        yield from asyncio.run(pulled(self.place, partition.first, partition.last))
