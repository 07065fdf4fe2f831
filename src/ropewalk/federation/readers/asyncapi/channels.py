"""Channels of a document: which topics they are, on which of its servers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ropewalk.federation.names import topic_fault
from ropewalk.federation.readers.asyncapi import amqp
from ropewalk.federation.readers.asyncapi.left_out import ANY, ELSEWHERE, LeftOut, text, texts
from ropewalk.federation.readers.asyncapi.references import PARSED, References, is_parsed
from ropewalk.federation.readers.asyncapi.servers import Server, Servers, Style
from ropewalk.federation.readers.asyncapi.templates import filled, holes, patterned, too_many
from ropewalk.federation.readers.drafts import Address, Drafts
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label, shown
from ropewalk.federation.spelling import pattern_from_nats
from ropewalk.findings import Where

Topics = dict[str, tuple[Address, ...]]
"""Names of topics in the federation's spelling, and where each is one."""
Action = Literal["send", "receive"]
HINTS_2 = {"address": "it is version 3's: the name of the channel is its address here"}
_OPERATIONS = "it is version 2's: write operations with action: send or receive"
HINTS_3 = {"publish": _OPERATIONS, "subscribe": _OPERATIONS}
Choices = dict[str, tuple[str, ...]]
"""What each parameter of an address may be, where that is listed."""
MOST = 64
"""An address becomes at most this many topics: beyond, a parameter is a wildcard."""
NAMES_IN_BINDINGS: dict[Style, str] = {"mqtt": "topic", "nats": "subject"}
"""Where FastStream writes the topic: the addresses in its documents only name its handlers."""


@dataclass(slots=True)
class Channel:
    """A channel, and what the application does there: the routing keys of each of its operations.

    `topics` are those of what it does; of a channel that nobody uses, those that it stands for.
    """

    name: str
    where: Where
    view: View
    address: str | None
    choices: Choices
    servers: tuple[Server, ...]
    uses: dict[Action, tuple[str, ...]] = field(default_factory=dict)
    qos: dict[Action, int] = field(default_factory=dict)
    """MQTT's quality of service, where an operation states it."""
    topics: dict[Action | None, Topics] = field(default_factory=dict)

    def use(self, action: Action, keys: Sequence[str] = (), qos: int | None = None) -> None:
        """Note an operation on it."""
        self.uses[action] = tuple(dict.fromkeys((*self.uses.get(action, ()), *keys)))
        if qos is not None:
            self.qos[action] = max(qos, self.qos.get(action, 0))


