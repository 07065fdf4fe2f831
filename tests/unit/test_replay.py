"""Replays on real brokers: loops, copies, gaps and cuts are seen, and nothing outlives them."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from ropewalk.agent.replay import Actor, Observed, Scene, judge, play
from ropewalk.agent.replay.doors import Doors
from ropewalk.agent.replay.exchanges import bindings, exchange_and_key
from ropewalk.agent.replay.rewrite.mosquitto import rewrite_mosquitto
from ropewalk.agent.replay.rewrite.nats import rewrite_nats
from ropewalk.agent.replay.rewrite.nats_logins import login_of
from ropewalk.agent.replay.rewrite.nats_read import read_nats
from ropewalk.agent.replay.rewrite.rabbitmq import rewrite_rabbitmq
from ropewalk.errors import LabError, UsageError
from ropewalk.federation.readers.nats.syntax import parse_nats
from tests.unit.test_lab_brokers import skip_unless_installed


def actor(name: str, make: str, text: str, **spaces: str) -> Actor:
    return Actor(name=name, make=make, text=text, file=f"{name}.conf", spaces=spaces or {name: ""})


def reach(file: str, host: str, port: int) -> str | None:
    """Servers are called by their host names; `nowhere` is nobody's."""
    return None if host == "nowhere" else host


def played(actors: Iterable[Actor], scene: Scene, folder: Path) -> Observed:
    cast = list(actors)
    for one in cast:
        skip_unless_installed(one.make)
    before = children()
    seen = asyncio.run(play(cast, reach, scene, folder))
    assert children() == before
    return seen


def children() -> set[int]:
    return {one.pid for one in psutil.Process().children(recursive=True)}


def mosquitto(name: str, *bridges: tuple[str, str, str]) -> Actor:
    """A broker with bridges: name, addresses, lines."""
    lines = ["listener 1883", "persistence true", "persistence_location /var/lib/mosquitto/"]
    lines += [f"connection {one}\naddresses {to}\n{more}" for one, to, more in bridges]
    return actor(name, "mosquitto", "\n".join(lines) + "\n")


def everywhere(actors: Iterable[Actor], topic: str, **more: Any) -> Scene:
    brokers = tuple(broker for one in actors for broker in one.spaces)
    return Scene(broker=brokers[0], topic=topic, watch=brokers, **more)


def test_a_ring_of_mosquittos_loops(tmp_path: Path) -> None:
    ring = [
        mosquitto(name, ("next", to, "topic sensors/# both"))
        for name, to in (("a", "b"), ("b", "c"), ("c", "a"))
    ]
    seen = played(ring, everywhere(ring, "sensors/t"), tmp_path)
    verdict = judge("loop", {(one.name, "sensors/t"): 1 for one in ring}, seen)
    assert verdict.confirmed, (verdict, seen)
    assert seen.storm
    assert "copies of sensors/t" in verdict.words
    assert "a: listener: the lab has one listener of its own" in seen.left_out


def test_two_bridges_side_by_side_bring_two_copies(tmp_path: Path) -> None:
    pair = [
        mosquitto("a", ("one", "b", "topic t/# out 1"), ("two", "b:1883", "topic t/+ out 1")),
        mosquitto("b"),
    ]
    seen = played(pair, everywhere(pair, "t/x"), tmp_path)
    assert seen.copies == {("a", "t/x"): 1, ("b", "t/x"): 2}
    assert judge("copies", {("b", "t/x"): 2}, seen).confirmed
    assert not judge("loop", {("b", "t/x"): 2, ("a", "t/x"): 1}, seen).confirmed


def test_a_bridge_of_mqtt_5_comes_up(tmp_path: Path) -> None:
    lines = "bridge_protocol_version mqttv50\ntopic t/# in 2"
    pair = [mosquitto("b"), mosquitto("a", ("up", "b", lines))]
    seen = played(pair, everywhere(pair, "t/x"), tmp_path)
    assert seen.copies == {("a", "t/x"): 1, ("b", "t/x"): 1}
    assert not any("did not come up" in one for one in seen.left_out)


