"""Laws of moves: subscribers are moved between brokers under traffic, and miss nothing by it."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk import loads
from ropewalk.overlay.berths import Berth
from ropewalk.overlay.carrying import Carrying
from ropewalk.overlay.council.handover import Frontier
from ropewalk.overlay.simulate import Load, Run, parse_faults, plan_of, random_faults, simulate
from ropewalk.overlay.simulate.faults import Kind
from ropewalk.overlay.simulate.plan import Shift

S = 1_000_000
RING = loads("""
federation: ring
brokers: {a: {}, b: {}, c: {}, d: {}}
links:
  - {between: [a, b], latency_ms: 3}
  - {between: [b, c], latency_ms: 10}
  - {between: [c, d], latency_ms: 30}
  - {between: [d, a], latency_ms: 10}
topics:
  prices:
    publishers: [a, c]
    subscribers: [{broker: a, client: one}, {broker: a, client: two}, {broker: b, client: stays}]
    contract: {delivery: exactly-once, order: fifo}
  orders:
    publishers: [d]
    subscribers: [{broker: a, client: one}]
    contract: {delivery: exactly-once, order: none}
items: {desk: [prices, orders]}
""")


def run(*moves: Shift, seed: int = 1, faults: Any = (), rate: float = 50) -> Run:
    load = Load(rate_msgs_s=rate, duration_us=3 * S, settle_us=12 * S)
    plan = plan_of(RING, faults, load, seed=seed)
    return simulate(RING, replace(plan, moves=moves))


def codes(done: Run) -> set[str]:
    return {one.code for one in done.violations}


def moved(done: Run) -> int:
    return sum("done;" in str(entry) for entry in done.journal.of("tell"))


THERE = Shift(S, "desk", "a", "c")
BACK = Shift(5 * S // 2, "desk", "c", "a")


def test_clients_that_move_there_and_back_miss_nothing() -> None:
    done = run(THERE, BACK, rate=100)
    assert not done.violations
    assert moved(done) == 2
    assert [entry[2] for entry in done.journal.of("join")] == [2, 2, 0, 0]
    assert sum(1 for _ in done.account.due()) > 1000


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_nothing_is_lost_doubled_or_disordered_while_clients_move_and_things_fail(
    seed: int,
) -> None:
    draw = Random(seed)
    at, moves = "a", []
    for k in range(draw.randint(1, 3)):
        to = draw.choice([name for name in RING.brokers if name != at])
        moves.append(Shift(S // 2 + k * S, "desk", at, to))
        at = to
    kinds: tuple[Kind, ...] = ("cut", "lose", "delay", "stall", "crash-agent", "partition")
    kinds += ("duplicate",)
    faults = random_faults(RING, seed % 3, seed=seed, kinds=kinds, duration_us=2 * S, destroy=0.0)
    assert not run(*moves, seed=seed, faults=faults).violations


@pytest.mark.parametrize("who", ["a", "c"])
@pytest.mark.parametrize("at_ms", [1005, 1100, 1300])
def test_a_restart_of_either_side_resumes_or_rolls_back(who: str, at_ms: int) -> None:
    done = run(THERE, faults=parse_faults(f"at {at_ms} ms crash agent of {who} for 300 ms"))
    assert not done.violations


def no_frontier(patch: pytest.MonkeyPatch) -> None:
    skip = Carrying._skip
    patch.setattr(Carrying, "_skip", lambda self, item, _: skip(self, item, Frontier()))


def no_buffer(patch: pytest.MonkeyPatch) -> None:
    admit = Berth.admit
    patch.setattr(
        Berth, "admit", lambda self, one, now: admit(self, one, now) if self.serving else []
    )


def no_stop(patch: pytest.MonkeyPatch) -> None:
    at_source = Carrying._at_source

    def goes_on(self: Carrying, item: str, letter: Any, left: Any) -> Any:
        leaving = item in self.quays and self.quays[item].to < 0
        return left if leaving else at_source(self, item, letter, left)

    patch.setattr(Carrying, "_at_source", goes_on)


@pytest.mark.parametrize(
    ("spoil", "code"), [(no_frontier, "M002"), (no_buffer, "M001"), (no_stop, "M002")]
)
def test_without_one_of_its_parts_a_move_breaks_the_contract(
    spoil: Callable[[pytest.MonkeyPatch], None], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(monkeypatch)
    assert code in codes(run(THERE, rate=100))


def test_what_comes_to_the_source_alone_is_sent_on(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off = parse_faults("at 900 ms partition d for 6 s")  # It does not know the target.
    assert not run(THERE, faults=cut_off).violations
    monkeypatch.setattr(Carrying, "_send_on", lambda *_: None)
    assert "M001" in codes(run(THERE, faults=cut_off))


MIRRORED = replace(
    RING,
    topics={
        "orders": replace(
            RING.topics["orders"],
            publishers=("c", "d"),
            subscribers=(*RING.topics["orders"].subscribers, "b"),
            contract=replace(RING.topics["orders"].contract, delivery="at-least-once"),
        )
    },
    items={"desk": ("orders",)},
)


def mirrored(*, quick: bool = False, seed: int = 1) -> Run:
    load = Load(rate_msgs_s=30, duration_us=8 * S, settle_us=12 * S)
    plan = plan_of(MIRRORED, parse_faults("at 2 s crash a for 3 s"), load, seed=seed)
    return simulate(MIRRORED, replace(plan, mirrors=True, quick=quick))


def test_clients_of_a_dead_broker_miss_nothing_at_its_mirror(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = mirrored()
    assert not done.violations
    assert [entry[2] for entry in done.journal.of("join")] == [1, 0]  # there, and home again
    monkeypatch.setattr(Carrying, "adopt", lambda *_: None)
    assert "M001" in codes(mirrored())


@pytest.mark.parametrize("seed", range(1, 6))
def test_clients_that_are_at_the_mirror_before_it_takes_over_miss_nothing_either(
    seed: int,
) -> None:
    done = mirrored(quick=True, seed=seed)
    assert not done.violations
    assert [entry[2] for entry in done.journal.of("join")] == [1, 0]


@pytest.mark.parametrize(("where", "part"), [(Carrying, "adopt"), (Berth, "board")])
def test_without_one_of_its_parts_they_would(
    where: type, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, part, lambda *_: None)
    assert "M001" in codes(mirrored(quick=True))
