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
from ropewalk.findings import Finding
from ropewalk.verify.contracts.falling import Ends, Falls
from ropewalk.verify.contracts.graphs import cuts_of
from ropewalk.verify.contracts.promised import Promised, Served, some
from ropewalk.verify.contracts.relations import unique_pairs


def total_orders(promised: Promised) -> Iterator[Finding]:
    """Everything that keeps a topic from having the one order that it promises."""
    by_links = {one.number: one for one in promised.by_links if one.contract.order == "total"}
    for served in promised.by_bridges:
        if served.contract.order == "total":
            yield from _bridged(promised, served, by_links.get(served.number))
    ground = Ground(promised)
    for served in by_links.values():
        found = list(_with_nothing_failed(ground, served))
        yield from found or _under_failures(ground, served)


def _bridged(promised: Promised, served: Served, linked: Served | None) -> Iterator[Finding]:
    """Agents number nothing for readers behind bridges; a single reader has one order anyway."""
    readers = {*served.readers, *(linked.readers if linked else ())}
    if len(readers) > 1:
        others = ", and links to others" if readers > {*served.readers} else ""
        told = f"promises total order, and bridges carry it to {some(served.readers)}{others}:"
        why = "nobody gives it numbers there; let links carry it, or write order: fifo"
        yield promised.finding("S23", served, f"{told} {why}", "error")


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
    def sizes(self) -> Ints:
        """How many brokers are in the part of each, with nothing failed."""
        part = self.promised.part
        return np.asarray(np.bincount(part, minlength=1)[part], np.int32)

    def has_majority(self, broker: str, *, without: int = 0) -> bool:
        """Whether a broker's part is more than half of all, if so many of it fail."""
        left = int(self.sizes[self.number[broker]]) - without
        return 2 * left > len(self.number)

    @cached_property
    def falls(self) -> Falls:
        """Single failures to be survived that part the graph."""
        graph = self.promised.federation.graph
        cuts = cuts_of(unique_pairs(np.sort(graph.ends, axis=1)), graph.brokers)
        return Falls(graph, cuts, self.promised.part, self.promised.survive)

    def first_stop(self, served: Served) -> str | None:
        """The first failure that parts readers and publishers from who could number."""
        if not self.falls.what:
            return None
        stops = np.zeros(len(self.falls.what), np.bool_)
        home = self.number[self.home(served)]
        every = np.unique(np.concatenate([readers for _, readers in served.groups]))
        for sources, readers in served.groups:
            stops |= self.falls.stopping(Ends(sources, readers, every, home))
        return self.falls.name(int(stops.argmax())) if stops.any() else None


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
    both = served.both
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
    if not served.is_pattern:
        outside = list(_outside(ground, served)) if served.topic.scope == "domain" else []
        yield from outside or _not_numbered(ground, served)


def _not_numbered(ground: Ground, served: Served) -> Iterator[Finding]:
    """Where links do not join all brokers: who is not joined to the home, or to a majority."""
    home, part = ground.home(served), ground.promised.part
    away = [b for b in served.readers if part[ground.number[b]] != part[ground.number[home]]]
    few = [b for b in served.readers if not ground.has_majority(b)]
    if away or few:
        whose = "" if served.contract.home else ", the first broker of the file"
        what = f"its home {home}{whose}" if away else "a majority of the brokers"
        told = f"promises total order, and no links join {some(away or few)} to {what}:"
        why = "nobody gives it numbers there; add a link, or write order: fifo"
        yield ground.promised.finding("S23", served, f"{told} {why}", "error", {"home": home})


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
    if survive.brokers and not ground.has_majority(home, without=survive.brokers):
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
    name = ground.first_stop(served)
    if name is not None:
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
