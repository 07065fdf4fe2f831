"""Native engines as they were measured on real brokers: copies by cluster, echoes, what is kept.

RabbitMQ's figures are those of four real clusters (3.10.8): a message published at A.
"""

from dataclasses import replace
from itertools import permutations

import pytest

from ropewalk.federation.facts import Bridge, Broker, Federation, Prefixes, Topic
from ropewalk.report.verification import verification_text
from ropewalk.verify import verify
from ropewalk.verify.floods import Floods
from ropewalk.verify.leaf_circles import circle_findings
from ropewalk.verify.result import Verification


def links(text: str, hops: int) -> tuple[Bridge, ...]:
    """`B<A` is a link of downstream B to upstream A."""
    return tuple(
        Bridge(from_=down, to=up, name=up, kind="federation", direction="in", max_hops=hops)
        for down, up in (one.split("<") for one in text.split())
    )


def copies(bridges: tuple[Bridge, ...], source: str = "A", topic: str = "t") -> dict[str, int]:
    """Copies at each broker of a message published at one."""
    names = sorted({end for one in bridges for end in (one.from_, one.to, *one.addresses)})
    federation = Federation(
        name="f",
        brokers={name: Broker(make="rabbitmq") for name in names},
        bridges=bridges,
        topics={topic: Topic(publishers=(source,), subscribers=tuple(names))},
    )
    found = Floods(federation).of(source, topic)
    assert not found.loop
    return {name: found.copies.get((name, topic), 0) for name in names}


RING = "B<A C<B D<C A<D"
TRIANGLE = "B<A A<B C<B B<C A<C C<A"
BOTH_WAYS = "B<A A<B C<B B<C D<C C<D A<D D<A"
MESH = " ".join(f"{a}<{b}" for a, b in permutations("ABCD", 2))


@pytest.mark.parametrize(
    ("ring", "hops", "measured"),
    [
        (RING, 1, "1100"),
        (RING, 2, "1110"),
        (RING, 3, "1111"),
        (RING, 5, "1111"),
        (TRIANGLE, 1, "111"),
        (TRIANGLE, 2, "122"),
        (TRIANGLE, 4, "122"),
        (BOTH_WAYS, 1, "1101"),
        (BOTH_WAYS, 2, "1121"),
        (BOTH_WAYS, 3, "1222"),
        (BOTH_WAYS, 4, "1222"),
        (MESH, 1, "1111"),
        (MESH, 2, "1333"),
        (MESH, 3, "1555"),
        ("B<A A<B C<B B<C", 1, "110"),
        ("B<A A<B C<B B<C", 3, "111"),
    ],
)
def test_federated_exchanges_deliver_as_measured(ring: str, hops: int, measured: str) -> None:
    assert "".join(map(str, copies(links(ring, hops)).values())) == measured


def test_two_upstreams_to_one_exchange_share_its_queue() -> None:
    twice = links("B<A B<A", 1)
    assert copies((twice[0], replace(twice[1], name="other"))) == {"A": 1, "B": 1}


def test_a_shovel_counts_no_hop_and_a_message_remembers_where_it_was() -> None:
    shovel = Bridge(from_="C", to="B", name="s", kind="shovel", direction="in")
    chain = (*links("B<A", 1), shovel, *links("D<C", 1), *links("A<D", 9))
    assert copies(chain) == {"A": 1, "B": 1, "C": 1, "D": 0}  # over the limit after the shovel
    wider = (*links("B<A", 9), shovel, *links("D<C", 9), *links("A<D", 9))
    assert copies(wider) == {"A": 1, "B": 1, "C": 1, "D": 1}  # not back at A


def test_copies_of_a_large_mesh_are_counted_at_least() -> None:
    mesh = " ".join(f"n{a}<n{b}" for a, b in permutations(range(12), 2))
    bridges = links(mesh, 12)
    names = {end for one in bridges for end in (one.from_, one.to)}
    federation = Federation(
        name="f",
        brokers={name: Broker(make="rabbitmq") for name in sorted(names)},
        bridges=bridges,
        topics={"t": Topic(publishers=("n0",), subscribers=("n1",))},
    )
    found = Floods(federation).of("n0", "t")
    assert found.partly
    assert not found.loop
    (told,) = [one for one in verify(federation, failures=[]).findings if one.code == "V013"]
    assert "at least" in told.message


def nats(*bridges: Bridge, clusters: str = "", more: str = "") -> dict[str, int]:
    """Copies at each server of a message published at A."""
    names = sorted({*more, *(end for one in bridges for end in (one.from_, one.to))})
    of = dict(one.split(":") for one in clusters.split())
    federation = Federation(
        name="f",
        brokers={name: Broker(cluster=of.get(name)) for name in names},
        bridges=bridges,
        topics={"t": Topic(publishers=("A",), subscribers=tuple(names))},
    )
    found = Floods(federation).of("A", "t")
    assert not found.loop
    return {name: found.copies.get((name, "t"), 0) for name in names}


