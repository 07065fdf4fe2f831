"""Federations that grow: what a failure costs in domains from a hundred brokers to ten thousand.

A federation of domains is made, a fleet of agents runs on it, and one thing fails: a link between
gateways, an edge, a gateway. Counted are words, who heard of it, and how long it took.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Broker, Domain, Federation, Link
from ropewalk.federation.generators import generate
from ropewalk.overlay.agent import Agent
from ropewalk.overlay.chart import Chart, chart_of
from ropewalk.overlay.events import Logged, Published, Received
from ropewalk.overlay.rules import rules_of
from ropewalk.overlay.setup import Setup
from ropewalk.overlay.simulate.fleet import Fleet
from ropewalk.overlay.words import INTEREST, Flood, Item

CONTROL = ("floods", "flood acks", "tests")
"""Words that a failure causes; beats go on as before."""
SETTLED_US = 3_000_000
"""By then everything has been said, also in the largest federations here."""
HOP_US = 5_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What one failure cost."""

    what: str
    words: int
    """Floods, their acknowledgements and link tests, over all links."""
    told: int
    """Brokers that heard anything new."""
    outside: int
    """Of these, brokers of other domains than those that it happened in."""
    detected_us: int
    """From the failure until the first agent knew."""
    converged_us: int
    """Until the last agent that has to know did."""
    events: int


def in_domains_of(
    brokers: int, *, size: int = 20, gateways: int = 2, links: int = 2, seed: int = 1
) -> Federation:
    """Domains of one size; gateways are joined to each other by so many links each, at random.

    Gateways of a domain have a link between them; every edge has one to each of its gateways.

    >>> federation = in_domains_of(100)
    >>> len(federation.domains), len(federation.brokers), federation.graph.links
    (5, 100, 204)
    """
    if brokers % size or not 0 < gateways < size:
        raise UsageError(f"{brokers} brokers are no domains of {size} with {gateways} gateways")
    count = brokers // size
    overlay = generate(
        "chords", brokers=count * gateways, links=count * gateways * links, seed=seed
    )
    name = dict(zip(overlay.brokers, _gateway_names(count, gateways), strict=True))
    pairs = {frozenset((name[a], name[b])) for a, b in (one.between for one in overlay.links)}
    domains = {}
    for d in range(count):
        gates = tuple(f"g{d}-{i}" for i in range(gateways))
        edges = tuple(f"e{d}-{i}" for i in range(size - gateways))
        domains[f"d{d}"] = Domain(gateways=gates, edges=edges)
        pairs |= {frozenset(two) for two in pairwise(gates)}
        pairs |= {frozenset((gate, edge)) for gate in gates for edge in edges}
    members = [one for domain in domains.values() for one in (*domain.gateways, *domain.edges)]
    return Federation(
        name=f"domains-{brokers}",
        domains=domains,
        brokers={one: Broker() for one in members},
        links=tuple(Link(between=(a, b)) for a, b in sorted(map(_sorted_pair, pairs))),
    )


def _gateway_names(domains: int, gateways: int) -> Iterator[str]:
    return (f"g{d}-{i}" for i in range(gateways) for d in range(domains))


def _sorted_pair(pair: frozenset[str]) -> tuple[str, str]:
    a, b = sorted(pair)
    return a, b


def fleet_of(federation: Federation, chart: Chart, *, seed: int = 1) -> Fleet:
    """Agents on all brokers; links take 5 to 10 ms."""
    delays = [HOP_US + (37 * e) % HOP_US for e in range(len(chart.link_ends))]
    return Fleet(chart, rules_of(federation), delays, seed=seed)


def failures_of(chart: Chart) -> Iterator[tuple[str, int | None, int | None]]:
    """What fails in turn, as a link or a broker: a link between gateways, an edge, a gateway."""
    gateways, edges = sorted(chart.transit), sorted(chart.members - chart.transit)
    yield "gateway link", _between_domains(chart, gateways[len(gateways) // 2]), None
    if edges:
        yield "edge", None, edges[len(edges) // 2]
    yield "gateway", None, gateways[len(gateways) // 3]


def mended(fleet: Fleet, link: int) -> None:
    """A link works again, and everybody knows."""
    fleet.mend(link)
    fleet.run(fleet.now_us + SETTLED_US)
    fleet.vouch()


def _between_domains(chart: Chart, gateway: int) -> int:
    ports = chart.ports(gateway).items()
    return next(link for link, peer in ports if peer in chart.transit and link in chart.borders)


def cost_of(fleet: Fleet, what: str, link: int | None = None, broker: int | None = None) -> Cost:
    """Let one thing fail, silently, and count until everything has been said."""
    chart, tally, start_us = fleet.chart, fleet.tally, fleet.now_us
    words, events = sum(tally.words[one] for one in CONTROL), tally.events
    before = [_print(agent) for agent in fleet.agents]
    tally.first_us = None
    if broker is not None:
        fleet.kill(broker)
    elif link is not None:
        fleet.cut(link)
    fleet.run(start_us + SETTLED_US)
    ends = {broker} if broker is not None else set(chart.link_ends[link or 0])
    inside = {chart.domain[end] for end in ends if end is not None}
    told = [b for b, agent in enumerate(fleet.agents) if _print(agent) != before[b]]
    return Cost(
        what,
        sum(tally.words[one] for one in CONTROL) - words,
        len(told),
        sum(chart.domain[b] not in inside for b in told),
        (tally.first_us or start_us) - start_us,
        tally.things_us - start_us,
        tally.events - events,
    )


def _print(agent: Agent) -> int:
    return agent.gazette.digest(agent.deck.chart.audience(agent.me))


def keeper_of(count: int, size: int) -> Agent:
    """An agent that keeps so many messages of a size for one that never acknowledges.

    >>> agent = keeper_of(10, 100)
    >>> len(agent.custody())
    10
    """
    three = generate("three-broker")
    agent = Agent(Setup(me=0, chart=chart_of(three), rules=rules_of(three)))
    agent.start(0, settled=True)
    wish = Item(INTEREST, 1, "prices", 1, 1, True)
    agent.handle(Received(0, Flood((wish,))), 0)
    for ticket in range(count):
        agent.handle(Published(ticket, "prices", bytes(size)), ticket)
        agent.handle(Logged(ticket + 2), ticket)
    return agent
