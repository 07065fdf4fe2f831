"""How the console starts: NiceGUI on FastAPI behind the gate, on a socket of its own."""

import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from nicegui import ui

from ropewalk.agent.web import is_loopback
from ropewalk.errors import UsageError
from ropewalk.web.frame import build
from ropewalk.web.gate import COOKIE, MAY_CHANGE, Gate
from ropewalk.web.given import Given, as_saved
from ropewalk.web.land import land_json
from ropewalk.web.watcher import watcher_of

WEBSOCKET_BYTES = 4 << 20
DAY_S = 86_400
FRESH = {"cache-control": "no-store"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the console listens, and the token that lets people change things."""

    host: str
    port: int
    token: str

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


def serve(given: Given, address: Address, *, started: Callable[[str], None]) -> None:
    """Serve the console until it is stopped; `started` is told its URL, without the token.

    Raises UsageError if the port cannot be had.
    """
    listening = _socket(address.host, address.port)
    port = listening.getsockname()[1]
    shown = f"[{address.host}]" if ":" in address.host else address.host
    watcher = watcher_of(given.desk.federation, given.lab, given.agents, given.agents_token)
    app = application(replace(given, watcher=watcher))
    # Cookies know no ports: consoles of one host would put each other's sessions out.
    cookie = f"{COOKIE}_{port}"
    gate = Gate(app, token=address.token, open_to_read=address.local, cookie=cookie)
    config = uvicorn.Config(
        gate,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws_max_size=WEBSOCKET_BYTES,
        timeout_graceful_shutdown=2,
    )
    # uvicorn raises the signal that ended it once more when all is closed: that is no failure.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        started(f"http://{shown}:{port}/")
        server = uvicorn.Server(config)
        if watcher is not None:
            watcher.over = lambda: server.should_exit
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()


def application(given: Given) -> FastAPI:
    """The pages and files of a console."""
    app = FastAPI(title="Ropewalk", docs_url=None, redoc_url=None, openapi_url=None)
    watcher = given.watcher

    @app.get("/land.json")
    def land() -> Response:
        return Response(land_json(), media_type="application/json", headers=_cached(DAY_S))

    @app.get("/live")
    def live() -> Response:
        if watcher is None:
            return PlainTextResponse("nothing is watched: give --lab or --agent\n", 404)
        if watcher.full:
            return PlainTextResponse("too many listen already\n", 503)
        return StreamingResponse(watcher.events(), media_type="text/event-stream", headers=FRESH)

    def page(request: Request) -> None:
        build(as_saved(given), may_change=bool(request.scope.get(MAY_CHANGE)))

    ui.page("/")(page)
    ui.run_with(
        app,
        title="Ropewalk",
        dark=None,
        reconnect_timeout=10.0,
        show_welcome_message=False,
        cache_control_directives="public, max-age=3600",
    )
    return app


def _cached(seconds: int) -> dict[str, str]:
    return {"cache-control": f"public, max-age={seconds}"}


def _socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(128)  # who comes before the server is up waits, and is not turned away
    except OSError as error:
        made.close()
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"{host}:{port} cannot be listened on ({reason}): choose another port"
        ) from None
    return made