def test_a_hub_with_spokes_delivers_once(tmp_path: Path) -> None:
    star = [mosquitto("s1", ("up", "hub", "topic t/# both 1")), mosquitto("hub")]
    star += [mosquitto("s2", ("up", "hub", "topic t/# both 1"))]
    seen = played(star, everywhere(star, "t/x"), tmp_path)
    once = {(one.name, "t/x"): 1 for one in star}
    assert seen.copies == once
    verdict = judge("loop", once, seen)
    assert not verdict.confirmed
    assert verdict.words.endswith("no loop was seen")


def test_a_bridge_goes_to_its_second_address_when_the_first_is_down(tmp_path: Path) -> None:
    cast = [
        mosquitto("a", ("up", "b c", "topic t/# out 1")),
        mosquitto("b", ("up", "d", "topic t/# out 1")),
        mosquitto("c"),
        mosquitto("d"),
    ]
    seen = played(cast, everywhere(cast, "t/x", down=("b",)), tmp_path)
    assert seen.copies == {("a", "t/x"): 1, ("c", "t/x"): 1}
    assert not any("did not come up" in one for one in seen.left_out)
    gap = {("a", "t/x"): 1, ("c", "t/x"): 1, ("d", "t/x"): 0}
    assert judge("gap", gap, seen).words == (
        "d got no copy of t/x; as control, a got 1 copy of t/x, c got 1 copy of t/x"
    )
    assert judge("gap", gap, seen).confirmed


def nats(name: str, settings: Mapping[str, Any], **spaces: str) -> Actor:
    return actor(name, "nats", json.dumps(settings), **spaces)


def leaf(to: str, **more: Any) -> dict[str, Any]:
    return {"leafnodes": {"remotes": [{"url": f"nats://{to}:7422", **more}]}}


def leaves_and_hub() -> list[Actor]:
    hub = nats("hub", {"port": 4222, "leafnodes": {"port": 7422}})
    return [nats("l1", leaf("hub")), hub, nats("l2", leaf("hub"))]


def test_leaf_nodes_deliver_once_through_their_hub_and_not_without_it(tmp_path: Path) -> None:
    cast = leaves_and_hub()
    before = played(cast, everywhere(cast, "t/x"), tmp_path / "up")
    assert before.copies == {("l1", "t/x"): 1, ("hub", "t/x"): 1, ("l2", "t/x"): 1}
    after = played(cast, everywhere(cast, "t/x", down=("hub",)), tmp_path / "down")
    assert after.copies == {("l1", "t/x"): 1}
    verdict = judge("cut", {("l2", "t/x"): 0}, after, control=before)
    assert verdict.confirmed
    assert verdict.words == (
        "l2 got no copy of t/x; as control, with nothing down l2 got 1 copy of t/x"
    )
    assert not judge("cut", {("l2", "t/x"): 0}, after).confirmed


HUB = """
server_name: hub-1
listen: 0.0.0.0:4222
PASS: hush
include ./accounts.conf
leafnodes { listen: "0.0.0.0:7422", tls { cert_file: "/etc/tls/hub.pem" } }
jetstream { store_dir: /var/lib/nats }
cluster { name: c, listen: 0.0.0.0:6222, routes: ["nats://r:hush@hub2:6222", nats://nowhere:6222]
          authorization { user: r, password: hush } }
gateway { name: c, port: 7222, gateways: [{name: c, url: "nats://hub:7222"},
                                          {name: far, url: "nats://far:7222"}] }
system_account: SYS
"""
ACCOUNTS = """
accounts {
  A { exports: [{stream: "open.>"}],
      users: [{user: a, password: $PASS}
              {user: edge, password: hush, permissions: {publish: "open.>", subscribe: ">"}}] }
  B { users: [{nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4}]
      imports: [{stream: {account: A, subject: "open.>"}, prefix: from}] }
  SYS { users: [{user: admin, password: hush}] }
}
"""


FAR = """
cluster { name: far, port: 6222 }
gateway { name: far, port: 7222 }
include accounts.conf
"""


def in_accounts(name: str, text: str, **spaces: str) -> Actor:
    parts = {"accounts.conf": ACCOUNTS}
    return Actor(name=name, make="nats", text=text, file=f"{name}.conf", parts=parts, spaces=spaces)


