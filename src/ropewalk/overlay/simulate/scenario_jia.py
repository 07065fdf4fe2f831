"""The scenario "jia-6.3.2": one link fails and recovers, under OSPF, plain PCRT and Ropewalk.

Every scheme runs on the same packet network, with routers switched on at the same share of their
hello interval (by the seed), so that those with equal hellos detect the failure at the same time.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Bools, broker_of
from ropewalk.federation.facts import Contract, Federation
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.simulate.measures import Course, Fate, Measures, fates_of, measure
from ropewalk.overlay.simulate.ospf import EAGER_OSPF, FAST_OSPF, OSPF, OspfRouter, OspfTimers
from ropewalk.overlay.simulate.packets import Line, Node, PacketNetwork
from ropewalk.overlay.simulate.pcrt import (
    BEST_EFFORT,
    EXACTLY_ONCE,
    agents,
    custody_settings,
    thesis_settings,
)
from ropewalk.overlay.simulate.plain_pcrt import PCRT, PcrtRouter, PcrtTimers
from ropewalk.overlay.simulate.routers import ByTable
from ropewalk.routing.ahead import tables_of
from ropewalk.routing.ground import connected_parts
from ropewalk.routing.scenarios import link_names
from ropewalk.routing.table import shortest_rows

if TYPE_CHECKING:
    import pandas as pd

SCENARIO = "jia-6.3.2"

Maker = Callable[[Federation, Course, int], Sequence[Node]]
"""Nodes of a scheme for a federation and a unit of time in microseconds."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A way to route: what stands at the nodes, and how often it says hello."""

    name: str
    hello: float
    nodes: Maker


def ospf_scheme(name: str, timers: OspfTimers) -> Scheme:
    """OSPF with some timers."""

    def nodes(federation: Federation, _: Course, unit_us: int) -> Sequence[Node]:
        graph = federation.graph
        return [
            ByTable(OspfRouter(graph, b, timers, unit_us=unit_us)) for b in range(len(graph.names))
        ]

    return Scheme(name, timers.hello_interval, nodes)


def pcrt_scheme(name: str, timers: PcrtTimers) -> Scheme:
    """The thesis' own scheme with some timers."""

    def nodes(federation: Federation, _: Course, unit_us: int) -> Sequence[Node]:
        tables = tables_of(federation, "links=1")
        brokers = range(len(tables.brokers))
        return [ByTable(PcrtRouter(tables, b, timers, unit_us=unit_us)) for b in brokers]

    return Scheme(name, timers.heartbeat, nodes)


def ropewalk_scheme(
    name: str, contract: Contract, settings: Callable[[int], Settings], heartbeat: float
) -> Scheme:
    """Ropewalk's agents, under a contract and with the settings for a unit of time."""

    def nodes(federation: Federation, course: Course, unit_us: int) -> Sequence[Node]:
        return agents(federation, course, contract, settings(unit_us))

    return Scheme(name, heartbeat, nodes)


SCHEMES = {
    one.name: one
    for one in (
        ospf_scheme("ospf", OSPF),
        ospf_scheme("fast-ospf", FAST_OSPF),
        ospf_scheme("eager-ospf", EAGER_OSPF),
        pcrt_scheme("pcrt", PCRT),
        ropewalk_scheme("ropewalk", BEST_EFFORT, thesis_settings, PCRT.heartbeat),
        ropewalk_scheme("ropewalk-custody", EXACTLY_ONCE, custody_settings, PCRT.heartbeat),
    )
}
RIVALS = ("ospf", "fast-ospf", "pcrt")
OURS = ("ropewalk", "ropewalk-custody")


