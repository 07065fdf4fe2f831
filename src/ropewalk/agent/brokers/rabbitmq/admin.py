"""Disconnecting clients of a RabbitMQ by its management API: those that consume from some queues.

A queue that belongs to its connection goes with it, so it has to be empty first. The API's counts
may be some seconds old: clients that are slower than that should have durable queues. Those stay,
and have to be deleted by their owners when nobody is to come back to them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from urllib.parse import quote

import msgspec

Ask = Callable[[str, str], Awaitable[bytes]]
"""Method and path to the answer; raises OSError, or ValueError if it is refused."""
LIMIT_S = 20.0
LOOK_S = 0.1
SHOWN_S = 6.0
"""Until the API has shown all consumers: it gathers them every five seconds."""
_VHOST = quote("/", safe="")


class _Queue(msgspec.Struct):
    name: str


class _Channel(msgspec.Struct):
    connection_name: str = ""


class _Consumer(msgspec.Struct):
    queue: _Queue
    channel_details: _Channel | list[None] = msgspec.field(default_factory=_Channel)
    """An empty list while the channel is being closed."""


class _Count(msgspec.Struct):
    name: str = ""
    messages: float = 0


async def disconnect(ask: Ask, queues: Collection[str]) -> list[str]:
    """End all connections that consume from these queues; returns their names.

    Raises OSError or TimeoutError.
    """
    try:
        async with asyncio.timeout(LIMIT_S):
            while any((await _queues(ask, queues)).values()):
                await asyncio.sleep(LOOK_S)
            ended = await _consuming(ask, queues)
            for name in ended:
                await ask("DELETE", f"/api/connections/{quote(name, safe='')}")
            while any(one in ended for _, one in await _consumers(ask, queues)):
                await asyncio.sleep(LOOK_S)
    except ValueError as error:
        raise OSError(f"the management API refuses it: {error}") from error
    return sorted(ended)


async def _consuming(ask: Ask, queues: Collection[str]) -> set[str]:
    """Connections that consume from queues; the API shows new ones with a delay."""
    loop = asyncio.get_running_loop()
    until_s = loop.time() + SHOWN_S
    while True:
        found = await _consumers(ask, queues)
        shown = {queue for queue, _ in found}
        if shown >= (await _queues(ask, queues)).keys() or loop.time() > until_s:
            return {name for _, name in found}
        await asyncio.sleep(LOOK_S)


async def _consumers(ask: Ask, queues: Collection[str]) -> set[tuple[str, str]]:
    """Queues, each with the connections that consume from it."""
    found = await ask("GET", f"/api/consumers/{_VHOST}")
    return {
        (one.queue.name, one.channel_details.connection_name)
        for one in msgspec.json.decode(found, type=list[_Consumer])
        if one.queue.name in queues and isinstance(one.channel_details, _Channel)
    }


async def _queues(ask: Ask, queues: Collection[str]) -> dict[str, float]:
    """Those that there are, and how many messages in each are not consumed yet."""
    path = f"/api/queues/{_VHOST}?columns=name,messages"
    found = msgspec.json.decode(await ask("GET", path), type=list[_Count])
    return {one.name: one.messages for one in found if one.name in queues}
