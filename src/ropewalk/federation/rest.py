"""The well-shaped rest of a file that has faults of shape, so that its sense is checked as well.

All faults of a file are reported at once: a wrong unit in one link must not hide an unknown
broker in another.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from pydantic import ValidationError

from ropewalk.federation.facts import Federation
from ropewalk.federation.limits import Placement
from ropewalk.federation.schema import adapter
from ropewalk.federation.sense import Fault, check
from ropewalk.federation.shape import place_in_file, value_at
from ropewalk.federation.words import Place
from ropewalk.federation.yaml_text import Path

Loss = tuple[str | int, ...]
"""What was cut out: (section,), (section, entry, field), or (section, entry, *): all of it.
(section, *, field) is kept besides: somewhere in the section the field was cut out."""

_ROUNDS = 12
"""Each round cuts what the last one left misshapen: field, list, entry; few files need three."""

_STAND_INS: dict[str, Any] = {
    **{name: {} for name in ("sites", "brokers", "risk_groups", "topics", "underlay.nodes")},
    "protocols": "misshapen",
}
"""What stands in for an entry that is cut whole, so that its name stays known."""

_PLACES: tuple[Loss, ...] = (
    ("placement.at",),
    ("items",),
    ("topics",),
    ("topics", "*", "publishers"),
    ("topics", "*", "contract"),
)
"""What decides where items are today."""

_DOMAINS: tuple[Loss, ...] = (
    ("brokers",),
    ("domains",),
    ("domains", "*", "gateways"),
    ("domains", "*", "edges"),
)

_FOLLOWS: dict[str, tuple[Loss, ...]] = {
    "F018": (("brokers", "=", "make"),),
    "F024": (("topics", "=", "publishers"),),
    "F020 items": (("topics",),),
    "F026": (*_DOMAINS, ("topics", "=", "publishers")),
    "F028": (("brokers",), ("brokers", "*", "address")),
    "F029": (("brokers",), ("brokers", "*", "address"), ("links",), ("links", "*", "between")),
    "F030": (
        ("brokers",),
        *(("brokers", "*", field) for field in ("node", "at", "xy", "site")),
        ("sites",),
        *(("sites", "*", field) for field in ("at", "xy")),
        ("underlay",),
        ("underlay.nodes",),
        *(("underlay.nodes", "*", field) for field in ("at", "xy")),
        ("underlay.links",),
        ("underlay.links", "*", "between"),
    ),
    "F033 links": (("links", "*", "between"),),
    "F036": _PLACES,
    "F037": (*_PLACES, *_DOMAINS, ("placement.only",), ("brokers", "*", "site")),
    "F038": (("brokers",), ("brokers", "*", "site")),
    "F039": (("placement.apart",),),
    "F041": (("brokers",),),
    "F042": _PLACES,
    "F044": (("items",),),
}
"""Faults, or those that speak of a section, that may only follow from what was cut out; `=` is
the entry that has the fault."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What is left of a file without its misshapen parts.

    `kept` tells which entries the lists have left, `lost` what was cut out.
    """

    federation: Federation
    kept: Mapping[Path, list[int]]
    lost: frozenset[Loss]

    def faults(self) -> Iterator[Fault]:
        """The rest's faults of sense, with the paths they have in the whole file.

        What only follows from a cut is left out: the fault that led to the cut is told.
        """
        for fault in check(self.federation):
            whole = replace(fault, path=_whole(fault.path, self.kept))
            if (fault.section,) not in self.lost and not self.explains(whole):
                yield whole

    def explains(self, fault: Fault) -> bool:
        """Whether a fault may only follow from something that was cut out."""
        causes = _FOLLOWS.get(f"{fault.code} {fault.section}".strip(), ())
        entry = fault.path[1] if len(fault.path) > 1 else ""
        return any(not self.lost.isdisjoint(_losses(cause, entry)) for cause in causes)


def _losses(cause: Loss, entry: str | int) -> tuple[Loss, ...]:
    """What must have been cut out for a cause to hold: the section, the field, or all around it."""
    if len(cause) == 1:
        return (cause,)
    section, which, field = cause
    at = entry if which == "=" else "*"
    return (section, at, field), (section, at, "*")


_SECTIONS = {one.name for one in fields(Federation)}
_PARTS = {one.name for one in fields(Placement)}
_OF_RECORDS = ("sites", "brokers", "risk_groups", "topics")


def without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """A section left empty is not there; an entry left empty (`lon-gw:`) is all defaults."""
    kept = _filled(values, _SECTIONS, _OF_RECORDS)
    if isinstance(kept.get("underlay"), dict):
        kept["underlay"] = _filled(kept["underlay"], {"nodes", "links"}, ("nodes",))
    if isinstance(kept.get("placement"), dict):
        kept["placement"] = _filled(kept["placement"], _PARTS, ("brokers", "sites"))
    return kept


def _filled(
    values: dict[str, Any], sections: set[str], of_records: tuple[str, ...]
) -> dict[str, Any]:
    empty = {key for key, value in values.items() if value is None and key in sections}
    kept = {key: value for key, value in values.items() if key not in empty}
    for section in of_records:
        if isinstance(kept.get(section), dict) and None in kept[section].values():
            entries = kept[section].items()
            kept[section] = {name: {} if entry is None else entry for name, entry in entries}
    return kept


def well_shaped(values: Any) -> Rest | None:
    """Cut misshapen fields, then entries, until the rest passes; None if nothing usable is left.

    A record with a name is never cut whole: its name is known even when its fields are not.
    """
    whole = _copy(without_empty(values))
    whole.setdefault("federation", "unnamed")
    lost: set[Loss] = set()
    if not isinstance(whole.get("brokers"), dict):
        whole["brokers"] = {"misshapen": {}}
        lost.add(("brokers",))
    for _ in range(_ROUNDS):
        kept: dict[Path, list[int]] = {}
        trial = _left(whole, (), kept)
        try:
            return Rest(adapter().validate_python(trial), kept, frozenset(lost))
        except ValidationError as error:
            for path in _bad_values(error, trial):
                loss = _cut(whole, _whole(path, kept))
                lost |= {loss, (loss[0], "*", *loss[2:])} if len(loss) == 3 else {loss}
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


def _cut(values: Any, path: Path) -> Loss:
    """Take out the value at a path; returns what is lost by it, misspelt names put right."""
    loss = _loss(path)
    parent: Any = value_at(values, path[:-1])
    step: Any = path[-1] if path else None
    if loss[2:] == ("*",) and loss[0] in _STAND_INS and isinstance(parent, dict):
        parent[step] = _copy(_STAND_INS[str(loss[0])])
    elif isinstance(parent, list):
        parent[step] = _CUT
    elif isinstance(parent, dict):
        parent.pop(step, None)
    return loss


def _loss(path: Path) -> Loss:
    head = 2 if path[:1] in (("underlay",), ("placement",)) and len(path) > 1 else 1
    section = ".".join(map(str, Place(path[:head], None).near))
    if len(path) <= head or section == "items" or path[0] == "placement":
        return (section,)  # of items and of parts of the placement, a cut anywhere counts as all
    if len(path) == head + 1:
        return (section, path[head], "*")
    return (section, path[head], Place(path[: head + 2], None).near[-1])
