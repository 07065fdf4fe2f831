"""The contract of every verb: data on stdout, progress on stderr, one JSON document, exit codes.

0 clean, 1 findings, 2 bad usage or input, 3 could not decide, 4 internal.
"""

import json
import os
import shutil
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer
import typer.core

from ropewalk.errors import InputError, RopewalkError
from ropewalk.findings import Finding, Where
from ropewalk.report.document import Document, findings_text

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


class Exit(IntEnum):
    """What the shell is told."""

    CLEAN = 0
    FINDINGS = 1
    BAD_INPUT = 2
    UNDECIDED = 3
    INTERNAL = 4


EXITS = {
    "ok": Exit.CLEAN,
    "findings": Exit.FINDINGS,
    "undecided": Exit.UNDECIDED,
    "refused": Exit.BAD_INPUT,
}


class Unnamed(typer.core.TyperGroup):
    """A group of which the first command need not be named: `route FILE` is `route tables FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put in the command that is not named."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


@contextmanager
def contract(command: str, *, as_json: bool) -> Iterator[None]:
    """Run a verb: whatever goes wrong becomes findings and an exit code, never a traceback."""
    try:
        yield
    except typer.Exit:
        raise
    except InputError as error:
        finish(Document(command, "refused", {}, error.findings), as_json=as_json)
    except (RopewalkError, OSError) as error:
        print_failure(command, "U001", _words(error), as_json=as_json)
        raise typer.Exit(Exit.BAD_INPUT) from None
    except MemoryError:
        print_failure(command, "U001", "not enough memory for this", as_json=as_json)
        raise typer.Exit(Exit.BAD_INPUT) from None
    except KeyboardInterrupt:
        typer.echo(f"ropewalk {command}: stopped; nothing is half-written: run it again", err=True)
        raise typer.Exit(130) from None
    except Exception as error:
        if os.environ.get("ROPEWALK_DEBUG"):
            traceback.print_exc()
        print_failure(command, "X001", f"{type(error).__name__}: {error}", as_json=as_json)
        raise typer.Exit(Exit.INTERNAL) from None


def _words(error: Exception) -> str:
    """What went wrong; of a file, its name and why."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}"
    return str(error)


def finish(document: Document, *, as_json: bool, text: str = "") -> None:
    """Print what a verb has to say and leave with its exit code."""
    if as_json:
        say(json.dumps(document.as_dict(), ensure_ascii=False) + "\n")
    else:
        told = findings_text(document.findings, faults=document.outcome == "refused")
        lines = [*map(_fitted, told), *([text] if text else [])]
        say("".join(f"{line}\n" for line in lines))
    if document.outcome != "ok":
        raise typer.Exit(EXITS[document.outcome])


def say(text: str) -> None:
    """Write to stdout; a reader that has closed the pipe has seen all it wanted."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fitted(line: str) -> str:
    """A line as it is for programs, and broken between words for a person at a terminal."""
    if not sys.stdout.isatty():
        return line
    width = shutil.get_terminal_size().columns
    return fill(
        line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )


def print_failure(command: str, code: str, message: str, *, as_json: bool) -> None:
    """The command itself went wrong: that is no data, so a person reads it on stderr."""
    if as_json:
        found = Finding(code, message, Where("ropewalk"))
        with suppress(OSError):  # stdout itself may be what is wrong
            say(json.dumps(Document(command, "refused", {}, [found]).as_dict()) + "\n")
            return
    typer.echo(f"ropewalk {command}: {message}", err=True)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say what is being done, on stderr, and only to a person at a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(what)):
        yield


def program() -> str:
    """How this program was called, for hints at the next command: a path if it is not on PATH."""
    called, on_path = Path(sys.argv[0]), shutil.which("ropewalk")
    reached = on_path is not None and Path(on_path).resolve() == called.resolve()
    return str(called) if called.name == "ropewalk" and not reached else "ropewalk"
