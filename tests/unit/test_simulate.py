"""The simulator: what faults do to the world, what the checks find, what people are told."""

from dataclasses import replace
from pathlib import Path

import pytest

from ropewalk import generate
from ropewalk.errors import UsageError
from ropewalk.federation import Federation
from ropewalk.federation.facts import Broker, Contract, Link, Topic
from ropewalk.overlay.simulate import (
    SCENARIOS,
    Load,
    Run,
    Summary,
    parse_faults,
    plan_of,
    random_faults,
    shrink,
    simulate,
    story,
)
from ropewalk.overlay.simulate.hosts import Clock
from ropewalk.overlay.simulate.summary import outages
from ropewalk.overlay.simulate.truth import Truth
from tests.conftest import Run as Call
from tests.doubles import Doubler, Flooder, Hoarder, Leaker, Loser, Muddler, made_of

S = 1_000_000
SHORT = Load(rate_msgs_s=50, duration_us=S, settle_us=5 * S)


def line(
    delivery: str = "at-least-once", order: str = "fifo", scope: str = "federation"
) -> Federation:
    """a - b - c, from a to c."""
    contract = Contract(delivery=delivery, order=order)  # type: ignore[arg-type]
    topic = Topic(publishers=("a",), subscribers=("b", "c"), contract=contract, scope=scope)  # type: ignore[arg-type]
    return Federation(
        name="line",
        brokers={name: Broker() for name in "abc"},
        links=tuple(Link(between=pair, latency_ms=2) for pair in (("a", "b"), ("b", "c"))),
        topics={"t": topic},
    )


def run(federation: Federation, faults: str = "", kind: type[Flooder] = Flooder) -> Run:
    plan = plan_of(federation, parse_faults(faults), SHORT)
    return simulate(federation, plan, made_of(federation, kind))


def codes(done: Run) -> set[str]:
    return {one.code for one in done.violations}


def test_a_quiet_run_delivers_all_in_time() -> None:
    done = run(line())
    totals = Summary([done]).totals()
    assert not done.violations
    assert (totals["accepted"], totals["due"], totals["delivered"]) == (50, 100, 100)
    first = min(one.us for one in done.account.delivered[1, "b"])
    assert first - done.plan.publications[0].at_us == 300 + 2_000  # one sync, one link


@pytest.mark.parametrize(
    "faults",
    [
        "at 500 ms cut a--b for 300 ms",
        "at 500 ms blackhole a->b for 300 ms",
        "at 500 ms hold a--b for 300 ms",
        "at 500 ms flap b--c every 50 ms for 300 ms",
        "at 300 ms lose 50 % on b--c for 1 s",
        "at 300 ms duplicate 50 % on b--c for 1 s",
        "at 300 ms reorder 50 % on b--c by 50 ms for 1 s",
        "at 300 ms delay b--c by 5 ms + lognormal 10 ms 1.5 for 1 s",
        "at 500 ms partition c silently for 300 ms",
        "at 500 ms crash a for 300 ms",
        "at 500 ms crash agent of b for 300 ms",
        "at 500 ms stall c for 300 ms",
        "at 500 ms slow b by 1 ms for 300 ms",
        "at 500 ms skew b by 100 ms drift 500 ppm for 300 ms",
    ],
)
def test_a_sound_agent_survives_every_kind_of_fault(faults: str) -> None:
    done = run(line("exactly-once"), faults)
    assert not [one for one in done.violations if one.code != "M005"]
    assert len(done.journal.of("accept")) == 50


def test_an_outage_lasts_as_long_as_the_only_link_is_cut() -> None:
    done = run(line(), "at 500 ms cut b--c for 400 ms")
    gap_us = {one.reader: one.gap_us for one in outages(done.account)}
    assert 350_000 < gap_us[2, "c"] < 500_000
    assert gap_us[1, "b"] < 5_000


