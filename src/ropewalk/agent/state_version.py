"""What format an agent's state folder has: a small file in it says so, and who wrote it last.

    state.json     {"format": 2, "written_by": "0.1.0"}
    custody/       the custody log, and the lock that only one agent holds
    tables/        tables that were computed ahead
    trace/         its trace, if it was told no other folder

The file comes after the upgrade that it tells of, and whole: an upgrade that was cut off is done
again at the next start, so each step must be able to meet its own traces.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ropewalk import __version__
from ropewalk.errors import UsageError
from ropewalk.federation.saving import write_text

FILE = "state.json"
FORMAT = 2
"""1 is the same without this file; a change that an older program would misread makes it 3."""
_PARTS = ("custody", "tables", "trace")


def _name_it(folder: Path) -> None:
    """From 1 to 2: nothing but the file itself is new, and that comes last."""


UPGRADES: Mapping[int, Callable[[Path], None]] = {1: _name_it}
"""By format: what makes the next one of it, in place."""


def format_of(folder: Path) -> int:
    """The format of a state folder, 0 of one that holds no state; changes nothing.

    Raises UsageError for a format that this program does not know, and for a file that tells none.
    """
    path = folder / FILE
    try:
        told = _told(path)
    except FileNotFoundError:
        return 1 if any((folder / part).exists() for part in _PARTS) else 0
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): mend its rights") from None
    found, by = told.get("format"), told.get("written_by")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise UsageError(
            f"{path} does not say which format this state has: restore it from a backup, or give "
            "the agent a new folder"
        )
    if found > FORMAT:
        raise UsageError(
            f"{folder} holds state of format {found}, written by ropewalk {by}; this is ropewalk "
            f"{__version__}, which knows formats up to {FORMAT}: nothing was changed; start "
            f"ropewalk {by} or newer on it, or restore the backup made before the upgrade"
        )
    return found


def settle(folder: Path, found: int) -> list[str]:
    """Bring a folder that `format_of` has seen to the format of now; returns what to tell.

    For whoever holds the folder's lock. Raises UsageError where it cannot be written.
    """
    for step in range(found, FORMAT) if found else ():
        UPGRADES[step](folder)
    told = json.dumps({"format": FORMAT, "written_by": __version__}) + "\n"
    path = folder / FILE
    if found != FORMAT or path.read_text("utf-8") != told:
        write_text(path, told)
    if found in (0, FORMAT):
        return []
    return [f"{folder}: its state was upgraded from format {found} to {FORMAT}"]


def _told(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_bytes())
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
