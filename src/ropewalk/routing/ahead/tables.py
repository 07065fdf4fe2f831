"""The tables of a whole federation for every colour, computed ahead of the failures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph, Ints, offsets
from ropewalk.federation.facts import Federation
from ropewalk.routing.ahead.broker_table import BrokerTable, narrow, slot_bits
from ropewalk.routing.ahead.colours import Colours, Things
from ropewalk.routing.ahead.gathering import (
    all_changes,
    by_broker,
    mean_hops,
    order,
    sets_by_broker,
)
from ropewalk.routing.ahead.network import DEFAULT, Ahead, Network, ahead_of, network_of
from ropewalk.routing.ahead.on_demand import row_after
from ropewalk.routing.ahead.patches import Asked
from ropewalk.routing.table import Rows, shortest_rows
from ropewalk.routing.trees import Net

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES = 8e9
SINGLE_BYTES, PAIR_BYTES = 20, 80
"""What a hop of a path takes while tables are made, for single failures and, squared, for pairs:
measured on random graphs, from above."""
SAMPLED = 16


@dataclass(frozen=True, eq=False, repr=False)
class Tables:
    """Every broker's tables, for every colour that was asked for."""

    network: Network
    brokers: Sequence[BrokerTable]

    def __repr__(self) -> str:
        return (
            f"<Tables of {len(self.brokers)} brokers for {', '.join(self.network.ahead.texts())}>"
        )

    @property
    def colours(self) -> Colours:
        """Failures and their numbers."""
        return self.network.colours

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.colours.broker_names)}

    def broker(self, name: str) -> BrokerTable:
        """The tables of a broker; UsageError if there is none of that name."""
        if name not in self._number:
            raise UsageError(f"there is no broker {name!r} in these tables")
        return self.brokers[self._number[name]]

    def row(self, broker: str, failure: str = "none") -> Ints:
        """A broker's next hops in a failure: from its patches, or computed if there is none."""
        return self.row_of(self.broker(broker), self.colours.things_of(failure))

    def row_of(self, table: BrokerTable, things: Things) -> Ints:
        """The same for one of the tables, and for things by number."""
        essential = self.colours.essential(things)
        if self.network.ahead.covers(essential, self.colours.links):
            return table.row(essential)
        down = self.colours.down(essential)
        return row_after(self.network.net, self.colours.links, table.at, down)

    def hop(self, at: str, to: str, failure: str = "none") -> str | None:
        """The neighbour that `at` sends messages for `to` to.

        >>> from ropewalk import generate
        >>> tables_of(generate("three-broker")).hop("b1", "b2", "b1--b2")
        'b3'
        """
        found = int(self.row(at, failure)[self.broker(to).at])
        return self.colours.broker_names[found] if found >= 0 else None

    def frame(self, failure: str = "none") -> "pd.DataFrame":
        """A row per entry in a failure: at a broker, towards another, the neighbour that is next.

        >>> from ropewalk import generate
        >>> tables_of(generate("three-broker")).frame("b1--b2").query("at == 'b1'").next.tolist()
        ['b3', 'b3']
        """
        import pandas as pd

        names = self.colours.broker_names
        rows = [
            (names[one.at], names[to], names[hop])
            for one in self.brokers
            for to, hop in enumerate(self.row(names[one.at], failure).tolist())
            if hop >= 0 and to != one.at
        ]
        return pd.DataFrame(rows, columns=["at", "to", "next"])

    def nbytes(self) -> int:
        """Bytes of all brokers' arrays."""
        return sum(one.nbytes() for one in self.brokers)

    def entries(self) -> int:
        """How many entries all patches have."""
        return sum(one.entries() for one in self.brokers)


def tables_of(federation: Federation, failures: str | Iterable[str] = DEFAULT) -> Tables:
    """The tables of a federation for these failures: `links=1`, `brokers=2`, `groups`, `a--b`, ...

    Next hops are canonical. Hand-made routes are not in them: they are laid over any table.
    """
    graph, ahead = federation.graph, ahead_of(federation, failures)
    network = network_of(federation, ahead)
    _refuse_too_much(graph, network.net, ahead)
    parts = all_changes(graph, network.net, asked_of(graph, ahead))
    first, words = by_broker(parts, graph.brokers)
    first_set, sets = sets_by_broker(parts, graph.brokers)
    base = shortest_rows(graph)
    by_at = (slice(*first[at : at + 2]) for at in range(graph.brokers))
    sets_by_at = (slice(*first_set[at : at + 2]) for at in range(graph.brokers))
    brokers = [
        table_of_broker(graph, ahead, at, base, words[mine], sets[my_sets])
        for at, (mine, my_sets) in enumerate(zip(by_at, sets_by_at, strict=True))
    ]
    return Tables(network, brokers)


def _refuse_too_much(graph: Graph, net: Net, ahead: Ahead) -> None:
    """UsageError if making the tables would take more memory than most machines have."""
    singles, pairs = np.array([1, 1]) @ ahead.kinds()[:2], np.array([1, 1, 2]) @ ahead.kinds()[2:]
    hops = _mean_hops(graph, net)
    entries = graph.brokers**2 * hops
    needed = entries * (singles * SINGLE_BYTES + pairs * hops * PAIR_BYTES)
    if needed > MOST_BYTES:
        told = f"these tables would take about {needed / 1e9:,.0f} GB while they are made"
        advice = "ask for fewer failures; all others are computed when they happen"
        raise UsageError(f"{told} (at most {MOST_BYTES / 1e9:.0f}): {advice}")


def _mean_hops(graph: Graph, net: Net) -> float:
    """The mean length of paths, from a few destinations."""
    some = np.linspace(0, graph.brokers - 1, SAMPLED, dtype=np.int64)
    return float(np.mean([mean_hops(net, int(to)) for to in some])) if graph.brokers else 0.0


def asked_of(graph: Graph, ahead: Ahead) -> Asked:
    """What is asked for, as arrays."""
    return Asked(
        graph.ends,
        np.array(ahead.kinds()),
        offsets([len(one) for one in ahead.chosen]),
        np.array([thing for one in ahead.chosen for thing in one], np.int32),
    )


def table_of_broker(
    graph: Graph, ahead: Ahead, at: int, base: Rows, words: Any, sets: Any
) -> BrokerTable:
    """The table of one broker, of its own changes."""
    near, things = graph.neighbours(at), graph.links + graph.brokers
    bits = slot_bits(len(near))
    first, packed = np.zeros(things + 1, np.int64), np.empty(len(words), np.int64)
    order(words, things, bits, first, packed)
    keys, places = np.unique(sets["key"], return_index=True)
    top = (graph.brokers << bits) - 1
    return BrokerTable(
        at=at,
        neighbours=narrow(near, graph.brokers),
        base=narrow(_slots(near, base[:, at]), len(near)),
        first=narrow(first),
        entry=narrow(packed, top),
        set_key=narrow(keys),
        set_first=narrow(np.append(places, len(sets))),
        set_entry=narrow((sets["to"].astype(np.int64) << bits) | sets["slot"], top),
        links=graph.links,
        chosen=ahead.order,
    )


def _slots(near: Ints, hops: Any) -> Ints:
    """Which neighbour each next hop is; one past the last for none, and for the broker itself."""
    place = np.searchsorted(near, hops)
    known = near[np.minimum(place, max(len(near) - 1, 0))] == hops if len(near) else hops < hops
    return np.where(known, place, len(near)).astype(np.int32)
