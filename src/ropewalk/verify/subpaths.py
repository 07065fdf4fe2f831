"""Which paths need testing because the others follow (Jia 2014, 5.4).

With tables per destination a delivered path from s to d proves the paths to d of the brokers on it,
its suffixes, and nothing else. The paper marks prefixes and reversed paths as proved too: a loop
that only those pairs meet then goes unseen. Its rule is kept here to be compared with.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ropewalk.verify.check import Check
from ropewalk.verify.paths import follow, rows_in

Rule = Literal["suffix", "paper"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Pairs of brokers to be tested, and how many paths there are without a rule."""

    tested: tuple[tuple[int, int], ...]
    total: int


def select(check: Check, *, rule: Rule = "suffix") -> Selection:
    """The pairs that have to be tested, with nothing failed.

    By the suffix rule in any order; by the paper's, as its algorithm does, in order of
    destinations, marking all pairs of brokers of a path, both ways round, when it is written down.
    """
    ends = zip(check.demand.source.tolist(), check.demand.to.tolist(), strict=True)
    pairs = sorted({(source, to) for source, to in ends if source != to})
    paths = paths_of(check, pairs)
    chosen = _by_suffix(check, paths) if rule == "suffix" else _by_paper(paths)
    return Selection(tuple(chosen), check.demand.pairs)


def paths_of(
    check: Check, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], tuple[int, ...]]:
    """The path of each pair with nothing failed."""
    rows: dict[tuple[int, int], object] = {}
    found = {}
    for source, to in pairs:
        key = (to, int(check.entries.plane[source]))
        if key not in rows:
            rows[key] = rows_in(check, to, 0, source)[0]
        found[source, to] = follow(check, rows[key], source, to).brokers  # type: ignore[arg-type]
    return found


def _by_suffix(
    check: Check, paths: dict[tuple[int, int], tuple[int, ...]]
) -> list[tuple[int, int]]:
    """Pairs whose source lies on no other delivered path to the same destination.

    Sources that hand-made entries tell apart prove nothing for each other.
    """
    group = {(source, to): check.group_of(to, source) for source, to in paths}
    proved = {
        (broker, to, group[source, to])
        for (source, to), path in paths.items()
        if path[-1] == to
        for broker in path[1:]
    }
    return [pair for pair in paths if (*pair, group[pair]) not in proved]


def _by_paper(paths: dict[tuple[int, int], tuple[int, ...]]) -> list[tuple[int, int]]:
    marked: set[tuple[int, int]] = set()
    chosen = []
    for pair in sorted(paths, key=lambda one: (one[1], one[0])):
        if pair not in marked:
            chosen.append(pair)
            path = paths[pair]
            marked |= {(a, b) for a in path for b in path}
    return chosen
