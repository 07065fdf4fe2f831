"""A file's faults of shape, each at its place in the file."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from ropewalk.federation.sense.fault import NOUNS, Fault
from ropewalk.federation.words import UNKNOWN_FIELD, Place, fault_of
from ropewalk.federation.yaml_text import Path

_BRANCHES = ("Client", "constrained-str")


def explain(error: ValidationError, values: Mapping[str, Any]) -> Iterator[Fault]:
    """Each fault that the shape check found, with its path in the file."""
    found = []
    for detail in error.errors(include_url=False):
        path, took_branch = place_in_file(detail["loc"], values)
        if took_branch is not False:
            found.append((detail, Place(path, value_at(values, path))))
    if "brokers" in values and values["brokers"] is None:
        # The brokers' names stand beside `brokers:` instead of below it.
        found = [(detail, place) for detail, place in found if not _beside(place, values)]
        what, advice = "brokers is empty", "indent the brokers' names under it"
        yield Fault(code="F010", path=("brokers",), what=what, advice=advice)
    inside = {place.path[:n] for _, place in found for n in range(len(place.path))}
    misspelt = {place.near for detail, place in found if detail["type"] == UNKNOWN_FIELD}
    for detail, place in found:
        # A list is too short because an entry of it is wrong; a field is missing because it is
        # misspelt: that is told already.
        echo = detail["type"] == "too_short" and place.path in inside
        if not echo and not (detail["type"] == "missing" and place.path in misspelt):
            yield fault_of(detail, place)


def _beside(place: Place, values: Mapping[str, Any]) -> bool:
    """Whether a complaint is of `brokers` missing, or of a broker's name among the sections."""
    if place.path == ("brokers",):
        return True
    unknown = len(place.path) == 1 and place.path[0] in values and place.near == place.path
    return unknown and place.path[0] not in NOUNS and isinstance(place.found, dict | None)


def place_in_file(loc: tuple[str | int, ...], values: Any) -> tuple[Path, bool | None]:
    """The part of an error's place that the file has.

    Also whether the error is of the branch that the file took where a publisher may be a name or
    {broker, client}: the other branch's complaint would only confuse.
    """
    path: list[str | int] = []
    took_branch = None
    for i, step in enumerate(loc):
        try:
            values = values[step]
        except (KeyError, IndexError, TypeError):
            if step in _BRANCHES:
                took_branch = (step == "Client") == isinstance(values, dict)
                continue
            if i < len(loc) - 1:
                continue  # a step that only the checker knows
        path.append(step)
    return tuple(path), took_branch


def value_at(values: Any, path: Path) -> Any:
    """The value at a path, or None."""
    for step in path:
        try:
            values = values[step]
        except (KeyError, IndexError, TypeError):
            return None
    return values
