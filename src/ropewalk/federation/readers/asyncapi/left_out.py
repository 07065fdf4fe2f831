"""What a document says beyond where messages go: known, counted, and told once per kind."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ropewalk.federation.readers.asyncapi.references import References
from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label, shown
from ropewalk.findings import Where

DOCUMENTATION = "documentation"
MESSAGES = "messages and schemas"
SECURITY = "security"
EXTENSIONS = "extensions (x-...)"
NO_EXCHANGE = "channels that name no exchange"
UNUSED = "components that nothing refers to"
ELSEWHERE = "channels of servers that are left out"

WHY = {
    DOCUMENTATION: "what is written for people does not decide where messages go",
    MESSAGES: "what a message looks like does not decide where it goes",
    SECURITY: "who may connect does not decide where messages go",
    EXTENSIONS: "what they mean is known to their own tools alone",
    NO_EXCHANGE: "they are read as amq.topic's: name it in bindings.amqp.exchange",
    UNUSED: "they take effect only where a $ref leads to them",
    ELSEWHERE: "where their messages go is not followed",
    "amqp binding exchange": "the channel is a queue: its broker's bindings say what it is given",
    "amqp binding queue": "the channel is a routing key: its broker's bindings say where it leads",
}
BINDING = "how a client talks to its broker does not decide where messages go"
FOREIGN = "only servers of MQTT, AMQP and NATS are read, and what these say is of another protocol"
_KNOWN = ("mqtt", "mqtt5", "amqp", "amqp1", "nats")

ABOUT = {
    **dict.fromkeys(("title", "summary", "description", "tags", "externalDocs"), DOCUMENTATION),
    **dict.fromkeys(("operationId", "protocolVersion", "examples", "deprecated"), DOCUMENTATION),
    **dict.fromkeys(("info", "id", "defaultContentType", "bindingVersion"), DOCUMENTATION),
    **dict.fromkeys(("messages", "message", "schemas", "messageTraits"), MESSAGES),
    **dict.fromkeys(("correlationIds", "messageBindings"), MESSAGES),
    **dict.fromkeys(("security", "securitySchemes"), SECURITY),
}
ANY = ("title", "summary", "description", "tags", "externalDocs")


class LeftOut:
    """Counts of what is left out, by kind, with the first place of each."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._counts: dict[str, tuple[Where, int, str]] = {}
        self._seen: set[tuple[str, tuple[str | int, ...]]] = set()

    def add(self, kind: str, where: Where, times: int = 1) -> None:
        """One more of a kind."""
        otherwise = FOREIGN if kind.endswith(" bindings") else BINDING
        first, count, why = self._counts.get(kind, (where, 0, WHY.get(kind, otherwise)))
        self._counts[kind] = (first, count + times, why)

    def rest(
        self,
        view: View,
        read: Collection[str],
        known: Iterable[str] = ANY,
        hints: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Count what is known of a map, and tell what is not; what was `read` is neither.

        A map that several others refer to is counted once. `hints` say what to write instead.
        """
        if (view.file, view.path) in self._seen:
            return
        self._seen.add((view.file, view.path))
        for key in view.value:
            if key in read:
                continue
            if key.startswith("x-"):
                self.add(EXTENSIONS, view.place(key))
            elif key in known:
                self.add(ABOUT[key], view.place(key), _count(key, view.value[key]))
            else:
                why = "it is not known here: correct its name, or call it x-..."
                self._drafts.aside(view.place(key), label(key), hints.get(key, why))

    def bindings(
        self, view: View, references: References, read: Collection[tuple[str, str]] = ()
    ) -> None:
        """Count the bindings of a map, by protocol and field, but for those that were read."""
        bindings = references.at(view, "bindings")
        if bindings is None:
            return
        for protocol in bindings.value:
            if protocol.startswith("x-"):
                self.add(EXTENSIONS, bindings.place(protocol))
                continue
            if protocol not in _KNOWN:
                place, what = (bindings.file, (*bindings.path, protocol)), bindings.value[protocol]
                if place not in self._seen:
                    self._seen.add(place)
                    times = max(1, len(what)) if isinstance(what, dict) else 1
                    self.add(f"{label(protocol)} bindings", bindings.place(protocol), times)
                continue
            inner = references.at(bindings, protocol)
            if inner is None or (inner.file, inner.path) in self._seen:
                continue
            self._seen.add((inner.file, inner.path))
            for key in inner.value:
                self._binding(inner, protocol, key, read)

    def _binding(
        self, inner: View, protocol: str, key: str, read: Collection[tuple[str, str]]
    ) -> None:
        if key == "bindingVersion":
            self.add(DOCUMENTATION, inner.place(key))
        elif key.startswith("x-"):
            self.add(EXTENSIONS, inner.place(key))
        elif (protocol, key) not in read:
            self.add(f"{label(protocol)} binding {label(key)}", inner.place(key))
        elif isinstance(inner.value[key], dict):
            for part in inner.value[key]:
                if (protocol, f"{key}.{part}") not in read:
                    kind = f"{label(protocol)} binding {label(key)}.{label(part)}"
                    self.add(kind, inner.place(key, part))

    def tell(self) -> None:
        """Say what was counted."""
        for kind, (where, count, why) in self._counts.items():
            self._drafts.aside(where, f"{kind} ({count})" if count > 1 else kind, why)


def _count(key: str, value: Any) -> int:
    several = key in ("messages", "schemas", "messageTraits", "securitySchemes", "security", "tags")
    return max(1, len(value)) if several and isinstance(value, dict | list) else 1


def text(view: View, key: str, drafts: Drafts) -> str | None:
    """A text, also one that looks like a number; a fault is noted if it is none."""
    value = view.take(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None or isinstance(value, str):
        return value
    drafts.fault(view.place(key), "C005", f"{key} is {shown(value)}: write a text, in quotes")
    return None


def texts(view: View, key: str, drafts: Drafts) -> tuple[str, ...]:
    """A list of texts, each once; what is none is noted and left out."""
    value = view.take(key)
    if value is not None and not isinstance(value, list):
        drafts.fault(view.place(key), "C005", f"{key} is not a list: write one as [a, b]")
        return ()
    found: dict[str, None] = {}
    for i, one in enumerate(value or ()):
        if isinstance(one, str | int) and not isinstance(one, bool):
            found[str(one)] = None
        else:
            what = f"{key} has {shown(one)} in it: write texts, in quotes"
            drafts.fault(view.place(key, i), "C005", what)
    return tuple(found)
