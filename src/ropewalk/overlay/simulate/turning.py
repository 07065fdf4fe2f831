"""Random changes of a federation: brokers and links that join and leave."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

from ropewalk.federation.facts import Broker, Federation, Link
from ropewalk.overlay.simulate.turns import Turn


def random_turns(
    federation: Federation, count: int, *, seed: int = 1, from_us: int = 300_000, duration_us: int
) -> tuple[Turn, ...]:
    """So many changes of a federation, drawn by a seed: brokers and links join and leave.

    Nobody is cut off by one, and brokers of domains and homes of total orders stay.
    """
    draw = Random(f"turns {seed}")  # noqa: S311  (nothing here is secret)
    times = sorted(from_us + draw.randrange(duration_us) for _ in range(count))
    turns, now = [], federation
    for k, at_us in enumerate(times):
        acts = (_join, _leave, _link, _unlink)
        made = draw.choice(acts)(now, draw, k)
        now = made if made is not None else _join(now, draw, k)
        turns.append(Turn(at_us, now))
    return tuple(turns)


def _join(now: Federation, draw: Random, k: int) -> Federation:
    name = f"new{k}"
    ends = draw.sample(sorted(now.brokers), min(2, len(now.brokers)))
    links = tuple(Link(between=(one, name), latency_ms=draw.choice((1, 5, 10))) for one in ends)
    topics = {
        key: replace(topic, subscribers=(*topic.subscribers, name))
        if draw.random() < 0.5 and topic.scope != "domain"
        else topic
        for key, topic in now.topics.items()
    }
    brokers = {**now.brokers, name: Broker()}
    return replace(now, brokers=brokers, links=(*now.links, *links), topics=topics)


def _leave(now: Federation, draw: Random, k: int) -> Federation | None:
    del k
    fixed = {name for one in now.domains.values() for name in (*one.gateways, *one.edges)}
    fixed |= {topic.contract.home or "" for topic in now.topics.values()}
    for name in draw.sample(sorted(now.brokers), len(now.brokers)):
        links = tuple(link for link in now.links if name not in link.between)
        brokers = {one: broker for one, broker in now.brokers.items() if one != name}
        if name not in fixed and len(brokers) > 1 and _connected(brokers, links):
            return replace(now, brokers=brokers, links=links)
    return None


def _link(now: Federation, draw: Random, k: int) -> Federation | None:
    del k
    known = {frozenset(link.between) for link in now.links}
    for _ in range(10):
        ends = draw.sample(sorted(now.brokers), 2)
        if frozenset(ends) not in known:
            return replace(now, links=(*now.links, Link(between=(ends[0], ends[1]), latency_ms=3)))
    return None


def _unlink(now: Federation, draw: Random, k: int) -> Federation | None:
    del k
    for one in draw.sample(now.links, len(now.links)):
        links = tuple(link for link in now.links if link is not one)
        if _connected(now.brokers, links) and _whole(now, links):
            return replace(now, links=links)
    return None


def _whole(now: Federation, links: tuple[Link, ...]) -> bool:
    """Whether every domain that was connected in itself still is."""
    domains = [{*one.gateways, *one.edges} for one in now.domains.values()]
    return all(
        _connected(names, _inside(names, links)) or not _connected(names, _inside(names, now.links))
        for names in domains
    )


def _inside(names: set[str], links: tuple[Link, ...]) -> list[Link]:
    return [link for link in links if names.issuperset(link.between)]


def _connected(brokers: Iterable[str], links: Iterable[Link]) -> bool:
    left, ends = set(brokers), [link.between for link in links]
    edge = [left.pop()]
    while edge:
        here = edge.pop()
        near = {b if a == here else a for a, b in ends if here in (a, b)} & left
        left -= near
        edge += near
    return not left
