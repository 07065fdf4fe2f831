"""Saving over the file that was opened: whole or not at all, and as it was where nobody edits."""

from codecs import BOM_UTF8
from pathlib import Path
from stat import S_IMODE

from ropewalk.errors import UsageError
from ropewalk.federation.saving import write_bytes


def save_over(file: Path, text: str, *, saved: str) -> None:
    """Write a text where `saved` was read; its line ends, its rights and a link to it stay.

    Raises UsageError where the file says something else by now, or cannot be written.
    """
    try:
        place = file.resolve(strict=True)
        found, rights = place.read_bytes(), S_IMODE(place.stat().st_mode)
        was = found.decode("utf-8-sig")
    except (OSError, UnicodeError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(f"{file} cannot be read: {reason}: download yours") from None
    if was.replace("\r\n", "\n").replace("\r", "\n") != saved:
        raise UsageError(f"{file} was changed elsewhere: download yours, and compare.")
    if "\r\n" in was:
        text = text.replace("\n", "\r\n")
    mark = BOM_UTF8 if found.startswith(BOM_UTF8) else b""
    write_bytes(place, mark + text.encode())
    place.chmod(rights)
