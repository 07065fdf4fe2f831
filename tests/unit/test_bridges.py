"""What native bridges do: they flood, rename, count hops, and know nothing of each other."""

from dataclasses import replace
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk import loads
from ropewalk.federation.facts import Bridge, Broker, Federation, Prefixes, Topic
from ropewalk.federation.topics import common, is_pattern
from ropewalk.verify import verify
from ropewalk.verify.flood import Bridges, flood


def bridged(*bridges: Bridge, subscribers: str = "c", **more: object) -> Federation:
    brokers = {name: Broker(make="mosquitto") for name in "abcd"}
    topics = {"t": Topic(publishers=("a",), subscribers=tuple(subscribers))}
    facts = {"brokers": brokers, "topics": topics, "bridges": bridges, **more}
    return Federation(name="bridged", **facts)  # type: ignore[arg-type]


def over(a: str, b: str, direction: str = "out", **more: object) -> Bridge:
    """Of qos 2, so that it keeps whatever is promised (S15 and S18 are told elsewhere)."""
    return Bridge(from_=a, to=b, direction=direction, **{"qos": 2, **more})  # type: ignore[arg-type]


def codes(federation: Federation, *failures: str) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in verify(federation, failures=failures).findings]


def test_a_chain_of_bridges_delivers() -> None:
    result = verify(bridged(over("a", "b"), over("b", "c")), failures=["brokers=1"])
    assert result.ok
    assert result.fates[0].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert result.summary["unavoidable"] == 3  # either end, and the only way between them


def test_two_bridges_in_both_directions_loop() -> None:
    """The same topic in and out over two bridges: mosquitto#3011."""
    result = verify(bridged(over("a", "b", "both"), over("b", "a", "both")), failures=[])
    assert {one.code for one in result.findings} >= {"V012"}
    witness = result.findings[0].witness
    assert isinstance(witness, dict)
    assert witness["path"] == ["a (t)", "b (t)", "a (t)"]


def test_one_bridge_in_both_directions_does_not_send_back_what_it_brought() -> None:
    assert codes(bridged(over("a", "c", "both"))) == []


def test_a_triangle_of_bridges_loops_and_one_way_less_mends_it() -> None:
    triangle = (over("a", "b", "both"), over("b", "c", "both"), over("c", "a", "both"))
    assert ("V012", "error") in codes(bridged(*triangle))
    assert codes(bridged(*triangle[:2])) == []


def test_a_hop_limit_turns_a_loop_into_copies() -> None:
    ring = [over("a", "b", max_hops=3), over("b", "c", max_hops=3), over("c", "a", max_hops=3)]
    assert codes(bridged(*ring, subscribers="a")) == [("V013", "warning")]


def test_a_diamond_delivers_twice_which_only_some_contracts_forbid() -> None:
    diamond = (over("a", "b"), over("a", "d"), over("b", "c"), over("d", "c"))
    federation = bridged(*diamond)
    assert codes(federation) == [("V013", "warning")]
    topic = federation.topics["t"]
    strict = replace(topic, contract=replace(topic.contract, delivery="exactly-once"))
    assert codes(replace(federation, topics={"t": strict})) == [("V013", "error")]


def test_links_and_bridges_that_carry_the_same_topic_deliver_twice() -> None:
    federation = loads(
        "{federation: f, brokers: {a: , c: }, links: [{between: [a, c]}],"
        " bridges: [{from: a, to: c}], topics: {t: {publishers: [a], subscribers: [c]}}}"
    )
    assert codes(federation) == [("V013", "warning")]


def test_a_hop_limit_that_is_too_small_is_told_at_its_bridge() -> None:
    limited = bridged(over("a", "b"), over("b", "c", max_hops=1))
    (found,) = verify(limited, failures=[]).findings
    assert (found.code, "write 2 at bridge 2 of b" in found.message) == ("V004", True)