def joined(kind: str, *pairs: str) -> tuple[Bridge, ...]:
    """Connections of NATS; a gateway leads one way, so there are two."""
    both = [(p[0], p[1]) for p in pairs]
    if kind == "gateway":
        ends = [*both, *((b, a) for a, b in both)]
        return tuple(Bridge(from_=a, to=b, name=b, kind="gateway", choice="any") for a, b in ends)
    return tuple(
        Bridge(from_=a, to=b, name=b, kind=kind, direction="both")  # type: ignore[arg-type]
        for a, b in both
    )


def test_a_route_is_one_hop_and_a_full_mesh_delivers_once() -> None:
    assert nats(*joined("route", "AB", "BC")) == {"A": 1, "B": 1, "C": 0}
    assert nats(*joined("route", "AB", "BC", "AC")) == {"A": 1, "B": 1, "C": 1}


def test_a_gateway_leads_to_one_cluster_and_not_on_to_the_next() -> None:
    assert nats(*joined("gateway", "AB", "BC")) == {"A": 1, "B": 1, "C": 0}
    mesh = joined("gateway", "AB", "BC", "AC")
    assert nats(*mesh, *joined("route", "BD")) == {"A": 1, "B": 1, "C": 1, "D": 1}


def test_leaf_nodes_of_one_hub_cluster_do_not_go_round() -> None:
    leaves = joined("leaf", "AB", "DC")
    assert nats(*leaves, *joined("route", "BC"), clusters="B:h C:h") == dict.fromkeys("ABCD", 1)
    # Two connections of one leaf node into one cluster: each of its servers passes it on.
    twice = nats(*joined("leaf", "AB", "AC"), *joined("route", "BC"), clusters="B:h C:h")
    assert twice == {"A": 1, "B": 2, "C": 2}


@pytest.mark.parametrize(
    ("leaves", "measured"),
    [
        ("BH", {"A": 1, "B": 1, "H": 0, "G": 0}),
        ("AH", {"A": 1, "B": 1, "H": 1, "G": 0}),
        ("AH BH", {"A": 1, "B": 1, "H": 1, "G": 0}),
        ("AH BH AG BG", {"A": 1, "B": 1, "H": 1, "G": 1}),
        ("HA", {"A": 1, "B": 1, "H": 1, "G": 0}),
        ("HB", {"A": 1, "B": 1, "H": 1, "G": 0}),
        ("HB AG", {"A": 1, "B": 1, "H": 1, "G": 1}),
    ],
)
def test_servers_of_a_cluster_have_leaf_nodes_of_their_own(
    leaves: str, measured: dict[str, int]
) -> None:
    """A and B are a cluster; H and G are servers of their own."""
    bridges = (*joined("route", "AB"), *joined("leaf", *leaves.split()))
    found = nats(*bridges, clusters="A:c B:c", more="GH")
    assert found == measured


def test_what_a_hub_sends_reaches_each_server_by_its_own_leaf_connection() -> None:
    """A is the hub of B and C, a cluster, and these have another hub D."""
    cluster = joined("route", "BC")
    assert nats(*joined("leaf", "BA"), *cluster, clusters="B:c C:c") == {"A": 1, "B": 1, "C": 0}
    both = joined("leaf", "BA", "CA", "BD", "CD")
    assert nats(*both, *cluster, clusters="B:c C:c") == {"A": 1, "B": 1, "C": 1, "D": 2}


def mqtt(*bridges: Bridge, at: str = "A", topic: str = "q") -> Floods:
    names = sorted({end for one in bridges for end in (one.from_, one.to)})
    return Floods(
        Federation(
            name="f",
            brokers={name: Broker(make="mosquitto") for name in names},
            bridges=bridges,
            topics={topic: Topic(publishers=(at,), subscribers=tuple(names))},
        )
    )


def test_a_far_broker_that_does_not_know_a_bridge_echoes_once() -> None:
    line = Bridge(from_="A", to="B", name="c", direction="both", echoes=True)
    found = mqtt(line).of("A", "q")
    assert not found.loop
    assert found.copies == {("A", "q"): 2, ("B", "q"): 1}
    assert mqtt(line).of("B", "q").copies == {("A", "q"): 1, ("B", "q"): 1}


def test_two_topic_lines_of_one_connection_do_not_make_a_loop_and_two_connections_do() -> None:
    lines = [Bridge(from_="A", to="B", name="c", direction=one) for one in ("in", "out")]
    assert not mqtt(*lines).of("A", "q").loop
    apart = [Bridge(from_="A", to="B", name=one, direction="both") for one in ("c", "d")]
    assert mqtt(*apart).of("A", "q").loop


