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
    Run,
    Word,
)


def makes_sense(word: Word) -> bool:
    """Whether an agent can act on a word without harm to itself."""
    if isinstance(word, Frame) and not all(map(_run, word.parcels)):
        return False
    return not isinstance(word, Flood | Frame) or all(map(_item, word.items))


def _run(one: Parcel | Run) -> bool:
    """Letters of a run have nothing that it cannot tell of each of them."""
    if not isinstance(one, Run):
        return True
    first = one.letter
    more = first.headers or first.retain or first.key or first.payload or first.domain >= 0
    if more or first.order is not None or first.stamp is not None:
        return False
    return not one.keys or len(one.keys) == len(one.payloads)


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
