"""Words that are larger than a broker takes at once: cut into pieces, and put together again.

A lane keeps order, and what is lost is lost to the end of a connection; so a piece says only
whether more follows. A word whose first pieces were lost is dropped: the core sends it again if it
matters.

>>> desk = Desk()
>>> [desk.join("a", piece) for piece in cut(b"hello", 2)]
[None, None, b'hello']
"""

from collections.abc import Iterator

PIECE_BYTES = 256 << 10
"""Well below what brokers take by default (NATS: 1 MiB)."""
MOST_BYTES = 256 << 20

WHOLE, FIRST, MIDDLE, LAST = b"w", b"f", b"m", b"l"


def cut(word: bytes, most: int = PIECE_BYTES) -> Iterator[bytes]:
    """A word in pieces, each marked."""
    if len(word) <= most:
        yield WHOLE + word
        return
    for at in range(0, len(word), most):
        mark = FIRST if at == 0 else LAST if at + most >= len(word) else MIDDLE
        yield mark + word[at : at + most]


class Desk:
    """Where pieces are put together, by whom they come from."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: dict[object, list[bytes]] = {}

    def join(self, sender: object, piece: bytes) -> bytes | None:
        """The word that a piece completes; None if there is none."""
        mark, body = piece[:1], piece[1:]
        if mark == WHOLE:
            return body
        if mark == FIRST:
            self._parts[sender] = [body]
            return None
        parts = self._parts.get(sender)
        if parts is None:
            return None
        parts.append(body)
        if mark == LAST:
            return b"".join(self._parts.pop(sender))
        if sum(map(len, parts)) > MOST_BYTES:
            del self._parts[sender]
        return None

    def forget(self, sender: object) -> None:
        """What a sender began it will not go on with: its connection is a new one."""
        self._parts.pop(sender, None)
