"""What verbs that run on Spark share: where it runs, and the folder they work in."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ropewalk.cli.contract import progress
from ropewalk.errors import UsageError

if TYPE_CHECKING:
    from ropewalk.pipeline.folders import Work
    from ropewalk.pipeline.session import SparkSession

Master = Annotated[
    str | None, typer.Option(help="Where Spark runs: local[2], spark://host:7077, ...")
]
Remote = Annotated[str | None, typer.Option(help="A Spark Connect server: sc://host:port.")]


@contextmanager
def started(
    master: str | None, remote: str | None, folder: Path | None = None
) -> Iterator["SparkSession"]:
    """A Spark session for a command; one that was there already is left running.

    A working folder is looked for first: Spark takes seconds to start.
    """
    if folder is not None:
        work_of(folder)
    from ropewalk.pipeline.plainly import plainly
    from ropewalk.pipeline.session import is_active, session

    was_there = is_active()
    with _quiet():
        with progress("starting Spark"):
            spark = session(master, remote=remote)
        try:
            with plainly():
                yield spark
        finally:
            if not was_there:
                with suppress(Exception):  # Ctrl-C may have cut it off in the middle of a word
                    spark.stop()


@contextmanager
def _quiet() -> Iterator[None]:
    """What Spark's client logs is not shown: what matters is raised."""
    before = logging.root.manager.disable
    if not os.environ.get("ROPEWALK_DEBUG"):
        logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def work_of(folder: Path) -> "Work":
    """The working folder of a command."""
    from ropewalk.pipeline.folders import Work

    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    return Work(folder)
