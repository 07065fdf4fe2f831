"""Protocols: rules on every order of random traces, definition 8, messengers, realizability.

`benchmarks/protocols.py [PART...] [--quick]`: orders, definition_8, messenger, realizability; all
without a name. Ratios are against a named rival in the same run.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from _measure import cpu_seconds, report
from chance import (
    by_the_letter,
    commuting,
    each_once,
    mended,
    mixed,
    permuted,
    said_by_two,
    walk,
)
from ropewalk.protocol import Automaton, load_automaton
from ropewalk.protocol.convergence import Convergence
from ropewalk.protocol.experiment import Case, cases_of, one_way, shuffle_of
from ropewalk.protocol.grounds import Grounds
from ropewalk.protocol.messenger import Messenger, Rule
from ropewalk.protocol.realize.explore import explore
from ropewalk.protocol.realize.verdict import realizability

EXAMPLES = Path(__file__).parents[1] / "examples" / "protocols"
QUICK = "--quick" in sys.argv
REPEATS = 3
sys.setrecursionlimit(10_000)

Check = tuple[int, list[int], int]


# --- every order of short traces ----------------------------------------------------------------


def orders() -> dict[str, Any]:
    """The horizon rule on a million orders; f2 as printed on some of the same, as a control."""
    runs = 20_000 if QUICK else 1_000_000
    found: dict[str, Any] = {}
    rules: dict[Rule, int] = {"horizon": runs, "f2": runs // 10, "strict": runs // 10}
    for rule, count in rules.items():
        start = time.perf_counter()
        counted = permuted(rule, runs=count, seed=11)
        found[rule] = {
            **{name: counted[name] for name in ("runs", "stuck", "wrong")},
            "seconds": round(time.perf_counter() - start, 1),
        }
        print(f"  {rule}: {found[rule]}", file=sys.stderr)
    return found


# --- definition 8 -------------------------------------------------------------------------------


def definition_8() -> dict[str, Any]:
    """Checks per second against a search with a memo for each check."""
    random = Random(1)
    sizes = ((10, 4, 5), (50, 4, 10), (200, 4, 20))
    found: dict[str, Any] = {}
    for states, letters, pending in sizes:
        name = f"{states} states, {pending} pending"
        found[f"commuting, {name}"] = compared(
            [commuting(random, states, letters) for _ in range(5)], pending, random
        )
        found[f"mixed, {name}"] = compared(
            [mixed(random, states, letters) for _ in range(20)], pending, random
        )
        found[f"nearly commuting, {name}"] = compared(
            [mixed(random, states, letters, 0.003) for _ in range(20)], pending, random
        )
    for name in ("netconf", "iotp"):
        protocol = one_way(load_automaton(EXAMPLES / f"{name}.yaml"))
        found[name] = compared([protocol], 8, random)
    return found


def compared(automata: list[Automaton], pending: int, random: Random) -> dict[str, Any]:
    """The same checks by the kernel and by the letter; all answers must agree."""
    few = 10 if QUICK else 60
    checks: list[tuple[Convergence, Check]] = []
    for one in automata:
        made = Convergence(one)
        checks += [(made, check_of(one, pending, random)) for _ in range(few)]
    ours = [made.certain(*check) for made, check in checks]

    def fast() -> None:
        for made, check in checks * 20:
            made.certain(*check)

    def slow() -> None:
        theirs = [
            by_the_letter(made.automaton.rows, state, tuple(left), to, {})
            for made, (state, left, to) in checks
        ]
        assert theirs == ours

    seconds = {"ours": rate(fast, 20 * len(checks)), "memo": rate(slow, len(checks))}
    return {
        "certain": round(sum(ours) / len(ours), 2),
        "per_s": round(1 / seconds["ours"]),
        "memo_per_s": round(1 / seconds["memo"]),
        "times_memo": round(seconds["memo"] / seconds["ours"], 1),
        "over_budget": sum(made.unfinished for made in {one: None for one, _ in checks}),
    }


def check_of(automaton: Automaton, pending: int, random: Random) -> Check:
    """What a reader would ask: the letters of a walk, one delivered, the rest left."""
    while True:
        state = random.choice(sorted(automaton.reachable))
        letters = walk(automaton, pending + 1, random, state)
        to = automaton.walk(letters, state)
        first = next(
            (i for i in random.sample(range(len(letters)), len(letters))
             if automaton.rows[state][letters[i]] >= 0), None
        )  # fmt: skip
        if first is not None and len(letters) > 1:
            at = automaton.rows[state][letters.pop(first)]
            return at, letters, to


def rate(call: Callable[[], None], count: int) -> float:
    """CPU seconds of one of so many; the median of some runs."""
    return median(cpu_seconds(call) for _ in range(REPEATS)) / count


# --- messengers ---------------------------------------------------------------------------------


def messenger() -> dict[str, Any]:
    """Messages per second, stamped and read out of order, on traces that were never seen before."""
    found: dict[str, Any] = {}
    random = Random(3)
    protocols = {
        name: one_way(load_automaton(EXAMPLES / f"{name}.yaml"))
        for name in ("netconf", "iotp", "figure-6")
    }
    protocols["mixed, 50 states"] = mixed(random, 50, 6)
    protocols["commuting, 200 states"] = commuting(random, 200, 6)
    for name, protocol in protocols.items():
        traces = 300 if QUICK else 3_000
        rules: tuple[Rule, ...] = ("horizon", "strict", "f2")
        taken = {
            rule: talked(protocol, rule, traces // (20 if rule == "f2" else 1)) for rule in rules
        }
        found[name] = {
            **{f"{rule}_msgs_s": round(one) for rule, one in taken.items()},
            "over_f2": round(taken["horizon"] / taken["f2"], 1),
            "over_strict": round(taken["horizon"] / taken["strict"], 2),
        }
    return found


def talked(protocol: Automaton, rule: Rule, traces: int) -> float:
    """Put and get, both ends in this process."""
    rates = []
    for turn in range(REPEATS):
        cases = cases_of(
            protocol,
            traces=traces,
            length=20,
            shuffle=shuffle_of("delay=0..5"),
            every=2,
            seed=turn,
        )
        grounds = Grounds(protocol)
        grounds.prepare()
        count = sum(len(one.letters) for one in cases)
        rates.append(count / cpu_seconds(partial(both_ends, grounds, rule, cases)))
    return median(rates)


def both_ends(grounds: Grounds, rule: Rule, cases: Sequence[Case]) -> None:
    """Say every trace, and read it in the order in which it comes."""
    protocol = grounds.automaton
    names = [one.message for one in protocol.letters]
    first, second = protocol.roles
    for case in cases:
        sender = Messenger(protocol, first, rule=rule, grounds=grounds)
        reader = Messenger(protocol, second, rule=rule, grounds=grounds)
        sent = [sender.put(names[one]).stamped for one in case.letters]
        for _, number in case.arrivals:
            reader.get(sent[number])


# --- realizability ------------------------------------------------------------------------------


def realized() -> dict[str, Any]:
    """Ten thousand random protocols of two roles, against exploration with long channels."""
    count = 200 if QUICK else 10_000
    random = Random(5)
    verdicts, differ, complete = Counter[str](), 0, 0
    taken = {"verdict": 0.0, "exploration": 0.0}
    for turn in range(count):
        cyclic = turn % 2 == 1
        make = random.choice([said_by_two, each_once, mended])
        automaton = said_by_two(random, cyclic=True) if cyclic else make(random)
        start = time.process_time()
        found = realizability(automaton)
        middle = time.process_time()
        # Without cycles no channel can ever be full: all there is is seen.
        deep = explore(automaton, bound=3 if cyclic else 64, most=20_000)
        taken["verdict"] += middle - start
        taken["exploration"] += time.process_time() - middle
        verdicts[found.verdict] += 1
        complete += deep.complete
        safe, live = deep.illegal is None, deep.stuck is None and deep.lost is None
        differ += found.fifo.safe != safe or (safe and found.fifo.live != live)
        if turn % 500 == 499:
            print(f"  {turn + 1} protocols, {differ} disagreements", file=sys.stderr)
    return {
        "protocols": count,
        "disagreements": differ,
        "explored_without_bound": complete,
        "verdicts": dict(verdicts),
        "exploration_over_verdict": round(taken["exploration"] / taken["verdict"], 1),
    }


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "orders": orders,
    "definition_8": definition_8,
    "messenger": messenger,
    "realizability": realized,
}


def main() -> None:
    asked = [one for one in sys.argv[1:] if not one.startswith("-")] or list(PARTS)
    report("protocols", **{name: PARTS[name]() for name in asked})


if __name__ == "__main__":
    main()
