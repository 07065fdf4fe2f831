"""`ropewalk demo`: the whole loop on real brokers, agents, clients and Spark, in a few minutes."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ropewalk.cli.contract import Json, contract, finish, progress, say
from ropewalk.errors import UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.demo.scenery import Make


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", "--dir", help="Where the demo writes all of its files.")
    ] = Path("demo"),
    fast: Annotated[
        bool, typer.Option("--fast", help="Shorter runs: two to three minutes.")
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(help="Length of the two runs that are compared. [default: 60; --fast: 20]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the bursts of traffic.")] = 7,
    as_json: Json = False,
) -> None:
    """Verify, route, run, break, observe, place, move, run again: the whole rope on this machine.

    Three sites of real brokers, ordinary clients, agents, Spark, and a report at the end. Every
    line with $ is a command to type. Exit 1 if something did not hold, 3 if it could not be told.
    """
    with contract("demo", as_json=as_json), _ended_by_signals():
        from dataclasses import replace

        from ropewalk.demo import FAST, FULL, run
        from ropewalk.demo.scenery import Scenery

        scale = FAST if fast else FULL
        scale = scale if seconds is None else replace(scale, seconds=seconds)
        scenery = Scenery(_make(), seed)
        tell = _nothing if as_json else _told
        tell(
            "The whole rope on this machine. Lines with $ are commands to type; their"
            f"\nanswers in full are in {folder}/results."
        )
        ending = run(
            folder, scale, scenery, say=tell, busy=progress, argv=["ropewalk", *sys.argv[1:]]
        )
        document = Document("demo", ending.outcome, ending.summary, ending.findings)
        finish(document, as_json=as_json, text=ending.text)


def _make() -> "Make":
    """Mosquitto where it is installed."""
    from ropewalk.agent.lab.makes.recipe import program

    try:
        program("mosquitto", install="")
    except UsageError:
        return "nats"
    return "mosquitto"


def _told(text: str) -> None:
    say(text + "\n")


def _nothing(_text: str) -> None:
    pass


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM and the end of the terminal are as Ctrl-C."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = {one: signal.signal(one, stop) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
