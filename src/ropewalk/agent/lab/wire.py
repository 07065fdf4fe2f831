"""JSON lines over a unix socket for its owner alone: a question a line, an answer a line."""

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ropewalk.errors import LabError, RopewalkError

Message = dict[str, Any]
_LONGEST = 100
"""Bytes of a path that a unix socket can have, and a few to spare."""


class Answers:
    """A server that answers questions one after the other."""

    def __init__(self, path: Path, answer: Callable[[Message], Awaitable[Message]]) -> None:
        self.path = path
        self._answer = answer
        self._one = asyncio.Lock()
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen; whatever was left of an earlier server is taken away.

        The socket has its name only when it listens: who sees it there can use it.
        """
        unready = self.path.with_name(f"{self.path.name}~")
        unready.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)  # so that it is never open to others, not even for a moment
        try:
            with _short(unready) as address:
                listening.bind(address)
        finally:
            os.umask(before)
        self._server = await asyncio.start_unix_server(self._connected, sock=listening)
        unready.replace(self.path)

    async def close(self) -> None:
        """Stop listening and drop whoever is connected."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        self.path.unlink(missing_ok=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(_line(await self._told(line)))
                await writer.drain()
        except (OSError, ValueError):
            pass  # whoever asked is gone, or sends no lines
        finally:
            writer.close()

    async def _told(self, line: bytes) -> Message:
        try:
            question = json.loads(line)
            if not isinstance(question, dict):
                raise LabError("send one JSON object a line")
            async with self._one:
                return {"ok": True, **await self._answer(question)}
        except ValueError as error:
            return {"ok": False, "error": f"not JSON: {error}"}
        except (RopewalkError, OSError) as error:
            return {"ok": False, "error": str(error)}


def ask(path: Path, question: Message, *, seconds: float = 120.0) -> Message:
    """Ask a server and wait for its answer.

    Raises OSError if nobody listens, LabError with the server's reason if it refuses.
    """
    with socket.socket(socket.AF_UNIX) as connection, _short(path) as address:
        connection.settimeout(seconds)
        connection.connect(address)
        connection.sendall(_line(question))
        with connection.makefile("rb") as lines:
            return _checked(lines.readline())


async def ask_later(path: Path, question: Message, *, seconds: float = 10.0) -> Message:
    """The same without blocking the event loop."""
    return await asyncio.to_thread(ask, path, question, seconds=seconds)


def _line(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _checked(line: bytes) -> Message:
    if not line:
        raise LabError("the connection was closed without an answer")
    answer: Message = json.loads(line)
    if not answer.pop("ok"):
        raise LabError(answer["error"])
    return answer


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """The path, or another way to the same place that is short enough for a unix socket."""
    if len(os.fsencode(path)) <= _LONGEST:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        with suppress(OSError):
            os.close(folder)
