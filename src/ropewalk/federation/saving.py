"""A federation to a file or folder; what was there stays whole until the new is complete."""

import tempfile
from pathlib import Path

from ropewalk.errors import UsageError
from ropewalk.federation.dump import dump
from ropewalk.federation.facts import Federation

LARGE_SUFFIX = ".parquet"
LARGE_FILES = ("federation.yaml", "brokers.parquet", "links.parquet", "topics.parquet")
"""What a folder in the large form holds, and nothing else."""


def save(federation: Federation, path: str | Path) -> None:
    """Write a federation to `FILE.yaml`, or in the large form to the folder `DIR.parquet`.

    Raises UsageError for other names, for a folder that is not there, and for what cannot be
    written; what was there before is then as it was.
    """
    path = Path(path)
    if path.suffix.lower() not in (".yaml", ".yml", LARGE_SUFFIX):
        raise UsageError(f"{path}: write to FILE.yaml, or to DIR{LARGE_SUFFIX} for the large form")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}: make it, or name another")
    if path.suffix.lower() == LARGE_SUFFIX and path.is_file():
        raise UsageError(f"{path}: cannot be written: a file is there: name a folder")
    if path.is_dir() and not {one.name for one in path.iterdir()} <= set(LARGE_FILES):
        raise UsageError(f"{path}: cannot be written: the folder holds other files: name another")
    try:
        with tempfile.TemporaryDirectory(prefix=".ropewalk-", dir=path.parent) as scratch:
            made = Path(scratch) / "new"
            if path.suffix.lower() == LARGE_SUFFIX:
                from ropewalk.federation import large  # pyarrow takes longer than a small file

                large.write(federation, made)
                put_folder(made, path, Path(scratch) / "old")
            else:
                made.write_text(dump(federation), encoding="utf-8")
                made.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all; UsageError for what cannot be written."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; UsageError for what cannot be written."""
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}: make it, or name another")
    try:
        with tempfile.TemporaryDirectory(prefix=".ropewalk-", dir=path.parent) as scratch:
            made = Path(scratch) / "new"
            made.write_bytes(data)
            made.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def put_folder(made: Path, path: Path, old: Path) -> None:
    """Put a folder in the place of another, which a failure leaves where it was."""
    if path.exists():
        path.replace(old)
    try:
        made.replace(path)
    except OSError:
        if old.exists():
            old.replace(path)
        raise