def test_what_is_excepted_and_what_begins_with_a_dollar_stays() -> None:
    line = Bridge(from_="A", to="B", patterns=("#",), except_=("q/secret/#",))
    floods = mqtt(line)
    assert ("B", "q/x") in floods.of("A", "q/x").copies
    assert ("B", "q/secret/x") not in floods.of("A", "q/secret/x").copies
    assert ("B", "$SYS/x") not in floods.of("A", "$SYS/x").copies


def test_a_binding_renames_within_a_broker() -> None:
    line = Bridge(
        from_="A", to="A", name="b", kind="binding", prefixes=Prefixes(local="x/", remote="y/")
    )
    federation = Federation(name="f", brokers={"A": Broker(make="rabbitmq")}, bridges=(line,))
    assert ("A", "y/k") in Floods(federation).of("A", "x/k").copies


def hub_and_sites(*, choice: str, backup: bool) -> Verification:
    """Two leaf sites of a hub; with a backup that is joined to nothing."""
    more = {"addresses": ("spare",), "choice": choice} if backup else {}
    bridges = [
        Bridge(from_=one, to="hub", name="up", kind="leaf", direction="both", **more)  # type: ignore[arg-type]
        for one in ("one", "two")
    ]
    federation = Federation(
        name="f",
        brokers={name: Broker() for name in ("hub", "one", "two", "spare")},
        bridges=tuple(bridges),
        topics={"t": Topic(publishers=("one",), subscribers=("two",))},
    )
    return verify(federation, failures=["brokers=1"])


def test_one_hub_is_a_single_point_of_failure_and_two_are_none() -> None:
    (told,) = [
        one for one in hub_and_sites(choice="first", backup=False).findings if one.code == "V015"
    ]
    assert told.message.startswith("hub is a single point of failure: without it t from one")
    assert told.witness["path"] == ["one", "hub", "two"]  # type: ignore[index]
    both = hub_and_sites(choice="first", backup=True)
    assert "V015" not in {one.code for one in both.findings}


def test_a_connection_that_takes_any_address_may_be_at_the_other_one() -> None:
    found = hub_and_sites(choice="any", backup=True).findings
    (gap,) = [one for one in found if one.code == "V014"]
    assert "while leaf up of one is connected to spare" in gap.message


def assumed(*bridges: Bridge) -> Verification:
    """What is assumed of three servers: everybody may send and get everything."""
    topic = Topic(publishers=tuple("ABC"), subscribers=tuple("ABC"), assumed=True)
    brokers = {name: Broker() for name in "ABC"}
    return verify(Federation(name="f", brokers=brokers, bridges=bridges, topics={"#": topic}))


def test_gaps_in_what_is_assumed_are_told_and_no_error() -> None:
    two_routes = assumed(*joined("route", "AB", "BC"))  # a route is one hop
    assert {(one.code, one.severity) for one in two_routes.findings} >= {("V014", "warning")}
    assert two_routes.ok
    assert two_routes.summary["black_holes"] == 2
    assert "Bridges leave gaps" in verification_text(two_routes, two_routes.summary)


def test_what_nothing_joins_was_not_meant_to_be_joined() -> None:
    exported = replace(joined("import", "BC")[0], direction="in", patterns=("a",))
    apart = assumed(*joined("route", "AB"), exported)
    assert "V014" not in {one.code for one in apart.findings}
    assert apart.summary["black_holes"] == 0
    assert "Bridges leave gaps" not in verification_text(apart, apart.summary)


def test_a_circle_of_leaf_nodes_is_told_with_the_connection_that_closes_it() -> None:
    federation = Federation(
        name="f",
        brokers={name: Broker() for name in "ABCD"},
        bridges=joined("leaf", "AB", "BC", "CA", "DA"),
        topics={"t": Topic(publishers=("A",), subscribers=("B", "C", "D"))},
    )
    found = verify(federation, failures=[]).findings
    (told,) = [one for one in found if one.code == "V018"]
    assert "leaf A of C closes a circle: C > A > B > C" in told.message
    assert "V013" not in {one.code for one in found}
    line = replace(federation, bridges=joined("leaf", "AB", "BC", "DA"))
    assert "V018" not in {one.code for one in verify(line, failures=[]).findings}


