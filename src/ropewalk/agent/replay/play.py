"""A scene: servers up, connections there, some killed, one message, copies counted, all ended."""

import asyncio
import logging
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ropewalk.agent.lab.group import Group
from ropewalk.agent.lab.ports import Ports
from ropewalk.agent.replay.cast import Actor, Link, Observed, Reach, Scene, check
from ropewalk.agent.replay.ears import Ears, Tally
from ropewalk.agent.replay.ready import Lookout
from ropewalk.agent.replay.stage import Stage


async def play(actors: Sequence[Actor], reach: Reach, scene: Scene, folder: Path) -> Observed:
    """Play a scene with real servers in a scratch folder; none of them outlives it.

    Raises UsageError if a program or client library is not installed or the scene names what is not
    there, and LabError if a server does not start from its file.
    """
    check(actors, scene)
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="scene-", dir=folder))  # nothing of another is in it
    with Ports() as ports, Group() as group, _hushed():
        stage = Stage(actors, reach, scratch, ports, group)
        try:
            return await _played(stage, scene)
        finally:
            await stage.close()


@contextmanager
def _hushed() -> Iterator[None]:
    """Brokers end under their clients here, of which aiormq logs a traceback each time."""
    log = logging.getLogger("aiormq")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


async def _played(stage: Stage, scene: Scene) -> Observed:
    began = time.monotonic()
    payload = f"ropewalk replay {secrets.token_hex(12)}".encode()
    await _started(stage)
    tally = Tally(payload)
    async with Lookout(stage) as lookout, Ears(stage, tally) as ears:
        missing = await lookout.settled()
        staying = {
            broker: patterns
            for broker, patterns in scene.wanted().items()
            if ears.server_of(broker) not in scene.down
        }
        await ears.subscribe(staying, scene.topic)
        if scene.down:
            await stage.kill(scene.down)
            missing = await lookout.settled()
        await lookout.carried_on()
        await ears.publish(scene.broker, scene.topic, payload)
        published = time.monotonic()
        await _counted(tally, scene.seconds)
        counted = time.monotonic() - published
        if tally.storm.is_set():  # before clients leave: it takes all of the machine
            await stage.close()
        return Observed(
            copies=dict(tally.copies),
            left_out=stage.left_out(),
            missing=tuple(map(_told, missing)),
            seconds=counted,
            setup_seconds=published - began,
            storm=tally.storm.is_set(),
        )


async def _started(stage: Stage) -> None:
    try:
        await stage.start()
    except ExceptionGroup as several:
        raise several.exceptions[0] from None


async def _counted(tally: Tally, seconds: float) -> None:
    """Let copies come in, until there is a storm of them."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await tally.storm.wait()


def _told(link: Link) -> str:
    return f"{link} did not come up in time"
