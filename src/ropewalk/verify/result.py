"""The result of a verification, and the function that makes one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Bools
from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding
from ropewalk.routing.scenarios import listed, scenarios_of
from ropewalk.routing.table import Table
from ropewalk.routing.trees import Longs
from ropewalk.verify.bridges import Flooding, apart, flooding_of, rescue_of
from ropewalk.verify.check import GOING_ON, Check, Sight, prepare
from ropewalk.verify.contracts.findings import Contracts, contracts_of
from ropewalk.verify.demand import Demand, demand_of, every_pair
from ropewalk.verify.faults import Fault, bad_records, faults_of, finding_of
from ropewalk.verify.promises import MOST as MOST_PROMISES
from ropewalk.verify.promises import kept_promises
from ropewalk.verify.reconfiguration import reconfiguration
from ropewalk.verify.undelivered import undelivered
from ropewalk.verify.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

Pairs = Literal["topics", "all"]
Outcome = Literal["ok", "findings", "undecided"]


@dataclass(frozen=True, slots=True)
class Asked:
    """Failures, pairs and topics as they were given."""

    failures: tuple[str, ...] | None
    pairs: Pairs | None
    topics: tuple[str, ...] | None


@dataclass(frozen=True, eq=False, repr=False)
class Verification:
    """What a federation's configuration does, in every scenario that was asked for."""

    check: Check
    sight: Sight
    flooding: Flooding
    decided: bool
    """False if time ran out: what was found is true, what was not found is not known."""
    asked: "Asked"
    """What was asked for, to ask it again of another federation."""
    strict: bool = False
    """Whether failures that no routing could survive are findings as well."""

    def __repr__(self) -> str:
        return f"<Verification of {self.check.federation.name}: {self.outcome}>"

    @cached_property
    def fates(self) -> Longs:
        """How many pairs have each fate (columns, see Verdict) in each scenario (rows)."""
        fates = self.sight.counts.copy()
        fates[1:] += fates[0]
        fates[:, Verdict.CUT] += self.check.moves.stranded
        if self.flooding.rescue is not None:
            fates += self.flooding.rescue.changes(len(fates))
        return np.asarray(fates + self.flooding.fates)

    @cached_property
    def stranded(self) -> Longs:
        """How many pairs lack a client's broker, in each scenario."""
        return self.check.moves.stranded + self.flooding.stranded

    @cached_property
    def faults(self) -> list[Fault]:
        """Bad paths, each once."""
        return self._told[0]

    @cached_property
    def _told(self) -> tuple[list[Fault], bool]:
        return faults_of(self.check, bad_records(self.sight.seen))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that is wrong: bad paths, bridges, requirements, take-overs, contracts."""
        return (*self._on_the_way, *self.contracts.findings)

    @cached_property
    def _on_the_way(self) -> list[Finding]:
        found = [finding_of(self.check, fault) for fault in self.faults]
        found += self.flooding.findings
        found += kept_promises(self.check, self.fates, self.stranded, strict=self.strict)
        found += reconfiguration(self.check.federation)
        return found

    @cached_property
    def contracts(self) -> Contracts:
        """What cannot be kept of the topics' contracts; nothing if only pairs were asked for."""
        if not self.contracts_checked:
            return Contracts()
        told = {one.code for one in self._on_the_way}
        return contracts_of(self.check.federation, self.asked.topics, told=told)

    @property
    def contracts_checked(self) -> bool:
        """Whether there was time, and topics were asked after."""
        asked = len(self.check.demand.topic) or len(self.flooding.bridged.topic)
        return bool(asked) and self.decided

    @property
    def outcome(self) -> Outcome:
        """Findings, or undecided, or ok: warnings alone are ok."""
        if any(one.severity == "error" for one in self.findings):
            return "findings"
        return "ok" if self.decided else "undecided"

    @property
    def ok(self) -> bool:
        """Whether all was decided and nothing is wrong."""
        return self.outcome == "ok"

    @property
    def witness(self) -> object:
        """The witness of the first finding, or None."""
        return self.findings[0].witness if self.findings else None

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Sizes, and fates summed over all scenarios."""
        federation, total = self.check.federation, self.fates.sum(axis=0)
        return {
            "federation": federation.name,
            "brokers": len(federation.brokers),
            "links": len(federation.links),
            "bridges": len(federation.bridges),
            "topics": len(federation.topics),
            "pairs": self.check.demand.pairs + self.flooding.pairs,
            "scenarios": len(self.check.scenarios),
            "delivered": int(total[Verdict.DELIVERED]),
            "loops": int(total[Verdict.LOOP] + total[Verdict.UTURN]),
            "uturns": int(total[Verdict.UTURN]),
            "black_holes": int(total[Verdict.BLACK_HOLE]),
            "too_long": int(total[Verdict.TOO_LONG]),
            "leaks": int(total[Verdict.LEAK]),
            "unavoidable": int(total[Verdict.CUT]),
            "stranded": int(self.stranded.sum()),
            "cuts": self.cuts(10),
            "cut_scenarios": int((self._cut[1:] > 0).sum()),
            "paths_tested": self.sight.tested,
            "paths_total": self.check.demand.pairs,
            "not_checked": not_checked(federation, self.check.most_hops)
            + ([] if self.decided else ["contracts"]),
            "contracts": dict(self.contracts.counts),
            "all_told": self._told[1]
            and all(seen.complete for seen in self.sight.seen)
            and sum(one.code in ("V007", "V008") for one in self.findings) < MOST_PROMISES,
            "decided": self.decided,
        }

    @cached_property
    def _cut(self) -> Longs:
        """Pairs that no routing could save, in each scenario."""
        lost = self.fates[:, Verdict.CUT]
        # Of pairs of brokers without clients: a dead one sends nothing that could be missed.
        return lost if self.check.moving else lost - self.stranded

    def cuts(self, most: int | None = None) -> list[Mapping[str, Any]]:
        """Failures that no routing could survive, the worst first, with the pairs they cost."""
        lost = self._cut
        worst = np.argsort(-lost, kind="stable")[: int((lost > 0).sum())]
        stranded = self.stranded
        return [
            {
                "failure": self.check.scenarios.name(k),
                "pairs": int(lost[k]),
                "stranded": int(stranded[k]),
            }
            for k in worst[:most].tolist()
        ]

    def frame(self) -> "pd.DataFrame":
        """A row per scenario: the failure, and how many pairs have each fate."""
        import pandas as pd

        columns = {one.name.lower(): self.fates[:, one] for one in Verdict}
        names = [self.check.scenarios.name(k) for k in range(len(self.check.scenarios))]
        return pd.DataFrame({"failure": names, **columns})

    def cases(self) -> "pd.DataFrame":
        """A row per pair of brokers and failure in which not all of it is delivered, and why not.

        `fate` is the worst of its topics; `stranded` if a client has no broker left.
        """
        import pandas as pd

        return pd.DataFrame(undelivered(self), columns=["failure", "from", "to", "topics", "fate"])

    def after(self, federation: Federation) -> "Verification":
        """The verification of an edited federation, looking only at what the edit touches.

        Where only `routes` differ these are the destinations that the edited routes speak of.
        """
        from ropewalk.verify.again import again

        return again(self, federation)


def verify(
    federation: Federation,
    *,
    failures: str | Iterable[str] | None = None,
    pairs: Pairs | None = None,
    topics: Iterable[str] | None = None,
    table: Table | None = None,
    most_hops: int | None = None,
    strict: bool = False,
    halt: Bools = GOING_ON,
) -> Verification:
    """Whether every topic reaches its subscribers, under failures too.

    `failures` as in `scenarios_of`; by default what the federation's requirements ask for, and
    without any every single link and every single broker. `pairs` is "topics" or "all" pairs of
    brokers (the default where there are no topics); `topics` narrows it down to what is owed under
    these. With `strict` failures that no routing could survive are findings too. When `halt[0]` is
    set, by another thread, the rest is left undecided.

    >>> from ropewalk import generate
    >>> verify(generate("six-broker"), failures=["brokers=1"]).ok
    True
    """
    failures = None if failures is None else tuple(listed(failures))
    topics = None if topics is None else tuple(topics)
    scenarios = scenarios_of(federation, default_failures(federation, failures))
    demand = _demand(federation, pairs, topics)
    demand, bridged = apart(federation, demand)
    check = prepare(
        federation,
        scenarios,
        demand,
        table=table,
        most_hops=most_hops,
        moving=bool(len(demand.topic) or not demand.pairs),
    )
    sight = check.look_at(check.destinations, halt=halt)
    flooding = flooding_of(federation, scenarios, bridged, halt)
    flooding = replace(flooding, rescue=rescue_of(check, halt))
    asked = Asked(failures, pairs, topics)
    return Verification(check, sight, flooding, not halt[0], asked, strict)


def not_checked(federation: Federation, most_hops: int | None) -> list[str]:
    """What the file promises or requires that this verification says nothing about."""
    topics, bridged = federation.topics.values(), bool(federation.bridges)
    found = {
        "contract.within_ms": any(one.contract.within_ms is not None for one in topics),
        "requirements.regions (ropewalk paths does)": federation.requirements.regions is not None,
        "scope: domain over bridges": bridged and any(one.scope == "domain" for one in topics),
        "--most-hops over bridges": bridged and most_hops is not None,
    }
    return [name for name, there in found.items() if there]


def default_failures(federation: Federation, failures: str | Iterable[str] | None) -> Sequence[str]:
    """What was asked for, else what is required, else every single link and broker."""
    if failures is not None:
        return listed(failures)
    survive = federation.requirements.survive
    asked = {"links": survive.links, "brokers": survive.brokers}
    return [f"{kind}={count}" for kind, count in asked.items() if count] or ["links=1", "brokers=1"]


def _demand(federation: Federation, pairs: Pairs | None, topics: Iterable[str] | None) -> Demand:
    if pairs not in (None, "topics", "all"):
        raise UsageError(f"pairs={pairs!r}: write topics or all")
    everything = pairs == "all" or (pairs is None and not federation.topics)
    return every_pair(federation) if everything else demand_of(federation, topics)
