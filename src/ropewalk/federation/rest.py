"""The well-shaped rest of a file that has faults of shape, so that its sense is checked as well.

All faults of a file are reported at once: a wrong unit in one link must not hide an unknown
broker in another.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from pydantic import ValidationError

from ropewalk.federation.facts import Federation
from ropewalk.federation.schema import adapter
from ropewalk.federation.sense import Fault, check
from ropewalk.federation.shape import place_in_file, value_at
from ropewalk.federation.yaml_text import Path

_OF_RECORDS = {"sites", "brokers", "risk_groups", "topics", "nodes"}
_STAND_INS: dict[str, Any] = {
    **{name: {} for name in ("sites", "brokers", "risk_groups", "topics", "underlay.nodes")},
    "protocols": "misshapen",
}
"""What stands in for an entry that is cut whole, so that its name stays known."""
_RESTS_ON = {
    "F018": ("make",),
    "F026": ("brokers", "domains"),
    "F028": ("brokers", "address"),
    "F029": ("brokers", "address", "links"),
    "F030": ("brokers", "underlay", "underlay.links", "underlay.nodes"),
    "F033": ("brokers", "links", "sites", "risk_groups"),
}
"""Faults that may only follow from what was cut out of these sections, or from these fields."""
_SECTIONS = {one.name for one in fields(Federation)} | {"nodes"}
_ROUNDS = 12
"""Each round cuts what the last one left misshapen: field, list, entry; few files need three."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What is left of a file without its misshapen parts.

    `kept` tells which entries the lists have left, `lost` the sections that entries were cut from.
    """

    federation: Federation
    kept: Mapping[Path, list[int]]
    lost: frozenset[str]

    def faults(self) -> Iterator[Fault]:
        """The rest's faults of sense, with the paths they have in the whole file.

        What only follows from a cut is left out: the fault that led to the cut is told.
        """
        for fault in check(self.federation):
            causes = {fault.section, *_RESTS_ON.get(fault.code, ())}
            if causes.isdisjoint(self.lost):
                yield replace(fault, path=_whole(fault.path, self.kept))


def without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """A section left empty is not there; an entry left empty (`lon-gw:`) is all defaults."""
    empty = {key for key, value in values.items() if value is None and key in _SECTIONS}
    kept = {key: value for key, value in values.items() if key not in empty}
    for section in _OF_RECORDS & kept.keys():
        if isinstance(kept[section], dict) and None in kept[section].values():
            kept[section] = {
                name: {} if entry is None else entry for name, entry in kept[section].items()
            }
    if isinstance(kept.get("underlay"), dict):
        kept["underlay"] = without_empty(kept["underlay"])
    return kept


def well_shaped(values: Any) -> Rest | None:
    """Cut misshapen fields, then entries, until the rest passes; None if nothing usable is left.

    A record with a name is never cut whole: its name is known even when its fields are not.
    """
    whole = _copy(without_empty(values))
    whole.setdefault("federation", "unnamed")
    lost: set[str] = set()
    if not isinstance(whole.get("brokers"), dict):
        whole["brokers"] = {"misshapen": {}}
        lost.add("brokers")
    for _ in range(_ROUNDS):
        kept: dict[Path, list[int]] = {}
        trial = _left(whole, (), kept)
        try:
            return Rest(adapter().validate_python(trial), kept, frozenset(lost))
        except ValidationError as error:
            for path in _bad_values(error, trial):
                lost |= _cut(whole, _whole(path, kept))
    return None


_CUT: Any = object()
"""Stands in a list for an entry that was taken out, so that the others keep their places."""


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _left(value: Any, path: Path, kept: dict[Path, list[int]]) -> Any:
    """A value without what was cut, noting which entries of its lists are left."""
    if isinstance(value, dict):
        return {key: _left(inner, (*path, key), kept) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    kept[path] = [i for i, entry in enumerate(value) if entry is not _CUT]
    return [_left(value[i], (*path, i), kept) for i in kept[path]]


def _whole(path: Path, kept: Mapping[Path, list[int]]) -> Path:
    """A path in the rest as a path in the whole file."""
    whole: Path = ()
    for step in path:
        whole = (*whole, kept[whole][step] if isinstance(step, int) and whole in kept else step)
    return whole


def _bad_values(error: ValidationError, values: Any) -> set[Path]:
    """The values that are wrong, and for what is missing the value around it."""
    bad = set()
    for detail in error.errors(include_url=False):
        path, took_branch = place_in_file(detail["loc"], values)
        while path and value_at(values, path) is None:
            path = path[:-1]
        if took_branch is not False:
            bad.add(path)
    return bad


def _cut(values: Any, path: Path) -> set[str]:
    """Take out the value at a path; returns the section or field that others may miss."""
    parent: Any = value_at(values, path[:-1])
    step: Any = path[-1] if path else None
    section = ".".join(map(str, path[:2] if path[:1] == ("underlay",) else path[:1]))
    entry = len(path) - len(section.split("."))  # 0: the section itself, 1: an entry of it
    if entry == 1 and section in _STAND_INS and isinstance(parent, dict):
        parent[step] = _copy(_STAND_INS[section])
    elif isinstance(parent, list):
        parent[step] = _CUT
    elif isinstance(parent, dict):
        parent.pop(step, None)
    if entry == 0 or (entry == 1 and section not in _STAND_INS):
        return {section}
    return {"make", "address"} & {step, *(("make", "address") if entry == 1 else ())}
