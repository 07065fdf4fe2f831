"""Epochs in a simulated world: the federation becomes another one under traffic.

Brokers that leave are drained first: their clients go, and what is in custody there and for them
arrives. Then every agent gets the new chart at a moment of its own, new brokers start with it, and
those that leave are stopped when all others use it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from ropewalk.federation.facts import Domain, Federation
from ropewalk.overlay.agent import Agent
from ropewalk.overlay.chart import Chart, chart_of
from ropewalk.overlay.events import Charted
from ropewalk.overlay.simulate.hosts import Host

if TYPE_CHECKING:
    from ropewalk.overlay.simulate.world import World

LOOK_US = 20_000
"""Between two looks whether brokers that leave are drained, or can be stopped."""
SPREAD_US = 150_000
"""Within this time every agent gets a new chart."""


@dataclass(frozen=True, slots=True)
class Turn:
    """From a time on the federation is another one."""

    at_us: int
    federation: Federation


def whole_of(federation: Federation, turns: Sequence[Turn]) -> Federation:
    """All that ever is, numbered as the charts number it.

    >>> from ropewalk import generate
    >>> three = generate("three-broker")
    >>> whole_of(three, ()) is three
    True
    """
    whole = federation
    for turn in turns:
        one = turn.federation
        known = {frozenset(link.between) for link in whole.links}
        links = tuple(link for link in one.links if frozenset(link.between) not in known)
        whole = replace(
            whole,
            brokers={**whole.brokers, **one.brokers},
            links=(*whole.links, *links),
            domains=_joined(whole.domains, one.domains),
            topics={**whole.topics, **one.topics},
            items={**whole.items, **one.items},
        )
    return whole


def _joined(one: dict[str, Domain], other: dict[str, Domain]) -> dict[str, Domain]:
    """Domains of both; who is in one of them on either chart is in it."""
    found = dict(one)
    for name, domain in other.items():
        before = found.get(name)
        if before is not None:
            gateways = tuple(dict.fromkeys([*before.gateways, *domain.gateways]))
            edges = tuple(dict.fromkeys([*before.edges, *domain.edges]))
            domain = replace(before, gateways=gateways, edges=edges)
        found[name] = domain
    return found


def charts_of(federation: Federation, turns: Sequence[Turn]) -> list[Chart]:
    """The charts of all epochs."""
    charts = [chart_of(federation)]
    for turn in turns:
        charts.append(chart_of(turn.federation, epoch=len(charts) + 1, before=charts[-1]))
    return charts


class Turns:
    """Carries out a plan's turns, one after the other."""

    def __init__(self, world: "World", charts: Sequence[Chart]) -> None:
        self._world, self.charts = world, charts
        self._given = dict.fromkeys(charts[0].members, 0) if charts else {}
        """By broker: the newest chart that it has been given."""
        self._draw = Random(f"turns {world.plan.seed}")  # noqa: S311  (nothing here is secret)
        self.now = 0
        """The chart that holds, as far as the operator knows."""
        self._stopped = 0
        """So many turns are over."""

    @property
    def chart(self) -> Chart | None:
        """The chart that holds."""
        return self.charts[self.now] if self.charts else None

    @property
    def done(self) -> bool:
        """Whether nothing is going to change any more."""
        return self._stopped == len(self._world.plan.charts)

    @property
    def members(self) -> list[Host]:
        """The hosts of brokers on the chart that holds."""
        chart, hosts = self.chart, self._world.hosts
        return hosts if chart is None else [hosts[b] for b in sorted(chart.members)]

    def present(self, host: Host) -> bool:
        """Whether a broker is there from the beginning."""
        return not self.charts or host.number in self.charts[0].members

    def begin(self) -> None:
        """Hosts of brokers that are still to join are kept down."""
        for host in self._world.hosts:
            host.agent_away += not self.present(host)
        for k, turn in enumerate(self._world.plan.charts, start=1):
            self._world.at(turn.at_us, self._retire, k)

    def welcome(self, host: Host) -> None:
        """An agent has started: it is given the newest chart that it had."""
        k = self._given.get(host.number, 0)
        if k:
            self._world.hand(host, Charted(self.charts[k]))

    def _leavers(self, k: int) -> list[Host]:
        gone = self.charts[k - 1].members - self.charts[k].members
        return [self._world.hosts[b] for b in sorted(gone)]

    def _retire(self, k: int) -> None:
        if self._stopped < k - 1:  # The one before is not done.
            self._world.at(self._world.now_us + LOOK_US, self._retire, k)
            return
        for host in self._leavers(k):
            self._world.clients.retire(host)
        self._world.at(self._world.now_us + LOOK_US, self._drain, k)

    def _drain(self, k: int) -> None:
        """Wait until nothing is kept at brokers that leave, nor for them."""
        leavers = self._leavers(k)
        if all(self._drained(host) for host in leavers):
            self._hand_out(k)
        else:
            self._world.at(self._world.now_us + LOOK_US, self._drain, k)

    def _drained(self, leaver: Host) -> bool:
        if leaver.agent is None or leaver.agent.custody():
            return False
        kept = (host.agent.custody() if host.agent else host.kept for host in self._world.hosts)
        return not any(to == leaver.number for some in kept for _, to in some)

    def _hand_out(self, k: int) -> None:
        world, chart = self._world, self.charts[k]
        world.note("chart", -1, k + 1)
        for b in sorted(self.charts[k - 1].members | chart.members):
            at_us = world.now_us + self._draw.randrange(SPREAD_US)
            world.at(at_us, self._give, world.hosts[b], k)
        self.now = k
        world.breaker.tell_truth()
        world.at(world.now_us + SPREAD_US, self._stop, k)

    def _give(self, host: Host, k: int) -> None:
        joins = host.number not in self.charts[k - 1].members
        self._given[host.number] = k
        if not joins:
            self._world.hand(host, Charted(self.charts[k]))
            return
        host.agent_away -= 1
        host.retired = False
        if not host.agent_away:
            self._world.start(host)
            self._world.breaker.tell_truth()

    def _stop(self, k: int) -> None:
        """Brokers that leave are stopped when all others use the new chart."""
        hosts = (self._world.hosts[b] for b in self.charts[k].members)
        agents = [host.agent for host in hosts if isinstance(host.agent, Agent)]
        if any(agent.deck.chart.epoch < k + 1 for agent in agents):
            self._world.at(self._world.now_us + LOOK_US, self._stop, k)
            return
        self._stopped = k
        for host in self._leavers(k):
            self._world.crash(host, disk=True)
            host.agent_away += 1
        self._world.breaker.tell_truth()
