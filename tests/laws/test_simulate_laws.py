"""Laws of the simulator: it repeats itself, faults read back, what is shrunk is least."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk import generate
from ropewalk.overlay.simulate import Fault, Load, parse_faults, plan_of, random_faults, simulate
from ropewalk.overlay.simulate.faults import MOST_PPM, Tail
from ropewalk.overlay.simulate.plan import Plan
from ropewalk.overlay.simulate.schedule import ALL
from ropewalk.overlay.simulate.shrink import shrink_plan
from tests.doubles import Flooder, made_of
from tests.laws.strategies import names

S = 1_000_000
SIX = generate("six-broker")
SMALL = Load(rate_msgs_s=20, duration_us=S, settle_us=6 * S)
times = st.integers(0, 10**9)
pairs = st.tuples(names, names)
shares = st.integers(1, MOST_PPM)
tails = st.builds(
    Tail, st.sampled_from(["exponential", "lognormal", "pareto"]), times, st.integers(1, 5 * 10**6)
)


def faults_of(kind: str, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[Fault]:
    for_us = st.none() | times
    return st.builds(Fault, kind=st.just(kind), at_us=times, for_us=for_us, **fields)


any_fault = st.one_of(
    faults_of("cut", where=pairs),
    faults_of("blackhole", where=pairs, one_way=st.booleans()),
    faults_of("hold", where=pairs, one_way=st.booleans()),
    faults_of("flap", where=pairs, by_us=st.integers(1, 10**9)),
    faults_of("lose", where=pairs, one_way=st.booleans(), share_ppm=shares),
    faults_of("duplicate", where=pairs, one_way=st.booleans(), share_ppm=shares),
    faults_of("reorder", where=pairs, one_way=st.booleans(), share_ppm=shares, by_us=times),
    faults_of("delay", where=pairs, one_way=st.booleans(), by_us=times, tail=st.none() | tails),
    faults_of("partition", where=st.lists(names, min_size=1).map(tuple), silent=st.booleans()),
    faults_of("crash", where=st.tuples(names), disk=st.booleans()),
    faults_of("crash-agent", where=st.tuples(names), disk=st.booleans()),
    faults_of("stall", where=st.tuples(names)),
    faults_of("slow", where=st.tuples(names), by_us=times),
    faults_of("skew", where=st.tuples(names), by_us=times, share_ppm=st.integers(0, 10**6)),
)


@given(any_fault)
def test_a_fault_reads_back_as_it_was_written(fault: Fault) -> None:
    assert parse_faults(str(fault)) == (fault,)


@given(st.integers(0, 10**6), st.integers(0, 6))
@settings(max_examples=15)
def test_the_same_plan_gives_the_same_journal(seed: int, count: int) -> None:
    faults = random_faults(SIX, count, seed=seed, duration_us=S)
    plan = plan_of(SIX, faults, replace(SMALL, late=0.3, leaving=0.3), seed=seed)
    one, two = (simulate(SIX, plan, made_of(SIX)) for _ in range(2))
    assert one.journal.digest() == two.journal.digest()
    assert one.again(words=True).account.delivered == two.account.delivered


NO_DISK_LOST = [kind for kind in ALL if kind not in ("crash", "crash-agent")]


@given(st.integers(0, 10**6), st.integers(0, 8))
@settings(max_examples=20)
def test_an_agent_that_floods_and_stores_breaks_no_promise(seed: int, count: int) -> None:
    faults = random_faults(SIX, count, seed=seed, duration_us=S, kinds=NO_DISK_LOST)
    done = simulate(SIX, plan_of(SIX, faults, SMALL, seed=seed), made_of(SIX))
    assert not done.violations


@given(st.sets(st.integers(0, 11), min_size=1, max_size=3), st.sets(st.integers(1, 80), max_size=3))
@settings(max_examples=25)
def test_what_is_shrunk_still_fails_and_is_least(guilty: set[int], needed: set[int]) -> None:
    faults = random_faults(SIX, 12, seed=1)
    chosen = {faults[i].where for i in guilty}
    plan = plan_of(SIX, faults, SMALL)

    def fails(tried: Plan) -> bool:
        numbers = {one.number for one in tried.publications}
        return chosen <= {fault.where for fault in tried.faults} and needed <= numbers

    least = shrink_plan(plan, fails, budget=5000)
    assert least.minimal
    assert fails(least.plan)
    assert len(least.plan.faults) == len(chosen)
    assert {one.number for one in least.plan.publications} == needed
    for i in range(len(least.plan.faults)):
        rest = least.plan.faults[:i] + least.plan.faults[i + 1 :]
        assert not fails(replace(least.plan, faults=rest))


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_time_between_sending_and_arriving_is_never_less_than_the_link_takes(seed: int) -> None:
    faults = random_faults(SIX, 6, seed=seed, duration_us=S, kinds=("delay", "reorder", "lose"))
    sent: dict[int, int] = {}
    done = simulate(SIX, plan_of(SIX, faults, SMALL, seed=seed), made_of(SIX, Flooder))
    for us, kind, broker, *rest in done.journal.entries:
        if kind == "accept":
            sent[rest[0]] = us
        elif kind == "deliver" and broker != done.account.publications[rest[1]].broker:
            assert us - sent[rest[1]] >= round(1000 * float(SIX.graph.latency_ms.min()))
