"""Several files of definitions that one cluster loads, such as all of a folder `definitions.d`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.growing import SECTIONS, Grown, identity_of
from ropewalk.federation.readers.rabbitmq.definitions import is_map, only_vhost
from ropewalk.federation.readers.rabbitmq.naming import safe
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label
from ropewalk.federation.yaml_text import Parsed
from ropewalk.findings import Where

FOLDER = "definitions.d"
"""What `load_definitions` names, if it is a folder."""
_OWN = ("original_vhost_name", "vhost", "name")
"""What a file says of itself: the virtual host of its entries."""
_EVERYWHERE = ("vhosts", "global_parameters", "users")
_ALIKE = ("vhosts", "bindings")
"""What may be there several times: RabbitMQ joins what is said of it, or takes both."""
_DEFAULTS: Mapping[str, Any] = {
    "priority": 0,
    "apply-to": "all",
    "routing_key": "",
    "durable": True,
    "auto_delete": False,
    "internal": False,
    "arguments": {},
}
_WORDS = ("user_who_performed_action", "policy")
"""What exports write of an entry that is not its own."""


def put_together(parts: Sequence[tuple[Parsed, str]], drafts: Drafts) -> Grown:
    """The definitions of several files as one; entries that contradict each other are faults."""
    made = Grown(value={})
    whole = _Whole(made, {id(made.value): {}}, drafts)
    made.lines = whole.lines
    for parsed, file in parts:
        if is_map(parsed, file, drafts):
            whole.lines.update(parsed.lines or {})
            whole.take(parsed, file)
    return made


@dataclass(slots=True)
class _Whole:
    made: Grown
    lines: dict[int, dict[str | int, int]]
    drafts: Drafts
    first: dict[tuple[str, ...], tuple[dict[str, Any], Where]] = field(default_factory=dict)
    """The first entry of an identity, and its place."""
    seen: set[str] = field(default_factory=set)

    def take(self, parsed: Parsed, file: str) -> None:
        vhost = only_vhost(View(parsed, file, Drafts()))
        for section, value in parsed.value.items():
            where = Where(file, parsed.line_of((section,)))
            if isinstance(value, list):
                for i, entry in enumerate(value):
                    place = Where(file, parsed.line_of((section, i)))
                    self.add(section, self.placed(section, entry, vhost), place)
                self.section(section, [], where)
            elif section in SECTIONS:
                self.drafts.fault(where, "C005", f"{section} is not a list: write a list")
            elif section not in _OWN:
                self.section(section, value, where)

    def section(self, name: str, value: Any, where: Where) -> Any:
        """A section as it is there; one that is new is put there."""
        if name not in self.made.value:
            self.made.value[name] = value
            self.lines[id(self.made.value)][name] = where.line
            if isinstance(value, list | dict):
                self.lines.setdefault(id(value), {})
                self.made.files[id(value)] = where.file
        return self.made.value[name]

    def placed(self, section: str, entry: Any, vhost: str) -> Any:
        """An entry with its virtual host, which the file may say once for all of them."""
        if not isinstance(entry, dict) or section in _EVERYWHERE or "vhost" in entry:
            return entry
        made = {**entry, "vhost": vhost}
        self.lines[id(made)] = dict(self.lines.get(id(entry), {}))
        return made

    def add(self, section: str, entry: Any, where: Where) -> None:
        if not isinstance(entry, dict):
            self.drafts.fault(where, "C005", f"an entry of {section} is not a map: write a map")
            return
        entries, whole = self.section(section, [], where), f"{section} {json.dumps(entry)}"
        if not isinstance(entries, list) or whole in self.seen:
            return
        self.seen.add(whole)
        if section in SECTIONS and section not in _ALIKE and not self.new(section, entry, where):
            return
        self.lines[id(entries)][len(entries)] = where.line
        self.made.files[id(entry)] = where.file
        entries.append(entry)

    def new(self, section: str, entry: dict[str, Any], where: Where) -> bool:
        """Whether no other file has it; one file alone is read as it is."""
        key = (section, *identity_of(section, entry))
        other, place = self.first.setdefault(key, (entry, where))
        if other is entry or place.file == where.file:
            return True
        if not _equal(entry, other):
            kind = safe(str(entry.get("component", section)))
            what = f"{label(kind)} {label(safe(str(entry.get('name', ''))))} is not the same"
            message = f"{what} as at {place}, which the same cluster loads: keep one of them"
            self.drafts.fault(where, "C007", message)
        return False


def _equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    keys = (one.keys() | other.keys()) - set(_WORDS)
    return all(
        one.get(key, _DEFAULTS.get(key)) == other.get(key, _DEFAULTS.get(key)) for key in keys
    )
