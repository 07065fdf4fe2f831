"""What a total order needs: S20 and S23 with nothing failed, S24 under the failures required.

A topic's home gives each message its number, in every reader's sight; a majority of all brokers
lets it (docs/order.md). What stands here is what agents do, found by running them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.federation.names import link_name
from ropewalk.findings import Finding
from ropewalk.routing.ground import connected_parts
from ropewalk.verify.contracts.promised import Promised, Served, some

MOST_CUTS = 200
"""Links and brokers that hold the graph together, looked at one by one."""
NOTHING = -1


def total_orders(promised: Promised) -> Iterator[Finding]:
    """Everything that keeps a topic from having the one order that it promises."""
    for served in promised.by_bridges:
        if served.contract.order == "total" and len(served.readers) > 1:
            told = f"promises total order, and bridges carry it to {some(served.readers)}: nobody"
            told = f"{told} gives it numbers; let links carry it, or write order: fifo"
            yield promised.finding("S23", served, told, "error")
    ground = Ground(promised)
    for served in promised.by_links:
        if served.contract.order == "total":
            found = list(_with_nothing_failed(ground, served))
            yield from found or _under_failures(ground, served)


@dataclass(frozen=True, eq=False)
class Ground:
    """What is the same for all topics of a federation, looked up once."""

    promised: Promised

    def home(self, served: Served) -> str:
        """The broker that numbers a topic: as the contract says, else the first of the file."""
        return served.contract.home or next(iter(self.promised.federation.brokers))

    @cached_property
    def number(self) -> dict[str, int]:
        """Brokers' numbers."""
        return {name: b for b, name in enumerate(self.promised.federation.brokers)}

    def domain(self, broker: str) -> int:
        """The domain that a broker is in."""
        return int(self.promised.federation.graph.domain[self.number[broker]])

    @cached_property
    def cuts(self) -> list[tuple[str, int, Ints]]:
        """Single failures to be survived that cut the graph: name, broker, the parts that stay."""
        graph, cuts = self.promised.federation.graph, self.promised.style.cuts
        survive, found = self.promised.survive, list[tuple[str, int, Ints]]()
        link = {frozenset(ends): e for e, ends in enumerate(graph.ends.tolist())}
        for a, b in cuts.edges[:MOST_CUTS] if survive.links else ():
            up = np.arange(graph.links) != link[frozenset((a, b))]
            name = link_name(graph.names[a], graph.names[b])
            found.append((name, NOTHING, connected_parts(graph, up)))
        for broker, _, _ in cuts.vertices[:MOST_CUTS] if survive.brokers else ():
            up = (graph.ends != broker).all(axis=1)
            found.append((graph.names[broker], broker, connected_parts(graph, up)))
        return found


def _with_nothing_failed(ground: Ground, served: Served) -> Iterator[Finding]:
    promised = ground.promised
    if served.contract.delivery == "at-most-once":
        told = (
            "promises at-most-once and total order: the home keeps what it numbers until all"
            " readers have it, and a restarted reader gives its last messages out again;"
            " write at-least-once, or order: fifo"
        )
        yield promised.finding("S20", served, told, "error")
    readers = served.readers
    both = [b for b in readers if (b, b) in served.pairs]
    if served.is_pattern and (len(readers) > 1 or both):
        told = (
            "promises total order, and is a pattern: only single names are given numbers, so"
            f" {some(readers)} may see different orders; write the names one by one, or"
            " order: fifo"
        )
        yield promised.finding("S23", served, told, "error")
    elif both:
        told = (
            f"promises total order, and {some(both)} has publishers and subscribers of it: the"
            " broker gives its own clients each other's messages at once, and again by their"
            " number; let them be at different brokers, or write order: fifo"
        )
        yield promised.finding("S23", served, told, "error", {"brokers": both[:20]})
    if not served.is_pattern and served.topic.scope == "domain":
        yield from _outside(ground, served)


def _outside(ground: Ground, served: Served) -> Iterator[Finding]:
    home = ground.home(served)
    away = [b for b in served.publishers if ground.domain(b) != ground.domain(home)]
    if away:
        whose = "" if served.contract.home else ", the first broker of the file"
        told = (
            f"has scope: domain, and its home {home}{whose} is outside the domain of {some(away)}:"
            " what is published there is refused; name a home in that domain"
        )
        yield ground.promised.finding("S23", served, told, "error", {"home": home})


# --- failures -------------------------------------------------------------------------------


def _under_failures(ground: Ground, served: Served) -> Iterator[Finding]:
    """The first reason why an order stops in a failure that has to be survived."""
    if served.is_pattern:
        return  # nobody numbers it: one reading broker has one order, whoever fails
    for told, failure in islice(_stops(ground, served), 1):
        witness = {"home": ground.home(served), "failure": failure}
        yield ground.promised.finding("S24", served, told, "error", witness)


def _stops(ground: Ground, served: Served) -> Iterator[tuple[str, str]]:
    federation, survive = ground.promised.federation, ground.promised.survive
    home, many = ground.home(served), len(federation.brokers)
    if survive.brokers and 2 * (many - survive.brokers) <= many:
        down = " + ".join(list(federation.brokers)[-survive.brokers :])
        told = f"promises total order, and {survive.brokers} of {many} brokers may fail: the rest"
        yield f"{told} is no majority, which it takes to number; add brokers, or require less", down
    if survive.brokers and home in served.readers:
        told = f"promises total order, and its home {home} reads it as well: when {home} fails,"
        why = "nobody knows what it gave out last, and the others wait until it is back"
        yield f"{told} {why}; name a home that has no subscribers of it", home
    if survive.brokers > 1 and len(served.readers) > 1:
        reader = served.readers[0]
        told = f"promises total order, and when its home {home} fails together with {reader},"
        why = f"only {reader} knows what it gave out last, and the others wait until it is back"
        yield f"{told} {why}; require one broker at a time", f"{home} + {reader}"
    yield from _next_home(ground, served, home)
    for name, dead, part in ground.cuts:
        if _waits(ground, served, home, dead, part):
            told = f"promises total order, and when {name} fails, some of its readers are joined to"
            why = f"publishers but not to its home {home}, or to no majority of the brokers"
            yield f"{told} {why}; add a link around {name}, or name another home", name


def _next_home(ground: Ground, served: Served, home: str) -> Iterator[tuple[str, str]]:
    """The council names the first broker of the file that it reaches, whatever its domain."""
    promised = ground.promised
    heir = next((b for b in promised.federation.brokers if b != home), home)
    local = served.topic.scope == "domain"
    if promised.survive.brokers and local and ground.domain(heir) != ground.domain(home):
        told = f"has scope: domain and promises total order: when its home {home} fails, {heir}"
        why = "takes its place, which is outside the domain, and what is published is refused"
        yield f"{told} {why}; write a broker of the domain first in the file", home


def _waits(ground: Ground, served: Served, home: str, dead: int, part: Ints) -> bool:
    """Whether somebody could be delivered to and nobody gives numbers there."""
    number = ground.number
    size = np.bincount(np.delete(part, dead) if dead >= 0 else part, minlength=len(part))
    readers = [number[b] for b in served.readers]
    for source, to in served.pairs:
        a, b = number[source], number[to]
        if dead in (a, b) or part[a] != part[b]:
            continue
        mine = part[b]
        majority = 2 * size[mine] > len(part)
        at_home = number[home] != dead and part[number[home]] == mine
        everybody = all(r != dead and part[r] == mine for r in readers)
        if not (majority and (at_home or everybody)):
            return True
    return False
