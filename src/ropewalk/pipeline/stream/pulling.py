"""Messages of a NATS JetStream stream by sequence number, and pieces of a trace made of them.

A message holds JSON lines, plain or compressed, or a Parquet file: its header `Ropewalk-Format`
says so (`jsonl`, `jsonl.gz`, `parquet`), or its first bytes do. Who may read is told by
environment variables: ROPEWALK_NATS_CREDENTIALS (a file), or ROPEWALK_NATS_USER and
ROPEWALK_NATS_PASSWORD, or ROPEWALK_NATS_TOKEN.
"""

import json
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from ropewalk.errors import UsageError

HEADER = "Ropewalk-Format"
FORMATS = ("jsonl", "jsonl.gz", "parquet")
PIECE_BYTES = 4 << 20
"""Up to this size, messages with plain lines that follow each other make one piece."""
FETCH = 500
PATIENCE_S = 10.0
ERROR, SKIP = "error", "skip"


@dataclass(frozen=True, slots=True)
class Place:
    """A stream: where it is, and which of its messages are wanted."""

    servers: str
    stream: str
    subject: str | None = None
    gaps: str = ERROR


@dataclass(frozen=True, slots=True)
class Message:
    """A message: its sequence number, its payload, and what its header says it is."""

    sequence: int
    payload: bytes
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Extent:
    """The first and last sequence numbers that a stream has (last < first: it is empty)."""

    first: int
    last: int


def pieces(stream: str, messages: Iterable[Message]) -> Iterator[tuple[str, bytes]]:
    r"""Pieces of a trace (path, content); the path tells the messages that they are made of.

    >>> two = [Message(7, b"{}"), Message(8, b"{}")]
    >>> list(pieces("T", two))
    [('jetstream/T/7-8.jsonl', b'{}\n{}\n')]
    """
    waiting: list[Message] = []
    size = 0
    for one in messages:
        form = format_of(stream, one)
        if waiting and (form != "jsonl" or size + len(one.payload) > PIECE_BYTES):
            yield _lines(stream, waiting)
            waiting, size = [], 0
        if form == "jsonl":
            waiting.append(one)
            size += len(one.payload)
        else:
            yield f"jetstream/{stream}/{one.sequence}.{form}", one.payload
    if waiting:
        yield _lines(stream, waiting)


def _lines(stream: str, messages: list[Message]) -> tuple[str, bytes]:
    first, last = messages[0].sequence, messages[-1].sequence
    name = f"{first}" if first == last else f"{first}-{last}"
    content = b"".join(
        one.payload if one.payload.endswith(b"\n") else one.payload + b"\n" for one in messages
    )
    return f"jetstream/{stream}/{name}.jsonl", content


def format_of(stream: str, message: Message) -> str:
    """What a payload is, by its header or else by its first bytes."""
    if message.format is not None:
        if message.format not in FORMATS:
            raise UsageError(
                f"stream {stream}, message {message.sequence}: {HEADER} is {message.format!r}:"
                f" write one of {', '.join(FORMATS)}"
            )
        return message.format
    if message.payload.startswith(b"PAR1"):
        return "parquet"
    return "jsonl.gz" if message.payload.startswith(b"\x1f\x8b") else "jsonl"


