"""Which topics meet is looked up by levels; comparing every pair has to find the same."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from ropewalk.federation.topics import Patterns, common, held, meeting, meeting_across

LEVEL = st.sampled_from(["", "a", "b", "+", "$c"])
TOPIC = st.builds(
    lambda levels, last: "/".join([*levels, *last]),
    st.lists(LEVEL, min_size=1, max_size=4),
    st.sampled_from([(), ("#",)]),
).filter(bool)


def both(one: str, other: str) -> str | None:
    """What two have in common; a wildcard in front does not stand for what begins with `$`."""
    wild, own = (one[:1] in ("+", "#"), other[:1] in ("+", "#")), (one[:1] == "$", other[:1] == "$")
    return None if (wild[0] and own[1]) or (wild[1] and own[0]) else common(one, other)


TOPICS = st.lists(TOPIC, max_size=8, unique=True)


@given(TOPICS)
def test_topics_that_meet_are_those_with_names_in_common(topics: list[str]) -> None:
    found = set(zip(*(side.tolist() for side in meeting(topics)), strict=True))
    numbers = range(len(topics))
    assert found == {
        (i, j)
        for i, j in product(numbers, numbers)
        if i != j and both(topics[i], topics[j]) is not None
    }


@given(TOPICS, TOPICS)
def test_topics_of_two_lists_meet_alike(ours: list[str], theirs: list[str]) -> None:
    found = set(zip(*(side.tolist() for side in meeting_across(ours, theirs)), strict=True))
    assert found == {
        (i, j)
        for i, j in product(range(len(ours)), range(len(theirs)))
        if both(ours[i], theirs[j]) is not None
    }


@given(TOPICS, TOPIC)
def test_patterns_that_are_asked_many_times_answer_as_when_compared(
    patterns: list[str], topic: str
) -> None:
    asked = Patterns(patterns)
    found = [both(topic, one) for one in patterns]
    assert list(asked.meet(topic)) == [one for one in found if one]  # nothing has no name
    assert list(asked.holding(topic)) == [one for one in patterns if both(one, topic) == topic]
    assert set(held(patterns, [topic])) == {
        (one, topic) for one in patterns if both(one, topic) == topic
    }
