"""`ropewalk agent`: the managing agent beside one broker."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ropewalk.cli.contract import Json, contract, finish
from ropewalk.cli.files import load_from
from ropewalk.errors import UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.agent.orders import Orders


def agent(
    path: Annotated[Path, typer.Argument(help="The federation file.")],
    broker: Annotated[str, typer.Option(help="Beside which broker of it this agent runs.")],
    state: Annotated[
        Path, typer.Option(help="A folder of its own, for its custody log and its trace.")
    ] = Path("agent"),
    key: Annotated[
        str, typer.Option(help="What all agents share: env:NAME or file:PATH.")
    ] = "env:ROPEWALK_KEY",
    routes: Annotated[
        Path | None, typer.Option(help="Tables that `ropewalk route -o DIR` wrote.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="The plan that `ropewalk place -o` wrote.")
    ] = None,
    reach: Annotated[
        list[str] | None,
        typer.Option(help="NEIGHBOUR=HOST:PORT: reach its broker there; may be repeated."),
    ] = None,
    transform: Annotated[
        list[str] | None,
        typer.Option(help="TOPIC=package.module:function changes its messages; may be repeated."),
    ] = None,
    admin: Annotated[
        str | None,
        typer.Option(help="env:NAME or file:PATH with USER:PASSWORD: may disconnect clients."),
    ] = None,
    http: Annotated[
        str, typer.Option(help="HOST:PORT of health, status and metrics; port 0: any.")
    ] = "127.0.0.1:0",
    token: Annotated[
        str | None, typer.Option(help="env:NAME or file:PATH: needed where http is not loopback.")
    ] = None,
    sync: Annotated[
        Literal["batch", "always", "never"],
        typer.Option(help="When the log is synced: with others within 10 ms, each, or not."),
    ] = "batch",
    trace: Annotated[
        Path | None,
        typer.Option(help="A folder for its trace, for `ropewalk pipeline`. Default: STATE/trace."),
    ] = None,
    trace_mb: Annotated[int, typer.Option(min=1, help="What the trace may take on disk.")] = 1024,
    drain: Annotated[
        float, typer.Option(min=0.0, help="Seconds that a clean stop waits for custody.")
    ] = 5.0,
    as_json: Json = False,
) -> None:
    """Run the managing agent of one broker until it is told to stop (SIGTERM or Ctrl-C).

    SIGHUP makes it read the federation file, the routes and the plan again, without a stop.
    """
    with contract("agent", as_json=as_json):
        # Threads for large matrices, which nobody here multiplies, spin for 0.1 s at the start.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        import uvloop

        from ropewalk.agent.access import login_of, over_tls
        from ropewalk.agent.orders import Orders
        from ropewalk.agent.seal import read_key
        from ropewalk.agent.trace_files import without_pandas
        from ropewalk.agent.transform import transforms_of
        from ropewalk.federation.loading import MAX_YAML_MB

        host, port = _host_port(http)
        orders = Orders(
            federation=load_from(path, max_mb=MAX_YAML_MB),
            file=path,
            broker=broker,
            state=state,
            key=read_key(key),
            routes=routes,
            plan=plan,
            reach=_reach(reach or []),
            transforms=transforms_of(transform or []),
            admin=login_of(admin, "--admin") if admin else ("", ""),
            host=host,
            port=port,
            token=read_key(token).decode() if token else "",
            sync=sync,
            trace=trace or state / "trace",
            trace_bytes=trace_mb << 20,
            drain_s=drain,
        )
        without_pandas()
        # uvloop carries a sixth more messages, but does not say why a TLS handshake has failed.
        run = asyncio.run if over_tls(orders.federation, broker) else uvloop.run
        summary = run(_run(orders, quiet=as_json))
        told = f"{broker}: stopped; {summary['custody']} messages are still in custody"
        finish(Document("agent", "ok", summary), as_json=as_json, text=told)


async def _run(orders: "Orders", *, quiet: bool) -> dict[str, Any]:
    from ropewalk.agent.process import AgentProcess

    process = AgentProcess(orders, (lambda _text: None) if quiet else _say)
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, stop.set)
    early: list[bool] = []  # unheard, it would end the process: a first start takes seconds
    loop.add_signal_handler(signal.SIGHUP, early.append, True)
    await process.start()
    loop.add_signal_handler(signal.SIGHUP, process.reload)
    if early:
        process.reload()
    _say(f"{orders.broker}: agent is at work; status at http://{orders.host}:{process.port}/status")
    await stop.wait()
    await process.stop()
    return process.summary()


def _say(text: str) -> None:
    now = time.time()
    clock = time.strftime("%H:%M:%S", time.localtime(now))
    print(f"{clock}.{int(now * 1000) % 1000:03d} {text}", file=sys.stderr, flush=True)  # noqa: T201


def _host_port(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise UsageError(f"--http {text!r}: write HOST:PORT, such as 127.0.0.1:9100")
    return host.strip("[]") or "127.0.0.1", int(port)


def _reach(given: list[str]) -> dict[str, str]:
    found = {}
    for one in given:
        name, equals, where = one.partition("=")
        if not equals or not where.rpartition(":")[2].isdigit():
            raise UsageError(f"--reach {one!r}: write NEIGHBOUR=HOST:PORT")
        found[name] = where
    return found
