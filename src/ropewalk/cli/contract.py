"""The contract of every verb: data on stdout, progress on stderr, one JSON document, exit codes.

0 clean, 1 findings, 2 bad usage or input, 3 could not decide, 4 internal.
"""

import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ropewalk.errors import InputError, RopewalkError
from ropewalk.findings import Finding, Where
from ropewalk.report.document import Document, findings_text

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


class Exit(IntEnum):
    """What the shell is told."""

    CLEAN = 0
    FINDINGS = 1
    BAD_INPUT = 2
    UNDECIDED = 3
    INTERNAL = 4


@contextmanager
def contract(command: str, *, as_json: bool) -> Iterator[None]:
    """Run a verb: whatever goes wrong becomes findings and an exit code, never a traceback."""
    try:
        yield
    except (typer.Exit, BrokenPipeError):
        raise
    except InputError as error:
        _print(Document(command, False, {}, error.findings), as_json=as_json)
        raise typer.Exit(Exit.BAD_INPUT) from None
    except RopewalkError as error:
        _fail(command, Finding("U001", str(error), Where("ropewalk")), as_json, Exit.BAD_INPUT)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except Exception as error:
        if os.environ.get("ROPEWALK_DEBUG"):
            traceback.print_exc()
        found = Finding("X001", f"{type(error).__name__}: {error}", Where("ropewalk"))
        _fail(command, found, as_json, Exit.INTERNAL)


def finish(document: Document, *, as_json: bool, text: str = "") -> None:
    """Print the outcome of a verb and leave with its exit code."""
    _print(document, as_json=as_json, text=text)
    if not document.ok:
        raise typer.Exit(Exit.FINDINGS)


def _print(document: Document, *, as_json: bool, text: str = "") -> None:
    if as_json:
        typer.echo(json.dumps(document.as_dict(), ensure_ascii=False))
        return
    for line in findings_text(document.findings):
        typer.echo(line)
    if text:
        typer.echo(text)


def _fail(command: str, finding: Finding, as_json: bool, code: Exit) -> None:
    """The command itself went wrong: that is no data, so a person reads it on stderr."""
    if as_json:
        _print(Document(command, False, {}, [finding]), as_json=True)
    else:
        typer.echo(f"ropewalk {command}: {finding.message}", err=True)
    raise typer.Exit(code)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say what is being done, on stderr, and only to a person at a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with _stderr().status(what):
        yield


def _stderr() -> "Console":
    from rich.console import Console

    return Console(stderr=True)
