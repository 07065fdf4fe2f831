"""The engines hold to what explicit search finds, on models of clients and on nets by chance."""

from collections import Counter
from collections.abc import Callable
from itertools import count
from random import Random

import pytest

from ropewalk.verify.population.clients import SEMANTICS, population, reduce
from ropewalk.verify.population.engine.arrays import start_of
from ropewalk.verify.population.engine.backward import Backward
from ropewalk.verify.population.engine.deciding import Deciding, decide
from ropewalk.verify.population.engine.directed import Directed
from ropewalk.verify.population.engine.forward import Forward
from ropewalk.verify.population.engine.plain import plain
from ropewalk.verify.population.engine.slicing import sliced
from ropewalk.verify.population.engine.unfolding import Way
from ropewalk.verify.population.engine.verdict import Answer, Safe, Unsafe
from ropewalk.verify.population.evidence import objection, replayed
from ropewalk.verify.population.net import Net, amounts, covers, fired, rule_of
from tests.laws.population_oracle import unsafe
from tests.laws.population_worlds import random_model

MODELS = 500
CLIENTS = 4


def counting(step: float = 0.001) -> Callable[[], float]:
    """A clock that goes on when it is looked at: budgets in tests are numbers of turns."""
    return (step * one for one in count()).__next__


def decided(net: Net) -> Answer:
    return decide(net, counting(), 20.0)


# --- models of clients ---------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_what_clients_can_do_is_never_called_safe(semantics: str) -> None:
    """And what is called unsafe is found by explicit search with as many clients."""
    verdicts = Counter[str]()
    for seed in range(MODELS):
        model = population(random_model(seed, semantics))
        net = reduce(model, "pattern")
        answer = decided(net.net)
        verdicts[type(answer).__name__] += 1
        pattern = model.patterns["pattern"]
        if isinstance(answer, Safe):
            assert unsafe(model, pattern, clients=CLIENTS, most=1_500) is not True, seed
        elif isinstance(answer, Unsafe):
            story = net.tell(answer.run)
            clients = sum(story.clients.values())
            if clients <= CLIENTS:
                assert unsafe(model, pattern, clients=clients, most=60_000) is not False, seed
    assert verdicts["Safe"] > MODELS // 4
    assert verdicts["Unsafe"] > MODELS // 10
    assert verdicts["GaveUp"] <= MODELS // 50, verdicts


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_clients_of_several_brokers_too(semantics: str) -> None:
    for seed in range(3_000, 3_030):
        model = population(random_model(seed, semantics, brokers=2))
        net = reduce(model, "pattern")
        answer = decided(net.net)
        if isinstance(answer, Safe):
            assert unsafe(model, model.patterns["pattern"], clients=2, most=1_500) is not True, seed
        elif isinstance(answer, Unsafe):
            net.tell(answer.run)


# --- nets by chance --------------------------------------------------------------------------------


def random_net(seed: int, *, moving: bool) -> Net:
    """A small net: few tokens, two or three that a rule takes, some places open."""
    rng = Random(f"net {seed} {moving}")
    places = rng.randint(2, 5)
    rules = []
    for number in range(rng.randint(2, 6)):
        takes = {rng.randrange(places): rng.choice((1, 1, 2)) for _ in range(rng.randint(0, 2))}
        gives = {rng.randrange(places): rng.choice((1, 1, 2)) for _ in range(rng.randint(0, 2))}
        needs = {rng.randrange(places): 1} if rng.random() < 0.3 else {}
        moves = {}
        if moving and rng.random() < 0.6:
            for _ in range(rng.randint(1, 2)):
                moves[rng.randrange(places)] = rng.randrange(-1, places)
        rules.append(rule_of(f"r{number}", takes=takes, gives=gives, needs=needs, moves=moves))
    start = tuple(rng.choice((0, 0, 1, 2)) for _ in range(places))
    free = frozenset(p for p in range(places) if rng.random() < 0.25)
    targets = tuple(
        amounts({rng.randrange(places): rng.choice((1, 2, 3)) for _ in range(rng.randint(1, 2))})
        for _ in range(rng.randint(1, 2))
    )
    return Net(tuple(f"p{i}" for i in range(places)), tuple(rules), start, free, targets)


def reaches(net: Net, *, more: int = 2, most: int = 3_000) -> bool:
    """Whether explicit search finds a target, with a few tokens more in open places."""
    start = {p: n + more * (p in net.open) for p, n in enumerate(net.start)}
    seen, waiting = {tuple(start[p] for p in range(len(start)))}, [start]
    while waiting and len(seen) < most:
        marking = waiting.pop(0)
        if any(covers(marking, target) for target in net.targets):
            return True
        for rule in net.rules:
            after = fired(rule, marking)
            if after is None or max(after.values(), default=0) > 12:
                continue
            key = tuple(after.get(p, 0) for p in range(len(start)))
            if key not in seen:
                seen.add(key)
                waiting.append(after)
    return False


@pytest.mark.parametrize("moving", [False, True], ids=["plain", "moving"])
def test_engines_decide_nets_as_explicit_search_does(moving: bool) -> None:
    verdicts = Counter[str]()
    for seed in range(400):
        net = random_net(seed, moving=moving)
        answer = decided(net)
        verdicts[type(answer).__name__] += 1
        if isinstance(answer, Unsafe):
            end = replayed(net, answer.run)
            assert any(covers(end, target) for target in net.targets)
        elif isinstance(answer, Safe):
            assert not objection(net, answer.invariant)
            assert not reaches(net), seed
        else:
            assert moving, seed  # without moves there is always an answer
    assert min(verdicts["Safe"], verdicts["Unsafe"]) > 50
    assert verdicts["GaveUp"] <= 4, verdicts


@pytest.mark.parametrize("moving", [False, True], ids=["plain", "moving"])
def test_each_engine_by_itself_agrees_with_the_plain_algorithm(moving: bool) -> None:
    asked = 0
    for seed in range(400, 650):
        net = sliced(random_net(seed, moving=moving)).net
        expected = plain(net, counting(), 2.0) if net.targets else None
        if expected is None:
            continue
        asked += 1
        for engine in (Forward(net), Backward(net, start_of(net)), Directed(net)):
            found = None
            for _ in range(300):
                found = engine.turn()
                if found is not None:
                    break
            if isinstance(found, Way | Unsafe):
                assert expected == "unsafe", (seed, engine)
            elif isinstance(found, Safe):
                assert expected == "safe", (seed, engine)
                assert not objection(net, found.invariant)
    assert asked > 120


def test_lanes_by_themselves_say_the_same() -> None:
    for seed in range(120):
        net = random_net(seed, moving=False)
        expected = decided(net)
        for lane in ("limits", "aimed"):
            found = Deciding(net, counting(0.3), 40.0).alone(lane)
            if isinstance(found, Safe | Unsafe):
                assert type(found) is type(expected), (seed, lane)
