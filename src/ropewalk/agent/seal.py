"""Seals on the words between agents: who said it, to whom, over which link, and that it is new.

All agents of a federation share one key. A sealed word is

    version, link, incarnation, lengths of the names, sender, receiver, counter, length, word, MAC

and everything before the MAC is under it, so that a word for one agent is worth nothing at another.
The counter rises with every word of a life, and the incarnation with every life: what is not newer
than the last that came from the same sender over the same link is refused. A receiver that was
restarted has forgotten what was the last: the sessions of the overlay's own words cover that.

The MAC is keyed BLAKE2b, 16 bytes: four times as fast as HMAC-SHA256 on a word of 100 bytes. A word
of more than 1 KiB goes into it by its SHA-256, which processors have in hardware: twice as fast at
16 KiB. The length that is under the MAC tells the two apart.
"""

import os
import struct
from collections.abc import Callable
from hashlib import blake2b, sha256
from hmac import compare_digest
from pathlib import Path

from msgspec import Struct

from ropewalk.errors import UsageError

VERSION = 1
FORGED, REPLAYED, MALFORMED, NOT_FOR_ME = "forged", "replayed", "malformed", "not for me"
_MAC_BYTES = 16
_LONG_BYTES = 1024
_LEAST_KEY_BYTES = 16
_FRONT = struct.Struct(">BIQHH")
_COUNT = struct.Struct(">QI")
_LEAST_BYTES = _FRONT.size + _COUNT.size + _MAC_BYTES


class Opened(Struct, frozen=True, gc=False):
    """A word that is what it says."""

    link: int
    sender: str
    payload: bytes


class Seal:
    """Seals one agent's words, and opens those that come to it."""

    def __init__(self, key: bytes, me: str, incarnation: int) -> None:
        self.me, self.incarnation = me, incarnation
        self.refused = dict.fromkeys((FORGED, REPLAYED, MALFORMED, NOT_FOR_ME), 0)
        """How many words were not opened, by reason."""
        # The text of a key may be longer than the 64 bytes that BLAKE2b takes.
        derived = blake2b(key, digest_size=32, person=b"ropewalk key").digest()
        self._empty = blake2b(key=derived, digest_size=_MAC_BYTES, person=b"ropewalk word")
        self._me = me.encode()
        self._counter = 0
        self._fronts: dict[tuple[int, str], bytes] = {}
        self._last: dict[tuple[bytes, int], tuple[int, int]] = {}

    def seal(self, link: int, to: str, word: bytes) -> bytes:
        """A word for the agent at the other end of a link."""
        front = self._fronts.get((link, to)) or self._front(link, to)
        self._counter += 1
        head = front + _COUNT.pack(self._counter, len(word))
        return b"".join((head, word, self._mac(head, word)))

    def open(self, data: bytes) -> Opened | None:
        """The word, if it is genuine, new and for this agent; `refused` counts the others."""
        if len(data) < _LEAST_BYTES:
            return self._refuse(MALFORMED)
        version, link, incarnation, sender_bytes, receiver_bytes = _FRONT.unpack_from(data)
        middle = _FRONT.size + sender_bytes
        end = middle + receiver_bytes
        start = end + _COUNT.size
        length = len(data) - start - _MAC_BYTES
        if length < 0 or version != VERSION:
            return self._refuse(MALFORMED)
        counter, said = _COUNT.unpack_from(data, end)
        if said != length:
            return self._refuse(MALFORMED)
        word = data[start:-_MAC_BYTES]
        if not compare_digest(self._mac(data[:start], word), data[-_MAC_BYTES:]):
            return self._refuse(FORGED)
        sender = data[_FRONT.size : middle]
        if data[middle:end] != self._me or sender == self._me:
            return self._refuse(NOT_FOR_ME)
        if not self._is_new((sender, link), (incarnation, counter)):
            return self._refuse(REPLAYED)
        return Opened(link, sender.decode(), word)

    def _mac(self, head: bytes, word: bytes) -> bytes:
        mac = self._empty.copy()
        mac.update(head + (word if len(word) <= _LONG_BYTES else sha256(word).digest()))
        return mac.digest()

    def _is_new(self, place: tuple[bytes, int], newest: tuple[int, int]) -> bool:
        if newest <= self._last.get(place, (0, 0)):
            return False
        self._last[place] = newest
        return True

    def _front(self, link: int, to: str) -> bytes:
        if to == self.me:
            raise UsageError(f"{to} would seal a word to itself: name the other end of the link")
        receiver = to.encode()
        numbers = _FRONT.pack(VERSION, link, self.incarnation, len(self._me), len(receiver))
        front = self._fronts[link, to] = numbers + self._me + receiver
        return front

    def _refuse(self, why: str) -> Opened | None:
        self.refused[why] += 1
        return None


def read_key(where: str) -> bytes:
    """The agents' shared key, from `env:NAME` or `file:PATH`, without white space around it.

    Raises UsageError if it is not there, too short, or if others can read its file.
    """
    kind, _, place = where.partition(":")
    readers: dict[str, Callable[[str], bytes]] = {"env": _from_variable, "file": _from_file}
    if kind not in readers or not place:
        raise UsageError(f"{where!r} is no place of a key: write env:NAME or file:PATH")
    key = readers[kind](place).strip()
    if len(key) < _LEAST_KEY_BYTES:
        raise UsageError(
            f"the key in {where} has {len(key)} bytes, at least {_LEAST_KEY_BYTES} are needed: "
            "make one with `openssl rand -hex 32` and give it to every agent"
        )
    return key


def _from_variable(name: str) -> bytes:
    text = os.environb.get(os.fsencode(name))
    if text is None:
        raise UsageError(
            f"the variable {name} is not set: put the agents' shared key into it, "
            f"such as `export {name}=$(openssl rand -hex 32)`, the same for every agent"
        )
    return text


def _is_credential(path: Path) -> bool:
    """Whether systemd put it there: it lets one user in by an ACL, which shows as the group's."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return bool(folder) and path.absolute().parent == Path(str(folder))


def _from_file(name: str) -> bytes:
    path = Path(name)
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & (0o007 if _is_credential(path) else 0o077):
                raise UsageError(f"others may read the key in {path}: run `chmod 600 {path}`")
            return file.read()
    except OSError as error:
        raise UsageError(
            f"the key file {path} cannot be read ({error.strerror}): "
            f"make one with `openssl rand -hex 32 > {path}; chmod 600 {path}`, "
            "and give every agent the same"
        ) from error