def test_accounts_clusters_and_gateways_of_nats_are_as_they_are_written(tmp_path: Path) -> None:
    hubs = [
        in_accounts("hub", HUB, **{"hub": "A", "B@hub": "B"}),
        in_accounts("hub2", HUB.replace("hub2", "hub"), **{"hub2": "A", "B@hub2": "B"}),
    ]
    edge = actor("edge", "nats", 'leafnodes { remotes: [{url: "nats-leaf://edge:hush@hub2"}] }')
    cast = [edge, *hubs, in_accounts("far", FAR, far="A")]
    seen = played(cast, everywhere(cast, "open/x", seconds=1.0), tmp_path / "open")
    assert seen.copies == {
        ("edge", "open/x"): 1,
        ("hub", "open/x"): 1,
        ("hub2", "open/x"): 1,
        ("B@hub", "from/open/x"): 1,
        ("B@hub2", "from/open/x"): 1,
        ("far", "open/x"): 1,
    }, seen
    closed = played(cast, everywhere(cast, "closed/x", seconds=1.0), tmp_path / "closed")
    assert closed.copies == {("edge", "closed/x"): 1}, closed
    assert "hush" not in "".join(seen.left_out)
    assert not any("did not come up" in one for one in seen.left_out)
    assert "hub: address nowhere:6222: no server of the replay is known by it" in seen.left_out


def rabbit(name: str, up: str) -> Actor:
    exchange = {"name": "X", "vhost": "/", "type": "topic", "durable": True, "arguments": {}}
    upstream = {"uri": f"amqps://x:hush@{up}/%2f?verify=none", "max-hops": 2, "reconnect-delay": 1}
    parameter = {"component": "federation-upstream", "name": "up", "value": upstream}
    policy = {"name": "fed", "pattern": "^X$", "apply-to": "exchanges"}
    definitions = {
        "rabbit_version": "3.12.1",
        "users": [{"name": "x", "password_hash": "hush"}],
        "global_parameters": [{"name": "cluster_name", "value": f"the {name}"}],
        "exchanges": [{**exchange, "auto_delete": False, "internal": False}],
        "parameters": [{"vhost": "/", **parameter}],
        "policies": [{"vhost": "/", **policy, "definition": {"federation-upstream": "up"}}],
    }
    return actor(name, "rabbitmq", json.dumps(definitions))


def test_a_ring_of_rabbitmqs_ends_after_two_hops(tmp_path: Path) -> None:
    ring = [rabbit("r1", "r4"), rabbit("r2", "r1"), rabbit("r3", "r2"), rabbit("r4", "r3")]
    seen = played(ring, everywhere(ring, "X/a/b"), tmp_path)
    assert seen.copies == {("r1", "X/a/b"): 1, ("r2", "X/a/b"): 1, ("r3", "X/a/b"): 1}, seen
    assert "hush" not in "".join(seen.left_out)
    gap = {(one.name, "X/a/b"): int(one.name != "r4") for one in ring}
    assert judge("gap", gap, seen).confirmed


# --- files that are not taken, and files that are ------------------------------------------------


def test_a_setting_that_is_newer_than_the_installed_mosquitto_is_left_out(tmp_path: Path) -> None:
    pair = [mosquitto("a", ("up", "b", "bridge_of_tomorrow 1\ntopic # out\nby_carrier_pigeon"))]
    pair += [mosquitto("b")]
    seen = played(pair, everywhere(pair, "t", seconds=0.5), tmp_path)
    assert seen.copies == {("a", "t"): 1, ("b", "t"): 1}
    old = "the Mosquitto that is installed is too old"
    assert {f"a: {one}: {old}" for one in ("bridge_of_tomorrow", "by_carrier_pigeon")} <= set(
        seen.left_out
    )


@pytest.mark.parametrize(
    ("make", "text", "words"),
    [
        ("mosquitto", "connection x\ntopic # both\n", "a \\(mosquitto\\) ended at its start"),
        ("nats", "port: [", "a cannot be read"),
        ("nats", "cluster { port: 1, name: 'x y' }", "a \\(nats\\) ended at its start"),
        ("rabbitmq", "{", "a.conf is no JSON"),
    ],
)
def test_a_file_that_no_server_starts_from_is_told(
    make: str, text: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(LabError, match=words):
        played([actor("a", make, text)], Scene(broker="a", topic="t"), tmp_path)


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        (Scene(broker="z", topic="t"), "broker 'z' is at none of the servers a"),
        (Scene(broker="a", topic="t", down=("z",)), "server 'z' cannot be killed: there are a"),
        (Scene(broker="a", topic="t", down=("a",)), "nobody can publish at a"),
    ],
)
def test_a_scene_with_somebody_who_is_not_there_is_refused(
    scene: Scene, words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words):
        asyncio.run(play([mosquitto("a")], reach, scene, tmp_path))


