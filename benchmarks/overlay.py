"""The overlay's core: promises under random faults, forwarding, timers, what each part buys.

`schedules`: random federations with random faults, by default 10,000, on all cores; a promise that
is broken ends with exit code 1. Rivals, in the same run: for forwarding, one message per frame; for
timers, fixed ones; for outages, agents that only switch when a link is dead, and none that keep
anything.
"""

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from statistics import mean
from time import perf_counter
from typing import Any

from ropewalk import generate
from ropewalk.federation.facts import Broker, Contract, Federation, Link, Topic
from ropewalk.overlay.agent import Agent, Setup
from ropewalk.overlay.chart import chart_of
from ropewalk.overlay.events import Received
from ropewalk.overlay.rules import rules_of
from ropewalk.overlay.settings import MS, Settings
from ropewalk.overlay.simulate import Load, Run, Summary, parse_faults, plan_of, simulate
from ropewalk.overlay.simulate.campaign import run_of_seed
from ropewalk.overlay.words import Address, Frame, Letter, Parcel

S = 1_000_000
CHUNK = 50
DECISIONS = 200_000


def schedules(count: int) -> dict[str, Any]:
    start = perf_counter()
    starts = range(0, count, CHUNK)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        parts = list(pool.map(_some, starts, [min(CHUNK, count - one) for one in starts]))
    seconds = perf_counter() - start
    total = {name: sum(part[name] for part in parts) for name in parts[0] if name != "broken"}
    return {
        "schedules": count,
        **total,
        "broken": [one for part in parts for one in part["broken"]],
        "seconds": round(seconds, 1),
        "events_per_s": round(total["events"] / seconds),
    }


def _some(first: int, count: int) -> dict[str, Any]:
    found: dict[str, Any] = {"events": 0, "accepted": 0, "due": 0, "faults": 0, "broken": []}
    for seed in range(first, first + count):
        run = run_of_seed(seed)
        found["events"] += run.journal.events
        found["accepted"] += len(run.account.accepted)
        found["due"] += sum(1 for _ in run.account.due())
        found["faults"] += len(run.plan.faults)
        if run.violations:
            found["broken"].append([seed, run.violations[0].code, run.violations[0].message])
    return found


def forwarding() -> dict[str, Any]:
    """A transit agent is given frames; every parcel in them is a decision."""
    federation = generate("six-node")
    chart, rules = chart_of(federation), rules_of(federation)
    letter = Letter(0, 1, "t", 1, b"x" * 100)
    rates = {}
    for size in (1, 4, 16, 64, 256):
        wide = Settings(link_queue=1 << 30)
        agent = Agent(Setup(me=1, chart=chart, rules=rules, settings=wide))
        agent.start(0, settled=True)
        frames = []
        for number in range(1, DECISIONS // size + 1):
            parcels = tuple(
                Parcel(letter, (Address(2, 0, i, 1, 0, 0, 1, 0, 1),)) for i in range(1, size + 1)
            )
            frames.append(Received(0, Frame(1, 1 << 20, number, parcels)))
        start = perf_counter()
        for frame in frames:
            agent.handle(frame, 10)
        rates[size] = round(len(frames) * size / (perf_counter() - start))
    return {
        "decisions_per_s_by_parcels_in_a_frame": rates,
        "ratio_16_to_one_message_per_frame": round(rates[16] / rates[1], 1),
    }


def kite(contract: Contract) -> Federation:
    pairs = (("a", "b"), ("b", "c"), ("b", "d"), ("c", "e"), ("d", "e"))
    return Federation(
        name="kite",
        brokers={name: Broker() for name in "abcde"},
        links=tuple(Link(between=pair, latency_ms=2) for pair in pairs),
        topics={"t": Topic(publishers=("a",), subscribers=("e",), contract=contract)},
    )


def outages() -> dict[str, Any]:
    """A link two hops from the origin goes silent: what each part of the scheme buys."""
    once, free = (Contract(delivery=one, order="fifo") for one in ("exactly-once", "best-effort"))
    fixed = Settings()
    late = replace(fixed, suspect_us=fixed.dead_us)
    cases = {
        "full": (once, fixed),
        "quick: beat 10 ms, dead 50 ms": (
            once,
            replace(fixed, beat_us=10 * MS, suspect_us=30 * MS, dead_us=50 * MS),
        ),
        "no copies while suspect": (once, late),
        "two paths": (replace(once, paths=2), fixed),
        "no custody": (free, late),
    }
    return {name: _outage(*case) for name, case in cases.items()}


def _outage(contract: Contract, settings: Settings) -> dict[str, Any]:
    of = kite(contract)
    load = Load(rate_msgs_s=1000, duration_us=2 * S, settle_us=5 * S)
    runs = [
        simulate(
            of, plan_of(of, parse_faults(f"at {at} ms blackhole c--e"), load), settings=settings
        )
        for at in (1003, 1009, 1017)
    ]
    totals = Summary(runs).totals()
    accepted = sum(len(run.account.accepted) for run in runs)
    arrived = sum(len(run.account.first.get((4, "e"), {})) for run in runs)
    return {"outage_max_ms": totals["outage_ms"]["max"], "missing": accepted - arrived}


def timers() -> dict[str, Any]:
    """How soon a dead link is seen, and how often a living one is held for dead."""
    found = {}
    for name, settings in (("fixed", Settings()), ("adaptive", Settings(adaptive=True))):
        quiet = [_detection_ms(settings, seed) for seed in range(5)]
        jitter = [_false_deaths(settings, seed) for seed in range(5)]
        found[name] = {
            "quiet_link_detected_ms": round(mean(quiet), 1),
            "false_deaths_in_30_s_of_jitter": sum(jitter),
        }
    fixed, adaptive = found["fixed"], found["adaptive"]
    ratio = fixed["quiet_link_detected_ms"] / adaptive["quiet_link_detected_ms"]
    return {**found, "ratio_detection_fixed_to_adaptive": round(ratio, 2)}


def _watch(settings: Settings, faults: str, seed: int, seconds: int) -> Run:
    of = kite(Contract(delivery="at-least-once"))
    load = Load(rate_msgs_s=5, duration_us=seconds * S, settle_us=S)
    return simulate(of, plan_of(of, parse_faults(faults), load, seed=seed), settings=settings)


def _downs(run: Run, after_us: int) -> list[int]:
    told = run.journal.of("tell")
    return [us for us, _, _, what, _ in told if what == "link down" and us > after_us]


def _detection_ms(settings: Settings, seed: int) -> float:
    at_ms = 5_000 + 3 * seed
    run = _watch(settings, f"at {at_ms} ms blackhole c--e", seed, 6)
    return (min(_downs(run, at_ms * MS)) - at_ms * MS) / MS


def _false_deaths(settings: Settings, seed: int) -> int:
    run = _watch(settings, "at 2 s delay c--e by 5 ms + pareto 15 ms for 30 s", seed, 32)
    return len(_downs(run, 2 * S))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=10_000)
    wanted = parser.parse_args()
    found: dict[str, Any] = {
        "benchmark": "overlay",
        "forwarding": forwarding(),
        "outages": outages(),
        "timers": timers(),
        "schedules": schedules(wanted.schedules),
    }
    print(json.dumps(found, indent=2))
    return 1 if found["schedules"]["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
