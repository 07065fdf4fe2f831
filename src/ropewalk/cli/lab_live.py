"""`ropewalk lab up`, `lab status` and `lab down`: real brokers and agents on this machine."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ropewalk.cli.contract import Json, contract, finish, program, progress, say
from ropewalk.cli.files import Source, load_from
from ropewalk.errors import LabError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.agent.lab.lab import Lab
    from ropewalk.federation import Federation

Dir = Annotated[Path, typer.Option("--dir", help="The lab's folder.")]
HERE = Path("lab")
LOOK_S = 0.5


def add_to(app: typer.Typer) -> None:
    """Add the commands to `ropewalk lab`."""
    app.command("up")(up)
    app.command("plan")(plan)
    app.command("status")(status)
    app.command("down")(down)


def up(
    path: Source,
    folder: Dir = HERE,
    seconds: Annotated[
        float | None, typer.Option("--for", min=0.0, help="End after so many seconds.")
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Go on with the data of the last lab in the folder."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Start real brokers, an agent beside each and a proxy in every link; end with Ctrl-C.

    Brokers are of the make that the file says. The folder gets a federation file with the lab's
    addresses, lab.json with all ports and process ids, and every process's log. Break things with
    `ropewalk fault`. Nothing is left running, however this ends.
    """
    with contract("lab up", as_json=as_json):
        from ropewalk.federation.loading import MAX_YAML_MB

        federation = load_from(path, max_mb=MAX_YAML_MB)
        asyncio.run(_run(federation, folder, seconds, keep=keep, as_json=as_json))


def plan(
    path: Annotated[Path, typer.Argument(help="A plan that `ropewalk place FILE -o` wrote.")],
    folder: Dir = HERE,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds to wait until all items are where they belong.")
    ] = 120,
    as_json: Json = False,
) -> None:
    """Have the agents of a running lab carry out a plan: items move, with their clients.

    Nothing is lost by it; clients are disconnected and go to the next server of their lists. The
    lab's federation file then says where the clients are.
    """
    with contract("lab plan", as_json=as_json):
        from ropewalk.agent.lab.control import order
        from ropewalk.placement.plan_file import plan_in
        from ropewalk.report.lab import plan_findings, plan_text

        plan_in(path)
        begun = time.monotonic()
        told = order(folder, {"do": "plan", "file": str(path.resolve())})["plan"]
        with progress("moving items"):
            while not told["over"] and time.monotonic() - begun < wait:
                time.sleep(LOOK_S / 2)
                told = order(folder, {"do": "status"})["lab"]["plan"]
        told["seconds"] = round(time.monotonic() - begun, 3)
        outcome, findings = plan_findings(told, str(path))
        document = Document("lab plan", outcome, told, findings)
        finish(document, as_json=as_json, text=plan_text(told))


def status(folder: Dir = HERE, as_json: Json = False) -> None:
    """Tell what runs in a lab and what is broken."""
    with contract("lab status", as_json=as_json):
        from ropewalk.agent.lab.control import order

        told = order(folder, {"do": "status"})["lab"]
        finish(Document("lab status", "ok", told), as_json=as_json, text=_text(told))


def down(folder: Dir = HERE, as_json: Json = False) -> None:
    """End the lab that runs in a folder; its data and logs stay."""
    with contract("lab down", as_json=as_json):
        from ropewalk.agent.lab.control import order
        from ropewalk.agent.lab.folder import wait_until_free

        order(folder, {"do": "stop"})
        wait_until_free(folder)
        done = Document("lab down", "ok", {"folder": str(folder)})
        finish(done, as_json=as_json, text=f"The lab in {folder} has ended.")


async def _run(
    federation: "Federation", folder: Path, seconds: float | None, *, keep: bool, as_json: bool
) -> None:
    """Start the lab, tell about it, wait for its end, and end it."""
    from ropewalk.agent.lab.control import Control
    from ropewalk.agent.lab.lab import Lab

    stop = asyncio.Event()
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(one, stop.set)
    lab = Lab(federation, folder, keep=keep)
    control = Control(lab, stop)
    try:
        await control.start()
        with progress(f"starting {len(federation.brokers)} brokers and their agents"):
            started = await _unless(stop, lab.start())
        if started:
            _tell(lab, folder, as_json=as_json)
            await _wait(lab, stop, seconds)
    finally:
        await control.close()
        await lab.stop()


async def _unless(stop: asyncio.Event, doing: Coroutine[Any, Any, None]) -> bool:
    """Do something unless it is stopped; whether it was done."""
    task, stopped = asyncio.ensure_future(doing), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        return task.done()
    finally:
        for one in (task, stopped):
            one.cancel()
        await asyncio.gather(task, stopped, return_exceptions=True)


async def _wait(lab: "Lab", stop: asyncio.Event, seconds: float | None) -> None:
    """Wait until the lab is to end; say when one of its processes ends by itself."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds if seconds is not None else float("inf")
    told: set[str] = set()
    while not stop.is_set() and (left := until - loop.time()) > 0:
        try:
            async with asyncio.timeout(min(left, LOOK_S)):
                await stop.wait()
        except TimeoutError:
            pass
        if not lab.guarded:
            raise LabError("the lab's guardian process was ended, so the lab has ended")
        told = _tell_of_ends(lab, told)


def _tell_of_ends(lab: "Lab", told: set[str]) -> set[str]:
    ended = lab.ended()
    for name in sorted(ended.keys() - told):
        typer.echo(f"{name} has ended by itself; its log: {ended[name]}", err=True)
    return set(ended)


def _tell(lab: "Lab", folder: Path, *, as_json: bool) -> None:
    told = lab.status()
    if as_json:
        document = Document("lab up", "ok", told).as_dict()
        say(json.dumps(document, ensure_ascii=False) + "\n")
        return
    say(_text(told) + "\n")
    where = "" if folder == HERE else f" --dir {folder}"
    if sys.stdout.isatty():
        say(f"Break it: {program()} fault cut LINK{where}. End it: Ctrl-C.\n")


def _text(told: dict[str, Any]) -> str:
    from ropewalk.report.lab import lab_text

    return lab_text(told)
