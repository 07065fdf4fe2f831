"""Of a failure only what it touches of the bridges is looked at again: as if all were."""

from itertools import combinations
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.federation.bridges import BridgeKind
from ropewalk.federation.facts import Bridge, Broker, Federation, Prefixes, Takeover, Topic
from ropewalk.verify.arcs import connections_of
from ropewalk.verify.asked import Asked
from ropewalk.verify.bridges import apart, turned
from ropewalk.verify.demand import demand_of
from ropewalk.verify.floods import Floods
from ropewalk.verify.verdicts import Verdict

NAMES = "abcde"
KINDS: tuple[BridgeKind, ...] = (
    *("bridge", "federation", "shovel", "route", "gateway", "leaf", "import"),
)


def some_bridge(rng: Random, i: int) -> Bridge:
    a, b, *others = rng.sample(NAMES, 4)
    return Bridge(
        from_=a,
        to=b,
        name=f"n{i}",
        kind=rng.choice(KINDS),
        direction=rng.choice(["in", "out", "both"]),
        patterns=(rng.choice(["#", "t", "t/#", "x/#"]),),
        prefixes=Prefixes(remote=rng.choice(["", "", "", "x/"])),
        max_hops=rng.choice([None, None, 1, 2, 3]),
        addresses=tuple(rng.sample(others, rng.choice([0, 0, 1, 2]))),
        choice=rng.choice(["first", "next", "any"]),
        echoes=rng.random() < 0.1,
    )


def taker(rng: Random, name: str) -> tuple[str, ...]:
    return (rng.choice(NAMES.replace(name, "")),) if rng.random() < 0.2 else ()


def some_federation(rng: Random) -> Federation:
    topics = {
        name: Topic(
            publishers=tuple(rng.sample(NAMES, rng.randint(1, 3))),
            subscribers=tuple(rng.sample(NAMES, rng.randint(1, 4))),
            assumed=rng.random() < 0.5,
        )
        for name in rng.sample(["t", "t/#", "x/t", "#"], rng.randint(1, 3))
    }
    brokers = {
        name: Broker(
            cluster=rng.choice([None, None, "k"]),
            takeover=Takeover(publishers=taker(rng, name), subscribers=taker(rng, name)),
        )
        for name in NAMES
    }
    bridges = tuple(some_bridge(rng, i) for i in range(rng.randint(1, 7)))
    return Federation(name="f", brokers=brokers, topics=topics, bridges=bridges)


@given(st.integers(0, 2**32))
@settings(max_examples=150)
def test_what_is_looked_at_again_is_enough(seed: int) -> None:
    federation = some_federation(Random(seed))
    usual = Floods(federation)
    asked = Asked(usual, apart(federation, demand_of(federation))[1])
    others: list[dict[str, Any]] = []
    others += ({"down": one} for many in (1, 2) for one in combinations(NAMES, many))
    others += ({"connected": one} for one in turned(federation))
    others += ({"cut": (one,)} for one in set(connections_of(federation)))
    for how in others:
        found = [
            Verdict(one) for one in asked.fates(Floods(federation, before=usual, **how)).tolist()
        ]
        anew = Floods(federation, **how)
        for (source, to, t), fate in zip(asked.pairs, found, strict=True):
            again = anew.fate(source, to, usual.topics[t])
            assert fate == again, (how, source, to, usual.topics[t])
