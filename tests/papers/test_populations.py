"""Delzanno 2019: each rule of the paper, as far as it can be told apart from outside."""

from itertools import count

import pytest

from ropewalk.verify.population.clients import population, reduce
from ropewalk.verify.population.engine.deciding import decide
from ropewalk.verify.population.engine.verdict import Safe, Unsafe

HEAD = """
population: paper
semantics: {semantics}
messages: [m, n]
topics: [t]
clients:
  speaker:
    count: {speakers}
    start: ready
    subscribed: [t]
    steps: [ready -> said: {{publish: m, on: t}}, said -> over: {{publish: n, on: t}}]
  listener:
    start: away
    connection: {connection}
    steps: [away -> here: {{subscribe: t}}, here -> away: {{unsubscribe: t}}]
{more}
bad:
  bad: {bad}
"""


def unsafe(
    bad: str,
    *,
    semantics: str = "local",
    speakers: str = "1",
    connection: str = "stable",
    more: str = "",
) -> int:
    """With how many clients it can be bad; 0 if it cannot, whatever their number."""
    text = HEAD.format(
        semantics=semantics, speakers=speakers, connection=connection, more=more, bad=bad
    )
    net = reduce(population(text), "bad")
    clock = (0.001 * one for one in count()).__next__
    answer = decide(net.net, clock, 60.0)
    if isinstance(answer, Unsafe):
        return sum(net.tell(answer.run).clients.values())
    assert isinstance(answer, Safe)
    return 0


def test_a_publication_reaches_all_connected_subscribers_but_not_who_publishes() -> None:
    """Publish: gamma' = Add_m(t, xi) + mu, of the others."""
    assert unsafe("[{kind: speaker, in: said, received: m}]") == 0
    assert unsafe("[{kind: speaker, in: said, received: m}]", speakers="2") == 2
    assert unsafe("[{kind: speaker, received: m}]", more="echo: true") == 1
    assert unsafe("[{kind: listener, in: away, received: m}]") == 2  # until it unsubscribes


def test_who_subscribes_later_gets_what_is_retained() -> None:
    """Subscribe_r: b and g(s1)."""
    missing = "[{kind: speaker, in: over}, {kind: listener, in: here, not_received: [%s]}]"
    assert unsafe(missing % "n") == 2
    assert unsafe(missing % "n", semantics="retained") == 0
    assert unsafe(missing % "m", semantics="retained") == 2  # MQTT keeps the last alone
    assert unsafe(missing % "m", semantics="retained", more="retain: all") == 0


def test_publish_e_divides_subscribers_into_three() -> None:
    """eta_r receive, eta_n do not, eta_f fail: all of these by one publication."""
    three = (
        "[{kind: speaker, in: said}, {kind: listener, in: here, connected: true, received: m},"
        " {kind: listener, in: here, connected: true, never_received: m},"
        " {kind: listener, in: here, connected: false}]"
    ).replace("never_received", "not_received")
    assert unsafe(three, semantics="global") == 4
    # handled locally nobody fails; who has not received it has subscribed since
    assert unsafe(three) == 0


@pytest.mark.parametrize(
    ("connection", "clients"), [("stable", 0), ("breaks", 0), ("reconnects", 2)]
)
def test_who_is_disconnected_takes_no_step(connection: str, clients: int) -> None:
    """Disconnection leads to a state that no rule of the paper leads out of."""
    bad = "[{kind: speaker, in: over}, {kind: listener, in: here, received: n, not_received: m}]"
    late = """
  late:
    start: off
    connection: %s
    subscribed: [t]
    steps: [off -> on: {when: {received: n, not_received: m}}]"""
    alone = "[{kind: speaker, in: over}, {kind: late, in: on}]"
    assert unsafe(alone, connection=connection, more=late % connection) == clients
    assert unsafe(bad) == 2  # who subscribes between the two


def test_never_received_is_not_upward_closed_in_their_order() -> None:
    """b1 within b2 puts a client that has received m above one that has not: equality does not."""
    net = reduce(
        population(
            HEAD.format(
                semantics="local",
                speakers="1",
                connection="stable",
                more="",
                bad="[{kind: listener, in: here, not_received: m}]",
            )
        ),
        "bad",
    )
    names = {net.net.places[place] for target in net.net.targets for place, _ in target}
    assert names
    assert not any("received m" in name for name in names)