def gap(stream: str, first: int, last: int) -> tuple[str, bytes]:
    """What stands for messages that are gone: a line that is no row, and so is put aside."""
    told = f"messages {first} to {last} of stream {stream} were deleted before they were read"
    return f"jetstream/{stream}/gap-{first}-{last}.jsonl", told.encode() + b"\n"


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as runs of neighbours.

    >>> runs([3, 4, 9])
    [(3, 4), (9, 9)]
    """
    found: list[tuple[int, int]] = []
    for one in sorted(numbers):
        if found and found[-1][1] == one - 1:
            found[-1] = found[-1][0], one
        else:
            found.append((one, one))
    return found


async def extent(place: Place) -> Extent:
    """What a stream has now."""
    async with _connected(place) as connection:
        state = (await _info(connection, place))["state"]
        return Extent(state["first_seq"], state["last_seq"])


async def pulled(place: Place, first: int, last: int) -> list[tuple[str, bytes]]:
    """The messages from `first` to `last` as pieces, the same each time that they are asked for.

    Raises UsageError if some of them are gone, unless gaps are to be skipped; then what is gone
    is told by a piece of its own.
    """
    async with _connected(place) as connection:
        js = connection.jetstream(timeout=PATIENCE_S)
        there = {one.sequence: one async for one in _messages(js, place, first, last)}
        gone = await _gone(connection, place, first, last, there)
    if gone and place.gaps != SKIP:
        told = ", ".join(f"{low} to {high}" for low, high in gone[:3])
        raise UsageError(
            f"stream {place.stream}: messages {told} were deleted before they were read:"
            " raise the stream's limits, or go on without them by gaps=skip"
        )
    found = list(pieces(place.stream, there.values()))
    return [*found, *(gap(place.stream, low, high) for low, high in gone)]


async def _gone(
    connection: Any, place: Place, first: int, last: int, there: Mapping[int, Message]
) -> list[tuple[int, int]]:
    """Which messages of a range are deleted; looked up after reading, so that none slips away.

    With a subject only some messages are wanted, and which ones the deleted were is not known.
    """
    info = await _info(connection, place, deleted=True)
    deleted = {one for one in info["state"].get("deleted") or () if first <= one <= last}
    deleted |= set(range(first, min(info["state"]["first_seq"], last + 1)))
    gone = deleted - there.keys()
    if place.subject is None:
        missing = set(range(first, last + 1)) - there.keys() - gone
        if missing:
            raise UsageError(
                f"stream {place.stream}: message {min(missing)} is there but was not sent:"
                " look whether the server is well, and start again"
            )
    return runs(gone)


async def _messages(js: Any, place: Place, first: int, last: int) -> AsyncIterator[Message]:
    """What a consumer of our own is sent, which the server forgets afterwards."""
    from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

    config = ConsumerConfig(
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=first,
        ack_policy=AckPolicy.NONE,
        filter_subject=place.subject,
        inactive_threshold=60.0,
        mem_storage=True,
    )
    made = await js.add_consumer(place.stream, config)
    left = made.num_pending or 0
    consumer = await js.pull_subscribe_bind(made.name, stream=place.stream)
    expected, at = 1, first - 1
    try:
        while left:
            try:
                batch = await consumer.fetch(min(FETCH, left), timeout=PATIENCE_S)
            except TimeoutError:
                left = (await js.consumer_info(place.stream, made.name)).num_pending
                if not left:
                    return  # the rest was deleted while we read
                raise UsageError(
                    f"stream {place.stream}: the server sends nothing after {at} for"
                    f" {PATIENCE_S:.0f} s: look whether it is well, and start again"
                ) from None
            for one in batch:
                at = one.metadata.sequence.stream
                if one.metadata.sequence.consumer != expected:
                    raise UsageError(
                        f"stream {place.stream}: a message before {at} was lost on its way:"
                        " start again"
                    )
                expected += 1
                left = one.metadata.num_pending if at < last else 0
                if at <= last:
                    yield Message(at, one.data, (one.headers or {}).get(HEADER))
    finally:
        await js.delete_consumer(place.stream, made.name)


async def _info(connection: Any, place: Place, *, deleted: bool = False) -> dict[str, Any]:
    """What the server says of a stream; the client's own call cannot ask for what was deleted."""
    subject = f"$JS.API.STREAM.INFO.{place.stream}"
    info: dict[str, Any] = {}
    found: list[int] = []
    while True:
        asked = {"deleted_details": deleted, "offset": len(found)}
        answer = await connection.request(subject, json.dumps(asked).encode(), timeout=PATIENCE_S)
        info = json.loads(answer.data)
        if "error" in info:
            raise UsageError(f"stream {place.stream}: {info['error'].get('description')}")
        part = info["state"].get("deleted") or []
        found += part
        if not part or len(found) >= info.get("total", 0):
            info["state"]["deleted"] = found
            return info


@asynccontextmanager
async def _connected(place: Place) -> AsyncIterator[Any]:
    """A connection with what the environment says of who we are."""
    import nats
    from nats.errors import Error, NoServersError

    async def quiet(_: Exception) -> None:
        """What goes wrong is told by the call that it stops."""

    servers = [one.strip() for one in place.servers.split(",")]
    try:
        connection = await nats.connect(
            servers,
            error_cb=quiet,
            allow_reconnect=False,
            max_reconnect_attempts=3,
            reconnect_time_wait=0.5,
            connect_timeout=PATIENCE_S,
            **credentials(os.environ),
        )
    except (NoServersError, OSError, Error) as error:
        raise UsageError(
            f"{place.servers}: no NATS server lets us in: {error}: look at the address, and at"
            " ROPEWALK_NATS_CREDENTIALS, ROPEWALK_NATS_USER or ROPEWALK_NATS_TOKEN"
        ) from None
    try:
        yield connection
    except Error as error:
        raise UsageError(f"stream {place.stream} on {place.servers}: {error}") from None
    finally:
        await connection.close()


def credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """Who we are, as the environment has it.

    >>> credentials({"ROPEWALK_NATS_TOKEN": "t"})
    {'token': 't'}
    """
    options = {
        "user_credentials": "ROPEWALK_NATS_CREDENTIALS",
        "user": "ROPEWALK_NATS_USER",
        "password": "ROPEWALK_NATS_PASSWORD",
        "token": "ROPEWALK_NATS_TOKEN",
    }
    return {name: environment[one] for name, one in options.items() if environment.get(one)}
