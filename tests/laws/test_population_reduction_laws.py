"""A population and the net that is made of it do the same: held to single clients, explored."""

from pathlib import Path

import pytest

from ropewalk.errors import StoryError
from ropewalk.verify.population.clients import (
    SEMANTICS,
    Reduced,
    load_population,
    population,
    reduce,
    reduced,
)
from ropewalk.verify.population.clients.effects import Effects
from ropewalk.verify.population.clients.places import Way
from ropewalk.verify.population.run import Run
from tests.laws.population_oracle import Oracle, run_of, sizes, unsafe
from tests.laws.population_worlds import markings, random_model

EXAMPLES = Path(__file__).parents[2] / "examples" / "population"


def found_in(net: Reduced, clients: int, *, ways: int = 2) -> Run | bool | None:
    """A run of the net with up to so many clients; False if there is none, None if unknown."""
    most_of = {i: ways for i, key in enumerate(net.keys) if isinstance(key, Way)}
    open = False
    for numbers in sizes(net.population, clients):
        for marking in markings(net, numbers):
            run = run_of(net.net, marking, most=20_000, most_of=most_of)
            if isinstance(run, Run):
                return run
            open |= run is None
    return None if open else False


def agree(text: str, clients: int, **targets: int) -> bool | None:
    """Whether the pattern comes about: by single clients and by the net, which have to agree."""
    model = population(text)
    net = reduce(model, "pattern", **targets)
    expected, run = (
        unsafe(model, model.patterns["pattern"], clients=clients),
        found_in(net, clients),
    )
    if isinstance(run, Run):
        story = net.tell(run)  # which replays it
        assert sum(story.clients.values()) <= clients
        assert all(len(line) <= 76 for line in story.lines)
    if expected is not None and run is not None:
        assert expected == isinstance(run, Run), text
    return expected


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_two_clients_do_what_the_net_does(semantics: str) -> None:
    verdicts = [agree(random_model(seed, semantics), 2) for seed in range(250)]
    assert verdicts.count(True) > 25
    assert verdicts.count(False) > 100
    assert verdicts.count(None) < 10


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_three_clients_do_what_the_net_does(semantics: str) -> None:
    verdicts = [agree(random_model(seed, semantics), 3) for seed in range(1_000, 1_060)]
    assert verdicts.count(True) > 5


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_a_judge_finds_what_listed_targets_find(semantics: str) -> None:
    for seed in range(2_000, 2_100):
        agree(random_model(seed, semantics), 2, targets=0)


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("brokers", [2, 3])
def test_what_clients_of_several_brokers_do_the_net_does(semantics: str, brokers: int) -> None:
    """Messages between brokers have no bound, so the net may find what few of them do not."""
    bad = 0
    for seed in range(3_000, 3_040 if brokers == 2 else 3_008):
        model = population(random_model(seed, semantics, brokers=brokers))
        net, pattern = reduce(model, "pattern"), model.patterns["pattern"]
        for numbers in sizes(model, 2):
            expected = Oracle(model).reaches(pattern, numbers, most=1_500)
            runs = [
                run_of(net.net, marking, most=1_500, most_of=_few_ways(net))
                for marking in markings(net, numbers)
            ]
            for run in runs:
                if isinstance(run, Run):
                    net.tell(run)
            bad += bool(expected)
            assert not expected or any(run is not False for run in runs)
    assert bad or brokers == 3


def _few_ways(net: Reduced) -> dict[int, int]:
    return {i: 2 for i, key in enumerate(net.keys) if isinstance(key, Way)}


def test_the_models_have_all_that_may_be_said() -> None:
    texts = [random_model(seed, "retained", brokers=2) for seed in range(200)]
    for word in ("retain: all", "echo: true", "asynchronous", "clean", "queued", "returns",
                 "breaks", "missed", "not_received", "not_subscribed", "forget", "count: 2+",
                 "connected: false", "at_least: 2"):  # fmt: skip
        assert any(word in text for text in texts), word


# --- reductions that are wrong ------------------------------------------------------------------


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reduction that is wrong: publications reach nobody."""
    monkeypatch.setattr(Effects, "told", lambda _, one, topic, message: one)


def test_a_broken_reduction_does_not_get_past_the_replay(deaf: None) -> None:
    [wrong] = reduced(load_population(EXAMPLES / "leader-election.yaml"))
    run = found_in(wrong, 3)
    assert isinstance(run, Run)
    with pytest.raises(StoryError, match="it has received what it must not"):
        wrong.tell(run)


def test_no_broken_reduction_of_random_models_makes_a_false_story(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Here publications reach everybody, whether subscribed and connected or not."""
    monkeypatch.setattr(Effects, "told", lambda self, one, _, message: self.reached(one, message))
    refused = 0
    for seed in range(200):
        model = population(random_model(seed, "local"))
        wrong = reduce(model, "pattern")
        run = found_in(wrong, 2)
        if isinstance(run, Run) and unsafe(model, model.patterns["pattern"], clients=2) is False:
            with pytest.raises(StoryError):
                wrong.tell(run)
            refused += 1
    assert refused


# --- the examples -------------------------------------------------------------------------------

WHEN: dict[str, dict[str | None, bool]] = {
    "alarm": {"local": False, "retained": False, "global": True},
    "federation": {None: False, "retained": False, "local": True, "global": True},
    "leader-election": {None: False, "local": False, "retained": False, "global": True},
    "lock": {None: False, "retained": False, "local": True, "global": True},
    "orders": {None: False, "local": False, "retained": False, "global": True},
    "retained-config": {None: False, "retained": False, "local": True, "global": True},
}  # fmt: skip
CASES = [(name, semantics, bad) for name, some in WHEN.items() for semantics, bad in some.items()]


@pytest.mark.parametrize(("name", "semantics", "bad"), CASES)
def test_examples_are_safe_or_not_as_they_say(name: str, semantics: str | None, bad: bool) -> None:
    model = load_population(EXAMPLES / f"{name}.yaml", semantics=semantics)
    [net] = reduced(model)
    fixed = sum(kind.least for kind in model.kinds.values())
    run = found_in(net, max(4, fixed + 1))
    assert isinstance(run, Run) == bad
    if isinstance(run, Run):
        net.tell(run)


def test_every_example_is_tried() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == set(WHEN)


@pytest.mark.parametrize("name", sorted(WHEN))
def test_single_clients_of_the_examples_agree(name: str) -> None:
    for semantics, bad in WHEN[name].items():
        model = load_population(EXAMPLES / f"{name}.yaml", semantics=semantics)
        [pattern] = model.patterns.values()
        fixed = sum(kind.least for kind in model.kinds.values())
        clients = max(3 if name == "orders" else 4, fixed + 1)
        assert unsafe(model, pattern, clients=clients, most=60_000) is bad
