"""AMQP 0-9-1 frames: what a read brought, in one pass, and what a publication looks like.

Only the four methods that come or go with every message are written here; all others go through
`pamqp`, which is thorough, and ten times slower.
"""

from collections.abc import Iterator
from functools import lru_cache
from struct import Struct as Layout
from typing import Any

from msgspec import Struct
from pamqp import frame as pamqp_frame

METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
END = b"\xce"
BEAT = b"\x08\x00\x00\x00\x00\x00\x00\xce"

_FRAME = Layout(">BHI")
_TAG = Layout(">Q")
_CONTENT = Layout(">HHQ")
_INDEX = Layout(">I")
_ACK = Layout(">BHIIQBB")
_DELIVER, _RETURN, _CONFIRM, _DENY = 0x003C003C, 0x003C0032, 0x003C0050, 0x003C0078
_PUBLISH_HEAD = b"\x00\x3c\x00\x28\x00\x00"
_OVERHEAD_BYTES = 8


class Content(Struct, gc=False):
    """A message from the broker: a delivery, or a publication that came back (tag 0)."""

    channel: int
    tag: int
    key: str
    properties: bytes = b""
    """Flags and values as they came; `properties` reads them."""
    body: bytes = b""
    missing: int = 0


class Confirm(Struct, gc=False):
    """The broker's word on publications: up to a number, or that one."""

    channel: int
    tag: int
    multiple: bool
    taken: bool


class Method(Struct, gc=False):
    """Any other method."""

    channel: int
    frame: Any


Item = Content | Confirm | Method


class Reader:
    """Turn bytes into items; what is incomplete waits for the next read."""

    def __init__(self) -> None:
        self._rest = b""
        self._open: dict[int, Content] = {}
        self._parts: dict[int, list[bytes]] = {}

    def feed(self, data: bytes) -> list[Item]:
        """All that is complete now; ValueError if it is not AMQP."""
        if self._rest:
            data = self._rest + data
        found: list[Item] = []
        at, end = 0, len(data)
        while end - at >= _OVERHEAD_BYTES:
            kind, channel, size = _FRAME.unpack_from(data, at)
            stop = at + 7 + size
            if stop >= end:
                break
            if data[stop] != END[0]:
                raise ValueError("what came is not an AMQP frame")
            item = self._item(kind, channel, data, at + 7, stop)
            if item is not None:
                found.append(item)
            at = stop + 1
        self._rest = data[at:]
        return found

    def _item(self, kind: int, channel: int, data: bytes, at: int, stop: int) -> Item | None:
        if kind == METHOD:
            return self._method(channel, data, at, stop)
        if kind == HEADER:
            content = self._open[channel]
            content.missing = _CONTENT.unpack_from(data, at)[2]
            content.properties = data[at + 12 : stop]
        elif kind == BODY:
            content = self._open[channel]
            self._body(content, data[at:stop])
        else:
            return None
        return None if content.missing else self._open.pop(channel)

    def _body(self, content: Content, part: bytes) -> None:
        content.missing -= len(part)
        if content.missing:
            self._parts.setdefault(content.channel, []).append(part)
        elif content.channel in self._parts:
            content.body = b"".join((*self._parts.pop(content.channel), part))
        else:
            content.body = part

    def _method(self, channel: int, data: bytes, at: int, stop: int) -> Item | None:
        (index,) = _INDEX.unpack_from(data, at)
        if index == _DELIVER:
            at += 5 + data[at + 4]
            (tag,) = _TAG.unpack_from(data, at)
            at += 9
            key = _short(data, at + 1 + data[at])
            self._open[channel] = Content(channel, tag, key)
            return None
        if index in (_CONFIRM, _DENY):
            (tag,) = _TAG.unpack_from(data, at + 4)
            return Confirm(channel, tag, bool(data[at + 12] & 1), index == _CONFIRM)
        if index == _RETURN:
            at += 7 + data[at + 6]
            self._open[channel] = Content(channel, 0, _short(data, at + 1 + data[at]))
            return None
        return Method(channel, pamqp_frame.unmarshal(data[at - 7 : stop + 1])[2])


def _short(data: bytes, at: int) -> str:
    return data[at + 1 : at + 1 + data[at]].decode("utf-8", "replace")


def ack(channel: int, tag: int, multiple: bool) -> bytes:
    """The acknowledgement of a delivery, or of all up to it."""
    return _ACK.pack(METHOD, channel, 13, _CONFIRM, tag, multiple, END[0])


@lru_cache(16384)
def publish(channel: int, exchange: str, key: str, mandatory: bool = False) -> bytes:
    """The method frame of a publication; the same for all on one topic."""
    where = b"".join(bytes((len(one),)) + one for one in (exchange.encode(), key.encode()))
    payload = b"%b%b%c" % (_PUBLISH_HEAD, where, mandatory)
    return _FRAME.pack(METHOD, channel, len(payload)) + payload + END


def content(channel: int, properties: bytes, body: bytes, frame_max: int) -> bytes:
    """The frames that follow: the header and the body, cut to the size that was agreed."""
    size = len(body)
    head = _FRAME.pack(HEADER, channel, 12 + len(properties)) + _CONTENT.pack(60, 0, size)
    if not size:
        return head + properties + END
    if size <= frame_max - _OVERHEAD_BYTES:
        return b"".join((head, properties, END, _FRAME.pack(BODY, channel, size), body, END))
    return b"".join((head, properties, END, *_pieces(channel, body, frame_max - _OVERHEAD_BYTES)))


def _pieces(channel: int, body: bytes, most: int) -> Iterator[bytes]:
    for at in range(0, len(body), most):
        part = body[at : at + most]
        yield _FRAME.pack(BODY, channel, len(part))
        yield part
        yield END
