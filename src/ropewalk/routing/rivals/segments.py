"""TI-LFA (draft-ietf-rtgwg-segment-routing-ti-lfa): the shortest way after it, in labels.

Every other broker still goes by its old table, so the way is told in pieces: to a broker by the old
tables where all shortest ways there avoid what failed (a node segment), else over one named link
(an adjacency segment). The first hop is the repairing broker's own decision and the last piece is
the destination itself: neither needs a label. Going as far as possible with each label gives the
fewest, because every part of a piece is a piece.
"""

from typing import Any

from ropewalk.kernels import kernel
from ropewalk.routing.all_pairs import (
    Ground,
    avoids_link,
    failing_room,
    put_up,
    take_down,
    through,
)
from ropewalk.routing.delta import plant
from ropewalk.routing.rivals.scheme import Failures, Repair, Scheme, nothing
from ropewalk.routing.trees import FAR


def ti_lfa(ground: Ground) -> Scheme:
    """The choice is the first hop."""

    def repair(failures: Failures, start: int, stop: int) -> Repair:
        made = nothing(start, stop, len(ground.arc))
        room = failing_room(ground)
        _fill(ground, start, failures == "brokers", room, made.cost, made.choice, made.labels)
        return made

    return Scheme("TI-LFA", ("links", "brokers"), repair)


@kernel
def _fill(
    ground: Any, start: int, brokers: bool, failing: Any, cost: Any, choice: Any, labels: Any
) -> None:
    state = failing.tree.state
    for row in range(len(cost)):
        to = start + row
        plant(ground.net, to, failing.tree)
        for v in range(cost.shape[1]):
            count, size = take_down(ground, to, v, brokers, failing)
            if count == 0:
                continue
            for i in range(count):
                at = failing.repairers[i]
                if state[at].distance < FAR:
                    cost[row, at] = state[at].distance
                    choice[row, at] = state[at].hop
                    labels[row, at] = _spell(ground, state, at, to, brokers)
            put_up(failing, size, brokers)


@kernel
def _spell(ground: Any, state: Any, at: int, to: int, brokers: bool) -> int:
    """How many labels the new way from a broker takes."""
    labels, here = 0, state[at].hop
    while here != to:
        there = here
        while there != to and _one_piece(ground, here, state[there].hop, at, to, brokers):
            there = state[there].hop
        if there == to:
            return labels
        labels += 1
        here = there if there != here else state[here].hop
    return labels


@kernel
def _one_piece(ground: Any, here: int, there: int, at: int, to: int, brokers: bool) -> Any:
    """Whether all shortest ways between two brokers avoid what failed: the next hop of `at`."""
    net, distance, arc = ground.net, ground.distance, ground.arc[to, at]
    if brokers:
        gone = net.arcs[arc].to
        return distance[here, there] < through(net, distance, here, gone, there)
    return avoids_link(net, distance, here, there, arc, at)
