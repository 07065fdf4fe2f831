"""Demands: the tokens that have to be there at least, by place."""

from collections.abc import Mapping

Demand = dict[int, int]


def demand_before(demand: Demand, needs: Mapping[int, int], gains: Mapping[int, int]) -> None:
    """Turn what is demanded after some steps without moves into what is demanded before them.

    >>> demand = {0: 1, 1: 2}
    >>> demand_before(demand, {2: 1}, {1: 1, 2: -1}); demand
    {0: 1, 1: 1, 2: 1}
    """
    for place, change in gains.items():
        demand[place] = max(demand.get(place, 0) - change, 0)
    for place, need in needs.items():
        demand[place] = max(demand.get(place, 0), need)
