"""The custody log's own thread: it writes what has gathered, syncs, and tells what is safe.

Nothing is told that is not. What cannot be written is kept and tried again; a snapshot that comes
meanwhile stands for all that came before it, so that a log which fills its disk can be cut down.
"""

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from ropewalk.agent.segments import Segment

RETRY_S = 1.0


@dataclass(slots=True)
class Snapshot:
    """Records that stand for all that was appended before it."""

    records: list[Any]


class Told(Protocol):
    """Whom a writer tells; called on its thread."""

    def safe_upto(self, count: int) -> None:
        """The first `count` records since the start are safe."""

    def compacted(self, size_bytes: int) -> None:
        """A compaction has ended with a log of that size; 0 if it failed."""

    def failed(self, text: str) -> None:
        """Something cannot be written."""


class Writer:
    """One thread that writes one log; `queue` is how it gets its work, in order."""

    def __init__(self, segment: Segment, told: Told, *, sync: bool, every_s: float) -> None:
        self.queue: SimpleQueue[tuple[bytes, int] | Snapshot | None] = SimpleQueue()
        """Encoded records with the count up to them; snapshots; None for the end."""
        self.segment = segment
        self._told, self._sync, self._every_s = told, sync, every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="custody log", daemon=True)
        self._frames: list[tuple[bytes, int]] = []
        self._snapshot: Snapshot | None = None
        self._covered = 0
        """How many of the frames the snapshot stands for."""
        self._upto = self._safe = self._cut_bytes = 0
        self.slowest_s = 0.0
        """The longest that a write with its sync has taken; whoever asks begins it anew."""
        self._last = False

    @property
    def owes(self) -> int:
        """How many records it has taken that are not safe."""
        return self._upto - self._safe

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def close(self) -> None:
        """Write what is waiting and end; from another thread."""
        self.queue.put(None)
        self._stop.set()
        self._thread.join()
        self.segment.close()

    def _run(self) -> None:
        try:
            self._write_on()
        except BaseException as error:
            self._told.failed(
                f"{self.segment.folder}: the custody log is no longer written ({error!r}): "
                "nothing is accepted any more; start the agent again"
            )
            raise

    def _write_on(self) -> None:
        while not self._last:
            self._gather()
            started_s = time.monotonic()
            if self._snapshot is not None:
                self._cut_down(self._snapshot)
            pause_s = self._every_s if self._commit() else RETRY_S
            if pause_s:
                self._stop.wait(max(0.0, started_s + pause_s - time.monotonic()))

    def _gather(self) -> None:
        """Take all that is waiting; wait for the first if nothing is owed."""
        take = self.queue.get_nowait if self._upto > self._safe else self.queue.get
        with suppress(Empty):
            while (item := take()) is not None:
                take = self.queue.get_nowait
                if isinstance(item, Snapshot):
                    self._snapshot, self._covered = item, len(self._frames)
                else:
                    self._frames.append(item)
                    self._upto = item[1]
            self._last = True

    def _cut_down(self, snapshot: Snapshot) -> None:
        """Begin a new segment; if that fails, the old one is written on."""
        self._snapshot, old = None, self.segment
        try:
            self.segment = old.successor(snapshot.records)
        except Exception as error:  # Whatever it is, the old segment is whole.
            self._told.failed(f"{old.folder}: the custody log is not cut down: {error}")
            self._told.compacted(0)
            return
        old.close()
        del self._frames[: self._covered]
        self._cut_bytes = self.segment.size

    def _commit(self) -> bool:
        """Write what has gathered and tell that it is safe; False if that has to be tried again."""
        began_s = time.monotonic()
        try:
            self.segment.append(b"".join([data for data, _ in self._frames]), sync=self._sync)
        except OSError as error:
            self._told.failed(self._refusal(error))
            return False
        self.slowest_s = max(self.slowest_s, time.monotonic() - began_s)
        self._frames.clear()
        if self._upto > self._safe:
            self._safe = self._upto
            self._told.safe_upto(self._safe)
        if self._cut_bytes:
            self._told.compacted(self._cut_bytes)
            self._cut_bytes = 0
        return True

    def _refusal(self, error: OSError) -> str:
        why = f"{self.segment.folder}: the custody log cannot be written ({error.strerror})"
        if self._last:
            return f"{why}: {self.owes} records that nobody was told of are not in it"
        return f"{why}: nothing is accepted until it can be; make room or mend the disk"
