"""What an AMQP channel stands for: an exchange and a routing key, or a queue.

Topics are called as they are where RabbitMQ's own definitions are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from ropewalk.federation.readers.asyncapi.left_out import NO_EXCHANGE, LeftOut, text, texts
from ropewalk.federation.readers.asyncapi.references import References
from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.rabbitmq.naming import MQTT, carried, exchange_prefix, queue_prefix
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import shown
from ropewalk.federation.spelling import pattern_from_amqp

KEYS = ("cc", "bcc")
"""Routing keys that an operation names; RabbitMQ sends a message to each of them as well."""
_EXCHANGE = ("is", "name", "exchange", "exchange.name", "exchange.type", "exchange.vhost")
_QUEUE = ("is", "queue", "queue.name", "queue.vhost")
_BOUND = "which exchanges give to it is said by its broker's bindings, not here"
_RUN_TIME = "it is made at run time or empty: nothing says which it is"
_NO_ADDRESS = "the name of a channel is none in version 3: write address: TOPIC"
_NO_KEYS = "what goes to this channel is not told apart by its key"


@dataclass(frozen=True, slots=True)
class Route:
    """Topics below a prefix, by a routing key in AMQP's own spelling; None: all of them."""

    prefix: str
    key: str | None
    direct: bool = False
    """Whether the exchange compares keys as they are: `*` and `#` are no wildcards there."""
    space: str | None = None
    """The virtual host that the channel names, if it does."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Routing keys that operations on a channel name, and whether they are all that count."""

    named: tuple[str, ...] = ()
    alone: bool = False

    def with_own(self, key: str | None) -> tuple[str, ...]:
        """With the channel's own, where that counts."""
        own = (key,) if key and not (self.alone and self.named) else ()
        return tuple(dict.fromkeys((*own, *self.named)))


def keys_of(view: View, references: References, drafts: Drafts) -> tuple[str, ...]:
    """The routing keys in an operation's own binding; some tools write one as a text."""
    binding = references.at(references.at(view, "bindings"), "amqp")
    if binding is None:
        return ()
    found: list[str] = []
    for key in KEYS:
        is_list = isinstance(binding.value.get(key), list)
        written = texts(binding, key, drafts) if is_list else (text(binding, key, drafts),)
        found += [one for one in written if one]
    return tuple(found)


def routes(
    view: View,
    address: str | None,
    keys: Keys,
    references: References,
    left: LeftOut,
    drafts: Drafts,
) -> Sequence[Route]:
    """Where an AMQP 0-9-1 channel's messages go; none if no topic says so, which is told."""
    bindings = references.at(view, "bindings")
    binding = references.at(bindings, "amqp")
    if binding is None:
        return _plain(view, keys.with_own(address), left, drafts)
    kind = text(binding, "is", drafts) or "routingKey"
    if kind not in ("routingKey", "queue"):
        what = f"bindings.amqp.is {shown(kind)}: write routingKey or queue"
        drafts.fault(binding.place("is"), "C005", what)
        return ()
    if kind == "queue":
        return _of_queue(binding, address, keys, references, drafts)
    exchange = references.at(binding, "exchange")
    own = None if is_label(address, binding, references) else address
    key = text(binding, "name", drafts) or own
    if exchange is None:
        return _plain(view, keys.with_own(key), left, drafts)
    if _is_default(exchange):
        return _of_default(binding, exchange, key, keys, references, drafts)
    return _of_exchange(exchange, key, keys, drafts)


def is_label(address: str | None, binding: View | None, references: References) -> bool:
    """Whether an address is FastStream's name for a handler: `KEY:EXCHANGE:HANDLER`."""
    exchange = references.at(binding, "exchange")
    if exchange is None or not address:
        return False
    return f":{exchange.value.get('name') or '_'}:" in address


def _is_default(exchange: View) -> bool:
    return exchange.value.get("type") == "default" or exchange.value.get("name") == ""


def _of_default(
    binding: View,
    exchange: View,
    key: str | None,
    keys: Keys,
    references: References,
    drafts: Drafts,
) -> Sequence[Route]:
    """The default exchange's keys are names of queues."""
    queue = references.at(binding, "queue")
    name = (text(queue, "name", drafts) if queue is not None else None) or key
    space = text(exchange, "vhost", drafts)
    if keys.alone and name:
        keys = Keys()  # an application receives what its queue gets, whatever else has its key
    named = keys.with_own(name) or (None,)
    return [one for each in named if (one := _queue(each, exchange, space, drafts)) is not None]


