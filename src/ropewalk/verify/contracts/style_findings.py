"""Rules of style that a federation file can break, in words of the file.

Most of them it cannot: what is declared, linked and attached is checked when the file is read, and
tables are computed. What another finding tells, with the messages that it costs, is not told again:
S4 beside V006, S6 beside V007, S13 and S14 beside what goes wrong on a path.
"""

from collections.abc import Collection, Iterator

import numpy as np

from ropewalk.federation.arrays import Ints
from ropewalk.federation.facts import Federation
from ropewalk.federation.topics import meeting
from ropewalk.findings import Finding
from ropewalk.routing.ground import connected_parts
from ropewalk.verify.contracts.breach import Broken
from ropewalk.verify.contracts.promised import some
from ropewalk.verify.contracts.rules import Checked
from ropewalk.verify.contracts.style import Style

ASTRAY = frozenset(("V001", "V002", "V003", "V004", "V005", "V006"))
SHOWN = 20


def style_findings(
    federation: Federation, checked: Checked, told: Collection[str]
) -> Iterator[Finding]:
    """Findings on S4, S5, S6, S13 and S14."""
    broken = checked.broken
    if "S4" in broken and "V006" not in told:
        yield from _apart(federation, checked.style)
    yield from _twice(federation)
    if "S6" in broken and "V007" not in told and federation.requirements.survive.brokers:
        yield _cut(federation, broken["S6"])
    for code in ("S13", "S14"):
        if code in broken and not ASTRAY.intersection(told):
            yield from _lost(federation, code, broken[code])


def _apart(federation: Federation, style: Style) -> Iterator[Finding]:
    """S4: parts with clients that neither links nor bridges join."""
    part = joined_parts(federation)
    clients = np.unique(np.concatenate((style.speaking[:, 1], style.listening[:, 1])))
    _, first = np.unique(part[clients], return_index=True)
    if len(first) > 1:
        ones = [style.dispatchers[clients[i]] for i in np.sort(first)]
        told = f"clients are in {len(ones)} parts that nothing joins, such as those of {some(ones)}"
        advice = "add a link between them, or make them federations of their own"
        where = federation.where("brokers", style.dispatchers.index(ones[1]))
        yield Finding("S4", f"{told}: {advice}", where, "note", {"parts": ones[:SHOWN]})


def joined_parts(federation: Federation) -> Ints:
    """The part that each broker is in, by links and bridges of any direction."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    part = connected_parts(federation.graph)
    number = {name: b for b, name in enumerate(federation.brokers)}
    ends = [
        (part[number[one.from_]], part[number[far]])
        for one in federation.bridges
        for far in (one.to, *(name for name in one.addresses if name in number))
    ]
    a, b = np.array(ends, np.int32).reshape(-1, 2).T
    many = int(part.max(initial=-1)) + 1
    grid = csr_array((np.ones(len(a)), (a, b)), shape=(many, many))
    return np.asarray(connected_components(grid, directed=False)[1], np.int32)[part]


def _twice(federation: Federation) -> Iterator[Finding]:
    """S5: clients that want the same at two brokers: they get every message at both."""
    number = {topic: i for i, topic in enumerate(federation.topics)}
    for client, wanted in _wanted(federation).items():
        pair = _overlap(wanted)
        if pair is not None:
            (one, here), (other, there) = pair
            what = one if one == other else f"{one} and {other}"
            told = f"client {client} wants {what} at {here} and at {there}, and gets every message"
            advice = "give two clients two names, or let it subscribe at one broker"
            where = federation.where("topics", number[one])
            witness = {"client": client, "brokers": [here, there], "topics": [one, other]}
            yield Finding("S5", f"{told} twice: {advice}", where, "warning", witness)


Place = tuple[str, str]
"""A topic and a broker where it is wanted."""


def _wanted(federation: Federation) -> dict[str, dict[str, list[str]]]:
    """Of named clients that are at several brokers: what they want, and where."""
    wanted: dict[str, dict[str, list[str]]] = {}
    places: dict[str, set[str]] = {}
    for topic, facts in federation.topics.items():
        for one in facts.subscribers:
            if not isinstance(one, str):
                wanted.setdefault(one.client, {}).setdefault(topic, []).append(one.broker)
                places.setdefault(one.client, set()).add(one.broker)
    return {client: wanted[client] for client, several in places.items() if len(several) > 1}


def _overlap(wanted: dict[str, list[str]]) -> tuple[Place, Place] | None:
    """The first two places where a client gets the same."""
    topics = list(wanted)
    met = (side.tolist() for side in meeting(topics))
    pairs = [(topics[i], topics[j]) for i, j in zip(*met, strict=True)]
    for one, other in (*((topic, topic) for topic in topics), *pairs):
        here = wanted[one][0]
        there = next((broker for broker in wanted[other] if broker != here), None)
        if there is not None:
            return (one, here), (other, there)
    return None


def _cut(federation: Federation, broken: Broken) -> Finding:
    """S6: brokers that hold others together, where failures of brokers have to be survived."""
    names = [one.names[0] for one in broken.breaches]
    more = f" ({broken.count:,} such brokers in all)" if broken.count > 1 else ""
    told = f"no topic is cut off today, but {broken.breaches[0].words}{more}"
    where = federation.where("brokers", list(federation.brokers).index(names[0]))
    return Finding("S6", f"{told}: add a link around it", where, "note", {"brokers": names})


def _lost(federation: Federation, code: str, broken: Broken) -> Iterator[Finding]:
    topics = list(federation.topics)
    for one in broken.breaches:
        number = next((topics.index(name) for name in one.names if name in federation.topics), 0)
        where = federation.where("topics", number)
        yield Finding(code, one.words, where, "error", {"names": list(one.names)})
