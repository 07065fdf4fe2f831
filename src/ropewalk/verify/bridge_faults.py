"""What is wrong with bridges: loops, copies and gaps, with the ways that messages take."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import Failure
from ropewalk.federation.topics import common
from ropewalk.findings import Finding, Severity
from ropewalk.routing.ground import connected_parts
from ropewalk.verify.arcs import Arc
from ropewalk.verify.asked import Asked, Fates, Other
from ropewalk.verify.flood import COUNTED, SOURCE, Flood, Place
from ropewalk.verify.floods import Floods, Pair, bridge_words
from ropewalk.verify.leaf_circles import circles
from ropewalk.verify.verdicts import Verdict

MOST_WAYS = 50
SHOWN = 4
"""Places of a way that grows for ever; nobody needs all of them."""


def bridge_findings(asked: Asked, others: Sequence[Other]) -> Iterator[Finding]:
    """Everything that is wrong, each once; of failures, what the bridges could survive."""
    every = ((asked.floods, asked.usual), *others)
    looped: set[frozenset[int]] = set()
    copied: set[tuple[str, str, str]] = set()
    told: set[Pair] = set()
    for one, _ in every:
        if one is asked.floods or one.other_than(asked.floods):
            yield from _loops(one, looped)
            yield from _copies(one, copied)
    for one, fates in every:
        yield from _gaps(one, asked.pairs, fates, told)
    yield from _unserved(asked.floods)


def _published(floods: Floods) -> Iterator[tuple[str, str, Flood]]:
    """Topic, publisher's broker and flood of everything that is published."""
    for topic, facts in floods.federation.topics.items():
        more = floods.carried_too.get(topic)
        ends = (*map(broker_of, facts.publishers), *(more.publishers if more else ()))
        homes = [floods.home(one, "publishers") for one in ends]
        for source in dict.fromkeys(one for one in homes if one is not None):
            for name in floods.examples(topic):
                yield topic, source, floods.of(source, name)


def _loops(floods: Floods, told: set[frozenset[int]]) -> Iterator[Finding]:
    """A finding per cycle of bridges, at the line of its first bridge, with all its topics."""
    looped: dict[frozenset[int], tuple[Flood, list[str]]] = {}  # either way round is one loop
    for topic, _, found in _published(floods):
        if found.loop:
            cycle = frozenset(one.bridge for one in found.loop)
            looped.setdefault(cycle, (found, []))[1].append(topic)
    for cycle, (found, topics) in looped.items():
        if cycle not in told:
            told.add(cycle)
            yield _loop(floods, found, list(dict.fromkeys(topics)))


def _loop(floods: Floods, found: Flood, topics: list[str]) -> Finding:
    start = next((one for one in found.loop if one.bridge != SOURCE), found.loop[0])
    if found.grows:
        what, way = "gets a longer name each time it goes round", list(found.loop[:SHOWN])
    else:
        at = found.loop.index(start)
        what = "goes round in a loop of bridges"
        way = _once([*found.way(start)[:-1], *found.loop[at:], *found.loop[:at], start])
    more = f" and {len(topics) - 1} more" if len(topics) > 1 else ""
    return Finding(
        "V012",
        f"{topics[0]}{more} {what}{floods.when}: {_shown(way)}{over(floods, found.loop)}",
        floods.federation.where("bridges", max(start.bridge, 0)),
        "error",
        {
            "topics": topics,
            "failure": str(Failure(brokers=frozenset(floods.down))),
            "path": [_place(one) for one in way],
            "bridges": crossed(floods, found.loop),
            "replay": replay_of(floods, "loop", found, way[-1].broker),
        },
    )


def over(floods: Floods, way: Iterable[Place]) -> str:
    """The bridges that a way crosses and where these are written, if they have names."""
    named = [one for one in crossed(floods, way) if one["name"] and one["where"]]
    return "".join(f"; {one['kind']} {one['name']} at {one['where']}" for one in named)


def crossed(floods: Floods, way: Iterable[Place]) -> list[dict[str, Any]]:
    """The bridges that a way crosses, each once."""
    federation = floods.federation
    numbers = dict.fromkeys(one.bridge for one in way if one.bridge != SOURCE)
    return [
        {
            "from": federation.bridges[i].from_,
            "to": federation.bridges[i].to,
            "kind": federation.bridges[i].kind,
            "name": federation.bridges[i].name,
            "where": str(federation.where("bridges", i)),
        }
        for i in numbers
    ]


def replay_of(
    floods: Floods, claim: str, found: Flood, to: str, names: Sequence[str] = ()
) -> dict[str, Any]:
    """What has to be played on real brokers to see it: a message, and how many copies of it where.

    Of what is told of a connection at another of its addresses nothing is played: it cannot be had
    on demand.
    """
    start = next(iter(found.came_from))
    return {
        "claim": claim,
        "broker": start.broker,
        "topic": start.name,
        "down": sorted(floods.down),
        "to": to,
        "names": list(names) or sorted(name for at, name in found.copies if at == to),
        "connected": bool(floods.connected),
        "copies": [[*place, count] for place, count in sorted(found.copies.items())],
    }


