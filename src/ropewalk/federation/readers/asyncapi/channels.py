"""Channels of a document: which topics they are, on which of its servers."""

from dataclasses import dataclass, replace

from ropewalk.federation.names import topic_fault
from ropewalk.federation.readers.asyncapi import amqp
from ropewalk.federation.readers.asyncapi.left_out import ANY, ELSEWHERE, LeftOut, text, texts
from ropewalk.federation.readers.asyncapi.references import References
from ropewalk.federation.readers.asyncapi.servers import Server, Servers, Style
from ropewalk.federation.readers.asyncapi.templates import filled, holes, levels, too_many
from ropewalk.federation.readers.drafts import Address, Drafts
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label, shown
from ropewalk.federation.spelling import pattern_from_nats
from ropewalk.findings import Where

Topics = dict[str, tuple[Address, ...]]
"""Names of topics in the federation's spelling, and where each is one."""


@dataclass(slots=True)
class Channel:
    """A channel: its topics, and whether the application sends or receives there."""

    name: str
    where: Where
    topics: Topics
    sends: bool = False
    receives: bool = False


class Channels:
    """Channels read, each once, by the place where it is described and its address."""

    def __init__(
        self, references: References, servers: Servers, left: LeftOut, drafts: Drafts, version: int
    ) -> None:
        self._references, self._servers, self._left = references, servers, left
        self._drafts, self._version = drafts, version
        self.all: dict[tuple[str, tuple[str | int, ...], str], Channel] = {}

    def read(self, name: str, view: View, root: View, where: Where | None = None) -> Channel:
        """The channel that stands there. In version 2, its name is its address, at `where`."""
        place = (view.file, view.path, name if self._version == 2 else "")
        if place not in self.all:
            at = where or (view.place("address") if view.has("address") else view.where)
            channel = Channel(name, at, {})
            self.all[place] = channel
            channel.topics = self._topics(name, view, root, at)
        return self.all[place]

    def _topics(self, name: str, view: View, root: View, at: Where) -> Topics:
        read = ["address", "servers", "parameters", "bindings"]
        if self._version == 2:
            read += ["publish", "subscribe"]
        self._left.rest(view, read, (*ANY, "messages"))
        address = name if self._version == 2 else text(view, "address", self._drafts)
        servers = self._servers_of(view, root)
        choices = self._parameters(view, address)
        if view.value.get("address") is not None and address is None:
            return {}
        kept = [one for one in servers if one.style is not None]
        if servers and not kept:
            self._left.add(ELSEWHERE, at)
        found: Topics = {}
        styles = dict.fromkeys(one.style for one in kept if one.style)
        for style in styles:
            ends = [one for server in kept if server.style == style for one in server.addresses]
            for topic, space in self._names(style, address, choices, view, at):
                placed = [self._in_space(end, space, at) for end in ends]
                found[topic] = tuple(dict.fromkeys((*found.get(topic, ()), *placed)))
        used = amqp.fields_read(view, self._references) if "amqp" in styles else ()
        self._left.bindings(view, self._references, used)
        return found

    def _servers_of(self, view: View, root: View) -> list[Server]:
        """Those that the channel lists, or all of the document's."""
        section = self._references.at(root, "servers")
        listed = view.value.get("servers")
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
        self._drafts.fault(view.place("servers", i), "C005", what)
        return None

    def _named(self, name: str, section: View | None) -> Server | None:
        view = self._references.at(section, name)
        return self._servers.read(name, view) if view is not None else None

    def _parameters(self, view: View, address: str | None) -> dict[str, tuple[str, ...]]:
        """What each parameter may be, where the document lists that."""
        section = self._references.at(view, "parameters")
        found: dict[str, tuple[str, ...]] = {}
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
        self,
        style: Style,
        address: str | None,
        choices: dict[str, tuple[str, ...]],
        view: View,
        at: Where,
    ) -> list[tuple[str, str | None]]:
        """The channel's topics at brokers of a style, each with its virtual host if it has one."""
        route = None
        if style == "amqp":
            route = amqp.route(view, address, self._references, self._left, self._drafts)
            written = route.key if route else None
        else:
            written = address
        if style == "amqp1" and address:
            route = amqp.node(address, view, self._drafts)
            written = route.key if route else None
        if style in ("amqp", "amqp1") and route is None and (address or style == "amqp"):
            return []
        if route is not None and route.key is None:
            whole = self._checked(f"{route.prefix}#", at)
            return [] if whole is None else [(whole, route.space)]
        if not written:
            why = "it is made at run time or empty: nothing says which topic it is"
            self._drafts.aside(at, "a channel without an address", why)
            return []
        while many := too_many(written, choices):
            why = "there are too many of them: read as any value"
            self._drafts.aside(at, f"values of parameter {label(many)}", why)
            choices = {**choices, many: ()}
        return [
            (topic, route.space if route else None)
            for one in filled(written, choices)
            if (topic := self._spelled(one, style, route, at)) is not None
        ]

    def _spelled(
        self, address: str, style: Style, route: amqp.Route | None, at: Where
    ) -> str | None:
        """An address of one make as the federation's name or pattern."""
        if style == "mqtt" and address.startswith("$share/"):
            why = "the subscribers of a group are not told apart"
            self._drafts.aside(at, "a shared subscription's group", why)
            address = address.split("/", 2)[2] if address.count("/") > 1 else ""
        separator = "/" if style == "mqtt" else "."
        parts, wide = levels(address, separator)
        if wide:
            why = "a wildcard stands for a whole level: read as one"
            self._drafts.aside(at, "a parameter that is only a part of its level", why)
        wild = "+" if style == "mqtt" else "*"
        written = separator.join(wild if one is None else one for one in parts)
        if style == "amqp" and "/" in address and "." not in address:
            what = f"address {shown(address)} is one word of a routing key"
            advice = "write dots between words, or the key in bindings.amqp.name"
            self._drafts.warn(at, "C020", f"{what}: {advice}")
        topic = self._topic(written, style, route)
        if topic is None:
            why = "no topic of a federation is spelled like this, with dots between its levels"
            self._drafts.aside(at, f"address {shown(address)}", why)
            return None
        return self._checked(topic, at)

    def _topic(self, written: str, style: Style, route: amqp.Route | None) -> str | None:
        if route is not None:
            topic = amqp.spelled(route, written)
            return None if topic is None else route.prefix + topic
        return pattern_from_nats(written) if style == "nats" else written

    def _checked(self, topic: str, at: Where) -> str | None:
        advice = topic_fault(topic)
        if advice:
            self._drafts.fault(at, "C005", f"address {shown(topic)} is no topic: {advice}")
        return None if advice else topic

    def _in_space(self, end: Address, space: str | None, at: Where) -> Address:
        """An address in the virtual host that a channel names, if the server names none."""
        wanted = "" if space == "/" else space
        if wanted is None or wanted == end.space:
            return end
        if end.space:
            what = f"this channel is of virtual host {shown(space)}, its server of "
            what += f"{shown(end.space)}: a connection has one, and that is the server's"
            self._drafts.warn(at, "C020", f"{what}: write the same in both")
            return end
        return replace(end, space=wanted)
