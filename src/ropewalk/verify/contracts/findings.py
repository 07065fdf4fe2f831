"""What a verification says of contracts: of the style that a federation is, and of its promises."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

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
from ropewalk.verify.demand import Demand

MOST = 20
"""Findings of one code that are told one by one; the rest is counted."""
WORST: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Contracts:
    """What is wrong with contracts: findings, and how many of each code there are in all."""

    findings: tuple[Finding, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()


def contracts_of(
    federation: Federation, overlay: Demand, bridged: Demand, *, told: Collection[str] = ()
) -> Contracts:
    """All rules and promises of a federation; `told` are codes of what was found elsewhere."""
    style = style_of(federation)
    promised = Promised(federation, overlay, bridged, style)
    found = [*style_findings(federation, check(style), told), *promise_findings(promised)]
    counts = Counter(one.code for one in found)
    return Contracts(tuple(bounded(found)), tuple(sorted(counts.items())))


def promise_findings(promised: Promised) -> Iterator[Finding]:
    """Promises that cannot be kept, or not everywhere."""
    yield from weak_bridges(promised)
    yield from doubles(promised)
    yield from total_orders(promised)
    yield from unfenced(promised)
    yield from priorities(promised)


def bounded(found: Iterable[Finding], most: int = MOST) -> Iterator[Finding]:
    """So many of each code, then how many more there are.

    >>> from ropewalk.findings import Where
    >>> many = [Finding("S19", f"topic {i}", Where("f.yaml", i)) for i in range(1, 6)]
    >>> [str(one) for one in bounded(many, most=2)]
    ['f.yaml:1: S19 topic 1', 'f.yaml:2: S19 topic 2', 'f.yaml:3: S19 3 more like these']
    """
    beyond: dict[str, list[Finding]] = {}
    seen: Counter[str] = Counter()
    for one in found:
        seen[one.code] += 1
        if seen[one.code] <= most:
            yield one
        else:
            beyond.setdefault(one.code, []).append(one)
    for code, more in beyond.items():
        severity = min((one.severity for one in more), key=WORST.index)
        told = f"{len(more):,} more like these"
        yield Finding(code, told, more[0].where, severity, {"more": len(more)})
