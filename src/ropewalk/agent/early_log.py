"""What the custody log has not written yet, where a crash of the process cannot reach it.

Letters leave before their record is synced: only a publisher has to wait for that. So that no other
agent gets a letter that this one does not know after a crash, every frame of records goes to the
operating system before anything is sent (`early-<n>.log`), and to the log in the log's own time. A
start reads both. Records that are in both do no harm: they say the same twice, in the same order.
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from ropewalk.agent.segments import Scan, begin_segment, scan, write_all

ENOUGH_BYTES = 1 << 20
"""Of one file; then another is begun, and the one before it is deleted when all in it is safe."""
_NAME = re.compile(r"early-(\d+)\.log")


def early_files(folder: Path) -> list[Path]:
    """The files of a folder, the oldest first."""
    found = ((_NAME.fullmatch(path.name), path) for path in folder.glob("early-*.log"))
    return [path for _, path in sorted((int(match[1]), path) for match, path in found if match)]


def read_early(folder: Path, log: Scan) -> list[Any]:
    """Records of the last life that its log has not, as far as its files are whole."""
    found: list[Any] = []
    last = log.frames[-1] if log.frames else b""
    for path in early_files(folder):
        held = scan(path)
        if held is None or held.incarnation != log.incarnation:
            continue
        if last in held.frames:
            found = held.records[held.counts[held.frames.index(last)] :]
        else:
            found += held.records
    return found


class EarlyLog:
    """The early files of one life."""

    def __init__(self, folder: Path, incarnation: int) -> None:
        self._folder, self._incarnation = folder, incarnation
        self._old = early_files(folder)
        self._number = 0
        self._descriptor = -1
        self._size = 0
        self._upto = 0
        """How many records the files hold that are no longer written to."""
        self._last: list[Path] = []
        self._written = 0

    def begin(self) -> None:
        """What an earlier life left is in the log by now."""
        for path in self._old:
            with suppress(OSError):
                path.unlink()
        self._next()

    def write(self, data: bytes, upto: int) -> None:
        """Give a frame to the operating system; a disk that refuses is the log's to complain of."""
        if self._descriptor < 0:
            return
        with suppress(OSError):
            self._size += write_all(self._descriptor, data)
        self._written = upto

    def safe(self, count: int) -> None:
        """So many records are safe in the log: what holds nothing else can go."""
        if self._last and count >= self._upto:
            self._delete()
        if not self._last and self._size > ENOUGH_BYTES:
            self._upto = self._written
            self._next()

    def _next(self) -> None:
        self.close()
        path = self._folder / f"early-{self._number}.log"
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(path, flags, 0o600)
            self._size = begin_segment(self._descriptor, self._incarnation)
        if self._number:
            self._last.append(self._folder / f"early-{self._number - 1}.log")
        self._number += 1

    def _delete(self) -> None:
        for path in self._last:
            with suppress(OSError):
                path.unlink()
        self._last.clear()

    def close(self, *, all_safe: bool = False) -> None:
        """Write no more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if all_safe:
            self._last.append(self._folder / f"early-{self._number - 1}.log")
            self._delete()
