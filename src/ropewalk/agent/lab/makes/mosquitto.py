"""Mosquitto: MQTT 5 with sessions that survive, and no message held back by its defaults."""

import base64
import getpass
import hashlib
import secrets
from collections.abc import Iterator

from ropewalk.agent.lab.makes.recipe import (
    Login,
    Order,
    Recipe,
    Tls,
    Users,
    listens,
    program,
    said,
    write_secret,
)
from ropewalk.agent.lab.ports import HOST

PORTS = ("client",)
RESERVED = "_rw/#"
INSTALL = "install the Debian package mosquitto (apt-get install mosquitto)"
ROUNDS = 10_000
CONNECT = b"\x10\x0d\x00\x04MQTT\x05\x02\x00\x05\x00\x00\x00"
"""MQTT 5: clean start, keep alive 5 s, no properties, a client id that the broker chooses."""


def recipe(order: Order) -> Recipe:
    """How Mosquitto is run; its configuration is written into the folder."""
    config = order.folder / "mosquitto.conf"
    (order.folder / "store").mkdir(exist_ok=True)
    if order.users:
        write_secret(order.folder / "passwords", _passwords(order.users))
        write_secret(order.folder / "acl", _acl(order.users))
    write_secret(config, "\n".join(_lines(order)) + "\n")

    async def answers() -> bool:
        port = order.ports["client"]
        if order.tls:
            return await listens(port)
        return (await said(port, CONNECT) or b"")[:1] == b"\x20"

    return Recipe(
        command=(program("mosquitto", install=INSTALL), "-c", str(config)),
        url=f"{'mqtts' if order.tls else 'mqtt'}://{HOST}:{order.ports['client']}",
        answers=answers,
    )


def _lines(order: Order) -> Iterator[str]:
    yield f"user {getpass.getuser()}"  # root would become `mosquitto`, who cannot write here
    yield f"listener {order.ports['client']} {HOST}"
    if order.tls:
        yield from _tls(order.tls)
    yield f"allow_anonymous {'false' if order.users else 'true'}"
    if order.users:
        yield f"password_file {order.folder / 'passwords'}"
        yield f"acl_file {order.folder / 'acl'}"
    yield "set_tcp_nodelay true"  # the default holds small packets back for 40 ms
    yield "max_queued_messages 0"
    yield "max_inflight_messages 65535"
    yield "persistence true"
    yield f"persistence_location {order.folder / 'store'}/"
    yield "autosave_interval 10"
    yield "sys_interval 1"
    yield "log_dest stderr"
    for kind in ("error", "warning", "notice"):
        yield f"log_type {kind}"


def _tls(tls: Tls) -> Iterator[str]:
    yield f"certfile {tls.certificate}"
    yield f"keyfile {tls.key}"
    if tls.authority:
        yield f"cafile {tls.authority}"
    if tls.ask_clients:
        yield "require_certificate true"


def _passwords(users: Users) -> str:
    return "".join(f"{one.user}:{_hashed(one)}\n" for one in (users.agent, users.client))


def _hashed(login: Login) -> str:
    """A password as `mosquitto_passwd` writes it: PBKDF2 with SHA-512."""
    salt = secrets.token_bytes(12)
    made = hashlib.pbkdf2_hmac("sha512", login.password.encode(), salt, ROUNDS)
    texts = (base64.b64encode(one).decode() for one in (salt, made))
    return f"$7${ROUNDS}${'$'.join(texts)}"


def _acl(users: Users) -> str:
    agent, client = users.agent.user, users.client.user
    everything = "topic readwrite #\ntopic read $SYS/#\n"
    return f"user {agent}\n{everything}\nuser {client}\ntopic deny {RESERVED}\n{everything}"
