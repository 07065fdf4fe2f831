"""Several files to one federation: what addresses mean, what topics promise, what does not fit."""

import json
from pathlib import Path

import pytest

from ropewalk.errors import ConfigurationError
from ropewalk.federation.readers.reading import Reading, read_native
from ropewalk.findings import Finding
from ropewalk.verify import verify

DEFINITIONS = json.dumps({"vhosts": [{"name": "/"}], "exchanges": [], "rabbit_version": "3.10.8"})
LEAF = "port: 4222\nserver_name: edge\nleafnodes {remotes: [{url: 'nats://%s'}]}\n"


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def joined(folder: Path, files: dict[str, str], said: str | None = None) -> Reading:
    written(folder, files)
    if said is not None:
        (folder / "map.yaml").write_text(said)
    return read_native([folder], mapping=folder / "map.yaml" if said is not None else None)


def of(findings: tuple[Finding, ...], code: str, words: str = "") -> list[Finding]:
    return [one for one in findings if one.code == code and words in one.message]


def document(host: str, operations: str, protocol: str = "mqtt") -> str:
    return f"""asyncapi: 3.0.0
info: {{title: T, version: '1'}}
servers: {{s: {{host: '{host}', protocol: {protocol}}}}}
channels: {{c: {{address: a/b}}}}
operations: {operations}
"""


def operation(action: str, qos: int | None) -> str:
    bindings = "" if qos is None else f", bindings: {{mqtt: {{qos: {qos}}}}}"
    return f"{action}: {{action: {action}, channel: {{$ref: '#/channels/c'}}{bindings}}}"


# --- what topics promise ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "received", "delivery"),
    [
        (None, None, "best-effort"),
        (0, 0, "best-effort"),
        (1, None, "at-least-once"),
        (1, 0, "best-effort"),
        (1, 2, "at-least-once"),
        (2, 2, "exactly-once"),
    ],
)
def test_a_topic_promises_what_its_documents_state(
    tmp_path: Path, sent: int | None, received: int | None, delivery: str
) -> None:
    files = {
        "sender.yaml": document("hub", f"{{{operation('send', sent)}}}"),
        "receiver.yaml": document("hub", f"{{{operation('receive', received)}}}"),
    }
    topic = joined(tmp_path, files).federation.topics["a/b"]
    assert topic.contract.delivery == delivery
    assert not topic.assumed


def test_a_bridge_of_qos_0_breaks_no_promise_that_nobody_made(tmp_path: Path) -> None:
    both = f"{{{operation('send', 0)}, {operation('receive', 0)}}}"
    files = {
        "edge/mosquitto.conf": "listener 1883\nconnection up\naddress hub.example\ntopic a/# out 0\n",
        "hub/mosquitto.conf": "listener 1883\n",
        "sender.yaml": document("edge.example", both),
    }
    assert not of(verify(joined(tmp_path, files).federation).findings, "S18")


# --- what addresses mean ------------------------------------------------------------------


@pytest.mark.parametrize("said", [None, "brokers: {cloud.example: cloud}\n"])
@pytest.mark.parametrize("protocol", ["amqp", "nats"])
def test_an_address_of_another_program_is_a_conflict_with_both_places(
    tmp_path: Path, said: str | None, protocol: str
) -> None:
    files = {
        "cloud/mosquitto.conf": "listener 1883\n",
        "app.yaml": document(
            "cloud.example:1883", f"{{{operation('send', None)}}}", protocol
        ).replace("a/b", "ab"),
    }
    with pytest.raises(ConfigurationError) as refused:
        joined(tmp_path, files, said)
    (fault,) = of(refused.value.findings, "C007")
    assert str(fault).startswith(f"{tmp_path}/app.yaml:3: C007 cloud.example:1883 is said to speak")
    assert "cloud/mosquitto.conf:1" in fault.message
    assert ("--map" in fault.message) == (said is not None)


def test_links_of_other_programs_to_a_mosquittos_port_are_conflicts(tmp_path: Path) -> None:
    value = {"uri": "amqp://cloud.example:1883"}
    upstream = {"component": "federation-upstream", "name": "u", "vhost": "/", "value": value}
    policy = {"vhost": "/", "name": "p", "pattern": "x", "definition": {"federation-upstream": "u"}}
    exchange = {"name": "x", "vhost": "/", "type": "topic"}
    hub = json.loads(DEFINITIONS) | {
        "parameters": [upstream],
        "policies": [policy],
        "exchanges": [exchange],
    }
    mosquitto = {"cloud/mosquitto.conf": "listener 1883 cloud.example\n"}
    for name, text in (
        ("hub/definitions.json", json.dumps(hub)),
        ("edge/nats.conf", LEAF % "cloud.example:1883"),
    ):
        with pytest.raises(ConfigurationError) as refused:
            joined(tmp_path / name[:3], {**mosquitto, name: text})
        assert [name in one.where.file for one in of(refused.value.findings, "C007")] == [True]


