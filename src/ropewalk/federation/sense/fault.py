"""A fault of shape or sense: what is wrong, what to write, and where in the file."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from ropewalk.federation.facts import Federation
from ropewalk.federation.showing import label, shown
from ropewalk.federation.yaml_text import Path

NOUNS = {
    "sites": "site",
    "domains": "domain",
    "brokers": "broker",
    "links": "link",
    "bridges": "bridge",
    "risk_groups": "risk group",
    "topics": "topic",
    "items": "item",
    "routes": "route",
    "protocols": "protocol",
}
PLACED = {
    "at": "placement of",
    "only": "placement of",
    "pinned": "pinned item",
    "apart": "apart group",
    "brokers": "limits of broker",
    "sites": "limits of site",
}
"""The same for the entries of the placement's parts."""
_MANY = 20_000
"""Among more names than this no near one is looked for: it would take seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with the value at a path, and what to write instead.

    An unknown name also says what is known, and in which section: looking for a near name takes
    time, so it is done only for the faults that a person will read.
    """

    code: str
    path: Path
    what: str
    advice: str = ""
    unknown: str = ""
    known: Collection[str] = ()
    section: str = ""

    def in_words(self, *, with_hint: bool = True) -> str:
        """`link 3: no broker is called 'lon-wg': did you mean 'lon-gw'?`."""
        near = did_you_mean(self.unknown, self.known) if with_hint and self.unknown else ""
        entry, _ = entry_of(self.path)
        return ": ".join(part for part in (entry, self.what, near or self.advice) if part)


def entry_of(path: Path) -> tuple[str, Path]:
    """The entry that a path leads into, in words, and the rest of the path.

    >>> entry_of(("links", 2, "between", 1)), entry_of(("requirements", "survive"))
    (('link 3', ('between', 1)), ('', ('requirements', 'survive')))
    """
    if path[:1] == ("underlay",) and len(path) > 2:
        noun, entry, rest = f"underlay {str(path[1]).removesuffix('s')}", path[2], path[3:]
    elif path[:1] == ("placement",) and len(path) > 2 and path[1] in PLACED:
        noun, entry, rest = PLACED[str(path[1])], path[2], path[3:]
    elif len(path) > 1 and path[0] in NOUNS:
        noun, entry, rest = NOUNS[str(path[0])], path[1], path[2:]
    else:
        return "", path
    return f"{noun} {entry + 1 if isinstance(entry, int) else label(entry)}", rest


def did_you_mean(name: str, names: Collection[str]) -> str:
    """A hint at the nearest known name, or nothing."""
    near = get_close_matches(name, names, n=1, cutoff=0.7) if len(names) <= _MANY else []
    return f"did you mean {shown(near[0])}?" if near else ""


def unknown(kind: str, name: str, known: Collection[str], path: Path, section: str) -> Fault:
    """A name that the file does not have."""
    return Fault(
        code="F020",
        path=path,
        what=f"no {kind} is called {shown(name)}",
        advice=f"write it under {section}, or correct the name",
        unknown=name,
        known=known,
        section=section,
    )


def unknown_brokers(names: Collection[str], path: Path, federation: Federation) -> Iterator[Fault]:
    """Those of the names that no broker has."""
    for i, name in enumerate(names):
        if name not in federation.brokers:
            yield unknown("broker", name, federation.brokers, (*path, i), "brokers")
