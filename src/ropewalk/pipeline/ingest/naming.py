"""Names of a column, each once, and which of them each row has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ropewalk.trace.ids import Ids, ids_of

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """A column of names: the place of each row's name, -1 where there is none."""

    places: npt.NDArray[np.int64]
    names: list[str]

    def mapped(self, value: Callable[[str], Any], absent: Any, type: Any) -> npt.NDArray[Any]:
        """A function of the name for each row, called once for each name."""
        values = np.array([*(value(name) for name in self.names), absent], type)
        return values[self.places]

    def at(self, row: int) -> str | None:
        """The name of a row."""
        place = self.places[row]
        return self.names[place] if place >= 0 else None

    @property
    def missing(self) -> Mask:
        """Rows without a name, or with an empty one."""
        return self.mapped(lambda name: not name, True, np.bool_)

    def ids(self) -> tuple[Ids, Ids]:
        """The ids of all names, and of each row (0 where there is no name)."""
        ids = ids_of(self.names)
        return ids, np.append(ids, 0)[self.places]

    def chosen(self, rows: Mask) -> "Names":
        """Some of the rows."""
        return Names(self.places[rows], self.names)

    def in_use(self) -> "Names":
        """The same rows; names that none of them has are forgotten."""
        used = np.zeros(len(self.names) + 1, np.bool_)
        used[self.places] = True
        if used[:-1].all():
            return self
        new = np.cumsum(used[:-1]) - 1
        names = [name for name, there in zip(self.names, used, strict=False) if there]
        return Names(np.append(new, -1)[self.places], names)


def names_of(column: pa.ChunkedArray) -> Names:
    """The names of a column of text, in a dictionary already or not."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    array = column.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # of no chunks at all
        array = pa.array([], pa.string()).dictionary_encode()
    places = array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Names(places, [name or "" for name in array.dictionary.to_pylist()])
