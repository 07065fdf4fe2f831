"""The commands of the demo as processes: shown, run with --json, their documents kept.

Each is what a user would type. Jobs on Spark go to one process with one session, since to start it
is the slow part. Every process is in a session of its own, so that Ctrl-C comes to the demo alone,
which then ends them all.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from select import select
from typing import IO, Any

from ropewalk.errors import LabError

LIMIT_S, END_S, GROUP_S, LOOK_S = 600.0, 40.0, 15.0, 0.1
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Small jobs on two cores: compile little, collect simply."""

Answer = Mapping[str, Any]
Busy = Callable[[str], AbstractContextManager[None]]


class Commands:
    """Runs commands and keeps what they say in a folder; `close` it, whatever happens."""

    def __init__(self, results: Path, *, say: Callable[[str], None], busy: Busy) -> None:
        self._results, self._say, self.busy = results, say, busy
        self._count = 0
        self._running: list[Running] = []
        self._jobs: Running | None = None
        self.kept: list[Path] = []
        """The documents, in the order of the commands."""
        self.aside = ""
        """A folder of their own for documents that say nothing of the federation itself."""

    def run(
        self, words: Sequence[str], doing: str, ok: Collection[int] = (0,), typed: str = ""
    ) -> Answer:
        """A command from its beginning to its end; LabError if it ends otherwise than it may."""
        running = self.begin(words, typed)
        with self.busy(doing):
            running.wait()
        return self.end(running, ok)

    def begin(self, words: Sequence[str], typed: str = "", *, beside: bool = False) -> "Running":
        """A command that begins; `typed` is a shorter way to write it, `beside`: others follow."""
        self._say(f"$ ropewalk {typed or shown(words)}{' &' if beside else ''}")
        return self._started(words, _python(*words, "--json"))

    def end(self, running: "Running", ok: Collection[int] = (0,)) -> Answer:
        """What a command has said, when it is over."""
        running.wait()
        self._running.remove(running)
        code = running.process.returncode
        return self._kept(running.words, code, running.text(), running.errors(), ok, running.number)

    def prepare_jobs(self) -> None:
        """Start Spark, beside other things."""
        java = " ".join(filter(None, (os.environ.get("JAVA_TOOL_OPTIONS"), QUICK_JAVA)))
        command = _python("pipeline", "jobs")
        environment = {**os.environ, "JAVA_TOOL_OPTIONS": java}
        self._jobs = self._started(["pipeline", "jobs"], command, environment, piped=True)

    def job(self, words: Sequence[str], doing: str, ok: Collection[int] = (0,)) -> Answer:
        """A command on Spark."""
        if self._jobs is None:
            self.prepare_jobs()
        jobs = self._jobs
        if jobs is None or jobs.process.stdin is None:
            raise LabError("Spark's process has no input")
        self._say(f"$ ropewalk {shown(words)}")
        with self.busy(doing):
            if not jobs.answered:
                jobs.answer()
            with suppress(BrokenPipeError):  # that it has ended is told by its missing answer
                jobs.process.stdin.write(json.dumps([*words, "--json"]) + "\n")
                jobs.process.stdin.flush()
            told = jobs.answer()
        self._count += 1
        return self._kept(words, told["exit"], told["out"], told["err"], ok, self._count)

    def _started(
        self,
        words: Sequence[str],
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        piped: bool = False,
    ) -> "Running":
        self._count += 1
        running = Running(words, command, self._results, self._count, environment, piped=piped)
        self._running.append(running)
        return running

    def _kept(
        self,
        words: Sequence[str],
        code: int,
        out: str,
        err: str,
        ok: Collection[int],
        number: int,
    ) -> Answer:
        try:
            document = json.loads(out.strip().splitlines()[-1])
        except (ValueError, IndexError):
            document = {}
        if code not in ok or not document:
            why = [one["message"] for one in document.get("findings", ())][:1]
            why += [line for line in err.strip().splitlines()[-1:] if not why]
            raise LabError(
                f"ropewalk {shown(words)}: {'; '.join(why) or f'exit {code}'}. Mend that, or try"
                " the command by itself, and run the demo again"
            )
        folder = self._results / self.aside if self.aside else self._results
        folder.mkdir(exist_ok=True)
        path = folder / f"{number:02}-{_named(words)}.json"
        argv = ["ropewalk", *words]
        path.write_text(json.dumps({**document, "argv": argv}) + "\n", encoding="utf-8")
        if not self.aside:
            self.kept.append(path)
        return dict(document)

    def close(self) -> None:
        """End what still runs, the last first; more Ctrl-C does not hurry it."""
        with _deaf():
            for one in reversed(self._running):
                one.stop()
            for one in reversed(self._running):
                one.gone()
            self._running.clear()


