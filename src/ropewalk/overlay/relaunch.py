"""Lanes from the records of a log, and records that stand for a lane."""

from collections.abc import Iterable, Iterator

from ropewalk.overlay.lane import Done, Entry, Kept, Lane
from ropewalk.overlay.words import Address

Key = tuple[int, int, int]
"""Of a lane: destination, kind, incarnation."""


def lanes_of(me: int, records: Iterable[object]) -> dict[Key, Lane]:
    """The lanes of an origin's earlier lives, with a record for each letter (`runs.apart`)."""
    found: dict[Key, Lane] = {}
    for record in records:
        if isinstance(record, Kept):
            for address in record.to:
                key = (address.to, address.lane, address.incarnation)
                _put_back(found.setdefault(key, Lane(me, *key)), record, address)
        elif isinstance(record, Done):
            lane = found.get((record.to, record.lane, record.incarnation))
            if lane is not None:
                lane.strike(record.upto, record.extra)
    return found


def _put_back(lane: Lane, record: Kept, address: Address) -> None:
    letter, number = record.letter, address.number
    after, incarnation = address.after, address.after_incarnation
    if not lane.entries or number < lane.base:
        lane.base = number
    lane.entries[number] = Entry(
        letter, after, incarnation, record.order, record.paths, address.late
    )
    lane.next = max(lane.next, number + 1)
    lane.wait(number)
    if record.order != "none":
        stream = (letter.topic, letter.priority if record.order == "priority" else 0)
        lane.last[stream] = number


def records_of(lane: Lane) -> Iterator[Kept]:
    """Records of all that a lane keeps."""
    for number in lane.entries:
        entry = lane.entry(number)
        yield Kept(entry.letter, (lane.address(number),), entry.order, entry.paths)
