"""A shorter way: the same search once more, broad instead of deep, with the rules it needs.

A deep search finds loops soon, and comes to a target by detours. Its rules are few beside the
net's; a broad search with them alone is cheap and finds a shorter way, which needs fewer rules.
"""

from dataclasses import replace

from ropewalk.verify.population.engine.forward import Forward
from ropewalk.verify.population.engine.unfolding import Way, demanded, rules_of
from ropewalk.verify.population.net import Net
from ropewalk.verify.population.run import Run

ROUNDS = 5
MARKINGS = 20_000
"""In a round, at most."""


def condensed(net: Net, way: Way) -> Way:
    """A way with fewer steps, if one is soon found; ways with moves are left as they are."""
    best, length = way, _length(net, way)
    for _ in range(ROUNDS):
        shorter = _once_more(net, way)
        if shorter is None:
            break
        way, new = shorter, _length(net, shorter)
        if new < length:
            best, length = way, new
    return best


def _length(net: Net, way: Way) -> int:
    return Run({}, demanded(net, way)[0]).length


def _once_more(net: Net, way: Way) -> Way | None:
    some = sorted(rules_of(demanded(net, way)[0]))
    part = replace(net, rules=tuple(net.rules[rule] for rule in some))
    forward = Forward(part, broad=True)
    while forward.nodes < MARKINGS:
        found = forward.turn()
        if isinstance(found, Way):
            return found.renamed(some)
        if found is not None:
            break
    return None
