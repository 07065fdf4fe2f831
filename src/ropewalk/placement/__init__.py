"""Placement: where the load goes, so that bursts that rise together do not share a broker.

In reading order: `performance` (what a message costs), `problems` (items, brokers, rules), `inputs`
(a problem of a federation and its statistics), `repair` (a covariance that is none), `risk`,
`judge` (what a placement is worth, which rules it breaks), `solve/`, `moves` (from today's to
another), `policies/` (failures), `placing` (all of it), `plan` and `plan_file` (the file),
`rivals/` (the paper's), `reactive/` (overload that was not foreseen).
"""

from typing import TYPE_CHECKING

from ropewalk.lazily import lazily

if TYPE_CHECKING:
    from ropewalk.placement.judge import Rejection, Standing, rejections, standings
    from ropewalk.placement.placing import Placed, place
    from ropewalk.placement.problems import Problem, Rules, Spread, problem
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

__getattr__ = lazily(
    __name__,
    {
        "Rejection": "judge",
        "Standing": "judge",
        "rejections": "judge",
        "standings": "judge",
        "Placed": "placing",
        "place": "placing",
        "Problem": "problems",
        "Rules": "problems",
        "Spread": "problems",
        "problem": "problems",
        "Model": "solve.scores",
        "Objective": "solve.scores",
    },
)