def test_mqtt_may_be_at_any_make_and_another_port_is_another_program(tmp_path: Path) -> None:
    files = {
        "hub/definitions.json": DEFINITIONS,
        "cloud/mosquitto.conf": "listener 1883\n",
        "a.yaml": document("hub.example:1883", f"{{{operation('send', None)}}}"),
        "b.yaml": document("cloud.example:5672", f"{{{operation('send', None)}}}", "amqp"),
    }
    reading = joined(tmp_path, files)
    assert set(reading.federation.brokers) == {"hub", "cloud", "cloud.example"}
    assert reading.federation.brokers["cloud.example"].make == "rabbitmq"


def test_a_broker_that_only_the_map_names_is_told_once_with_the_nearest_name(
    tmp_path: Path,
) -> None:
    files = {
        "hub/mosquitto.conf": "listener 1883\n",
        "a/mosquitto.conf": "listener 1883\nconnection u\naddress x.example y.example\ntopic # out\n",
    }
    said = "brokers:\n  x.example: hubb\n  y.example: hubb\n"
    (note,) = of(joined(tmp_path, files, said).findings, "C011")
    assert str(note) == (
        f"{tmp_path}/map.yaml:2: C011 --map names hubb, of which there is no file: "
        "taken for a broker of its own: write hub, if that is meant"
    )
    (note,) = of(joined(tmp_path, files, said.replace("hubb", "paris")).findings, "C011")
    assert note.message.endswith("read its file as well")


def test_two_files_that_the_map_calls_alike_are_told_to_correct_the_map(tmp_path: Path) -> None:
    files = {f"{name}/mosquitto.conf": "listener 1883\n" for name in ("a", "b")}
    with pytest.raises(ConfigurationError) as refused:
        joined(tmp_path, files, "names: {a/mosquitto.conf: hub, b/mosquitto.conf: hub}\n")
    (fault,) = of(refused.value.findings, "C007")
    assert fault.message.endswith("--map calls it so: correct it there, or read one of them")


# --- urls ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "protocol", "url"),
    [
        ("cloud.example", "mqtt", "mqtt://cloud.example:1883"),
        ("cloud.example", "mqtts", "mqtts://cloud.example:8883"),
        ("cloud.example:443", "secure-mqtt", "mqtts://cloud.example:443"),
        ("cloud.example:8883", "mqtt", "mqtts://cloud.example:8883"),
        ("cloud.example:5671", "amqp", "amqps://cloud.example:5671"),
        ("cloud.example", "amqps", "amqps://cloud.example:5671"),
        ("cloud.example:9001, pathname: /mqtt", "mqtt", None),
        ("ws://cloud.example:9001", "mqtt", None),
        ("wss://cloud.example/mqtt", "mqtts", None),
    ],
)
@pytest.mark.parametrize("described", [False, True])
def test_urls_say_how_clients_connect(
    tmp_path: Path, host: str, protocol: str, url: str | None, described: bool
) -> None:
    text = document(host, f"{{{operation('send', None)}}}", protocol)
    files = {"app.yaml": text.replace(", pathname: /mqtt'", "', pathname: /mqtt")}
    if described and protocol[:4] != "amqp":
        files["cloud/mosquitto.conf"] = "listener 1883\nlistener 8883\nlistener 9001\n"
        url = url or "mqtt://0.0.0.0:1883"
    (broker,) = joined(tmp_path, files).federation.brokers.values()
    assert broker.url == url


# --- what does not fit together -----------------------------------------------------------


@pytest.mark.parametrize("first_line", ["", "port: 4222\n"])
def test_two_nats_servers_of_one_name_are_told(tmp_path: Path, first_line: str) -> None:
    text = f"{first_line}server_name: n1\ncluster {{name: c, port: 6222, routes: [%s]}}\n"
    files = {
        "a.conf": text % "nats://b.example:6222",
        "b.conf": text % "nats://a.example:6222",
    }
    (told,) = of(joined(tmp_path, files).findings, "C020", "server_name")
    assert told.where.file.endswith("b.conf")
    assert "is that of a, too" in told.message
    assert f"a.conf:{2 if first_line else 1}" in told.message


@pytest.mark.parametrize(
    ("setting", "count"),
    [("", 1), ("try_private true\n", 1), ("try_private false\n", 0)],
)
def test_rabbitmq_refuses_a_connection_that_says_it_is_a_bridge(
    tmp_path: Path, setting: str, count: int
) -> None:
    bridge = (
        "listener 1883\nconnection up\naddress hub.example:1883\ntopic a/# out 1\ntopic b/# in\n"
    )
    files = {"hub/definitions.json": DEFINITIONS, "edge/mosquitto.conf": f"{bridge}{setting}"}
    told = of(joined(tmp_path, files).findings, "C020", "write try_private false")
    assert [one.where.line for one in told] == [2] * count
    assert all("hub is RabbitMQ, which refuses" in one.message for one in told)
