"""Lanes from the records of a log, and records that stand for a lane."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from ropewalk.overlay.lane import Done, Entry, Kept, KeptRun, Lane
from ropewalk.overlay.runs import stretch
from ropewalk.overlay.words import Address

Key = tuple[int, int, int]
"""Of a lane: destination, kind, incarnation."""


def lanes_of(me: int, records: Iterable[object]) -> dict[Key, Lane]:
    """The lanes of an origin's earlier lives."""
    found: dict[Key, Lane] = {}
    for record in records:
        if isinstance(record, Kept):
            for address in record.to:
                key = (address.to, address.lane, address.incarnation)
                _put_back(found.setdefault(key, Lane(me, *key)), record, address)
        elif isinstance(record, KeptRun):
            place = record.run.to
            key = (place.to, place.lane, place.incarnation)
            _put_run_back(found.setdefault(key, Lane(me, *key)), record)
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


def _put_run_back(lane: Lane, record: KeptRun) -> None:
    run = record.run
    numbers = range(run.to.number, run.to.number + len(run.payloads))
    if not lane.entries or numbers[0] < lane.base:
        lane.base = numbers[0]
    lane.entries.update(dict.fromkeys(numbers, record))
    lane.next = max(lane.next, numbers[-1] + 1)
    lane.waiting.extend(numbers)
    if record.order != "none":
        lane.last[run.letter.topic, 0] = numbers[-1]


def records_of(lane: Lane) -> Iterator[Kept | KeptRun]:
    """Records of all that a lane keeps."""
    for _, some in groupby(lane.entries.items(), lambda pair: id(pair[1])):
        pairs = list(some)
        first, kept = pairs[0]
        if isinstance(kept, Entry):
            yield Kept(kept.letter, (lane.address(first),), kept.order, kept.paths)
        elif pairs[-1][0] - first == len(pairs) - 1:
            start = first - kept.run.to.number
            run = stretch(kept.run, start, start + len(pairs), lane.address(first))
            yield KeptRun(run, kept.order)
        else:  # some between them are no longer kept
            for number, _ in pairs:
                one = kept.entry(number)
                yield Kept(one.letter, (lane.address(number),), one.order)
