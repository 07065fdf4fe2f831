"""RabbitMQ: AMQP 0-9-1 with the management plug-in, and an own port mapper that ends with it."""

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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

PORTS = ("client", "http", "nodes", "mapper")
RESERVED = "_rw"
TOPICS = "amq.topic"
"""The exchange that clients use."""
INSTALL = "install the Debian package rabbitmq-server (apt-get install rabbitmq-server)"
OWN_SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""Debian's on PATH changes the user and refuses to run for anybody but root."""
PATIENCE_S = 90.0
_GREETING = b"AMQP\x00\x00\x09\x01"


def recipe(order: Order) -> Recipe:
    """How RabbitMQ is run; its configuration is written into the folder."""
    folder, ports = order.folder, order.ports
    (folder / "enabled_plugins").write_text("[rabbitmq_management].\n")
    (folder / "rabbitmq-env.conf").write_text("")
    if order.users:
        write_secret(folder / "definitions.json", json.dumps(_definitions(order.users)))
    (folder / "rabbitmq.conf").write_text("\n".join(_lines(order)) + "\n")

    async def answers() -> bool:
        if order.tls:
            greeted = await listens(ports["client"])
        else:
            greeted = (await said(ports["client"], _GREETING) or b"")[:1] == b"\x01"
        return greeted and await http_answers(ports["http"], "/api/overview", 200, 401)

    return Recipe(
        command=(program("rabbitmq-server", OWN_SCRIPT, install=INSTALL),),
        environment=_environment(order),
        url=f"{'amqps' if order.tls else 'amqp'}://{HOST}:{ports['client']}",
        watch=f"http://{HOST}:{ports['http']}",
        answers=answers,
        # In the foreground and for this broker alone: Erlang's own would stay for ever.
        helper=(
            program("epmd", install="install the Debian package erlang-base"),
            *("-port", str(ports["mapper"]), "-address", HOST),
        ),
        patience_s=PATIENCE_S,
        grace_s=0.0,  # a clean end takes 6 s, and it stands a kill as well
    )


def _environment(order: Order) -> dict[str, str]:
    folder, ports = order.folder, order.ports
    return {
        **{name: one for name, one in os.environ.items() if not name.startswith("RABBITMQ_")},
        "HOME": str(folder),  # where the Erlang cookie is kept
        "ERL_EPMD_PORT": str(ports["mapper"]),
        "ERL_EPMD_ADDRESS": HOST,
        "RUNNING_UNDER_SYSTEMD": "true",  # no shell between us and the broker
        "RABBITMQ_NODENAME": f"ropewalk-{ports['client']}@localhost",
        "RABBITMQ_DIST_PORT": str(ports["nodes"]),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "rabbitmq-env.conf"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        "RABBITMQ_MNESIA_DIR": str(folder / "store"),
        "RABBITMQ_PLUGINS_EXPAND_DIR": str(folder / "plugins"),
        "RABBITMQ_LOG_BASE": str(folder / "logs"),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
            "-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}"
        ),
    }


def _lines(order: Order) -> Iterator[str]:
    where = f"{HOST}:{order.ports['client']}"
    if order.tls:
        yield "listeners.tcp = none"
        yield f"listeners.ssl.1 = {where}"
        yield from _tls(order.tls)
    else:
        yield f"listeners.tcp.1 = {where}"
    yield f"management.tcp.ip = {HOST}"
    yield f"management.tcp.port = {order.ports['http']}"
    yield "disk_free_limit.absolute = 50MB"
    yield "collect_statistics_interval = 1000"
    yield "log.console.level = warning"
    if order.users:
        yield f"load_definitions = {order.folder / 'definitions.json'}"


def _tls(tls: Tls) -> Iterator[str]:
    yield f"ssl_options.certfile = {tls.certificate}"
    yield f"ssl_options.keyfile = {tls.key}"
    if tls.authority:
        yield f"ssl_options.cacertfile = {tls.authority}"
    yield f"ssl_options.verify = {'verify_peer' if tls.ask_clients else 'verify_none'}"
    yield f"ssl_options.fail_if_no_peer_cert = {'true' if tls.ask_clients else 'false'}"


def _definitions(users: Users) -> dict[str, Any]:
    """Users and what they may do: clients nothing with exchanges and queues called `_rw...`.

    At `amq.topic` a client may not bind or publish a key below `_rw` either; `#` it may bind, so
    agents have to keep their words off that exchange.
    """
    other, rights = f"^(?!{RESERVED}).*", ("configure", "write", "read")
    agent, client = users.agent.user, users.client.user
    return {
        "vhosts": [{"name": "/"}],
        "users": [
            {"name": agent, **_hashed(users.agent), "tags": "administrator"},
            {"name": client, **_hashed(users.client), "tags": ""},
        ],
        "permissions": [
            {"user": agent, "vhost": "/", **dict.fromkeys(rights, ".*")},
            {"user": client, "vhost": "/", **dict.fromkeys(rights, other)},
        ],
        "topic_permissions": [
            {"user": client, "vhost": "/", "exchange": TOPICS, "write": other, "read": other}
        ],
    }


def _hashed(login: Login) -> dict[str, str]:
    salt = secrets.token_bytes(4)
    made = salt + hashlib.sha256(salt + login.password.encode()).digest()
    return {
        "password_hash": base64.b64encode(made).decode(),
        "hashing_algorithm": "rabbit_password_hashing_sha256",
    }
