"""A GET over HTTP/1.1 that returns JSON: all that monitoring ports of brokers ask for."""

import asyncio
import base64
import json
from typing import Any
from urllib.parse import urlsplit

LIMIT_S = 2.0
LONGEST = 64 << 20


class HttpError(Exception):
    """The other side did not answer as HTTP should, or not with 200."""


async def get_json(url: str, *, user: str = "", password: str = "") -> Any:
    """What a URL answers; raises OSError, TimeoutError or HttpError."""
    async with asyncio.timeout(LIMIT_S):
        return json.loads(await _get(url, user, password))


async def _get(url: str, user: str, password: str) -> bytes:
    parts = urlsplit(url)
    tls = parts.scheme == "https"
    port = parts.port or (443 if tls else 80)
    reader, writer = await asyncio.open_connection(
        parts.hostname, port, ssl=tls or None, limit=LONGEST
    )
    try:
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        lines = [f"GET {path} HTTP/1.0", f"Host: {parts.hostname}", "Connection: close"]
        if user:
            secret = base64.b64encode(f"{user}:{password}".encode()).decode()
            lines.append(f"Authorization: Basic {secret}")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
    finally:
        writer.close()
    status = head.split(b" ", 2)[1:2]
    if status != [b"200"]:
        told = head.split(b"\r\n", 1)[0].decode("latin-1")
        raise HttpError(f"{parts.hostname}:{port} answered {told or 'nothing'}")
    return body
