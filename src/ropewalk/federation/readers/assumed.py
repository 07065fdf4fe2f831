"""Topics that nobody stated: what bridges carry, from whoever may send it to whoever gets it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ropewalk.federation.bridges import Bridge
from ropewalk.federation.carried import carried
from ropewalk.federation.contracts import Contract
from ropewalk.federation.facts import Topic
from ropewalk.federation.readers.drafts import BrokerDraft

NO_PROMISE = Contract(delivery="best-effort")
"""Nobody promised anything of a topic that nobody stated."""


def with_assumed(topics: Mapping[str, Topic], bridges: Iterable[Bridge]) -> dict[str, Topic]:
    """All topics: those given, and what bridges carry. Who states a topic states its ends."""
    found = dict(topics)
    for name, ends in carried(bridges).items():
        known = found.get(name)
        if known is not None and not known.assumed:
            continue
        if known is None:
            written = {"entry": ends.entry} if ends.entry else {}
            known = Topic(assumed=True, contract=NO_PROMISE, written=written)
        found[name] = replace(
            known,
            publishers=tuple(dict.fromkeys((*known.publishers, *ends.publishers))),
            subscribers=tuple(dict.fromkeys((*known.subscribers, *ends.subscribers))),
        )
    return found


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
