"""What is wrong with bridges: loops, copies and gaps, with the ways that messages take."""

from collections.abc import Iterator, Sequence

from ropewalk.federation.names import Failure
from ropewalk.findings import Finding
from ropewalk.routing.ground import connected_parts
from ropewalk.verify.asked import Asked, Other
from ropewalk.verify.bridge_gaps import gaps, unserved
from ropewalk.verify.bridge_ways import crossed, over, place_words, replay_of, shown
from ropewalk.verify.flood import SOURCE, Flood, Place
from ropewalk.verify.floods import Floods, Pair, published
from ropewalk.verify.leaf_circles import circles

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
        yield from gaps(one, asked.pairs, fates, told)
    yield from unserved(asked.floods)


def _loops(floods: Floods, told: set[frozenset[int]]) -> Iterator[Finding]:
    """A finding per cycle of bridges, at the line of its first bridge, with all its topics."""
    looped: dict[frozenset[int], tuple[Flood, list[str]]] = {}  # either way round is one loop
    for topic, _, found in published(floods):
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
        f"{topics[0]}{more} {what}{floods.when}: {shown(way)}{over(floods, found.loop)}",
        floods.federation.where("bridges", max(start.bridge, 0)),
        "error",
        {
            "topics": topics,
            "failure": str(Failure(brokers=frozenset(floods.down))),
            "path": [place_words(one) for one in way],
            "bridges": crossed(floods, found.loop),
            "replay": replay_of(floods, "loop", found, way[-1].broker),
        },
    )


def _copies(floods: Floods, told: set[tuple[str, str, str]]) -> Iterator[Finding]:
    """Subscribers that get more than one copy: by two ways of bridges, or by links as well."""
    if floods.down:
        return
    number = {name: i for i, name in enumerate(floods.federation.brokers)}
    part = connected_parts(floods.federation.graph)
    alike: set[tuple[str, frozenset[int]]] = set()
    refused = set(circles(floods.federation))  # of these NATS has one less than the files ask for
    for topic, source, found in published(floods):
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
    ways = [shown(found.way(one)) for one in ends]
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


def _once(way: list[Place]) -> list[Place]:
    """A way up to where it comes back to a broker and name that it has passed."""
    passed: set[tuple[str, str]] = set()
    for i, place in enumerate(way):
        if (place.broker, place.name) in passed:
            return way[: i + 1]
        passed.add((place.broker, place.name))
    return way
