"""Protocols that topics follow: can clients keep to them over what carries the topics?

Agents put a messenger at each end where messages are in custody. Without custody there is nothing
but the order that the contract promises.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ropewalk.federation.facts import Federation, Topic
from ropewalk.findings import Finding, Where
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.realize.verdict import Transport, realizability

CUSTODY = ("at-least-once", "exactly-once")
MILD = ("P024", "P025")
"""Nothing illegal is said: a warning will do."""


def protocol_findings(
    federation: Federation, protocols: Mapping[str, Automaton]
) -> Iterator[Finding]:
    """What is wrong with protocols, each over what carries its topics."""
    for name, one in protocols.items():
        topics = {
            topic: facts for topic, facts in federation.topics.items() if facts.protocol == name
        }
        if not topics or len(one.roles) < 2:
            continue
        transport = _transport(list(topics.values()))
        for finding in realizability(one).findings(transport):
            yield _told(finding, list(topics))
        yield from _unkept(federation, name, topics)


def _transport(topics: list[Topic]) -> Transport:
    """The least that all of them have."""
    if all(one.contract.delivery in CUSTODY or one.contract.order == "total" for one in topics):
        return "messenger"
    return "unordered" if any(one.contract.order == "none" for one in topics) else "fifo"


def _told(finding: Finding, topics: list[str]) -> Finding:
    more = f" and {len(topics) - 1} more" if len(topics) > 1 else ""
    severity = "warning" if finding.code in MILD else finding.severity
    message = f"{finding.message} (topic {topics[0]}{more})"
    return replace(finding, message=message, severity=severity)


def _unkept(federation: Federation, name: str, topics: Mapping[str, Topic]) -> Iterator[Finding]:
    """Topics on which agents do not judge conversations: a lost message would stop them."""
    numbers = {topic: i for i, topic in enumerate(federation.topics)}
    for topic, facts in topics.items():
        if facts.contract.delivery not in CUSTODY and facts.contract.order != "total":
            where: Where = federation.source.where("topics", numbers[topic])
            told = f"topic {topic} follows {name} and promises only {facts.contract.delivery}"
            why = "agents label its messages and judge none: write delivery: at-least-once"
            yield Finding("P026", f"{told}: {why}", where, "note")
