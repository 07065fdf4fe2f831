"""Which link or broker has failed, from pairs observed to be unreachable (Jia 2014, 5.2.7).

Something on the path of every unreachable pair is down, and nothing on the path of a pair that
worked is. Every smallest set of links and brokers that fits is an explanation: if there are
several, all are told, with a test that tells them apart.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from ropewalk.errors import InputError, UsageError
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import Failure, link_name
from ropewalk.findings import Finding, Where
from ropewalk.routing.ground import connected_parts
from ropewalk.routing.scenarios import scenarios_of
from ropewalk.routing.table import Table
from ropewalk.verify.check import Check, prepare
from ropewalk.verify.demand import every_pair
from ropewalk.verify.paths import path_in

if TYPE_CHECKING:
    import pandas as pd

MOST_DOWN = 4
"""Explanations by more failures at once are not looked for."""
MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class Observation:
    """A test between two brokers, and how it ended."""

    source: str
    to: str
    delivered: bool
    where: Where = field(default=Where("<memory>"))


@dataclass(frozen=True, slots=True)
class Location:
    """What may have failed: the smallest explanations, and what tells them apart."""

    explanations: tuple[Failure, ...]
    unexplained: tuple[Observation, ...]
    misconfigured: tuple[Observation, ...]
    """Tests that fail by configuration, with nothing failed."""
    next_test: tuple[str, str] | None
    complete: bool
    """False if there are more explanations than are listed, or larger ones were not tried."""

    def frame(self) -> "pd.DataFrame":
        """A row per explanation, the likeliest first."""
        import pandas as pd

        return pd.DataFrame({"explanation": [str(one) for one in self.explanations]})

    def findings(self, where: Where) -> Iterator[Finding]:
        """One finding for what failed, and one per observation that no failure explains."""
        for one in self.misconfigured:
            message = f"{one.source} to {one.to} is not delivered even with nothing failed"
            yield Finding("V022", message, one.where, "error", {"from": one.source, "to": one.to})
        for one in self.unexplained:
            message = f"{one.source} to {one.to} failed, but all of its path worked for others"
            if one.delivered:
                message = f"{one.source} to {one.to} was delivered, but by the tables it is not"
            yield Finding("V021", message, one.where, "error", {"from": one.source, "to": one.to})
        if self.explanations:
            names = [str(one) for one in self.explanations]
            shown = names if len(names) <= 6 else [*names[:5], f"{len(names) - 5} more"]
            which = f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else shown[0]
            test = f"; a test {' to '.join(self.next_test)} tells more" if self.next_test else ""
            witness = {"explanations": names, "next_test": self.next_test}
            message = f"{which} failed, by the paths with nothing failed{test}"
            yield Finding("V020", message, where, "error", witness)


def read_observations(path: Path, federation: Federation) -> list[Observation]:
    """Test results from a CSV file: from, to, delivered (yes or no); or a list of what failed.

    Raises InputError with a finding per fault.
    """
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    faults: list[Finding] = []
    found: list[Observation] = []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError([Finding("T001", "it is no UTF-8 text", Where(str(path)))]) from None
    with StringIO(text, newline="") as file:
        rows = csv.DictReader(file, skipinitialspace=True)
        fields = {(one or "").strip() for one in rows.fieldnames or ()}
        if not {"from", "to"} <= fields or fields - {"from", "to", "delivered"}:
            message = "no test results: write columns from, to and delivered (yes or no)"
            raise InputError([Finding("T001", message, Where(str(path), 1))])
        for row in rows:
            where = Where(str(path), rows.line_num)
            ends = [(row[side] or "").strip() for side in ("from", "to")]
            strange = [name for name in ends if name not in federation.brokers]
            faults += [Finding("T002", f"no broker is called {name!r}", where) for name in strange]
            said = (row.get("delivered") or "no").strip().lower()
            if said not in YES | NO:
                message = f"delivered: {said!r} is neither yes nor no"
                faults.append(Finding("T001", message, where))
            found.append(Observation(ends[0], ends[1], said in YES, where))
        if not found:
            faults.append(Finding("T001", "it holds no test results", Where(str(path))))
    if faults:
        raise InputError(faults)
    return found


YES = {"yes", "true", "1", "ok", "delivered"}
NO = {"no", "false", "0", "", "failed", "unreachable"}


def locate(
    federation: Federation, observed: Sequence[Observation], *, table: Table | None = None
) -> Location:
    """The smallest sets of links and brokers that explain the observations.

    By the paths with nothing failed: tests are taken to have run before anything was rerouted.
    Raises UsageError for brokers that do not exist, or that only bridges join.
    """
    check = prepare(federation, scenarios_of(federation), every_pair(federation), table=table)
    number = {name: i for i, name in enumerate(check.graph.names)}
    _refuse_strangers(federation, observed, number)
    misconfigured = tuple(
        one
        for one in observed
        if not one.delivered and not path_in(check, number[one.source], number[one.to]).arrives
    )
    strange = [
        one
        for one in observed
        if one.delivered and not path_in(check, number[one.source], number[one.to]).arrives
    ]
    observed = [one for one in observed if one not in misconfigured and one not in strange]
    passed = {one: _parts(check, number[one.source], number[one.to]) for one in observed}
    working = set(chain.from_iterable(passed[one] for one in observed if one.delivered))
    suspects = {one: passed[one] - working for one in observed if not one.delivered}
    unexplained = tuple(one for one, left in suspects.items() if not left)
    wanted = [left for left in suspects.values() if left]
    found, complete = _smallest(wanted)
    found.sort(key=lambda one: (-_likelihood(federation, one), str(_failure(one))))
    return Location(
        tuple(_failure(one) for one in found[:MOST_TOLD]),
        (*unexplained, *strange),
        misconfigured,
        _telling(check, found, observed) if len(found) > 1 else None,
        complete and len(found) <= MOST_TOLD,
    )


def _refuse_strangers(
    federation: Federation, observed: Sequence[Observation], number: dict[str, int]
) -> None:
    for one in observed:
        for name in (one.source, one.to):
            if name not in number:
                raise UsageError(f"test {one.source} to {one.to}: no broker is called {name!r}")
    part = connected_parts(federation.graph) if federation.bridges else ()
    for one in observed if len(part) else ():
        if part[number[one.source]] != part[number[one.to]]:
            told = f"test {one.source} to {one.to}: only bridges join them"
            raise UsageError(f"{told}, and failures are located on links only")


Part = tuple[str, ...]
"""A broker (one name) or a link (two)."""


def _parts(check: Check, source: int, to: int) -> frozenset[Part]:
    """Brokers and links of the path of a pair."""
    names = [check.graph.names[b] for b in path_in(check, source, to).brokers]
    links = pairwise(names)
    return frozenset([*((name,) for name in names), *(tuple(sorted(ends)) for ends in links)])


def _failure(parts: frozenset[Part]) -> Failure:
    return Failure(
        brokers=frozenset(part[0] for part in parts if len(part) == 1),
        links=frozenset(link_name(*part) for part in parts if len(part) == 2),
    )


def _smallest(wanted: list[frozenset[Part]]) -> tuple[list[frozenset[Part]], bool]:
    """All hitting sets of the smallest size, by trying the parts of the shortest unexplained pair.

    Parts that explain the same pairs are tried together, as one.
    """
    if not wanted:
        return [], True
    alike: dict[frozenset[int], list[Part]] = {}
    for part in sorted(set(chain.from_iterable(wanted))):
        alike.setdefault(frozenset(i for i, one in enumerate(wanted) if part in one), []).append(
            part
        )
    covers = sorted(alike, key=len, reverse=True)
    for size in range(1, MOST_DOWN + 1):
        chosen = {frozenset(one) for one in _hitting(frozenset(range(len(wanted))), covers, size)}
        if chosen:
            return [parts for one in chosen for parts in _spelled(list(one), alike)], True
    return [], False


def _hitting(
    left: frozenset[int], covers: list[frozenset[int]], size: int
) -> Iterator[tuple[frozenset[int], ...]]:
    if not left:
        yield ()
        return
    if size == 0:
        return
    first = min(left, key=lambda i: sum(i in one for one in covers))
    for one in covers:
        if first in one:
            for rest in _hitting(left - one, covers, size - 1):
                yield (one, *rest)


def _spelled(
    covers: list[frozenset[int]], alike: dict[frozenset[int], list[Part]]
) -> Iterator[frozenset[Part]]:
    if not covers:
        yield frozenset()
        return
    for part in alike[covers[0]]:
        for rest in _spelled(covers[1:], alike):
            yield rest | {part}


def _likelihood(federation: Federation, parts: frozenset[Part]) -> float:
    """The product of the parts' own probabilities to fail; links before brokers without any."""
    links = {tuple(sorted(link.between)): link.fails for link in federation.links}
    product = 1.0
    for part in parts:
        known = links.get(part, 0.0) if len(part) == 2 else federation.brokers[part[0]].fails
        product *= known or (1e-6 if len(part) == 2 else 1e-7)
    return product


def _telling(
    check: Check, found: list[frozenset[Part]], observed: Sequence[Observation]
) -> tuple[str, str] | None:
    """A pair not tested yet that works under about half of the explanations."""
    tested = {(one.source, one.to) for one in observed}
    names = check.graph.names
    suspects = sorted(set(chain.from_iterable(found)))
    pairs = [(a, b) for part in suspects for a, b in _near(check, part)]
    best: tuple[int, tuple[str, str]] | None = None
    for a, b in dict.fromkeys(pairs):
        if (names[a], names[b]) in tested or a == b:
            continue
        parts = _parts(check, a, b)
        hit = sum(bool(parts & one) for one in found)
        if 0 < hit < len(found):
            score = abs(2 * hit - len(found))
            if best is None or score < best[0]:
                best = (score, (names[a], names[b]))
    return best[1] if best else None


def _near(check: Check, part: Part) -> Iterator[tuple[int, int]]:
    number = {name: i for i, name in enumerate(check.graph.names)}
    ends = [number[name] for name in part]
    if len(ends) == 2:
        yield ends[0], ends[1]
        yield ends[1], ends[0]
    else:
        for near in check.graph.neighbours(ends[0]).tolist():
            yield near, ends[0]
