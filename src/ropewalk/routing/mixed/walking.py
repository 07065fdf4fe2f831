"""One message while some brokers know of a change, each routing by the tree of what it knows.

Only brokers below the changed link in the tree have two different entries: a message that leaves
this region goes on as always. In plain PCRT a broker goes by its own knowledge. With carrying, a
message takes along the newest that any broker on its way knew, and all after it go by that.
"""

from typing import Any

from ropewalk.kernels import kernel
from ropewalk.routing.trees import NOWHERE

PATH = 6
"""A path has room for so many hops per broker: by then a loop is noticed."""
LOOPS, LOST, STUCK = -1, -2, -3
"""Round and round; sent into the failed link; nowhere to go by what is known."""


@kernel
def walk(
    state: Any,
    source: int,
    beside: int,
    knows: Any,
    recovered: bool,
    carrying: bool,
    path: Any,
) -> int:
    """How many hops a message takes to leave the region, or what becomes of it; `path` has them.

    `state` is that of a tree whose link from `beside` was taken down. With `recovered` the link is
    up again, and who does not know goes by the tree without it.
    """
    at, informed, hops = source, False, 0
    then, knew, again = source, False, 1  # an earlier state, renewed at every power of two (Brent)
    while True:
        path[hops] = at
        if not state[at].inside:
            return hops
        informed = knows[at] or (carrying and informed)
        by_new = informed != recovered
        if not recovered and not by_new and at == beside:
            return LOST
        at = state[at].hop if by_new else state[at].old_hop
        if at == NOWHERE:
            return STUCK
        hops += 1
        if at == then and informed == knew:
            return LOOPS
        if hops == again:
            then, knew, again = at, informed, 2 * again
