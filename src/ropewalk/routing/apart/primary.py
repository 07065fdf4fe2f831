"""The primary path: by least delay, by fewest hops, or as given."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.routing.apart.search import shortest
from ropewalk.routing.apart.terrain import Path, Terrain

Rule = Literal["delay", "hops"]


def primary_path(terrain: Terrain, start: int, end: int, *, by: Rule = "delay") -> Path | None:
    """The best path between two nodes, or None; equal hops are told apart by delay."""
    weight = terrain.arc_delay_ms
    if by == "hops":
        whole = 1 + float(weight.sum())
        weight = 1 + weight / whole
    return shortest(terrain, weight, start, end)


def given_path(terrain: Terrain, names: Sequence[str]) -> Path:
    """The path over the nodes of these names; raises UsageError where it is none."""
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise UsageError(f"a path goes through a node once: {twice[0]} is there twice")
    return terrain.path([terrain.number(name) for name in names])


def stretch(path: Path, primary: Path) -> float:
    """How many times as long as the primary a path takes."""
    return (
        path.delay_ms / primary.delay_ms if primary.delay_ms else np.inf if path.delay_ms else 1.0
    )
