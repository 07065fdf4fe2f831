"""Not-via addresses (RFC 6981): a tunnel round what failed, by tables made without it.

Against a failed link the tunnel ends at the link's far end, against a failed broker at the next
hop but one; from there the old tables go on. Every broker keeps an entry for each not-via address:
one for each direction of each link.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ropewalk.kernels import kernel
from ropewalk.routing.all_pairs import Ground, by_destination, failing_room
from ropewalk.routing.delta import fail, plant, restore
from ropewalk.routing.rivals.scheme import Failures, Repair, Scheme, nothing
from ropewalk.routing.trees import FAR, NOWHERE, Longs, arc_between


@dataclass(frozen=True, eq=False, slots=True)
class Detours:
    """What ways round cost."""

    link: Longs
    """For each arc: from its tail to its head without its link."""
    first: Longs
    """Where a broker's square of detours starts in `broker`."""
    broker: Longs
    """From the i-th to the j-th neighbour of a broker without it: row i, column j of its square."""


def not_via(ground: Ground) -> Scheme:
    """The choice is the end of the tunnel."""
    detours = detours_of(ground)

    def repair(failures: Failures, start: int, stop: int) -> Repair:
        made = nothing(start, stop, len(ground.arc))
        if failures == "links":
            _round_links(ground, start, detours.link, made.cost, made.choice)
        else:
            _round_brokers(ground, start, detours.first, detours.broker, made.cost, made.choice)
        return Repair(made.cost, made.choice, (made.cost < FAR).astype(np.int32))

    return Scheme("not-via", ("links", "brokers"), repair, entries=float(2 * len(ground.ends)))


def detours_of(ground: Ground) -> Detours:
    """Every way round a link between its ends, and round a broker between its neighbours."""
    nodes, arcs = ground.net.nodes, ground.net.arcs
    degree = np.diff(nodes["first"]).astype(np.int64)
    first = np.concatenate(([0], np.cumsum(degree**2)))
    made = Detours(np.full(len(arcs), FAR), first, np.full(first[-1], FAR))

    def work(start: int, stop: int) -> None:
        room = failing_room(ground)
        _walk_round(ground, start, stop, room, made.link, first, made.broker)

    by_destination(work, ground)
    return made


@kernel
def _walk_round(
    ground: Any, start: int, stop: int, failing: Any, link: Any, first: Any, broker: Any
) -> None:
    net, tree = ground.net, failing.tree
    for to in range(start, stop):
        plant(net, to, tree)
        for arc in range(net.nodes[to].first, net.nodes[to + 1].first):
            y = net.arcs[arc].to
            failing.link[0] = net.arcs[arc].link
            size, _ = fail(net, to, tree, ground.ends, failing.link, failing.broker[:0])
            link[arc_between(net, y, to)] = tree.state[y].distance
            restore(tree, size, failing.link, failing.broker[:0])
            failing.broker[0] = y
            size, _ = fail(net, to, tree, ground.ends, failing.link[:0], failing.broker)
            _note(net, tree.state, y, to, first[y], broker)
            restore(tree, size, failing.link[:0], failing.broker)


@kernel
def _note(net: Any, state: Any, y: int, to: int, first: int, broker: Any) -> None:
    low, high = net.nodes[y].first, net.nodes[y + 1].first
    column = arc_between(net, y, to) - low
    for arc in range(low, high):
        broker[first + (arc - low) * (high - low) + column] = state[net.arcs[arc].to].distance


@kernel
def _round_links(ground: Any, start: int, link: Any, cost: Any, choice: Any) -> None:
    for row in range(len(cost)):
        for at in range(cost.shape[1]):
            arc = ground.arc[start + row, at]
            if arc != NOWHERE and link[arc] < FAR:
                end = ground.net.arcs[arc].to
                cost[row, at] = link[arc] + ground.distance[start + row, end]
                choice[row, at] = end


@kernel
def _round_brokers(
    ground: Any, start: int, first: Any, broker: Any, cost: Any, choice: Any
) -> None:
    net = ground.net
    for row in range(len(cost)):
        to = start + row
        for at in range(cost.shape[1]):
            arc = ground.arc[to, at]
            if arc == NOWHERE or net.arcs[arc].to == to:
                continue
            y = net.arcs[arc].to
            low, high = net.nodes[y].first, net.nodes[y + 1].first
            i, j = arc_between(net, y, at) - low, ground.arc[to, y] - low
            way = broker[first[y] + i * (high - low) + j]
            if way < FAR:
                end = net.arcs[ground.arc[to, y]].to
                cost[row, at] = way + ground.distance[to, end]
                choice[row, at] = end
