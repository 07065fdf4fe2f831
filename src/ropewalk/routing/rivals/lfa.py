"""Loop-free alternates (RFC 5286): another neighbour, if none of its shortest ways comes back."""

from typing import Any

from ropewalk.kernels import kernel
from ropewalk.routing.all_pairs import Ground, through
from ropewalk.routing.rivals.scheme import Failures, Repair, Scheme, nothing
from ropewalk.routing.trees import FAR, NOWHERE


def lfa(ground: Ground) -> Scheme:
    """The choice is the alternate neighbour: of those that serve, the one nearest to the end."""

    def repair(failures: Failures, start: int, stop: int) -> Repair:
        made = nothing(start, stop, len(ground.arc))
        alternates(ground, start, failures == "brokers", made.cost, made.choice)
        return Repair(made.cost, made.choice)

    return Scheme("LFA", ("links", "brokers"), repair)


@kernel
def alternates(ground: Any, start: int, brokers: bool, cost: Any, choice: Any) -> None:
    """Fill in the best alternate of every broker to the destinations from `start` on."""
    net, distance = ground.net, ground.distance
    for row in range(len(cost)):
        to = start + row
        for at in range(cost.shape[1]):
            arc = ground.arc[to, at]
            if arc == NOWHERE:
                continue
            gone = net.arcs[arc].to
            if brokers and gone == to:
                continue
            for other in range(net.nodes[at].first, net.nodes[at + 1].first):
                near = net.arcs[other].to
                if near == gone or not _serves(net, distance, at, near, gone, to, brokers):
                    continue
                whole = net.arcs[other].cost + distance[to, near]
                if whole < cost[row, at]:
                    cost[row, at] = whole
                    choice[row, at] = near


@kernel
def _serves(net: Any, distance: Any, at: int, near: int, gone: int, to: int, brokers: bool) -> bool:
    """RFC 5286: inequality 1 (loop-free) and, against a failed broker, 3 (node-protecting)."""
    way = distance[to, near]
    if way >= FAR or (near != to and not net.nodes[near].transit):
        return False
    if near == to:
        return True
    if way >= through(net, distance, near, at, to):
        return False
    return not brokers or way < through(net, distance, near, gone, to)
