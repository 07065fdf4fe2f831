"""AMQP bytes there and back, against pamqp; acknowledgements and confirms, counted."""

import itertools
import random
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from pamqp import body, commands, frame, header

from ropewalk.agent.brokers.rabbitmq import frames, properties
from ropewalk.agent.brokers.rabbitmq.frames import Confirm, Content, Method, Reader
from ropewalk.agent.brokers.rabbitmq.layout import Layout
from ropewalk.agent.brokers.rabbitmq.ledger import Acks, Confirms
from ropewalk.federation.topics import common

Properties = commands.Basic.Properties


def message(method: Any, channel: int, payload: bytes, **said: Any) -> bytes:
    parts = [method, header.ContentHeader(0, len(payload), Properties(**said))]
    parts += [body.ContentBody(payload[at : at + 5]) for at in range(0, len(payload), 5)]
    return b"".join(frame.marshal(one, channel) for one in parts)


STREAM = b"".join(
    (
        message(commands.Basic.Deliver("tag", 7, True, "amq.topic", "a.b"), 1, b"0123456789ab"),
        frames.BEAT,
        frame.marshal(commands.Basic.Ack(9, True), 2),
        frame.marshal(commands.Basic.Nack(3), 2),
        message(commands.Basic.Return(312, "NO_ROUTE", "_rw", "b1"), 3, b""),
        frame.marshal(commands.Basic.QosOk(), 3),
        message(commands.Basic.Deliver("", 8, False, "", "ü"), 1, b"x", message_id="m"),
    )
)


@pytest.mark.parametrize("step", [1, 3, 10, len(STREAM)])
def test_a_stream_reads_the_same_however_it_is_cut(step: int) -> None:
    reader = Reader()
    cuts = [STREAM[at : at + step] for at in range(0, len(STREAM), step)]
    found = list(itertools.chain.from_iterable(reader.feed(one) for one in cuts))
    assert isinstance(found[4], Method)
    assert isinstance(found[4].frame, commands.Basic.QosOk)
    del found[4]
    assert found == [
        Content(1, 7, "a.b", b"\x00\x00", b"0123456789ab"),
        Confirm(2, 9, True, True),
        Confirm(2, 3, False, False),
        Content(3, 0, "b1", b"\x00\x00"),
        Content(1, 8, "ü", b"\x00\x80\x01m", b"x"),
    ]


@pytest.mark.parametrize(
    "wrong", [b"HTTP/1.1 400 Bad Request", b"AMQP\x00\x00\x09\x01", STREAM[1:]]
)
def test_what_is_not_amqp_is_refused_or_waits(wrong: bytes) -> None:
    try:
        assert Reader().feed(wrong) == []
    except ValueError as error:
        assert "not an AMQP frame" in str(error)


@pytest.mark.parametrize("size", [0, 1, 100, 92, 93, 1000])
def test_a_publication_is_what_pamqp_makes_of_it(size: int) -> None:
    payload, said = b"x" * size, Properties(delivery_mode=2)
    parts: list[Any] = [
        commands.Basic.Publish(exchange="amq.topic", routing_key="a.b", mandatory=True),
        header.ContentHeader(0, size, said),
        *(body.ContentBody(payload[at : at + 92]) for at in range(0, size, 92)),
    ]
    ours = frames.publish(4, "amq.topic", "a.b", True)
    ours += frames.content(4, properties.write((), lasting=True), payload, 100)
    assert ours == b"".join(frame.marshal(one, 4) for one in parts)
    assert frames.ack(4, 2**40, True) == frame.marshal(commands.Basic.Ack(2**40, True), 4)


def test_every_kind_of_header_becomes_text() -> None:
    table: dict[str, Any] = {
        "s": "ä",
        "i": -5,
        "b": False,
        "none": None,
        "raw": bytearray(b"raw"),
        "list": [1, "x"],
        "table": {"k": 1},
        "when": datetime(2024, 1, 1, tzinfo=UTC),
        "CC": ["d.x"],
        "x-mqtt-dup": True,
    }
    said = Properties(headers=table, message_id="m", user_id="u", priority=4, app_id="app")
    assert properties.read(said_bytes(said)) == (
        (
            ("app-id", "app"),
            ("b", "false"),
            ("i", "-5"),
            ("list", '[1, "x"]'),
            ("none", "null"),
            ("raw", "raw"),
            ("s", "ä"),
            ("table", '{"k": 1}'),
            ("when", "2024-01-01 00:00:00+00:00"),
        ),
        "m",
        "u",
        4,
    )


