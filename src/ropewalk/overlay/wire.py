"""Words as bytes and back: what crosses a link, and what lies in a log.

Bodies of items and notes are of many kinds; each carries its tag, so that it comes back as what it
was. Raises msgspec's errors for bytes that are no word, or one that makes no sense: an agent drops
them and says so.
"""

from collections.abc import Sequence
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


def encode_records(records: Sequence[Any]) -> bytes:
    """Several records as bytes, in one go: what a log writes together."""
    return _encoder.encode(records)


def decode_records(data: bytes | memoryview) -> list[Any]:
    """The records that were encoded together."""
    records = _record_lists().decode(data)
    return [_item(one) if isinstance(one, Item) else one for one in records]


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
    from ropewalk.overlay.council.loads import Load
    from ropewalk.overlay.draining import Mark, Marked
    from ropewalk.overlay.interests import Absent, Ask, Heed
    from ropewalk.overlay.order import notes as order

    said = (order.Ask, order.Tail, order.Fenced, order.Join, order.Begin, order.Begun)
    more = (order.Stable, order.Had, order.Vouch, order.Vouched, order.NeedsTerm)
    near = (Mark, Marked, Load)
    return _union(Receipt, Heed, Ask, Absent, *near, *said, *more, *council.NOTES)


@cache
def _records() -> "msgspec.msgpack.Decoder[Any]":
    return msgspec.msgpack.Decoder(_record_kinds())


@cache
def _record_lists() -> "msgspec.msgpack.Decoder[list[Any]]":
    return msgspec.msgpack.Decoder(list[_record_kinds()])  # type: ignore[misc]


@cache
def _record_kinds() -> Any:
    from ropewalk.overlay.berths import Carried, Emptied, Held, SentOn
    from ropewalk.overlay.council import words as council
    from ropewalk.overlay.lane import Done, Kept, KeptRun
    from ropewalk.overlay.order import notes as order
    from ropewalk.overlay.order.release import Came
    from ropewalk.overlay.retained import Value
    from ropewalk.overlay.talk.past import Given, KeptBack, Talked, Told

    home = (order.Opened, order.Numbered, order.Admitted, order.Steady, order.Excluded)
    reader = (order.Join, order.Left, order.Kept, order.Begin, order.Promised, order.Stable)
    more = (order.Vowed, order.Reading, Held, Emptied, Carried, SentOn)
    return _union(
        *(Item, Kept, KeptRun, Done, Came, Value, *home, *reader, *more),
        *(Talked, KeptBack, Given, Told, *council.RECORDS),
    )


def _union(*kinds: type) -> Any:
    return Union[kinds]  # noqa: UP007  (made of a tuple)
