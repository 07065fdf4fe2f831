"""Federations made by rule: shapes, random growth in a plane, real maps, the papers' own models.

In reading order: `shapes`, `brite` (random growth), `maps` (topohub), `papers`, `topics` (random
topics on any of them). `GENERATORS` lists what `ropewalk generate NAME` knows; a generator's
options are the keyword arguments of its function.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.federation.generators import brite, maps, papers, shapes
from ropewalk.federation.generators.build import bounded, check_options
from ropewalk.federation.generators.topics import with_topics

MOST_TOPICS = 10_000_000
SUBSCRIBERS = 5

GENERATORS: Mapping[str, Callable[..., Federation]] = MappingProxyType(
    {
        "ring": shapes.ring,
        "grid": shapes.grid,
        "tree": shapes.tree,
        "mesh": shapes.mesh,
        "chords": shapes.chords,
        "waxman": brite.waxman,
        "barabasi-albert": brite.barabasi_albert,
        "topohub": maps.topohub_map,
        "three-broker": papers.three_broker,
        "six-broker": papers.six_broker,
        "fifty-broker": papers.fifty_broker,
        "gap-validation": papers.gap_validation,
        "six-node": papers.six_node,
    }
)


def generate(
    name: str, *, seed: int = 1, topics: int = 0, subscribers: int | None = None, **options: Any
) -> Federation:
    """Make a federation by a generator's name; the same seed gives the same federation.

    With `topics`, that many random topics of `subscribers` subscribers each are added (5, or as
    many as there are other brokers).
    Raises UsageError for an unknown name or an option out of range.

    >>> generate("ring", brokers=5).graph.links
    5
    """
    if name not in GENERATORS:
        raise UsageError(f"no generator is called {name!r}: there are {', '.join(GENERATORS)}")
    make = GENERATORS[name]
    bounded("seed", seed, 0, 2**63)
    bounded("topics", topics, 0, MOST_TOPICS)
    if "seed" in signature(make).parameters:
        options["seed"] = seed
    check_options(name, make, options)
    federation = make(**options)
    if not topics:
        return federation
    if subscribers is None:
        subscribers = min(SUBSCRIBERS, len(federation.brokers) - 1)
    return with_topics(federation, topics=topics, subscribers=subscribers, seed=seed)


__all__ = ["GENERATORS", "generate", "with_topics"]