def _of_exchange(exchange: View, key: str | None, keys: Keys, drafts: Drafts) -> Sequence[Route]:
    kind = text(exchange, "type", drafts) or "topic"
    name = text(exchange, "name", drafts)
    space = text(exchange, "vhost", drafts)
    if kind not in ("topic", "direct", "fanout", "default", "headers"):
        what = f"exchange.type {shown(kind)}: write topic, direct, fanout, default or headers"
        drafts.fault(exchange.place("type"), "C005", what)
        return ()
    if kind == "headers":
        drafts.aside(exchange.place("type"), "a headers exchange", "it does not look at keys")
        return ()
    if name is None:
        why = "it has no name: give it one"
        drafts.aside(exchange.where, "an exchange", why)
        return ()
    if kind == "fanout":
        _tell_keys(keys.named, exchange, drafts)
        return (Route(exchange_prefix(name), None, space=space),)
    found = keys.with_own(key)
    if not _is_known(found, exchange, drafts):
        return ()
    _tell_prefix(name, found, exchange, drafts)
    return [Route(exchange_prefix(name), one, kind == "direct", space) for one in found]


def _tell_prefix(name: str, keys: Sequence[str], view: View, drafts: Drafts) -> None:
    """An address like EXCHANGE/KEY is all of it the key."""
    for key in keys:
        if key.startswith(f"{name}/"):
            what = f"routing key {shown(key)} begins with its exchange's name, which is read as a "
            what += "part of it: write the key alone in bindings.amqp.name, if that is meant"
            drafts.warn(view.where, "C020", what)


def _of_queue(
    binding: View, address: str | None, keys: Keys, references: References, drafts: Drafts
) -> Sequence[Route]:
    queue = references.at(binding, "queue")
    name = (text(queue, "name", drafts) if queue is not None else None) or address
    space = text(queue, "vhost", drafts) if queue is not None else None
    _tell_keys([one for one in keys.named if one != name], binding, drafts)
    found = _queue(name, binding, space, drafts)
    return () if found is None else (found,)


def _tell_keys(keys: Sequence[str], view: View, drafts: Drafts) -> None:
    if keys:
        drafts.aside(view.where, "routing keys of an operation (cc, bcc)", _NO_KEYS)


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
    if binding is None:
        return []
    exchange = references.at(binding, "exchange")
    is_default = exchange is not None and _is_default(exchange)
    read = _QUEUE if binding.value.get("is") == "queue" else _EXCHANGE
    return [("amqp", one) for one in ((*_EXCHANGE, *_QUEUE) if is_default else read)]


def spelled(route: Route, key: str) -> str | None:
    """A routing key as a federation's topic or pattern, without its prefix."""
    if route.direct and "#" in key:
        return None
    if route.direct and "*" not in key:
        return carried("direct", key)
    return pattern_from_amqp(key)


def _plain(view: View, keys: Sequence[str], left: LeftOut, drafts: Drafts) -> Sequence[Route]:
    if not _is_known(keys, view, drafts):
        return ()
    left.add(NO_EXCHANGE, view.where)
    return [Route(exchange_prefix(MQTT), one) for one in keys]


def _is_known(keys: Sequence[str], view: View, drafts: Drafts) -> bool:
    if keys:
        return True
    drafts.aside(view.where, "a channel without an address", why_unknown(view))
    return False


def why_unknown(view: View) -> str:
    """Why a channel has no address that counts: `null` says that it is made at run time."""
    return _RUN_TIME if "address" in view.value else _NO_ADDRESS


def node(address: str | None, view: View, drafts: Drafts) -> Sequence[Route]:
    """Where an AMQP 1.0 address leads in RabbitMQ, in its old form or that of version 4.

    Version 4: `/exchanges/NAME/KEY` and `/queues/NAME`, percent-encoded; before:
    `/exchange/NAME/KEY`, `/topic/KEY`, `/queue/NAME`.
    """
    if not _is_known((address,) if address else (), view, drafts) or not address:
        return ()
    head, _, rest = address.removeprefix("/").partition("/")
    name, mark, key = rest.partition("/")
    if address.startswith("/exchanges/") and name:
        return (Route(exchange_prefix(unquote(name)), unquote(key) if mark else None),)
    if address.startswith("/exchange/") and name:
        return (Route(exchange_prefix(name), key if mark else None),)
    if address.startswith("/topic/") and rest:
        return (Route(exchange_prefix(MQTT), rest),)
    if head in ("queue", "queues") and address.startswith("/") and rest:
        found = _queue(unquote(rest) if head == "queues" else rest, view, None, drafts)
        return () if found is None else (found,)
    why = "write it as /exchanges/NAME/KEY or /queues/NAME"
    drafts.aside(view.place("address"), f"AMQP 1.0 address {shown(address)}", why)
    return ()
