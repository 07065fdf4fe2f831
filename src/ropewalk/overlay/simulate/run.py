"""One run from beginning to end: simulate, then check what must hold."""

from dataclasses import dataclass, replace
from functools import cached_property

from ropewalk.federation.facts import Federation
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.simulate.account import Account
from ropewalk.overlay.simulate.beliefs import Beliefs
from ropewalk.overlay.simulate.cores import Maker, agents_of
from ropewalk.overlay.simulate.invariants import Missing, Violation, check, missing
from ropewalk.overlay.simulate.journal import Journal
from ropewalk.overlay.simulate.plan import Plan
from ropewalk.overlay.simulate.turns import charts_of, whole_of
from ropewalk.overlay.simulate.world import Physics, World


@dataclass(frozen=True)
class Run:
    """A run that is over."""

    account: Account
    make: Maker
    physics: Physics
    federation: Federation
    """What was simulated, as it was at the beginning."""

    @property
    def plan(self) -> Plan:
        """What was to be done."""
        return self.account.plan

    @property
    def journal(self) -> Journal:
        """What happened."""
        return self.account.journal

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        """What must not happen, and did."""
        return check(self.account)

    @cached_property
    def missing(self) -> list[Missing]:
        """What was due and did not arrive."""
        return missing(self.account)

    @cached_property
    def beliefs(self) -> Beliefs:
        """Who knew what when."""
        return Beliefs(self.account)

    def again(self, plan: Plan | None = None, *, words: bool = False) -> "Run":
        """The same once more: with another plan, or telling which letters cross which links."""
        return simulate(
            self.federation,
            plan or self.plan,
            self.make,
            settings=self.account.settings,
            physics=replace(self.physics, words=words),
        )


def simulate(
    federation: Federation,
    plan: Plan,
    make: Maker | None = None,
    *,
    settings: Settings | None = None,
    physics: Physics | None = None,
) -> Run:
    """Simulate a plan; `make` makes other agents than the product's own.

    Raises UsageError for faults of brokers and links that do not exist.
    """
    settings, physics = settings or Settings(), physics or Physics()
    whole = whole_of(federation, plan.charts)
    charts = charts_of(federation, plan.charts) if plan.charts else ()
    make = make or agents_of(whole, settings, charts)
    journal = World(whole, plan, make, settings, physics, charts).run()
    last = charts[-1] if charts else None
    return Run(Account(whole, plan, settings, journal, last), make, physics, federation)
