"""Follows every agent's events, once for all browser tabs, while anybody looks at them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import httpx

from ropewalk.federation import Federation
from ropewalk.federation.names import link_name
from ropewalk.web.live import Heard, Picture, Told, Watched, added, brief_in, picture_of, watched_in
from ropewalk.web.sse import BEAT, Events, event_of

LOOK_S = 0.5
"""Between two looks at a lab's record."""
LINGER_S = 30.0
"""Agents are followed so long after somebody has looked."""
SILENCE_S = 13.0
"""An agent that does not even beat for so long is unreachable."""
BACKOFF_S = (0.3, 5.0)
"""The first wait before it is asked again, and the longest."""
TELL_S, BEAT_S = 0.2, 10.0
MOST_LISTENERS = 16


class Watcher:
    """One for each console; `picture` is what it knows, and keeps it at work."""

    def __init__(
        self,
        *,
        lab: Path | None = None,
        agents: Mapping[str, str] | None = None,
        links: Mapping[str, tuple[str, str]] | None = None,
        token: str = "",
    ) -> None:
        """Follow a lab's agents, or a fleet's by HOST:PORT with their links."""
        urls = {name: f"http://{where}" for name, where in (agents or {}).items()}
        self._lab, self._token = lab, token
        self._watched = Watched(urls, dict(links or {}))
        self._note = ""
        self._heard: dict[str, Heard] = {}
        self._news: list[Told] = []
        self._following: dict[str, tuple[str, asyncio.Task[None]]] = {}
        self._run_task: asyncio.Task[None] | None = None
        self._asked_s = 0.0
        self._made = (-1, Picture())
        self.version = 0
        """Another number whenever anything is new."""
        self.listeners = 0
        self.over: Callable[[], bool] = lambda: False
        """Whether the console is about to end: programs that listen are let go then."""

    @property
    def full(self) -> bool:
        """Whether no more programs can listen."""
        return self.listeners >= MOST_LISTENERS

    def picture(self) -> Picture:
        """What is known now; must be called in the event loop."""
        loop = asyncio.get_running_loop()
        self._asked_s = loop.time()
        if self._run_task is None or self._run_task.done():
            self._look_at_lab()
            self._run_task = loop.create_task(self._run())
        if self._made[0] != self.version:
            made = picture_of(self._watched, self._heard, self._news)
            self._made = (self.version, made)
            if self._note:
                self._made = (self.version, Picture(news=made.news, note=self._note))
        return self._made[1]

    async def events(self) -> AsyncIterator[bytes]:
        """The picture for programs, whenever it changes."""
        clock = asyncio.get_running_loop().time
        version, told_s = -1, clock()
        if self.full:  # since it was asked, others have come
            return
        self.listeners += 1
        try:
            while not self.over():
                picture = self.picture()
                if version != self.version:
                    version, told_s = self.version, clock()
                    yield event_of(picture.as_dict())
                elif clock() - told_s > BEAT_S:
                    told_s = clock()
                    yield BEAT
                await asyncio.sleep(TELL_S)
        finally:
            self.listeners -= 1

    async def close(self) -> None:
        """Follow nobody any more."""
        tasks = [task for _, task in self._following.values()]
        tasks += [] if self._run_task is None else [self._run_task]
        self._following.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- at work ------------------------------------------------------------------------------

    async def _run(self) -> None:
        clock = asyncio.get_running_loop().time
        limits = httpx.Limits(max_connections=None)
        timeout = httpx.Timeout(3.0, read=SILENCE_S, pool=None)
        try:
            async with httpx.AsyncClient(trust_env=False, limits=limits, timeout=timeout) as client:
                while clock() - self._asked_s < LINGER_S:
                    self._look_at_lab()
                    self._reconcile(client)
                    await asyncio.sleep(LOOK_S)
        finally:
            for _, task in self._following.values():
                task.cancel()
            self._following.clear()
            self._heard.clear()

    def _look_at_lab(self) -> None:
        if self._lab is None:
            return
        try:
            watched, note = watched_in(self._lab), ""
        except (OSError, ValueError):
            watched = Watched()
            note = f"No lab runs in {self._lab}: start one with ropewalk lab up FILE --dir FOLDER."
        if (watched, note) != (self._watched, self._note):
            self._watched, self._note = watched, note
            self.version += 1

    def _reconcile(self, client: httpx.AsyncClient) -> None:
        """Follow who is there to be followed, and nobody else."""
        agents = self._watched.agents
        for name, (url, task) in list(self._following.items()):
            if agents.get(name) != url or task.done():
                task.cancel()
                del self._following[name]
                self._heard.pop(name, None)
        loop = asyncio.get_running_loop()
        for name in agents.keys() - self._following.keys():
            task = loop.create_task(self._follow(client, name, agents[name]))
            self._following[name] = (agents[name], task)

    async def _follow(self, client: httpx.AsyncClient, broker: str, url: str) -> None:
        """Listen to one agent, again and again."""
        wait_s = BACKOFF_S[0]
        while True:
            try:
                async for heard in self._listen(client, broker, url):
                    wait_s = BACKOFF_S[0]
                    self._hear(broker, heard)
                why = "it has closed the connection"
            except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
                why = _why(error)
            self._hear(broker, Heard(silent=why))
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, BACKOFF_S[1])

    async def _listen(
        self, client: httpx.AsyncClient, broker: str, url: str
    ) -> AsyncIterator[Heard]:
        headers = {"authorization": f"Bearer {self._token}"} if self._token else {}
        async with client.stream("GET", f"{url}/events", headers=headers) as answer:
            if answer.status_code != httpx.codes.OK:
                raise ValueError(_refusal(answer.status_code))
            events = Events()
            async for more in answer.aiter_raw():
                for text in events.take(more):
                    yield brief_in(text, broker)

    def _hear(self, broker: str, heard: Heard) -> None:
        before = self._heard.get(broker)
        if heard.silent and before is not None and before.silent == heard.silent:
            return
        self._heard[broker] = heard
        self._news = added(self._news, heard)
        self.version += 1


def watcher_of(
    federation: Federation, lab: Path | None, agents: Sequence[tuple[str, str]], token: str
) -> Watcher | None:
    """Who follows a lab's agents or a fleet's; None where there is nothing to follow."""
    if lab is None and not agents:
        return None
    links = {link_name(*one.between): one.between for one in federation.links}
    return Watcher(lab=lab, agents=dict(agents), links=links, token=token)


def _refusal(status: int) -> str:
    known = {
        401: "it wants a token: give --agents-token",
        404: "it has no /events: is it an agent of this version?",
        503: "too many listen to it already",
    }
    return known.get(status, f"it answers with HTTP {status}")


def _why(error: Exception) -> str:
    if isinstance(error, httpx.ConnectError):
        return "nobody answers there"
    if isinstance(error, httpx.TimeoutException):
        return "it says nothing"
    return str(error)[:200] or "the connection broke"
