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
_SECTION = re.compile(r"routes:\s*(\[\s*\]\s*)?(#.*)?$")


def save_edited(federation: Federation, original: Federation, path: Path) -> bool:
    """Write a federation whose routes were edited; True if the rest of the file is as it was.

    Where the file's layout does not allow it, or it was no YAML file, all of it is written anew.
    """
    old = Path(original.source.file)
    if path.suffix.lower() in (".yaml", ".yml") and old.is_file():
        text = edited(old.read_text(encoding="utf-8-sig"), original, federation)
        if text is not None:
            write_text(path, text)
            return True
    save(federation, path)
    return False


def edited(text: str, original: Federation, federation: Federation) -> str | None:
    """The file's text with other routes, or None if its layout does not allow it."""
    lines = text.splitlines(keepends=True)
    starts = [line - 1 for line in original.source.lines.get("routes", ())]
    if not all(_ENTRY.match(lines[at]) for at in starts):
        return None
    if starts:
        changed = _spliced(lines, starts, original.routes, federation.routes)
    else:
        changed = _added(lines, federation.routes)
    made = "".join(changed)
    try:
        same = loads(made) == federation
    except FederationError:
        same = False
    return made if same else None


def _spliced(
    lines: list[str], starts: Sequence[int], old: Sequence[Route], new: Sequence[Route]
) -> list[str]:
    indent = _ENTRY.match(lines[starts[0]])
    space = indent.group(1) if indent else "  "
    changed = list(lines)
    steps = SequenceMatcher(None, [repr(one) for one in old], [repr(one) for one in new], False)
    for kind, a, b, c, d in reversed(steps.get_opcodes()):
        if kind == "equal":
            continue
        made = [f"{space}- {_shown(one)}\n" for one in new[c:d]]
        first = starts[a] if a < len(starts) else starts[-1] + 1
        # An entry is one line here: if it is more, what comes out is not what was meant, and that
        # is noticed.
        changed[first : first + (b - a)] = made
    return changed


def _added(lines: list[str], new: Sequence[Route]) -> list[str]:
    made = ["routes:\n", *(f"  - {_shown(one)}\n" for one in new)]
    for at, line in enumerate(lines):
        if _SECTION.match(line):
            return [*lines[:at], *made, *lines[at + 1 :]]
    end = lines and not lines[-1].endswith("\n")
    return [*lines, *(["\n"] if end else []), *made]


def _shown(route: Route) -> str:
    return flow(plain(route))
