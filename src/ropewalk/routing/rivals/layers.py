"""Resilient routing layers (Hansen et al. 2005; Jia 2014, figure 6-10): tables without some links.

Every link that can be spared is left out of one of k layers, all of which stay connected. When it
fails, messages are marked with that layer and go by its table: from the broker beside the failure
(local), or from the source once it knows.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ropewalk.federation.arrays import Bools, Graph, Ints, adjacency
from ropewalk.kernels import kernel
from ropewalk.routing.all_pairs import Ground, distances
from ropewalk.routing.rivals.scheme import AtSource, Failures, Repair, Scheme
from ropewalk.routing.trees import FAR, NOWHERE, Longs, Net, net_of

LayerCost = Callable[[int, int], Longs]


def resilient_layers(graph: Graph, ground: Ground, layers: int) -> tuple[Scheme, Scheme]:
    """Switching locally, and at the source. The choice is the layer."""
    left_out, cost = link_layers(graph, ground, layers)

    def repair(_: Failures, start: int, stop: int) -> Repair:
        arc = ground.arc[start:stop]
        layer = np.where(arc == NOWHERE, NOWHERE, left_out[ground.net.arcs["link"][arc]])
        return by_layer(layer.astype(np.int32), cost(start, stop))

    entries = float(layers * (len(ground.arc) - 1))
    local = Scheme(f"RRL-{layers}", ("links",), repair, tables=layers, entries=entries)
    source = AtSource(left_out, cost)
    return local, replace(local, name=f"RRL-{layers} source", repair=None, at_source=source)


def link_layers(graph: Graph, ground: Ground, layers: int) -> tuple[Ints, LayerCost]:
    """The layer that each link is left out of, and what ways in the layers cost."""
    left_out = spare_links(ground, layers)
    nets = [layer_net(graph, left_out != layer, graph.transit) for layer in range(layers)]
    return left_out, costs_of(nets)


def layer_net(graph: Graph, kept: Bools, transit: Bools) -> Net:
    """A graph with only some links, and brokers that may carry transit in it."""
    first, neighbour, link = adjacency(graph.ends[kept], graph.brokers)
    own = replace(
        graph,
        ends=graph.ends[kept],
        cost=graph.cost[kept],
        first=first,
        neighbour=neighbour,
        link=link,
        transit=transit,
    )
    return net_of(own)


def costs_of(nets: list[Net]) -> LayerCost:
    """Distances by layer, destination and source."""
    return lambda start, stop: np.stack([distances(net, start, stop) for net in nets])


def by_layer(layer: Ints, cost: Longs) -> Repair:
    """A repair by the layer that is chosen for each destination and broker; -1 for none."""
    row, at = np.indices(layer.shape)
    return Repair(np.where(layer == NOWHERE, FAR, cost[layer, row, at]), layer)


def spare_links(
    ground: Ground, layers: int, *, isolated: Ints | None = None, left_out: Ints | None = None
) -> Ints:
    """The layer that each link is left out of; -1 where none could spare it.

    One link after the other goes to the layer that lacks the fewest so far, if its ends can still
    reach each other there. `isolated` says in which layer a broker carries no transit, `left_out`
    which links have a layer already.
    """
    brokers, links = len(ground.arc), len(ground.ends)
    nowhere = np.full(brokers, NOWHERE, np.int32) if isolated is None else isolated
    made = np.full(links, NOWHERE, np.int32) if left_out is None else left_out.copy()
    lacking = np.bincount(made[made >= 0], minlength=layers)
    _spare(ground.net, ground.ends, nowhere, made, lacking, np.zeros((2, brokers), np.int64))
    return made


@kernel
def fewest(lacking: Any, tried: Any) -> int:
    """The layer that lacks the fewest, of those that were not tried yet; it counts as tried."""
    layer = NOWHERE
    for one in range(len(lacking)):
        if not tried[one] and (layer == NOWHERE or lacking[one] < lacking[layer]):
            layer = one
    tried[layer] = True
    return layer


@kernel
def _spare(net: Any, ends: Any, isolated: Any, left_out: Any, lacking: Any, room: Any) -> None:
    stamp = 0
    for e in range(len(ends)):
        tried = np.zeros(len(lacking), np.bool_)
        while left_out[e] == NOWHERE and not tried.all():
            layer = fewest(lacking, tried)
            stamp += 1
            left_out[e] = layer
            if _joined(net, ends[e, 0], ends[e, 1], isolated, left_out, layer, room, stamp):
                lacking[layer] += 1
            else:
                left_out[e] = NOWHERE


@kernel
def _joined(
    net: Any, a: int, b: int, isolated: Any, left_out: Any, layer: int, room: Any, stamp: int
) -> bool:
    """Whether one broker reaches another in a layer."""
    seen, queue = room[0], room[1]
    queue[0], seen[a] = a, stamp
    at, end = 0, 1
    while at < end:
        u = queue[at]
        at += 1
        if u != a and (not net.nodes[u].transit or isolated[u] == layer):
            continue
        for arc in range(net.nodes[u].first, net.nodes[u + 1].first):
            v = net.arcs[arc].to
            if left_out[net.arcs[arc].link] == layer or seen[v] == stamp:
                continue
            if v == b:
                return True
            seen[v] = stamp
            queue[end] = v
            end += 1
    return False
