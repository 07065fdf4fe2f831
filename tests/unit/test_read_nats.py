"""NATS configurations: each construct with its drafts, its findings, and what is written again."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropewalk.export.nats import write_nats
from ropewalk.federation.bridges import Bridge, Prefixes
from ropewalk.federation.facts import Broker, Federation
from ropewalk.federation.readers.drafts import Address, BridgeDraft, BrokerDraft, Drafts
from ropewalk.federation.readers.joining import join
from ropewalk.federation.readers.nats import parse_nats, read_nats
from ropewalk.federation.readers.nats.syntax import Unset
from ropewalk.federation.readers.reading import read_native
from ropewalk.federation.sense import check
from ropewalk.findings import Where
from tests.conftest import Run

FLAT = "port: 4222\ncluster: {port: 6222, name: c, routes: ['nats://far:6222']}\n"
SERVER = Path(sys.executable).parent / "nats-server"
EXAMPLES = Path("examples/native/nats")


def read(text: Any, files: Any = None, file: Any = "a.conf", host: Any = "a") -> Any:
    drafts = Drafts()
    read_nats(text, file, host, drafts, include=(files or {}).get)
    return drafts


def told(drafts: Any, code: Any) -> Any:
    return [str(one) for one in drafts.findings if one.code == code]


def parsed(text: Any, files: Any = None, **options: Any) -> Any:
    return parse_nats(text, "a.conf", include=(files or {}).get, **options)


def accepted(text: Any, tmp_path: Path) -> Any:
    path = tmp_path / "nats.conf"
    path.write_text(text, newline="")
    done = subprocess.run([SERVER, "-t", "-c", path], capture_output=True, text=True, timeout=20)
    return done.returncode == 0, done.stderr


def at(host: Any, port: Any, line: Any, secure: Any = False, peer: Any = "leafnode") -> Any:
    where = Where("a.conf", line)
    return Address(host=host, port=port, where=where, make="nats", secure=secure, peer=peer)


# --- syntax ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a 1\nb = 2\nc: 3; d 4, e 5", {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}),
        ("a: yes, b: OFF, c: tRue", {"a": True, "b": False, "c": True}),
        (
            "a: 1k, b: 1KB, c: 2MiB, d: 1g, e: -3",
            {"a": 1000, "b": 1024, "c": 2 << 20, "d": 10**9, "e": -3},
        ),
        ("a: 1.5\nb: 127.0.0.1:4222", {"a": 1.5, "b": "127.0.0.1:4222"}),
        ("a: 2s\nb: 10ms, c: 3m", {"a": "2s", "b": "10ms", "c": 3_000_000}),
        ("a: 2026-01-31T12:00:00Z", {"a": "2026-01-31T12:00:00Z"}),
        ("a: [1, 'x y'\n \"z\" # c\n]", {"a": [1, "x y", "z"]}),
        ('a: "q\\x41\\t\\"" # c\n// d\nb: c', {"a": 'qA\t"', "b": "c"}),
        ("a: (\nline\n)\nb: 1", {"a": "\nline\n", "b": 1}),
        ('{"a": {"b": [true, null]}}', {"a": {"b": [True, "null"]}}),
        ("x: 7\na { y: 8, b { z: $x, w: $y } }", {"x": 7, "a": {"y": 8, "b": {"z": 7, "w": 8}}}),
        ("a: $2a$11$hash", {"a": "$2a$11$hash"}),
        ("a: 5\na: 6", {"a": 6}),
        ("a\n  b", {"a": "b"}),
        ("port: 4222\n{", {"port": 4222}),
        ("a: nats://u:p@h:1", {"a": "nats://u:p@h:1"}),
    ],
)
def test_values_are_what_the_server_takes_them_for(text: Any, value: Any) -> None:
    found = parsed(text)
    assert not found.broken
    assert found.value == value


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("port: 1\na: {", 2),
        ("a: [1, 2", 1),
        ("a: 'x", 1),
        ("port: 1 2", 1),
        ("a: 10-20", 1),
        ("port: 1\n\n= 3", 3),
        ("a: .5", 1),
        ('a: "\\q"', 1),
        ("port: 1\nkey", 2),
        ("a: 99999999999999999999", 1),
        ("a: [b c]", 1),
        ("a: ( x )", 1),
        ("a: [,]", 1),
        ("", 0),
        ("authorization {\n users\n}", 2),
        ("port: 1\nhost: {{ .host }}", 2),
        ("# {{ x }}\nleafnodes { remotes: [\n{% for x in y %}\n] }", 3),
        ("server_name: 'x-<%= id %>'", 1),
        ("a: " + "[" * 100, 1),
        ("a: 2026-13-31T12:00:00Z", 1),
    ],
)
def test_what_the_server_refuses_has_a_fault_with_its_line(text: Any, line: Any) -> None:
    found = parsed(text)
    assert [one.code for one in found.findings] == ["C003"]
    assert found.findings[0].where.line == line


def test_places_name_the_file_that_a_value_is_in() -> None:
    files = {"sub/b.conf": "x: 1\ncluster {\n include c.conf }\n", "sub/c.conf": "\nname: n"}
    found = parse_nats("a: 1\ninclude 'sub/b.conf'\n", "etc/a.conf", include=files.get)
    assert found.value == {"a": 1, "x": 1, "cluster": {"name": "n"}}
    assert str(found.where(("a",))) == "etc/a.conf:1"
    assert str(found.where(("cluster",))) == "etc/sub/b.conf:2"
    assert str(found.where(("cluster", "name"))) == "etc/sub/c.conf:2"
    assert found.included == ["sub/b.conf", "sub/c.conf"]


def test_includes_that_go_in_a_circle_are_a_fault() -> None:
    files = {"b.conf": "include ./c.conf", "c.conf": "x: 1\ninclude b.conf"}
    found = parsed(
        "include ./b.conf", {**files, "./b.conf": files["b.conf"], "./c.conf": files["c.conf"]}
    )
    assert [(one.code, str(one.where)) for one in found.findings] == [("C006", "c.conf:2")]
    assert found.broken


def test_an_include_that_is_not_here_is_a_note() -> None:
    drafts = read("port: 4222\ninclude missing.conf\n")
    assert not drafts.faults
    assert "a.conf:2: C006 include missing.conf: the file is not here" in told(drafts, "C006")[0]


def test_includes_without_end_are_cut() -> None:
    found = parse_nats(
        "include x", "a.conf", include=lambda path: f"include {path}x\ninclude {path}y"
    )
    assert "C006" in {one.code for one in found.findings}


def test_variables_of_the_environment_stay_as_they_are_written() -> None:
    found = parsed("server_name: $NAME\n")
    assert found.value == {"server_name": "$NAME"}
    assert isinstance(found.value["server_name"], Unset)
    assert [one.severity for one in found.findings] == ["note"]
    assert parsed("port: $P", environment={"P": "4333"}).value == {"port": 4333}
    assert parsed("port: $P", environment={"P": "$P"}).broken
    assert told(read("server_name: ${NAME}\n"), "C006")[0].endswith("write $NAME")


def test_a_variable_that_is_set_below_is_to_be_moved_above(tmp_path: Path) -> None:
    text = "port: $P\nP: 4333\n"
    assert not accepted(text, tmp_path)[0]
    drafts = read(text)
    assert [str(one.where) for one in drafts.findings] == ["a.conf:1"]
    assert "$P is set only in line 2" in drafts.findings[0].message
    assert not read("P: 4333\nport: $P\n").findings


def test_includes_take_no_wildcards(tmp_path: Path) -> None:
    text = 'port: 1\ninclude "accounts/*.conf"\n'
    assert not accepted(text, tmp_path)[0]
    (fault,) = read(text).faults
    assert (fault.code, fault.where.line) == ("C006", 2)
    assert "no wildcards" in fault.message


@pytest.mark.parametrize("setting", ["password", "pass", "token", "nkey", "seed"])
def test_a_secret_that_begins_with_a_dollar_is_not_printed(setting: Any) -> None:
    for secret in ("$ecret", "${ecret", "$SYS.ecret"):
        text = f"authorization {{ user: u, {setting}: {secret} }}"
        assert "ecret" not in " ".join(one.message for one in read(text).findings)
    assert "$NAME" in read("server_name: $NAME").findings[0].message


def test_permissions_of_users_are_told_apart_from_logins() -> None:
    user = "{user: a, password: p, permissions: {publish: {deny: 'foo.>'}}}"
    for text in (f"accounts {{ A {{ users: [{user}] }} }}", f"authorization {{ users: [{user}] }}"):
        assert any("permissions of users" in one for one in told(read(text), "C010"))
        bare = text.replace("permissions", "connection_types")
        assert not any("permissions of users" in one for one in told(read(bare), "C010"))


def test_a_subject_that_starts_with_a_dollar_goes_in_quotes(tmp_path: Path) -> None:
    text = "accounts { A { exports: [{service: $JS.API.>}] } }"
    assert not accepted(text, tmp_path)[0]
    assert told(read(text), "C006")[0].endswith("write '$JS.API.>'")
    assert not told(read(text.replace("$JS.API.>", "'$JS.API.>'")), "C006")


def test_a_mark_before_the_file_keeps_the_server_from_starting(tmp_path: Path) -> None:
    text = "\ufeffport: 4333"
    assert not accepted(text, tmp_path)[0]
    drafts = read(text)
    assert "byte order mark" in told(drafts, "C020")[0]
    assert drafts.brokers[0].listens == (("", 4333),)


def test_paths_that_start_with_a_point_go_in_quotes(tmp_path: Path) -> None:
    text = "jetstream { store_dir: ./data }"
    assert not accepted(text, tmp_path)[0]
    assert "in quotes" in told(read(text), "C003")[0]


def test_a_variable_in_braces_is_one_fault() -> None:
    faults = parsed("leaf {\n remotes: [ {account: ${ID}, url: x} ]\n}\n").findings
    assert [(one.code, one.where.line) for one in faults] == [("C006", 2)]
    assert "$ID" in faults[0].message


def test_templates_of_terraform_are_refused_with_what_to_do() -> None:
    (fault,) = parsed("port: 1\n%{ if leaf }\nurls: [%{ for a in b ~}x%{ endfor ~}]\n").findings
    assert (fault.code, fault.where.line) == ("C003", 2)
    assert "Terraform" in fault.message


def test_settings_are_told_by_the_name_that_the_file_has() -> None:
    notes = told(read("monitor_port: 8222\nno_sys_acc: true\n"), "C010")
    assert ["monitor_port" in notes[0], "no_sys_acc" in notes[1]] == [True, True]


def test_a_key_that_is_written_twice_counts_once() -> None:
    drafts = read("port: 1\nport: 2\n")
    assert told(drafts, "C020") == [
        "a.conf:2: C020 port stands at a.conf:1 as well: only this one counts"
    ]
    undone = read("leafnodes { remotes: [ {url: nats://h:7422} ] }\nleafnodes { reconnect: 5s }\n")
    assert undone.findings[0].severity == "warning"
    assert not undone.bridges


# --- brokers -----------------------------------------------------------------------------------


def test_a_server_alone_is_one_broker_without_topics() -> None:
    drafts = read("server_name: n1\nlisten: 10.0.0.1:4333\nclient_advertise: n1.example.net:4222\n")
    assert drafts.brokers == [
        BrokerDraft(
            name="a", make="nats", host="a", where=Where("a.conf", 1),
            listens=(("10.0.0.1", 4333),), aliases=("n1", "n1.example.net"),
        )
    ]  # fmt: skip
    assert not drafts.bridges + drafts.topics + drafts.findings


def test_ports_of_all_kinds_of_peers_are_known() -> None:
    drafts = read(
        "net: h\nPORT: 1\ncluster { port: 2, name: c }\nleaf { listen: 3 }\nmqtt { port: 4 }\nws { listen: 'x:5' }\ngateway { name: c, listen: '0.0.0.0:6' }"
    )
    assert drafts.brokers[0].listens == (("h", 1), ("", 2), ("", 6), ("", 3), ("", 4), ("x", 5))
    assert drafts.brokers[0].cluster == "c"


def test_accounts_are_brokers_if_they_have_users_or_take_part() -> None:
    drafts = read(
        "accounts {\n A { users: [{user: u, password: p}] }\n B { }\n"
        " C { exports: [{stream: 'x'}] }\n D { imports: [{stream: {account: C, subject: x}}] }\n"
        " SYS { users: [{user: s, password: p}] }\n}\nsystem_account: SYS\n"
    )
    assert [(one.name, one.space) for one in drafts.brokers] == [
        ("A@a", "A"),
        ("D@a", "D"),
        ("C@a", "C"),
    ]
    assert [one.space for one in read("accounts { B { } }").brokers] == [""]
    both = read("accounts { A { users: [{user: u}] } }\nauthorization { users: [{user: v}] }")
    assert [one.name for one in both.brokers] == ["a", "A@a"]


@pytest.mark.parametrize(
    "name", ["_ops", "-ops", ".x", "team--a", "\u00fcbung", "$SYS", "none", "a b"]
)
def test_accounts_may_have_any_name(name: Any) -> None:
    text = f"system_account: S\naccounts {{ S {{ }}, '{name}' {{ users: [{{user: u}}] }} }}"
    found, _ = joined(a=text)
    assert [one.space for one in found.brokers.values()] == [name]
    assert not list(check(found))


def test_an_export_to_an_empty_list_is_to_all(tmp_path: Path) -> None:
    text = "accounts { A { exports: [{service: a.x, accounts: []}] }\n"
    text += "B { imports: [{service: {account: A, subject: a.x}}] } }"
    assert accepted(text, tmp_path)[0]
    drafts = read(text)
    assert not drafts.faults
    assert [one.at for one in drafts.bridges] == ["B@a"]


# --- routes and gateways ------------------------------------------------------------------------


def test_each_route_is_a_bridge_and_its_user_is_nowhere() -> None:
    drafts = read(
        "cluster {\n name: c\n port: 6222\n routes = [\n  nats-route://me:geheim@b:6222\n  'tls://c.example.net:6333'\n ]\n}\n"
    )
    assert drafts.bridges == [
        BridgeDraft(
            at="a", far=(at(host, port, line, secure, "route"),), name="route", kind="route",
            where=Where("a.conf", line), direction="both", choice="any",
            lines={"addresses": Where("a.conf", line)},
        )
        for host, port, line, secure in (("b", 6222, 5, False), ("c.example.net", 6333, 6, True))
    ]  # fmt: skip
    assert drafts.topics[0].publishers == (("a", None),)
    assert "geheim" not in repr(drafts)


def test_gateways_without_the_own_one_are_bridges() -> None:
    drafts = read(
        "gateway {\n name: A\n port: 7222\n tls { }\n gateways: [\n  {name: A, url: nats://a:7222}\n"
        "  {name: B, urls: [nats://b1:7222, nats://b2:7222]}\n ]\n}\n"
    )
    assert drafts.bridges == [
        BridgeDraft(
            at="a", name="B",
            far=(at("b1", 7222, 7, True, "gateway"), at("b2", 7222, 7, True, "gateway")),
            kind="gateway", where=Where("a.conf", 7), direction="both", choice="any",
            lines={"addresses": Where("a.conf", 7)},
        )
    ]  # fmt: skip
    assert drafts.brokers[0].cluster == "A"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cluster { routes: [nats://b:6222] }", "no port"),
        ("cluster { port: 1, routes: [nats://b:6222] }", "has no name"),
        ("cluster { name: c, port: 1, routes: [nats://b] }", "nats://b:6222"),
        ("cluster { name: c, port: 1, routes: ['b:6222'] }", "never connects"),
        ("cluster { name: c, port: 1 }\ngateway { name: d, port: 2 }", "differ in name"),
        ("gateway { name: d }", "gateway has no port"),
        ("gateway { port: 2 }", "gateway has no name"),
        ("gateway { name: d, port: 2, gateways: [{name: e}] }", "no URL"),
        ("gateway { name: d, port: 2, gateways: [{name: e, url: nats://h}] }", "nats://h:7222"),
        ("gateway { name: d, port: 2, gateways: [{name: e, url: nats://h:1}, {name: e, url: nats://i:1}] }", "only the last"),
        ("leafnodes { }", "7422 is no default"),
        ("leafnodes { remotes: [{urls: [nats://a:1, nats://b:1]}] }", "at random"),
        ("leafnodes { remotes: [{url: nats://a:4222}] }", "port for clients"),
        ("leafnodes { remotes: [{urls: [nats://a:1, ws://b:1], no_randomize: yes}] }", "WebSocket"),
        ("leafnodes { remotes: [{url: nats://a:1, account: X}] }", "no account X"),
        ("leafnodes { port: 1, authorization { account: X } }", "no account X"),
        ("leafnodes { remotes: [{url: 'nats://$HOST:1'}] }", "whole value"),
        ("cluster { name: c, port: 1, advertise: '$HOST:1' }", "whole value"),
        ("client_advertise: '$HOST:1'", "whole value"),
        ("cluster { name: c, port: 1, routes: [nats://h:1] }\nleaf { remotes: [{url: nats://h:2}] }", "loop"),
        ("system_account: X", "no account X"),
        ("no_auth_user: x", "no_auth_user"),
        ("no_auth_user: x\nauthorization { user: x }", "none of the users"),
        ("no_auth_user: x\naccounts { A { users: [{user: y}] } }", "none of the users"),
        ("authorization { foo: 1, token: x }", "foo is no setting"),
        ("system_account: $SYS", "write '$SYS'"),
        ("websocket { port: 1 }", "no_tls: true"),
        ("jetstream { domain: a.b }", "domain a.b"),
        ("jetstream { max_memory: 1G }", "max_memory is no setting"),
        ("listen: 1\nport: 2", "left to chance"),
        ("accounts { A { exports: [{stream: x}] }, B { imports: [{stream: {account: A, subject: x}, prefix: p, to: q}] } }", "by chance"),
        ("port: 1\nPort: 1", "same setting"),
        ("jetstream { max_mem: 1, max_memory_store: 2 }", "same setting"),
        ("leafnodes { remotes: [{url: 'nats://h:99999'}] }", "never connects"),
        ("leafnodes { remotes: [{urls: []}] }", "has no URL"),
        ("leafnodes { remotes: [{account: A}] }\naccounts { A { } }", "has no URL"),
        ("port: 70000", "no such port"),
        ("listen: '0.0.0.0:70000'", "no such port"),
        ("leafnodes { port: 70000 }", "no such port"),
        ("gateway { name: d, port: 2, gateways: [{url: nats://h:1}] }", "this gateway has no name"),
        ("gateway { name: d, port: 2 }\nleafnodes { port: 3 }", "system account"),
        ("server_name: x\nmqtt { port: 3 }", "mqtt needs JetStream"),
        ("mqtt { port: 3 }\njetstream { enabled: false }", "mqtt needs JetStream"),
    ],
)  # fmt: skip
def test_what_the_server_does_otherwise_is_told(text: Any, words: Any) -> None:
    drafts = read(text)
    assert not drafts.faults
    assert any(words in one for one in told(drafts, "C020")), drafts.findings


# --- leaf nodes --------------------------------------------------------------------------------


def leaf(line: Any, **fields: Any) -> Any:
    fields = {
        "far": (at("h", 7422, line),),
        "name": "h",
        "direction": "both",
        "choice": "any",
        **fields,
    }
    return BridgeDraft(
        at=fields.pop("at", "a"), kind="leaf", where=Where("a.conf", line),
        lines={"addresses": Where("a.conf", line)}, **fields,
    )  # fmt: skip


def test_a_leaf_node_is_a_bridge_of_the_global_account() -> None:
    drafts = read("leafnodes {\n remotes = [ {url: nats-leaf://u:geheim@h} ]\n}\n")
    assert drafts.bridges == [leaf(2)]
    assert "depends on the user" in told(drafts, "C010")[0]
    assert "geheim" not in repr(drafts)


def test_what_is_denied_makes_two_ways() -> None:
    drafts = read(
        "leafnodes {\n remotes = [ {url: 'nats://h:7422', account: A, deny_exports: [a.>, b], deny_import: 'c.*.d'} ]\n}\n"
        "accounts { A { } }\n"
    )
    assert drafts.bridges == [
        leaf(2, at="A@a", direction="out", excepts=("a/+/#", "b")),
        leaf(2, at="A@a", direction="in", excepts=("c/+/d",)),
    ]
    one_way = read("leaf { remotes: [{url: nats://h, deny_imports: '>'}] }")
    assert [(one.direction, one.excepts) for one in one_way.bridges] == [("out", ())]
    same = read("leaf { remotes: [{url: nats://h, deny_imports: x, deny_exports: x}] }")
    assert [(one.direction, one.excepts) for one in same.bridges] == [("both", ("x",))]


def test_urls_in_their_order_are_taken_one_after_the_other() -> None:
    drafts = read(
        "leaf { remotes: [\n{urls: [nats://h:7422, nats://i:7422], no_randomize: true}] }"
    )
    assert drafts.bridges == [leaf(2, far=(at("h", 7422, 2), at("i", 7422, 2)), choice="next")]
    drafts = read("leaf { remotes: [{urls: [nats://h, nats://i]}] }")
    assert {one.severity for one in drafts.findings} == {"note"}


def test_a_disabled_leaf_node_and_one_of_the_system_are_none() -> None:
    drafts = read(
        "leaf { remotes: [{url: nats://h, disabled: true}, {url: nats://h, account: $SYS}] }"
    )
    text = 'leaf { remotes: [{url: nats://h, disabled: true}, {url: nats://h, account: "$SYS"}] }'
    drafts = read(text)
    assert not drafts.bridges
    assert len(told(drafts, "C010")) == 2


def joined(**texts: str) -> tuple[Federation, Drafts]:
    """Files of servers, each called as the parameter."""
    drafts = Drafts()
    for name, text in texts.items():
        read_nats(text, f"{name}.conf", name, drafts, include=lambda _: None)
    return join("f", drafts).federation, drafts


def ways(federation: Federation, kind: str) -> set[tuple[str, ...]]:
    return {(one.from_, one.to, *one.addresses) for one in federation.bridges if one.kind == kind}


def cluster(name: str, port: int, *routes: int) -> str:
    there = ", ".join(f"'nats://127.0.0.1:{one}'" for one in routes)
    return f"cluster {{ name: {name}, port: {port}, routes: [{there}] }}\n"


def gateway(name: str, port: int, more: str = "", **far: str) -> str:
    there = ", ".join(f"{{name: {one}, urls: [{urls}]}}" for one, urls in far.items())
    return f"gateway {{ name: {name}, port: {port}, gateways: [{there}]\n{more} }}\n"


def test_a_servers_own_address_among_its_routes_is_no_other_server() -> None:
    two, drafts = joined(a=cluster("c", 6221, 6221, 6222), b=cluster("c", 6222, 6221, 6222))
    assert ways(two, "route") == {("a", "b")}
    assert not told(drafts, "C011") + told(drafts, "C012")


def test_ports_of_one_machine_are_servers_of_their_own() -> None:
    found, _ = joined(a=cluster("c", 6221, 6229), b=cluster("d", 6231, 6239))
    assert ways(found, "route") == {("a", "127.0.0.1_6229"), ("b", "127.0.0.1_6239")}
    far, _ = joined(a="cluster { name: c, port: 1, routes: ['nats://h:6', 'nats://h:7'] }")
    assert set(far.brokers) == {"a", "h", "h_7"}


def test_a_leaf_node_of_the_same_machine_is_of_no_loop() -> None:
    drafts = read(cluster("c", 6221, 6222) + "leaf { remotes: [{url: 'nats://127.0.0.1:7422'}] }")
    assert not told(drafts, "C020")


def test_clusters_learn_of_each_other_by_way_of_a_third() -> None:
    middle = gateway("b", 7222, a="'nats://127.0.0.1:7221'", c="'nats://127.0.0.1:7223'")
    found, _ = joined(a=gateway("a", 7221), b=middle, c=gateway("c", 7223))
    assert len(ways(found, "gateway")) == 6
    shut = "reject_unknown_cluster: true"
    found, _ = joined(a=gateway("a", 7221, shut), b=middle, c=gateway("c", 7223))
    assert ways(found, "gateway") == {("b", "c"), ("c", "b")}
    known = gateway("a", 7221, shut, b="'nats://127.0.0.1:7222'")
    found, _ = joined(a=known, b=middle, c=gateway("c", 7223))
    assert len(ways(found, "gateway")) == 4


def test_all_addresses_of_a_gateway_are_of_one_cluster() -> None:
    found, _ = joined(a=gateway("a", 7221, b="'nats://h:7222', 'nats://i:7222'"))
    assert ways(found, "gateway") == {("a", "h", "i"), ("h", "a"), ("i", "a")}


def test_routes_are_for_no_account_of_their_own() -> None:
    def users(name: str) -> str:
        return f"{name} {{ users: [{{user: {name}, password: p}}] }}"

    found, drafts = joined(
        a=cluster("c", 6221, 6222) + f"accounts {{ {users('A')}, {users('B')} }}",
        b=cluster("c", 6222, 6221, 6223) + f"accounts {{ {users('B')}, {users('C')} }}",
        d=cluster("c", 6224, 6221, 6223),
    )
    assert ways(found, "route") >= {("B@a", "B@b")}
    assert "A@b" not in found.brokers
    assert not told(drafts, "C012") + told(drafts, "C020")


def test_other_users_at_one_hub_may_be_of_other_accounts() -> None:
    remotes = "leaf { remotes: [{url: 'nats://h', creds: x}, {url: 'nats://h', creds: y}] }"
    found, drafts = joined(a=remotes)
    assert ways(found, "leaf") == {("a", "h"), ("a", "login-2@h")}
    assert len(told(drafts, "C012")) == 1
    same, _ = joined(a=remotes.replace("y", "x"))
    assert ways(same, "leaf") == {("a", "h")}


LEAFS = (
    "leaf { remotes: [{url: 'nats://a:s3cret@h', account: X}, {url: 'nats://b:s@h', account: Y}] }"
)


@pytest.mark.parametrize(
    ("logins", "expected"),
    [
        ("", {("X@l", "A@h"), ("Y@l", "B@h")}),
        ("authorization { users: [{user: b, account: A}, {user: a, account: B}] }", None),
        ("authorization { user: a, account: B }", {("X@l", "B@h")}),
    ],
)
def test_a_leaf_node_is_of_the_account_that_its_user_is_of(logins: Any, expected: Any) -> None:
    hub = "accounts { A { users: [{user: a}] }, B { users: [{username: b}] } }"
    users = "accounts { X { users: [{user: x}] }, Y { users: [{user: y}] } }"
    found, drafts = joined(h=f"{hub}\nleaf {{ port: 7422, {logins} }}", l=f"{users}\n{LEAFS}")
    assert ways(found, "leaf") == (expected or {("X@l", "B@h"), ("Y@l", "A@h")})
    assert len(told(drafts, "C012")) == logins.count("{ user: a")
    assert "s3cret" not in repr(drafts)


@pytest.mark.parametrize(
    ("users", "said"),
    [(True, "no_auth_user: x\nleaf { port: 7422 }"), (False, "leaf { port: 7422, authorization { account: X } }")],
)  # fmt: skip
def test_a_leaf_node_that_does_not_log_in_has_the_account_of_no_user(users: Any, said: Any) -> None:
    hub = "accounts { A { users: [{user: a}] }, X { users: [{user: x}] } }\n"
    hub = hub if users else "accounts { A { }, X { } }\n"
    found, drafts = joined(h=hub + said, l="leaf { remotes: [{url: nats://h}] }")
    assert ways(found, "leaf") == {("l", "X@h")}
    assert not told(drafts, "C012")
    found, drafts = joined(h=hub + said, l="leaf { remotes: [{url: nats://h, nkey: S}] }")
    assert len(told(drafts, "C012")) == users


def test_a_leaf_node_of_the_system_is_no_other_user() -> None:
    leafs = (
        "accounts { S { }, X { } }\nsystem_account: S\nleaf { remotes: [\n"
        " {url: nats://s:p@h, account: S}\n {url: nats://x:p@h, account: X} ] }"
    )
    found, drafts = joined(l=leafs)
    assert ways(found, "leaf") == {("X@l", "h")}
    assert not told(drafts, "C012")


def test_users_at_a_hub_whose_accounts_are_kept_elsewhere_are_of_others() -> None:
    hub = "port: 1\noperator: x.jwt\nresolver: MEMORY\nleaf { port: 7422 }"
    remotes = "{url: 'nats://h', account: A, creds: x}, {url: 'nats://h', account: B, creds: y}"
    found, drafts = joined(h=hub, l=f"operator: x.jwt\nleaf {{ remotes: [{remotes}] }}")
    assert ways(found, "leaf") == {("A@l", "h"), ("B@l", "login-2@h")}
    assert (len(told(drafts, "C012")), told(drafts, "C020")) == (1, [])


def test_users_outside_accounts_are_of_the_global_one() -> None:
    hub = "accounts { A { users: [{user: a}] } }\nauthorization { users: [{user: b}] }\nleaf { port: 7422 }"
    found, _ = joined(h=hub, l=LEAFS.replace(", account: X", "").replace(", account: Y", ""))
    assert ways(found, "leaf") == {("l", "A@h"), ("l", "h")}


def test_accounts_of_an_included_file_belong_to_each_server(tmp_path: Path) -> None:
    (tmp_path / "all.conf").write_text("server_tags: x\naccounts { A { users: [{user: a}] } }\n")
    for name in ("h", "l"):
        (tmp_path / f"{name}.conf").write_text(f"port: 1\nserver_name: {name}\ninclude all.conf\n")
    brokers = read_native([tmp_path]).federation.brokers
    places = {name: Path(one.written["entry"]).name for name, one in brokers.items()}
    assert places == {"A@h": "h.conf:2", "A@l": "l.conf:2"}


def test_servers_that_nothing_joins_promise_nothing() -> None:
    found, _ = joined(a="port: 1", b="port: 2\ncluster { name: c, port: 3 }")
    assert [one.subscribers for one in found.topics.values()] == [()]


def test_with_a_callout_clients_are_in_any_account() -> None:
    drafts = read(
        "accounts { AUTH { users: [{user: u}] }, APP { }, SYS { } }\nsystem_account: SYS\n"
        "authorization { auth_callout { issuer: x, users: [u], account: AUTH } }"
    )
    assert [one.name for one in drafts.brokers] == ["AUTH@a", "APP@a"]


def test_parts_of_a_configuration_are_no_servers() -> None:
    drafts = read("users = [ {user: a, password: b} ]\n")
    assert not drafts.brokers + drafts.faults
    assert "passed over" in told(drafts, "C013")[0]
    assert not read("listen_addresses: x, port: 5432, wal_level: y, ssl: off").brokers


SCRIPT = "#!/bin/sh\ncat <<EOF > nats.conf\nport: 4222\nleafnodes { port: 7422 }\nEOF\n"
COMPOSE = "services:\n  nats:\n    image: nats\n    command: -c /nats.conf\n"
VALUES = "nats:\n  image: nats:alpine\nmqtt:\n  enabled: true\ncluster:\n  enabled: false\n"


def test_files_that_only_hold_or_make_configurations_stop_no_folder(tmp_path: Path) -> None:
    (tmp_path / "hub.conf").write_text("port: 4222\nleafnodes { port: 7422 }\n")
    for name, text in (("run.sh", SCRIPT), ("compose.yaml", COMPOSE), ("values.yaml", VALUES)):
        (tmp_path / name).write_text(text)
    (tmp_path / "more.yaml").write_text("cluster:\n  enabled: true\nmqtt:\n  enabled: true\n")
    found = read_native([tmp_path])
    assert set(found.federation.brokers) == {"hub"}
    told = [str(one) for one in found.findings if one.code == "C013"]
    assert sum("1 file that looks like no broker's" in one for one in told) == 1
    for name, what in (
        ("run.sh", "a script"),
        ("compose.yaml", "Compose"),
        ("values.yaml", "Helm"),
    ):
        assert any(name in one and what in one for one in told)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("run.sh", SCRIPT, "it is a script: save each"),
        ("compose.yaml", COMPOSE, "that it mounts"),
        ("values.yaml", VALUES, "helm template"),
        ("README.md", "# Hub\n```\nport: 4222\n```\n", "text for people: save each"),
    ],
)
def test_named_alone_they_are_refused_with_what_to_do(
    ropewalk: Run, tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    ran = ropewalk("read", str(tmp_path / name), "-o", str(tmp_path / "out.yaml"))
    assert (ran.code, words in ran.out) == (2, True), ran.out


def test_flat_yaml_may_be_a_servers_configuration(tmp_path: Path) -> None:
    (tmp_path / "hub.yaml").write_text("port: 4222\nleafnodes: {port: 7422}\n")
    assert set(read_native([tmp_path / "hub.yaml"]).federation.brokers) == {"hub"}


def test_included_files_are_no_servers_however_they_are_included(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text("port: 1\nauthorization { include 'b.conf' } # the users\n")
    (tmp_path / "b.conf").write_text("users: [{user: a, password: b}]\ntimeout: 1\nport: 2\n")
    (tmp_path / "site.conf").write_text("server {\n listen 80;\n location / {\n }\n}\n")
    assert set(read_native([tmp_path]).federation.brokers) == {"a"}


# --- imports -----------------------------------------------------------------------------------


def test_imports_are_bridges_between_accounts() -> Any:
    drafts = read(
        "accounts {\n A { exports: [ {stream: 'a.>'}, {service: 'q.>', accounts: [B]} ] }\n"
        " B { imports: [\n"
        "  {stream: {account: A, subject: 'a.b.>'}, prefix: acme}\n"
        "  {stream: {account: A, subject: 'a.c.*'}, to: 'x.$1'}\n"
        "  {stream: {account: A, subject: 'a.d'}}\n"
        "  {service: {account: A, subject: 'q.t'}, to: 'ask.t'}\n"
        "  {stream: {account: A, subject: 'a.e'}, to: 'z.w'}\n"
        " ] }\n}\n"
    )

    def wanted(line: Any, kind: Any, local: Any, remote: Any, pattern: Any) -> Any:
        return BridgeDraft(
            at="B@a", far="A@a", name=f"{kind}_A", kind="import", where=Where("a.conf", line),
            patterns=(pattern,), direction="in" if kind == "stream" else "out", local=local, remote=remote,
        )  # fmt: skip

    assert drafts.bridges == [
        wanted(4, "stream", "acme/", "", "a/b/+/#"),
        wanted(5, "stream", "x/", "a/c/", "+"),
        wanted(6, "stream", "", "", "a/d"),
        wanted(7, "service", "ask/", "q/", "t"),
    ]
    assert "beginnings cannot say it" in told(drafts, "C010")[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("accounts { B { imports: [{stream: {account: A, subject: x}}] } }", "which there is not"),
        ("accounts { A { exports: [{stream: y}] }, B { imports: [{stream: {account: A, subject: x}}] } }", "exports no stream 'x'"),
        ("accounts { A { exports: [{stream: x, accounts: [C]}] }, B { imports: [{stream: {account: A, subject: x}}] }, C {} }", "to B"),
        ("accounts { '$G' { } }", "global account"),
        ("accounts { A: 5 }", "not a map"),
        ("cluster: 5", "cluster is not a map"),
        ("cluster { routes: nats://b:1 }", "routes is not a list"),
        ("listen: localhost", "HOST:PORT"),
        ("port: abc", "port is not a number"),
        ("leafnodes { remotes: [ 5 ] }", "remotes is not a list of maps"),
        ("gateway { gateways: {} }", "gateways is not a list of maps"),
        ("leafnodes { remotes: [{url: 5}] }", "url is not a list of texts"),
        ("gateway { name: A, port: 1, gateways: [{name: A, url: [nats://h:1]}] }", "url is not a text"),
        ("accounts { A { exports: [{stream: x, accounts: [B]}] } }", "account B, which there is not"),
        ("accounts { A { users: [{user: u}] }, B { users: [{user: u}] } }", "name of its own"),
        ("authorization { users: [{user: u}, {user: u}] }", "name of its own"),
        ("authorization { token: t }, accounts { A { users: [{user: u}] } }", "token of authorization"),
        ("debug: 1", "debug is not true or false"),
        ("max_payload: '1MB'", "max_payload is not a number"),
        ("websocket { port: 1, no_tls: 'true' }", "no_tls is not true or false"),
        ("leafnodes { remotes: [{url: 'nats://${HOST}:1'}] }", "is a template"),
        ("leafnodes { remotes: [{url: '${URL:-nats://h:1}'}] }", "is a template"),
        ("cluster { name: c, port: 1, routes: ['nats-route://global.{APP}.internal:4248'] }", "is a template"),
        ("leafnodes { remotes: [{url: 'nats://a b:1'}] }", "the server refuses this file"),
        ("gateway { name: c, port: 1, gateways: [{name: d, url: 'nats://h:foo'}] }", "the server refuses this file"),
        ("leafnodes { remotes: [{url: '1.2.3.4:7422'}] }", "the server refuses this file"),
        ("leafnodes { remotes: [{url: nats://h:1}, {url: nats://h:1, deny_imports: x}] }", "duplicate remote"),
        ("leafnodes { remotes: [{urls: [nats://h:1, nats://h:1]}] }", "twice"),
        ("cluster { name: c, port: 1, routes: [nats://h:1, nats://h:1] }", "twice"),
        ("gateway { name: c, port: 1, gateways: [{name: d, urls: [nats://h:1, nats://h:1]}] }", "twice"),
        ("server_name: 'a b'", "without spaces"),
        ("cluster { name: 'a b', port: 1 }", "without spaces"),
        ("gateway { name: 'a b', port: 1 }", "without spaces"),
        ("leafnodes { remotes: [{url: nats://h:1, deny_imports: 'a..b'}] }", "no subject"),
        ("leafnodes { remotes: [{url: nats://h:1, deny_exports: ['a.>.b']}] }", "no subject"),
        ("accounts { A { exports: [{service: y}] }, B { imports: [{service: {account: A, subject: y}, to: 'y.'}] } }", "no subject"),
        ("accounts { A { exports: [{service: '*'}] }, B { imports: [{service: {account: A, subject: y}, to: t}, {service: {account: A, subject: z}, to: t}] } }", "same name here"),
        ("accounts { A { exports: [{stream: y, service: y}] } }", "write two exports"),
        ("accounts { A { users: [{usr: a}] } }", "a user has no name"),
        ("authorization { users: [{usr: a}] }", "a user has no name"),
        ("lame_duck_duration: 20s", "at least 30s"),
        ("write_deadline: '10'", "with its unit"),
        ("cluster { name: c, port: 1, ping_interval: '10' }", "with its unit"),
        ("jetstream: maybe", "enabled or disabled"),
        ("jetstream: 1", "enabled or disabled"),
        ("jetstream { max_mem: 1ZB }", "such as 10G"),
        ("jetstream { max_file: '10GB' }", "such as 10G"),
        ("accounts { A { exports: [{service: a}], imports: [{service: {account: B, subject: b}, to: a}] }, B { exports: [{service: b}], imports: [{service: {account: A, subject: a}, to: b}] } }", "circle of imports: B > A > B"),
        ("accounts { A { exports: [{stream: 'a.>'}], imports: [{stream: {account: B, subject: 'b.>'}, prefix: a}] }, B { exports: [{stream: 'b.>'}], imports: [{stream: {account: A, subject: 'a.>'}, prefix: b}] } }", "circle of imports"),
    ],
)  # fmt: skip
def test_what_the_server_refuses_is_a_fault(text: Any, words: Any, tmp_path: Path) -> None:
    assert not accepted(text, tmp_path)[0]
    faults = read(text).faults
    assert len(faults) == 1
    assert faults[0].code == "C005"
    assert faults[0].where.line == 1
    assert words in faults[0].message


@pytest.mark.parametrize(
    "text",
    [
        "proxy_protocol: true",
        "no_auth_user: u\naccounts { A { users: [{user: u, password: p}] } }",
        "authorization { P = { publish: x }, users: [{user: u, password: p, permissions: $P}] }",
        "websocket { port: 1, no_tls: true, same_origin: false }",
        "jetstream { domain: a-b, max_mem: '1G', unique_tag: x }",
        "max_payload: 8MB\nmax_pending: 64MiB\nmax_connections: 64K\nping_max: 3",
        "accounts { A { exports: [{stream: x, accounts: [B]}] }, B { } }",
        "leafnodes { remotes: [{url: nats://h:1}, {url: nats://h:1, account: A}] }\naccounts { A {} }",
        "accounts { A { exports: [{service: y}] }, C { exports: [{service: y}] }, B { imports: [{service: {account: A, subject: y}}, {service: {account: C, subject: y}}] } }",
        "accounts { A { exports: [{stream: 'a.>'}], imports: [{stream: {account: B, subject: b.x}}] }, B { exports: [{stream: 'b.>'}], imports: [{stream: {account: A, subject: a.x}}] } }",
        "accounts { A { exports: [{service: a}], imports: [{stream: {account: B, subject: a}}] }, B { exports: [{stream: a}], imports: [{service: {account: A, subject: a}}] } }",
        "jetstream: enabled\nmqtt { port: 1 }\nlame_duck_duration: 1m30s\nwrite_deadline: '10s'",
        "jetstream { max_mem: '1G', max_file: 10GB }",
        "leafnodes { remotes: [{url: 'nats://h<i>:1'}] }",
        "gateway { name: d, port: 2 }\nleafnodes { port: 3 }\nsystem_account: S\naccounts { S { } }",
    ],
)
def test_nothing_is_said_of_what_the_server_takes(text: Any, tmp_path: Path) -> None:
    assert accepted(text, tmp_path)[0]
    assert {one.severity for one in read(text).findings} <= {"note"}


def test_settings_that_are_not_known_are_told_and_variables_are_not() -> None:
    drafts = read(
        "foo: 1\nX: 5\nport: $X\ncluster { bar: 1 }\nleafnodes { remotes: [{url: nats://h, baz: 1}] }"
    )
    found = [one for one in told(drafts, "C020") if "no setting of nats-server" in one]
    assert [one.split()[2] for one in found] == ["bar", "baz", "foo"]
    assert all("does not start" in one for one in found)


SECRET = "GeHeIm"


def test_no_secret_is_in_drafts_or_findings() -> None:
    drafts = read(
        f"authorization {{ user: {SECRET}, password: {SECRET}, token: {SECRET} }}\n"
        f"cluster {{ name: c, port: 1, authorization {{ user: {SECRET} }}, routes: ['nats://{SECRET}:{SECRET}@h', 'nats:/{SECRET}@x'] }}\n"
        f"gateway {{ name: c, port: 2, gateways: [{{name: b, url: 'nats://{SECRET}@h:x'}}] }}\n"
        f"leafnodes {{ port: 3, authorization {{ users: [{{user: {SECRET}, password: {SECRET}}}] }}\n"
        f" remotes: [{{url: 'nats://{SECRET}:{SECRET}@h:1', nkey: {SECRET}, proxy {{ url: {SECRET}, password: {SECRET} }} }}] }}\n"
        f"jetstream {{ key: {SECRET} }}\nresolver_preload {{ A: {SECRET} }}\n"
        f"mqtt {{ port: 5, authorization {{ password: {SECRET} }} }}\n"
    )
    assert len(drafts.findings) > 8
    assert SECRET not in repr(drafts)


# --- written again ------------------------------------------------------------------------------


def files_of(folder: Any) -> Any:
    return sorted(one for one in folder.glob("*.conf") if one.stem != "passwords")


@pytest.mark.parametrize("path", files_of(EXAMPLES / "one-hub") + files_of(EXAMPLES / "good") + files_of(EXAMPLES / "gateways") + files_of(EXAMPLES / "accounts"), ids=str)  # fmt: skip
def test_examples_are_accepted_by_the_server_and_read_without_warnings(path: Any) -> None:
    done = subprocess.run([SERVER, "-t", "-c", path], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    drafts = Drafts()
    beside = {f"./{one.name}": one.read_text() for one in path.parent.iterdir()}
    read_nats(path.read_text(), path.name, path.stem, drafts, include=beside.get)
    assert {one.severity for one in drafts.findings} <= {"note"}
    assert not [one for one in drafts.findings if one.code != "C010"]


def plain(drafts: Any, host: Any = "a") -> Any:
    """Drafts without their places."""
    nowhere = Where("")
    brokers = [replace(one, where=nowhere) for one in drafts.brokers]
    bridges = [
        replace(
            one, where=nowhere, lines={},
            far=one.far if isinstance(one.far, str) else tuple(replace(far, where=nowhere) for far in one.far),
        )
        for one in drafts.bridges
    ]  # fmt: skip
    return sorted(map(repr, brokers)), sorted(map(repr, bridges))


WHOLE = """
server_name: n1
listen: 0.0.0.0:4222
X: "nats://me:pw@h2.example.net:6222"
cluster { name: c1, listen: 6222, routes: [ nats://me:pw@h1.example.net:6222, $X ], pool_size: -1 }
gateway { name: c1, port: 7222, gateways [ { name: c1, url: nats://h1:7222 }, {name: c2, urls: [nats://u:p@g2a:7222, nats://g2b:7222]} ] }
leafnodes { port: 7422
  remotes: [ { urls: ["nats-leaf://a:b@x.example.net", "nats-leaf://y.example.net:7423"], account: A, deny_exports: ["secret.>"], deny_import: foo.* }
   { url: tls://z.example.net:7422, creds: "a.creds", account: A }, {url: $HUB} ] }
accounts { A { users: [ {user: u, password: geheim} ], exports: [ {stream: "a.>"}, {service: "q.*", accounts: [B]} ] }
 B { imports: [ {stream: {account: A, subject: "a.b.>"}, prefix: acme}, {service: {account: A, subject: "q.x"}, to: "ask.x"}, {stream: {account: A, subject: "a.q"}, to: "z.w"} ] }
 SYS { users: [ {user: s, password: t} ] } }
system_account: SYS
jetstream { domain: hub, store_dir: "/x" }
max_payload: 2MB
"""


def test_what_is_read_and_written_says_the_same(tmp_path: Path) -> None:
    first = read(WHOLE)
    federation = join("f", first).federation
    text, tells = write_nats(federation, "a", WHOLE)
    assert plain(read(text)) == plain(read(WHOLE))
    assert accepted(text.replace("$HUB", '"nats://hub:7422"'), tmp_path)[0]
    for kept in ("nats://me:pw@h1.example.net:6222", "a.creds", "geheim", "max_payload: 2097152"):
        assert kept in text
    assert tells == []


def test_what_is_written_anew_is_accepted(tmp_path: Path) -> None:
    federation = join("f", read(WHOLE)).federation
    text, tells = write_nats(federation, "a", None)
    good, why = accepted(text, tmp_path)
    assert good, why
    assert plain(read(text))[1] == plain(read(WHOLE))[1]
    assert any("cannot log in" in one for one in tells)


def bridge(**fields: Any) -> Any:
    return Bridge(
        **{"from_": "a", "to": "b", "name": "x", "kind": "leaf", "direction": "both", **fields}
    )


def written(*bridges: Any, **brokers: Any) -> Any:
    federation = Federation(
        name="f",
        brokers={
            "a": Broker(url="nats://a.example.net:4222", **brokers),
            "b": Broker(url="nats://b.example.net:4222"),
            "c": Broker(url="nats://c.example.net:4222"),
        },
        bridges=bridges,
    )
    return write_nats(federation, "a", None), write_nats(federation, "b", None)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"patterns": ("a/#",)}, "not denied"),
        ({"prefixes": Prefixes(local="x/")}, "rename"),
        ({"max_hops": 2}, "2 hops"),
        ({"kind": "bridge"}, "of kind bridge"),
        ({"addresses": ("c",), "choice": "first"}, "does not return"),
    ],
)
def test_what_cannot_be_said_is_told(fields: Any, words: Any) -> None:
    (_, tells), _ = written(bridge(**fields))
    assert any(words in one for one in tells), tells


def test_a_leaf_node_is_written_with_its_order_and_the_hub_listens(tmp_path: Path) -> None:
    one = bridge(addresses=("c",), choice="next", direction="out", except_=("a/#", "b/+/#"))
    (site, tells), (hub, _) = written(one)
    assert 'urls: ["nats://b.example.net:7422", "nats://c.example.net:7422"]' in site
    assert "no_randomize: true" in site
    assert 'deny_exports: ["a", "a.>", "b.>"]' in site
    assert 'deny_imports: [">"]' in site
    assert 'listen: "0.0.0.0:7422"' in hub
    assert not tells
    assert accepted(site, tmp_path)[0]
    assert accepted(hub, tmp_path)[0]


def shown_change(ropewalk: Run, path: Path) -> str:
    ran = ropewalk("export", str(path), "--diff")
    assert ran.code == 0, ran.err
    return ran.out


UNCHANGED = "Nothing changes in the files.\nRead again, the files mean what the federation says.\n"


def test_included_files_are_read_again_and_written_beside(ropewalk: Run, tmp_path: Path) -> None:
    sites = tmp_path / "sites"
    sites.mkdir()
    (sites / "users.conf").write_text("accounts { A { users: [{user: a, password: p}] } }\n")
    (sites / "h.conf").write_text("port: 4222\nleaf { port: 7422 }\ninclude ./users.conf\n")
    remote = "leaf { remotes: [{url: 'nats://a:p@127.0.0.1:7422', account: A}] }"
    (sites / "l.conf").write_text(f"port: 4223\n{remote}\ninclude ./users.conf\n")
    assert shown_change(ropewalk, sites) == UNCHANGED
    assert ropewalk("read", str(sites), "-o", str(tmp_path / "kept.yaml")).code == 0
    assert shown_change(ropewalk, tmp_path / "kept.yaml") == UNCHANGED
    assert ropewalk("export", str(sites), "-o", str(tmp_path / "new")).code == 0
    new = [tmp_path / "new" / name / "nats.conf" for name in ("h", "l")]
    assert all(accepted_as_it_is(one) for one in new)


def accepted_as_it_is(path: Path) -> bool:
    return (
        subprocess.run([SERVER, "-t", "-c", path], capture_output=True, timeout=20).returncode == 0
    )


def test_what_a_changed_file_includes_stands_in_it() -> None:
    federation = Federation(name="f", brokers={"a": Broker(url="nats://a:4222")})
    parts = {"u.conf": "authorization { user: x, password: p }"}
    text, tells = write_nats(federation, "a", "port: 4222\ninclude u.conf\n", parts=parts)
    assert 'user: "x"' in text
    assert any("in this file itself" in one for one in tells)


def test_servers_that_are_only_heard_of_have_no_file(ropewalk: Run, tmp_path: Path) -> None:
    far = gateway("c", 7222, d="'nats://h4:7222', 'nats://h5:7222'")
    routes = "cluster { name: c, port: 6222, routes: ['nats://h2:6222', 'nats://h3:6222'] }\n"
    (tmp_path / "h1.conf").write_text(f"port: 4222\n{routes}{far}")
    assert shown_change(ropewalk, tmp_path / "h1.conf") == UNCHANGED


def test_hubs_that_only_an_included_file_names_have_no_file(ropewalk: Run, tmp_path: Path) -> None:
    (tmp_path / "far.conf").write_text("leaf { remotes: [{url: 'nats://hub'}] }\n")
    (tmp_path / "a.conf").write_text("port: 4222\ninclude far.conf\n")
    assert shown_change(ropewalk, tmp_path) == UNCHANGED


def test_logins_at_a_hub_without_a_file_are_read_again(ropewalk: Run, tmp_path: Path) -> None:
    remotes = "{url: 'nats://hub:7422', creds: x}, {url: 'nats://hub:7422', creds: y}"
    (tmp_path / "a.conf").write_text(f"port: 4222\nleaf {{ remotes: [{remotes}] }}\n")
    assert shown_change(ropewalk, tmp_path / "a.conf") == UNCHANGED


@pytest.mark.parametrize("name", ["nats.yaml", "nats.yml"])
def test_flat_settings_may_be_in_a_yaml_file(tmp_path: Path, ropewalk: Run, name: str) -> None:
    (tmp_path / name).write_text(FLAT)
    assert ropewalk("read", str(tmp_path / name), "-o", "-").code == 0
    (tmp_path / name).write_text("port: 4222\nbrokers: {a: {}}\nfederation: x\n")
    assert " F011" in ropewalk("read", str(tmp_path / name), "-o", "-").out


def test_a_gateway_to_another_cluster_means_no_server_of_the_own_one(tmp_path: Path) -> None:
    routes = "nats://n1.east.example:6222, nats://n2.east.example:6222"
    cluster = f"cluster {{name: x, port: 6222, routes: [{routes}]}}\n"
    text = f"server_name: n1\n{cluster}"
    text += gateway("x", 7222, y="'nats://n1.west.example:7222'")
    (tmp_path / "one.conf").write_text(text)
    brokers = read_native([tmp_path]).federation.brokers
    assert set(brokers) == {"one", "n2.east.example", "n1.west.example"}


def test_a_gateway_means_none_of_the_route_peers(tmp_path: Path) -> None:
    cluster = "cluster {port: 6222, routes: [nats://n1:6222]}\n"
    for host in ("n1.west.example", "n1"):
        (tmp_path / "one.conf").write_text(cluster + gateway("x", 7222, y=f"'nats://{host}:7222'"))
        federation = read_native([tmp_path]).federation
        (far,) = {one.to for one in federation.bridges if one.name == "y"}
        assert far == ("n1_7222" if host == "n1" else host)
        assert len(federation.brokers) == 3
