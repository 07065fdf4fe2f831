"""Clusters of NATS with leaf nodes and gateways: what is told of them, real servers do."""

from pathlib import Path

import pytest

from tests.conftest import Run

HUB = "port: 4222\nleafnodes {port: 7422}\n"
ACCOUNTS = """
accounts {SYS {users: [{user: s, password: s}]}, A {users: [{user: a, password: a}]}}
system_account: SYS
"""  # gateways and leaf nodes in one server ask for it


def of_cluster(name: str, *hubs: str) -> str:
    remotes = ", ".join(f"{{url: nats-leaf://{one}:7422}}" for one in hubs)
    return f"""
server_name: {name}
port: 4222
cluster {{name: C, port: 6222, routes: [nats://s1:6222, nats://s2:6222]}}
leafnodes {{remotes: [{remotes}]}}
"""


def with_gateway(name: str, other: str, remotes: str) -> str:
    return f"""
server_name: {name}
port: 4222
cluster {{name: {name}, port: 6222}}
gateway {{name: {name}, port: 7222, gateways: [{{name: {other}, url: nats://{other}:7222}}]}}
leafnodes {{port: 7422, remotes: [{remotes}]}}
{ACCOUNTS}
"""


TWO_HUBS = {
    **{one: of_cluster(one, "h1", "h2") for one in ("s1", "s2")},
    **dict.fromkeys(("h1", "h2"), HUB),
}
ONE_LEAF = {"s1": of_cluster("s1", "h"), "s2": of_cluster("s2"), "h": HUB}
BESIDE_A_GATEWAY = {
    "c": with_gateway("c", "d", "{url: nats-leaf://a:a@d:7422, account: A}"),
    "d": with_gateway("d", "c", ""),
}


@pytest.mark.parametrize(
    ("files", "code", "what"),
    [
        (TWO_HUBS, "V013", "h1 reaches h2 2 times"),
        (ONE_LEAF, "V014", "s1 does not give its hub what came by a route: give s2 a leaf"),
        (BESIDE_A_GATEWAY, "V012", "goes round in a loop"),
    ],
    ids=["two hubs", "one leaf", "beside a gateway"],
)
def test_what_is_told_of_clusters_is_seen_on_real_servers(
    ropewalk: Run, tmp_path: Path, files: dict[str, str], code: str, what: str
) -> None:
    for name, text in files.items():
        (tmp_path / f"{name}.conf").write_text(text)
    asked = ("--failures", "none", "--confirm", "--json")
    told = ropewalk("verify", str(tmp_path), *asked).document
    assert any(one["code"] == code and what in one["message"] for one in told["findings"])
    replayed = told["summary"]["replayed"]
    assert replayed
    assert all(one["confirmed"] for one in replayed), replayed
    assert {one["code"] for one in replayed} == {code}


def test_a_cluster_of_which_each_server_has_its_leaf_connection_is_in_order(
    ropewalk: Run, tmp_path: Path
) -> None:
    """The control: one hub, and two servers of a cluster that each know it."""
    for name, text in {"s1": of_cluster("s1", "h"), "s2": of_cluster("s2", "h"), "h": HUB}.items():
        (tmp_path / f"{name}.conf").write_text(text)
    told = ropewalk("verify", str(tmp_path), "--failures", "none", "--json").document
    assert {one["code"] for one in told["findings"]} <= {"V016"}
