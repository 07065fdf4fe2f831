"""Populations: the file and its faults, each semantics by hand, stories and what they refuse."""

from dataclasses import replace
from pathlib import Path

import pytest

from ropewalk.errors import PopulationError, StoryError, UsageError
from ropewalk.verify.population.clients import load_population, population, reduce, reduced
from ropewalk.verify.population.clients.facts import Link, Population
from ropewalk.verify.population.clients.replaying import Choice, Replay
from ropewalk.verify.population.clients.telling import Story, told
from ropewalk.verify.population.run import Run

EXAMPLES = Path(__file__).parents[2] / "examples" / "population"
ELECTION = load_population(EXAMPLES / "leader-election.yaml")
FILE = """\
population: news
semantics: local
messages: [hot, cold]
topics:
  desk: {echo: false}
brokers: [north, south]
links: [north -- south]
clients:
  reader:
    count: 2+
    start: new
    connection: reconnects
    returns: new
    at: [north, south]
    steps:
      - new -> reading: {subscribe: desk}
      - reading -> told: {when: {received: hot, not_received: cold}, forget: [hot]}
  writer:
    count: 1
    start: idle
    steps:
      - idle -> idle: {publish: hot, on: desk}
      - idle -> gone
bad:
  unread: {kind: reader, in: reading, at_least: 2, missed: hot}
"""


def faults(text: str) -> list[str]:
    with pytest.raises(PopulationError) as caught:
        population(text, file="p.yaml")
    return [str(one) for one in caught.value.findings]


# --- the file -----------------------------------------------------------------------------------


def test_a_population_is_read_as_it_is_written() -> None:
    one = population(FILE, file="p.yaml")
    assert (one.name, one.messages, one.brokers) == ("news", ("hot", "cold"), ("north", "south"))
    assert one.links == (Link(("north", "south"), frozenset({"desk"})),)
    reader, writer = one.kinds.values()
    assert (reader.least, reader.open, writer.least, writer.open) == (2, True, 1, False)
    assert reader.states == ("new", "reading", "told")
    assert (reader.connection, reader.session, reader.returns) == ("reconnects", "kept", "new")
    assert (writer.connection, writer.at) == ("stable", ("north", "south"))
    step = reader.steps[1]
    assert (step.source, step.target, step.line) == ("reading", "told", 17)
    assert (step.received, step.not_received, step.forget) == tuple(
        map(frozenset, (["hot"], ["cold"], ["hot"]))
    )
    assert (writer.steps[0].publish, writer.steps[0].on) == ("hot", "desk")
    [need] = one.patterns["unread"].needs
    assert (set(need.kinds), set(need.states), need.at_least) == ({"reader"}, {"reading"}, 2)
    assert (set(need.missed), need.connected, set(need.at)) == ({"hot"}, None, set())
    assert population(FILE.replace("links: [north -- south]\n", "")).links == ()


def test_what_stands_at_the_top_holds_where_nothing_else_is_said() -> None:
    text = FILE.replace("semantics: local", "semantics: retained\necho: true\nsession: clean")
    one = population(text.replace("{echo: false}", "").replace("returns: new", "session: kept"))
    assert (one.topics["desk"].semantics, one.topics["desk"].echo) == ("retained", True)
    assert [kind.session for kind in one.kinds.values()] == ["kept", "clean"]


def test_semantics_from_outside_hold_for_all_topics() -> None:
    one = population(FILE, semantics="global")
    assert one.topics["desk"].splits
    with pytest.raises(UsageError, match="did you mean 'global'"):
        population(FILE, semantics="globl")


