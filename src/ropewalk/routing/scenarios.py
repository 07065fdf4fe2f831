"""Failure scenarios: sets of links and brokers that are down together, as arrays.

Scenario 0 is always "nothing failed". A scenario is told by what is down, so a group that holds
one link is the same scenario as that link.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph, Ints, offsets
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import Failure, link_name
from ropewalk.routing.ground import members_of_group

MOST = 5_000_000
"""More scenarios than this are refused: they would be counted in hours."""

KINDS = ("links", "brokers", "any")


@dataclass(frozen=True, slots=True)
class Down:
    """What is down: link and broker numbers. A dead broker's own links go without saying."""

    links: tuple[int, ...] = ()
    brokers: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Scenarios:
    """Many scenarios: those of number k are `link[first_link[k]:first_link[k + 1]]`, etc."""

    broker_names: Sequence[str]
    link_names: Sequence[str]
    first_link: Ints
    link: Ints
    first_broker: Ints
    broker: Ints
    titles: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.first_link) - 1

    def down(self, k: int) -> Down:
        """What is down in scenario k."""
        return Down(
            tuple(self.link[self.first_link[k] : self.first_link[k + 1]].tolist()),
            tuple(self.broker[self.first_broker[k] : self.first_broker[k + 1]].tolist()),
        )

    def name(self, k: int) -> str:
        """The failure as people write it: `none`, `b1`, `a--b + c--d`, `group:tunnel`."""
        return self.titles[k] if k in self.titles else self.parts(k)

    def parts(self, k: int) -> str:
        """The same, by links and brokers alone."""
        return self.words(self.down(k))

    def words(self, down: Down) -> str:
        """What is down, as people write it."""
        return str(
            Failure(
                brokers=frozenset(self.broker_names[b] for b in down.brokers),
                links=frozenset(self.link_names[e] for e in down.links),
            )
        )

    def holding(self, down: Down) -> npt.NDArray[np.bool_]:
        """Which scenarios are exactly this one; at most one of them is."""
        links, brokers = np.diff(self.first_link), np.diff(self.first_broker)
        found = np.flatnonzero((links == len(down.links)) & (brokers == len(down.brokers)))
        for j, e in enumerate(down.links):
            found = found[self.link[self.first_link[found] + j] == e]
        for j, b in enumerate(down.brokers):
            found = found[self.broker[self.first_broker[found] + j] == b]
        return np.isin(np.arange(len(self)), found)


def scenarios_of(federation: Federation, failures: str | Iterable[str] = ()) -> Scenarios:
    """Scenarios from texts: `links=K`, `brokers=K`, `any=K`, `groups`, `sites`, or one failure.

    `links=2` is every set of up to two links. Raises UsageError for a text that is none of these
    or that names what the federation does not have.
    """
    named: dict[Down, str] = {Down(): ""}
    most = dict.fromkeys(KINDS, 0)
    for text in listed(failures):
        kind, equals, count = text.partition("=")
        if equals and kind in KINDS and count.isdecimal() and len(count) < 10:
            things = federation.graph.links + federation.graph.brokers
            most[kind] = max(most[kind], min(int(count), things))
        elif text == "groups":
            named |= _each(federation, (f"group:{name}" for name in groups_of(federation)))
        elif text == "sites":
            named |= _each(federation, (f"site:{name}" for name in federation.sites))
        else:
            down = resolve(federation, text)
            named[down] = str(Failure.parse(text))
    return _assembled(federation, named, most)


def listed(failures: str | Iterable[str]) -> list[str]:
    """Failures one by one: several may be joined by commas.

    >>> listed("links=1, a--b"), listed(["sites", "groups"])
    (['links=1', 'a--b'], ['sites', 'groups'])
    """
    texts = [failures] if isinstance(failures, str) else failures
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def resolve(federation: Federation, text: str) -> Down:
    """What is down in a failure that a text names; UsageError for what does not exist."""
    try:
        failure = Failure.parse(text)
    except ValueError:
        forms = "links=K, brokers=K, any=K, groups, sites, none, BROKER, BROKER--BROKER, "
        raise UsageError(f"{text!r} is no failure: write {forms}group:NAME or site:NAME") from None
    graph = federation.graph
    broker = {name: i for i, name in enumerate(federation.brokers)}
    link = {name: i for i, name in enumerate(link_names(federation))}
    brokers = {_number(broker, name, "broker") for name in failure.brokers}
    links = {_number(link, name, "link") for name in failure.links}
    for site in failure.sites:
        _number(federation.sites, site, "site")
        brokers |= {broker[name] for name, one in federation.brokers.items() if one.site == site}
    for group in failure.groups:
        _number(groups_of(federation), group, "risk group")
        more_links, more_brokers = members_of_group(federation, group)
        links |= more_links
        brokers |= more_brokers
    links = {e for e in links if not brokers & set(graph.ends[e].tolist())}
    return Down(tuple(sorted(links)), tuple(sorted(brokers)))


