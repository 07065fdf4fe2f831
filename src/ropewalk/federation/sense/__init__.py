"""Does a well-shaped federation make sense: names that exist, links that join, topics that flow.

`fault` says what a fault is; `network`, `ground`, `traffic` and `placement` hold the checks, each
a generator of faults.
"""

from collections.abc import Callable, Iterator

from ropewalk.federation.facts import Federation
from ropewalk.federation.sense import ground, network, placement, traffic
from ropewalk.federation.sense.fault import Fault

__all__ = ["CHECKS", "Fault", "check"]

CHECKS: tuple[Callable[[Federation], Iterator[Fault]], ...] = (
    network.names,
    network.domains,
    network.brokers,
    network.links,
    network.latencies,
    network.bridges,
    ground.underlay,
    ground.vias,
    ground.positions,
    ground.risk_groups,
    traffic.topics,
    traffic.scopes,
    traffic.items,
    traffic.routes,
    placement.item_names,
    placement.references,
    placement.places,
    placement.apart,
)


def check(federation: Federation) -> Iterator[Fault]:
    """Every fault of sense, check by check."""
    for one in CHECKS:
        yield from one(federation)
