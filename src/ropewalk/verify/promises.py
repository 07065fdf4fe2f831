"""What the federation is required to survive, against what its graph and take-overs allow."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from ropewalk.findings import Finding, Where
from ropewalk.routing.ground import connected_parts
from ropewalk.routing.scenarios import Down
from ropewalk.routing.trees import Longs
from ropewalk.verify.check import Check
from ropewalk.verify.verdicts import Verdict

MOST = 50
"""Failures that are told one by one; the rest only by number."""


def kept_promises(check: Check, fates: Longs, stranded: Longs, *, strict: bool) -> list[Finding]:
    """A finding for every required failure that no routing could survive; all are, if strict."""
    return list(islice(_broken(check, fates[:, Verdict.CUT], stranded, strict=strict), MOST))


def _broken(check: Check, lost: Longs, stranded: Longs, *, strict: bool) -> Iterator[Finding]:
    for k in lost.nonzero()[0].tolist():
        down = check.scenarios.down(k)
        if k == 0 or not (strict or _required(check, down)):
            continue
        failure, gone = check.scenarios.name(k), int(stranded[k])
        cut = int(lost[k]) - gone - int(lost[0])  # what is cut anyway is told as such
        witness = {"failure": failure, "pairs": int(lost[k]), "stranded": gone}
        if cut > 0:
            told = f"{failure} must be survived, but without it {_pairs(cut)} no path is left"
            examples = cut_pairs(check, k)
            like = f", such as {examples[0]}" if examples else ""
            witness |= {"examples": examples}
            advice = f"{told}{like}: add a link around it"
            yield Finding("V007", advice, _where(check, down), "error", witness)
        if gone:
            told = f"{failure} must be survived, but {_pairs(gone)} a client has no broker left"
            advice = f"{told}: name a takeover for it"
            yield Finding("V008", advice, _where(check, down), "error", witness)


def _required(check: Check, down: Down) -> bool:
    survive = check.federation.requirements.survive
    return (not down.brokers and len(down.links) <= survive.links) or (
        not down.links and len(down.brokers) <= survive.brokers
    )


def _where(check: Check, down: Down) -> Where:
    """The line of what fails, the first of several."""
    source = check.federation.source
    if down.links:
        return source.where("links", down.links[0])
    return source.where("brokers", down.brokers[0])


def cut_pairs(check: Check, k: int, most: int = 5) -> list[str]:
    """Some of the pairs that a failure cuts apart, with a topic of each."""
    down, graph, demand = check.scenarios.down(k), check.graph, check.demand
    up = ~np.isin(np.arange(graph.links), down.links)
    up &= ~np.isin(graph.ends, down.brokers).any(axis=1)
    part = connected_parts(graph, up)
    alive = ~np.isin(demand.source, down.brokers) & ~np.isin(demand.to, down.brokers)
    apart = np.flatnonzero(alive & (part[demand.source] != part[demand.to]))
    return [
        f"{(demand.topics(i) or ['a message'])[0]} from {graph.names[demand.source[i]]}"
        f" to {graph.names[demand.to[i]]}"
        for i in apart[:most].tolist()
    ]


def _pairs(count: int) -> str:
    return f"for {count:,} pair{'s' if count > 1 else ''} of publisher and subscriber"
