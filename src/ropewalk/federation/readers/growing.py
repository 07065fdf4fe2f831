"""Definitions that grow by single changes, as commands make them: what a script leaves behind."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ropewalk.federation.yaml_text import Parsed, Path

Identity = tuple[str, ...]
Lines = dict[int, dict[str | int, int]]
_IDENTITY: Mapping[str, tuple[str, ...]] = {
    "vhosts": ("name",),
    "global_parameters": ("name",),
    "parameters": ("vhost", "component", "name"),
    "policies": ("vhost", "name"),
    "operator_policies": ("vhost", "name"),
    "exchanges": ("vhost", "name"),
    "queues": ("vhost", "name"),
    "bindings": ("vhost", "source", "destination_type", "destination", "routing_key"),
}
"""What makes two entries of a section the same one, so that the later holds."""
SECTIONS = tuple(_IDENTITY)


@dataclass(slots=True)
class Grown(Parsed):
    """A document that was put together: its entries may be of several files."""

    files: dict[int, str] = field(default_factory=dict)
    """The file of an entry, by its identity."""

    def file_of(self, path: Path) -> str | None:
        """The file of the deepest value on the path that has one of its own."""
        found, value = None, self.value
        for step in path:
            if step not in (self.lines or {}).get(id(value), {}):
                break
            value = value[step]
            found = self.files.get(id(value), found)
        return found


@dataclass(frozen=True, slots=True)
class Change:
    """An entry of a section that is put there, or (`gone`) taken away."""

    section: str
    value: dict[str, Any]
    file: str
    line: int
    inner: Mapping[int, Mapping[str | int, int]] = field(default_factory=dict, repr=False)
    """Lines of what is in its containers, by their identity as `Parsed` has them."""
    gone: bool = False
    perhaps: bool = False
    """Whether that depends on what is not known."""

    @property
    def identity(self) -> Identity:
        """What it is that it changes."""
        return identity_of(self.section, self.value)


def grown(changes: Iterable[Change], base: Parsed | None = None) -> Grown:
    """A document with the changes made in their order; `base` is what was there before.

    What is perhaps taken away is there.
    """
    last: dict[tuple[str, Identity], Change] = {}
    for one in changes:
        if not (one.gone and stays(one, last.get((one.section, one.identity)))):
            last.pop((one.section, one.identity), None)
            last[one.section, one.identity] = one
    before = base.value if base is not None and isinstance(base.value, dict) else {}
    lines = dict(base.lines or {}) if base is not None else {}
    made = Grown(value=dict(before), lines=lines)
    made.files = dict(base.files) if isinstance(base, Grown) else {}
    lines[id(made.value)] = dict(lines.get(id(before), {}))
    for section in SECTIONS:
        ours = [one for one in last.values() if one.section == section]
        if ours:
            _put(made, lines, section, ours, new=base is None)
    return made


def stays(gone: Change, put: Change | None) -> bool:
    """Whether a thing is there though a script takes it away: nobody knows which script is last."""
    return gone.perhaps or (put is not None and not put.gone and put.file != gone.file)


def replaced(changes: Iterable[Change]) -> Iterator[tuple[Change, Change]]:
    """What a later change takes away again or says otherwise, and that change."""
    last: dict[tuple[str, Identity], Change] = {}
    for one in changes:
        before = last.get((one.section, one.identity))
        if before is not None and not before.gone and (one.gone or one.value != before.value):
            yield before, one
        last[one.section, one.identity] = one


def _put(made: Grown, lines: Lines, section: str, changes: Sequence[Change], *, new: bool) -> None:
    """A section anew: what was there and is not changed, then what was put there."""
    before = made.value.get(section)
    entries: list[Any] = []
    at: dict[str | int, int] = {}
    changed = {one.identity for one in changes}
    for i, entry in enumerate(before if isinstance(before, list) else []):
        if not isinstance(entry, dict) or identity_of(section, entry) not in changed:
            at[len(entries)] = lines.get(id(before), {}).get(i, 1)
            entries.append(entry)
    if new and section == "vhosts" and ("/",) not in changed:
        at[0] = changes[0].line  # every server has it from its first start
        entries.append({"name": "/"})
    for one in changes:
        if not one.gone:
            at[len(entries)] = one.line
            entries.append(one.value)
            lines[id(one.value)] = dict.fromkeys(one.value, one.line)
            lines.update({key: dict(inner) for key, inner in one.inner.items()})
            made.files[id(one.value)] = one.file
    made.value[section] = entries
    lines[id(entries)] = at
    lines[id(made.value)].setdefault(section, changes[0].line)


def identity_of(section: str, entry: Mapping[str, Any]) -> Identity:
    """What makes an entry of a section another one than the others."""
    # An export of a single virtual host does not write which it is.
    given = {"vhost": "/", **entry}
    return tuple(str(given.get(key, "")) for key in _IDENTITY[section])
