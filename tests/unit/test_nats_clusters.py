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


# --- what the files of both ends show; each was played by hand with nats-server 2.15.1 -------------


def solo(name: str, *more: str) -> str:
    return "\n".join((f"server_name: {name}", "port: 4222", *more))


def routed(cluster: str, *routes: str, more: str = "") -> str:
    listed = ", ".join(f"nats://{one}:6222" for one in routes)
    return f"cluster {{name: {cluster}, port: 6222, routes: [{listed}] {more}}}"


def leaf(*remotes: str, more: str = "") -> str:
    listed = ", ".join(f"{{url: nats://{one}:7422 {more}}}" for one in remotes)
    return f"leafnodes {{remotes: [{listed}]}}"


def gateway(name: str, *far: str, reached: str = "") -> str:
    listed = ", ".join(f"{{name: {one}, url: nats://{reached or one}:7222}}" for one in far)
    return f"gateway {{name: {name}, port: 7222, gateways: [{listed}]}}"


LISTENS = "leafnodes {port: 7422}"
SYSTEM = "accounts {SYS {}}\nsystem_account: SYS"
USERS = "accounts {A {users: [{user: a, password: p}]}}"


def told(ropewalk: Run, folder: Path, files: dict[str, str], *more: str) -> list[tuple[str, str]]:
    for name, text in files.items():
        (folder / f"{name}.conf").write_text(text)
    asked = more or ("--failures", "none")
    found = ropewalk("verify", str(folder), *asked, "--json").document["findings"]
    return [(one["code"], one["message"]) for one in found]


def codes(findings: list[tuple[str, str]]) -> set[str]:
    return {code for code, _ in findings} - {"V016"}


@pytest.mark.parametrize(
    ("files", "where", "what"),
    [
        (
            {"a": solo("a", routed("X", "b")), "b": solo("b", routed("Y"))},
            "route to b",
            "called Y, and this one X",
        ),
        (
            {"a": solo("n", routed("X", "b")), "b": solo("n", routed("X"))},
            "server_name 'n'",
            "duplicate server name",
        ),
        (
            {"a": solo("a", gateway("A", "b")), "b": solo("b", gateway("C"))},
            "gateway to b",
            "called C, and not b",
        ),
        ({"a": solo("a", gateway("A", "b")), "b": solo("b")}, "gateway to b", "has no gateway"),
        ({"h": solo("h", LISTENS, USERS), "l": solo("l", leaf("h"))}, "leaf to h", "for a login"),
        ({"h": solo("h", LISTENS, USERS), "l": solo("l", leaf("u:p@h"))}, "leaf to h", "no such user"),
        (
            {"h": solo("h", LISTENS, "authorization {user: u, password: p}"), "l": solo("l", leaf("h"))},
            "leaf to h",
            "asks for a login",
        ),
        (
            {
                "h": solo("h", "leafnodes {port: 7422, authorization {user: u, password: p}}"),
                "l": solo("l", leaf("h")),
            },
            "leaf to h",
            "asks for a login",
        ),
        (
            {
                "a": solo("a", routed("C", "b")),
                "b": solo("b", routed("C", more=", authorization {user: u, password: p}")),
            },
            "route to b",
            "asks for a login",
        ),
        (
            {"h": solo("h", routed("C"), LISTENS), "l": solo("l", routed("C"), leaf("h"))},
            "leaf to h",
            "remote leafnode has same cluster name",
        ),
    ],
)  # fmt: skip
def test_what_the_other_end_refuses_is_no_bridge(
    ropewalk: Run, tmp_path: Path, files: dict[str, str], where: str, what: str
) -> None:
    findings = told(ropewalk, tmp_path, files)
    assert any(where in one and what in one for code, one in findings if code == "C020"), findings
    read = ropewalk("read", str(tmp_path), "-o", str(tmp_path / "made.yaml"))
    assert read.code == 0
    assert "bridges" not in (tmp_path / "made.yaml").read_text()


@pytest.mark.parametrize(
    ("hub", "login"),
    [
        (USERS, "a:p@h"),
        (USERS + "\nno_auth_user: a", "h"),
        ("authorization {token: t}", "t@h"),
        ("authorization {users: [{user: u, password: $SECRET}]}", "x:p@h"),
        ("accounts {S {users: [{user: s, password: p}]}}\nsystem_account: S", "h"),
    ],
)
def test_a_leaf_node_that_may_be_let_in_is_a_bridge(
    ropewalk: Run, tmp_path: Path, hub: str, login: str
) -> None:
    files = {"h": solo("h", LISTENS, hub), "l": solo("l", leaf(login))}
    assert "C020" not in codes(told(ropewalk, tmp_path, files))


HUB_FLAG = ", hub: true"


