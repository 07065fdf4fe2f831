"""Our verdicts against an explicit-state checker that reads only the exported model."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.federation.generators import generate
from ropewalk.verify import verify
from ropewalk.verify.demand import matching_topics
from ropewalk.verify.smv import clients_model, paths_model
from ropewalk.verify.verdicts import BAD, Verdict
from tests.laws.oracle import random_federation
from tests.laws.smv_oracle import parse, verdicts


@given(st.integers(0, 2**32))
@settings(max_examples=60)
def test_a_model_of_all_pairs_delivers_if_and_only_if_we_say_so(seed: int) -> None:
    result = verify(random_federation(Random(seed)), failures=[], pairs="all")
    delivers, ends = verdicts(parse(paths_model(result.check)))
    assert delivers == (result.fates[0, Verdict.DELIVERED] == result.summary["pairs"])
    assert ends == (result.summary["loops"] == 0)


@given(st.integers(0, 2**32))
@settings(max_examples=25)
def test_a_model_with_colours_fails_where_our_findings_are(seed: int) -> None:
    """Leaving a domain is no matter of tables: the model does not know it."""
    result = verify(random_federation(Random(seed)), failures=["any=1"], pairs="topics")
    if not result.check.demand.pairs:
        return
    *topics, _ = verdicts(parse(paths_model(result.check)))
    bad = result.fates[:, [one for one in BAD if one != Verdict.LEAK]].sum()
    assert all(topics) == (bad == 0 and result.fates[0, Verdict.CUT] == 0)


def test_a_loop_in_the_tables_is_a_loop_in_the_model() -> None:
    looped = next(
        result
        for seed in range(200)
        if (result := verify(random_federation(Random(seed)), failures=[])).summary["loops"]
    )
    assert not verdicts(parse(paths_model(looped.check)))[-1]
    assert matching_topics(looped.check.demand, range(len(looped.check.demand.to)))


@pytest.mark.parametrize("name", ["three-broker", "six-broker"])
def test_the_rules_of_reconfiguration_hold_in_the_model(name: str) -> None:
    assert all(verdicts(parse(clients_model(generate(name)))))


def test_a_broker_that_keeps_foreign_clients_breaks_the_rules_in_the_model() -> None:
    """The control: broker 1's publishers stay at broker 2 after it recovers."""
    model = clients_model(generate("three-broker"))
    broken = model.replace(
        "next(pub_1) := case down = 1 : 2; TRUE : 1; esac;",
        "next(pub_1) := case down = 1 : 2; TRUE : pub_1; esac;",
    )
    assert broken != model
    assert verdicts(parse(broken))[:2] == [True, False]
