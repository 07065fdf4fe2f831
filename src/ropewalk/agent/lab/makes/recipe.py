"""What it takes to run a broker, whatever its make."""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ropewalk.agent.lab.ports import HOST
from ropewalk.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A user of a broker."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """Who may log in: agents, who alone may use the reserved prefix, and ordinary clients."""

    agent: Login
    client: Login


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """A broker's certificate and key; `authority` checks clients' certificates if they are asked.

    `first` has NATS begin with TLS at once instead of after its greeting; others always do.
    """

    certificate: Path
    key: Path
    authority: Path | None = None
    ask_clients: bool = False
    first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A broker that somebody wants."""

    name: str
    folder: Path
    ports: Mapping[str, int]
    """By what they are for: each make's `PORTS`."""
    tls: Tls | None = None
    users: Users | None = None
    admin: Login | None = None
    """Who may disconnect clients, where the make has such a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a broker is run, and how it is seen to be ready."""

    command: Sequence[str]
    url: str
    answers: Callable[[], Awaitable[bool]]
    """Whether clients can use it now."""
    environment: Mapping[str, str] | None = None
    watch: str = ""
    """Where its subscriptions can be seen."""
    helper: Sequence[str] = ()
    """A process that has to run beside it."""
    patience_s: float = 15.0
    """How long it may take to be ready."""
    grace_s: float = 5.0
    """How long it may take to end when it is asked to."""


def program(name: str, *elsewhere: Path, install: str) -> str:
    """A program beside this Python, else in a place of its own, else on PATH."""
    for path in (Path(sys.executable).parent / name, *elsewhere):
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    found = shutil.which(name) or shutil.which(name, path="/usr/local/sbin:/usr/sbin:/sbin")
    if found is None:
        raise UsageError(f"{name} is not installed: {install}")
    return found


async def said(port: int, send: bytes = b"", *, seconds: float = 1.0) -> bytes | None:
    """The first bytes that a server sends, after being sent something; None if it cannot be."""
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(send)
                return await reader.read(4096)
            finally:
                writer.transport.abort()
    except (OSError, TimeoutError):
        return None


async def listens(port: int) -> bool:
    """Whether somebody takes connections on a port."""
    try:
        async with asyncio.timeout(1):
            _, writer = await asyncio.open_connection(HOST, port)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


async def http_answers(port: int, path: str, *codes: int) -> bool:
    """Whether a server answers an HTTP request with one of these codes."""
    got = await said(port, f"GET {path} HTTP/1.0\r\nHost: {HOST}\r\n\r\n".encode())
    return got is not None and any(got[8:12] == b" %d" % code for code in codes)


def write_secret(path: Path, text: str) -> None:
    """Write a file that only its owner can read, from its first byte on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
