"""`ropewalk serve`: the console, in a browser."""

from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Annotated

import typer

from ropewalk.cli.contract import contract, progress, say
from ropewalk.cli.files import Source, read_from
from ropewalk.errors import UsageError

if TYPE_CHECKING:
    from ropewalk.web.desk import Desk

Folder = Annotated[Path | None, typer.Option(help="A working folder with the pipeline's results.")]


def serve(
    path: Source,
    host: Annotated[str, typer.Option(help="Where to listen; only this machine by default.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any that is free.")] = 8460,
    token: Annotated[
        str | None,
        typer.Option(
            help="env:NAME or file:PATH: who has it may change things; needed where --host can be"
            " reached from outside. Default: one is made and shown."
        ),
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="A plan that `ropewalk place` wrote.")] = None,
    stats: Annotated[
        Path | None, typer.Option(help="Statistics to place by, as `ropewalk place` takes them.")
    ] = None,
    work: Folder = None,
    protocol: Annotated[
        list[Path] | None,
        typer.Option(
            help="A protocol file to look at beside the federation's own; may be repeated."
        ),
    ] = None,
    lab: Annotated[Path | None, typer.Option(help="The folder of a running lab.")] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="BROKER=HOST:PORT: an agent's HTTP, to watch; may be repeated."),
    ] = None,
    agents_token: Annotated[
        str | None, typer.Option(help="env:NAME or file:PATH: what these agents want to be shown.")
    ] = None,
) -> None:
    """Show a federation in a browser: fail things, edit, verify, plan, watch what really happens.

    It ends with Ctrl-C. Only this machine can reach it unless --host says otherwise, and then
    everything needs the token. The address that is printed carries it: whoever opens it may change
    the file, and break things in the lab.
    """
    with contract("serve", as_json=False):
        from ropewalk.agent.seal import read_key
        from ropewalk.agent.web import is_loopback

        if token is None and not is_loopback(host):
            raise UsageError(
                f"--host {host} can be reached from outside: give a --token, env:NAME or file:PATH"
            )
        secret = read_key(token).decode() if token else token_urlsafe(24)
        with progress("starting the console"):
            from ropewalk.web.given import Given
            from ropewalk.web.server import Address
            from ropewalk.web.server import serve as served

            desk, file = _desk(path)
            given = Given(
                desk=desk,
                file=file,
                plan=_there(plan),
                stats=_there(stats),
                work=_there(work),
                protocols=tuple(one for one in protocol or [] if _there(one)),
                lab=_there(lab),
                agents=tuple(_agents(agent or [], desk)),
                agents_token=read_key(agents_token).decode() if agents_token else "",
            )
        shown = f"?token={secret}" if token is None else ""
        served(
            given,
            Address(host=host, port=port, token=secret),
            started=lambda url: say(f"Open {url}{shown}\n"),
        )


def _desk(path: Path) -> "tuple[Desk, Path | None]":
    """What is worked on, and where it is saved: brokers' own files are not written from here."""
    from ropewalk.federation.loading import load
    from ropewalk.web.desk import MOST_CHARACTERS, Desk

    reading = read_from([path])
    if reading is not None:
        return Desk.showing(reading.federation), None
    federation = load("/dev/stdin" if str(path) == "-" else path)
    if str(path) == "-" or path.is_dir() or path.stat().st_size > MOST_CHARACTERS:
        return Desk.showing(federation), None
    return Desk.of(text=path.read_text(encoding="utf-8-sig"), file=str(path)), path


def _there(path: Path | None) -> Path | None:
    if path is not None and not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    return path


def _agents(given: list[str], desk: "Desk") -> list[tuple[str, str]]:
    found = []
    for one in given:
        name, equals, where = one.partition("=")
        if not equals or not where.rpartition(":")[2].isdigit():
            raise UsageError(f"--agent {one!r}: write BROKER=HOST:PORT")
        if name not in desk.federation.brokers:
            raise UsageError(f"--agent {one!r}: there is no broker {name!r} in {desk.file}")
        found.append((name, where))
    return found
