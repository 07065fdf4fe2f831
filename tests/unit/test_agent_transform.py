"""Transforms of messages: they change, drop and fail, and nothing is lost by a failure."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ropewalk.agent.brokers.contract import Incoming
from ropewalk.agent.transform import Mediation, transforms_of
from ropewalk.errors import UsageError


def to_kelvin(payload: bytes, headers: dict[str, str]) -> tuple[bytes, Mapping[str, str]] | None:
    """Celsius to Kelvin; what is below absolute zero is dropped."""
    celsius = json.loads(payload)
    if celsius < -273.15:
        return None
    return json.dumps(celsius + 273.15).encode(), {**headers, "unit": "K"}


def wrong(payload: bytes, headers: dict[str, str]) -> Any:
    """No pair of bytes and headers."""
    return {"payload": "text", "headers": "text", "names": (payload, {1: "x"})}[headers["what"]]


def mediation(*given: str) -> tuple[Mediation, list[Any], list[str]]:
    dropped: list[Any] = []
    told: list[str] = []
    made = Mediation(
        transforms_of(given),
        drop=dropped.extend,
        tell=lambda what, about: told.append(" ".join((what, *about))),
    )
    return made, dropped, told


HERE = "tests.unit.test_agent_transform"


def test_messages_of_a_topic_are_changed_and_others_are_not() -> None:
    made, dropped, told = mediation(f"meters/+={HERE}:to_kelvin")
    some = [
        Incoming(None, "meters/a", b"1.0", headers=(("x", "y"),)),
        Incoming(None, "other", b"1.0"),
    ]
    first, second = made.apply(some)
    assert (first.payload, first.headers) == (b"274.15", (("x", "y"), ("unit", "K")))
    assert (second.payload, second.headers) == (b"1.0", ())
    assert (dropped, told) == ([], [])
    assert made.counts == {"meters/a": {"changed": 1}}


def test_what_a_transform_drops_is_answered_and_told() -> None:
    made, dropped, told = mediation(f"#={HERE}:to_kelvin")
    some = [Incoming("h", "t", b"-300"), Incoming(None, "t", b"-301"), Incoming(None, "t", b"0")]
    assert [one.payload for one in made.apply(some)] == [b"273.15"]
    assert dropped == ["h"]
    assert told == ["transform dropped t its transform says so"] * 2


def test_a_transform_that_fails_leaves_the_message_as_it_is() -> None:
    made, _, told = mediation(f"t={HERE}:to_kelvin", f"w={HERE}:wrong")
    (kept,) = made.apply([Incoming(None, "t", b"no number", headers=(("x", "y"),))])
    assert (kept.payload, kept.headers) == (b"no number", (("x", "y"),))
    assert told[0].startswith("transform failed t carried as it is (JSONDecodeError")
    for what in ("payload", "headers", "names"):
        (kept,) = made.apply([Incoming(None, "w", b"1", headers=(("what", what),))])
        assert (kept.payload, kept.headers) == (b"1", (("what", what),))
    assert made.counts["w"] == {"failed": 3}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("t", "write TOPIC=package.module:function"),
        ("t=json", "write package.module:function"),
        ("t=json:nothing", "cannot be imported"),
        ("t=no.such.module:f", "cannot be imported"),
        ("t=json:__name__", "it is no function"),
    ],
)
def test_a_transform_that_cannot_be_used_is_refused_at_the_start(given: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        transforms_of([given])
    with pytest.raises(UsageError, match="has one already"):
        transforms_of(["t=json:loads", "t=json:dumps"])
