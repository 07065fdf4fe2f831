"""Links become bridges that neither loop nor copy, whatever fails and wherever they connect."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.export.design import native_design
from ropewalk.federation.facts import Broker, Federation, Link, Topic
from ropewalk.verify import verify
from ropewalk.verify.arcs import connections_of, far_ends
from ropewalk.verify.flood import flood
from ropewalk.verify.floods import Floods

BAD = {"V004", "V012", "V013", "V014"}


@st.composite
def linked(draw: st.DrawFn, make: str) -> Federation:
    """A connected federation of one make with some links more than a tree has."""
    size = draw(st.integers(2, 8))
    names = [f"b{i}" for i in range(size)]
    pairs = {(draw(st.integers(0, i - 1)), i) for i in range(1, size)}
    more = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    pairs |= {(min(p), max(p)) for p in draw(st.lists(more, max_size=6)) if p[0] != p[1]}
    return Federation(
        name="f",
        brokers={name: Broker(make=make) for name in names},  # type: ignore[arg-type]
        links=tuple(
            Link(between=(names[a], names[b]), cost=draw(st.integers(1, 4)))
            for a, b in sorted(pairs)
        ),
        topics={"t/x": Topic(publishers=tuple(names), subscribers=tuple(names))},
    )


@pytest.mark.parametrize("make", ["mosquitto", "nats", "rabbitmq"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_design_delivers_once_and_survives_what_its_bridges_can(
    make: str, data: st.DataObject
) -> None:
    design = native_design(data.draw(linked(make)))
    result = verify(design.federation, failures=["brokers=1"])
    assert not [one for one in result.findings if one.code in BAD]
    assert result.fates[0, 0] == result.fates[0].sum()  # all of it, with nothing failed


@settings(max_examples=60, deadline=None)
@given(federation=linked("nats"))
def test_no_choice_of_addresses_makes_a_loop_of_leaf_nodes(federation: Federation) -> None:
    made = native_design(federation).federation
    numbers = connections_of(made)
    ends = [far_ends(one, made.brokers) for one in made.bridges]
    for some in list(product(*ends))[:300]:
        # Each leaf node counts as its own: nothing but the shape keeps messages from going round.
        chosen = dict(zip(numbers, some, strict=True))
        for source in made.brokers:
            floods = Floods(made, connected=chosen)
            assert not flood(floods.bridges, source, "t/x").loop
            assert set(floods.of(source, "t/x").copies.values()) == {1}


def test_backups_that_only_look_outside_the_own_part_would_loop() -> None:
    """The control: two orphans that may each move below the other do."""
    links = [("r", "a"), ("r", "b"), ("a", "b")]
    names = ("r", "a", "b")
    federation = Federation(
        name="f",
        brokers={name: Broker(make="mosquitto") for name in names},
        links=tuple(Link(between=one) for one in links),
        topics={"t": Topic(publishers=names, subscribers=names)},
    )
    made = native_design(federation).federation
    assert [one.addresses for one in made.bridges] == [(), ("a",)]
    loose = replace(made, bridges=(replace(made.bridges[0], addresses=("b",)), made.bridges[1]))
    assert "V012" in {one.code for one in verify(loose, failures=["r"]).findings}
