"""What a verification says of contracts: of the style that a federation is, and of its promises."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding, Severity
from ropewalk.verify.contracts.deriving import style_of
from ropewalk.verify.contracts.hops import weak_bridges
from ropewalk.verify.contracts.last_hop import doubles, priorities
from ropewalk.verify.contracts.promised import Promised
from ropewalk.verify.contracts.rehoming import unfenced
from ropewalk.verify.contracts.rules import check
from ropewalk.verify.contracts.style_findings import style_findings
from ropewalk.verify.contracts.total import total_orders

MOST = 20
"""Findings of one code that are told one by one; the rest is counted."""
TABLES = {"S13", "S14"}
"""Rules of tables: their breaches are counted, and only the first are made into findings."""
WORST: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Contracts:
    """What is wrong with contracts: findings, and how many of each code there are in all."""

    findings: tuple[Finding, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()


def contracts_of(
    federation: Federation,
    topics: Collection[str] | None = None,
    *,
    told: Collection[str] = (),
) -> Contracts:
    """All rules of a federation, and what it promises of some topics, or of all.

    `told` are codes of what was found elsewhere.
    """
    style, promised = style_of(federation), Promised(federation, topics)
    checked = check(style)
    found = [*style_findings(federation, checked, told), *promise_findings(promised)]
    counts = Counter(one.code for one in found)
    counts |= Counter({code: checked.broken[code].count for code in TABLES & counts.keys()})
    return Contracts(tuple(bounded(found, counts)), tuple(sorted(counts.items())))


def promise_findings(promised: Promised) -> Iterator[Finding]:
    """Promises that cannot be kept, or not everywhere."""
    yield from weak_bridges(promised)
    yield from doubles(promised)
    yield from total_orders(promised)
    yield from unfenced(promised)
    yield from priorities(promised)


def bounded(
    found: Iterable[Finding], counts: Mapping[str, int] = MappingProxyType({}), *, most: int = MOST
) -> Iterator[Finding]:
    """So many of each code, the worst first, then how many more there are of those counted.

    >>> from ropewalk.findings import Where
    >>> many = [Finding("S19", f"topic {i}", Where("f.yaml", i)) for i in range(1, 6)]
    >>> [str(one) for one in bounded(many, most=2)]
    ['f.yaml:1: S19 topic 1', 'f.yaml:2: S19 topic 2', 'f.yaml:3: S19 3 more like these']
    """
    by_code: dict[str, list[Finding]] = {}
    for one in found:
        by_code.setdefault(one.code, []).append(one)
    for code, every in by_code.items():
        every.sort(key=lambda one: WORST.index(one.severity))
        yield from every[:most]
        more = max(counts.get(code, 0), len(every)) - len(every[:most])
        if more:
            worst = every[min(most, len(every) - 1)]  # of the others, if they were made
            told = f"{more:,} more like these"
            yield Finding(code, told, worst.where, worst.severity, {"more": more})
