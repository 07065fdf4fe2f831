"""Server-sent events, read from bytes as they come and written as they go."""

import json
from typing import Any

LONGEST = 1 << 20
"""Bytes of an event that is believed; an agent's are a few thousand."""
BEAT = b": beat\n\n"


class Events:
    """Takes bytes and gives the data of events that are whole; comments are left out."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, more: bytes) -> list[bytes]:
        r"""Events that are whole now; ValueError for one without an end.

        >>> events = Events()
        >>> events.take(b": beat\n\ndata: 1\n\ndata: {"), events.take(b"}\n\n")
        ([b'1'], [b'{}'])
        """
        *whole, self._rest = (self._rest + more).replace(b"\r\n", b"\n").split(b"\n\n")
        if len(self._rest) > LONGEST:
            raise ValueError("an event has no end")
        return [data for one in whole if (data := _data(one))]


def _data(event: bytes) -> bytes:
    lines = (line for line in event.split(b"\n") if line.startswith(b"data:"))
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines)


def event_of(what: Any) -> bytes:
    """An event, for who listens."""
    return b"data: " + json.dumps(what, allow_nan=False).encode() + b"\n\n"
