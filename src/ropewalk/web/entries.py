"""Brokers, links and topics of a federation file changed one by one, its other lines kept.

An entry is found by its line. What comes out is read again: where it is not just what was meant
(flow style over several lines, anchors), the whole file is written anew instead, without comments.
"""

from collections.abc import Mapping
from typing import Any, Literal

from ropewalk.errors import UsageError
from ropewalk.federation import Federation
from ropewalk.federation.dump import dump_plain, flow
from ropewalk.federation.plain import plain
from ropewalk.federation.yaml_text import parse

Section = Literal["brokers", "links", "topics", "sites"]
Key = str | int
"""Of an entry: its name, or a link's number."""
Entry = Mapping[str, Any] | None
"""Plain fields as a file has them; None for an entry that is to go."""


def entry_of(federation: Federation, section: Section, key: Key) -> dict[str, Any]:
    """An entry as plain fields; UsageError if there is none."""
    entries = getattr(federation, section)
    try:
        return dict(plain(entries[key]))
    except (KeyError, IndexError):
        raise UsageError(f"{section}: there is no {key!r}") from None


def with_entry(text: str, federation: Federation, section: Section, key: Key, entry: Entry) -> str:
    r"""The text with an entry changed, added (a name, or a number past the last link) or gone.

    >>> from ropewalk import loads
    >>> text = "federation: f\nbrokers:\n  a: {}  # first\n  b: {}\n"
    >>> print(with_entry(text, loads(text), "brokers", "b", {"make": "rabbitmq"}), end="")
    federation: f
    brokers:
      a: {}  # first
      b: {make: rabbitmq}
    """
    spliced = _spliced(text, federation, section, key, entry)
    if spliced is not None and _parsed(spliced) == _changed(_parsed(text), section, key, entry):
        return spliced
    return dump_plain(_changed(plain(federation), section, key, entry))


def _changed(sections: Any, section: Section, key: Key, entry: Entry) -> dict[str, Any]:
    """Plain sections with the change; those that are empty then are left out."""
    values = dict(sections or {})
    if isinstance(key, int):
        rows = list(values.get(section) or [])
        rows[key : key + 1] = [] if entry is None else [dict(entry)]
        values[section] = rows
    else:
        named = dict(values.get(section) or {})
        if entry is None:
            named.pop(key, None)
        else:
            named[key] = dict(entry)
        values[section] = named
    return {name: one for name, one in values.items() if one not in (None, {}, [])}


def _parsed(text: str) -> Any:
    """Plain sections as a text has them; what is wrong in them is somebody else's question."""
    read = parse(text)
    if read.broken or not isinstance(read.value, dict):
        return None
    return {name: one for name, one in read.value.items() if one not in (None, {}, [])}


def _spliced(
    text: str, federation: Federation, section: Section, key: Key, entry: Entry
) -> str | None:
    """The text with just that entry's lines changed; None if its layout does not allow it."""
    lines = text.splitlines(keepends=True)
    starts = [line - 1 for line in federation.source.lines.get(section, ())]
    names = list(getattr(federation, section)) if not isinstance(key, int) else None
    number = key if isinstance(key, int) else names.index(key) if names and key in names else None
    if not starts or (number is not None and number < len(starts) != len(set(starts))):
        return None
    indent = lines[starts[0]][: len(lines[starts[0]]) - len(lines[starts[0]].lstrip())]
    made = [] if entry is None else [_line(indent, key, entry)]
    if number is not None and number < len(starts):
        stop = _end(lines, starts[number], len(indent))
        return "".join([*lines[: starts[number]], *made, *lines[stop:]])
    stop = _end(lines, starts[-1], len(indent))
    if stop and not lines[stop - 1].endswith("\n"):
        lines[stop - 1] += "\n"
    return "".join([*lines[:stop], *made, *lines[stop:]])


def _line(indent: str, key: Key, entry: Mapping[str, Any]) -> str:
    said = flow(dict(entry))
    name = flow(key) if isinstance(key, str) else ""
    return f"{indent}{f'{name}:' if name else '-'} {said}\n"


def _end(lines: list[str], start: int, indent: int) -> int:
    """The line after an entry: the next that is not indented more than it."""
    for at in range(start + 1, len(lines)):
        line = lines[at]
        bare = line.lstrip()
        if not bare.strip() or len(line) - len(bare) <= indent:
            return at
    return len(lines)
