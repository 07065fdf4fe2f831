"""Protocols that topics follow: can clients keep to them over what carries the topics?

Agents put a messenger at each end where messages are in custody and links carry them. Elsewhere
there is nothing but the order that the contract promises.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from ropewalk.federation.facts import Federation, Topic
from ropewalk.findings import Finding, Where
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.realize.verdict import Transport, realizability
from ropewalk.verify.contracts.promised import Promised, Served, some

CUSTODY = ("at-least-once", "exactly-once")
MILD = ("P024", "P025")
"""Nothing illegal is said: a warning will do."""


def protocol_findings(
    federation: Federation, protocols: Mapping[str, Automaton]
) -> Iterator[Finding]:
    """What is wrong with protocols, each over what carries its topics."""
    bridged = {one.name: one for one in Promised(federation).by_bridges}
    for name, one in protocols.items():
        topics = {
            topic: facts for topic, facts in federation.topics.items() if facts.protocol == name
        }
        if not topics or len(one.roles) < 2:
            continue
        transport = _transport(topics, bridged)
        for finding in realizability(one).findings(transport):
            yield _told(finding, list(topics))
        yield from _unkept(federation, name, topics, bridged)


def _transport(topics: Mapping[str, Topic], bridged: Collection[str]) -> Transport:
    """The least that all of them have."""
    if all(_in_custody(one) and name not in bridged for name, one in topics.items()):
        return "messenger"
    return "unordered" if any(one.contract.order == "none" for one in topics.values()) else "fifo"


def _in_custody(topic: Topic) -> bool:
    return topic.contract.delivery in CUSTODY or topic.contract.order == "total"


def _told(finding: Finding, topics: list[str]) -> Finding:
    more = f" and {len(topics) - 1} more" if len(topics) > 1 else ""
    severity = "warning" if finding.code in MILD else finding.severity
    message = f"{finding.message} (topic {topics[0]}{more})"
    return replace(finding, message=message, severity=severity)


def _unkept(
    federation: Federation, name: str, topics: Mapping[str, Topic], bridged: Mapping[str, Served]
) -> Iterator[Finding]:
    """Topics on which agents do not judge conversations: a lost message would stop them."""
    numbers = {topic: i for i, topic in enumerate(federation.topics)}
    for topic, facts in topics.items():
        if topic in bridged:
            told = f"and bridges carry it to {some(bridged[topic].readers)}"
            why = "agents judge none of its messages there: let links carry it"
        elif not _in_custody(facts):
            told = f"and promises only {facts.contract.delivery}"
            why = "agents label its messages and judge none: write delivery: at-least-once"
        else:
            continue
        where: Where = federation.where("topics", numbers[topic])
        yield Finding("P026", f"topic {topic} follows {name} {told}: {why}", where, "note")
