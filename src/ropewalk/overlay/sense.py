"""Whether a word can be meant: what the types of its parts do not say.

`wire.decode` asks, so that the core need not distrust what it is given. Numbers of brokers and
links that are not on the chart are no nonsense: a later chart may have them.
"""

from ropewalk.overlay.gazette import PRINT
from ropewalk.overlay.words import (
    CHART,
    INTEREST,
    LINKS,
    WHOLE,
    Flood,
    Frame,
    Item,
    LinkStates,
    Parcel,
    Word,
)


def makes_sense(word: Word) -> bool:
    """Whether an agent can act on a word without harm to itself."""
    if isinstance(word, Flood):
        return all(map(_item, word.items))
    if isinstance(word, Frame):
        notes = all(note.to >= 0 and note.sender >= 0 for note in word.notes)
        return notes and all(map(_parcel, word.parcels)) and all(map(_item, word.items))
    return True


def _parcel(parcel: Parcel) -> bool:
    return bool(parcel.to) and all(one.to >= 0 and one.number > 0 for one in parcel.to)


def _item(item: Item) -> bool:
    if item.broker < 0 or item.number < 1:
        return False
    body = item.body
    if item.kind == LINKS:
        return isinstance(body, LinkStates) and all(one.link >= 0 for one in body.down)
    if item.kind == INTEREST:
        return isinstance(body, bool)
    if item.kind == CHART:
        return isinstance(body, int)
    return item.kind != WHOLE or (isinstance(body, bytes) and len(body) % PRINT == 0)
