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
_UNFIT = re.compile(r"[+#\x00-\x1f\x7f-\x9f]|(?<![^/])\*(?![^/])|%(?=[0-9A-F]{2})")
"""What a name may have and a topic may not, and what would look like one of these."""
_FITTED = re.compile(r"%([01][0-9A-F]|2[35AB]|7F|[89][0-9A-F])")
_WITHIN = re.compile(r"[^/][+#]|[+#][^/]|[\x00-\x1f\x7f-\x9f]")
"""What a pattern may not have: a sign of patterns that does not stand alone in its level."""


def exchange_prefix(exchange: str) -> str:
    """What stands before the topics of an exchange.

    >>> exchange_prefix("orders"), exchange_prefix("amq.topic"), exchange_prefix("Shop+Paid")
    ('orders/', '', 'Shop%2BPaid/')
    """
    return "" if exchange == MQTT else f"{_fit(exchange)}/"


def queue_prefix(queue: str) -> str:
    """What stands before the topics that go straight into a queue."""
    return f"queue/{_fit(queue)}/"


def _fit(name: str) -> str:
    return _UNFIT.sub(lambda found: f"%{ord(found[0]):02X}", name)


def unfit(name: str) -> str:
    """The name of an exchange or queue as it was before it became a part of a topic.

    >>> unfit("Shop%2BPaid"), unfit(exchange_prefix("50%25 off")), unfit("a%20b")
    ('Shop+Paid', '50%25 off/', 'a%20b')
    """
    return _FITTED.sub(lambda found: chr(int(found[1], 16)), name)


def carried(kind: str, key: str) -> str | None:
    """The pattern of what an exchange of a type gives to a binding key; None if there is none.

    >>> carried("topic", "a.#"), carried("direct", "a.b"), carried("fanout", "x")
    ('a/#', 'a/b', '#')
    """
    if kind not in ("topic", "direct"):
        return "#"
    found = pattern_from_amqp(key) if kind == "topic" else from_amqp(key)
    if found is None or _WITHIN.search(found) or (kind == "direct" and is_pattern(found)):
        return None
    return found


def taken_as(kind: str, key: str) -> str | None:
    """The binding key whose pattern stands for this one, if that lets more through.

    >>> taken_as("topic", "a.#.b"), taken_as("topic", "a.#"), taken_as("direct", "#.b")
    ('a.#', None, None)
    """
    words = key.split(".")
    if kind != "topic" or "#" not in words:
        return None
    end = words.index("#") + 1
    return ".".join(words[:end]) if set(words[end:]) - {"#"} else None


def safe(name: str) -> str:
    """A name as drafts may have it: what looks like a user or password does not leave the file."""
    secret = may_hold_secret(name) or name.startswith("encrypted:")
    return "withheld" if secret else name