def _copies(floods: Floods, told: set[tuple[str, str, str]]) -> Iterator[Finding]:
    """Subscribers that get more than one copy: by two ways of bridges, or by links as well."""
    if floods.down:
        return
    number = {name: i for i, name in enumerate(floods.federation.brokers)}
    part = connected_parts(floods.federation.graph)
    alike: set[tuple[str, frozenset[int]]] = set()
    refused = set(circles(floods.federation))  # of these NATS has one less than the files ask for
    for topic, source, found in _published(floods):
        for to in sorted(found.brokers & floods.reached.keys()) if not found.loop else ():
            count = floods.copies_for(floods.reached[to], found, to)
            routed = count and to != source and part[number[source]] == part[number[to]]
            if count + bool(routed) < 2 or (topic, source, to) in told:
                continue
            told.add((topic, source, to))
            last = frozenset(one.bridge for one in found.came_from if one.broker == to)
            if refused & found.crossed:
                continue
            if floods.federation.topics[topic].assumed:
                if (to, last) in alike:
                    continue  # many topics and sources by the same two ways: one will do
                alike.add((to, last))
            yield _copied(floods, (topic, source, to), found, count, routed=bool(routed))


def _copied(
    floods: Floods, pair: tuple[str, str, str], found: Flood, count: int, *, routed: bool
) -> Finding:
    federation = floods.federation
    topic, source, to = pair
    facts = federation.topics[topic]
    ends = [one for one in found.came_from if one.broker == to]
    ways = [_shown(found.way(one)) for one in ends]
    ways += [f"{source} > ... > {to} (by links)"] if routed else []
    copies = count + routed
    strict = facts.contract.delivery in ("exactly-once", "at-most-once")
    where = federation.where("topics", floods.topics.index(topic))
    crossing = [one for one in ends if one.bridge != SOURCE]
    if crossing and (facts.assumed or federation.bridges[crossing[-1].bridge].written):
        where = federation.where("bridges", crossing[-1].bridge)
    least = "at least " if found.partly else ""
    all_ways = [place for one in ends for place in found.way(one)]
    return Finding(
        "V013",
        f"{topic} from {source} reaches {to} {least}{copies} times{floods.when}: "
        f"{'; '.join(ways[:SHOWN])}{over(floods, all_ways)}",
        where,
        "error" if strict else "warning",
        {
            "topic": topic,
            "from": source,
            "to": to,
            "copies": copies,
            "ways": ways[:MOST_WAYS],
            "bridges": crossed(floods, all_ways),
            "replay": replay_of(floods, "copies", found, to),
        },
    )


def _gaps(
    floods: Floods, pairs: Sequence[Pair], fates: Fates, told: set[Pair]
) -> Iterator[Finding]:
    """Pairs that only bridges could serve, and do not; of topics that nobody stated, one each."""
    alike: set[tuple[str, str]] = set()
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
        yield _gap(floods, (now_at, now_to, t), name, fate, promised=promised)


def _gap(floods: Floods, pair: Pair, name: str, fate: Verdict, *, promised: bool) -> Finding:
    source, to, t = pair
    federation = floods.federation
    topic = floods.topics[t]
    found = floods.of(source, name)
    furthest = max(found.came_from, key=lambda one: len(found.way(one)))
    where = federation.where("topics", t)
    code, why = "V014", "no bridge carries it on"
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
        code, why = "V004", f"max_hops holds it back{_listed(federation, needed)}"
        first = next(iter([*needed, *sorted(found.stopped)]), 0)
        where = federation.where("bridges", first, "max_hops")
    way = found.way(furthest)
    message = f"{topic} from {source} does not reach {to}{floods.when}: {why}; {_shown(way)}"
    witness = {
        "topic": topic,
        "from": source,
        "to": to,
        "failure": str(Failure(brokers=frozenset(floods.down))),
        "reached": sorted(found.brokers),
        "bridges": crossed(floods, way),
        "replay": replay_of(floods, "gap", found, to, [name]),
    }
    if needed:
        witness["max_hops"] = [
            {"at": str(federation.where("bridges", i, "max_hops")), "needed": hops}
            for i, hops in needed.items()
        ]
    severity: Severity = "error" if promised or code == "V004" else "warning"
    return Finding(code, message + over(floods, way), where, severity, witness)


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


def _unserved(floods: Floods) -> Iterator[Finding]:
    """Subscribers of a topic that nobody publishes and no bridge brings."""
    federation = floods.federation
    brought = {place for _, _, found in _published(floods) for place in found.copies}
    for i, (topic, facts) in enumerate(federation.topics.items()):
        for to in {broker_of(one) for one in facts.subscribers} if not facts.publishers else ():
            if not any(at == to and common(topic, name) == name for at, name in brought):
                message = f"{topic} has no publisher, and no bridge brings it to {to}"
                where = federation.where("topics", i)
                severity: Severity = "warning" if facts.written else "error"  # as in lonely()
                yield Finding("V010", message, where, severity, {"topic": topic, "to": to})


def _once(way: list[Place]) -> list[Place]:
    """A way up to where it comes back to a broker and name that it has passed."""
    passed: set[tuple[str, str]] = set()
    for i, place in enumerate(way):
        if (place.broker, place.name) in passed:
            return way[: i + 1]
        passed.add((place.broker, place.name))
    return way


def _shown(way: list[Place]) -> str:
    return " > ".join(_place(one) for one in way)


def _place(place: Place) -> str:
    return f"{place.broker} ({place.name})"