def said_bytes(said: Any) -> bytes:
    return bytes(header.ContentHeader(0, 0, said).marshal()[12:])


def test_a_value_of_no_known_type_costs_the_headers_after_it_and_no_more() -> None:
    raw = said_bytes(Properties(headers={"a": "1", "b": 2, "c": "3"}, message_id="m"))
    broken = raw.replace(b"\x01b" + raw[raw.index(b"\x01b") + 2 :][:1], b"\x01b\x7f")
    assert properties.read(broken) == ((("a", "1"),), "m", "", None)


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("expiration", "1000", True),
        ("expiration", "-1", False),
        ("expiration", "99999999999", False),
        ("timestamp", "1700000000", True),
        ("timestamp", "today", False),
        ("content-type", "x" * 255, True),
        ("content-type", "x" * 256, False),
    ],
)
def test_a_property_that_the_broker_would_refuse_stays_a_header(
    name: str, value: str, taken: bool
) -> None:
    raw = properties.write(((name, value), ("CC", "no"), ("n" * 256, "no")), id="m", priority=999)
    found = header.ContentHeader()
    found.unmarshal(b"\x00\x3c" + bytes(10) + raw)
    said = found.properties
    assert (said.headers or {}) == ({} if taken else {name: value})
    assert (getattr(said, name.replace("-", "_")) is not None) is taken
    assert (said.message_id, said.priority) == ("m", 255)
    assert properties.read(raw)[0] == ((name, value),)


def test_no_pattern_of_a_client_matches_the_second_key_unless_it_matches_the_topic() -> None:
    layout = Layout(me="b", client="b.1", exchange="amq.topic", durable=(), live=())
    patterns = ["/".join(one) for n in (1, 2, 3, 4) for one in itertools.product("a+#", repeat=n)]
    for pattern in (one for one in patterns if "#" not in one[:-1]):
        for topic in ("a", "a/a", "b/a", "a//c", "a/b/c/d"):
            second = layout.second_key(topic).replace(".", "/")
            assert common(pattern, second) is None or common(pattern, topic) == topic


def test_acknowledgements_name_only_what_is_open_and_cover_all() -> None:
    draw = random.Random(8)
    acks, open_tags = Acks(1), set(range(1, 301))
    left = list(open_tags)
    draw.shuffle(left)
    while left:
        some = [left.pop() for _ in range(min(len(left), draw.randint(1, 9)))]
        for data in acks.settle([*some, *some]):
            (found,) = Reader().feed(data)
            assert isinstance(found, Confirm)
            assert found.tag in open_tags, "the broker closes the channel"
            open_tags -= set(range(found.tag + 1)) if found.multiple else {found.tag}
        assert open_tags == set(left), "acknowledged exactly what was settled"


def test_confirms_count_the_first_ones_through_denials_and_what_is_skipped() -> None:
    counts = Confirms()
    for one in (b"1", b"2", b"3"):
        counts.sent(one)
    counts.skipped()
    counts.sent(b"5")
    assert counts.heard(Confirm(1, 3, False, True)) == []
    assert counts.first == 0
    denied = counts.heard(Confirm(1, 2, True, False))
    assert denied == [(1, b"1"), (2, b"2")]
    counts.again(denied)
    assert counts.heard(Confirm(1, 5, True, True)) == []
    assert (counts.first, len(counts)) == (1, 1)
    assert counts.heard(Confirm(1, 6, False, True)) == []
    assert counts.heard(Confirm(1, 6, False, True)) == []
    assert (counts.first, len(counts)) == (5, 0)


def test_without_the_extra_the_next_step_is_said() -> None:
    program = (
        "import sys; sys.modules['pamqp'] = None\n"
        "from ropewalk.errors import UsageError\n"
        "try:\n    import ropewalk.agent.brokers.rabbitmq\n"
        "except UsageError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert "pip install 'ropewalk[rabbitmq]'" in done.stdout
