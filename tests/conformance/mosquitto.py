"""Mosquitto for a test, and an ordinary client of it."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.brokers.mqtt import MqttLane, MqttLocal
from tests.conformance.makes import PASSWORD, USER, Broker, Got, Make


def _mosquitto_missing() -> str:
    found = shutil.which("mosquitto") and shutil.which("mosquitto_passwd")
    return "" if found else "mosquitto is not installed (apt install mosquitto)"


def _launch_mosquitto(broker: Broker) -> "subprocess.Popen[bytes]":
    folder, users = broker.folder, broker.folder / "users"
    subprocess.run(
        ["mosquitto_passwd", "-c", "-b", str(users), USER, PASSWORD],
        check=True,
        timeout=10,
        capture_output=True,
    )
    lines = [
        f"listener {broker.port} 127.0.0.1",
        "allow_anonymous false",
        f"password_file {users}",
        "user root" if os.getuid() == 0 else "",
        "set_tcp_nodelay true",
        "max_queued_messages 0",
        "max_inflight_messages 0",
        "sys_interval 1",
        "persistence true",
        f"persistence_location {folder}/",
        *(_mosquitto_tls(broker) if broker.tls else ()),
        *broker.make.settings,
    ]
    (folder / "mosquitto.conf").write_text("\n".join(lines))
    with (folder / "log").open("ab") as log:
        command = ["mosquitto", "-c", str(folder / "mosquitto.conf")]
        return subprocess.Popen(command, stdout=log, stderr=log)


def _mosquitto_tls(broker: Broker) -> Sequence[str]:
    certificate, folder = broker.ca.issue_cert("127.0.0.1"), broker.folder
    certificate.private_key_pem.write_to_path(str(folder / "key.pem"))
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(str(folder / "cert.pem"))
    return [f"certfile {folder}/cert.pem", f"keyfile {folder}/key.pem"]


class Paho:
    """An MQTT 5 client as most write it."""

    def __init__(self, broker: Broker, poke: Callable[[], None]) -> None:
        self.got: list[Got] = []
        self._poke = poke
        self._loop = asyncio.get_running_loop()
        self._subscribed = asyncio.Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
        self._client.username_pw_set(USER, PASSWORD)
        self._client.on_message = self._message
        self._client.on_subscribe = self._answered
        if broker.tls:
            self._client.tls_set_context(broker.context())
        self._client.connect("127.0.0.1", broker.port)
        self._client.loop_start()

    def _answered(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._subscribed.set)

    def _message(self, _client: object, _data: object, message: paho.MQTTMessage) -> None:
        headers: list[tuple[str, str]] = list(getattr(message.properties, "UserProperty", ()))
        kind = getattr(message.properties, "ContentType", None)
        if kind is not None:
            headers.insert(0, ("content-type", kind))
        self.got.append(Got(message.topic, bytes(message.payload), tuple(headers), message.retain))
        self._loop.call_soon_threadsafe(self._poke)

    async def publish(
        self,
        topic: str,
        payload: bytes,
        headers: Headers = (),
        retain: bool = False,
        qos: int = 1,
    ) -> None:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        user = [one for one in headers if one[0] != "content-type"]
        if user:
            properties.UserProperty = user
        for _, kind in (one for one in headers if one[0] == "content-type"):
            properties.ContentType = kind
        sent = self._client.publish(topic, payload, qos, retain, properties)
        await asyncio.to_thread(sent.wait_for_publish, 10)
        assert sent.is_published()

    async def subscribe(self, pattern: str) -> None:
        self._subscribed.clear()
        self._client.subscribe(pattern, qos=2)
        async with asyncio.timeout(10):
            await self._subscribed.wait()

    async def close(self) -> None:
        self._client.disconnect()
        await asyncio.to_thread(self._client.loop_stop)


MOSQUITTO = Make(
    name="mosquitto",
    missing=_mosquitto_missing,
    launch=_launch_mosquitto,
    client=Paho,
    local=MqttLocal,
    lane=MqttLane,
    retains=True,
    notices_silence=True,
)
