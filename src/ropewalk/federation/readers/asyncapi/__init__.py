"""AsyncAPI documents, versions 3 and 2: who sends and receives what, at which brokers.

In reading order: `templates` (`{names}` in texts), `references` (`$ref`), `left_out` (what is
only counted), `servers`, `amqp` and `channels` (which topics), `operations` (who is at their ends).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from ropewalk.federation.facts import Make
from ropewalk.federation.names import topic_fault
from ropewalk.federation.readers.asyncapi.channels import Channel, Channels
from ropewalk.federation.readers.asyncapi.left_out import UNUSED, LeftOut
from ropewalk.federation.readers.asyncapi.operations import Operations
from ropewalk.federation.readers.asyncapi.references import References
from ropewalk.federation.readers.asyncapi.servers import PROTOCOLS, Server, Servers
from ropewalk.federation.readers.asyncapi.templates import patterned
from ropewalk.federation.readers.drafts import Address, Drafts, TopicDraft
from ropewalk.federation.readers.mapping import ending
from ropewalk.federation.readers.view import View
from ropewalk.federation.readers.whose import as_name
from ropewalk.federation.showing import label, may_hold_secret, shown
from ropewalk.federation.yaml_text import Parsed
from ropewalk.findings import Where

__all__ = ["read_asyncapi"]

_ROOT = ("info", "id", "defaultContentType", "tags", "externalDocs")
_UNREAD = ("schemas", "messages", "messageTraits", "correlationIds", "messageBindings")
_OF_NO_PART = (*_UNREAD, "securitySchemes", "tags", "externalDocs")
_HINTS_2 = {"operations": "it is version 3's: write publish and subscribe in channels"}
_PARTS = (
    *("servers", "channels", "operations", "serverVariables", "parameters", "replies"),
    *("replyAddresses", "operationTraits", "serverBindings", "channelBindings"),
    "operationBindings",
)


def read_asyncapi(
    parsed: Parsed,
    file: str,
    host: str,
    drafts: Drafts,
    *,
    resolve_file: Callable[[str], Parsed | None],
) -> None:
    """Read a document: a topic for each channel that somebody sends to or receives from.

    `resolve_file` is given the path of another file as seen from this one's folder.
    """
    if not isinstance(parsed.value, dict):
        what = "this is no map: write asyncapi: 3.0.0 first"
        if isinstance(parsed.value, str) and "asyncapi" in parsed.value:
            what = "the document is one text in quotes: save what stands in them as the file"
        drafts.fault(Where(file, 1), "C005", what)
        return
    references = References(parsed, file, drafts, resolve_file)
    root = references.root(file)
    version = _version(root, drafts)
    if version is None:
        return
    said = ending(drafts.documents, file)
    document = _Document(root, host, version, references, drafts)
    if said is None or root.value.get("servers"):
        if said is not None:
            why = "the servers that the document names count: say in --map what these are"
            drafts.aside(root.place("servers"), f"that --map calls this document {said}", why)
        _read(document, None)
    else:
        drafts.later.append((said, lambda make: _read_at(document, said, make)))


@dataclass(frozen=True, slots=True)
class _Document:
    root: View
    host: str
    version: int
    references: References
    drafts: Drafts


def _read_at(document: _Document, said: str, make: Make | None) -> None:
    """Read a document without servers, of which the user says at which broker it is."""
    where = document.root.place("channels")
    protocol = next((one for one in PROTOCOLS.values() if one.make == make), None)
    if protocol is None:
        why = f"no file describes {label(said)}, where --map says that they are: "
        why += "read its file as well, or write servers with their protocol"
        document.drafts.aside(where, "the channels of this document", why)
        return
    end = Address(host="", port=0, where=where, make=protocol.make, said=said)
    _read(document, Server(protocol, (end,)))


def _read(document: _Document, said: Server | None) -> None:
    root, references, drafts = document.root, document.references, document.drafts
    version, left = document.version, LeftOut(drafts)
    servers = Servers(references, left, drafts, version)
    channels = Channels(references, servers, left, drafts, version, said)
    read = ("asyncapi", "servers", "channels", "operations", "components")
    hints = {} if version > 2 else _HINTS_2
    left.rest(root, [one for one in read if one not in hints], _ROOT, hints)
    known = _servers(root, references, servers)
    Operations(references, channels, left, drafts, version).read(root)
    channels.find_topics()
    client = _client(root, document.host, drafts)
    _wills(known, client, drafts)
    for channel in channels.all.values():
        _topics(channel, client, drafts)
    _unused(known, drafts)
    placed = bool(known) or said is not None or any(map(_any_topics, channels.all.values()))
    if channels.all and not placed:
        why = "it names no servers: say in --map which broker they are at: "
        why += f"brokers: {{{PurePath(root.file).name}: BROKER}}, or write servers"
        drafts.aside(root.place("channels"), "the channels of this document", why)
    _components(root, references, left)
    left.tell()


def _version(root: View, drafts: Drafts) -> int | None:
    """The document's major version; others than 2 and 3 are refused."""
    written = root.value.get("asyncapi")
    is_text = isinstance(written, str | int | float) and not isinstance(written, bool)
    major = str(written).strip().partition(".")[0] if is_text else ""
    if major in ("2", "3"):
        return int(major)
    what = f"asyncapi {shown(written)} is not known here: write the document as 3.0.0 or 2.6.0"
    drafts.fault(root.place("asyncapi"), "C005", what)
    return None