@given(st.integers(0, 2**32))
@settings(max_examples=80)
def test_limits_that_are_told_would_do_and_one_less_would_not(seed: int) -> None:
    rng = Random(seed)
    pairs = [(a, b) for a, b in product("abcd", repeat=2) if a != b]
    some = rng.sample(pairs, rng.randint(2, 8))
    kinds = [rng.choice(["bridge", "federation", "binding"]) for _ in some]
    federation = bridged(
        *(
            over(*ends, name=f"n{i}", kind=kind, max_hops=rng.choice([1, 2, 3]))
            for i, (ends, kind) in enumerate(zip(some, kinds, strict=True))
        )
    )
    for found in verify(federation, failures=[]).findings:
        if found.code != "V004":
            continue
        told = [one.split(" of ")[0] for one in found.message.split("write ")[1].split(", ")]
        needed = {int(one.split(" n")[1]): int(one.split()[0]) for one in told}
        assert needed
        # Bindings count no hops, so with them a longer way may need less than the shortest.
        for less in (0,) if "binding" in kinds else (0, 1):
            bridges = tuple(
                replace(one, max_hops=needed.get(i, (one.max_hops or 9) + less) - less)
                for i, one in enumerate(federation.bridges)
            )
            again = flood(Bridges(replace(federation, bridges=bridges)), "a", "t")
            assert ("c" in again.brokers) != bool(less), (federation.bridges, found.message)


def test_patterns_and_directions_that_do_not_match_leave_a_gap() -> None:
    assert codes(bridged(over("a", "c", patterns=("news/#",)))) == [("V014", "error")]
    assert codes(bridged(over("a", "c", "in"))) == [("V014", "error")]


def test_prefixes_rename_on_the_way() -> None:
    out = over("a", "c", prefixes=Prefixes(local="", remote="site1/"))
    federation = bridged(out, subscribers="")
    there = {**federation.topics, "site1/t": Topic(subscribers=("c",))}
    assert codes(replace(federation, topics=there)) == [("V009", "warning")]
    wrong = {**federation.topics, "site2/t": Topic(subscribers=("c",))}
    assert ("V010", "error") in codes(replace(federation, topics=wrong))


def test_a_name_that_grows_on_every_round_is_a_loop() -> None:
    longer = Prefixes(remote="x/")
    federation = bridged(over("a", "b", prefixes=longer), over("b", "a", prefixes=longer))
    found = verify(federation, failures=[]).findings
    assert any(one.code == "V012" and "longer name" in one.message for one in found)


def test_backup_addresses_are_used_when_the_first_is_down() -> None:
    both = bridged(over("a", "b", addresses=("d",)), over("b", "c"), over("d", "c"))
    result = verify(both, failures=["b"])
    assert result.fates[1].tolist() == [1, 0, 0, 0, 0, 0, 0]
    one_way = bridged(over("a", "b", addresses=("d",)), over("b", "c"), over("c", "d"))
    assert ("V014", "error") in codes(one_way, "b")  # bridges could survive it, these do not


def ways(
    federation: Federation, broker: str, name: str, came: int, hops: int, most: int
) -> dict[tuple[str, str], int]:
    """Copies by following each one, up to a number of hops."""
    found = {(broker, name): 1}
    if hops == most:
        return found
    for i, bridge in enumerate(federation.bridges):
        for near, far, start, end in (
            (bridge.from_, bridge.to, bridge.prefixes.local, bridge.prefixes.remote),
            (bridge.to, bridge.from_, bridge.prefixes.remote, bridge.prefixes.local),
        ):
            meant = ("out", "both") if near == bridge.from_ else ("in", "both")
            if i == came or near != broker or bridge.direction not in meant:
                continue
            if not name.startswith(start) or (bridge.max_hops or 99) <= hops:
                continue
            for at, count in ways(
                federation, far, end + name[len(start) :], i, hops + 1, most
            ).items():
                found[at] = found.get(at, 0) + count
    return found


@given(st.integers(0, 2**32))
@settings(max_examples=80)
def test_copies_are_as_many_as_following_each_one_gives(seed: int) -> None:
    rng = Random(seed)
    pairs = [(a, b) for a, b in product("abcd", repeat=2) if a != b]
    bridges = tuple(
        over(
            *rng.choice(pairs),
            rng.choice(["in", "out", "both"]),
            max_hops=rng.choice([1, 2, 3]),
            prefixes=Prefixes(remote=rng.choice(["", "", "x/"])),
        )
        for _ in range(rng.randint(1, 4))
    )
    federation = bridged(*bridges)
    found = flood(Bridges(federation), "a", "t")
    assert not found.loop  # every bridge counts hops, so nothing goes on for ever
    assert found.copies == ways(federation, "a", "t", -1, 0, 10)


