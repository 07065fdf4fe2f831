r"""The NATS protocol as bytes, both for clients and for leaf nodes.

>>> parser = Parser()
>>> parser.feed(b"MSG a.b 1 5\r\nhel")
([], [])
>>> parser.feed(b"lo\r\nPING\r\n")
([(b'a.b', b'1', b'', b'', b'hello')], [b'PING'])
"""

import re

from ropewalk.agent.brokers.contract import Headers

Message = tuple[bytes, bytes, bytes, bytes, bytes]
"""Subject, number of the subscription (clients only), reply subject, header block, payload."""

LONGEST_LINE = 65_536
"""A control line that is longer is no NATS."""
HEADER_LINE = "NATS/1.0"
MSG_ID = "Nats-Msg-Id"
"""The header with a client's own id of a message."""
CRLF = b"\r\n"


class ProtocolError(Exception):
    """What came is not what a NATS server says."""


class Parser:
    """Cuts a stream of bytes into messages and other lines."""

    __slots__ = ("_leaf", "_rest")

    def __init__(self, *, leaf: bool = False) -> None:
        self._rest, self._leaf = b"", leaf

    def feed(self, data: bytes) -> tuple[list[Message], list[bytes]]:
        """All messages and all other lines that are complete by now."""
        data = self._rest + data if self._rest else data
        messages: list[Message] = []
        lines: list[bytes] = []
        at, total, find, leaf = 0, len(data), data.find, self._leaf
        head = (_LEAF if leaf else _CLIENT).match
        while True:
            plain = head(data, at)
            if plain is not None:  # most messages: no headers, no queue groups
                start = plain.end()
                subject, sid, reply, size = plain.groups(b"")
                stop = start + int(size)
                if stop + 2 > total:
                    break
                messages.append((subject, sid, reply, b"", data[start:stop]))
                at = stop + 2
                continue
            end = find(CRLF, at)
            if end < 0:
                if total - at > LONGEST_LINE:
                    raise ProtocolError("a line without end")
                break
            line = data[at:end]
            kind = line[:4]
            if kind not in _MESSAGES:
                if line:
                    lines.append(line)
                at = end + 2
                continue
            parts = line.split()
            start = end + 2
            stop = start + int(parts[-1])
            if stop + 2 > total:
                break
            split = start + int(parts.pop(-2)) if kind == b"HMSG" else start
            if leaf:
                sid, reply = b"", _reply_of_leaf(parts) if len(parts) > 3 else b""
            else:  # SUBJECT SID [REPLY] SIZE
                sid, reply = parts[2], parts[3] if len(parts) > 4 else b""
            messages.append((parts[1], sid, reply, data[start:split], data[split:stop]))
            at = stop + 2
        self._rest = data[at:]
        return messages, lines


_CLIENT = re.compile(rb"MSG (\S+) (\S+) (?:(\S+) )?(\d+)\r\n")
_LEAF = re.compile(rb"LMSG (\S+)() (?:(\S+) )?(\d+)\r\n")
"""Subject, number of the subscription, reply subject, size."""
_ID_ONLY = re.compile(rb"NATS/1\.0\r\nNats-Msg-Id: (\S+)\r\n\r\n")
_MESSAGES = frozenset({b"MSG ", b"LMSG", b"HMSG"})


def _reply_of_leaf(parts: list[bytes]) -> bytes:
    """`SUBJECT REPLY SIZE`; `+ REPLY QUEUE...` or `| QUEUE...` where queue groups are concerned."""
    if parts[2] == b"|":
        return b""
    return parts[3] if parts[2] == b"+" else parts[2]


def status_of(headers: bytes) -> int:
    r"""The status of a header block, such as 503 for no responders; 0 if it has none.

    >>> status_of(b"NATS/1.0 503\r\n\r\n"), status_of(b"NATS/1.0\r\nA: b\r\n\r\n")
    (503, 0)
    """
    status = headers[8:].lstrip(b" ")[:3] if headers[8:9] == b" " else b""
    return int(status) if status.isdigit() else 0


def read_headers(block: bytes) -> Headers:
    r"""Names and values of a header block.

    >>> read_headers(b"NATS/1.0\r\nA: b\r\nA:c\r\n\r\n")
    (('A', 'b'), ('A', 'c'))
    """
    only = _ID_ONLY.fullmatch(block)
    if only is not None:  # as of most that have any: 0.6 us instead of 2
        return ((MSG_ID, only[1].decode("utf-8", "replace")),)
    found = []
    for line in block.decode("utf-8", "replace").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            found.append((name, value.strip()))
    return tuple(found)


def write_headers(headers: Headers) -> bytes:
    r"""A header block.

    >>> write_headers((("A", "b"),))
    b'NATS/1.0\r\nA: b\r\n\r\n'
    """
    lines = [HEADER_LINE, *(f"{_token(name)}: {_one_line(value)}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _token(name: str) -> str:
    return _one_line(name).replace(":", "_")


def _one_line(text: str) -> str:
    """A header cannot hold line breaks: other makes' can."""
    return text.replace("\r", " ").replace("\n", " ")
