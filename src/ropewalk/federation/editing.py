"""New routes in an old file: only their lines change, comments and layout stay."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from ropewalk.errors import FederationError
from ropewalk.federation.dump import flow
from ropewalk.federation.facts import Federation, Route
from ropewalk.federation.loading import loads
from ropewalk.federation.plain import plain
from ropewalk.federation.saving import save, write_text

_ENTRY = re.compile(r"(\s*)- [{]")
_SECTION = re.compile(r"routes:[ \t]*(\[\s*\][ \t]*)?(#[^\r\n]*)?\s*$")


def save_edited(federation: Federation, original: Federation, path: Path) -> bool:
    """Write a federation whose routes were edited; True if the rest of the file is as it was.

    Where the file's layout does not allow it, or it was no YAML file, all of it is written anew.
    """
    old = Path(original.source.file)
    if path.suffix.lower() in (".yaml", ".yml") and old.is_file():
        text = edited(old.read_bytes().decode("utf-8"), original, federation)
        if text is not None:
            write_text(path, text)
            return True
    save(federation, path)
    return False


def edited(text: str, original: Federation, federation: Federation) -> str | None:
    """The file's text with other routes, or None if its layout does not allow it."""
    lines = text.splitlines(keepends=True)
    starts = [line - 1 for line in original.source.lines.get("routes", ())]
    if len(starts) != len(original.routes) or not all(_ENTRY.match(lines[at]) for at in starts):
        return None
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    end = "\r\n" if any(line.endswith("\r\n") for line in lines[:1]) else "\n"
    if starts:
        changed = _spliced(lines, starts, original.routes, federation.routes, end)
    else:
        changed = _added(lines, federation.routes, end)
    made = "".join(changed)
    try:
        same = loads(made.removeprefix("\ufeff")) == federation
    except FederationError:
        same = False
    return made if same else None


def _spliced(
    lines: list[str], starts: Sequence[int], old: Sequence[Route], new: Sequence[Route], end: str
) -> list[str]:
    """Lines of entries that are gone left out, new ones before those they stand before.

    An entry is taken to be one line: where it is more, what comes out is not what was meant, and
    that is noticed.
    """
    indent = _ENTRY.match(lines[starts[0]])
    space = indent.group(1) if indent else "  "
    gone: set[int] = set()
    before: dict[int, list[str]] = {}
    steps = SequenceMatcher(None, [repr(one) for one in old], [repr(one) for one in new], False)
    for kind, a, b, c, d in steps.get_opcodes():
        if kind != "equal":
            gone.update(starts[a:b])
            place = starts[a] if a < len(starts) else starts[-1] + 1
            made = [f"{space}- {flow(plain(one))}{end}" for one in new[c:d]]
            before.setdefault(place, []).extend(made)
    changed: list[str] = []
    for at, line in enumerate([*lines, ""]):
        changed += before.get(at, [])
        changed += [] if at in gone else [line]
    return changed


def _added(lines: list[str], new: Sequence[Route], end: str) -> list[str]:
    made = [f"  - {flow(plain(one))}{end}" for one in new]
    for at, line in enumerate(lines):
        if found := _SECTION.match(line):
            comment = f"  {found.group(2)}" if found.group(2) else ""
            return [*lines[:at], f"routes:{comment}{end}", *made, *lines[at + 1 :]]
    return [*lines, f"routes:{end}", *made]
