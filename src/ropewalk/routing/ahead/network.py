"""What every broker's tables have in common: the graph, its colours, which failures are ahead."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import NOTHING
from ropewalk.routing.ahead.colours import Colours, Things, colours_of
from ropewalk.routing.scenarios import KINDS, groups_of, link_names, listed, resolve
from ropewalk.routing.trees import Net, net_of

DEFAULT = ("links=1", "brokers=1")
MOST_AT_ONCE = 2
"""Every set of more things than this is not computed ahead: there are too many, and few occur."""


@dataclass(frozen=True)
class Ahead:
    """Which failures tables are computed for: how many things of a kind at once, and chosen sets.

    >>> from ropewalk import generate
    >>> ahead = ahead_of(generate("three-broker"), "links=2, brokers=1, b1 + b2--b3")
    >>> ahead.links, ahead.brokers, ahead.any, list(ahead.chosen.values())
    (2, 1, 0, ['b1 + b2--b3'])
    """

    links: int
    brokers: int
    any: int
    chosen: dict[Things, str]
    """Sets beyond these, with the name that each was given."""

    @cached_property
    def order(self) -> dict[Things, int]:
        """The chosen sets' numbers among themselves."""
        return {things: i for i, things in enumerate(self.chosen)}

    def covers(self, things: Things, links: int) -> bool:
        """Whether the table of a set was computed ahead; there are so many links."""
        some_links = sum(thing < links for thing in things)
        some_brokers = len(things) - some_links
        return (
            len(things) <= self.any
            or (not some_brokers and some_links <= self.links)
            or (not some_links and some_brokers <= self.brokers)
            or things in self.chosen
        )

    def texts(self) -> list[str]:
        """The same as texts."""
        counts = [(kind, getattr(self, kind)) for kind in KINDS]
        some = [f"{kind}={k}" for kind, k in counts if k] + list(self.chosen.values())
        return some or [NOTHING]

    def kinds(self) -> list[bool]:
        """Single links and brokers; pairs of links, of brokers, of one of each."""
        links, brokers = max(self.links, self.any), max(self.brokers, self.any)
        return [links > 0, brokers > 0, links > 1, brokers > 1, self.any > 1]


def ahead_of(federation: Federation, failures: str | Iterable[str] = DEFAULT) -> Ahead:
    """Which failures some texts ask for, as `scenarios_of` understands them."""
    most, chosen, colours = dict.fromkeys(KINDS, 0), dict[Things, str](), colours_of(federation)
    for text in listed(failures):
        kind, equals, count = text.partition("=")
        if equals and kind in KINDS and count.isdecimal() and len(count) < 10:
            if int(count) > MOST_AT_ONCE:
                told = "tables of more are computed when they are needed: name those you want now"
                raise UsageError(f"{text}: at most {MOST_AT_ONCE} at once; {told}")
            most[kind] = max(most[kind], int(count))
        else:
            for name in _names(federation, text):
                chosen.setdefault(colours.things_down(resolve(federation, name)), name)
    counted = Ahead(most["links"], most["brokers"], most["any"], {})
    links = federation.graph.links
    rest = {one: name for one, name in chosen.items() if one and not counted.covers(one, links)}
    return Ahead(counted.links, counted.brokers, counted.any, rest)


def _names(federation: Federation, text: str) -> Iterable[str]:
    if text == "groups":
        return [f"group:{name}" for name in groups_of(federation)]
    return [f"site:{name}" for name in federation.sites] if text == "sites" else [text]


@dataclass(frozen=True, eq=False)
class Network:
    """The graph that tables were computed for, and for which failures."""

    graph: Graph
    colours: Colours
    ahead: Ahead

    @cached_property
    def net(self) -> Net:
        """The graph as the kernels take it."""
        return net_of(self.graph)

    @cached_property
    def fingerprint(self) -> bytes:
        """Sixteen bytes that stand for all that tables follow from."""
        return fingerprint_of(self.graph, self.colours.link_names, self.ahead)


def network_of(federation: Federation, ahead: Ahead) -> Network:
    """The graph and colours of a federation."""
    return Network(federation.graph, colours_of(federation), ahead)


def fingerprint_of(graph: Graph, names: Iterable[str], ahead: Ahead) -> bytes:
    """Sixteen bytes that change with brokers, links, costs, transit, and the failures ahead."""
    facts = [
        graph.names,
        list(names),
        graph.cost.tolist(),
        graph.transit.tolist(),
        [ahead.links, ahead.brokers, ahead.any, [list(one) for one in ahead.chosen]],
    ]
    return blake2b(json.dumps(facts).encode(), digest_size=16).digest()


def same_graph(federation: Federation, network: Network) -> bool:
    """Whether tables were computed for the graph that a federation has now."""
    return (
        fingerprint_of(federation.graph, link_names(federation), network.ahead)
        == network.fingerprint
    )
