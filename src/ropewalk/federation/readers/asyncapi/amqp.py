"""What an AMQP channel stands for: an exchange and a routing key, or a queue.

Topics are called as they are where RabbitMQ's own definitions are read.
"""

from dataclasses import dataclass
from urllib.parse import unquote

from ropewalk.federation.readers.asyncapi.left_out import NO_EXCHANGE, LeftOut, text
from ropewalk.federation.readers.asyncapi.references import References
from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.rabbitmq.naming import MQTT, carried, exchange_prefix, queue_prefix
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import shown
from ropewalk.federation.spelling import pattern_from_amqp

_READ = ("is", "name", "exchange", "exchange.name", "exchange.type", "exchange.vhost")
_READ_OF_QUEUE = ("is", "queue", "queue.name", "queue.vhost")
_BOUND = "which exchanges give to it is said by its broker's bindings, not here"
_RUN_TIME = "it is made at run time or empty: nothing says which it is"


@dataclass(frozen=True, slots=True)
class Route:
    """Topics below a prefix, by a routing key in AMQP's own spelling; None: all of them."""

    prefix: str
    key: str | None
    direct: bool = False
    """Whether the exchange compares keys as they are: `*` and `#` are no wildcards there."""
    space: str | None = None
    """The virtual host that the channel names, if it does."""


def route(
    view: View, address: str | None, references: References, left: LeftOut, drafts: Drafts
) -> Route | None:
    """Where an AMQP 0-9-1 channel's messages go; None if no topic says so, which is told."""
    bindings = references.at(view, "bindings")
    binding = references.at(bindings, "amqp")
    if binding is None:
        return _plain(view, address, left, drafts)
    kind = text(binding, "is", drafts) or "routingKey"
    if kind not in ("routingKey", "queue"):
        what = f"bindings.amqp.is {shown(kind)}: write routingKey or queue"
        drafts.fault(binding.place("is"), "C005", what)
        return None
    if kind == "queue":
        return _of_queue(binding, address, references, drafts)
    exchange = references.at(binding, "exchange")
    key = text(binding, "name", drafts) or address
    if exchange is None:
        return _plain(view, key, left, drafts)
    return _of_exchange(exchange, key, drafts)


def _of_exchange(exchange: View, key: str | None, drafts: Drafts) -> Route | None:
    kind = text(exchange, "type", drafts) or "topic"
    name = text(exchange, "name", drafts)
    space = text(exchange, "vhost", drafts)
    if kind not in ("topic", "direct", "fanout", "default", "headers"):
        what = f"exchange.type {shown(kind)}: write topic, direct, fanout, default or headers"
        drafts.fault(exchange.place("type"), "C005", what)
        return None
    if kind == "default" or name == "":
        return _queue(key, exchange, space, drafts)
    if kind == "headers":
        drafts.aside(exchange.place("type"), "a headers exchange", "it does not look at keys")
        return None
    if name is None:
        why = "it has no name: give it one"
        drafts.aside(exchange.where, "an exchange", why)
        return None
    if kind == "fanout":
        return Route(exchange_prefix(name), None, space=space)
    if not _is_known(key, exchange, drafts):
        return None
    return Route(exchange_prefix(name), key, kind == "direct", space)


def _of_queue(
    binding: View, address: str | None, references: References, drafts: Drafts
) -> Route | None:
    queue = references.at(binding, "queue")
    if queue is None:
        return _queue(address, binding, None, drafts)
    name = text(queue, "name", drafts) or address
    return _queue(name, binding, text(queue, "vhost", drafts), drafts)


def _queue(name: str | None, view: View, space: str | None, drafts: Drafts) -> Route | None:
    """What goes straight into a queue."""
    if not name or "{" in name:
        drafts.aside(view.where, "a queue without a name", _RUN_TIME)
        return None
    drafts.aside(view.where, f"what exchanges give to queue {shown(name)}", _BOUND)
    return Route(queue_prefix(name), None, space=space)


def fields_read(view: View, references: References) -> list[tuple[str, str]]:
    """Which fields of a channel's bindings say where its messages go."""
    binding = references.at(references.at(view, "bindings"), "amqp")
    is_queue = binding is not None and binding.value.get("is") == "queue"
    return [("amqp", one) for one in (_READ_OF_QUEUE if is_queue else _READ)]


def spelled(route: Route, key: str) -> str | None:
    """A routing key as a federation's topic or pattern, without its prefix."""
    if route.direct and "*" not in key and "#" not in key:
        return carried("direct", key)
    return pattern_from_amqp(key)


def _plain(view: View, key: str | None, left: LeftOut, drafts: Drafts) -> Route | None:
    if not _is_known(key, view, drafts):
        return None
    left.add(NO_EXCHANGE, view.where)
    return Route(exchange_prefix(MQTT), key)


def _is_known(key: str | None, view: View, drafts: Drafts) -> bool:
    if key:
        return True
    drafts.aside(view.where, "a channel without an address", _RUN_TIME)
    return False


def node(address: str, view: View, drafts: Drafts) -> Route | None:
    """Where an AMQP 1.0 address leads in RabbitMQ, in its old form or that of version 4.

    Version 4: `/exchanges/NAME/KEY` and `/queues/NAME`, percent-encoded; before:
    `/exchange/NAME/KEY`, `/topic/KEY`, `/queue/NAME`.
    """
    head, _, rest = address.removeprefix("/").partition("/")
    name, mark, key = rest.partition("/")
    if address.startswith("/exchanges/") and name:
        return Route(exchange_prefix(unquote(name)), unquote(key) if mark else None)
    if address.startswith("/exchange/") and name:
        return Route(exchange_prefix(name), key if mark else None)
    if address.startswith("/topic/") and rest:
        return Route(exchange_prefix(MQTT), rest)
    if head in ("queue", "queues") and address.startswith("/") and rest:
        return _queue(unquote(rest) if head == "queues" else rest, view, None, drafts)
    why = "write it as /exchanges/NAME/KEY or /queues/NAME"
    drafts.aside(view.place("address"), f"AMQP 1.0 address {shown(address)}", why)
    return None