class Channels:
    """Channels read, each once, by the place where it is described and its address."""

    def __init__(
        self,
        references: References,
        servers: Servers,
        left: LeftOut,
        drafts: Drafts,
        version: int,
        said: Server | None = None,
    ) -> None:
        self._references, self._servers, self._left = references, servers, left
        self._drafts, self._version, self._said = drafts, version, said
        self.all: dict[tuple[str, tuple[str | int, ...], str], Channel] = {}

    def read(self, name: str, view: View, root: View, where: Where | None = None) -> Channel:
        """The channel that stands there. In version 2, its name is its address, at `where`."""
        place = (view.file, view.path, name if self._version == 2 else "")
        if place not in self.all:
            at = where or (view.place("address") if view.has("address") else view.where)
            self.all[place] = self._channel(name, view, root, at)
        return self.all[place]

    def _channel(self, name: str, view: View, root: View, at: Where) -> Channel:
        is_2 = self._version == 2
        read = ("servers", "parameters", "bindings")
        own = ("publish", "subscribe") if is_2 else ("address",)
        hints = HINTS_2 if is_2 else HINTS_3
        self._left.rest(view, (*read, *own), (*ANY, "messages"), hints)
        address = name if is_2 else text(view, "address", self._drafts)
        servers = self._servers_of(view, root)
        choices = self._parameters(view, address)
        kept = tuple(one for one in servers if one.style is not None)
        if servers and not kept:
            self._left.add(ELSEWHERE, at)
        styles = {one.style for one in kept}
        used = amqp.fields_read(view, self._references) if "amqp" in styles else []
        used += [(style, key) for style, key in NAMES_IN_BINDINGS.items() if style in styles]
        self._left.bindings(view, self._references, used)
        if not is_2 and view.has("address") and address is None:
            kept = ()  # what is written there is no address, which was told
        return Channel(name, at, view, address, choices, kept)

    def is_labelled(self, channel: Channel) -> bool:
        """Whether its address is FastStream's name for a handler, with the topic in a binding."""
        bindings = self._references.at(channel.view, "bindings")
        if amqp.is_label(channel.address, self._references.at(bindings, "amqp"), self._references):
            return True
        for style in NAMES_IN_BINDINGS:
            bound = (self._bound(channel.view, style) or "") if bindings else ""
            if bound and (channel.address or "").startswith(f"{bound}:"):
                return True
        return False

    def find_topics(self) -> None:
        """The topics of every channel, when all that is done on them is known."""
        for channel in self.all.values():
            known: dict[amqp.Keys, Topics] = {}
            actions: list[Action | None] = [*channel.uses] or [None]
            for action in actions:
                named = channel.uses[action] if action is not None else ()
                keys = amqp.Keys(named, alone=bool(named) and action == "receive")
                if keys not in known:
                    known[keys] = self._topics(channel, keys)
                channel.topics[action] = known[keys]

    def _topics(self, channel: Channel, keys: amqp.Keys) -> Topics:
        found: Topics = {}
        for style in dict.fromkeys(one.style for one in channel.servers if one.style):
            fits = [one for one in channel.servers if one.style == style]
            ends = [one for server in fits for one in server.addresses]
            for topic, space in self._names(style, channel, keys):
                placed = [self._in_space(end, space, channel.where) for end in ends]
                found[topic] = tuple(dict.fromkeys((*found.get(topic, ()), *placed)))
        return found

    def _servers_of(self, view: View, root: View) -> list[Server]:
        """Those that the channel lists, or all of the document's, or the one the user says."""
        section = self._references.at(root, "servers")
        listed = view.value.get("servers")
        if not listed and self._said is not None:
            return [self._said]
        if not listed:
            names = section.value if section is not None else ()
            return [one for name in names if (one := self._named(name, section)) is not None]
        if not isinstance(listed, list):
            what = "servers of a channel is not a list: write one of $refs"
            self._drafts.fault(view.place("servers"), "C005", what)
            return []
        found = [self._listed(view, i, one, section) for i, one in enumerate(listed)]
        return [one for one in found if one is not None]

    def _listed(self, view: View, i: int, one: object, section: View | None) -> Server | None:
        """One of a channel's servers: a reference, in version 2 a name."""
        if isinstance(one, str) and section is not None and one in section.value:
            return self._named(one, section)
        if isinstance(one, dict):
            found = self._references.at(view, "servers", i)
            name = str(found.path[-1]) if found is not None and found.path else ""
            return self._servers.read(name, found) if found is not None else None
        what = f"{shown(one)} is no server of this document: write one that stands in servers"
        what = PARSED if is_parsed(one) else what
        self._drafts.fault(view.place("servers", i), "C005", what)
        return None

    def _named(self, name: str, section: View | None) -> Server | None:
        view = self._references.at(section, name)
        return self._servers.read(name, view) if view is not None else None

    def _parameters(self, view: View, address: str | None) -> Choices:
        """What each parameter may be, where the document lists that."""
        section = self._references.at(view, "parameters")
        found: Choices = {}
        for name, where, one in self._references.entries(section):
            found[name] = self._values(one)
            if address is not None and name not in holes(address):
                why = f"the address has no {{{label(name)}}} in it"
                self._drafts.aside(where, f"parameter {label(name)}", why)
        return found

    def _values(self, one: View) -> tuple[str, ...]:
        """Version 3 lists them in the parameter, version 2 in its schema."""
        schema = self._references.at(one, "schema") if self._version == 2 else None
        read = ("enum", "default", "location", "schema" if self._version == 2 else "enum")
        self._left.rest(one, read, (*ANY, "examples"))
        return texts(schema if schema is not None else one, "enum", self._drafts)

    def _names(
        self, style: Style, channel: Channel, keys: amqp.Keys
    ) -> list[tuple[str, str | None]]:
        """The channel's topics at brokers of a style, each with its virtual host if it has one."""
        if style in ("amqp", "amqp1"):
            return [
                (topic, route.space)
                for route in self._routes(style, channel, keys)
                for topic in self._routed(route, style, channel)
            ]
        bound = self._bound(channel.view, style)
        written = channel.address if bound is None else bound
        if written:
            return [(one, None) for one in self._filled(written, style, None, channel)]
        why = amqp.why_unknown(channel.view)
        self._drafts.aside(channel.where, "a channel without an address", why)
        return []

    def _bound(self, view: View, style: Style) -> str | None:
        """The topic that the channel's bindings name."""
        binding = self._references.at(self._references.at(view, "bindings"), style)
        return text(binding, NAMES_IN_BINDINGS[style], self._drafts) if binding else None

    def _routes(self, style: Style, channel: Channel, keys: amqp.Keys) -> Sequence[amqp.Route]:
        view, address = channel.view, channel.address
        if style == "amqp":
            return amqp.routes(view, address, keys, self._references, self._left, self._drafts)
        return amqp.node(address, view, self._drafts)

    def _routed(self, route: amqp.Route, style: Style, channel: Channel) -> Sequence[str]:
        if route.key is not None:
            return self._filled(route.key, style, route, channel)
        whole = self._checked(f"{route.prefix}#", style, channel.where)
        return [] if whole is None else [whole]

    def _filled(
        self, written: str, style: Style, route: amqp.Route | None, channel: Channel
    ) -> Sequence[str]:
        choices, at = channel.choices, channel.where
        while many := too_many(written, choices, MOST):
            what = f"the {len(choices[many])} values of parameter {label(many)}"
            why = f"with them the address is more than {MOST} topics: read as any value"
            self._drafts.aside(channel.view.place("parameters", many), what, why)
            choices = {**choices, many: ()}
        spelled = (self._spelled(one, style, route, at) for one in filled(written, choices))
        return [one for one in spelled if one is not None]

    def _spelled(
        self, address: str, style: Style, route: amqp.Route | None, at: Where
    ) -> str | None:
        """An address of one make as the federation's name or pattern."""
        if style == "mqtt" and address.startswith("$share/"):
            why = "the subscribers of a group are not told apart"
            self._drafts.aside(at, "a shared subscription's group", why)
            address = address.split("/", 2)[2] if address.count("/") > 1 else ""
        separator, wild = ("/", "+") if style == "mqtt" else (".", "*")
        written, wide = patterned(address, separator, wild)
        if wide and style != "mqtt" and "/" in address:
            why = "levels have dots between them, and a parameter in one is read as all of it: "
            self._drafts.aside(at, f"address {shown(address)}", f"{why}write dots for its /")
            return None
        if wide:
            why = "a wildcard stands for a whole level: read as one"
            self._drafts.aside(at, "a parameter that is only a part of its level", why)
        if style == "amqp" and "/" in address and "." not in address:
            what = f"address {shown(address)} is one word of a routing key"
            advice = "write dots between words, or the key in bindings.amqp.name"
            self._drafts.warn(at, "C020", f"{what}: {advice}")
        topic = self._topic(written, style, route)
        if topic is None:
            why = "no topic of a federation is spelled like this, with dots between its levels"
            if style == "nats" and "/" in address:
                why = "NATS has dots between levels, and this is one word: write dots for its /"
            self._drafts.aside(at, f"address {shown(address)}", why)
            return None
        return self._checked(topic, style, at)

    def _topic(self, written: str, style: Style, route: amqp.Route | None) -> str | None:
        if route is not None:
            topic = amqp.spelled(route, written)
            return None if topic is None else route.prefix + topic
        return pattern_from_nats(written) if style == "nats" else written

    def _checked(self, topic: str, style: Style, at: Where) -> str | None:
        """A topic, or None: what MQTT has not is wrong there, but other makes may have it."""
        advice = topic_fault(topic)
        if advice and style == "mqtt":
            self._drafts.fault(at, "C005", f"address {shown(topic)} is no topic: {advice}")
        elif advice:
            why = f"no topic of a federation is spelled like this: {advice}"
            self._drafts.aside(at, f"address {shown(topic)}", why)
        return None if advice else topic

    def _in_space(self, end: Address, space: str | None, at: Where) -> Address:
        """An address in the virtual host that a channel names, if the server names none."""
        wanted = "" if space == "/" else space
        if wanted is None or end.space in (wanted, wanted.removeprefix("/")):
            return end
        if end.space and not wanted:  # what generators write for any
            why = "a connection has one, and that is its server's"
            self._drafts.aside(at, "virtual host / of a channel", why)
            return end
        if end.space:
            what = f"this channel is of virtual host {shown(space)}, its server of "
            what += f"{shown(end.space)}: a connection has one, and that is the server's"
            self._drafts.warn(at, "C020", f"{what}: write the same in both")
            return end
        return replace(end, space=wanted)
