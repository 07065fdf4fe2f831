"""`ropewalk pipeline jobs`: several commands in one Spark session, for programs.

A line of JSON on stdin is the words of a command, such as `["pipeline", "all", "t", "--json"]`; the
answer on stdout is a line with its exit code and what it printed. Spark starts once, at once.
"""

import contextlib
import io
import json
import sys
from typing import Any

import typer

from ropewalk.cli.contract import Exit, contract
from ropewalk.cli.spark import Master, Remote, started


def jobs(master: Master = None, remote: Remote = None) -> None:
    """Run commands in one Spark session: their words as JSON, a line each, from stdin."""
    with contract("pipeline jobs", as_json=False), started(master, remote):
        _answer({"ready": True})
        for line in sys.stdin:
            _answer(_done(json.loads(line)))


def _done(words: list[str]) -> dict[str, Any]:
    from ropewalk.cli import app

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = app(words, standalone_mode=False)
        except typer.Exit as one:
            code = one.exit_code
        except Exception as error:  # words that make no sense
            told = getattr(error, "format_message", None)
            code = Exit.BAD_INPUT
            err.write(told() if told is not None else f"{type(error).__name__}: {error}")
    return {"exit": int(code or 0), "out": out.getvalue(), "err": err.getvalue()}


def _answer(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
