"""What bridges hang on: single brokers and connections, and backup addresses that do not help."""

from collections.abc import Iterator, Sequence

import numpy as np

from ropewalk.federation.arrays import Bools
from ropewalk.federation.bridges import Bridge
from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding
from ropewalk.verify.arcs import connections_of, far_ends
from ropewalk.verify.asked import Asked, Other
from ropewalk.verify.bridge_ways import replay_of
from ropewalk.verify.flood import SOURCE, Place
from ropewalk.verify.floods import Floods, Pair, bridge_words
from ropewalk.verify.verdicts import Verdict

MESHED = ("route", "gateway", "binding", "import")
"""Each is the only way, as all of a cluster have one to each other, or is within a broker."""
NAMED = 5
"""So many connections are named, others only counted."""
MOST_LOOKED_AT = 50_000
"""Up to so many connections times pairs each connection is taken away in turn."""

ENGINES = {
    "first": "{words} goes back to {first} as soon as that answers, and cuts the connection to "
    "{others} for it: messages wait or are lost for as long as that takes, each time; "
    "round_robin true would stay",
    "next": "{words} stays with {others} once it has moved there, and does not go back to {first}",
    "any": "{words} takes any of {first} and {others}, not the first: "
    "none of them is only a backup",
}


def single_points(asked: Asked, others: Sequence[Other], halt: Bools) -> Iterator[Finding]:
    """Single brokers, then connections, without which a pair of other brokers is not served."""
    served = asked.usual == Verdict.DELIVERED
    for one, fates in others:
        if len(one.down) == 1:
            gone = served & np.isin(fates, (Verdict.CUT, Verdict.BLACK_HOLE))
            gone[asked.at(one.down)] = False
            lost = [asked.pairs[i] for i in np.flatnonzero(gone).tolist()]
            lost = [pair for pair in lost if pair[0] != pair[1]]
            if lost:
                yield _broker(asked.floods, one, lost)
    yield from _connections(asked, halt)


def _broker(floods: Floods, damaged: Floods, lost: Sequence[Pair]) -> Finding:
    federation = floods.federation
    (hub,) = damaged.down
    source, to, t = lost[0]
    topic = floods.topics[t]
    found = floods.of(source, floods.owed(topic, to)[0])
    ends = [one for one in found.came_from if one.broker == to]
    way = found.way(ends[0]) if ends else []
    through = [one.bridge for one in way[1:] if _touches(federation.bridges[one.bridge], hub)]
    number = through[0] if through else 0
    others = len(lost) - 1
    more = f" (and {others} more pair{'s' if others > 1 else ''})" if others else ""
    held = federation.bridges[number]
    knows = len(far_ends(held, federation.brokers)) < 2
    why = f": {bridge_words(federation, number)} knows no other address" if knows else ""
    path = " > ".join(one.broker for one in way)
    nodes = any(one.to == hub and _nodes(federation, one) for one in federation.bridges)
    whole = " (all of its nodes together)" if nodes else ""
    witness = {
        "broker": hub,
        "topic": topic,
        "from": source,
        "to": to,
        "path": [one.broker for one in way],
        "pairs": len(lost),
        "replay": replay_of(damaged, "cut", found, to),
    }
    return Finding(
        "V015",
        f"{hub} is a single point of failure{whole}: without it {topic} from {source} does not "
        f"reach {to}{more}; {path}{why}",
        federation.where("bridges", number, "addresses"),
        "warning",
        witness,
    )


def _touches(bridge: Bridge, broker: str) -> bool:
    return broker in (bridge.from_, bridge.to, *bridge.addresses)


def _connections(asked: Asked, halt: Bools) -> Iterator[Finding]:
    """One note for all connections that are the only way of something."""
    federation = asked.floods.federation
    if not any(one.written for one in federation.bridges):
        return  # who wrote the bridges down by hand knows them
    kinds = [one.kind for one in federation.bridges]
    numbers = sorted({one for one in connections_of(federation) if kinds[one] not in MESHED})
    if len(numbers) * len(asked.pairs) <= MOST_LOOKED_AT:
        only = [one for one in numbers if _cuts(asked, one)] if not halt[0] else []
    else:
        only = sorted(_only_ways(asked) & set(numbers))
    if only:
        words = [bridge_words(federation, one) for one in only]
        what = "connections is" if len(only) == 1 else "connections are each"
        yield Finding(
            "V016",
            f"{len(only)} of {len(numbers)} {what} the only way for something: {_some(words)}",
            federation.where("bridges", only[0]),
            "note",
            {"connections": words},
        )


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
    return ", ".join(words[:NAMED]) + more


