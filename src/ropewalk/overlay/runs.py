"""Runs: many parcels of one stream as one object, and each of them again where it is needed.

A busy stream costs an origin's core 0.3 us a message this way instead of 4, and a hop next to
nothing. Laws hold a run against the parcels that it stands for.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ropewalk.overlay.events import Burst, Received
from ropewalk.overlay.lane import Kept, KeptRun
from ropewalk.overlay.words import Address, Frame, Letter, Parcel, Run


def messages_in(parcels: Iterable[Parcel | Run]) -> int:
    """How many messages there are in parcels and runs."""
    return sum(len(one.payloads) if type(one) is Run else 1 for one in parcels)


def weight(event: object) -> int:
    """How many messages an event brings, or at least one."""
    if isinstance(event, Burst):
        return len(event.payloads)
    word = event.word if isinstance(event, Received) else None
    return messages_in(word.parcels) if type(word) is Frame and word.parcels else 1


def parcels_of(run: Run) -> list[Parcel]:
    """The parcels that a run stands for."""
    hops, place = run.hops, run.place_at
    return [Parcel(letter, (place(i),), hops) for i, letter in enumerate(run.letters())]


def singles(parcels: Iterable[Parcel | Run]) -> Iterator[Parcel]:
    """Every parcel by itself."""
    for one in parcels:
        if type(one) is Run:
            yield from parcels_of(one)
        else:
            yield one  # type: ignore[misc]


def stretch(run: Run, start: int, stop: int, place: Address) -> Run:
    """Some parcels of a run, the first of which stands there now."""
    first = run.letter
    if start:
        first = replace(first, number=first.number + start)
    return Run(first, place, run.chained, run.payloads[start:stop], run.keys[start:stop], run.hops)


def in_a_row(numbers: Sequence[int], at: int, most: int) -> int:
    """How many numbers follow each other from a place on: one at least, and no more than `most`.

    >>> in_a_row([3, 4, 5, 7], 0, 9), in_a_row([3, 4, 5, 7], 1, 1), in_a_row([3, 4, 5, 7], 3, 9)
    (3, 1, 1)
    """
    count, most = 1, min(most, len(numbers) - at)
    while count < most and numbers[at + count] == numbers[at] + count:
        count += 1
    return count


def moved(run: Run) -> Run:
    """One hop further."""
    return Run(run.letter, run.to, run.chained, run.payloads, run.keys, run.hops + 1)


def latest(records: Sequence[object], most: int) -> list[Letter]:
    """The letters that records took into custody, the last ones first, at least so many."""
    found: list[Letter] = []
    for one in reversed(records):
        if isinstance(one, KeptRun):
            found += reversed(one.run.letters())
        elif isinstance(one, Kept) and one.to:
            found.append(one.letter)
        if len(found) >= most:
            break
    return found


def apart(records: Iterable[object]) -> Iterator[object]:
    """Records of a log with a record for each letter."""
    for one in records:
        if isinstance(one, KeptRun):
            for parcel in parcels_of(one.run):
                yield Kept(parcel.letter, parcel.to, one.order)
        else:
            yield one
