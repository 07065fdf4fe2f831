"""Names as stable 64-bit numbers, the same wherever they are made.

An id is XXH64 of the name's UTF-8 bytes with seed 42, read as a signed number: what `xxhash64` of
Spark SQL gives for a string, so that `where topic = xxhash64('prices/equity')` finds a topic.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import xxhash

SEED = 42

Ids = npt.NDArray[np.int64]


def id_of(name: str) -> int:
    """The number of a name.

    >>> id_of("prices/equity")
    -4689986128316560438
    """
    return int(ids_of([name])[0])


def ids_of(names: Iterable[str]) -> Ids:
    """The numbers of names, in their order."""
    digests = [xxhash.xxh64_intdigest(name.encode(), SEED) for name in names]
    return np.array(digests, np.uint64).view(np.int64)
