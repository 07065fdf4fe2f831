"""The files of one node's trace in a folder, and how they are kept within a size.

Readers see whole files only: journals, and files that are not done, have names they pass over.
"""

import os
import re
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.agent.trace_journal import ROWS, TEXT

PARQUET = ".parquet"
GROWING = ("ts_ns", "li", "pseq")
"""Columns of which differences are stored."""


class _NoPandas(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(self, name: str, *_given: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def without_pandas() -> None:
    """Let pyarrow go on without pandas, if that is not loaded yet.

    It would load it with the first array, to know its types from others. That takes 0.4 s.
    """
    if "pandas" not in sys.modules:
        nowhere = _NoPandas()
        sys.meta_path.insert(0, nowhere)
        try:
            pa.array([""])
        finally:
            sys.meta_path.remove(nowhere)


class Place:
    """Where a node's trace is: a folder, shared with other nodes or not."""

    def __init__(self, folder: Path, node: str) -> None:
        self.folder, self.node = folder, node
        self._name = quote(node, safe="")
        self._stem = re.compile(rf"\.?({re.escape(self._name)}-(\d{{20}})-\d{{8}})")

    def stem(self, incarnation: int, number: int) -> str:
        """What the files of a segment are called; sorted by name they are by age."""
        return f"{self._name}-{incarnation:020}-{number:08}"

    def hidden(self, stem: str, suffix: str = "") -> Path:
        """A file that readers pass over."""
        return self.folder / f".{stem}{suffix}"

    def finished(self, stem: str) -> Path:
        """The file that readers see."""
        return self.folder / f"{stem}{PARQUET}"

    @property
    def standing(self) -> Path:
        """Where it is noted which subscriptions stand."""
        return self.folder / f".{self._name}.standing"

    def found(self, suffix: str) -> list[str]:
        """Stems of this node's files with a suffix, the oldest first."""
        names = (one.name for one in self.folder.iterdir() if one.name.endswith(suffix))
        matches = (self._stem.fullmatch(name.removesuffix(suffix)) for name in names)
        return sorted({one[1] for one in matches if one})

    def lives(self) -> set[int]:
        """Incarnations that have files here."""
        stems = (one for suffix in (ROWS, TEXT, PARQUET) for one in self.found(suffix))
        return {int(one.rsplit("-", 2)[1]) for one in stems}

    def forget(self, stem: str) -> None:
        """Remove a segment."""
        for suffix in (ROWS, TEXT):
            self.hidden(stem, suffix).unlink(missing_ok=True)

    def make_room(self, most_bytes: int) -> int:
        """Delete the oldest files but the last until all take no more; how much was deleted."""
        held = list(self._sizes())
        journal = sum(_size(self.hidden(one, ROWS)) for one in self.found(ROWS))
        over, gone = sum(size for _, size in held) + journal - most_bytes, 0
        for path, size in held[:-1]:
            if over <= gone:
                break
            path.unlink(missing_ok=True)
            gone += size
        return gone

    def _sizes(self) -> Iterator[tuple[Path, int]]:
        for stem in self.found(PARQUET):
            path = self.finished(stem)
            yield path, _size(path)

    def journal_bytes(self, stem: str) -> int:
        """The size of a segment."""
        return _size(self.hidden(stem, ROWS))


def write_file(table: pa.Table, path: Path) -> None:
    """A Parquet file, on the disk when this returns."""
    growing = dict.fromkeys(GROWING, "DELTA_BINARY_PACKED")
    with path.open("wb") as file:
        pq.write_table(
            table,
            file,
            compression="zstd",
            compression_level=1,
            use_dictionary=[name for name in table.column_names if name not in growing],
            column_encoding=growing,
            write_statistics=False,
        )
        file.flush()
        os.fsync(file.fileno())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # whoever collects traces may take them away
        return 0