def test_a_kind_of_a_need_may_follow_from_its_state() -> None:
    one = population(FILE.replace("kind: reader, ", ""))
    assert one.patterns["unread"].needs[0].kinds == {"reader"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("population: news", "population:", "1: N003 the population's name is empty: write pop"),
        ("semantics: local", "semantic: local", "2: N004 the file: 'semantic' is not known: did"),
        ("semantics: local", "semantics: loca", "2: N010 semantics is 'loca': did you mean 'local'"),
        ("semantics: local", "semantics:", "2: N010 semantics is empty: write local or retained"),
        ("semantics: local", "semantics: 7", "2: N010 semantics is 7: write local or retained or"),
        ("messages: [hot, cold]", "messages: {}", "3: N003 messages: there is no list of names"),
        ("messages: [hot, cold]", "messages: [hot, cold", "3: N002 "),
        ("messages:", "population: x\nmessages:", "3: N002 'population' is written twice"),
        ("{echo: false}", "{echo: maybe}", "5: N010 topic desk: echo is 'maybe': write true or f"),
        ("{echo: false}", "{ecko: false}", "5: N004 topic desk: 'ecko' is not known: did you mean"),
        ("{echo: false}", "loud", "5: N003 topic desk is 'loud', no map: write semantics, retain"),
        ("{echo: false}", "{retain: one}", "5: N010 topic desk: retain is 'one': write last, all"),
        ("links: [north -- south]", "links: north", "7: N003 links is no list: write links: [A --"),
        ("north -- south]", "north -- north]", "7: N012 this link does not join two brokers: wri"),
        ("north -- south]", "north -- suth]", "7: N012 no broker is called 'suth': did you mean"),
        ("north -- south]", "north -- south, south -- north]", "7: N012 south -- north is there"),
        ("- south]", "- south, {between: [north, south], topics: dask}]", "7: N007 no topic is ca"),
        ("count: 2+", "count: some", "10: N011 count is 'some': write any, 3 (exactly three) or"),
        ("count: 2+", "count: 0", "10: N011 count is 0: write any"),
        ("count: 2+", "count: true", "10: N011 count is True: write any"),
        ("count: 2+", "count: 20000", "10: N011 count is 20000: write at most 10,000, or any"),
        ("start: new", "stat: new", "9: N003 reader: start is missing: write start: STATE"),
        ("start: new", "stat: new", "11: N004 reader: 'stat' is not known: did you mean 'start'"),
        ("connection: reconnects", "connection: breaks", "13: N010 returns goes with connection"),
        ("returns: new", "returns: nwe", "13: N006 no state is called 'nwe': did you mean 'new'?"),
        ("at: [north, south]", "at: [nort]", "14: N012 no broker is called 'nort': did you mean"),
        ("brokers: [north, south]\nlinks: [north -- south]\n", "", "12: N012 there are no brokers"),
        ("reading: {sub", "reading -> x: {sub", "16: N005 'new -> reading -> x' is not one arrow"),
        ("subscribe: desk", "subscribe: dusk", "16: N007 no topic is called 'dusk': did you mean"),
        ("subscribe: desk", "subscrib: desk", "16: N004 the step: 'subscrib' is not known: did"),
        ("subscribe: desk", "subscribe: []", "16: N003 subscribe: there is no list of names: wri"),
        ("subscribe: desk", "subscribe: desk, publish: hot, on: desk", "16: N005 a step does one"),
        ("received: hot", "received: hat", "17: N008 no message is called 'hat': did you mean"),
        ("not_received: cold", "not_received: hot", "17: N005 'hot' cannot be received and not"),
        ("received: hot", "receved: hot", "17: N004 when: 'receved' is not known: did you mean"),
        ("forget: [hot]", "forget: [hit]", "17: N008 no message is called 'hit'"),
        ("publish: hot, on: desk", "publish: hot", "22: N005 publish and on go together: write {"),
        ("publish: hot", "publish: hut", "22: N008 no message is called 'hut': did you mean 'hot'"),
        ("on: desk}", "on: disc}", "22: N007 no topic is called 'disc'"),
        ("on: desk}", "on: }", "22: N003 on is empty: write {publish: MESSAGE, on: TOPIC}"),
        ("idle -> gone", "[idle]", "23: N005 this is no step: write - FROM -> TO"),
        ("idle -> gone", "lost -> gone", "23: N006 writer: no steps lead from 'idle' to the stat"),
        ("kind: reader", "kind: readr", "25: N009 no kind is called 'readr': did you mean 'reader"),
        ("in: reading", "in: idle", "25: N006 no state is called 'idle': use new, reading, told"),
        ("at_least: 2", "at_least: 0", "25: N011 at_least is 0: write a number from 1 to 200"),
        ("at_least: 2", "atleast: 2", "25: N004 a need of a bad pattern: 'atleast' is not known"),
        ("missed: hot", "missed: hot, connected: 1", "25: N010 connected is 1: write true or fal"),
        ("missed: hot", "received: hot, not_received: hot", "25: N009 'hot' is in received and i"),
        ("{kind: reader, in: reading, at_least: 2, missed: hot}", "[]", "25: N009 unread needs n"),
        ("bad:\n", "bad: {}\nbud:\n", "24: N003 bad names nothing that must never be: write bad"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, said: str) -> None:
    assert old in FILE
    told = faults(FILE.replace(old, new, 1))
    assert any(one.startswith(f"p.yaml:{said}") for one in told), told


def test_every_fault_is_told_at_once_in_the_order_of_the_lines() -> None:
    text = FILE.replace("missed: hot", "missed: hit").replace("count: 2+", "count: lots")
    assert [one.split(" ")[0] for one in faults(text)] == ["p.yaml:10:", "p.yaml:25:"]


@pytest.mark.parametrize("text", ["", "# nothing", "just words", "- a list", "[" * 9999])
def test_a_text_that_is_no_population_is_refused(text: str) -> None:
    assert all(one.startswith(("p.yaml:1: N002", "p.yaml:1: N003")) for one in faults(text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PopulationError, match=r"nowhere\.yaml: N001 cannot be read"):
        load_population(tmp_path / "nowhere.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PopulationError, match="N001 this is not text: save the population as UTF"):
        load_population(tmp_path / "bytes.yaml")


def test_the_page_shows_a_population() -> None:
    page = (Path(__file__).parents[2] / "docs" / "population.md").read_text("utf-8")
    [first, *_] = page.split("```yml\n")[1:]
    shown = population(first.split("```")[0])
    assert reduce(shown, "two-leaders").net.targets == reduce(ELECTION, "two-leaders").net.targets
    assert (shown.name, shown.messages) == (ELECTION.name, ELECTION.messages)


# --- the net ------------------------------------------------------------------------------------


def test_only_places_that_can_be_reached_are_made() -> None:
    one = reduce(ELECTION, "two-leaders")
    assert one.net.places == (
        "node in listening, on lead",
        "node in leader",
        "node in listening, on lead, has claim",
    )
    [rule] = one.net.rules
    assert rule.name == "node in listening, on lead: listening -> leader, publishes claim on lead"
    # One leaves for leader; all others are transferred to who has the claim, without that one.
    assert (rule.needs, rule.moves, rule.changes) == (((0, 1),), ((0, 2),), ((1, 1), (2, -1)))
    assert (one.net.targets, one.net.labels) == ((((1, 2),),), ("two-leaders",))
    assert (one.net.start, set(one.net.open)) == ((0, 0, 0), {0})
    assert one.clients({0: 3}) == {"node": 3}


def test_a_division_of_subscribers_has_a_lock_and_two_phases() -> None:
    text = (EXAMPLES / "leader-election.yaml").read_text()
    one = reduce(population(text, semantics="global"), "two-leaders")
    assert {"open to all", "choosing who fails: claim on lead"} <= set(one.net.places)
    assert one.net.start[one.net.places.index("open to all")] == 1
    assert not one.net.moving


def test_messages_that_nobody_asks_for_have_no_places() -> None:
    more = ", ".join(f"m{i}" for i in range(12))
    steps = "\n".join(
        f"      - listening -> listening: {{publish: m{i}, on: lead}}" for i in range(12)
    )
    text = (EXAMPLES / "leader-election.yaml").read_text()
    text = text.replace("[claim]", f"[claim, {more}]", 1).replace(
        "    steps:\n", f"    steps:\n{steps}\n"
    )
    assert len(reduce(population(text), "two-leaders").net.places) == 3


def test_a_population_that_is_too_large_says_so() -> None:
    names = [f"m{i}" for i in range(24)]
    steps = [
        f"a -> a: {{publish: {one}, on: t}}, a -> b: {{when: {{received: {one}}}}}" for one in names
    ]
    text = (
        f"{{population: p, messages: [{', '.join(names)}], topics: t, bad: {{x: {{in: b}}}},"
        f" clients: {{k: {{start: a, subscribed: t, steps: [{', '.join(steps)}]}}}}}}"
    )
    with pytest.raises(PopulationError, match=r"N013 for x it has more than 1,000 (rules|places)"):
        reduce(population(text), "x", most=1_000)


def test_a_pattern_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="has no bad pattern 'two-leader': did you mean"):
        reduce(ELECTION, "two-leader")


def test_many_targets_are_left_to_a_judge() -> None:
    one = reduce(ELECTION, "two-leaders", targets=0)
    [target] = one.net.targets
    assert [one.net.places[place] for place, _ in target] == ["found for need 1"]
    assert any(rule.name == "judge" for rule in one.net.rules)


def test_clients_of_exact_number_are_placed_before_all_else() -> None:
    text = FILE.replace("at_least: 2, ", "").replace("count: 2+", "count: 3")
    one = reduce(population(text), "unread")
    waiting = one.net.places.index("reader without a broker")
    assert one.net.start[waiting] == 3
    assert one.net.start[one.net.places.index("before all else")] == 1
    assert one.clients({waiting: 3}) == {"reader": 3, "writer": 1}


# --- semantics, by hand -------------------------------------------------------------------------

BY_HAND = """\
population: hand
semantics: SEMANTICS
messages: [m, n]
topics: {t: {OPTIONS}}
clients:
  a:
    count: any
    start: out
    CONNECTION
    steps:
      - out -> in: {subscribe: t}
      - in -> out: {unsubscribe: t}
      - in -> in: {publish: m, on: t}
      - in -> in: {publish: n, on: t}
      - in -> in: {forget: [m, n]}
bad:
  x: {in: in}
"""


def playing(semantics: str, *, options: str = "", connection: str = "reconnects") -> Replay:
    """Three clients of which two are subscribed."""
    text = BY_HAND.replace("SEMANTICS", semantics).replace("OPTIONS", options)
    model = population(text.replace("CONNECTION", f"connection: {connection}"))
    play = Replay(model, [("a", "")] * 3)
    for client in (0, 1):
        play.play(Choice("step", client, model.kinds["a"].steps[0]))
    return play


def do(
    play: Replay,
    client: int,
    number: int,
    *,
    reach: frozenset[int] = frozenset(),
    fail: frozenset[int] = frozenset(),
) -> None:
    step = play.population.kinds["a"].steps[number]
    play.play(Choice("step", client, step, reach=reach, fail=fail))


def got(play: Replay) -> list[str]:
    return ["".join(sorted(one.got)) for one in play.members]


def test_local_all_connected_subscribers_but_the_publisher_receive() -> None:
    play = playing("local")
    do(play, 0, 2)
    assert got(play) == ["", "m", ""]
    play.play(Choice("cut", 1))
    do(play, 0, 3)
    assert got(play) == ["", "m", ""]
    assert play.members[1].missed == {"n"}
    play.play(Choice("back", 1))
    do(play, 0, 3)
    assert (got(play), play.members[1].missed) == (["", "mn", ""], set())


def test_echo_reaches_the_publisher_if_it_is_subscribed() -> None:
    play = playing("local", options="echo: true")
    do(play, 0, 2)
    assert got(play) == ["m", "m", ""]


@pytest.mark.parametrize(("retain", "late"), [("last", "n"), ("all", "mn")])
def test_retained_messages_come_with_the_subscription(retain: str, late: str) -> None:
    play = playing("retained", options=f"retain: {retain}")
    do(play, 0, 2)
    do(play, 1, 3)
    assert got(play) == ["n", "m", ""]
    do(play, 2, 0)
    assert got(play)[2] == late
    assert play.happened[-1].retained == list(late)


def test_global_some_are_reached_some_are_not_some_fail() -> None:
    play = playing("global")
    do(play, 2, 0)
    do(play, 0, 2, reach=frozenset({1}), fail=frozenset({2}))
    assert (got(play), [one.on for one in play.members]) == (["", "m", ""], [True, True, False])
    do(play, 0, 3)
    assert [sorted(one.missed) for one in play.members] == [[], ["n"], ["m", "n"]]


def test_asynchronous_notifications_come_later_in_any_order_or_are_lost() -> None:
    play = playing("local", options="notification: asynchronous")
    do(play, 0, 2)
    do(play, 0, 3)
    play.play(Choice("deliver", 1, topic="t", message="n"))
    assert got(play) == ["", "n", ""]
    play.play(Choice("cut", 1))
    assert (play.members[1].missed, play.members[1].due) == ({"m"}, set())
    play.play(Choice("back", 1))
    with pytest.raises(StoryError, match="this is not under way to it"):
        play.play(Choice("deliver", 1, topic="t", message="m"))


def test_sessions_differ_in_what_brokers_keep() -> None:
    left = {}
    for session in ("kept", "clean", "queued"):
        play = playing("local", connection=f"reconnects\n    session: {session}")
        play.play(Choice("cut", 1))
        do(play, 0, 2)
        one = play.members[1]
        left[session] = sorted(one.topics), sorted(one.due), sorted(one.missed)
    assert left == {
        "kept": (["t"], [], ["m"]),
        "clean": ([], [], []),
        "queued": (["t"], [("t", "m")], []),
    }


def test_messages_pass_from_broker_to_broker() -> None:
    model = population(FILE)
    play = Replay(model, [("reader", "south"), ("reader", "north"), ("writer", "north")])
    reader, writer = model.kinds.values()
    for client in (0, 1):
        play.play(Choice("step", client, reader.steps[0]))
    play.play(Choice("step", 2, writer.steps[0]))
    assert [sorted(one.got) for one in play.members] == [[], ["hot"], []]
    play.play(Choice("arrive", topic="desk", message="hot", way=("north", "south")))
    assert [sorted(one.got) for one in play.members] == [["hot"], ["hot"], []]
    with pytest.raises(StoryError, match="no such message is on its way"):
        play.play(Choice("arrive", topic="desk", message="hot", way=("south", "north")))


# --- what a replay refuses ----------------------------------------------------------------------


def test_the_replay_refuses_what_the_model_does_not_allow() -> None:
    play = playing("local", connection="stable")
    for choice, why in (
        (Choice("cut", 0), "its connection is stable"),
        (Choice("back", 0), "it is connected"),
        (Choice("deliver", 0, topic="t", message="m"), "this is not under way to it"),
        (Choice("step", 2, play.population.kinds["a"].steps[2]), "it is in out, not in"),
        (Choice("step", 0), "its kind has no such step"),
        (Choice("arrive", topic="t", message="m", way=("", "")), "no such message is on its way"),
    ):
        with pytest.raises(StoryError, match=why):
            play.play(choice)
    with pytest.raises(StoryError, match="this topic does not divide its subscribers"):
        do(play, 0, 2, reach=frozenset({1}))
    with pytest.raises(StoryError, match="it is silent"):
        do(playing("global"), 2, 0, reach=frozenset({1}))
    with pytest.raises(StoryError, match="one client is reached and fails"):
        do(playing("global"), 0, 2, reach=frozenset({1}), fail=frozenset({1}))
    with pytest.raises(StoryError, match="who is named is no connected subscriber"):
        do(playing("global"), 0, 2, fail=frozenset({2}))
    play = playing("local")
    play.play(Choice("cut", 0))
    with pytest.raises(StoryError, match="it is not connected"):
        do(play, 0, 2)


def told_of(model: Population, *steps: tuple[int, int]) -> Story:
    """Nodes of an election that take the steps of these numbers."""
    [kind], [pattern] = model.kinds.values(), model.patterns.values()
    choices = [Choice("step", client, kind.steps[step]) for client, step in steps]
    return told(model, pattern, [(kind.name, "")] * 3, choices)


def test_a_story_has_to_end_badly_and_its_guards_have_to_hold() -> None:
    with pytest.raises(StoryError, match="the run does not end in two-leaders"):
        told_of(ELECTION, (0, 0))
    with pytest.raises(StoryError, match="it has received what it must not"):
        told_of(ELECTION, (0, 0), (1, 0))
    with pytest.raises(StoryError, match="it has not received what it needs"):
        told_of(ELECTION, (0, 1))


def test_as_many_clients_have_to_be_there_as_the_model_says() -> None:
    model = population(FILE)
    with pytest.raises(StoryError, match="there cannot be 1 clients of reader"):
        told(model, model.patterns["unread"], [("reader", "north"), ("writer", "north")], [])
    with pytest.raises(StoryError, match="writer cannot be at east"):
        Replay(model, [("writer", "east")])


def test_a_run_without_its_clients_is_refused() -> None:
    with pytest.raises(StoryError, match="the run has no client there"):
        reduce(ELECTION, "two-leaders").tell(Run({0: 1}, ((0, 2),)))


def test_needs_are_met_by_different_clients() -> None:
    play = playing("local")
    pattern = population(FILE).patterns["unread"]
    need = replace(pattern.needs[0], kinds=frozenset({"a"}), states=frozenset(), missed=frozenset())
    anyone, within = replace(need, at_least=1), replace(need, at_least=2, states=frozenset({"in"}))
    found = play.bad(replace(pattern, needs=(anyone, within)))
    assert found == [2, 0, 1] or found == [2, 1, 0]
    assert play.bad(replace(pattern, needs=(replace(need, at_least=4),))) is None


# --- stories ------------------------------------------------------------------------------------


def test_two_leaders_are_told() -> None:
    text = (EXAMPLES / "leader-election.yaml").read_text()
    model = population(text, semantics="global")
    story = told_of(model, (2, 0), (0, 0))
    assert (story.bad, story.clients) == ("two-leaders", {"node": 2})
    assert story.lines == [
        "node 1 (listening -> leader) publishes claim on lead: node 2 misses it",
        "node 2 (listening -> leader) publishes claim on lead: node 1 misses it",
        "two-leaders: node 1 and node 2 are in leader",
    ]
    assert story.witness[0] == {
        "what": "step", "client": "node 1", "from": "listening", "to": "leader", "line": 16,
        "publish": "claim", "on": "lead", "missed": ["node 2"],
    }  # fmt: skip


def test_what_many_do_is_told_once_and_long_lines_are_folded() -> None:
    text = BY_HAND.replace("SEMANTICS", "global").replace("OPTIONS", "").replace("CONNECTION", "")
    text = text.replace(
        "x: {in: in}", "x: [{in: in, received: m, at_least: 12}, {connected: false}]"
    )
    model = population(text)
    steps = model.kinds["a"].steps
    choices = [Choice("step", client, steps[0]) for client in range(20)]
    reach = frozenset(range(1, 13))
    choices.append(Choice("step", 0, steps[2], reach=reach, fail=frozenset({13, 14})))
    story = told(model, model.patterns["x"], [("a", "")] * 20, choices)
    assert story.clients == {"a": 14}
    assert story.lines == [
        "a 1, a 2, a 3 and 11 more (out -> in) subscribe to t",
        "a 1 (in) publishes m on t: a 2, a 3, a 4 and 9 more receive it, a 5 fails",
        "x: a 2, a 3, a 4 and 9 more are in in and have received m; a 5 is",
        "  disconnected",
    ]


def test_lost_connections_and_retained_messages_are_told() -> None:
    text = BY_HAND.replace("SEMANTICS", "retained").replace("OPTIONS", "")
    text = text.replace(
        "CONNECTION", "connection: reconnects\n    session: queued\n    returns: in"
    )
    text = text.replace("x: {in: in}", "x: {in: out, received: [m, n], connected: false}")
    model = population(text)
    steps = model.kinds["a"].steps
    choices = [
        Choice("step", 0, steps[0]),
        Choice("step", 0, steps[2]),
        Choice("step", 1, steps[0]),
        Choice("cut", 1),
        Choice("step", 0, steps[3]),
        Choice("back", 1),
        Choice("deliver", 1, topic="t", message="n"),
        Choice("step", 1, steps[1]),
        Choice("cut", 1),
    ]
    story = told(model, model.patterns["x"], [("a", "")] * 2, choices)
    assert story.lines == [
        "a 1 (out -> in) subscribes to t",
        "a 1 (in) publishes m on t: nobody else is subscribed",
        "a 2 (out -> in) subscribes to t and gets m, retained",
        "a 2 loses its connection",
        "a 1 (in) publishes n on t: it is on its way to a 2",
        "a 2 comes back in in",
        "n on t reaches a 2",
        "a 2 (in -> out) unsubscribes from t",
        "a 2 loses its connection",
        "x: a 2 is in out, is disconnected and has received m and n",
    ]


def test_a_story_is_told_without_what_its_end_does_not_need() -> None:
    text = (EXAMPLES / "leader-election.yaml").read_text()
    text = text.replace("two-leaders: {in: leader, at_least: 2}", "one: {in: follower}")
    story = told_of(population(text), (0, 0), (1, 1), (2, 1))
    assert story.clients == {"node": 2}
    assert story.lines == [
        "node 1 (listening -> leader) publishes claim on lead: node 2 receives it",
        "node 2 (listening -> follower)",
        "one: node 2 is in follower",
    ]


def test_a_run_that_ends_within_a_publication_is_told_to_its_end() -> None:
    text = (EXAMPLES / "alarm.yaml").read_text()
    [one] = reduced(population(text, semantics="global"))
    start = {i: count for i, count in enumerate(one.net.start) if count}
    start[one.net.places.index("guard in watching, on alarms")] = 1
    [publish] = [i for i, act in enumerate(one.acts) if act.what == "step" and act.step
                 and act.step.publish == "alarm" and "has" not in one.net.rules[i].name]  # fmt: skip
    story = one.tell(Run(start, ((publish, 1),)))
    assert story.lines[0] == "sensor (quiet -> raised) publishes alarm on alarms: guard misses it"
