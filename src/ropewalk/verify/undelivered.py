"""Every pair and failure that is not delivered, one by one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ropewalk.verify.check import Check, Seen
from ropewalk.verify.floods import Floods, bridged_pairs
from ropewalk.verify.verdicts import Verdict

if TYPE_CHECKING:
    from ropewalk.verify.result import Verification

Row = tuple[str, str, str, list[str], str]
"""Failure, publisher's broker, subscriber's broker, topics, fate."""


def untouched(check: Check, seen: Seen, pair: int) -> list[int]:
    """Scenarios that change nothing for a pair: not listed, though everything was asked for."""
    ends = {int(check.demand.source[pair]), int(check.demand.to[pair])}
    touched = set(seen.scenario[seen.pair == pair].tolist())
    return [
        k
        for k in range(len(check.scenarios))
        if k not in touched and not ends.intersection(check.scenarios.down(k).brokers)
    ]


def undelivered(result: "Verification") -> list[Row]:
    """All of them, in the order of the scenarios."""
    rows = [*_overlay(result), *_stranded(result), *_bridged(result)]
    check = result.check
    names, demand = check.graph.names, check.demand
    told = [
        (k, names[demand.source[pair]], names[demand.to[pair]], demand.topics(pair), fate)
        if isinstance(pair, int)
        else (k, *pair, fate)
        for k, pair, fate in rows
    ]
    return [(check.scenarios.name(k), *rest) for k, *rest in sorted(told)]


Found = tuple[int, "int | tuple[str, str, list[str]]", str]


def _overlay(result: "Verification") -> Iterator[Found]:
    check, rescue = result.check, result.flooding.rescue
    saved = {}
    if rescue is not None:
        keys = zip(rescue.scenario.tolist(), rescue.pair.tolist(), strict=True)
        saved = dict(zip(keys, rescue.clients.tolist(), strict=True))
    counts = np.zeros_like(result.sight.counts)
    for to in check.destinations:
        seen = check.look(to, counts, everything=True)
        rows = zip(seen.scenario.tolist(), seen.pair.tolist(), seen.verdict.tolist(), strict=True)
        for k, pair, verdict in rows:
            served = saved.get((k, pair), 0) == int(check.demand.weight[pair])
            if verdict == Verdict.DELIVERED or served:
                continue
            fate = Verdict(verdict).name.lower()
            yield k, pair, fate
            if k == 0:
                yield from ((other, pair, fate) for other in untouched(check, seen, pair))


def _stranded(result: "Verification") -> Iterator[Found]:
    for k, pair in zip(*result.check.moves.lost, strict=True):
        yield int(k), int(pair), "stranded"


def _bridged(result: "Verification") -> Iterator[Found]:
    check, bridged = result.check, result.flooding.bridged
    floods: dict[tuple[int, ...], Floods] = {}
    for k in range(len(check.scenarios)) if len(bridged.to) else ():
        down = check.scenarios.down(k).brokers
        if down not in floods:
            names = tuple(check.graph.names[b] for b in down)
            floods[down] = Floods(check.federation, names, before=floods.get(()))
        now = floods[down]
        for source, to, t in bridged_pairs(now, bridged):
            fate = now.fate(source, to, bridged.topic_names[t])
            if fate != Verdict.DELIVERED:
                stranded = now.stranded(source, to)
                topic = [bridged.topic_names[t]]
                yield k, (source, to, topic), "stranded" if stranded else fate.name.lower()
