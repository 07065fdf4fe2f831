"""Multiple routing configurations (Kvalbein et al. 2006): tables that some brokers only end.

Every broker that can be spared is isolated in one of k configurations: there it carries no transit
and hangs on links of its own; the other brokers stay connected without it. Every link is isolated,
that is left out, in the configuration of one of its ends. A broker whose next hop is gone switches
to the configuration that isolates that next hop, and need not know whether the link or the broker
has failed; on the last hop it takes the one that isolates the link. The scheme is made for graphs
that no broker's loss cuts: a broker whose loss does cannot be isolated. A link for which neither
end can do it is left out of any configuration that can spare it.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from ropewalk.federation.arrays import Graph, Ints
from ropewalk.kernels import kernel
from ropewalk.routing.all_pairs import Ground
from ropewalk.routing.rivals.layers import by_layer, costs_of, fewest, layer_net, spare_links
from ropewalk.routing.rivals.scheme import Failures, Repair, Scheme
from ropewalk.routing.trees import NOWHERE


class Configurations(NamedTuple):
    """Where each broker and each link is isolated; -1 for nowhere."""

    broker: Ints
    link: Ints


def multiple_configurations(graph: Graph, ground: Ground, layers: int) -> Scheme:
    """The choice is the configuration."""
    made = configurations(graph, ground, layers)
    nets = [
        layer_net(graph, made.link != layer, graph.transit & (made.broker != layer))
        for layer in range(layers)
    ]
    cost = costs_of(nets)

    def repair(failures: Failures, start: int, stop: int) -> Repair:
        arc, arcs = ground.arc[start:stop], ground.net.arcs
        gone, last = arcs["to"][arc], arcs["to"][arc] == np.arange(start, stop)[:, None]
        layer = np.where(last, NOWHERE, made.broker[gone])
        if failures == "links":
            layer = np.where(layer == NOWHERE, made.link[arcs["link"][arc]], layer)
        return by_layer(
            np.where(arc == NOWHERE, NOWHERE, layer).astype(np.int32), cost(start, stop)
        )

    entries = float(layers * (graph.brokers - 1))
    return Scheme(f"MRC-{layers}", ("links", "brokers"), repair, tables=layers, entries=entries)


def configurations(graph: Graph, ground: Ground, layers: int) -> Configurations:
    """Isolate every broker, then every link, where that cuts nothing off."""
    broker = np.full(graph.brokers, NOWHERE, np.int32)
    _isolate(ground.net, broker, np.zeros(layers, np.int64))
    link = spare_links(ground, layers, isolated=broker, left_out=_isolated_links(graph, broker))
    return Configurations(broker, link)


def _isolated_links(graph: Graph, broker: Ints) -> Ints:
    """Each link at one of its ends, so that every isolated broker keeps a link to the others.

    Which link each broker keeps is a matching: if both ends kept the same, it would be isolated
    nowhere.
    """
    a, b = graph.ends.T
    tail, head = np.concatenate((a, b)), np.concatenate((b, a))
    link = np.tile(np.arange(graph.links), 2)
    fits = (broker[tail] != NOWHERE) & graph.transit[head] & (broker[tail] != broker[head])
    grid = csr_array(
        (np.ones(fits.sum()), (tail[fits], link[fits])), shape=(graph.brokers, graph.links)
    )
    kept = np.asarray(maximum_bipartite_matching(grid, perm_type="column"))
    for u, e in zip(tail[fits], link[fits], strict=True):
        if kept[u] == NOWHERE:
            kept[u] = e  # a tree: there are not links enough
    degree = np.diff(graph.first)
    can = [(broker[end] != NOWHERE) & (kept[end] != np.arange(graph.links)) for end in (a, b)]
    first = can[0] & (~can[1] | (degree[a] >= degree[b]))
    return np.where(first, broker[a], np.where(can[1], broker[b], NOWHERE)).astype(np.int32)


@kernel
def _isolate(net: Any, config: Any, isolated: Any) -> None:
    """Give each broker to the configuration that isolates the fewest so far, if it can spare it."""
    room = np.zeros((2, len(config)), np.int64)
    stamp = 0
    for u in range(len(config)):
        tried = np.zeros(len(isolated), np.bool_)
        while config[u] == NOWHERE and not tried.all():
            layer = fewest(isolated, tried)
            stamp += 1
            if _spared(net, u, config, layer, room, stamp):
                config[u] = layer
                isolated[layer] += 1


@kernel
def _carries(net: Any, config: Any, layer: int, v: int) -> Any:
    return net.nodes[v].transit and config[v] != layer


@kernel
def _spared(net: Any, u: int, config: Any, layer: int, room: Any, stamp: int) -> bool:
    """Whether all others hang together in a configuration without a broker, and it on them."""
    start, wanted = NOWHERE, 0
    for arc in range(net.nodes[u].first, net.nodes[u + 1].first):
        v = net.arcs[arc].to
        if _carries(net, config, layer, v):
            start = v
            wanted += 1
        elif net.nodes[u].transit and not _hangs_elsewhere(net, v, u, config, layer):
            return False
    if start == NOWHERE:
        return False
    return not net.nodes[u].transit or _reached(net, start, u, config, layer, room, stamp) == wanted


@kernel
def _hangs_elsewhere(net: Any, v: int, u: int, config: Any, layer: int) -> bool:
    for arc in range(net.nodes[v].first, net.nodes[v + 1].first):
        w = net.arcs[arc].to
        if w != u and _carries(net, config, layer, w):
            return True
    return False


@kernel
def _reached(net: Any, start: int, u: int, config: Any, layer: int, room: Any, stamp: int) -> int:
    """How many neighbours of u a broker reaches without it, over brokers that carry transit."""
    seen, queue = room[0], room[1]
    queue[0], seen[start], seen[u] = start, stamp, stamp
    at, end, found = 0, 1, 0
    while at < end:
        v = queue[at]
        at += 1
        for arc in range(net.nodes[v].first, net.nodes[v + 1].first):
            w = net.arcs[arc].to
            if w == u:
                found += 1
            elif seen[w] != stamp and _carries(net, config, layer, w):
                seen[w] = stamp
                queue[end] = w
                end += 1
    return found