def _cuts(asked: Asked, number: int) -> bool:
    """Whether something is not served while a connection is away."""
    federation = asked.floods.federation
    fates = asked.fates(Floods(federation, before=asked.floods, cut=(number,)))
    served = asked.usual == Verdict.DELIVERED
    return bool((served & (fates != Verdict.DELIVERED)).any())


def _only_ways(asked: Asked) -> set[int]:
    """Connections on the way of something that comes by one way only.

    That is all of them where bridges make a tree. Where something comes by several ways that share
    a connection, or a limit keeps another way closed, trying would tell more, and take too long.
    """
    floods, found = asked.floods, set()
    for source, name in asked.by_flood:
        made = floods.of(source, name)
        passed = set()
        for place in made.came_from:
            step: Place | None = place
            if made.copies.get((place.broker, place.name)) != 1 or place.broker not in asked.by_end:
                continue
            while step is not None and step not in passed:
                passed.add(step)
                if step.bridge != SOURCE:
                    found.add(floods.bridges.connections[step.bridge])
                step = made.came_from[step]
    return found


def backup_addresses(federation: Federation) -> Iterator[Finding]:
    """What connections with several addresses do with them, and backups that share a fate."""
    alike: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
    told: set[int] = set()
    for number, bridge in zip(connections_of(federation), federation.bridges, strict=True):
        if number in told or not bridge.addresses or bridge.kind in ("gateway", "route", "binding"):
            continue
        told.add(number)
        where = federation.where("bridges", number, "addresses")
        ends = far_ends(bridge, federation.brokers)
        words = bridge_words(federation, number)
        if len(ends) < 2:
            alone = all(one == bridge.to for one in bridge.addresses)
            if alone and not _nodes(federation, bridge):
                what = f"all addresses of {words} are {bridge.to}: that is one broker, no backup"
                yield Finding("V017", what, where, "warning", {"to": bridge.to})
            continue
        if bridge.written:
            alike.setdefault((bridge.kind, bridge.choice, ends), []).append(number)
        if shared := _shared(federation, ends):
            what = f"the addresses of {words} share {shared}: what takes one down takes all"
            yield Finding("V017", what, where, "warning", {"addresses": ends, "shared": shared})
    for (_, choice, ends), numbers in alike.items():
        yield _choice(federation, choice, ends, numbers)


def _choice(
    federation: Federation, choice: str, ends: Sequence[str], numbers: Sequence[int]
) -> Finding:
    """What an engine does with addresses: told once of all connections that have the same."""
    words = [bridge_words(federation, one) for one in numbers]
    text = ENGINES[choice].format(
        words=words[0], first=ends[0], others=", ".join(ends[1 : NAMED + 1])
    )
    if len(words) > 1:
        text += f"; the same holds for {_some(words[1:])}"
    witness = {"addresses": ends, "choice": choice, "connections": words}
    return Finding(
        "V017", text, federation.where("bridges", numbers[0], "addresses"), "note", witness
    )


def _nodes(federation: Federation, bridge: Bridge) -> bool:
    """Whether the addresses are several nodes of one RabbitMQ cluster, which is one broker here."""
    hosts = {one.rpartition(":")[0].lower() for one in bridge.reached_at}
    return federation.brokers[bridge.to].make == "rabbitmq" and len(hosts) > 1


def _shared(federation: Federation, ends: Sequence[str]) -> str:
    """What all addresses have in common, so that none stands in for another."""
    brokers = [federation.brokers[end] for end in ends]
    servers = {one.server for one in brokers}
    if len(servers) == 1 and None not in servers:
        return f"the server {brokers[0].server}"
    sites = {one.site for one in brokers}
    if len(sites) == 1 and None not in sites:
        return f"the site {brokers[0].site}"
    groups = frozenset.intersection(*(frozenset(one.risk_groups) for one in brokers))
    return f"the risk group {min(groups)}" if groups else ""