def test_a_blackhole_closes_nothing_and_a_cut_tells_both_ends() -> None:
    class Listener(Flooder):
        def handle(self, event: object, now_us: int) -> list:  # type: ignore[type-arg]
            if type(event).__name__ == "Closed":
                heard.append((self.me, now_us))
            return super().handle(event, now_us)  # type: ignore[arg-type]

    heard: list[tuple[int, int]] = []
    run(line(), "at 500 ms blackhole a--b for 300 ms", Listener)
    assert heard == []
    run(line(), "at 500 ms cut a--b for 300 ms", Listener)
    assert heard == [(1, 502_000), (0, 502_000)]
    heard.clear()
    run(line(), "at 500 ms crash b for 300 ms", Listener)
    assert heard == [(0, 502_000), (2, 502_000)]
    heard.clear()
    run(line(), "at 500 ms crash agent of b for 300 ms", Listener)
    assert heard == []


def test_a_crash_loses_what_was_not_synced_and_the_publisher_sends_it_again() -> None:
    federation = line("exactly-once")
    plan = plan_of(federation, (), SHORT)
    crash_us = plan.publications[10].at_us + 100  # before the log is safe
    plan = replace(plan, faults=parse_faults(f"at {crash_us} us crash agent of a for 200 ms"))
    done = simulate(federation, plan, made_of(federation))
    assert not done.violations or codes(done) == {"M005"}
    assert [entry[3] for entry in done.journal.of("publish")].count(11) == 2
    assert len(done.account.first[2, "c"]) == 50


def test_what_goes_down_with_a_disk_is_excused_exactly_if_it_was_in_custody() -> None:
    faults = "at 500 ms blackhole a--b for 500 ms; at 800 ms crash a without disk for 100 ms"
    done = run(line(), faults)
    fates = [one.fate for one in done.missing]
    assert fates.count("excused") > 10
    assert "lost" not in fates


def test_what_is_kept_for_a_broker_that_never_comes_back_is_no_loss() -> None:
    done = run(line(), "at 500 ms crash c")
    assert {one.fate for one in done.missing} == {"waiting"}
    assert "M001" not in codes(done)


def test_checks_find_agents_that_lose_double_and_disorder() -> None:
    assert "M001" in codes(run(line(), kind=Loser))
    holes = "at 300 ms lose 50 % on b--c for 1 s"
    assert "M002" in codes(run(line("exactly-once"), holes, Doubler))
    assert "M002" not in codes(run(line("at-least-once"), holes, Doubler))
    assert "M003" in codes(run(line(), holes, Muddler))
    assert "M003" not in codes(run(line(order="none"), holes, Muddler))


def test_checks_find_leaks_and_false_beliefs() -> None:
    done = run(line(scope="domain"), kind=Leaker)
    assert codes(done) == {"M005", "M007"}
    assert "a holds a--b for down at the end; it is nothing" in {
        one.message for one in done.violations
    }
    assert "M005" in codes(run(line(), "at 500 ms blackhole b--c"))


def test_checks_find_letters_that_go_round_and_stores_that_overflow() -> None:
    done = run(line(), kind=Hoarder)
    assert codes(done) == {"M004", "M006"}
    assert "its limit is 16,384" in done.violations[-1].message


def test_checks_find_two_subscribers_who_disagree_on_a_total_order() -> None:
    federation = generate("ring", brokers=3)
    contract = Contract(delivery="at-least-once", order="total", home="b1")
    topic = Topic(publishers=("b1", "b2"), subscribers=("b1", "b2", "b3"), contract=contract)
    late = "at 300 ms delay b1--b2 by 90 ms for 2 s; at 300 ms delay b1--b3 by 90 ms for 2 s"
    done = run(replace(federation, topics={"t": topic}), late)
    assert codes(done) - {"M005"} == {"M003"}
    assert "no total order" in next(one.message for one in done.violations)


def test_a_story_names_fault_way_and_delivery() -> None:
    done = run(line(), "at 400 ms cut a--b for 100 ms", Loser)
    least = shrink(done, "M001")
    small = done.again(least.plan)
    told = story(small, small.violations[0])
    assert least.minimal
    assert not least.plan.faults
    assert len(least.plan.publications) == 7
    assert "a -> b: message" in told
    assert "a: accepts message" in told


