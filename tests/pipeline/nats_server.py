"""A NATS server with JetStream of a test's own, on loopback, which ends with the test."""

import asyncio
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import nats


def binary() -> str | None:
    beside = Path(sys.executable).parent / "nats-server"
    return str(beside) if beside.exists() else shutil.which("nats-server")


@contextmanager
def server(folder: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(binary()), "-js", "-a", "127.0.0.1", "-p", str(port), "-sd", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(port)
        yield f"nats://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _wait(port: int) -> None:
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise TimeoutError("nats-server does not answer")


def make(url: str, stream: str, max_msgs: int = -1) -> None:
    async def go() -> None:
        connection = await nats.connect(url)
        await connection.jetstream().add_stream(
            name=stream, subjects=[f"{stream}.>"], max_msgs=max_msgs
        )
        await connection.close()

    asyncio.run(go())


def send(
    url: str, stream: str, payloads: Sequence[bytes], subject: str = "t", format: str | None = None
) -> None:
    async def go() -> None:
        connection = await nats.connect(url)
        headers = {"Ropewalk-Format": format} if format else None
        for one in payloads:
            await connection.jetstream().publish(f"{stream}.{subject}", one, headers=headers)
        await connection.close()

    asyncio.run(go())


def delete(url: str, stream: str, sequence: int) -> None:
    async def go() -> None:
        connection = await nats.connect(url)
        await connection.jetstream().delete_msg(stream, sequence)
        await connection.close()

    asyncio.run(go())
