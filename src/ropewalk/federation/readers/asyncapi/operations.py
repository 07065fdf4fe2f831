"""Operations of a document: on which channels its application sends and receives."""

from ropewalk.federation.readers.asyncapi import amqp
from ropewalk.federation.readers.asyncapi.channels import Action, Channel, Channels
from ropewalk.federation.readers.asyncapi.left_out import ANY, LeftOut, text
from ropewalk.federation.readers.asyncapi.references import References
from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label, shown
from ropewalk.findings import Where

OPPOSITE: dict[Action, Action] = {"send": "receive", "receive": "send"}
ACTIONS_2: dict[str, Action] = {"publish": "receive", "subscribe": "send"}
"""Version 2 says what *others* do with the channel: on `publish` they do, and the application
receives; on `subscribe` they receive what it sends. Many documents were written the other way."""
_SIDES = (
    "publish and subscribe of version 2 are what others do: the application receives what is under "
    "publish and sends what is under subscribe: if this document means what it does itself, "
    "exchange the two, or write it as version 3, which says send and receive"
)
_EXCHANGED = (
    "FastStream wrote publish and subscribe of this document as what the application does itself, "
    "not others: read as it meant them: write the document anew with a later version of it"
)
About = tuple[tuple[str, ...], int | None]
"""The routing keys that an operation names, and MQTT's quality of service, if it states one."""
_READ = (*(("amqp", key) for key in amqp.KEYS), ("mqtt", "qos"))
_AT_RUN_TIME = "each message says where its answer goes: nothing here does"


class Operations:
    """What the application does, noted in the channels that it does it on."""

    def __init__(
        self,
        references: References,
        channels: Channels,
        left: LeftOut,
        drafts: Drafts,
        version: int,
    ) -> None:
        self._references, self._channels, self._left = references, channels, left
        self._drafts, self._version = drafts, version
        self._told: set[str] = set()

    def read(self, root: View) -> None:
        """All channels, and all that is done on them."""
        section = self._references.at(root, "channels")
        for name, place, view in self._references.entries(section):
            channel = self._channels.read(name, view, root, place if self._version == 2 else None)
            if self._version == 2:
                self._of_channel(channel, view)
        if self._version > 2:
            operations = self._references.at(root, "operations")
            for name, _, view in self._references.entries(operations):
                self._operation(name, view, root)

    def _of_channel(self, channel: Channel, view: View) -> None:
        for key, action in ACTIONS_2.items():
            if key not in view.value:
                continue
            one = self._references.at(view, key)
            about: About = ((), None)
            if one is not None:
                about = self._about(one, ("bindings", "traits"), ("message", "operationId"))
            exchanged = self._channels.is_labelled(channel) and _is_exchanged(channel.name, key)
            channel.use(OPPOSITE[action] if exchanged else action, *about)
            if channel.servers:
                self._tell_once(view.place(key), _EXCHANGED if exchanged else _SIDES)

    def _tell_once(self, where: Where, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self._drafts.warn(where, "C020", what)

    def _operation(self, name: str, view: View, root: View) -> None:
        read = ("action", "channel", "reply", "bindings", "traits")
        about = self._about(view, read, ("messages",))
        action = view.value.get("action")
        if action not in ("send", "receive"):
            what = f"operation {label(name)} has action {shown(action)}: write send or receive"
            self._drafts.fault(view.place("action"), "C005", what)
            return
        if not view.has("channel"):
            what = (
                f"operation {label(name)} has no channel: write channel: {{$ref: '#/channels/...'}}"
            )
            self._drafts.fault(view.where, "C005", what)
        else:
            self._use(view, action, root, about)
        reply = self._references.at(view, "reply")
        if reply is not None:
            self._reply(reply, OPPOSITE[action], root)

    def _use(self, view: View, action: Action, root: View, about: About = ((), None)) -> None:
        found = self._references.at(view, "channel")
        if found is not None:
            name = str(found.path[-1]) if found.path else ""
            self._channels.read(name, found, root).use(action, *about)

    def _reply(self, reply: View, action: Action, root: View) -> None:
        """An answer goes the other way, on a channel of its own or of the message's choice."""
        self._left.rest(reply, ("channel", "address"), (*ANY, "messages"))
        address = self._references.at(reply, "address")
        if address is not None:
            self._left.rest(address, ("location",), ("description",))
            self._drafts.aside(reply.place("address"), "the address of a reply", _AT_RUN_TIME)
        if reply.has("channel"):
            self._use(reply, action, root)

    def _about(self, view: View, read: tuple[str, ...], known: tuple[str, ...]) -> About:
        """What an operation says beside where its messages go, its traits included.

        Neither version's traits may have a channel or an action, so that only in what is given
        here it makes a difference whether a trait is merged over the operation (2) or under it (3).
        """
        self._left.rest(view, read, (*ANY, *known, "security"))
        traits = view.value.get("traits")
        if traits is not None and not isinstance(traits, list):
            what = "traits is not a list: write one of $refs or maps"
            self._drafts.fault(view.place("traits"), "C005", what)
            traits = None
        found = [self._bound(view)]
        for i in range(len(traits or ())):
            one = self._references.at(view, "traits", i)
            if one is not None:
                self._left.rest(one, ("bindings",), (*ANY, "security", "operationId"))
                found.append(self._bound(one))
        if self._version == 2:
            found.reverse()
        keys = next((keys for keys, _ in found if keys), ())
        return keys, next((qos for _, qos in found if qos is not None), None)

    def _bound(self, view: View) -> About:
        self._left.bindings(view, self._references, _READ)
        return amqp.keys_of(view, self._references, self._drafts), self._qos(view)

    def _qos(self, view: View) -> int | None:
        binding = self._references.at(self._references.at(view, "bindings"), "mqtt")
        written = text(binding, "qos", self._drafts) if binding is not None else None
        if binding is None or written in (None, "0", "1", "2"):
            return None if written is None else int(written)
        what = f"bindings.mqtt.qos {shown(written)}: write 0, 1 or 2"
        self._drafts.fault(binding.place("qos"), "C005", what)
        return None


def _is_exchanged(name: str, key: str) -> bool:
    """FastStream until 0.5 has its publishers under publish, and its handlers under subscribe."""
    return name.endswith(":Publisher") == (key == "publish")
