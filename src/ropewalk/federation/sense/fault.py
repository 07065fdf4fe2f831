"""A fault of sense: what is wrong, and the path of the value in the file."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from ropewalk.federation.facts import Federation
from ropewalk.federation.yaml_text import Path

_MANY = 5_000
"""Among more names than this no near one is looked for: it would take seconds."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and the path of the value that is."""

    code: str
    path: Path
    message: str


def did_you_mean(name: str, names: Collection[str]) -> str:
    """A hint at the nearest known name, or nothing."""
    near = get_close_matches(name, names, n=1, cutoff=0.7) if len(names) <= _MANY else []
    return f"did you mean {near[0]!r}?" if near else ""


def unknown(kind: str, name: str, known: Collection[str], path: Path, section: str) -> Fault:
    """A name that the file does not have, with a hint."""
    hint = did_you_mean(name, known) or f"write it under {section}, or correct the name"
    return Fault("F020", path, f"no {kind} is called {name!r}: {hint}")


def missing_brokers(names: Collection[str], path: Path, federation: Federation) -> Iterator[Fault]:
    """Those of the names that no broker has."""
    for i, name in enumerate(names):
        if name not in federation.brokers:
            yield unknown("broker", name, federation.brokers, (*path, i), "brokers")
