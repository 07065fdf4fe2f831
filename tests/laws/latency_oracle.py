"""The probability to be in time by brute force: every outcome of every hop, every set of failures.

It shares nothing with the product but the facts of a federation: paths by networkx, distributions
as plain lists of (time in ms, probability), sums in fractions of a millisecond.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

import networkx as nx

from ropewalk.federation.facts import Federation, Link

Outcomes = list[tuple[Fraction, float]]
"""When something is over, and the probability of that; what is missing is lost."""


@dataclass(frozen=True)
class World:
    """A federation, and how losses are sent again."""

    federation: Federation
    retry_ms: Fraction
    retries: int | None

    def crossings(self, link: Link, within: Fraction, *, late: bool) -> Outcomes:
        """All outcomes of a link that may be in time."""
        found: Outcomes = []
        turn = 0
        while turn * self.retry_ms <= within and (self.retries is None or turn <= self.retries):
            chance = link.loss**turn * (1 - link.loss)
            for at, share in self.latencies(link, late=late):
                found.append((turn * self.retry_ms + at, chance * share))
            turn += 1
        return found

    def latencies(self, link: Link, *, late: bool) -> Outcomes:
        """All latencies of a link: a histogram's bins at their ends, or at their starts."""
        if link.histogram is None:
            return [(Fraction(link.latency_ms or 0).limit_denominator(10**6), 1.0)]
        total = sum(link.histogram.counts)
        edges = link.histogram.edges_ms[1:] if late else link.histogram.edges_ms[:-1]
        pairs = zip(edges, link.histogram.counts, strict=True)
        return [(Fraction(edge), count / total) for edge, count in pairs]

    def over(self, path: list[str], within: Fraction, *, late: bool) -> float:
        """One path: every combination of its hops' outcomes."""
        links = [self.link(a, b) for a, b in pairwise(path)]
        each = [self.crossings(link, within, late=late) for link in links]
        total = 0.0
        for outcome in product(*each):
            if sum((at for at, _ in outcome), Fraction(0)) <= within:
                chance = 1.0
                for _, share in outcome:
                    chance *= share
                total += chance
        return total

    def over_two(
        self, paths: tuple[list[str], list[str]], within: Fraction, *, late: bool
    ) -> float:
        """Two paths at once: every combination of all hops' outcomes, a shared hop's once."""
        steps = [list(pairwise(path)) for path in paths]
        hops = list(dict.fromkeys(steps[0] + steps[1]))
        never: tuple[Fraction | None, float]
        each = []
        for a, b in hops:
            some = self.crossings(self.link(a, b), within, late=late)
            never = (None, 1 - sum(share for _, share in some))
            each.append([*some, never])
        total = 0.0
        for outcome in product(*each):
            at = dict(zip(hops, (one[0] for one in outcome), strict=True))
            chance = 1.0
            for _, share in outcome:
                chance *= share
            for some_steps in steps:
                times = [at[one] for one in some_steps]
                if None not in times and sum(filter(None, times), Fraction(0)) <= within:
                    total += chance
                    break
        return total

    def link(self, a: str, b: str) -> Link:
        return next(one for one in self.federation.links if set(one.between) == {a, b})

    def path(self, source: str, to: str, down: set[str]) -> list[str] | None:
        """The canonical path round what is down: least cost, then the first in the file."""
        graph = nx.Graph()
        order = list(self.federation.brokers)
        graph.add_nodes_from(name for name in order if name not in down)
        for link in self.federation.links:
            a, b = link.between
            if "--".join(sorted((a, b))) not in down and not {a, b} & down:
                graph.add_edge(a, b, cost=link.cost)
        if source not in graph or to not in graph or not nx.has_path(graph, source, to):
            return None
        left = nx.single_source_dijkstra_path_length(graph, to, weight="cost")
        path = [source]
        while path[-1] != to:
            here = path[-1]
            path.append(
                min(
                    (n for n in graph[here] if left[n] + graph[here][n]["cost"] == left[here]),
                    key=order.index,
                )
            )
        return path

    def failures(self) -> Iterator[tuple[set[str], float]]:
        """Every set of links, brokers and groups that are down, with its probability."""
        facts = self.federation
        things = [({"--".join(sorted(link.between))}, link.fails) for link in facts.links]
        things += [({name}, broker.fails) for name, broker in facts.brokers.items()]
        for group, one in self.federation.risk_groups.items():
            members = {
                "--".join(sorted(link.between))
                for link in self.federation.links
                if group in link.risk_groups
            }
            members |= {n for n, b in self.federation.brokers.items() if group in b.risk_groups}
            things.append((members, one.fails))
        for states in product(*([False, True] if chance else [False] for _, chance in things)):
            down: set[str] = set()
            chance = 1.0
            for (members, fails), state in zip(things, states, strict=True):
                chance *= fails if state else 1 - fails
                down |= members if state else set()
            yield down, chance

    def overall(self, source: str, to: str, within: Fraction, *, late: bool) -> float:
        """Over all failures; clients of a dead broker are at the first of its list that is up."""
        total, brokers = 0.0, self.federation.brokers
        for down, chance in self.failures():
            start = source
            if source in down:
                start = next((b for b in brokers[source].takeover.publishers if b not in down), "")
            end = to
            if to in down:
                end = next((b for b in brokers[to].takeover.subscribers if b not in down), "")
            path = self.path(start, end, down) if start and end else None
            if path is not None:
                total += chance * self.over(path, within, late=late)
        return total
