"""The MQTT 5 codec: what is written is read again, however the bytes are split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from ropewalk.agent.brokers.contract import Headers
from ropewalk.agent.brokers.mqtt import packets, properties
from ropewalk.agent.brokers.mqtt.headers import properties_of, told
from ropewalk.agent.brokers.mqtt.packets import Ack, Answer, Packet, Publish, Reader

TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
TOPIC = st.text("abc/ü.", min_size=1, max_size=200)
HEADERS = st.lists(st.tuples(TEXT.map("x-".__add__), TEXT), max_size=3).map(tuple)
PUBLISH = st.builds(
    Publish,
    topic=TOPIC,
    payload=st.binary(max_size=40) | st.sampled_from([bytes(n) for n in (120, 130, 16_390)]),
    headers=HEADERS,
    subscriptions=st.just(()),
    qos=st.integers(0, 2),
    retain=st.booleans(),
    dup=st.booleans(),
    packet_id=st.integers(1, 65_535),
)
ACK = st.builds(
    Ack,
    st.sampled_from([packets.PUBACK, packets.PUBREC, packets.PUBREL, packets.PUBCOMP]),
    st.integers(1, 65_535),
)


def written(packet: Packet) -> bytes:
    if isinstance(packet, Ack):
        return packets.ack(packet.kind, packet.packet_id)
    flags = packet.retain | packet.qos << 1 | packet.dup << 3
    start, payload = packets.publish(
        packets.topic_bytes(packet.topic),
        packet.payload,
        properties_of(packet.headers),
        flags,
        packet.packet_id,
    )
    return start + payload


def whole(packet: Packet) -> Packet:
    """A packet without what its QoS does not send."""
    if isinstance(packet, Publish) and packet.qos == 0:
        packet.packet_id = 0
    return packet


@given(st.lists(PUBLISH.map(whole) | ACK, max_size=6), st.data())
def test_packets_survive_any_split_of_the_stream(sent: list[Packet], data: st.DataObject) -> None:
    stream = b"".join(written(one) for one in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader, found = Reader(), list[Packet]()
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[start:end])
    assert found == sent


def test_packets_survive_when_they_come_byte_by_byte() -> None:
    sent: list[Packet] = [Publish("a", b"x" * 200, qos=1, packet_id=7), Ack(packets.PUBACK, 9)]
    reader, found = Reader(), list[Packet]()
    for byte in b"".join(written(one) for one in sent):
        found += reader.feed(bytes((byte,)))
    assert found == sent


def test_a_payload_of_megabytes_is_read_from_pieces() -> None:
    packet = Publish("a", bytes(3_000_000))
    stream, reader = written(packet), Reader()
    pieces = [stream[at : at + 65_536] for at in range(0, len(stream), 65_536)]
    found = [one for piece in pieces for one in reader.feed(piece)]
    assert found == [packet]


KINDS = {
    1: st.integers(0, 255),
    2: st.integers(0, 65_535),
    4: st.integers(0, 2**32 - 1),
}
PROPERTY = st.one_of(
    st.tuples(st.just(properties.PAYLOAD_FORMAT), KINDS[1]),
    st.tuples(st.just(properties.RECEIVE_MAXIMUM), KINDS[2]),
    st.tuples(st.sampled_from([properties.EXPIRY_S, properties.SESSION_EXPIRY_S]), KINDS[4]),
    st.tuples(st.sampled_from([properties.CONTENT_TYPE, properties.REASON]), TEXT),
    st.tuples(st.just(properties.CORRELATION), st.binary(max_size=20)),
    st.tuples(st.just(properties.SUBSCRIPTION), st.integers(1, 0xFFFFFFF)),
    st.tuples(st.just(properties.USER), st.tuples(TEXT, TEXT)),
)


@given(st.lists(PROPERTY, max_size=6).map(tuple))
def test_properties_come_back(given: properties.Properties) -> None:
    length, at = properties.read_varint(properties.encoded(given), 0)
    body = properties.encoded(given)[at:]
    assert length == len(body)
    assert properties.decoded(body) == given


@given(st.binary(max_size=60))
def test_bytes_that_are_no_packets_are_refused_and_nothing_else_happens(data: bytes) -> None:
    reader = Reader()
    try:
        reader.feed(data)
    except (ValueError, IndexError):
        return
    assert all(isinstance(one, Answer) for one in reader.answers)


@given(st.lists(st.tuples(st.text(max_size=10), st.text(max_size=10)), max_size=4).map(tuple))
def test_any_header_can_be_written(headers: Headers) -> None:
    body = properties_of(headers)
    found, _ = told(body[properties.read_varint(body, 0)[1] :])
    assert len(found) == len(headers)


@pytest.mark.parametrize(
    "headers",
    [
        (("content-type", "text/plain"), ("correlation-id", "7"), ("reply-to", "a/b")),
        (("correlation-id-base64", "/wA="), ("message-expiry", "60"), ("payload-format", "1")),
        (("content-type", "one"), ("content-type", "two"), ("x", "")),
        (("message-expiry", "soon"), ("reply-to", "a/+"), ("payload-format", "9")),
    ],
)
def test_headers_have_their_own_properties_where_mqtt_has_some(headers: Headers) -> None:
    body = properties_of(headers)[1:]
    assert told(body)[0] == headers


def test_control_characters_are_written_so_that_mosquitto_takes_them() -> None:
    assert told(properties_of((("a\nb", "c\0"),))[1:])[0] == (("a%0Ab", "c%00"),)


def test_properties_are_those_that_paho_writes() -> None:
    theirs = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    theirs.UserProperty = [("k", "v"), ("k", "w")]
    theirs.ContentType = "text/plain"
    theirs.CorrelationData = b"\xff"
    body = bytes(theirs.pack())[1:]  # type: ignore[no-untyped-call]
    assert sorted(told(body)[0]) == [
        ("content-type", "text/plain"),
        ("correlation-id-base64", "/w=="),
        ("k", "v"),
        ("k", "w"),
    ]


def test_a_refusal_says_why() -> None:
    reason = properties.encoded([(properties.REASON, "not you")])
    body = b"\x00\x87" + reason
    reader = Reader()
    reader.feed(b"\x20" + bytes((len(body),)) + body)
    assert reader.answers[0].why == "not authorised (not you)"
