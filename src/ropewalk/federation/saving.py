"""A federation to a file or folder; what was there stays whole until the new is complete."""

import shutil
import tempfile
from pathlib import Path

from ropewalk.errors import UsageError
from ropewalk.federation import large
from ropewalk.federation.dump import dump
from ropewalk.federation.facts import Federation

LARGE_SUFFIX = ".parquet"


def save(federation: Federation, path: str | Path) -> None:
    """Write a federation to `FILE.yaml`, or in the large form to the folder `DIR.parquet`.

    The old content stays whole until the new one is complete. Raises UsageError for other names.
    """
    path = Path(path)
    if path.suffix not in (".yaml", ".yml", LARGE_SUFFIX):
        raise UsageError(f"{path}: write to FILE.yaml, or to DIR{LARGE_SUFFIX} for the large form")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".ropewalk-", dir=path.parent) as scratch:
            made = Path(scratch) / path.name
            if path.suffix == LARGE_SUFFIX:
                large.write(federation, made)
                if path.is_dir() and large.is_large(path):
                    shutil.rmtree(path)
            else:
                made.write_text(dump(federation), encoding="utf-8")
            made.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
