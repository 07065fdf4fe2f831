"""Solvers: the best placement, or one that is near it by a known gap.

In reading order: `scores` (what a load is worth), `ground` (a problem as arrays, and its sums),
`steps`, `starts`, `anneal`, `tabu`, `search` (all of them, several times), `exact` (branch and
cut), `bound` (what no placement can beat), `stepwise` (from today's placement by the best steps).
"""
