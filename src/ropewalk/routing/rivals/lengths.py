"""How long paths are while a link is down, over all pairs and links (Jia 2014, figure 6-10).

The figure counts every pair in every failure. Few of them are touched by it, so all schemes look
alike there; `affected` counts those alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ropewalk.federation.arrays import Graph, Ints
from ropewalk.routing.all_pairs import Ground, distances, ground_of
from ropewalk.routing.rivals.layers import layer_net, link_layers
from ropewalk.routing.trees import FAR, NOWHERE, Longs

if TYPE_CHECKING:
    import pandas as pd

BEFORE, AFTER = "failure-free", "PCRT"


@dataclass(frozen=True, eq=False)
class Lengths:
    """Path costs of cases that a scheme delivers, by scheme: of those affected, and of the rest."""

    affected: Mapping[str, Longs]
    other: Longs
    """The same for all schemes: paths that the failed link is not on."""

    def mean(self, scheme: str, *, affected: bool = False) -> float:
        """The mean length over all cases, or over the affected ones."""
        own = self.affected[scheme]
        return float((own if affected else np.concatenate((own, self.other))).mean())

    def frame(self) -> "pd.DataFrame":
        """What share of all paths has each length: a column per scheme, as the figure shows it."""
        import pandas as pd

        def shares(own: Longs) -> "pd.Series[float]":
            every = pd.Series(np.concatenate((own, self.other)))
            return every.value_counts(normalize=True).sort_index()

        return pd.DataFrame({name: shares(own) for name, own in self.affected.items()}).fillna(0)


def path_lengths(graph: Graph, *, layers: Sequence[int]) -> Lengths:
    """Path lengths under every single-link failure: no failure, PCRT, and RRL by the source."""
    ground = ground_of(graph)
    link, to, source = _affected(ground)
    after = np.full(len(link), FAR)
    for e in range(graph.links):
        rows = distances(
            layer_net(graph, np.arange(graph.links) != e, graph.transit), 0, graph.brokers
        )
        after[link == e] = rows[to[link == e], source[link == e]]
    kept = after < FAR
    link, to, source = link[kept], to[kept], source[kept]
    found = {BEFORE: ground.distance[to, source], AFTER: after[kept]}
    for count in layers:
        layer, cost = link_layers(graph, ground, count)
        served = layer[link] != NOWHERE
        ways = cost(0, graph.brokers)
        found[f"RRL-{count}"] = ways[layer[link][served], to[served], source[served]]
    return Lengths(found, _untouched(ground, to, source))


def _affected(ground: Ground) -> tuple[Ints, Ints, Ints]:
    """Every link on the path of every pair: link, destination, source."""
    arcs, n = ground.net.arcs, len(ground.arc)
    found = []
    for to in range(n):
        for source in range(n):
            at = source
            while (arc := int(ground.arc[to, at])) != NOWHERE:
                found.append((int(arcs["link"][arc]), to, source))
                at = int(arcs["to"][arc])
    link, to_, source_ = np.array(found, np.int32).reshape(-1, 3).T
    return link, to_, source_


def _untouched(ground: Ground, to: Ints, source: Ints) -> Longs:
    """Lengths of all pairs, once for each link that is not on their path."""
    times = np.full(ground.distance.shape, len(ground.ends))
    np.subtract.at(times, (to, source), 1)
    joined = (ground.distance < FAR) & ~np.eye(len(times), dtype=np.bool_)
    return np.repeat(ground.distance[joined], times[joined])
