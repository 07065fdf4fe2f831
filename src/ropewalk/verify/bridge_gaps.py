"""What bridges do not bring where it is wanted: for want of a bridge, or by a limit of hops."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import Failure
from ropewalk.federation.topics import common
from ropewalk.findings import Finding, Severity, Where
from ropewalk.verify.arcs import Arc
from ropewalk.verify.asked import Fates
from ropewalk.verify.bridge_ways import crossed, over, replay_of, shown
from ropewalk.verify.flood import COUNTED, Flood, Place
from ropewalk.verify.floods import Floods, Pair, bridge_words, published
from ropewalk.verify.verdicts import Verdict

SHOWN = 4
"""So many limits are named, others only counted."""
NO_BRIDGE = "no bridge carries it on"
LIMITED = "max_hops holds it back"


def gaps(floods: Floods, pairs: Sequence[Pair], fates: Fates, told: set[Pair]) -> Iterator[Finding]:
    """Pairs that only bridges could serve, and do not.

    Of topics that nobody stated, those with one reason are told together.
    """
    alike: set[tuple[str, str]] = set()
    unstated: dict[tuple[str, str], list[_Gap]] = {}
    bad = np.isin(fates, (Verdict.BLACK_HOLE, Verdict.TOO_LONG))
    for i in np.flatnonzero(bad).tolist():
        pair, fate = pairs[i], Verdict(int(fates[i]))
        source, to, t = pair
        if pair in told:
            continue
        told.add(pair)
        now_at = floods.home(source, "publishers") or source
        now_to = floods.home(to, "subscribers") or to
        promised = floods.promised(floods.topics[t], to)
        if not promised:
            # What a failure cuts off of them is told by what fails (V015).
            if floods.down or (now_at, now_to) in alike:
                continue
            alike.add((now_at, now_to))
        name = floods.name_with(fate, source, to, floods.topics[t])
        found = _gap(floods, (now_at, now_to, t), name, fate)
        if promised:
            yield _told(floods, found, promised=True)
        else:
            unstated.setdefault((str(found.where), found.why), []).append(found)
    if not floods.down and not floods.connected:
        for found in _held_back(floods, alike):
            unstated.setdefault((str(found.where), found.why), []).append(found)
    for same in unstated.values():
        yield _told(floods, same[0], promised=False, more=same[1:])


@dataclass(frozen=True, slots=True)
class _Gap:
    """A message that does not get to a broker, how far it gets, and why not further."""

    pair: Pair
    name: str
    found: Flood
    way: list[Place]
    where: Where
    why: str
    needed: Mapping[int, int]
    """Limits that are too low, and what each has to be."""


def _gap(floods: Floods, pair: Pair, name: str, fate: Verdict) -> _Gap:
    source, to, t = pair
    federation = floods.federation
    found = floods.of(source, name)
    furthest = max(found.came_from, key=lambda one: len(found.way(one)))
    where, why = federation.where("topics", t), NO_BRIDGE
    if stays := _stays(floods, found, to):
        furthest, arc = stays
        up, alone = arc.outward and arc.bridge.kind == "leaf", furthest.broker
        what = "its hub what came by a route" if up else "others of its cluster what its hub sent"
        lacking = found.way(furthest)[-2].broker if up else to
        why = f"{alone} does not give {what}: give {lacking} a leaf connection of its own"
        where = federation.where("bridges", arc.number if up else furthest.bridge)
    needed: dict[int, int] = {}
    if fate == Verdict.TOO_LONG:
        needed = _hops_needed(floods, source, to, name)
        why = f"{LIMITED}{_listed(federation, needed)}"
        first = next(iter([*needed, *sorted(found.stopped)]), 0)
        where = federation.where("bridges", first, "max_hops")
    return _Gap(pair, name, found, found.way(furthest), where, why, needed)


def _told(floods: Floods, gap: _Gap, *, promised: bool, more: Sequence[_Gap] = ()) -> Finding:
    source, to, t = gap.pair
    federation, topic = floods.federation, floods.topics[t]
    code = "V004" if gap.why.startswith(LIMITED) else "V014"
    also = f" (and {len(more)} more pair{'s' if len(more) > 1 else ''})" if more else ""
    way = shown(gap.way)
    message = f"{topic} from {source} does not reach {to}{also}{floods.when}: {gap.why}; {way}"
    witness = {
        "topic": topic,
        "from": source,
        "to": to,
        "failure": str(Failure(brokers=frozenset(floods.down))),
        "reached": sorted(gap.found.brokers),
        "bridges": crossed(floods, gap.way),
        "replay": replay_of(floods, "gap", gap.found, to, [gap.name]),
    }
    if more:
        pairs = [one.pair for one in more]
        witness["more"] = [[floods.topics[t], source, to] for source, to, t in pairs]
    if gap.needed:
        witness["max_hops"] = [
            {"at": str(federation.where("bridges", i, "max_hops")), "needed": hops}
            for i, hops in gap.needed.items()
        ]
    severity: Severity = "error" if promised or code == "V004" else "warning"
    return Finding(code, message + over(floods, gap.way), gap.where, severity, witness)


def _held_back(floods: Floods, told: set[tuple[str, str]]) -> Iterator[_Gap]:
    """Brokers that a limit of hops keeps from what would get there, if under another name.

    Who wants a topic that somebody stated is stated as well.
    """
    numbers = {topic: t for t, topic in enumerate(floods.topics)}
    for topic, source, found in published(floods) if floods.bridges.most else ():
        name = next(iter(found.came_from)).name
        counts = bool(found.stopped) and floods.federation.topics[topic].assumed
        free = floods.unlimited().of(source, name) if counts else found
        for to in sorted(free.brokers - found.brokers):
            if (source, to) not in told:
                told.add((source, to))
                pair = (source, to, numbers[topic])
                yield _gap(floods, pair, name, Verdict.TOO_LONG)


def _stays(floods: Floods, found: Flood, to: str) -> tuple[Place, Arc] | None:
    """Where a server of NATS could carry it on, and leaves that to others of its cluster."""
    return next(
        (
            (place, arc)
            for place in found.came_from
            for arc in floods.bridges.leaving.get(place.broker, ())
            if arc.far == to and floods.bridges.stays(place, arc)
        ),
        None,
    )


def _hops_needed(floods: Floods, source: str, to: str, name: str) -> dict[int, int]:
    """Bridges of a shortest way whose limits are too low for it, and what each of them needs."""
    free = floods.unlimited().of(source, name)
    wanted = floods.subscribed.get(to)
    at = [one for one in free.came_from if one.broker == to]
    ends = [one for one in at if wanted is not None and wanted.holding(one.name)] or at
    needed: dict[int, int] = {}
    hops = 0
    for place in free.way(ends[0])[1:] if ends else ():
        bridge = floods.federation.bridges[place.bridge]
        if bridge.max_hops is not None and bridge.max_hops <= hops:
            needed[place.bridge] = hops + 1
        hops += bridge.kind in COUNTED
    return needed


def _listed(federation: Federation, needed: Mapping[int, int]) -> str:
    if not needed:
        return ""
    some = [f"{hops} at {bridge_words(federation, i)}" for i, hops in needed.items()]
    more = f" and more at {len(some) - SHOWN} others" if len(some) > SHOWN else ""
    return f": write {', '.join(some[:SHOWN])}{more}"


def unserved(floods: Floods) -> Iterator[Finding]:
    """Subscribers of a topic that nobody publishes and no bridge brings."""
    federation = floods.federation
    brought = {place for _, _, found in published(floods) for place in found.copies}
    for i, (topic, facts) in enumerate(federation.topics.items()):
        for to in {broker_of(one) for one in facts.subscribers} if not facts.publishers else ():
            if not any(at == to and common(topic, name) == name for at, name in brought):
                message = f"{topic} has no publisher, and no bridge brings it to {to}"
                where = federation.where("topics", i)
                severity: Severity = "warning" if facts.written else "error"  # as in lonely()
                yield Finding("V010", message, where, severity, {"topic": topic, "to": to})
