"""Words as bytes and back: what crosses a link, and what lies in a log.

Bodies of items and notes are of many kinds; each carries its tag, so that it comes back as what it
was. Raises msgspec's errors for bytes that are no word, or one that makes no sense: an agent drops
them and says so.
"""

from functools import cache
from typing import Any, Union

import msgspec

from ropewalk.overlay.sense import makes_sense
from ropewalk.overlay.words import LINKS, Flood, Frame, Item, LinkStates, Note, Receipt, Wire, Word

_encoder = msgspec.msgpack.Encoder()


def encode(word: Wire) -> bytes:
    """A word, or a record, as bytes."""
    return _encoder.encode(word)


def decode(data: bytes) -> Word:
    """The word that bytes stand for."""
    word: Word = _decoder().decode(data)
    if isinstance(word, Flood):
        word = Flood(tuple(map(_item, word.items)))
    elif isinstance(word, Frame) and (word.items or word.notes):
        items, notes = tuple(map(_item, word.items)), tuple(map(_note, word.notes))
        word = msgspec.structs.replace(word, items=items, notes=notes)
    if not makes_sense(word):
        raise msgspec.ValidationError(f"a {type(word).__name__} that makes no sense")
    return word


def decode_record(data: bytes) -> Any:
    """The record that bytes of a log stand for."""
    record = _records().decode(data)
    return _item(record) if isinstance(record, Item) else record


def _item(item: Item) -> Item:
    if item.kind != LINKS:
        return item
    return msgspec.structs.replace(item, body=msgspec.convert(item.body, LinkStates))


def _note(note: Note) -> Note:
    return msgspec.structs.replace(note, body=msgspec.convert(note.body, _notes()))


@cache
def _decoder() -> "msgspec.msgpack.Decoder[Word]":
    return msgspec.msgpack.Decoder(Word)


@cache
def _notes() -> Any:
    """Every kind of note; found here, so that `words` need not know the parts."""
    from ropewalk.overlay.council import words as council
    from ropewalk.overlay.interests import Ask, Heed
    from ropewalk.overlay.managing import NeedsTerm
    from ropewalk.overlay.order import notes as order

    said = (order.Ask, order.Tail, order.Fenced, order.Join, order.Begin, order.Begun)
    more = (order.Stable, order.Had, order.Vouch, order.Vouched)
    return _union(Receipt, Heed, Ask, NeedsTerm, *said, *more, *council.NOTES)


@cache
def _records() -> "msgspec.msgpack.Decoder[Any]":
    from ropewalk.overlay.council import words as council
    from ropewalk.overlay.lane import Done, Kept
    from ropewalk.overlay.order import notes as order
    from ropewalk.overlay.order.release import Came
    from ropewalk.overlay.retained import Value

    home = (order.Opened, order.Numbered, order.Admitted, order.Steady, order.Excluded)
    reader = (order.Join, order.Left, order.Kept, order.Begin, order.Promised, order.Stable)
    more = (order.Vowed, order.Reading)
    return msgspec.msgpack.Decoder(
        _union(Item, Kept, Done, Came, Value, *home, *reader, *more, *council.RECORDS)
    )


def _union(*kinds: type) -> Any:
    return Union[kinds]  # noqa: UP007  (made of a tuple)
