"""Nets by chance for the coverability engine: threads of concurrent programs, and broadcasts.

A program has shared bits, of which some are locks, and threads with a program counter and bits of
their own; any number of threads runs it. Bad is a thread at the line behind the last check.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from ropewalk.verify.population.net import Net, Rule, amounts, rule_of


@dataclass(frozen=True)
class Size:
    """Shared bits, lines of the program, bits of each thread."""

    shared: int
    lines: int
    own: int


SIZES = (
    Size(3, 60, 2),
    Size(4, 100, 1),
    Size(4, 150, 2),
    Size(5, 60, 1),
    Size(4, 350, 1),
    Size(3, 600, 1),
    Size(2, 1300, 1),
    Size(4, 250, 0),
    Size(6, 70, 0),
)


def program(seed: int) -> Net:
    """A concurrent program as a net: a place for each shared state and for each thread's state."""
    rng = Random(seed)
    size = rng.choice(SIZES)
    shared, own = 1 << size.shared, 1 << size.own
    places = [f"s{i}" for i in range(shared)]
    places += [f"l{i}.{bits}" for i in range(size.lines + 1) for bits in range(own)]
    rules = dict.fromkeys(
        (before, after)
        for line, to, act, bit in _lines(rng, size)
        for before, after in _steps(size, line, to, act, bit)
    )
    made = [_rule(shared, own, before, after, i) for i, (before, after) in enumerate(rules)]
    start = tuple(1 if place == 0 else 0 for place in range(len(places)))
    bad = tuple(amounts({shared + size.lines * own + bits: 1}) for bits in range(own))
    name = f"program {seed}"
    return Net(tuple(places), tuple(made), start, frozenset({shared}), bad, name)


Line = tuple[int, int, str, int]
State = tuple[int, int, int]


def _lines(rng: Random, size: Size) -> Iterator[Line]:
    """Line, where it leads, what it does, and with which bit."""
    line, lines = 0, size.lines
    while line < lines:
        chance, after, far = rng.random(), (line + 1) % lines, rng.randrange(lines)
        bit, mine = rng.randrange(size.shared), rng.randrange(max(1, size.own))
        if chance < 0.25:
            yield line, after, "skip", 0
        elif chance < 0.35:
            yield line, after, rng.choice(("set", "clear")), bit
        elif chance < 0.5:
            yield line, after, "if", bit
            yield line, far, "if not", bit
        elif chance < 0.65 and size.own:
            yield line, after, rng.choice(("own set", "own clear")), mine
        elif chance < 0.75 and size.own:
            yield line, after, "own if", mine
            yield line, far, "own if not", mine
        elif chance < 0.85:
            yield line, after, "lock", 0
            yield after, (after + 1) % lines, "unlock", 0
            line += 1
        else:
            yield line, after, "skip", 0
            yield line, far, "skip", 0
        line += 1
    yield rng.randrange(lines // 2, lines), lines, "if", rng.randrange(1, size.shared)


def _steps(size: Size, line: int, to: int, act: str, bit: int) -> Iterator[tuple[State, State]]:
    mask = 1 << bit
    for shared in range(1 << size.shared):
        for own in range(1 << size.own):
            looked_at = own if act.startswith("own") else shared
            match act.removeprefix("own "):
                case "set" | "lock":
                    if act == "lock" and shared & mask:
                        continue
                    after = looked_at | mask
                case "clear" | "unlock":
                    if act == "unlock" and not shared & mask:
                        continue
                    after = looked_at & ~mask
                case "if" | "if not":
                    if bool(looked_at & mask) != (act.removeprefix("own ") == "if"):
                        continue
                    after = looked_at
                case _:
                    after = looked_at
            pair = (shared, after) if act.startswith("own") else (after, own)
            yield (shared, line, own), (pair[0], to, pair[1])


def _rule(shared: int, own: int, before: State, after: State, number: int) -> Rule:
    def at(state: State) -> dict[int, int]:
        return {state[0]: 1, shared + state[1] * own + state[2]: 1}

    return rule_of(f"r{number}", takes=at(before), gives=at(after))


def caches(lines: int) -> Net:
    """A cache of a line in any number of nodes, for several lines: a write makes others invalid.

    Bad are two writers of one line. With several lines the plain algorithm meets all their
    combinations.
    """
    places, rules, targets = list[str](), list[Rule](), []
    start, free = list[int](), set[int]()
    for line in range(lines):
        invalid, shared, owner = (len(places) + i for i in range(3))
        places += [f"invalid{line}", f"shared{line}", f"owner{line}"]
        start += [1, 0, 0]
        free.add(invalid)
        read = {invalid: 1}
        rules.append(rule_of("read", takes=read, gives={shared: 1}, moves={owner: shared}))
        gone = {shared: invalid, owner: invalid}
        rules.append(rule_of("write", takes={invalid: 1}, gives={owner: 1}, moves=gone))
        rules.append(rule_of("upgrade", takes={shared: 1}, gives={owner: 1}, moves=gone))
        targets.append(amounts({owner: 2}))
        targets.append(amounts({owner: 1, shared: 1}))
    return Net(
        tuple(places),
        tuple(rules),
        tuple(start),
        frozenset(free),
        tuple(targets),
        f"caches {lines}",
    )


def tickets(desks: int, broken: bool) -> Net:
    """Clients that take numbered tickets from a ring of desks; broken: a desk gives two."""
    places = ["waiting", *(f"turn{i}" for i in range(desks)), *(f"in{i}" for i in range(desks))]
    rules = []
    for i in range(desks):
        turn, inside, after = 1 + i, 1 + desks + i, 1 + (i + 1) % desks
        rules.append(rule_of("enter", takes={0: 1, turn: 1}, gives={inside: 1}))
        more = 2 if broken and i == desks - 1 else 1
        rules.append(rule_of("leave", takes={inside: 1}, gives={0: 1, after: more}))
    start = (1, 1, *([0] * (2 * desks - 1)))
    bad = tuple(
        amounts([(1 + desks + i, 1), (1 + desks + j, 1)]) if i != j else amounts({1 + desks + i: 2})
        for i in range(desks)
        for j in range(i, desks)
    )
    name = f"tickets {desks}{' broken' if broken else ''}"
    return Net(tuple(places), tuple(rules), start, frozenset({0}), bad, name)