PORTS = {"a": {"client": 20001}, "b": {"client": 20002, "mqtt": 20002}}
DOORS = Doors(ports=PORTS, reach=reach, closed=20003)


def test_mosquittos_file_keeps_its_bridges_and_none_of_its_secrets(tmp_path: Path) -> None:
    text = """
per_listener_settings true
listener 8883 0.0.0.0
mount_point home/
password_file /etc/mosquitto/hush
plugin_opt_secret hush
include_dir /etc/mosquitto/conf.d
"""
    bridge = """
connection\tup
addresses b nowhere:1 [::1]:1883
topic a/# both 1 here/ there/
round_robin true
remote_username hush
remote_password hush
clientid mine
restart_timeout 30
notifications false
"""
    parts = {"/etc/mosquitto/conf.d/b.conf": bridge, "/etc/mosquitto/other/c.conf": "x y"}
    one = Actor(name="a", make="mosquitto", text=text, file="m.conf", parts=parts, spaces={"a": ""})
    script = rewrite_mosquitto(one, DOORS, client=20001, folder=tmp_path)
    assert "hush" not in script.text + "".join(script.left_out)
    assert script.text.partition("connection up\n")[2].splitlines() == [
        "addresses 127.0.0.1:20002 127.0.0.1:20003 127.0.0.1:20003",
        "topic a/# both 1 here/ there/",
        "round_robin true",
        "remote_clientid mine",
        "restart_timeout 1",
        "notifications true",
        "notifications_local_only true",
    ]
    assert "a: mount_point: topics of its clients keep their names in the lab" in script.left_out
    (link,) = script.links
    assert (link.name, link.to, link.ports, link.first) == ("mine", ("b",), (20002,), False)


def test_mosquittos_addresses_end_where_a_comment_begins(tmp_path: Path) -> None:
    text = "listener 1883\nconnection up\naddress b:1883  # the cloud\ntopic a/# out 0\n"
    one = Actor(name="a", make="mosquitto", text=text, file="m.conf", spaces={"a": ""})
    script = rewrite_mosquitto(one, DOORS, client=20001, folder=tmp_path)
    assert "addresses 127.0.0.1:20002\n" in script.text
    assert [link.to for link in script.links] == [("b",)]


OPERATED = """
operator: /etc/nats/hush.jwt
resolver: MEMORY
resolver_preload: { ADK: eyJhush }
system_account: ASK
leafnodes { port: 7422, remotes: [
  { urls: ["tls://u:hush@b", "nats://nowhere:1"], account: ADK, credentials: /hush.creds, deny_exports: [a] }
  { url: "nats://b", account: OWN, nkey: /hush.nk, tls { ca_file: x } }
] }
"""


def test_natss_file_keeps_its_accounts_and_none_of_its_secrets() -> None:
    one, far = actor("a", "nats", OPERATED, a="ADK"), actor("b", "nats", OPERATED, b="")
    ports = {
        name: {"client": at, "http": at + 1, "leaf": at + 2} for name, at in (("a", 1), ("b", 5))
    }
    script = rewrite_nats(
        one,
        {"a": read_nats(one), "b": read_nats(far)},
        Doors(ports=ports, reach=reach, closed=9),
        secret="made",
    )
    assert "hush" not in script.text + "".join(script.left_out)
    made = parse_nats(script.text, "a.conf", include=lambda _: None).value
    assert list(made["accounts"]) == ["ADK", "ASK", "OWN"]
    first, second = made["leafnodes"]["remotes"]
    assert (first["account"], first["deny_exports"]) == ("ADK", ["a"])
    assert first["urls"] == [
        f"nats-leaf://{login_of('ADK')}:made@127.0.0.1:7",
        "nats-leaf://127.0.0.1:9",
    ]
    assert second["urls"] == [f"nats-leaf://{login_of('$G')}:made@127.0.0.1:7"]
    assert [(link.kind, link.name, link.to) for link in script.links] == [
        ("leaf", "ADK", ("b",)),
        ("leaf", "OWN", ("b",)),
    ]