@pytest.mark.parametrize(
    ("leaves", "refused"),
    [("AC BC", 0), ("CA CB", 0), ("AC BD", 0), ("AC CB", 1), ("AC DB", 0), ("AC CD DB", 1)],
)
def test_servers_look_for_circles_between_clusters_that_routes_make(
    leaves: str, refused: int
) -> None:
    """A and B are a cluster; refused as nats-server 2.15 does, in some order of starting."""
    bridges = (*joined("route", "AB"), *joined("leaf", *leaves.split()))
    brokers = {name: Broker(cluster="c" if name in "AB" else None) for name in "ABCD"}
    topics = {"t": Topic(publishers=("A",), subscribers=("B",))}
    federation = Federation(name="f", brokers=brokers, bridges=bridges, topics=topics)
    assert [one.code for one in circle_findings(federation)] == ["V018"] * refused


def bound(text: str) -> tuple[Bridge, ...]:
    """`m>n` binds exchange n to exchange m of broker A."""
    return tuple(
        Bridge(
            from_="A",
            to="A",
            kind="binding",
            patterns=("#",),
            prefixes=Prefixes(local=f"{near}/", remote=f"{far}/"),
        )
        for near, far in (one.split(">") for one in text.split())
    )


@pytest.mark.parametrize("text", ["m>n n>m", "m>n m>o n>p o>p", "m>n m>n"])
def test_a_message_is_in_each_exchange_once_that_bindings_lead_to(text: str) -> None:
    federation = Federation(name="f", brokers={"A": Broker(make="rabbitmq")}, bridges=bound(text))
    found = Floods(federation).of("A", "m/k")
    assert not found.loop
    assert set(found.copies.values()) == {1}
    assert len(found.copies) == len({*text.replace(">", " ").split()})


def test_a_shovel_takes_a_message_once_from_a_queue_of_two_bound_exchanges() -> None:
    shovels = tuple(
        Bridge(
            from_="A",
            to="B",
            kind="shovel",
            name="s",
            prefixes=Prefixes(local=f"{one}/", remote="z/"),
        )
        for one in "mn"
    )
    brokers = {"A": Broker(make="rabbitmq"), "B": Broker(make="rabbitmq")}
    federation = Federation(name="f", brokers=brokers, bridges=(*bound("m>n"), *shovels))
    assert Floods(federation).of("A", "m/k").copies["B", "z/k"] == 1
    apart = replace(shovels[1], name="other")
    federation = replace(federation, bridges=(*bound("m>n"), shovels[0], apart))
    assert Floods(federation).of("A", "m/k").copies["B", "z/k"] == 2


def test_a_hop_limit_is_told_where_names_change_on_the_way() -> None:
    bridges = (
        Bridge(
            from_="b", to="c", kind="federation", direction="in", max_hops=1,
            prefixes=Prefixes(local="Y/", remote="Z/"), written={"entry": "b.json:1"},
        ),
        Bridge(
            from_="a", to="b", kind="federation", direction="in", max_hops=1,
            prefixes=Prefixes(local="X/", remote="Y/"), written={"entry": "a.json:1"},
        ),
    )  # fmt: skip
    federation = Federation(
        name="f",
        brokers={name: Broker(make="rabbitmq") for name in "abc"},
        bridges=bridges,
        topics={"Z/#": Topic(publishers=("c",), subscribers=("b",), assumed=True)},
    )
    (found,) = [one for one in verify(federation).findings if one.code == "V004"]
    assert "Z/# from c does not reach a" in found.message
    assert "write 2" in found.message


def test_gaps_of_one_reason_that_nobody_promised_are_told_together() -> None:
    spokes = [f"s{i}" for i in range(6)]
    bridges = tuple(
        Bridge(from_=one, to="hub", kind="federation", direction="in", max_hops=1) for one in spokes
    )
    topic = Topic(publishers=("hub", *spokes), subscribers=tuple(spokes), assumed=True)
    federation = Federation(
        name="f",
        brokers={name: Broker(make="rabbitmq") for name in ("hub", *spokes)},
        bridges=bridges,
        topics={"x/#": topic},
    )
    (found,) = [one for one in verify(federation).findings if one.code == "V014"]
    assert "(and 29 more pairs)" in found.message
    assert isinstance(found.witness, dict)
    assert len(found.witness["more"]) == 29


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_cluster_that_is_a_single_point_is_told_as_a_whole(nodes: int) -> None:
    reached = tuple(f"b{i}.example:5672" for i in range(nodes))
    bridges = (
        Bridge(
            from_="A", to="B", name="u", kind="federation", direction="in", max_hops=2,
            addresses=("B",) * (nodes - 1), reached_at=reached, written={"entry": "a.json:1"},
        ),
        *links("B<C", 2),
    )  # fmt: skip
    federation = Federation(
        name="f",
        brokers={name: Broker(make="rabbitmq") for name in "ABC"},
        bridges=bridges,
        topics={"t": Topic(publishers=("C",), subscribers=("A",))},
    )
    (found,) = [one for one in verify(federation).findings if one.code == "V015"]
    assert ("B is a single point of failure (all of its nodes together)" in found.message) == (
        nodes > 1
    )
