"""What a driven message carries: its run, its publisher's stream, its number, when it was sent.

Padding fills it up to its size and is checked as well. Numbers below zero are probes: they tell
that a subscription works and are never counted.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropewalk.errors import UsageError

_HEAD = Struct("<IIqq")
_FIELDS = np.dtype([("run", "<u4"), ("stream", "<u4"), ("number", "<i8"), ("sent_ns", "<i8")])
LEAST_BYTES = _HEAD.size

Records = NDArray[Any]
"""Rows with `run`, `stream`, `number` and `sent_ns`."""


class Form:
    """How the payloads of one run look.

    >>> form = Form(run=7, size_bytes=32)
    >>> form.read(form.write(2, 5, 1_000)), form.read(b"somebody else's")
    ((2, 5, 1000), None)
    """

    def __init__(self, *, run: int, size_bytes: int) -> None:
        if size_bytes < LEAST_BYTES:
            raise UsageError(f"a payload of {size_bytes} bytes: write at least {LEAST_BYTES}")
        self.run = run
        self.size_bytes = size_bytes
        self._padding = bytes(i % 251 for i in range(size_bytes - LEAST_BYTES))

    def write(self, stream: int, number: int, sent_ns: int) -> bytes:
        """A message's payload."""
        return _HEAD.pack(self.run, stream, number, sent_ns) + self._padding

    def read(self, payload: bytes) -> tuple[int, int, int] | None:
        """Stream, number and time of sending; None if it is not of this run or was changed."""
        if len(payload) != self.size_bytes or payload[LEAST_BYTES:] != self._padding:
            return None
        run, stream, number, sent_ns = _HEAD.unpack_from(payload)
        return (stream, number, sent_ns) if run == self.run else None

    def read_many(self, payloads: Sequence[bytes]) -> Records:
        """The same of many at once; those that are not of this run are left out."""
        size, padding = self.size_bytes, self._padding
        heads = [
            one[:LEAST_BYTES]
            for one in payloads
            if len(one) == size and one[LEAST_BYTES:] == padding
        ]
        found: Records = np.frombuffer(b"".join(heads), _FIELDS)
        return np.compress(found["run"] == self.run, found)
