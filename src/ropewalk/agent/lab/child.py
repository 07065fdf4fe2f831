"""A process of the lab: started, killed, paused, ended; its last words are at hand."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ropewalk.agent.lab.group import Group
from ropewalk.errors import LabError

GRACE_S = 5.0
"""How long a process has to end by itself when it is asked to."""
LOOK_S = 0.01
_TAIL_BYTES = 4096


@dataclass(kw_only=True)
class Child:
    """A process with the same command line however often it is started."""

    name: str
    """What errors call it."""
    command: Sequence[str]
    folder: Path
    """Where it runs."""
    log: Path
    """All it says, of all its lives."""
    group: Group
    environment: Mapping[str, str] | None = None
    paused: bool = False
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    def start(self) -> None:
        """Start it, or start it again."""
        self.paused = False
        with self.log.open("ab") as log:
            try:
                self.process = self.group.start(
                    self.command, log=log, folder=self.folder, environment=self.environment
                )
            except OSError as error:
                why = error.strerror or error
                raise LabError(f"{self.name}: {self.command[0]} cannot be run: {why}") from None

    @property
    def alive(self) -> bool:
        """Whether it is running, or paused."""
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int | None:
        """Its process id while it is alive."""
        return self.process.pid if self.process is not None and self.alive else None

    @property
    def code(self) -> int | None:
        """How it ended, as the shell tells it; None if it did not, or never ran."""
        return self.process.poll() if self.process is not None else None

    async def ready(self, answers: Callable[[], Awaitable[bool]], *, patience_s: float) -> None:
        """Wait until it answers; LabError with its last words if it ends, or takes too long."""
        try:
            async with asyncio.timeout(patience_s):
                while not await answers():
                    self._check()
                    await asyncio.sleep(LOOK_S)
            self._check()  # it is not another one that answers
        except TimeoutError:
            await self.kill()
            raise self._failure(f"is not ready after {patience_s:g} s") from None

    def pause(self) -> None:
        """Stop it in its tracks (SIGSTOP), with all its own children."""
        self._signal(signal.SIGSTOP)
        self.paused = True

    def hang_up(self) -> None:
        """Have it read its files again."""
        self._signal(signal.SIGHUP)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        self._signal(signal.SIGCONT)
        self.paused = False

    async def kill(self) -> None:
        """End it at once (SIGKILL), with all its own children."""
        self._signal(signal.SIGKILL)
        await self._gone(None)
        self.paused = False

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """Ask it to end (SIGTERM), and end it if it does not."""
        if self.process is None:
            return
        if self.paused:
            self.resume()
        if self.alive:
            self.process.terminate()
        if not await self._gone(grace_s):
            await self.kill()

    def tail(self, lines: int = 12) -> str:
        """The last lines that it said."""
        with suppress(OSError), self.log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
            text = log.read().decode(errors="replace")
            return "\n".join(text.splitlines()[-lines:])
        return ""

    def _check(self) -> None:
        if not self.alive:
            raise self._failure(f"ended at its start with code {self.code}")

    def _failure(self, what: str) -> LabError:
        words = self.tail() or "it said nothing"
        return LabError(f"{self.name} {what}; {self.log} ends with:\n{words}")

    def _signal(self, number: int) -> None:
        """Send a signal to it and to all that it started, the parent first."""
        if self.pid is None:
            return
        with suppress(psutil.NoSuchProcess):
            parent = psutil.Process(self.pid)
            family = [parent, *parent.children(recursive=True)]
            for one in family:
                with suppress(psutil.NoSuchProcess):
                    one.send_signal(number)

    async def _gone(self, seconds: float | None) -> bool:
        if self.process is None:
            return True
        try:
            await asyncio.to_thread(self.process.wait, seconds)
        except subprocess.TimeoutExpired:
            return False
        return True
