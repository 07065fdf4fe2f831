"""Exchanges, queues and routing keys as topics: what exchange X has under `a.b` is topic `X/a/b`.

Of `amq.topic` it is `a/b`, as MQTT clients of RabbitMQ see it; what goes straight into queue Q is
below `queue/Q`.
"""

import re

from ropewalk.federation.showing import may_hold_secret
from ropewalk.federation.spelling import from_amqp, pattern_from_amqp
from ropewalk.federation.topics import is_pattern

MQTT = "amq.topic"
BUILT_IN = {
    "amq.direct": "direct",
    "amq.fanout": "fanout",
    "amq.headers": "headers",
    "amq.match": "headers",
    "amq.topic": "topic",
}
"""Exchanges that every virtual host has and no export lists. The default exchange, internal ones
and amq.rabbitmq.trace are never federated."""
VARIABLE = re.compile(r"\$[{(]|\{\{|\{%|<%")
"""What a template or a shell fills in."""
LINKS = "federation: "
"""What names begin with that upstream brokers' own links have given to exchanges and queues."""
_WILD = {"+": "%2B", "#": "%23"}


def exchange_prefix(exchange: str) -> str:
    """What stands before the topics of an exchange.

    >>> exchange_prefix("orders"), exchange_prefix("amq.topic"), exchange_prefix("a/#")
    ('orders/', '', 'a/%23/')
    """
    return "" if exchange == MQTT else f"{_levels(exchange)}/"


def queue_prefix(queue: str) -> str:
    """What stands before the topics that go straight into a queue."""
    return f"queue/{_levels(queue)}/"


def _levels(name: str) -> str:
    return "/".join(_WILD.get(one, one) for one in name.split("/"))


def carried(kind: str, key: str) -> str | None:
    """The pattern of what an exchange of a type gives to a binding key; None if there is none.

    >>> carried("topic", "a.#"), carried("direct", "a.b"), carried("fanout", "x")
    ('a/#', 'a/b', '#')
    """
    if kind == "topic":
        return pattern_from_amqp(key)
    if kind == "direct":
        topic = from_amqp(key)
        return None if topic is None or is_pattern(topic) else topic
    return "#"


def safe(name: str) -> str:
    """A name as drafts may have it: what looks like a user or password does not leave the file."""
    secret = may_hold_secret(name) or name.startswith("encrypted:")
    return "withheld" if secret else name
