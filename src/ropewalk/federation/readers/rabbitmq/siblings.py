"""Files of one folder of which one uses what another declares: they may be of one cluster.

That cannot be known: two clusters have queues of one name as well. So it is told, once for each
pair of files, and nothing is joined.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.rabbitmq.contents import DEFAULT
from ropewalk.federation.readers.rabbitmq.definitions import only_vhost
from ropewalk.federation.readers.rabbitmq.naming import BUILT_IN, LINKS, safe
from ropewalk.federation.readers.rabbitmq.policies import FEDERATION, QUEUES, compiled
from ropewalk.federation.readers.rabbitmq.uris import Uri, read_uri
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label
from ropewalk.federation.yaml_text import Parsed
from ropewalk.findings import Where

Key = tuple[str, str, str]
"""Section, virtual host, and name."""


@dataclass(frozen=True, slots=True)
class Use:
    """A queue or exchange that an entry speaks of, or those that a policy's pattern is for."""

    section: str
    vhost: str
    name: str
    where: Where
    pattern: re.Pattern[str] | None = None

    def among(self, declared: Mapping[Key, Where]) -> Key | None:
        """The first of what is declared that it means."""
        if self.pattern is None:
            key = (self.section, self.vhost, self.name)
            return key if key in declared else None
        ours = (one for one in declared if one[:2] == (self.section, self.vhost))
        return next((one for one in ours if self.pattern.search(one[2])), None)


def tell_siblings(files: Mapping[str, Parsed], drafts: Drafts) -> None:
    """Tell of each file what it uses of its neighbours'."""
    if len({PurePath(file).parent for file in files}) == len(files):
        return
    declared = {file: dict(_declared(_Entries(parsed, file))) for file, parsed in files.items()}
    for file, parsed in files.items():
        used = _used(_Entries(parsed, file))
        missing = [one for one in used if one.among(declared[file]) is None]
        for other, theirs in declared.items():
            if other != file and PurePath(other).parent == PurePath(file).parent:
                found = ((one, key) for one in missing if (key := one.among(theirs)) is not None)
                for one, key in islice(found, 1):
                    _tell(one, key, theirs[key], drafts)


def _tell(used: Use, key: Key, there: Where, drafts: Drafts) -> None:
    what = f"{key[0][:-1]} {label(safe(key[2]))} is not declared in this file but at {there}"
    why = "if one cluster loads both files, give both one name in --map (names:)"
    drafts.note(used.where, "C012", f"{what}: they are taken for two clusters: {why}")


class _Entries:
    """Sections of a document as they are written, whatever is wrong with them."""

    def __init__(self, parsed: Parsed, file: str) -> None:
        self.view = View(parsed, file, Drafts())
        self.vhost = only_vhost(self.view)

    def of(self, section: str) -> Iterator[tuple[dict[str, Any], str, Where]]:
        """Entries with their virtual hosts and places."""
        for one in self.view.maps(section):
            yield one.value, _text(one.value, "vhost", self.vhost), one.where


def _text(entry: Mapping[str, Any], key: str, default: str = "") -> str:
    value = entry.get(key, default)
    return value if isinstance(value, str) else ""


def _declared(entries: _Entries) -> Iterator[tuple[Key, Where]]:
    for section in ("queues", "exchanges"):
        for one, vhost, where in entries.of(section):
            if not _text(one, "name").startswith(LINKS):
                yield (section, vhost, _text(one, "name")), where


def _used(entries: _Entries) -> Iterator[Use]:
    for one, vhost, where in entries.of("bindings"):
        to = "exchanges" if one.get("destination_type") == "exchange" else "queues"
        yield from _named("exchanges", vhost, _text(one, "source"), where)
        yield from _named(to, vhost, _text(one, "destination"), where)
    for one, vhost, where in entries.of("policies"):
        keys, pattern = one.get("definition"), compiled(_text(one, "pattern"))
        if pattern and isinstance(keys, dict) and keys.keys() & set(FEDERATION):
            kind = "queues" if one.get("apply-to") in QUEUES else "exchanges"
            yield Use(kind, vhost, "", where, pattern)
    for one, _, where in entries.of("parameters"):
        value = one.get("value")
        if one.get("component") == "shovel" and isinstance(value, dict):
            yield from _of_shovel(value, where)


def _of_shovel(value: Mapping[str, Any], where: Where) -> Iterator[Use]:
    for side in ("src", "dest"):
        given = value.get(f"{side}-uri")
        uris = given if isinstance(given, list) else [given]
        uri = read_uri(uris[0]) if uris and isinstance(uris[0], str) else None
        if isinstance(uri, Uri) and uri.local:
            for kind in ("queue", "exchange"):
                name = _text(value, f"{side}-{kind}")
                yield from _named(f"{kind}s", uri.vhost or DEFAULT, name, where)


def _named(section: str, vhost: str, name: str, where: Where) -> Iterator[Use]:
    if name and name not in BUILT_IN and not name.startswith(LINKS):
        yield Use(section, vhost, name, where)
