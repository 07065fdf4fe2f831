"""The process group of a lab: everything is started into it, and its guardian ends it."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ropewalk.agent.lab import guardian
from ropewalk.errors import LabError

CLOSING_S = guardian.GRACE_S + 10


class Group:
    """A process group that does not outlive this process."""

    def __init__(self) -> None:
        # A bare Python (-I -S) is up in 10 ms and does not read what a user's site may hold.
        self._guardian = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", str(Path(guardian.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,  # so that whoever reads the lab's sees its end
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        self.id = self._guardian.pid
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def guarded(self) -> bool:
        """Whether the guardian is alive."""
        return self._guardian.poll() is None

    def start(
        self,
        command: Sequence[str],
        *,
        log: IO[bytes],
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> "subprocess.Popen[bytes]":
        """Start a process in the group; all it says goes to `log`."""
        if not self.guarded:
            raise LabError("the lab's guardian process was ended: start the lab again")
        process = subprocess.Popen(  # noqa: S603 - the lab's own command lines
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            process_group=self.id,
        )
        self._started = [*(one for one in self._started if one.poll() is None), process]
        return process

    def close(self) -> None:
        """End whatever is left of the group, and wait for it."""
        if self._guardian.stdin is not None:
            self._guardian.stdin.close()
        for one in (self._guardian, *self._started):
            one.wait(CLOSING_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