@dataclass(frozen=True, slots=True)
class Trial:
    """One scheme: its figures and every packet."""

    measures: Measures
    fates: tuple[Fate, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All schemes on one federation."""

    federation: str
    link: str
    course: Course
    unit_us: int
    seed: int
    runs: tuple[Trial, ...]

    def of(self, scheme: str) -> Trial:
        """The run of a scheme; UsageError if it did not run."""
        for run in self.runs:
            if run.measures.scheme == scheme:
                return run
        raise UsageError(f"there is no run of {scheme!r} here")

    def frame(self) -> "pd.DataFrame":
        """A row per scheme."""
        import pandas as pd

        return pd.DataFrame([asdict(run.measures) for run in self.runs])

    def packets(self) -> "pd.DataFrame":
        """A row per scheme and data packet."""
        import pandas as pd

        rows = [
            {"scheme": run.measures.scheme} | asdict(one) for run in self.runs for one in run.fates
        ]
        return pd.DataFrame(rows)


def compare(
    federation: Federation,
    *,
    unit_us: int = 1_000_000,
    rivals: Iterable[str] = RIVALS,
    ours: Iterable[str] = OURS,
    course: Course | None = None,
    line: Line | None = None,
    seed: int = 0,
) -> Comparison:
    """Run the scenario for every scheme; a unit of time is `unit_us` long.

    Lines are the thesis', made for six nodes: in a large federation OSPF's database exchange alone
    overflows them, so give a faster `line`.

    >>> from ropewalk.federation.generators import generate
    >>> found = compare(generate("six-node"), rivals=["fast-ospf"], ours=[]).of("fast-ospf")
    >>> found.measures.path_during
    ('b1', 'b2', 'b6', 'b5', 'b3')
    """
    if unit_us < 1_000:
        raise UsageError(f"unit_us is {unit_us}: write 1000 or more")
    course = course or course_of(federation)
    schemes = [scheme_of(name) for name in dict.fromkeys([*rivals, *ours])]
    line = replace(line or Line(), unit_us=unit_us)
    runs = tuple(run_scheme(federation, one, course, line=line, seed=seed) for one in schemes)
    link = link_names(federation)[course.link]
    return Comparison(federation.name, link, course, unit_us, seed, runs)


def repeat(federation: Federation, seeds: Iterable[int], **options: Any) -> tuple[Comparison, ...]:
    """The same once for every seed: when a link fails between two hellos is chance."""
    return tuple(compare(federation, seed=seed, **options) for seed in seeds)


def scheme_of(name: str) -> Scheme:
    """A scheme by name; UsageError if there is none."""
    if name not in SCHEMES:
        raise UsageError(f"there is no scheme {name!r}: write one of {', '.join(SCHEMES)}")
    return SCHEMES[name]


def run_scheme(
    federation: Federation, scheme: Scheme, course: Course, *, line: Line, seed: int = 0
) -> Trial:
    """One scheme through the scenario."""
    graph, unit_us = federation.graph, line.unit_us
    shares = np.random.default_rng(seed).random(graph.brokers)
    starts_us = [round(share * scheme.hello * unit_us) for share in shares]
    nodes = scheme.nodes(federation, course, unit_us)
    network = PacketNetwork(graph, nodes, line, starts_us)

    def at(time: float, what: Callable[..., None], *about: Any) -> None:
        network.at(round((course.warm_up + time) * unit_us), what, *about)

    for number in range(int(course.until / course.every)):
        at(number * course.every, network.publish, course.source, number, course.to)
    at(course.fail, network.set_link, course.link, False)
    at(course.recover, network.set_link, course.link, True)
    log = network.run(round((course.warm_up + course.until + course.drain) * unit_us))
    fates = fates_of(log, graph, course, unit_us)
    return Trial(measure(scheme.name, log, fates, course, unit_us), fates)


def course_of(federation: Federation) -> Course:
    """The first topic's publisher and subscriber, and the last link between with a way round.

    In the six-node federation: 1, 3, and the link 2-3. Raises UsageError if there is none.
    """
    graph = federation.graph
    number = {name: b for b, name in enumerate(graph.names)}
    link_between = {frozenset(ends): e for e, ends in enumerate(graph.ends.tolist())}
    rows = shortest_rows(graph)
    for topic in federation.topics.values():
        for publisher in topic.publishers:
            for subscriber in topic.subscribers:
                source, to = number[broker_of(publisher)], number[broker_of(subscriber)]
                for link in reversed(_links_on_path(rows, source, to, link_between)):
                    if _round(federation, link, source, to):
                        return Course(source=source, to=to, link=link)
    told = "a topic with a publisher and a subscriber at brokers that two ways join"
    raise UsageError(f"{federation.name}: the scenario needs {told}")


def _links_on_path(
    rows: Any, source: int, to: int, link_between: dict[frozenset[int], int]
) -> list[int]:
    links, at = [], source
    while at != to and rows[to, at] >= 0:
        links.append(link_between[frozenset((at, int(rows[to, at])))])
        at = int(rows[to, at])
    return links


def _round(federation: Federation, link: int, source: int, to: int) -> bool:
    up: Bools = np.ones(federation.graph.links, np.bool_)
    up[link] = False
    parts = connected_parts(federation.graph, up)
    return bool(parts[source] == parts[to])