class Running:
    """A command's process; what it says goes to files, or its answers come line by line."""

    def __init__(
        self,
        words: Sequence[str],
        command: Sequence[str],
        folder: Path,
        number: int,
        environment: Mapping[str, str] | None,
        *,
        piped: bool,
    ) -> None:
        self.words, self.number, self.answered = tuple(words), number, False
        self._said = folder / f".{number:02}.out"
        self._errors = folder / f".{number:02}.err"
        with self._said.open("w") as out, self._errors.open("w") as err:
            self.process: subprocess.Popen[str] = subprocess.Popen(  # noqa: S603  (ours)
                list(command),
                stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else out,
                stderr=err,
                env=environment,
                text=True,
                start_new_session=True,
            )

    def wait(self, limit_s: float = LIMIT_S) -> None:
        """Until it has ended; LabError if it does not."""
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise LabError(
                f"ropewalk {shown(self.words)}: not over after {limit_s:g} s: is the machine very"
                " busy?"
            ) from None

    def linger(self, seconds: float) -> None:
        """Let it go on for a while."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def first_line(self, limit_s: float = LIMIT_S) -> str:
        """What it says first, while it goes on; empty if it has ended instead."""
        until_s = time.monotonic() + limit_s
        while "\n" not in (text := self.text()) and time.monotonic() < until_s:
            if self.process.poll() is not None:
                return ""
            time.sleep(LOOK_S)
        return text.partition("\n")[0]

    def answer(self) -> dict[str, Any]:
        """The next line of one that answers; LabError if there is none."""
        out: IO[str] | None = self.process.stdout
        if out is None or not select([out], [], [], LIMIT_S)[0]:  # it says one line at a time
            raise LabError(f"Spark did not answer for {LIMIT_S:g} s: is the machine very busy?")
        line = out.readline()
        if not line:
            why = self.errors().strip().splitlines() or ["it said nothing"]
            raise LabError(f"Spark has ended: {why[-1]}")
        self.answered = True
        told: dict[str, Any] = json.loads(line)
        return told

    def text(self) -> str:
        """What it has said so far."""
        return self._said.read_text(encoding="utf-8")

    def errors(self) -> str:
        """What it has complained of so far."""
        return self._errors.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """Ask it to end."""
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
            _signal(self.process, signal.SIGTERM, whole=True)
        else:
            _signal(self.process, signal.SIGTERM)

    def gone(self) -> None:
        """Wait until it is gone, and end it if that takes too long."""
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            _signal(self.process, signal.SIGKILL, whole=True)
            self.process.wait()
        _end_group(self.process.pid)
        if self.process.stdout is not None:
            self.process.stdout.close()


def _signal(process: "subprocess.Popen[str]", number: int, *, whole: bool = False) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            (os.killpg if whole else os.kill)(process.pid, number)


def _end_group(leader: int) -> None:
    """Wait for all that a process has started and left in its group, such as Java, and end it."""
    until_s = time.monotonic() + GROUP_S
    with suppress(ProcessLookupError):
        while time.monotonic() < until_s:
            os.killpg(leader, 0)
            time.sleep(LOOK_S)
        os.killpg(leader, signal.SIGKILL)


class _deaf:  # noqa: N801  (a context manager, used as a function)
    """Ctrl-C does nothing for a while."""

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)


def _python(*words: str) -> list[str]:
    return [sys.executable, "-m", "ropewalk", *words]


def _named(words: Sequence[str]) -> str:
    """A name for a command's document: its verb."""
    return "-".join(one for one in words[:2] if one.isalpha())


def shown(words: Sequence[str]) -> str:
    """Words as they are typed."""
    return " ".join(f"'{one}'" if set(one) & set(" ;*#'") else one for one in words)