def _client(root: View, host: str, drafts: Drafts) -> str | None:
    """The application's name as a client: its title, or what its file is called.

    Generators write one title into all that they make: a second document has its file's name too.
    """
    info = root.value.get("info")
    title = info.get("title") if isinstance(info, dict) else None
    if not isinstance(title, str) or not title or may_hold_secret(title):
        title = host
    for each in (title, f"{title}-{host}", f"{title}-{root.file}"):
        name = as_name(each)
        if drafts.clients.setdefault(name, root.file) == root.file:
            return None if name == "unnamed" else name
    return None


def _servers(root: View, references: References, servers: Servers) -> list[Server]:
    section = references.at(root, "servers")
    return [servers.read(name, view) for name, _, view in references.entries(section)]


def _wills(servers: list[Server], client: str | None, drafts: Drafts) -> None:
    """What a broker publishes when it loses the application is published there like the rest."""
    for one in servers:
        if one.will is None or one.style != "mqtt":
            continue
        written, where = one.will
        topic, _ = patterned(written, "/", "+")
        if advice := topic_fault(topic):
            drafts.fault(where, "C005", f"lastWill.topic {shown(written)} is no topic: {advice}")
        else:
            ends = tuple((end, client) for end in one.addresses)
            drafts.topics.append(TopicDraft(name=topic, where=where, publishers=ends))


def _any_topics(channel: Channel) -> bool:
    return any(channel.topics.values())


def _topics(channel: Channel, client: str | None, drafts: Drafts) -> None:
    if channel.topics.get(None):
        why = "nobody sends or receives there: write an operation that does"
        drafts.aside(channel.where, f"channel {label(channel.name)}", why)
        return
    sent, received = (channel.topics.get(action, {}) for action in ("send", "receive"))
    for topic in dict.fromkeys((*sent, *received)):
        ends = (*sent.get(topic, ()), *received.get(topic, ()))
        qos = channel.qos if any(one.make == "mosquitto" for one in ends) else {}  # only of MQTT
        drafts.topics.append(
            TopicDraft(
                name=topic,
                where=channel.where,
                publishers=tuple((one, client) for one in sent.get(topic, ())),
                subscribers=tuple((one, client) for one in received.get(topic, ())),
                sent_qos=qos.get("send"),
                received_qos=qos.get("receive"),
            )
        )


def _unused(servers: list[Server], drafts: Drafts) -> None:
    ends = (end for one in drafts.topics for end, _ in (*one.publishers, *one.subscribers))
    used = {(end.where, end.server) for end in ends if isinstance(end, Address)}
    for one in servers:
        for end in one.addresses[:1]:
            if (end.where, end.server) not in used:
                why = "nothing is sent to or received from there"
                drafts.aside(end.where, f"server {label(end.server)}", why)


def _components(root: View, references: References, left: LeftOut) -> None:
    """Components are read where something refers to them; what nothing does is only counted."""
    section = references.at(root, "components")
    if section is None:
        return
    left.rest(section, _PARTS, _OF_NO_PART)
    for kind in _PARTS:
        inner = references.at(section, kind)
        for name in inner.value if inner is not None else ():
            if inner is not None and not references.is_reached(inner, name):
                left.add(UNUSED, inner.place(name))