@pytest.mark.parametrize(
    ("files", "expected", "what"),
    [
        (
            {
                "h": solo("h", LISTENS),
                "c1": solo("c1", routed("C", "c2"), leaf("h", more=HUB_FLAG)),
                "c2": solo("c2", routed("C", "c1")),
            },
            set(),
            "",
        ),
        (
            {
                "h": solo("h", LISTENS),
                "c1": solo("c1", routed("C", "c2"), leaf("h", more=HUB_FLAG)),
                "c2": solo("c2", routed("C", "c1"), leaf("h", more=HUB_FLAG)),
            },
            {"V018"},
            "h closes a circle",
        ),
        (
            {
                "h": solo("h", routed("HH"), LISTENS),
                "c1": solo("c1", routed("C", "c2"), leaf("h", more=HUB_FLAG)),
                "c2": solo("c2", routed("C", "c1"), leaf("h", more=HUB_FLAG)),
            },
            {"V013"},
            "reaches h 2 times",
        ),
        (
            {
                "l": solo("l", leaf("c1", more=HUB_FLAG)),
                "c1": solo("c1", routed("C", "c2"), LISTENS),
                "c2": solo("c2", routed("C", "c1")),
            },
            {"V014"},
            "from l does not reach c2",
        ),
    ],
    ids=["one", "loop", "copies", "gap"],
)
def test_who_connects_with_hub_true_is_the_hub(
    ropewalk: Run, tmp_path: Path, files: dict[str, str], expected: set[str], what: str
) -> None:
    findings = told(ropewalk, tmp_path, files)
    assert codes(findings) == expected
    assert any(what in one for _, one in findings)
    kept = ropewalk("export", str(tmp_path), "--diff").out
    assert kept.startswith("Nothing changes in the files.\nRead again, the files mean what")


@pytest.mark.parametrize(
    ("hidden", "deaf", "expected"),
    [("", "", "V017"), (", no_advertise: true", "", "V015"), ("", ", ignore_discovered_servers: true", "V015")],
)  # fmt: skip
def test_a_leaf_node_goes_to_the_servers_that_it_hears_of(
    ropewalk: Run, tmp_path: Path, hidden: str, deaf: str, expected: str
) -> None:
    files = {
        "h1": solo("h1", routed("H", "h2")),
        "h2": solo("h2", routed("H", "h1")),
        "l": solo("l", leaf("h1", more=deaf)),
    }
    files |= {one: f"{files[one]}\nleafnodes {{port: 7422 {hidden}}}" for one in ("h1", "h2")}
    found = [
        code
        for code, one in told(ropewalk, tmp_path, files, "--failures", "brokers=1")
        if code in ("V015", "V017") and ("leaf" in one or "h1" in one)
    ]
    assert expected in found
    assert {"V015": "V017", "V017": "V015"}[expected] not in found


def test_a_leaf_node_that_ignores_other_servers_is_cut_off_on_real_servers_too(
    ropewalk: Run, tmp_path: Path
) -> None:
    files = {
        "h1": solo("h1", routed("H", "h2"), LISTENS),
        "h2": solo("h2", routed("H", "h1"), LISTENS),
        "l": solo("l", leaf("h1", more=", ignore_discovered_servers: true")),
    }
    for name, text in files.items():
        (tmp_path / f"{name}.conf").write_text(text)
    played = ropewalk("verify", str(tmp_path), "--confirm", "--json").document["summary"]
    assert [(one["code"], one["confirmed"]) for one in played["replayed"]] == [("V015", True)]
    assert "ignore_discovered_servers" not in str(played)  # what the replay leaves out is told


def test_a_leaf_node_of_two_hubs_that_a_gateway_joins_is_refused_by_one(
    ropewalk: Run, tmp_path: Path
) -> None:
    """Seen as `Loop detected for leafnode account` in three orders of starting."""
    files = {
        "a": solo("a", gateway("A", "B", reached="b"), LISTENS, SYSTEM),
        "b": solo("b", gateway("B", "A", reached="a"), LISTENS, SYSTEM),
        "l": solo("l", leaf("a", "b")),
    }
    findings = told(ropewalk, tmp_path, files)
    assert codes(findings) == {"V018"}
    assert "l closes a circle: l > b > a > l" in findings[0][1]


def test_gateways_do_not_tell_which_leaf_nodes_a_message_came_from(
    ropewalk: Run, tmp_path: Path
) -> None:
    """Servers of one cluster that lead to two hubs: by their route, and by way of both hubs."""
    files = {
        "a": solo("a", gateway("A", "B", reached="b"), LISTENS, SYSTEM),
        "b": solo("b", gateway("B", "A", reached="a"), LISTENS, SYSTEM),
        "l1": solo("l1", routed("L", "l2"), leaf("a")),
        "l2": solo("l2", routed("L", "l1"), leaf("b")),
    }
    findings = told(ropewalk, tmp_path, files)
    assert codes(findings) == {"V013"}
    assert any("l1 reaches l2 2 times" in one for _, one in findings)
    assert any("l2 reaches l1 2 times" in one for _, one in findings)
