"""Backward search and nothing else: the algorithm of the books, as a rival to all the rest.

Smallest demands, the same kernels and the whole net; nothing is sliced, bounded or directed.
"""

from collections.abc import Callable

from ropewalk.verify.population.engine.arrays import start_of
from ropewalk.verify.population.engine.backward import Backward
from ropewalk.verify.population.engine.unfolding import Way
from ropewalk.verify.population.engine.verdict import GaveUp
from ropewalk.verify.population.net import Net


def plain(net: Net, clock: Callable[[], float], until: float) -> str | None:
    """`safe` or `unsafe`; None if time or memory ran out."""
    search = Backward(net, start_of(net), prune=False)
    found = search.turn()
    while found is None and clock() < until:
        found = search.turn()
    if found is None or isinstance(found, GaveUp):
        return None
    return "unsafe" if isinstance(found, Way) else "safe"
