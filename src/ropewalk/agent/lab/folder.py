"""The lab's folder: one lab at a time, and nothing else in it."""

import fcntl
import os
import shutil
import time
from pathlib import Path

from ropewalk.errors import UsageError

LOCK = "lab.lock"
LOOK_S = 0.05
_OURS = ("brokers", "agents", "traces", "logs")


class Claim:
    """A folder that is this process's lab until it is closed, or the process is gone."""

    def __init__(self, lock: int) -> None:
        self._lock = lock

    def close(self) -> None:
        """Let the next lab have it."""
        os.close(self._lock)


def claim(folder: Path, *, keep: bool) -> Claim:
    """Take a folder for a lab, made if it is not there.

    What an earlier lab left is removed unless it is to be kept. Raises UsageError if a lab runs in
    it, or if it holds anything that is no lab's.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: a file is there: name a folder with --dir")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / LOCK).exists():
        raise UsageError(f"{folder}: the folder holds other files: name another with --dir")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    if not _locked(lock):
        os.close(lock)
        raise UsageError(f"{folder}: a lab runs here: end it with ropewalk lab down --dir {folder}")
    if not keep:
        for name in _OURS:
            shutil.rmtree(folder / name, ignore_errors=True)
    return Claim(lock)


def wait_until_free(folder: Path, *, seconds: float = 60.0) -> None:
    """Wait until the lab in a folder has ended; UsageError if it does not."""
    until = time.monotonic() + seconds
    lock = os.open(folder / LOCK, os.O_RDWR)
    try:
        while not _locked(lock):
            if time.monotonic() > until:
                raise UsageError(f"{folder}: the lab has not ended after {seconds:g} s: kill it")
            time.sleep(LOOK_S)
    finally:
        os.close(lock)


def _locked(lock: int) -> bool:
    """Lock it for this process; False if another has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
