"""Large ids as small numbers, so that all that follows is arrays."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ropewalk.kernels import kernel

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

EMPTY = -1


class Coded(NamedTuple):
    """A column of ids: each row's number, and the id of every number."""

    codes: Ints
    ids: Longs


def coded(values: Longs) -> Coded:
    """Number the ids of a column in the order in which they appear."""
    return Coded(*_coded(values))


@kernel
def mixed(value: int) -> int:
    """Spread the bits of a number, so that its lowest say something about all."""
    x = np.uint64(value)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return int((x ^ (x >> np.uint64(32))) & np.uint64(0x7FFFFFFFFFFFFFFF))


@kernel
def _coded(values: Longs) -> tuple[Ints, Longs]:
    codes = np.empty(len(values), np.int32)
    ids = np.empty(1024, np.int64)
    slots = np.full(4096, EMPTY, np.int32)
    mask, count = len(slots) - 1, 0
    last, last_code = np.int64(0), EMPTY
    for i in range(len(values)):
        value = values[i]
        if last_code != EMPTY and value == last:  # sorted and bursty columns repeat themselves
            codes[i] = last_code
            continue
        at = mixed(value) & mask
        while slots[at] != EMPTY and ids[slots[at]] != value:
            at = (at + 1) & mask
        if slots[at] == EMPTY:
            if count == len(ids):
                ids = np.append(ids, np.empty(len(ids), np.int64))
            ids[count] = value
            slots[at] = count
            count += 1
            if 2 * count > mask:
                slots, mask = _larger(ids, count, 4 * len(slots)), 4 * len(slots) - 1
                at = mixed(value) & mask
                while ids[slots[at]] != value:
                    at = (at + 1) & mask
        last, last_code = value, slots[at]
        codes[i] = last_code
    return codes, ids[:count].copy()


@kernel
def _larger(ids: Longs, count: int, size: int) -> Ints:
    slots = np.full(size, EMPTY, np.int32)
    mask = size - 1
    for code in range(count):
        at = mixed(ids[code]) & mask
        while slots[at] != EMPTY:
            at = (at + 1) & mask
        slots[at] = code
    return slots
