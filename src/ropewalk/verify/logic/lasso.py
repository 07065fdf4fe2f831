"""Counterexamples: short paths, and lassos (a path that ends in a cycle for ever).

A lasso's cycle lies in one strongly connected part and visits every fairness constraint. Each next
state is chosen as like the one before as can be: what changes is what matters.
"""

from dataclasses import dataclass

from ropewalk.verify.logic.encoding import Node
from ropewalk.verify.logic.fixpoints import Paths
from ropewalk.verify.logic.model import State
from ropewalk.verify.logic.stepping import System


@dataclass(frozen=True, slots=True)
class Trace:
    """States up to the cycle, and those of the cycle; without one, the path may go on anyhow."""

    stem: list[State]
    loop: list[State]
    breach: int | None = None
    """The state that breaks the property, where a single one does: how it goes on is no matter."""


def joined(first: Trace, then: Trace) -> Trace:
    """A path, and one that goes on from its last state."""
    return Trace([*first.stem[:-1], *then.stem], then.loop)


def path_to(system: System, start: State, goal: Node, *, within: Node) -> list[State]:
    """A shortest path from a state to one of the goal, all but the last within a set."""
    at = system.encoding.node_of(start)
    if at & goal != system.false:
        return [start]
    found = walk_to(system, at & within, goal, within=within)
    if found is None:
        raise LookupError("no path leads there")
    return found


def walk_to(system: System, starts: Node, goal: Node, *, within: Node) -> list[State] | None:
    """A shortest path of one step at least, all but its last state within a set.

    Distances are found backwards from the goal; then single states are stepped through.
    """
    layers = [goal]
    seen = system.false
    while layers[-1] & starts == system.false or len(layers) == 1:
        fresh = system.before(layers[-1]) & within & ~seen
        if fresh == system.false:
            return None
        seen |= fresh
        layers.append(fresh)
    found = [system.pick(layers[-1] & starts)]
    for layer in reversed(layers[:-1]):
        following = system.after(system.encoding.node_of(found[-1]))
        found.append(system.pick(following & layer, found[-1]))
    return found


def lasso(paths: Paths, starts: Node, *, within: Node) -> Trace:
    """A fair path for ever from one of the starts, all of it within a set."""
    system = paths.system
    within = within & paths.states
    core, live = paths.core(within), paths.always(within)
    at = system.pick(starts & live)
    at = path_to(system, at, core, within=live)[-1]
    while True:
        round_ = _cycle(system, at, core)
        if isinstance(round_, list):
            break
        at = round_  # there is no way back: the cycle is further on
    states = [system.encoding.node_of(one) for one in round_]
    joint = system.encoding.any(states)
    if starts & joint != system.false:
        stem = [system.pick(starts & joint)]
    else:
        stem = walk_to(system, starts & live, joint, within=live) or []
    first = next(k for k, one in enumerate(round_) if one == stem[-1])
    return Trace(stem[:-1], [*round_[first:], *round_[:first]])


def _cycle(system: System, start: State, core: Node) -> list[State] | State:
    """A fair cycle through a state; or, if no way leads back, a state that is further on."""
    found = [start]
    home = system.encoding.node_of(start)
    while True:
        while left := _unvisited(system, found):
            goal = system.encoding.any(left) & core
            found += path_to(system, found[-1], goal, within=core)[1:]
        at = system.encoding.node_of(found[-1])
        way = walk_to(system, at, home, within=core)
        if way is None:
            return found[-1] if len(found) > 1 else _further(system, start, core)
        found += way[1:-1]
        if not _unvisited(system, found):
            return found


def _unvisited(system: System, states: list[State]) -> list[Node]:
    """What a cycle through these states still has to visit to be fair."""
    seen = system.encoding.any([system.encoding.node_of(one) for one in states])
    owed = [q for p, q in system.compassion if p & seen != system.false]
    return [one for one in (*system.fair, *owed) if one & seen == system.false]


def _further(system: System, state: State, core: Node) -> State:
    """A state of the core that follows."""
    return system.pick(system.after(system.encoding.node_of(state)) & core, state)