def test_shrinking_a_run_in_which_all_is_well_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing to shrink"):
        shrink(run(line()))


def test_faults_of_what_does_not_exist_are_refused() -> None:
    with pytest.raises(UsageError, match="there is no broker z"):
        run(line(), "at 1 s crash z")
    with pytest.raises(UsageError, match="no link between"):
        run(line(), "at 1 s cut a--c")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("at 5 cut a--b", "write it like `at 500 ms cut a--b"),
        ("at 1 s cut a->b", "both ends"),
        ("at 1 s lose 0 % on a--b", "above 0 %"),
        ("at 1 s lose 101 % on a--b", "up to 100 %"),
        ("at 1 s explode a", "kinds: blackhole"),
        ("at 1 s stall a--b", "no broker's name"),
        ("at 1 s flap a--b every 0 ms", "how long each spell"),
    ],
)
def test_a_bad_fault_is_told_with_what_to_write(text: str, told: str) -> None:
    with pytest.raises(UsageError, match="explode|" + told.split("(")[0]) as caught:
        parse_faults(text)
    assert told in str(caught.value)


def test_a_clock_never_goes_back_and_undoes_itself() -> None:
    clock = Clock()
    clock.change(1000, jump_us=500, drift_ppm=200_000)
    assert clock.local(1000) == 1500
    assert clock.local(2000) == 2700
    assert clock.local(clock.true(2650)) >= 2650
    clock.change(2000, jump_us=0, drift_ppm=-200_000)
    assert clock.local(3000) == 3700


def test_truth_knows_who_could_reach_whom_and_for_how_long() -> None:
    done = run(line(), "at 500 ms cut b--c for 300 ms; at 1 s crash a for 1 s")
    truth: Truth = done.account.truth
    assert truth.reached(0, truth.spell_at(1_500_000)) == frozenset()


@pytest.mark.parametrize("name", ["destination-stall", "origin-crash", "flapping"])
def test_the_products_own_agents_keep_their_promises(name: str) -> None:
    chosen = SCENARIOS[name]
    load = replace(chosen.load, rate_msgs_s=50)
    federation = chosen.federation()
    done = simulate(federation, plan_of(federation, chosen.faults, load))
    assert not done.violations
    assert Summary([done]).frame().loc[0, "lost"] == 0


def test_random_faults_are_within_the_time_and_heal() -> None:
    some = random_faults(generate("six-broker"), 50, seed=3, duration_us=2 * S)
    assert len(some) == 50
    assert all(fault.end_us is not None for fault in some)
    lasting = random_faults(generate("six-broker"), 50, seed=3, permanent=1.0, kinds=("cut",))
    assert all(fault.end_us is None for fault in lasting)


def test_the_command_prints_one_document_and_a_picture(ropewalk: Call, tmp_path: Path) -> None:
    picture = tmp_path / "run.png"
    options = ("--scenario", "partition", "--rate", 20, "--duration", 1, "--settle", 8)
    ran = ropewalk("lab", "simulate", *options, "--plot", picture, "--json")
    assert ran.code == 0
    summary = ran.document["summary"]
    assert summary["lost"] == 0
    assert summary["accepted"] == 100
    assert picture.read_bytes()[:4] == b"\x89PNG"
    text = ropewalk("lab", "simulate", *options)
    assert "Simulated 1 run, 2 faults." in text.out


def test_the_command_says_what_is_wrong_with_its_options(ropewalk: Call) -> None:
    assert ropewalk("lab", "simulate").code == 2
    assert "there are blackhole" in ropewalk("lab", "simulate", "--scenario", "x").err
    wrong = ropewalk("lab", "simulate", "--scenario", "partition", "--faults", "boom", "--json")
    assert (wrong.code, wrong.document["ok"]) == (2, False)
