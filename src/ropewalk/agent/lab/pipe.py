"""A TCP connection through the proxy: two ends that pass each other's bytes on, in order.

Bytes are held by not reading them, so that they stay with the kernel and its flow control works as
it does on a real line; only a slow link keeps them here, until they are due.
"""

import asyncio
import socket
import struct
from collections import deque
from dataclasses import dataclass, field
from typing import Any

_MOST_QUEUED = 4 * 1024 * 1024
"""Bytes that a slow link holds for one end before it reads no more."""
_AT_ONCE = struct.pack("ii", 1, 0)


@dataclass(slots=True)
class Weather:
    """What a link does to bytes now."""

    held: bool = False
    """Nothing passes, nothing is closed."""
    delay_s: float = 0.0
    rate_bytes_s: float = 0.0
    """0: as fast as it goes."""
    ends: "set[End]" = field(default_factory=set)

    @property
    def slow(self) -> bool:
        """Whether bytes have to wait."""
        return self.delay_s > 0 or self.rate_bytes_s > 0


class End(asyncio.Protocol):
    """One end of a connection; `far` is the other."""

    def __init__(self, weather: Weather) -> None:
        self.weather = weather
        self.far: End | None = None
        self.transport: Any = None
        self.ended = False
        self._doomed = False
        self._waits: set[str] = set()
        self._queue: deque[tuple[float, bytes]] = deque()
        self._queued_bytes = 0
        self._last_due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Join the link; nothing is read before there is a far end."""
        self.transport = transport  # asyncio has set TCP_NODELAY
        self.weather.ends.add(self)
        self.wait("far")
        if self.weather.held:
            self.wait("held")

    def join(self, far: "End") -> None:
        """Pass bytes to and from the far end from now on."""
        self.far, far.far = far, self
        self.go("far")
        far.go("far")

    def data_received(self, data: bytes) -> None:
        """Pass bytes on, now or when they are due."""
        if self._queue or self.weather.slow:
            self._put(data)
        else:
            self.far.transport.write(data)  # type: ignore[union-attr]

    def eof_received(self) -> bool:
        """Pass the end on, behind the bytes before it; the way back stays open."""
        if self._queue or self.weather.slow:
            self._put(b"")
        else:
            self._end()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        """The far end sees the same, but not through a link that holds everything."""
        self.weather.ends.discard(self)
        self._stop_timer()
        if self.far is None:
            return
        if self.weather.held:
            self.far._doomed = True
        elif not self.ended or error is not None:
            self.far.reset()

    def pause_writing(self) -> None:
        """This end takes no more: read no more at the far one."""
        if self.far is not None:
            self.far.wait("room")

    def resume_writing(self) -> None:
        """There is room again."""
        if self.far is not None:
            self.far.go("room")

    def reset(self) -> None:
        """Close at once with a TCP reset; what was not sent is gone."""
        if not self.transport.is_closing():
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE
            )
        self.transport.abort()

    def hold(self) -> None:
        """Let nothing pass."""
        self._stop_timer()
        self.wait("held")

    def release(self) -> None:
        """Let all pass that was held; what is queued goes at once."""
        if self._doomed:
            self.reset()
            return
        self._send(float("inf"))
        self.go("held")

    def wait(self, reason: str) -> None:
        """Read nothing while there is a reason not to."""
        self._waits.add(reason)
        self.transport.pause_reading()

    def go(self, reason: str) -> None:
        """A reason is gone; read if it was the last."""
        self._waits.discard(reason)
        if not self._waits:
            self.transport.resume_reading()

    def _put(self, data: bytes) -> None:
        """Queue bytes until they are due; an empty piece is the end."""
        now, weather = asyncio.get_running_loop().time(), self.weather
        due = now + weather.delay_s
        if weather.rate_bytes_s:
            due = max(due, self._last_due) + len(data) / weather.rate_bytes_s
        self._last_due = max(due, self._last_due)
        self._queue.append((self._last_due, data))
        self._queued_bytes += len(data)
        if self._queued_bytes > _MOST_QUEUED:
            self.wait("queue")
        if self._timer is None:
            self._set_timer()

    def _send(self, until: float) -> None:
        """Pass on what is due."""
        while self._queue and self._queue[0][0] <= until:
            data = self._queue.popleft()[1]
            self._queued_bytes -= len(data)
            if data and self.far is not None:
                self.far.transport.write(data)
            elif not data:
                self._end()
        if self._queued_bytes <= _MOST_QUEUED // 2:
            self.go("queue")

    def _tick(self) -> None:
        self._timer = None
        self._send(asyncio.get_running_loop().time())
        if self._queue:
            self._set_timer()

    def _set_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_at(self._queue[0][0], self._tick)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        """The last byte of this end was passed on."""
        self.ended = True
        far = self.far
        if far is None or far.transport.is_closing():
            self.transport.close()
        elif far.ended:
            far.transport.close()
            self.transport.close()
        else:
            far.transport.write_eof()