LEVELS = ["a", "b", "+", "#"]


def matches(pattern: str, name: str) -> bool:
    """MQTT 5, 4.7.1, level by level."""
    levels, parts = pattern.split("/"), name.split("/")
    for i, level in enumerate(levels):
        if level == "#":
            return True
        if i >= len(parts) or level not in ("+", parts[i]):
            return False
    return len(levels) == len(parts)


@pytest.mark.parametrize("depth", [1, 2])
def test_two_patterns_meet_if_and_only_if_a_name_matches_both(depth: int) -> None:
    patterns = [
        "/".join(levels)
        for size in range(1, depth + 1)
        for levels in product(LEVELS, repeat=size)
        if "#" not in levels[:-1]
    ]
    names = ["/".join(one) for size in range(1, depth + 2) for one in product("abc", repeat=size)]
    for one, other in product(patterns, repeat=2):
        both = [name for name in names if matches(one, name) and matches(other, name)]
        met = common(one, other)
        assert (met is not None) == bool(both), (one, other, met)
        if met is not None:
            assert {name for name in names if matches(met, name)} <= set(both)
            assert is_pattern(met) or met in both


def test_a_loop_that_only_a_failure_makes_is_told() -> None:
    federation = bridged(over("a", "b", addresses=("c",)), over("c", "a"), subscribers="a")
    publishing = {"t": Topic(publishers=("c",), subscribers=("a",))}
    result = verify(replace(federation, topics=publishing), failures=["b"])
    assert [one.code for one in result.findings] == ["V012"]
    assert "when b is down" in result.findings[0].message


def test_a_bridge_that_falls_back_fetches_from_where_it_is_connected() -> None:
    fallback = over("d", "b", "in", addresses=("a",))
    federation = bridged(fallback, subscribers="d")
    assert verify(federation, failures=["b"]).fates[1].tolist() == [1, 0, 0, 0, 0, 0, 0]


def test_names_that_multiply_end_in_a_finding() -> None:
    """Two bridges that each put another prefix before every name: 2^n names after n rounds."""
    several = [over("a", "b", prefixes=Prefixes(remote=one)) for one in ("p/", "q/")]
    result = verify(bridged(*several, over("b", "a")), failures=[])
    assert {"V012"} <= {one.code for one in result.findings}


def test_who_does_not_subscribe_gets_no_copies() -> None:
    diamond = (over("a", "b"), over("a", "d"), over("b", "c"), over("d", "c"))
    federation = bridged(*diamond, subscribers="b")
    topics = {**federation.topics, "other": Topic(publishers=("c",), subscribers=("c",))}
    assert codes(replace(federation, topics=topics)) == []


def test_a_publisher_of_a_pattern_owes_what_both_patterns_have() -> None:
    federation = loads(
        "{federation: f, brokers: {a: {make: mosquitto}, c: {make: mosquitto}},"
        " bridges: [{from: a, to: c, patterns: [t/a/+], qos: 1}],"
        " topics: {t/#: {publishers: [a]}, t/a/x: {subscribers: [c]}}}"
    )
    assert codes(federation) == []


def test_clients_without_a_broker_are_stranded_not_cut() -> None:
    federation = bridged(over("a", "c"))
    required = loads(
        "{federation: r, brokers: {a: }, requirements: {survive: {brokers: 1}}}"
    ).requirements
    result = verify(replace(federation, requirements=required))
    assert {one.code for one in result.findings} == {"V008"}


def test_a_bridge_still_delivers_where_a_failure_cuts_the_links() -> None:
    federation = loads(
        "{federation: f, brokers: {a: , c: }, links: [{between: [a, c]}],"
        " bridges: [{from: a, to: c}],"
        " topics: {t: {publishers: [a], subscribers: [c]}, u: {publishers: [c], subscribers: [a]}}}"
    )
    result = verify(federation, failures=["links=1"])
    assert result.fates[1].tolist() == [1, 0, 0, 0, 0, 0, 1]  # the bridge carries t, not u
