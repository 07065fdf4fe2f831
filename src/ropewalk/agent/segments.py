"""Files of the custody log: how records lie in them, how one takes the place of another.

A segment `custody-<n>.log` is a header (magic, version, incarnation, checksum) and frames. A frame
is a mark, the length and the checksum of what follows, and the records that were written together.
The segment with the highest number counts. It gets its name only when all that it begins with is on
disk, and those before it are deleted after that: at every moment one whole segment is there.
"""

import os
import re
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from ropewalk.errors import UsageError
from ropewalk.overlay.wire import decode_record, decode_records, encode_records

VERSION = 2
_MAGIC = b"RWCUSTDY"
_MARK = b"\xf5RW\xf6"
"""Opens a frame, so that frames can be found again behind damage; no text contains it."""
_HEADER = struct.Struct("<8sIQI")
_FRAME = struct.Struct("<4sII")
_RAW = msgspec.msgpack.Decoder(list[msgspec.Raw])
_NAME = re.compile(r"custody-(\d+)\.log")
_TOGETHER = 256
"""Records of a snapshot in one frame."""


@dataclass(slots=True)
class Scan:
    """What a segment holds."""

    incarnation: int
    records: list[Any] = field(default_factory=list)
    end: int = 0
    """Where the last frame ends that can be read."""
    rest_bytes: int = 0
    """What lies behind it."""
    damaged: bool = False
    """Whether the rest is more than a frame that was not written to its end."""
    unknown: int = 0
    """Records that are whole but make no sense to this version."""
    frames: list[bytes] = field(default_factory=list)
    """The frames' digests, in order."""
    counts: list[int] = field(default_factory=list)
    """How many records there were up to the end of each."""


def segments(folder: Path) -> list[tuple[int, Path]]:
    """The segments of a folder, the highest number first."""
    found = ((_NAME.fullmatch(path.name), path) for path in folder.glob("custody-*.log"))
    return sorted(((int(match[1]), path) for match, path in found if match), reverse=True)


def scan(path: Path) -> Scan | None:
    """Read a segment as far as it is whole; None if not even its header is.

    Raises UsageError for a segment of another version: its records must not be passed over.
    """
    data = path.read_bytes()
    incarnation = _incarnation(path, data)
    if incarnation is None:
        return None
    found = Scan(incarnation, end=_HEADER.size)
    view = memoryview(data)
    while (payload := _payload(view, found.end)) is not None:
        _decode(payload, found)
        found.frames.append(blake2b(payload, digest_size=8).digest())
        found.counts.append(len(found.records))
        found.end += _FRAME.size + len(payload)
    found.rest_bytes = len(data) - found.end
    found.damaged = _is_damaged(data, found.end)
    return found


def _incarnation(path: Path, data: bytes) -> int | None:
    if len(data) < _HEADER.size:
        return None
    magic, version, incarnation, check = _HEADER.unpack_from(data)
    if magic != _MAGIC or check != crc32(data[: _HEADER.size - 4]):
        return None
    if version != VERSION:
        raise UsageError(
            f"{path} has format {version}, this Ropewalk reads {VERSION}: "
            "let the version that wrote it deliver what it holds, or move the file away"
        )
    return int(incarnation)


def _decode(payload: memoryview, found: Scan) -> None:
    """Add the records of a frame, one by one if not all of them make sense."""
    try:
        found.records += decode_records(payload)
    except msgspec.MsgspecError:
        for raw in _RAW.decode(payload):
            try:
                found.records.append(decode_record(bytes(raw)))
            except msgspec.MsgspecError:
                found.unknown += 1


def _payload(data: memoryview, at: int) -> memoryview | None:
    if len(data) - at < _FRAME.size:
        return None
    mark, length, check = _FRAME.unpack_from(data, at)
    start = at + _FRAME.size
    if mark != _MARK or length > len(data) - start:
        return None
    payload = data[start : start + length]
    return payload if crc32(payload) == check else None


def _is_damaged(data: bytes, end: int) -> bool:
    """Whether a whole frame follows somewhere behind the one that is not."""
    view = memoryview(data)
    at = data.find(_MARK, end + 1)
    while at != -1 and _payload(view, at) is None:
        at = data.find(_MARK, at + 1)
    return at != -1


def frame(payload: bytes) -> tuple[bytes, bytes]:
    """A frame of encoded records, in two parts."""
    return _FRAME.pack(_MARK, len(payload), crc32(payload)), payload


class Segment:
    """The segment that is being written; every method may raise OSError and be called again."""

    def __init__(
        self, folder: Path, number: int, incarnation: int, descriptor: int, size: int
    ) -> None:
        self.folder, self.size = folder, size
        self._number, self._incarnation, self._descriptor = number, incarnation, descriptor
        self._settled = self._unsure = False

    @classmethod
    def create(
        cls, folder: Path, number: int, incarnation: int, records: Iterable[Any]
    ) -> "Segment":
        """Write a new one that begins with these records, and make it the one that counts."""
        path = folder / f"custody-{number}.log"
        draft = path.with_suffix(".log.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o600)
        try:
            size = _write_beginning(descriptor, incarnation, records)
            os.fsync(descriptor)
            draft.replace(path)
        except BaseException:
            os.close(descriptor)
            with suppress(OSError):  # What is left of it is written over next time.
                draft.unlink()
            raise
        return cls(folder, number, incarnation, descriptor, size)

    def successor(self, records: Iterable[Any]) -> "Segment":
        """The segment that takes its place."""
        return Segment.create(self.folder, self._number + 1, self._incarnation, records)

    def settle(self) -> None:
        """Make its name durable, then delete what it replaces."""
        if self._settled:
            return
        sync_folder(self.folder)
        for number, path in segments(self.folder):
            if number < self._number:
                with suppress(OSError):  # It no longer counts: the next settling tries again.
                    path.unlink()
        self._settled = True

    def append(self, data: bytes, *, sync: bool) -> None:
        """Write frames; they count only when this returns.

        After a failure nothing is known of what was written since the last success, not even when
        a second sync works: all of it is cut off and written again.
        """
        self.settle()
        if not data:
            return
        if self._unsure:
            os.ftruncate(self._descriptor, self.size)
        self._unsure = True
        write_all(self._descriptor, data)
        if sync:
            os.fdatasync(self._descriptor)
        self._unsure = False
        self.size += len(data)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def begin_segment(descriptor: int, incarnation: int) -> int:
    """Write a header; returns its size."""
    header = _HEADER.pack(_MAGIC, VERSION, incarnation, 0)[:-4]
    return write_all(descriptor, header + crc32(header).to_bytes(4, "little"))


def _write_beginning(descriptor: int, incarnation: int, records: Iterable[Any]) -> int:
    size = begin_segment(descriptor, incarnation)
    rest = iter(records)
    while some := list(islice(rest, _TOGETHER)):
        size += write_all(descriptor, b"".join(frame(encode_records(some))))
    return size


def write_all(descriptor: int, data: bytes) -> int:
    """Write every byte; returns how many they are."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    return len(data)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