def test_rabbitmqs_definitions_have_one_user_and_the_labs_addresses() -> None:
    shovel = {"src-uri": "amqp://", "dest-uri": ["amqp://u:hush@b:5673/v%2F1", "amqp://nowhere"]}
    own = {"name": "federation: X -> a", "type": "x-federation-upstream", "internal": True}
    late = {"name": "L", "type": "x-delayed-message", "arguments": {"x-delayed-type": "fanout"}}
    given = {
        "users": [{"name": "hush", "password_hash": "hush"}],
        "permissions": [{"user": "hush", "vhost": "v"}],
        "exchanges": [own, late],
        "parameters": [{"component": "shovel", "name": "s", "value": shovel}],
    }
    one = actor("a", "rabbitmq", json.dumps(given), a="v")
    script = rewrite_rabbitmq(one, DOORS)
    assert "hush" not in script.text + "".join(script.left_out)
    made = json.loads(script.text)
    assert [one["name"] for one in made["users"]] == ["guest"]
    assert [one["vhost"] for one in made["permissions"]] == ["/", "v"]
    assert made["exchanges"] == [{"vhost": "v", "name": "L", "type": "fanout", "arguments": {}}]
    assert made["parameters"][0]["value"] == {
        "src-uri": ["amqp://"],
        "dest-uri": [
            "amqp://guest:guest@127.0.0.1:20002/v%2F1",
            "amqp://guest:guest@127.0.0.1:20003",
        ],
    }
    assert [(link.kind, link.name, link.to) for link in script.links] == [("shovel", "s", ("b",))]
    assert script.exchanges == {"v": {"L": "fanout"}}


def test_a_pattern_is_bound_to_the_exchanges_that_it_means() -> None:
    types = {"X": "topic", "F": "fanout", "D": "direct", "": "direct"}

    def bound(pattern: str, topic: str = "D/k/1") -> dict[str, str]:
        return {one.exchange: one.key for one in bindings(types, pattern, topic)}

    assert bound("#") == {"X": "#", "F": "", "D": "k.1", "amq.topic": "#"}
    assert bound("X/a/+") == {"X": "a.*"}
    assert bound("y/#") == {"amq.topic": "y.#"}
    assert bound("#", "amq.fanout/z")["amq.fanout"] == ""
    assert exchange_and_key(types, "D/k/1") == ("D", "k.1")
    assert exchange_and_key(types, "k/1") == ("amq.topic", "k.1")


def test_a_verdict_asks_for_a_control_and_for_exact_counts() -> None:
    def seen(**copies: int) -> Observed:
        found = {(broker, "t"): many for broker, many in copies.items()}
        return Observed(copies=found, left_out=(), seconds=3.0, setup_seconds=1.0)

    assert not judge("gap", {("b", "t"): 0, ("a", "t"): 1}, seen()).confirmed
    assert "no control" in judge("gap", {("b", "t"): 0}, seen()).words
    wrong = judge("copies", {("b", "t"): 3}, seen(b=2))
    assert (wrong.confirmed, wrong.words) == (False, "b got 2 copies of t, not 3 as predicted")
    assert judge("loop", {("a", "t"): 1, ("b", "t"): 1}, seen(a=11)).confirmed
    assert not judge("loop", {("a", "t"): 1, ("b", "t"): 1}, seen(a=10)).confirmed
    assert judge("loop", {}, seen()).words == "no copy arrived anywhere: nothing was shown"
    assert not judge("cut", {("b", "t"): 0}, seen(a=1), control=seen(a=1)).confirmed

    with pytest.raises(UsageError, match="no claim is called 'x'"):
        judge("x", {}, seen())


def test_silence_shows_nothing_while_a_connection_is_missing() -> None:
    expected = {("b", "t"): 0, ("a", "t"): 1}
    seen = Observed(copies={("a", "t"): 1}, left_out=(), seconds=3.0, setup_seconds=1.0)
    assert judge("gap", expected, seen).confirmed
    told = judge("gap", expected, replace(seen, missing=("bridge 'u' of a did not come up",)))
    assert (told.confirmed, "but bridge 'u' of a" in told.words) == (False, True)
