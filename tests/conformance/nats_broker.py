"""A NATS server for a test, and an ordinary client of it."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.brokers.nats import NatsLane, NatsLocal
from ropewalk.agent.drive.nats_client import settled
from ropewalk.federation.spelling import from_nats, patterns_to_nats, to_nats
from tests.conformance.makes import PASSWORD, USER, Broker, Got, Make, free_port

LEAVES: dict[int, int] = {}
"""By a server's port: that of its leaf nodes."""


def binary() -> str:
    beside = Path(sys.executable).parent / "nats-server"
    return str(beside) if beside.exists() else shutil.which("nats-server") or "nats-server"


def leaf_port(broker: Broker) -> int:
    if broker.port not in LEAVES:
        LEAVES[broker.port] = free_port()
    return LEAVES[broker.port]


def _launch(broker: Broker) -> "subprocess.Popen[bytes]":
    folder, tls = broker.folder, _tls(broker) if broker.tls else ""
    config = f"""
listen: "127.0.0.1:{broker.port}"
server_name: b
authorization {{ users: [ {{ user: {USER}, password: {PASSWORD} }} ] }}
leafnodes {{ listen: "127.0.0.1:{leaf_port(broker)}"\n {tls} }}
{tls}
{"".join(broker.make.settings)}
"""
    (folder / "nats.conf").write_text(config)
    with (folder / "log").open("ab") as log:
        command = [binary(), "-c", str(folder / "nats.conf")]
        return subprocess.Popen(command, stdout=log, stderr=log)


def _tls(broker: Broker) -> str:
    folder = broker.folder
    if not (folder / "key.pem").exists():
        certificate = broker.ca.issue_cert("127.0.0.1")
        certificate.private_key_pem.write_to_path(str(folder / "key.pem"))
        for blob in certificate.cert_chain_pems:
            blob.write_to_path(str(folder / "cert.pem"), append=True)
    return f'tls {{ cert_file: "{folder}/cert.pem", key_file: "{folder}/key.pem" }}'


class NatsClient:
    """A client that publishes with an acknowledgement, and again until it has one."""

    def __init__(self, broker: Broker, poke: Callable[[], None]) -> None:
        self.got: list[Got] = []
        self._broker, self._poke = broker, poke
        self._made: Client | None = None

    async def _connection(self) -> Client:
        if self._made is None:
            self._made = await nats.connect(
                f"nats://127.0.0.1:{self._broker.port}",
                user=USER,
                password=PASSWORD,
                tls=self._broker.context() if self._broker.tls else None,
                error_cb=_quiet,
                reconnect_time_wait=0.05,
            )
        return self._made

    async def publish(
        self, topic: str, payload: bytes, headers: Headers = (), retain: bool = False
    ) -> None:
        made = await self._connection()
        told = {**dict(headers), "Nats-Msg-Id": uuid4().hex}
        subject = to_nats(topic)
        if topic.startswith("elsewhere"):
            await made.publish(subject, payload)
            return
        for _ in range(50):
            try:
                await made.request(subject, payload, 0.3, headers=told)
            except (NatsTimeoutError, NoRespondersError):
                await asyncio.sleep(0.02)
            else:
                return

    async def subscribe(self, pattern: str) -> None:
        made = await self._connection()
        for subject in patterns_to_nats(pattern):
            await made.subscribe(subject, cb=self._message)
        await settled(made)

    async def _message(self, message: Msg) -> None:
        topic = from_nats(message.subject) or message.subject
        self.got.append(Got(topic, message.data, _headers(message)))
        self._poke()

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()


def _headers(message: Msg) -> Headers:
    found = [(name, value) for name, value in (message.headers or {}).items()]
    return tuple(one for one in found if one[0] != "Nats-Msg-Id")


async def _quiet(_error: Exception) -> None:
    """nats-py prints a traceback for each failed reconnection otherwise."""


NATS = Make(
    name="nats",
    missing=lambda: "",
    launch=_launch,
    client=NatsClient,
    local=NatsLocal,
    lane=NatsLane,
    keeps=False,
    repeats=False,
    figures=False,
    watch=lambda broker: f"leaf://127.0.0.1:{leaf_port(broker)}",
    notices_silence=True,
)
