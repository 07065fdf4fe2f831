"""Placement: where the load goes, so that bursts that rise together do not share a broker.

In reading order: `performance` (what a message costs), `problem` (items, brokers, rules), `inputs`
(a problem of a federation and its statistics), `repair` (a covariance that is none), `risk`,
`judge` (what a placement is worth, which rules it breaks), `solve/`, `moves` (from today's to
another), `policies/` (failures), `place` (all of it), `plan` (the file), `rivals/` (the paper's),
`reactive/` (overload that was not foreseen).
"""

from ropewalk.placement.judge import Rejection, Standing, rejections, standings
from ropewalk.placement.place import Placed, place
from ropewalk.placement.problem import Problem, Rules, Spread, problem
from ropewalk.placement.solve.scores import Model, Objective

__all__ = [
    "Model",
    "Objective",
    "Placed",
    "Problem",
    "Rejection",
    "Rules",
    "Spread",
    "Standing",
    "place",
    "problem",
    "rejections",
    "standings",
]
