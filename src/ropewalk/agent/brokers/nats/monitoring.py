"""A NATS server's monitoring port: who subscribes, and the server's own figures.

Who subscribes is looked up here only where there is no leaf-node port: `/subsz` counts insertions
and removals, and only when they move are all connections fetched (`/connz`), so that the agent's
own can be left out. Beside a leaf-node port (`watch: leaf://HOST:PORT?monitor=PORT`) it is asked
for figures once a second.
"""

import asyncio
from collections.abc import Callable
from time import monotonic_ns
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ropewalk.agent.brokers.http import HttpError, get_json
from ropewalk.agent.brokers.nats.interest import Wants

EVERY_S = 0.1
FIGURES_EVERY = 10
"""Looks between two readings of the server's figures."""
AT_ONCE = 5_000
"""Connections asked for in one go; the server's own limit would cut silently."""


def monitor_of(watch: str, client: str) -> "Monitor | None":
    """Who looks at the monitoring port that `watch` names; None if it names none.

    >>> monitor_of("leaf://h:7422?monitor=8222", "a").url, monitor_of("leaf://h:7422", "a")
    ('http://h:8222', None)
    """
    found = urlsplit(watch)
    if found.scheme.startswith("http"):
        return Monitor(watch, client)
    ports = parse_qs(found.query).get("monitor", [])
    host = f"[{found.hostname}]" if ":" in (found.hostname or "") else found.hostname
    return Monitor(f"http://{host}:{ports[0]}", client) if ports else None


class Monitor:
    """Looks at one server's monitoring port."""

    def __init__(self, url: str, client: str) -> None:
        self.url, self._client = url.rstrip("/"), client
        self._counters: tuple[int, int] = (-1, -1)
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self.figures: dict[str, float] = {}

    async def wants(self) -> Wants:
        """What clients want now; those of this agent left out."""
        found: Wants = set()
        offset = 0
        while True:
            query = f"subs=detail&limit={AT_ONCE}&offset={offset}"
            page = await self._get(f"connz?{query}")
            for one in page["connections"]:
                if not str(one.get("name", "")).startswith(f"ropewalk {self._client} "):
                    found |= _wants_of(one)
            offset += AT_ONCE
            if offset >= page["total"]:
                return found

    def follow(self, changed: Callable[[Wants], None] | None) -> None:
        """Tell what clients want whenever it changes, from now on; None: only read figures."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._follow(changed))

    async def _follow(self, changed: Callable[[Wants], None] | None) -> None:
        looks, step = 0, FIGURES_EVERY if changed is None else 1
        while not self._stop.is_set():
            try:
                if looks % FIGURES_EVERY == 0:
                    self.figures = _figures(await self._get("varz"))
                if changed is not None and await self._moved():
                    changed(await self.wants())
            except (OSError, TimeoutError, HttpError, ValueError, KeyError):
                self._counters = (-1, -1)  # the server is away: what was known still holds
                self.figures = {}
            looks += step
            await asyncio.sleep(EVERY_S * step)

    async def _moved(self) -> bool:
        told = await self._get("subsz")
        now = (int(told["num_inserts"]), int(told["num_removes"]))
        before, self._counters = self._counters, now
        return now != before

    async def _get(self, path: str) -> Any:
        return await get_json(f"{self.url}/{path}")

    async def close(self) -> None:
        """Look no more."""
        self._stop.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def _wants_of(connection: dict[str, Any]) -> Wants:
    listed = connection.get("subscriptions_list_detail") or ()
    return {(one["subject"], one.get("qgroup", "")) for one in listed}


def _figures(varz: dict[str, Any]) -> dict[str, float]:
    return {
        "messages_in": varz.get("in_msgs", 0),
        "messages_out": varz.get("out_msgs", 0),
        "bytes_in": varz.get("in_bytes", 0),
        "bytes_out": varz.get("out_bytes", 0),
        "subscriptions": varz.get("subscriptions", 0),
        "memory_bytes": varz.get("mem", 0),
        "slow_consumers": varz.get("slow_consumers", 0),
        "read_ns": monotonic_ns(),
    }
