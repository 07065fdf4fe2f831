"""Disconnecting clients of a NATS server (2.10 or newer), as a user of its system account.

The server says who subscribes to what (`$SYS.REQ.SERVER.ID.CONNZ`) and ends a connection with all
that it still has for the client (`$SYS.REQ.SERVER.ID.KICK`). The client's library then goes to the
next server of its list. Connections of other accounts and of agents are left alone.
"""

import asyncio
import json
from collections.abc import Collection
from dataclasses import replace
from secrets import token_hex
from typing import Any

from ropewalk.agent.brokers.contract import Access
from ropewalk.agent.brokers.nats.codec import Message
from ropewalk.agent.brokers.nats.connection import Connection, RefusedError, connect
from ropewalk.federation.spelling import pattern_from_nats

ANSWER_S = 2.0
AT_ONCE = 256
"""Connections in one answer: with their subscriptions it has to fit into a message."""
AGENTS = "ropewalk "
"""Begins the names of agents' connections."""


async def disconnect(access: Access, client: str, patterns: Collection[str]) -> list[str]:
    """End all connections that subscribe to one of these patterns; returns their names.

    `client` names the agent, whose own connections say which account it is about. Raises OSError
    or TimeoutError.
    """
    try:
        desk = await Desk.open(access, f"{AGENTS}{client} admin")
    except RefusedError as error:
        raise OSError(f"the admin's login is refused: {error}") from error
    try:
        found = _chosen(await desk.connections(), f"{AGENTS}{client} words", frozenset(patterns))
        for number in found:
            await desk.ask("KICK", {"cid": number})
        while found.keys() & {int(one["cid"]) for one in await desk.connections()}:
            await asyncio.sleep(0.01)
        return list(found.values())
    finally:
        await desk.close()


def _chosen(
    connections: list[dict[str, Any]], mine: str, patterns: frozenset[str]
) -> dict[int, str]:
    """By number, the names of connections that are meant."""
    accounts = {one.get("account") for one in connections if _name(one) == mine}
    return {
        int(one["cid"]): _name(one) or f"{one.get('ip')}:{one.get('port')}"
        for one in connections
        if not _name(one).startswith(AGENTS)
        and (not accounts or one.get("account") in accounts)
        and not patterns.isdisjoint(_patterns(one))
    }


def _name(connection: dict[str, Any]) -> str:
    return str(connection.get("name", ""))


def _patterns(connection: dict[str, Any]) -> set[str | None]:
    listed = connection.get("subscriptions_list_detail") or ()
    return {pattern_from_nats(one["subject"]) for one in listed}


class Desk:
    """Questions to a server and their answers, one after the other."""

    def __init__(self) -> None:
        self._inbox = f"_INBOX.rw.{token_hex(8)}"
        self._waiting: asyncio.Future[bytes] | None = None
        self._connection: Connection | None = None

    @classmethod
    async def open(cls, access: Access, name: str) -> "Desk":
        """Log in as the admin; raises OSError, TimeoutError or RefusedError."""
        desk = cls()
        admin = replace(access, user=access.admin_user, password=access.admin_password)
        made = await connect(admin, lambda: Connection(desk._read, desk._lost), name=name)
        made.write(f"SUB {desk._inbox} 1\r\n".encode())
        desk._connection = made
        return desk

    def _read(self, messages: list[Message], lines: list[bytes]) -> None:
        for line in lines:
            if line.startswith(b"-ERR"):
                self._fail(line[5:].decode("utf-8", "replace"))
        for one in messages:
            if self._waiting is not None and not self._waiting.done():
                self._waiting.set_result(one[4])

    def _lost(self, why: str) -> None:
        self._connection = None
        self._fail(why)

    def _fail(self, why: str) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(OSError(why))

    async def connections(self) -> list[dict[str, Any]]:
        """All clients of the server, with what they subscribe to."""
        found: list[dict[str, Any]] = []
        while True:
            wanted = {"subscriptions_detail": True, "auth": True}
            page = await self.ask("CONNZ", {**wanted, "limit": AT_ONCE, "offset": len(found)})
            found += page["connections"]
            if len(found) >= int(page["total"]) or not page["connections"]:
                return found

    async def ask(self, what: str, about: dict[str, Any]) -> Any:
        """The answer to a question; raises OSError or TimeoutError."""
        connection = self._connection
        if connection is None:
            raise OSError("the server closed the admin's connection")
        body = json.dumps(about).encode()
        subject = f"$SYS.REQ.SERVER.{connection.server_id}.{what}"
        self._waiting = asyncio.get_running_loop().create_future()
        connection.write(f"PUB {subject} {self._inbox} {len(body)}\r\n".encode() + body + b"\r\n")
        async with asyncio.timeout(ANSWER_S):
            answer = json.loads(await self._waiting or b"{}")
        if not isinstance(answer, dict) or "server" not in answer:
            why = "is it NATS 2.10 or newer, and is the admin of its system account?"
            raise OSError(f"{connection.server_id} does not answer {what}: {why}")
        return answer.get("data", {})

    async def close(self) -> None:
        """Log out."""
        if self._connection is not None:
            await self._connection.close()
