"""Random growth in a plane, as the flat router models of BRITE.

Medina, Lakhina, Matta, Byers, "BRITE: universal topology generation from a user's perspective",
2001. Options are named as BRITE's: m links per new node, a plane of side HS with squares of side
LS, Waxman's alpha and beta, node placement and growth type. The average degree comes to about 2m.

In growth a new node always finds its m neighbours, so Waxman's alpha cancels out (BRITE's own
code has the same property); it is kept for the name's sake and checked for its range.
"""

from math import sqrt
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.federation.generators.build import MOST_BROKERS, bounded, numbered, sized

Floats = npt.NDArray[np.float64]

MOST_SQUARES = 1_000
"""The plane has at most so many squares along a side."""

HEAVY_TAIL_SHAPE = 1.2
"""Pareto index of the number of nodes per square in heavy-tailed placement."""

Brokers = Annotated[int, "how many brokers (BRITE's N)"]
M = Annotated[int, "links per new node"]
Side = Annotated[float, "side of the plane in km"]
Square = Annotated[float, "side of a square in km, for heavy-tailed placement"]
Placement = Annotated[Literal["random", "heavy-tailed"], "how nodes are spread over the plane"]
Growth = Annotated[
    Literal["incremental", "all"], "nodes join one by one, or choose among all at once"
]


def waxman(
    *,
    brokers: Brokers = 100,
    m: M = 2,
    alpha: Annotated[float, "Waxman's alpha (cancels out in growth)"] = 0.15,
    beta: Annotated[float, "Waxman's beta: larger means longer links"] = 0.2,
    hs: Side = 10_000.0,
    ls: Square = 1_000.0,
    node_placement: Placement = "random",
    growth_type: Growth = "incremental",
    seed: int = 1,
) -> Federation:
    """Waxman growth: near nodes are likelier neighbours, alpha * exp(-d / (beta * L))."""
    if not (0 < alpha <= 1 and 0 < beta <= 1):
        raise UsageError(f"--alpha {alpha:g} --beta {beta:g}: both must be above 0 and at most 1")
    rng = np.random.default_rng(seed)
    places = _places(rng, brokers, m, hs, ls, node_placement)
    reach = beta * sqrt(2) * hs
    pairs: list[tuple[int, int]] = []
    linked: set[tuple[int, int]] = set()
    for node in range(1, brokers):
        others = places[:node] if growth_type == "incremental" else places
        log_weight = -np.hypot(*(others - places[node]).T) / reach
        if growth_type == "all":
            log_weight[node] = -np.inf
        for other in _draw(rng, log_weight, min(m, node)):
            pair = (min(node, other), max(node, other))
            if pair not in linked:
                linked.add(pair)
                pairs.append(pair)
    return numbered(f"waxman-{brokers}-m{m}-s{seed}", _rows(places), _joined(pairs, places))


def barabasi_albert(
    *,
    brokers: Brokers = 100,
    m: M = 2,
    hs: Side = 10_000.0,
    ls: Square = 1_000.0,
    node_placement: Placement = "random",
    seed: int = 1,
) -> Federation:
    """Barabasi-Albert growth: nodes with many links get more."""
    rng = np.random.default_rng(seed)
    places = _places(rng, brokers, m, hs, ls, node_placement)
    degree = np.zeros(brokers)
    pairs: list[tuple[int, int]] = []
    for node in range(1, brokers):
        # The first m + 1 nodes all know each other; a node without a link could never be drawn.
        log_weight = np.log(np.maximum(degree[:node], 1.0))
        chosen = _draw(rng, log_weight, min(m, node))
        pairs += [(other, node) for other in sorted(chosen)]
        degree[chosen] += 1
        degree[node] += len(chosen)
    return numbered(f"barabasi-albert-{brokers}-m{m}-s{seed}", _rows(places), pairs)


def _draw(rng: np.random.Generator, log_weight: Floats, count: int) -> list[int]:
    """Distinct numbers, each next one with probability proportional to its weight.

    Adding Gumbel noise to the logarithms and taking the largest does that in one go
    (Efraimidis and Spirakis 2006), where drawing one by one would loop.
    """
    keys = log_weight + rng.gumbel(size=len(log_weight))
    return [int(i) for i in np.argpartition(-keys, count - 1)[:count]]


def _places(
    rng: np.random.Generator, brokers: int, m: int, hs: float, ls: float, placement: str
) -> Floats:
    bounded("brokers", brokers, 2, MOST_BROKERS)
    bounded("m", m, 1, brokers - 1)
    sized(brokers, brokers * m)
    bounded("hs", hs, 1, 1e9)
    bounded("ls", ls, hs / MOST_SQUARES, hs)
    if placement == "random":
        return rng.uniform(0, hs, size=(brokers, 2))
    across = max(1, int(hs // ls))
    weight = np.minimum(rng.pareto(HEAVY_TAIL_SHAPE, size=across * across) + 1, brokers)
    square = rng.choice(across * across, size=brokers, p=weight / weight.sum())
    corner = np.column_stack((square % across, square // across)) * ls
    return np.asarray(corner + rng.uniform(0, ls, size=(brokers, 2)))


def _rows(places: Floats) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in places]


def _joined(pairs: list[tuple[int, int]], places: Floats) -> list[tuple[int, int]]:
    """The pairs, and where they leave the graph in parts, the shortest link to the main part."""
    part = _parts(pairs, len(places))
    main = np.flatnonzero(part == part[0])
    extra: list[tuple[int, int]] = []
    for other in np.unique(part[part != part[0]]):
        members = np.flatnonzero(part == other)
        apart = np.hypot(*(places[members][:, None] - places[main][None]).transpose(2, 0, 1))
        i, j = np.unravel_index(int(np.argmin(apart)), apart.shape)
        a, b = int(members[i]), int(main[j])
        extra.append((min(a, b), max(a, b)))
    return pairs + extra


def _parts(pairs: list[tuple[int, int]], nodes: int) -> npt.NDArray[np.int64]:
    """The connected part of each node, as the number of one of the part's nodes."""
    part = list(range(nodes))

    def root(node: int) -> int:
        while part[node] != node:
            part[node] = part[part[node]]
            node = part[node]
        return node

    for a, b in pairs:
        part[root(a)] = root(b)
    return np.array([root(node) for node in range(nodes)])
