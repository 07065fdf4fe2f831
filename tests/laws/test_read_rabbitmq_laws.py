"""Laws of reading RabbitMQ's definitions: it never raises, tells no secret, and writing undoes it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.export.rabbitmq import write_rabbitmq
from ropewalk.federation.facts import Bridge, Broker, Federation, Prefixes
from ropewalk.federation.readers.drafts import Address, BridgeDraft, Drafts
from ropewalk.federation.readers.json_text import parse_json
from ropewalk.federation.readers.rabbitmq import read_rabbitmq
from ropewalk.federation.readers.shell import Shell
from ropewalk.federation.readers.shell_text import MOST

EXAMPLES = Path(__file__).parents[2] / "examples" / "native" / "rabbitmq"
FILES = sorted(EXAMPLES.rglob("*.json"))
SECRET = "hunter2"
URIS = [
    f"amqp://fed:{SECRET}@far.example.net/%2f",
    f"amqp://fed:{SECRET}@far/a/b",
    f"amqps://{SECRET}@[::1]:1/",
    f"amqp://a:{SECRET}@b@c",
    f"encrypted:{SECRET}",
    f"http://u:{SECRET}@x",
]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70000),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([*URIS, "", "/", "a.#.b", "(", "^.*", "(a+)+$", "[[:x:]]", "#", "\x00", "é/+"]),
    st.builds(list),
    st.builds(dict),
    st.builds(lambda: [[]]),
    st.builds(lambda: [{}]),
    st.lists(st.sampled_from(URIS), max_size=3),
)
KEYS = st.sampled_from(
    ["uri", "name", "vhost", "value", "pattern", "unknown", "exchange", "max-hops"]
)


def read(text: str, host: str = "east") -> Drafts:
    drafts = Drafts()
    read_rabbitmq(parse_json(text), f"{host}.json", host, drafts)
    return drafts


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a document."""
    found = [path] if path else []
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in inner:
            found += places(one, (*path, key))
    return found


@st.composite
def broken(draw: st.DrawFn) -> str:
    """An example with some of its places changed."""
    document = json.loads(draw(st.sampled_from(FILES)).read_text())
    for _ in range(draw(st.integers(1, 6))):
        every = places(document)
        *path, last = draw(st.sampled_from(every))
        at = document
        for step in path:
            at = at[step]
        how = draw(st.sampled_from(["value", "drop", "key", "swap", "twice"]))
        if how == "value":
            at[last] = draw(VALUES)
        elif how == "drop":
            del at[last]
        elif how == "twice" and isinstance(at, list):
            at.append(at[last])
        elif how == "swap":
            value = at[last]
            at[last] = list(value.values()) if isinstance(value, dict) else {"x": value}
        elif isinstance(at, dict):
            at[draw(KEYS)] = draw(VALUES)
        if not places(document):
            break
    return json.dumps(document, indent=1)


@given(broken())
def test_reading_never_raises_and_tells_no_secret(text: str) -> None:
    drafts = read(text)
    assert SECRET not in repr(drafts)
    assert len({one.name for one in drafts.brokers}) == len(drafts.brokers)
    names = {one.name for one in drafts.brokers}
    for one in drafts.bridges:
        assert one.at in names
        assert one.far in names if isinstance(one.far, str) else one.far
        assert one.max_hops is None or one.max_hops >= 1
    assert all("\n" not in one.message for one in drafts.findings)


@given(st.sampled_from(FILES), st.data())
def test_no_unknown_key_is_dropped_in_silence(path: Path, data: st.DataObject) -> None:
    document = json.loads(path.read_text())
    maps = [one for one in places(document) if isinstance(value_at(document, one), dict)]
    quiet = ("users", "permissions", "topic_permissions", "metadata", "arguments")
    place = data.draw(st.sampled_from([(), *(one for one in maps if not {*one} & {*quiet})]))
    value_at(document, place)["never-heard-of"] = 1
    assert any("never-heard-of" in one.message for one in read(json.dumps(document)).findings)


def value_at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


# --- writing ----------------------------------------------------------------------------------


