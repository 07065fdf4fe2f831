"""The fate of every message to one destination: a functional graph, coloured in one pass.

Every broker has one next hop, so following hops from a broker ends at the destination, at a broker
that drops the message, or in a cycle. A walk stops at the first broker whose fate is known, so
each entry is looked at once: linear, where doubling pointers would take a factor log(path length).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.kernels import kernel
from ropewalk.routing.table import Rows
from ropewalk.routing.workers import spread
from ropewalk.verify.verdicts import Verdict

DELIVERED, LOOP, UTURN = int(Verdict.DELIVERED), int(Verdict.LOOP), int(Verdict.UTURN)
BLACK_HOLE = int(Verdict.BLACK_HOLE)
UNSEEN, WALKING = -1, -2
ENDLESS = 2**30
"""Hops of a message that never arrives."""


FATE = np.dtype([("print", "u8"), ("hops", "i4"), ("fate", "i1"), ("within", "?")], align=True)
"""What becomes of a broker's messages: their fate, their hops, whether they stay in the domain,
and a print of the path that tells it from others."""


@kernel
def judge(net: Any, to: int, state: Any, fates: Any) -> None:
    """Fill in the fates of all messages to a broker, whose row is the `row` of the state.

    A broker that carries no transit drops what others send through it.
    """
    for u in range(len(state)):
        fates[u].fate = UNSEEN
    fates[to].fate, fates[to].hops, fates[to].within = DELIVERED, 0, True
    for start in range(len(state)):
        length, u = 0, start
        end = UNSEEN
        while fates[u].fate == UNSEEN:
            fates[u].fate = WALKING
            state[length].path = u
            length += 1
            v = state[u].row
            if v < 0 or (v != to and not net.nodes[v].transit):
                end = BLACK_HOLE
                break
            u = v
        if length == 0:
            continue
        hops, within = ENDLESS, True
        if end == UNSEEN:
            end = fates[u].fate
            if end == WALKING:
                end = UTURN if length > 1 and state[length - 2].path == u else LOOP
            else:
                hops, within = fates[u].hops, fates[u].within
        for i in range(length - 1, -1, -1):
            w = state[i].path
            hops = min(hops + 1, ENDLESS)
            within = within and net.nodes[w].domain == net.nodes[to].domain
            fates[w].fate, fates[w].hops, fates[w].within = end, hops, within


@kernel
def mixed(above: Any, name: Any) -> Any:
    """The print of a path that starts at a broker and goes on as another does."""
    mix = (above ^ name) * np.uint64(0x9E3779B97F4A7C15)
    return mix ^ (mix >> np.uint64(29))


@kernel
def take_prints(net: Any, to: int, state: Any, fates: Any) -> None:
    """Prints of all delivered paths of a judged row; 0 where there is none."""
    for u in range(len(state)):
        fates[u].print = 0
    fates[to].print = mixed(np.uint64(1), net.nodes[to].name)
    for start in range(len(state)):
        length, u = 0, start
        while fates[start].fate == DELIVERED and fates[u].print == 0:
            state[length].path = u
            length += 1
            u = state[u].row
        for i in range(length - 1, -1, -1):
            w = state[i].path
            fates[w].print = mixed(fates[u].print, net.nodes[w].name)
            u = w


@kernel
def _tally(rows: Any, start: int, stop: int, transit: Any, totals: Any) -> None:
    """Fates of all pairs of some destinations, counted; as `judge`, with nothing kept."""
    brokers = rows.shape[1]
    fate = np.empty(brokers, np.int8)
    path = np.empty(brokers, np.int32)
    for to in range(start, stop):
        row = rows[to]
        fate[:] = UNSEEN
        fate[to] = DELIVERED
        for first in range(brokers):
            length, u = 0, first
            end = UNSEEN
            while fate[u] == UNSEEN:
                fate[u] = WALKING
                path[length] = u
                length += 1
                v = row[u]
                if v < 0 or (v != to and not transit[v]):
                    end = BLACK_HOLE
                    break
                u = v
            if length == 0:
                continue
            if end == UNSEEN:
                if fate[u] == WALKING:
                    end = UTURN if length > 1 and path[length - 2] == u else LOOP
                else:
                    end = fate[u]
            totals[end] += length
            for i in range(length):
                fate[path[i]] = end


def tally(
    rows: Rows, transit: npt.NDArray[np.bool_], *, threads: int | None = None
) -> npt.NDArray[np.int64]:
    """How many ordered pairs of a whole table have each fate."""

    def some(start: int, stop: int) -> npt.NDArray[np.int64]:
        totals = np.zeros(len(Verdict), np.int64)
        _tally(rows, start, stop, transit, totals)
        return totals

    return np.asarray(np.sum(spread(some, len(rows), parts=threads), axis=0))
