"""Topics that nobody stated: what bridges carry, from whoever may send it to whoever gets it."""

from collections.abc import Iterable, Iterator, Mapping

from ropewalk.federation.bridges import Bridge
from ropewalk.federation.contracts import Contract
from ropewalk.federation.facts import Topic
from ropewalk.federation.readers.drafts import BrokerDraft

NO_PROMISE = Contract(delivery="best-effort")
"""Nobody promised anything of a topic that nobody stated."""
CARRIERS = ("bridge", "shovel", "leaf", "federation")


def assumed(bridges: Iterable[Bridge], known: Iterable[str]) -> dict[str, Topic]:
    """Topics by what bridges carry, without those that are known already."""
    ends: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    written: dict[str, str] = {}
    known = set(known)
    for bridge in bridges:
        if bridge.kind not in CARRIERS:
            continue
        for near, far, topics in _sides(bridge):
            for sent, got in topics:
                # Who gets it under another name is a subscriber of the first name as well.
                for name, broker, role in ((sent, near, 0), (sent, far, 1), (got, far, 1)):
                    if name not in known:
                        ends.setdefault(name, ({}, {}))[role][broker] = None
                        written.setdefault(name, bridge.written.get("entry", ""))
    return {
        name: Topic(
            publishers=tuple(publishers),
            subscribers=tuple(subscribers),
            assumed=True,
            contract=NO_PROMISE,
            written={"entry": written[name]} if written[name] else {},
        )
        for name, (publishers, subscribers) in ends.items()
    }


def apart(brokers: Mapping[str, BrokerDraft]) -> dict[str, Topic]:
    """Of brokers that nothing joins: nobody said that one wants what is sent at another."""
    where = next(iter(brokers.values())).where
    return {
        "#": Topic(
            publishers=tuple(brokers),
            assumed=True,
            contract=NO_PROMISE,
            written={"entry": f"{where.file}:{where.line}"},
        )
    }


def _sides(bridge: Bridge) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Sender, receiver and the names of what is carried at each of them."""
    local, remote = bridge.prefixes.local, bridge.prefixes.remote
    names = [(_joined(local, one), _joined(remote, one)) for one in bridge.patterns]
    if bridge.direction in ("out", "both"):
        yield bridge.from_, bridge.to, names
    if bridge.direction in ("in", "both"):
        yield bridge.to, bridge.from_, [(far, near) for near, far in names]


def _joined(prefix: str, pattern: str) -> str:
    """A prefix and a pattern as one pattern: a prefix may end within a level."""
    if pattern in ("#", "+") and prefix and not prefix.endswith("/"):
        return prefix  # what follows within the level cannot be said: the prefix stands for it
    return prefix + pattern