def joined(drafts: Drafts, server: str) -> Federation:
    """Drafts as a federation: every address is a broker of its own."""
    brokers = {
        one.name: Broker(make="rabbitmq", server=server, space=one.space or None)
        for one in drafts.brokers
    }

    def end(far: Address) -> str:
        name = f"{far.space}-{far.host}-{far.port}"
        url = f"{'amqps' if far.secure else 'amqp'}://{far.host}:{far.port}"
        brokers[name] = Broker(make="rabbitmq", url=url, space=far.space or None)
        return name

    def bridge(one: BridgeDraft) -> Bridge:
        ends = [one.far] if isinstance(one.far, str) else [end(far) for far in one.far]
        return Bridge(
            from_=one.at,
            to=ends[0],
            addresses=tuple(ends[1:]),
            name=one.name,
            kind=one.kind,
            patterns=one.patterns,
            except_=one.excepts,
            direction=one.direction,
            qos=one.qos,
            prefixes=Prefixes(local=one.local, remote=one.remote),
            max_hops=one.max_hops,
            choice=one.choice,
        )

    bridges = tuple(bridge(one) for one in drafts.bridges)
    return Federation(name="x", brokers=brokers, bridges=bridges)


def facts(drafts: Drafts) -> tuple[Any, ...]:
    """Drafts apart from lines and the order in which they come."""
    bridges = {repr(joined_one) for joined_one in joined(drafts, "x").bridges}
    return sorted((one.name, one.space) for one in drafts.brokers), bridges


@pytest.mark.parametrize("path", FILES, ids=lambda one: f"{one.parent.name}-{one.stem}")
@pytest.mark.parametrize("keep", [True, False])
def test_what_is_written_reads_back_the_same(path: Path, keep: bool) -> None:
    text = path.read_text()
    first = read(text, path.stem)
    made, told = write_rabbitmq(joined(first, path.stem), path.stem, text if keep else None)
    queues = any(one.get("src-queue") for one in json.loads(text)["parameters"])
    assert facts(read(made, path.stem)) == facts(first) or queues
    assert not any("exactly" in one or "still there" in one for one in told)
    if keep:
        assert json.loads(made) == json.loads(text)
        assert told == []


@given(st.sampled_from([one for one in FILES if one.parent.name != "shovel"]), st.data())
def test_changes_are_written_into_the_original(path: Path, data: st.DataObject) -> None:
    text = path.read_text()
    federation = joined(read(text, path.stem), path.stem)
    bridges = list(federation.bridges)
    i = data.draw(st.integers(0, len(bridges) - 1))
    how = data.draw(st.sampled_from(["hops", "exchange", "new", "qos"]))
    if how == "hops":
        bridges[i] = replace(bridges[i], max_hops=7)
    elif how == "qos":
        bridges[i] = replace(bridges[i], qos=0)
    elif how == "exchange":
        bridges[i] = replace(
            bridges[i], prefixes=Prefixes(local=bridges[i].prefixes.local, remote="x/")
        )
    else:
        fresh = Prefixes(local="news/", remote="news/")
        bridges.append(replace(bridges[i], prefixes=fresh, name="fresh", max_hops=3))
    wanted = replace(federation, bridges=tuple(bridges))
    made, told = write_rabbitmq(wanted, path.stem, text)
    found = {repr(one) for one in joined(read(made, path.stem), path.stem).bridges}
    inexact = [one for one in told if "exactly" in one or "still there" in one]
    assert bool(inexact) == (found != {repr(one) for one in wanted.bridges})
    assert how == "new" or not inexact
    old, new = json.loads(text), json.loads(made)
    assert all(new[key] == old[key] for key in ("users", "permissions", "queues", "bindings"))
    assert "fed@" in made


@given(st.text("abf $(){}'\"\\\n;|&<>#!=-[]`:", max_size=120))
def test_no_script_raises_and_words_have_lines_of_the_text(text: str) -> None:
    for command in Shell().commands(text):
        for word in command.words:
            assert 1 <= word.line <= text.count("\n") + 1


@pytest.mark.parametrize(
    "text", ["f() { f; f; }; f", "for a in 1 2 3; do " * 12 + "x" + "; done" * 12]
)
def test_a_script_that_would_run_for_ever_ends_here(text: str) -> None:
    assert len(list(Shell().commands(text))) <= MOST
