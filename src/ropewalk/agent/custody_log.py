"""The custody log on disk: what an agent has taken over is in it before anybody is told.

When a record counts as safe:

* `batch` (default): after an fdatasync. Records gather while one runs, and for at most `every_ms`
  under load, so that one sync serves many (group commit); after a pause the first is written at
  once. A publisher is told after the sync: neither `kill -9` nor a loss of power costs what it was
  told.
* `always`: the same without gathering; the next sync begins when one has ended.
* `never`: after the write. `kill -9` costs nothing; a loss of power may cost the last seconds.

The beginning of a segment (its incarnation and its snapshot) is always synced. All writing is done
by one thread of the log's own. When writing fails nothing more is said to be safe; it is tried
again every second, with all that has gathered.

In use: construct a `CustodyLog` (it locks the folder), `read` what the last life left, `start`.
"""

import asyncio
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ropewalk.agent.early_log import EarlyLog, read_early
from ropewalk.agent.log_writer import Snapshot, Writer
from ropewalk.agent.segments import Scan, Segment, frame, scan, segments, sync_folder
from ropewalk.errors import UsageError
from ropewalk.overlay.wire import encode_records

Sync = Literal["batch", "always", "never"]

MAX_BYTES = 8 << 20
"""From this size on a log is cut down. A killed agent reads all of it before it works again: 0.6 s
of CPU for 7 MB, 6 s for 50 MB."""
_GROWTH = 4
"""How many times its size after the last compaction a log must have to be worth another. What an
earlier life left has not been cut down yet."""
_PATIENCE_S = 10.0
"""How long no compaction is asked for after one has failed."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What the last life left."""

    records: list[Any] = field(default_factory=list)
    incarnation: int = 0
    """The highest ever used here; 0 if none was."""
    dropped_bytes: int = 0
    """Behind the last whole record; nobody was told that it is safe."""
    faults: list[str] = field(default_factory=list)
    """What people should know."""


def read(folder: Path) -> Recovered:
    """What a folder's log holds; changes nothing but to keep damaged files aside.

    Raises UsageError for a log of another version.
    """
    faults: list[str] = []
    for _, path in segments(folder):
        found = scan(path)
        if found is not None:
            faults += _fault_of(path, found)
            dropped = 0 if found.damaged else found.rest_bytes
            records = [*found.records, *read_early(folder, found)]
            return Recovered(records, found.incarnation, dropped, faults)
        _keep_aside(path)
        faults.append(f"{path} has no readable beginning; kept as {path.name}.damaged")
    return Recovered(faults=faults)


def _fault_of(path: Path, found: Scan) -> list[str]:
    faults = []
    if found.damaged or found.unknown:
        _keep_aside(path)
    if found.unknown:
        faults.append(
            f"{path}: {found.unknown} records that this version does not know are passed over; "
            f"kept as {path.name}.damaged"
        )
    if found.damaged:
        faults.append(
            f"{path} is damaged at byte {found.end}: the last {found.rest_bytes} bytes are not "
            f"read; kept as {path.name}.damaged"
        )
    elif found.rest_bytes:
        faults.append(
            f"{path}: the last {found.rest_bytes} bytes, from byte {found.end} on, were not "
            "written to their end and are dropped; nobody was told that they are safe"
        )
    return faults


def _keep_aside(path: Path) -> None:
    """Give a file a second name: the first must stay until a new segment has taken its place."""
    aside = path.with_name(path.name + ".damaged")
    if aside.exists():
        return
    try:
        os.link(path, aside)
    except OSError:  # Not every file system has second names.
        shutil.copy2(path, aside)


def next_incarnation(recovered: Recovered, wall_ms: int) -> int:
    """A number that no earlier life had, even if the clock was set back.

    >>> next_incarnation(Recovered(incarnation=7), 5), next_incarnation(Recovered(), 5)
    (8, 5)
    """
    return max(wall_ms, recovered.incarnation + 1)


