"""A shorter way: the same search once more, broad instead of deep, with the rules it needs.

A deep search finds loops soon, and comes to a target by detours. Its rules are few beside the
net's; a broad search with them alone is cheap and finds a shorter way, which needs fewer rules.
"""

from collections.abc import Callable
from dataclasses import replace

from ropewalk.verify.population.engine.forward import Forward
from ropewalk.verify.population.engine.unfolding import Way, demanded, enough, rules_of
from ropewalk.verify.population.net import Net
from ropewalk.verify.population.run import Run, Step

ROUNDS = 5
MARKINGS = 20_000
"""In a round, at most."""


def condensed(net: Net, way: Way, on: Callable[[], bool] = lambda: True) -> Way:
    """A way with fewer steps, if one is found while there is time (`on`)."""
    best, (steps, _) = way, demanded(net, way)
    length = Run({}, steps).length
    for _ in range(ROUNDS):
        shorter = _once_more(net, steps, on)
        if shorter is None or not on():
            break
        steps, demand = demanded(net, shorter)
        new = Run({}, steps).length
        if new < length and enough(net, demand):
            best, length = shorter, new
    return best


def _once_more(net: Net, steps: tuple[Step, ...], on: Callable[[], bool]) -> Way | None:
    some = sorted(rules_of(steps))
    part = replace(net, rules=tuple(net.rules[rule] for rule in some))
    forward = Forward(part, broad=True)
    while forward.nodes < MARKINGS and on():
        found = forward.turn()
        if isinstance(found, Way):
            return found.renamed(some)
        if found is not None:
            break
    return None