def link_names(federation: Federation) -> list[str]:
    """The name of every link, by number."""
    return [link_name(*link.between) for link in federation.links]


def _number(known: dict[str, int] | Iterable[str], name: str, what: str) -> int:
    if name not in known:
        near = get_close_matches(name, [*known, "links=1", "brokers=1", "groups", "sites"], n=1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"failure {name!r}: no {what} is called so in the federation{hint}")
    return known[name] if isinstance(known, dict) and isinstance(known[name], int) else -1


def groups_of(federation: Federation) -> dict[str, int]:
    """Every risk group that is declared or that something is in."""
    groups = dict.fromkeys(federation.risk_groups, 0)
    things: tuple[Any, ...] = (
        *federation.brokers.values(),
        *federation.links,
        *federation.underlay.nodes.values(),
        *federation.underlay.links,
    )
    return groups | dict.fromkeys((group for one in things for group in one.risk_groups), 0)


def _each(federation: Federation, texts: Iterable[str]) -> dict[Down, str]:
    return {resolve(federation, text): text for text in texts}


Block = tuple[Ints, Ints]
"""Scenarios of one shape: a row each, of its links and of its brokers, ascending."""


def _assembled(federation: Federation, named: dict[Down, str], most: dict[str, int]) -> Scenarios:
    graph = federation.graph
    total = len(named) + sum(_count(graph, kind, k) for kind, k in _shapes(most))
    if total > MOST:
        raise UsageError(f"{total:,} failure scenarios are too many (at most {MOST:,}): ask fewer")
    # What is enumerated below has a name of its own, which says more than a group's.
    kept = [one for one in named if one == Down() or not _enumerated(one, most)]
    blocks: list[Block] = [_rows([one.links], [one.brokers]) for one in kept]
    blocks += [block for kind, k in _shapes(most) for block in _blocks(graph, kind, k)]
    return Scenarios(
        broker_names=graph.names,
        link_names=link_names(federation),
        first_link=offsets(np.concatenate([[links.shape[1]] * len(links) for links, _ in blocks])),
        link=np.concatenate([links.ravel() for links, _ in blocks]),
        first_broker=offsets(np.concatenate([[rows.shape[1]] * len(rows) for _, rows in blocks])),
        broker=np.concatenate([brokers.ravel() for _, brokers in blocks]),
        titles={k: named[one] for k, one in enumerate(kept) if named[one] and one != Down()},
    )


def _shapes(most: dict[str, int]) -> Iterator[tuple[str, int]]:
    """What is enumerated: a kind of thing and how many at once, each set only once."""
    for kind in KINDS:
        for k in range(1, most[kind] + 1):
            if kind == "any" or k > most["any"]:
                yield kind, k


def _enumerated(down: Down, most: dict[str, int]) -> bool:
    links, brokers = len(down.links), len(down.brokers)
    return (
        links + brokers <= most["any"]
        or (not brokers and links <= most["links"])
        or (not links and brokers <= most["brokers"])
    )


def _count(graph: Graph, kind: str, k: int) -> int:
    things = {"links": graph.links, "brokers": graph.brokers, "any": graph.links + graph.brokers}
    return comb(things[kind], k)


def _blocks(graph: Graph, kind: str, k: int) -> Iterator[Block]:
    shares = {"links": [k], "brokers": [0], "any": range(k, -1, -1)}
    for links in shares[kind]:
        yield _crossed(graph, links, k - links)


def _crossed(graph: Graph, links: int, brokers: int) -> Block:
    """Every set of so many links and so many brokers, but links that hang on those brokers."""
    some_links = _choices(graph.links, links)
    some_brokers = _choices(graph.brokers, brokers)
    left = np.repeat(some_links, len(some_brokers), axis=0)
    right = np.tile(some_brokers, (len(some_links), 1))
    if links and brokers:
        ends = graph.ends[left].reshape(len(left), 2 * links)
        apart = ~(ends[:, :, None] == right[:, None, :]).any(axis=(1, 2))
        left, right = left[apart], right[apart]
    return left, right


def _choices(things: int, k: int) -> Ints:
    flat = np.fromiter(chain.from_iterable(combinations(range(things), k)), np.int32)
    return flat.reshape(-1, k) if k else np.zeros((1, 0), np.int32)


def _rows(links: list[tuple[int, ...]], brokers: list[tuple[int, ...]]) -> Block:
    return np.array(links, np.int32).reshape(1, -1), np.array(brokers, np.int32).reshape(1, -1)
