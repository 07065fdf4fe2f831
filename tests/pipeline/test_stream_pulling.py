"""Messages by their numbers, against a real server: the same each time, and none missed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from ropewalk.errors import UsageError
from ropewalk.pipeline.stream.pulling import (
    Extent,
    Message,
    Place,
    extent,
    format_of,
    pieces,
    pulled,
)
from tests.pipeline.nats_server import binary, delete, make, send, server

pytestmark = pytest.mark.skipif(binary() is None, reason="no nats-server is installed")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server(tmp_path_factory.mktemp("nats")) as url:
        yield url


def pull(place: Place, first: int, last: int) -> list[tuple[str, bytes]]:
    return asyncio.run(pulled(place, first, last))


def test_a_range_gives_its_messages_and_the_same_ones_again(url: str) -> None:
    make(url, "PLAIN")
    send(url, "PLAIN", [b'{"n": %d}' % n for n in range(1, 1301)])
    place = Place(url, "PLAIN")
    assert asyncio.run(extent(place)) == Extent(1, 1300)
    ((path, content),) = pull(place, 101, 1250)
    assert path == "jetstream/PLAIN/101-1250.jsonl"
    assert content == b"".join(b'{"n": %d}\n' % n for n in range(101, 1251))
    send(url, "PLAIN", [b"{}"])
    assert pull(place, 101, 1250) == [(path, content)]


def test_a_subject_chooses(url: str) -> None:
    make(url, "MIXED")
    for at in range(6):
        send(url, "MIXED", [b"%d" % at], subject="a" if at % 3 else "b")
    assert pull(Place(url, "MIXED", "MIXED.b"), 1, 6) == [("jetstream/MIXED/1-4.jsonl", b"0\n3\n")]
    assert pull(Place(url, "MIXED", "MIXED.b"), 5, 6) == []


def test_compressed_and_parquet_messages_stand_alone() -> None:
    found = pieces("T", [Message(1, b"a"), Message(2, b"PAR1x"), Message(3, b"\x1f\x8bz")])
    assert [path for path, _ in found] == [
        "jetstream/T/1.jsonl",
        "jetstream/T/2.parquet",
        "jetstream/T/3.jsonl.gz",
    ]
    assert format_of("T", Message(1, b"PAR1", "jsonl")) == "jsonl"
    with pytest.raises(UsageError, match=r"message 4: Ropewalk-Format is 'xml'"):
        format_of("T", Message(4, b"", "xml"))


def test_deleted_messages_are_a_fault_or_are_noted(url: str) -> None:
    make(url, "SHORT", max_msgs=10)
    send(url, "SHORT", [b"%d" % n for n in range(1, 21)])
    delete(url, "SHORT", 15)
    with pytest.raises(UsageError, match="messages 5 to 10, 15 to 15 were deleted"):
        pull(Place(url, "SHORT"), 5, 20)
    found = dict(pull(Place(url, "SHORT", gaps="skip"), 5, 20))
    assert list(found) == [
        "jetstream/SHORT/11-20.jsonl",
        "jetstream/SHORT/gap-5-10.jsonl",
        "jetstream/SHORT/gap-15-15.jsonl",
    ]
    assert b"15" not in found["jetstream/SHORT/11-20.jsonl"].splitlines()


def test_what_is_not_there_is_told(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="stream NONE: stream not found"):
        asyncio.run(extent(Place(url, "NONE")))
    with pytest.raises(UsageError, match="no NATS server lets us in"):
        asyncio.run(extent(Place("nats://127.0.0.1:1", "NONE")))
