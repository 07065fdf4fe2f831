"""Probabilities to be in time are those of brute force, and bounds hold what is true."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.federation.facts import (
    Broker,
    Contract,
    Federation,
    Histogram,
    Jitter,
    Link,
    RiskGroup,
    Takeover,
    Topic,
)
from ropewalk.verify.latency import Latency, Retry, latency
from ropewalk.verify.latency.failing import overall
from ropewalk.verify.latency.ways import in_time
from tests.laws.latency_oracle import World

MS = 1_000_000
NEAR = 1e-9
chances = st.sampled_from([0.0, 0.0, 0.01, 0.1, 0.5])


@st.composite
def networks(draw: st.DrawFn, *, fails: bool = False, wide: bool = True) -> Federation:
    """Up to five brokers, joined, with whole milliseconds of latency."""
    names = [f"b{i}" for i in range(draw(st.integers(2, 5)))]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    tree = [(names[draw(st.integers(0, i - 1))], name) for i, name in enumerate(names) if i]
    more = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 if fails else 4))
    links = list(dict.fromkeys([*tree, *more]))
    down = st.sampled_from([0.0, 0.0, 0.01, 0.3]) if fails else st.just(0.0)
    groups = {"duct": RiskGroup(fails=draw(down))} if fails else {}
    others = {n: tuple(o for o in names if o != n)[: draw(st.integers(0, 2))] for n in names}
    return Federation(
        name="f",
        brokers={
            n: Broker(
                fails=draw(down) if fails and n in names[:2] else 0.0,
                takeover=Takeover(publishers=others[n], subscribers=others[n]),
            )
            for n in names
        },
        links=tuple(draw(a_link(pair, down, wide=wide, grouped=fails)) for pair in links),
        risk_groups=groups,
        topics={
            "t": Topic(
                publishers=(names[0],),
                subscribers=(names[-1],),
                contract=Contract(within_ms=float(draw(st.integers(1, 14)))),
            )
        },
    )


@st.composite
def a_link(
    draw: st.DrawFn,
    pair: tuple[str, str],
    down: st.SearchStrategy[float],
    *,
    wide: bool,
    grouped: bool,
) -> Link:
    histogram = None
    if wide and draw(st.booleans()):
        edges = sorted(draw(st.sets(st.integers(0, 8), min_size=2, max_size=3)))
        counts = draw(st.lists(st.integers(1, 5), min_size=len(edges) - 1, max_size=len(edges) - 1))
        histogram = Histogram(edges_ms=tuple(map(float, edges)), counts=tuple(counts))
    return Link(
        between=pair,
        latency_ms=float(draw(st.integers(0, 5))),
        cost=draw(st.integers(1, 3)),
        loss=draw(chances),
        fails=draw(down),
        histogram=histogram,
        risk_groups=draw(st.sampled_from([(), ("duct",)])) if grouped else (),
    )


def found_in(
    federation: Federation, world: World, **more: object
) -> tuple[Latency, tuple[str, str], Fraction]:
    retry = Retry(int(world.retry_ms * MS), world.retries)
    found = latency(federation, retry=retry, slot_ms=0.5, **more)  # type: ignore[arg-type]
    names = tuple(federation.brokers)
    within = federation.topics["t"].contract.within_ms or 0
    return found, (names[0], names[-1]), Fraction(within)


def world_of(federation: Federation, retry_ms: int, retries: int | None) -> World:
    return World(federation, Fraction(retry_ms), retries)


@given(networks(), st.integers(1, 6), st.sampled_from([None, 0, 1, 2]))
def test_every_outcome_of_loss_latency_and_retries(
    federation: Federation, retry_ms: int, retries: int | None
) -> None:
    world = world_of(federation, retry_ms, retries)
    found, (source, to), within = found_in(federation, world)
    path = world.path(source, to, set())
    assert path is not None
    for side, late in ((0, True), (1, False)):
        true = world.over(path, within, late=late)
        assert found.bounds[0, side] == pytest.approx(true, abs=NEAR)


@given(networks(fails=True, wide=False), st.integers(2, 6))
@settings(max_examples=60)
def test_every_set_of_failures(federation: Federation, retry_ms: int) -> None:
    world = world_of(federation, retry_ms, 1)
    found, (source, to), within = found_in(federation, world)
    true = world.overall(source, to, within, late=True)
    if not found.failing.parts:
        assert found.bounds[0, 0] == pytest.approx(true, abs=NEAR)
        return
    one = overall(
        found.failing,
        (0, len(federation.brokers) - 1),
        (),
        lambda paths: in_time(found.model(0), paths),
        most=10**9,
        enough=0.0,
    )
    assert one.rest == 0
    assert one.low == pytest.approx(true, abs=NEAR)
    assert one.high == pytest.approx(true, abs=NEAR)
    assert found.over[0].low <= true + NEAR
    assert found.over[0].high >= true - NEAR


@given(networks(wide=False), st.integers(3, 6), st.data())
@settings(max_examples=60)
def test_two_paths_at_once(federation: Federation, retry_ms: int, data: st.DataObject) -> None:
    world = world_of(federation, retry_ms, 1)
    found, (source, to), within = found_in(federation, world)
    number = {name: i for i, name in enumerate(federation.brokers)}
    first = world.path(source, to, set())
    assert first is not None
    links = ["--".join(sorted(step)) for step in pairwise(first)]
    second = world.path(source, to, {data.draw(st.sampled_from(links))})
    if second is None or len(first) + len(second) > 8:
        return
    paths = tuple(tuple(number[name] for name in path) for path in (first, second))
    true = world.over_two((first, second), within, late=True)
    assert in_time(found.model(0), paths)[0] == pytest.approx(true, abs=NEAR)


@given(
    networks(wide=False),
    st.sampled_from(["normal", "lognormal"]),
    st.floats(0.3, 3),
)
@settings(max_examples=40)
def test_finer_slots_only_narrow_the_bounds(
    federation: Federation, shape: str, sd_ms: float
) -> None:
    jitter = Jitter(shape=shape, sd_ms=sd_ms)  # type: ignore[arg-type]
    links = tuple(
        replace(one, latency_ms=(one.latency_ms or 0) + 1, jitter=jitter)
        for one in federation.links
    )
    federation = replace(federation, links=links)
    coarse, fine = (latency(federation, slot_ms=slot).bounds[0] for slot in (0.5, 0.125))
    assert coarse[0] <= fine[0] + NEAR
    assert fine[1] <= coarse[1] + NEAR
    assert fine[0] <= fine[1] + NEAR


def test_bounds_hold_what_is_drawn_by_chance() -> None:
    """A hundred thousand messages over three hops, drawn with a seed: the share is in between."""
    rng = np.random.default_rng(1)
    jitter = Jitter(shape="lognormal", sd_ms=2.0)
    names = ("a", "b", "c", "d")
    federation = Federation(
        name="f",
        brokers={name: Broker() for name in names},
        links=tuple(
            Link(between=pair, latency_ms=4.0, loss=0.05, jitter=jitter) for pair in pairwise(names)
        ),
        topics={
            "t": Topic(publishers=("a",), subscribers=("d",), contract=Contract(within_ms=20.0))
        },
    )
    spread = np.sqrt(np.log1p(0.25))
    times = np.exp(rng.normal(np.log(4) - spread**2 / 2, spread, (100_000, 3)))
    times += 10 * (rng.geometric(0.95, (100_000, 3)) - 1)
    share = float((times.sum(axis=1) <= 20).mean())
    found = latency(federation, slot_ms=0.01, retry=Retry(10 * MS))
    low, high = found.bounds[0]
    assert high - low < 0.005
    assert low - 0.005 < share < high + 0.005


# --- controls: broken variants that the laws must notice -------------------------------------


LOSSY = Federation(
    name="f",
    brokers={"a": Broker(), "b": Broker()},
    links=(Link(between=("a", "b"), latency_ms=2.0, loss=0.5),),
    topics={"t": Topic(publishers=("a",), subscribers=("b",), contract=Contract(within_ms=9.0))},
)


def test_a_model_that_sends_nothing_again_is_noticed() -> None:
    world = world_of(LOSSY, 3, None)
    true = world.over(["a", "b"], Fraction(9), late=True)
    assert found_in(LOSSY, world)[0].bounds[0, 0] == pytest.approx(true, abs=NEAR)
    broken = latency(LOSSY, retry=Retry(3 * MS, 0), slot_ms=0.5)
    assert broken.bounds[0, 0] != pytest.approx(true, abs=1e-3)


def test_paths_taken_for_disjoint_are_noticed() -> None:
    """Two paths that share a lossy hop: 1 - (1 - p)(1 - q) is too much."""
    names = ("a", "b", "c", "d")
    links = tuple(
        Link(between=pair, latency_ms=1.0, loss=0.3)
        for pair in (("a", "b"), ("b", "c"), ("b", "d"), ("c", "d"))
    )
    contract = Contract(within_ms=5.0)
    federation = Federation(
        name="f",
        brokers={name: Broker() for name in names},
        links=links,
        topics={"t": Topic(publishers=("a",), subscribers=("d",), contract=contract)},
    )
    world = world_of(federation, 3, 0)
    found, _, within = found_in(federation, world)
    model = found.model(0)
    first, second = (0, 1, 3), (0, 1, 2, 3)
    one, other = in_time(model, [first])[0], in_time(model, [second])[0]
    true = world.over_two((["a", "b", "d"], ["a", "b", "c", "d"]), within, late=True)
    assert in_time(model, [first, second])[0] == pytest.approx(true, abs=NEAR)
    assert 1 - (1 - one) * (1 - other) > true + 0.05
