"""What is wrong with bridges: loops, copies and gaps, with the ways that messages take."""

from collections.abc import Iterable, Iterator

from ropewalk.federation.arrays import broker_of
from ropewalk.federation.names import Failure
from ropewalk.federation.topics import common
from ropewalk.findings import Finding
from ropewalk.routing.ground import connected_parts
from ropewalk.verify.bridges import Floods, bridged_pairs, examples
from ropewalk.verify.demand import Demand
from ropewalk.verify.flood import SOURCE, Flood, Place
from ropewalk.verify.verdicts import Verdict

SHOWN = 4
"""Places of a way that grows for ever; nobody needs all of them."""


def bridge_findings(
    floods: Floods, bridged: Demand, damaged: Iterable[Floods]
) -> Iterator[Finding]:
    """Everything that is wrong, each once; of failures, what the bridges could survive."""
    damaged = list(damaged)
    looped: set[frozenset[tuple[str, int]]] = set()
    for one in (floods, *damaged):
        yield from _loops(one, looped)
    yield from _copies(floods)
    told: set[tuple[str, str, int]] = set()
    for one in (floods, *damaged):
        yield from _gaps(one, bridged, told)
    yield from _unserved(floods)


def _published(floods: Floods) -> Iterator[tuple[str, str, Flood]]:
    """Topic, publisher's broker and flood of everything that is published."""
    for topic, facts in floods.federation.topics.items():
        homes = [floods.home(broker_of(one), "publishers") for one in facts.publishers]
        for source in dict.fromkeys(one for one in homes if one is not None):
            for name in examples(floods, topic):
                yield topic, source, floods.of(source, name)


def _loops(floods: Floods, told: set[frozenset[tuple[str, int]]]) -> Iterator[Finding]:
    """A finding per cycle of bridges, at the line of its first bridge, with all its topics."""
    looped: dict[frozenset[tuple[str, int]], tuple[Flood, list[str]]] = {}
    for topic, _, found in _published(floods):
        if found.loop:
            cycle = frozenset((one.broker, one.bridge) for one in found.loop)
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
    failure = str(Failure(brokers=frozenset(floods.down)))
    when = f" when {failure} is down" if floods.down else ""
    return Finding(
        "V012",
        f"{topics[0]}{more} {what}{when}: {_shown(way)}",
        floods.federation.source.where("bridges", max(start.bridge, 0)),
        "error",
        {"topics": topics, "failure": failure, "path": [_place(one) for one in way]},
    )


def _copies(floods: Floods) -> Iterator[Finding]:
    """Subscribers that get more than one copy: by two ways of bridges, or by links as well."""
    number = {name: i for i, name in enumerate(floods.federation.brokers)}
    part = connected_parts(floods.federation.graph)
    for topic, source, found in _published(floods):
        for to in sorted(found.brokers & floods.subscribed.keys()) if not found.loop else ():
            count = floods.arrivals(found, to)
            routed = count and to != source and part[number[source]] == part[number[to]]
            if count + bool(routed) > 1:
                ways = [_shown(found.way(one)) for one in found.came_from if one.broker == to]
                ways += [f"{source} > ... > {to} (by links)"] if routed else []
                yield _copied(floods, topic, source, to, count + bool(routed), ways)


def _copied(
    floods: Floods, topic: str, source: str, to: str, copies: int, ways: list[str]
) -> Finding:
    federation = floods.federation
    strict = federation.topics[topic].contract.delivery in ("exactly-once", "at-most-once")
    return Finding(
        "V013",
        f"{topic} from {source} reaches {to} {copies} times: {'; '.join(ways)}",
        federation.source.where("topics", list(federation.topics).index(topic)),
        "error" if strict else "warning",
        {"topic": topic, "from": source, "to": to, "copies": copies, "ways": ways},
    )


def _gaps(floods: Floods, bridged: Demand, told: set[tuple[str, str, int]]) -> Iterator[Finding]:
    """Pairs that only bridges could serve, and do not."""
    topics = tuple(floods.federation.topics)
    for pair in bridged_pairs(floods, bridged):
        source, to, t = pair
        fate = floods.fate(source, to, topics[t])
        if fate in (Verdict.BLACK_HOLE, Verdict.TOO_LONG) and pair not in told:
            told.add(pair)
            now_at, now_to = floods.home(source, "publishers"), floods.home(to, "subscribers")
            yield _gap(floods, now_at or source, now_to or to, t, fate)


def _gap(floods: Floods, source: str, to: str, t: int, fate: Verdict) -> Finding:
    federation = floods.federation
    topic = tuple(federation.topics)[t]
    found = floods.of(source, floods.owed(topic, to)[0])
    furthest = max(found.came_from, key=lambda one: len(found.way(one)))
    where = federation.source.where("topics", t)
    failure = str(Failure(brokers=frozenset(floods.down)))
    when = f" when {failure} is down" if floods.down else ""
    code, why = "V014", "no bridge carries it on"
    if fate == Verdict.TOO_LONG:
        code, why = "V004", "max_hops of a bridge holds it back"
        where = federation.source.where("bridges", min(found.stopped, default=0))
    way = _shown(found.way(furthest))
    message = f"{topic} from {source} does not reach {to}{when}: {why}; {way}"
    reached = sorted(found.brokers)
    witness = {"topic": topic, "from": source, "to": to, "failure": failure, "reached": reached}
    return Finding(code, message, where, "error", witness)


def _unserved(floods: Floods) -> Iterator[Finding]:
    """Subscribers of a topic that nobody publishes and no bridge brings."""
    federation = floods.federation
    brought = {place for _, _, found in _published(floods) for place in found.copies}
    for i, (topic, facts) in enumerate(federation.topics.items()):
        for to in {broker_of(one) for one in facts.subscribers} if not facts.publishers else ():
            if not any(at == to and common(topic, name) == name for at, name in brought):
                message = f"{topic} has no publisher, and no bridge brings it to {to}"
                where = federation.source.where("topics", i)
                yield Finding("V010", message, where, "error", {"topic": topic, "to": to})


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
