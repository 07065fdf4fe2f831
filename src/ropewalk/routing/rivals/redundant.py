"""Maximally redundant trees (after RFC 7811): two ways to every destination, red and blue.

A depth-first walk from the destination finds the blocks of the graph (parts that no broker's loss
cuts); each has one broker that is nearest to the destination, its exit. An st-numbering of the
block (Tarjan 1986) puts the exit first and a neighbour of it last. Blue goes to smaller numbers and
so to the exit, red to greater ones and over the last to the exit: apart from the exits, the two
have no broker in common. Of all ways down, and of all ways up, the shortest is taken. RFC 7811
makes one numbering serve all destinations; here each has its own, which is no worse.
Brokers that carry no transit stay outside and hand their messages to a neighbour in either colour.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.kernels import kernel
from ropewalk.routing.all_pairs import Ground
from ropewalk.routing.rivals.scheme import Failures, Repair, Scheme, nothing
from ropewalk.routing.trees import FAR, NOWHERE, Net, Records

BLUE, RED = 0, 1

WALK = np.dtype(
    [
        ("seen", "i8"),
        ("low", "i8"),
        ("above", "i4"),
        ("arc", "i4"),
        ("order", "i4"),
        ("block", "i4"),
        ("before", "i4"),
        ("after", "i4"),
        ("place", "i4"),
        ("plus", "?"),
    ],
    align=True,
)
"""What is known of a broker while one destination is looked at; `order` is a list of brokers.

A block is named after its last broker. `before` and `after` are its neighbours in the numbering."""

WAY = np.dtype([("cost", "i8"), ("hop", "i4")], align=True)


def redundant_trees(ground: Ground) -> Scheme:
    """The choice is twice the next hop, plus one for red."""

    def repair(failures: Failures, start: int, stop: int) -> Repair:
        made = nothing(start, stop, len(ground.arc))
        walk, ways = _room(len(ground.arc))
        _fill(ground, start, failures == "brokers", walk, ways, made.cost, made.choice)
        return Repair(made.cost, made.choice)

    entries = float(2 * (len(ground.arc) - 1))
    return Scheme("MRT", ("links", "brokers"), repair, tables=2, entries=entries)


def trees_to(net: Net, to: int) -> npt.NDArray[np.int32]:
    """Next hops to a broker, blue and red; -1 for brokers without transit or without a way."""
    walk, ways = _room(len(net.nodes) - 1)
    _paint(net, to, walk, ways)
    return np.array(ways["hop"])


def _room(brokers: int) -> tuple[Records, Records]:
    return np.zeros(brokers, WALK), np.zeros((2, brokers), WAY)


@kernel
def _fill(
    ground: Any, start: int, brokers: bool, walk: Any, ways: Any, cost: Any, choice: Any
) -> None:
    net = ground.net
    for row in range(len(cost)):
        to = start + row
        _paint(net, to, walk, ways)
        for at in range(cost.shape[1]):
            mine = ground.arc[to, at]
            if mine == NOWHERE or (brokers and net.arcs[mine].to == to):
                continue
            for arc in range(net.nodes[at].first, net.nodes[at + 1].first):
                near, gone = net.arcs[arc].to, net.arcs[mine].to
                if near == gone or (near != to and not net.nodes[near].transit):
                    continue
                for colour in range(2):
                    if net.nodes[at].transit and ways[colour, at].hop != near:
                        continue
                    whole = net.arcs[arc].cost + ways[colour, near].cost
                    if whole < cost[row, at] and not (
                        brokers and _passes(ways, colour, near, gone, to)
                    ):
                        cost[row, at] = whole
                        choice[row, at] = 2 * near + colour


@kernel
def _passes(ways: Any, colour: int, at: int, gone: int, to: int) -> bool:
    while at != gone and at != to:
        at = ways[colour, at].hop
    return at == gone


@kernel
def _paint(net: Any, to: int, walk: Any, ways: Any) -> None:
    """Fill in both ways of every broker to one."""
    for u in range(len(walk)):
        for colour in range(2):
            ways[colour, u].cost = FAR
            ways[colour, u].hop = NOWHERE
    ways[BLUE, to].cost = 0
    ways[RED, to].cost = 0
    reached = _depth_first(net, to, walk)
    _number(walk, reached)
    for i in range(1, reached):
        last = walk[i].order
        if walk[last].block == last:
            _paint_block(net, walk, ways, last)


@kernel
def _depth_first(net: Any, to: int, walk: Any) -> int:
    """Visit all that carries transit; returns how many, in `order`. Numbers count from 1."""
    for u in range(len(walk)):
        walk[u].seen = 0
        walk[u].arc = net.nodes[u].first
    walk[to].seen = walk[to].low = 1
    walk[to].above = walk[to].block = NOWHERE
    walk[0].order = to
    at, reached = to, 1
    while True:
        if walk[at].arc < net.nodes[at + 1].first:
            v = net.arcs[walk[at].arc].to
            walk[at].arc += 1
            if walk[v].seen:
                if v != walk[at].above:
                    walk[at].low = min(walk[at].low, walk[v].seen)
            elif net.nodes[v].transit:
                walk[v].above = at
                walk[reached].order = v
                reached += 1
                walk[v].seen = walk[v].low = reached
                at = v
        elif at == to:
            return reached
        else:
            above = walk[at].above
            walk[above].low = min(walk[above].low, walk[at].low)
            at = above


@kernel
def _number(walk: Any, reached: int) -> None:
    """The st-numbering of each block, as a list; the exit, which is first, is not in it."""
    for i in range(1, reached):
        v = walk[i].order
        above = walk[v].above
        walk[v].before = walk[v].after = NOWHERE
        walk[v].plus = False
        if walk[v].low >= walk[above].seen:
            walk[v].block = v
            continue
        walk[v].block = walk[above].block
        lowest = walk[walk[v].low - 1].order
        if lowest == walk[walk[v].block].above or not walk[lowest].plus:
            _insert(walk, walk[above].before, v, above)
            walk[above].plus = True
        else:
            _insert(walk, above, v, walk[above].after)
            walk[above].plus = False


@kernel
def _insert(walk: Any, before: int, v: int, after: int) -> None:
    walk[v].before = before
    walk[v].after = after
    if before != NOWHERE:
        walk[before].after = v
    if after != NOWHERE:
        walk[after].before = v


@kernel
def _paint_block(net: Any, walk: Any, ways: Any, last: int) -> None:
    leave, first, place = walk[last].above, last, 0
    while walk[first].before != NOWHERE:
        walk[first].place = place
        place -= 1
        first = walk[first].before
    walk[first].place = place
    v = first
    while v != NOWHERE:
        _step(net, walk, ways, BLUE, v, last, leave)
        v = walk[v].after
    v = last
    while v != NOWHERE:
        _step(net, walk, ways, RED, v, last, leave)
        v = walk[v].before


@kernel
def _step(net: Any, walk: Any, ways: Any, colour: int, v: int, last: int, leave: int) -> None:
    """The best next hop of one broker, once all that it may go to are known."""
    alone = walk[last].before == NOWHERE
    for arc in range(net.nodes[v].first, net.nodes[v + 1].first):
        w = net.arcs[arc].to
        if w == leave:
            fits = alone or (v == last) == (colour == RED)
        elif walk[w].seen == 0 or walk[w].block != last:
            fits = False
        else:
            fits = (walk[w].place > walk[v].place) == (colour == RED)
        if fits and net.arcs[arc].cost + ways[colour, w].cost < ways[colour, v].cost:
            ways[colour, v].cost = net.arcs[arc].cost + ways[colour, w].cost
            ways[colour, v].hop = w
