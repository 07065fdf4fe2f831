"""A fault of sense: what is wrong, and the path of the value in the file."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from ropewalk.federation.facts import Federation
from ropewalk.federation.yaml_text import Path

_MANY = 20_000
"""Among more names than this no near one is looked for: it would take seconds."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and the path of the value that is.

    An unknown name also says what is known: looking for a near one takes time, so it is done
    only for the faults that a person will read.
    """

    code: str
    path: Path
    message: str
    unknown: str = ""
    known: Collection[str] = ()

    def in_words(self, *, with_hint: bool) -> str:
        """The message, with the nearest known name where that is asked for and there is one."""
        near = did_you_mean(self.unknown, self.known) if with_hint and self.unknown else ""
        return f"{self.message.partition(': ')[0]}: {near}" if near else self.message


def did_you_mean(name: str, names: Collection[str]) -> str:
    """A hint at the nearest known name, or nothing."""
    near = get_close_matches(name, names, n=1, cutoff=0.7) if len(names) <= _MANY else []
    return f"did you mean {near[0]!r}?" if near else ""


def unknown(kind: str, name: str, known: Collection[str], path: Path, section: str) -> Fault:
    """A name that the file does not have."""
    message = f"no {kind} is called {name!r}: write it under {section}, or correct the name"
    return Fault("F020", path, message, unknown=name, known=known)


def missing_brokers(names: Collection[str], path: Path, federation: Federation) -> Iterator[Fault]:
    """Those of the names that no broker has."""
    for i, name in enumerate(names):
        if name not in federation.brokers:
            yield unknown("broker", name, federation.brokers, (*path, i), "brokers")
