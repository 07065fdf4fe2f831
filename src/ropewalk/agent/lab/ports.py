"""Free ports for a lab's servers, kept from everybody else for as long as the lab runs.

They lie below the range from which the kernel takes ports for outgoing connections: from there a
broker's port can be taken away while the broker is being restarted.
"""

import random
import socket
from types import TracebackType
from typing import Self

from ropewalk.errors import LabError

FIRST, LAST = 20_000, 32_767
HOST = "127.0.0.1"


class Ports:
    """Ports of this machine's loopback that are this process's until it closes them or ends.

    Each is held by a socket that is bound and does not listen. Servers may still bind the port,
    because both sides allow that address to be used again (SO_REUSEADDR); another lab may not,
    because its first look does not.
    """

    def __init__(self, first: int = FIRST, last: int = LAST) -> None:
        self._range = range(first, last + 1)
        self._next = random.randrange(len(self._range))  # noqa: S311
        self._held: dict[int, socket.socket] = {}

    def take(self) -> int:
        """A free port; LabError if there is none."""
        for _ in self._range:
            port = self._range[self._next]
            self._next = (self._next + 1) % len(self._range)
            if port not in self._held and (held := _hold(port)) is not None:
                self._held[port] = held
                return port
        raise LabError(f"no port from {self._range[0]} to {self._range[-1]} is free")

    def close(self) -> None:
        """Give them all back."""
        for held in self._held.values():
            held.close()
        self._held.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _hold(port: int) -> socket.socket | None:
    """A socket that holds a port; None if somebody else has it."""
    held = socket.socket()
    try:
        held.bind((HOST, port))  # fails if anybody has it, whatever they allow
    except OSError:
        held.close()
        return None
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # from now on servers may
    return held
