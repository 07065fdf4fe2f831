"""Populations of clients around brokers, read from a file and made into nets.

Reading order: `facts`, `notes`, `reading`, `drawing`, `unwanted` (the file); `places`, `slicing`,
`effects`, `flattening`, `patterns`, `naming`, `reducing` (the net); `replaying`, `translating`,
`telling` (a run of the net as a story of clients, checked against the model).
"""

from ropewalk.verify.population.clients.facts import SEMANTICS, Population
from ropewalk.verify.population.clients.reading import load_population, population
from ropewalk.verify.population.clients.reducing import Reduced, reduce, reduced
from ropewalk.verify.population.clients.telling import Story

__all__ = ["SEMANTICS", "Population", "Reduced", "Story", "load_population", "population",
           "reduce", "reduced"]  # fmt: skip
