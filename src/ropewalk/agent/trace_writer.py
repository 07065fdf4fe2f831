"""The thread that makes Parquet files of a trace's journal.

A segment is kept until the next one is made: after a crash it tells which deliveries may come
again.
"""

from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread

import pyarrow as pa

from ropewalk.agent.trace_before import Before, Standing, read_standing, write_standing
from ropewalk.agent.trace_files import PARQUET, Place, write_file
from ropewalk.agent.trace_journal import ROWS, TEXT, table_of

AGAIN_S = 1.0
"""Until what could not be written is tried again."""

Given = tuple[str, Standing | None]
"""A segment, and what stands at its end if that has changed."""


class TraceWriter(Thread):
    """Writes until it is told to finish; `on_fault` is called on this thread, with a sentence."""

    def __init__(self, place: Place, *, max_bytes: int, on_fault: Callable[[str], None]) -> None:
        super().__init__(name=f"trace of {place.node}", daemon=True)
        pa.array([""])  # The first one may load another library: now, not amid traffic.
        self._place, self._max_bytes, self._on_fault = place, max_bytes, on_fault
        leftovers = place.found(ROWS)
        self._leftovers = frozenset(leftovers)
        self._waiting: deque[Given] = deque((one, None) for one in leftovers)
        self._queue: SimpleQueue[Given | None] = SimpleQueue()
        self._before = Before(read_standing(place.standing))
        self._made: str | None = None
        """The segment that was made last: it is still there."""
        self._failing = False
        self._last = Standing()
        self.inherited: Standing | None = None
        """What stood at the end of the life before, once that is known."""
        self.deleted_bytes = 0

    def take(self, stem: str, standing: Standing | None) -> None:
        """A segment is complete."""
        self._queue.put((stem, standing))

    def finish(self, standing: Standing) -> None:
        """Make all that was given, and end; this stands then."""
        self._last = standing
        self._queue.put(None)
        self.join()

    def run(self) -> None:
        """The thread."""
        self._work_off()
        self.inherited = self._before.standing
        while (given := self._next()) is not None:
            if given[0]:
                self._waiting.append(given)
            self._work_off()
        self._work_off()
        try:
            self._end()
        except OSError as error:
            self._wait(error)

    def _end(self) -> None:
        """After a clean end nothing comes again."""
        write_standing(self._place.standing, self._last)
        if self._made is not None and not self._waiting:
            self._place.forget(self._made)

    def _next(self) -> Given | None:
        """The next segment; one without a name if an earlier one is to be tried again."""
        try:
            return self._queue.get(timeout=AGAIN_S if self._waiting else None)
        except Empty:
            return "", None

    def _work_off(self) -> None:
        while self._waiting:
            stem, standing = self._waiting[0]
            try:
                self._make(stem)
                if standing is not None:
                    write_standing(self._place.standing, standing)
                self._make_room()
            except OSError as error:
                self._wait(error)
                return
            except Exception as error:  # told, and the rest goes on
                path = self._place.hidden(stem, ROWS)
                self._on_fault(f"{path}: this part of the trace is unreadable, left out: {error}")
            self._waiting.popleft()
            self._failing = False

    def _make(self, stem: str) -> None:
        """A segment as a file."""
        place, left = self._place, stem in self._leftovers
        done = place.finished(stem).exists()
        rows = None
        if left or not done:
            text = place.hidden(stem, TEXT).read_bytes()
            rows = table_of(place.hidden(stem, ROWS).read_bytes(), text)
        if rows is not None and not done:
            unfinished = place.hidden(stem, PARQUET)
            write_file(rows if left else self._before.marked(rows), unfinished)
            unfinished.rename(place.finished(stem))
        if rows is not None and left:
            self._before.left(rows)
        if self._made is not None:
            place.forget(self._made)
        self._made = stem

    def _make_room(self) -> None:
        gone = self._place.make_room(self._max_bytes)
        if gone:
            self.deleted_bytes += gone
            told = f"the trace is over {self._max_bytes} bytes: its oldest {gone} were deleted"
            self._on_fault(f"{self._place.folder}: {told}: collect it sooner, or allow more")

    def _wait(self, error: OSError) -> None:
        """Try again later; told once, and the oldest go where too many wait."""
        if not self._failing:
            told = f"the trace cannot be written: {error}: free some room"
            self._on_fault(f"{self._place.folder}: {told}")
        self._failing = True
        sizes = deque(self._place.journal_bytes(stem) for stem, _ in self._waiting)
        while len(sizes) > 1 and sum(sizes) > self._max_bytes:
            self._place.forget(self._waiting.popleft()[0])
            self.deleted_bytes += sizes.popleft()