class CustodyLog:
    """The log of one agent. All methods are for the event loop's thread.

    Raises UsageError if another agent has the folder, or it cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        *,
        sync: Sync = "batch",
        every_ms: float = 10,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.folder = folder
        self.safe = 0
        """How many records since the start are."""
        self.fault = ""
        """Why nothing can be written now; empty if it can."""
        self._max_bytes = max_bytes
        self._sync, self._every_s = sync != "never", 0.0 if sync == "always" else every_ms / 1000
        self._lock = _lock(folder)
        self._writer: Writer | None = None
        self._appended = 0
        self._compacting, self._compacted_bytes, self._not_before_s = False, 0, 0.0
        self._waiting: list[asyncio.Future[None]] = []

    def start(
        self,
        loop: asyncio.AbstractEventLoop,
        incarnation: int,
        snapshot_records: Iterable[Any],
        on_safe: Callable[[int], None],
        on_fault: Callable[[str], None],
    ) -> None:
        """Begin a life: its incarnation and what it starts from are durable when this returns.

        Raises UsageError if they cannot be written.
        """
        self._loop, self._on_safe, self._on_fault = loop, on_safe, on_fault
        number = max((number for number, _ in segments(self.folder)), default=0) + 1
        try:
            for draft in self.folder.glob("custody-*.log.new"):
                draft.unlink()
            segment = Segment.create(self.folder, number, incarnation, snapshot_records)
            segment.settle()
        except OSError as error:
            raise UsageError(
                f"{self.folder}: the custody log cannot be written ({error.strerror}): "
                "make room, or give the agent another folder"
            ) from error
        self._writer = Writer(segment, self, sync=self._sync, every_s=self._every_s)
        self._put = self._writer.queue.put
        self._early = EarlyLog(self.folder, incarnation)
        self._early.begin()
        self._writer.start()

    def append(self, records: Sequence[Any]) -> None:
        """Write records; `on_safe` tells when they are safe."""
        if records:
            self._appended += len(records)
            data = b"".join(frame(encode_records(records)))
            self._early.write(data, self._appended)
            self._put((data, self._appended))

    @property
    def size(self) -> int:
        """Of the segment that is being written, in bytes."""
        return self._writer.segment.size if self._writer else 0

    def taken_slowest_us(self) -> int:
        """The longest that a sync has taken since the last call."""
        if self._writer is None:
            return 0
        slowest_s, self._writer.slowest_s = self._writer.slowest_s, 0.0
        return round(slowest_s * 1e6)

    @property
    def wants_compaction(self) -> bool:
        """Whether it is time for `compact`."""
        return (
            self.size > max(self._max_bytes, _GROWTH * self._compacted_bytes)
            and not self._compacting
            and time.monotonic() >= self._not_before_s
        )

    def compact(self, records: Iterable[Any]) -> None:
        """Replace all that was appended so far by a snapshot that stands for it.

        Its records are encoded by the writer's thread: they must not change any more. Does nothing
        while one is under way.
        """
        if not self._compacting:
            self._compacting = True
            self._put(Snapshot(list(records)))

    async def drained(self) -> None:
        """Wait until all that was appended is safe and no compaction is under way."""
        while self.safe < self._appended or self._compacting:
            moved = self._loop.create_future()
            self._waiting.append(moved)
            await moved

    def close(self) -> None:
        """Write what is waiting (one try, if the disk refuses), and give the folder free."""
        if self._lock < 0:
            return
        if self._writer is not None:
            self._writer.close()
            self._early.close(all_safe=self._writer.owes == 0)
        os.close(self._lock)
        self._lock = -1

    # --- what the writer tells, on its own thread -------------------------------------------

    def safe_upto(self, count: int) -> None:
        """The first `count` records since the start are safe."""
        self._tell(self._is_safe, count)

    def compacted(self, size_bytes: int) -> None:
        """A compaction has ended with a log of that size; 0 if it failed."""
        self._tell(self._is_compacted, size_bytes)

    def failed(self, text: str) -> None:
        """Something cannot be written."""
        self._tell(self._has_fault, text)

    def _tell(self, what: Callable[..., None], about: int | str) -> None:
        with suppress(RuntimeError):  # The loop was closed before the log: nobody listens.
            self._loop.call_soon_threadsafe(what, about)

    # --- and on the loop --------------------------------------------------------------------

    def _is_safe(self, count: int) -> None:
        self._early.safe(count)
        self.safe, self.fault = count, ""
        self._wake()
        self._on_safe(count)

    def _is_compacted(self, size_bytes: int) -> None:
        self._compacting = False
        if size_bytes:
            self._compacted_bytes = size_bytes
        else:
            self._not_before_s = time.monotonic() + _PATIENCE_S
        self._wake()

    def _has_fault(self, text: str) -> None:
        if text != self.fault:
            self.fault = text
            self._on_fault(text)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)


def _lock(folder: Path) -> int:
    """Lock a folder for as long as the descriptor is open, even if the process is killed."""
    try:
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True)
            sync_folder(folder.parent)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot hold a custody log ({error.strerror}): name a folder that can be "
            "written to"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise UsageError(
            f"{folder} is in use by another agent: stop it, or give this one a folder of its own"
        ) from error
    return descriptor
