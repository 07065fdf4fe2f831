"""The demo's folder: replaced if it is a demo's own, and never if it is anything else."""

import shutil
from pathlib import Path

from ropewalk.agent.lab.folder import claim
from ropewalk.errors import UsageError

MARK = ".ropewalk-demo"
_TEXT = "This folder belongs to `ropewalk demo`, which replaces all of it.\n"


def prepare(folder: Path) -> None:
    """An empty folder for a demo.

    Raises UsageError if it holds anything that is no demo's, or a lab of one that still runs.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: a file is there: name a folder with --folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MARK).is_file():
            raise UsageError(f"{folder}: the folder holds other files: name another with --folder")
        if (folder / "lab").is_dir():
            claim(folder / "lab", keep=True).close()  # one that runs is not taken from under it
        _empty(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(_TEXT, encoding="utf-8")
    for name in ("results", "before", "after"):
        (folder / name).mkdir()


def _empty(folder: Path) -> None:
    for one in folder.iterdir():
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one)
        elif one.name != MARK:
            one.unlink()
