"""Where jobs find and leave things in a working folder, and how a folder is replaced whole."""

import fcntl
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ropewalk.errors import UsageError
from ropewalk.federation.saving import put_folder
from ropewalk.pipeline.ingest.reading import is_trace

LOCK = ".lock"


@dataclass(frozen=True, slots=True)
class Work:
    """A working folder: traces and their federation, and what jobs make of them."""

    folder: Path

    @property
    def traces(self) -> list[Path]:
        """Where trace files are: in `traces`, or anywhere in the folder that jobs do not write."""
        inside = self.folder / "traces"
        if inside.is_dir():
            return [inside]
        ours = (self.store, self.rates, self.audit, self.conformance, self.ledger)
        found = [one for one in sorted(self.folder.iterdir()) if one not in ours and _traced(one)]
        return found or [self.folder]

    @property
    def federation(self) -> Path:
        """The federation file beside the traces."""
        return self.folder / "federation.yaml"

    @property
    def ledger(self) -> Path:
        """What a generated trace was given."""
        return self.folder / "ledger.parquet"

    @property
    def store(self) -> Path:
        """What ingest makes."""
        return self.folder / "store"

    @property
    def rates(self) -> Path:
        """What rates are written to."""
        return self.folder / "rates"

    @property
    def capacities(self) -> Path:
        """What calibration writes."""
        return self.folder / "capacities.yaml"

    @property
    def latencies(self) -> Path:
        """What latencies of links are written to."""
        return self.folder / "latencies.yaml"

    @property
    def audit(self) -> Path:
        """What an audit is written to."""
        return self.folder / "audit"

    @property
    def conformance(self) -> Path:
        """What was found of conversations alone."""
        return self.folder / "conformance"


def save_folder(folder: Path, names: Collection[str], write: Callable[[Path], object]) -> None:
    """Let `write` fill a folder, which then takes the place of the one that is there.

    One that holds other files than these is left alone.
    """
    if not folder.parent.is_dir():
        raise UsageError(f"{folder}: there is no folder {folder.parent}: make it, or name another")
    if folder.is_file():
        raise UsageError(f"{folder}: cannot be written: a file is there: name a folder")
    if folder.is_dir() and not {one.name for one in folder.iterdir()} <= set(names):
        raise UsageError(f"{folder}: cannot be written: it holds other files: name another")
    try:
        with tempfile.TemporaryDirectory(prefix=".ropewalk-", dir=folder.parent) as scratch:
            made = Path(scratch) / "new"
            made.mkdir()
            write(made)
            put_folder(made, folder, Path(scratch) / "old")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None


def _traced(path: Path) -> bool:
    """Whether a file is a trace, or a folder holds one."""
    return any(map(is_trace, path.rglob("*") if path.is_dir() else (path,)))


@contextmanager
def alone(store: Path) -> Iterator[None]:
    """Nobody else writes to a store meanwhile: two manifests would each forget the other's files.

    Raises UsageError if somebody does. The lock ends with its process, however that ends.
    """
    with (store / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{store}: another ingest or stream is writing to it: wait for its end, stop it,"
                " or name another folder"
            ) from None
        yield
