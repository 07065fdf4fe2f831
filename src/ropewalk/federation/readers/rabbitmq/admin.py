"""What rabbitmqadmin calls things, in both of its versions.

The first has `declare exchange name=x`, the second groups of commands with options, such as
`federation declare_upstream --name up --uri amqp://far`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ropewalk.federation.readers.shell import Word

_SECTIONS = {
    "vhost": "vhosts",
    "exchange": "exchanges",
    "queue": "queues",
    "binding": "bindings",
    "policy": "policies",
    "operator_policy": "operator_policies",
    "parameter": "parameters",
    "global_parameter": "global_parameters",
}
_GROUPS = {**_SECTIONS, **{one: one for one in _SECTIONS.values()}, "vhost": "vhosts"}
DECLARE = "declare"
"""The verb of all commands that are read."""
_PUT, _GONE = ("declare", "set"), ("delete", "clear")
_UPSTREAM = {
    "uri": "uri",
    "exchange-name": "exchange",
    "queue-name": "queue",
    "ttl": "expires",
    **{one: one for one in ("ack-mode", "prefetch-count", "reconnect-delay", "max-hops")},
    **{one: one for one in ("message-ttl", "trust-user-id", "queue-type", "consumer-tag")},
    **{one: one for one in ("channel-use-mode", "resource-cleanup-mode")},
    "bind-using-nowait": "bind-nowait",
}
_SHOVEL = {
    **{f"source-{one}": f"src-{one}" for one in ("uri", "queue", "exchange", "address")},
    **{f"destination-{one}": f"dest-{one}" for one in ("uri", "queue", "exchange", "address")},
    "source-exchange-key": "src-exchange-key",
    "source-exchange-routing-key": "src-exchange-key",
    "destination-exchange-key": "dest-exchange-key",
    "destination-exchange-routing-key": "dest-exchange-key",
    "ack-mode": "ack-mode",
    "reconnect-delay": "reconnect-delay",
}
_PROTOCOLS = {"declare_amqp091": "amqp091", "declare_amqp10": "amqp10"}
VALUED = {f"--{one}" for one in (*_UPSTREAM, *_SHOVEL, "queue_type", "node", "file", "queue-type")}
"""Options of version 2 that have a value, besides those of entries."""
ENTRY = {
    **{one: one for one in ("name", "vhost", "type", "durable", "internal", "arguments")},
    **{one: one for one in ("source", "destination", "pattern", "definition", "priority")},
    **{one: one for one in ("component", "value", "auto_delete", "destination_type")},
    "routing_key": "routing_key",
    "routing-key": "routing_key",
    "destination-type": "destination_type",
    "auto-delete": "auto_delete",
    "apply-to": "apply-to",
    "applies-to": "apply-to",
    "apply_to": "apply-to",
    "queue_type": "type",
    "queue-type": "type",
}
"""What rabbitmqadmin calls the keys of an entry: `key=value` in version 1, `--key value` in 2."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command of rabbitmqadmin is for; `value` are the keys of a parameter."""

    section: str
    gone: bool = False
    component: str = ""
    value: Mapping[str, Word] = field(default_factory=dict)


def asked(first: str, second: str, options: Mapping[str, Word], line: int) -> Asked | None:
    """What the first two words ask for, in either order; None if it is nothing of a cluster's.

    >>> asked("policies", "declare", {}, 1), asked("delete", "queue", {}, 1).gone
    (Asked(section='policies', gone=False, component='', value={}), True)
    """
    for verb, kind in ((first, second), (second, first)):
        if verb in (*_PUT, *_GONE) and kind in _GROUPS:
            return Asked(_GROUPS[kind], gone=verb in _GONE)
    said = {key[2:]: word for key, word in options.items()}
    if first == "federation" and second.startswith(("declare_upstream", "delete_upstream")):
        value = {_UPSTREAM[key]: word for key, word in said.items() if key in _UPSTREAM}
        return Asked("parameters", second[:6] == "delete", "federation-upstream", value)
    if first in ("shovel", "shovels") and (second in _PROTOCOLS or second == "delete"):
        value = {_SHOVEL[key]: word for key, word in said.items() if key in _SHOVEL}
        protocol = Word(_PROTOCOLS.get(second, ""), line)
        value |= {"src-protocol": protocol, "dest-protocol": protocol}
        return Asked("parameters", second == "delete", "shovel", value)
    return None


def spoken(first: str, second: str) -> str:
    """A command that is not read, as it is told.

    >>> spoken("definitions", "import"), spoken("list", "queues"), spoken("policies", "patch")
    ('import', 'list', 'policies patch')
    """
    if first == "definitions" and second.startswith("import"):
        return "import"
    grouped = first in (*_GROUPS, "declare", "delete", "federation", "shovel", "shovels")
    return f"{first} {second}".strip() if grouped else first
