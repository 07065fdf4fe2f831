"""Remote loop-free alternates (RFC 7490): a tunnel to where messages do not come back from.

Where a neighbour serves (RFC 5286) it is taken. Else the message is tunnelled to a broker that the
repairing one reaches without the failed link, if need be by naming the first hop (extended
P-space), and that reaches the far end of that link without it (Q-space; the far end stands for all
destinations beyond it). Of these, one for each link: the nearest. Links only: broker failures are
another document's (RFC 8102).
"""

from typing import Any

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.kernels import kernel
from ropewalk.routing.all_pairs import Ground, avoids_link, by_destination
from ropewalk.routing.rivals.lfa import alternates
from ropewalk.routing.rivals.scheme import Failures, Repair, Scheme, nothing
from ropewalk.routing.trees import FAR, NOWHERE, Longs


def remote_lfa(ground: Ground) -> Scheme:
    """The choice is the neighbour that serves, or n + the tunnel's end (n: how many brokers)."""
    end, cost, _ = tunnels(ground)
    n = len(ground.arc)

    def repair(_: Failures, start: int, stop: int) -> Repair:
        made = nothing(start, stop, n)
        alternates(ground, start, False, made.cost, made.choice)
        arc, to = ground.arc[start:stop], np.arange(start, stop)[:, None]
        lacking = (arc != NOWHERE) & (made.cost >= FAR) & (end[arc] != NOWHERE)
        whole = np.minimum(cost[arc] + ground.distance[to, end[arc]], FAR)
        made.cost[lacking] = whole[lacking]
        made.choice[lacking] = (n + end[arc])[lacking]
        return Repair(made.cost, made.choice, lacking.astype(np.int32))

    return Scheme("remote LFA", ("links",), repair)


def tunnels(ground: Ground) -> tuple[Ints, Longs, Ints]:
    """For each arc, should its link fail: the tunnel's end or -1, its cost, and its first hop."""
    arcs = len(ground.net.arcs)
    end, first = np.full(arcs, NOWHERE, np.int32), np.full(arcs, NOWHERE, np.int32)
    cost = np.full(arcs, FAR)
    by_destination(lambda start, stop: _dig(ground, start, stop, end, cost, first), ground)
    return end, cost, first


@kernel
def _dig(ground: Any, start: int, stop: int, end: Any, cost: Any, first: Any) -> None:
    net, distance = ground.net, ground.distance
    for at in range(start, stop):
        for arc in range(net.nodes[at].first, net.nodes[at + 1].first):
            far_end = net.arcs[arc].to
            for p in range(len(distance)):
                serves = p != at and net.nodes[p].transit and distance[p, far_end] < FAR
                if serves and avoids_link(net, distance, p, far_end, arc, at):  # Q-space
                    near, whole = _first_hop(net, distance, at, arc, p, cost[arc])
                    if near != NOWHERE:
                        cost[arc], end[arc], first[arc] = whole, p, near


@kernel
def _first_hop(net: Any, distance: Any, at: int, arc: int, p: int, most: int) -> tuple[int, int]:
    """The neighbour by which a broker reaches p without a link, and the cost, if below `most`."""
    found = NOWHERE
    for other in range(net.nodes[at].first, net.nodes[at + 1].first):
        near = net.arcs[other].to
        whole = net.arcs[other].cost + distance[p, near]
        if other == arc or whole >= most:
            continue
        if near == p or (net.nodes[near].transit and avoids_link(net, distance, near, p, arc, at)):
            found, most = near, whole
    return found, most
