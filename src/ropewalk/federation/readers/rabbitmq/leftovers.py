"""What of the definitions is told and not modelled: grouped, so that 3,000 queues make one note."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label
from ropewalk.findings import Where

MOST = 12
NOWHERE = "it does not change where messages go"
_SETTINGS = {
    "load_definitions": "read the definitions themselves as well",
    "definitions": "read the definitions themselves as well",
    "cluster_formation": "nodes of one cluster are one broker here",
    "cluster_nodes": "nodes of one cluster are one broker here",
    "mqtt exchange": "MQTT clients are taken to use amq.topic of the virtual host /",
    "mqtt vhost": "MQTT clients are taken to use amq.topic of the virtual host /",
}
"""Settings of a server that are not modelled and change more than nothing, and why."""
"""A note names no more keys than these."""
INSIDE = "what a broker does inside itself"
SECTIONS = {
    "users": "who may log in; read by nobody here",
    "permissions": "what users may do",
    "topic_permissions": "what users may do",
    "operator_policies": "limits; RabbitMQ takes nothing of federation from them",
    "limits": "limits",
    "vhost_limits": "limits",
    "user_limits": "limits",
    "rabbit_version": "what made the export",
    "rabbitmq_version": "what made the export",
    "product_name": "what made the export",
    "product_version": "what made the export",
    "rabbitmq_definition_format": "what made the export",
    "original_cluster_name": "what made the export",
    "explanation": "what made the export",
    "description": "words for people",
    "metadata": "words for people and defaults of the virtual host",
    "tags": "words for people",
    "default_queue_type": INSIDE,
}
"""Sections that a federation has no room for, and why."""


def why_not(family: str, *keys: str) -> str:
    """Why a setting is not modelled; `family` is the plug-in it is for.

    >>> why_not("management", "load_definitions"), why_not("mqtt", "vhost")[:12]
    ('read the definitions themselves as well', 'MQTT clients')
    """
    of_family = [f"{family.removeprefix('rabbitmq_')} {key}" for key in keys]
    found = (_SETTINGS.get(one) for one in (family, *keys, *of_family))
    return next((one for one in found if one), NOWHERE)


def tell_sections(document: View, drafts: Drafts) -> None:
    """One note for each section: how many entries it has, and never one of their values."""
    plain: dict[str, list[str]] = {}
    for name, why in SECTIONS.items():
        value = document.take(name)
        if value is None or value == [] or value == {}:
            continue
        if isinstance(value, list | dict):
            drafts.aside(document.place(name), f"{name}, {_count(value)}", why)
        else:
            plain.setdefault(why, []).append(name)
    for why, found in plain.items():
        drafts.aside(document.place(found[0]), ", ".join(found), why)


def _count(value: list[object] | dict[str, object]) -> str:
    return "1 entry" if len(value) == 1 else f"{len(value)} entries"


def names(keys: Iterable[str]) -> str:
    """Keys as a note shows them."""
    every = [label(one) for one in dict.fromkeys(keys)]
    return ", ".join(every[:MOST]) + (", ..." if len(every) > MOST else "")


@dataclass(slots=True)
class Group:
    """Keys of many entries of one section."""

    what: str
    """Such as `queues`."""
    modelled: frozenset[str]
    known: frozenset[str]
    where: Where | None = None
    entries: int = 0
    kept: dict[str, None] = field(default_factory=dict)
    strange: dict[str, Where] = field(default_factory=dict)

    def note(self, entry: View) -> None:
        """Keep in mind what of an entry is not modelled."""
        left = [one for one in entry.value if one not in self.modelled]
        for key in left:
            if key not in self.known:
                self.strange.setdefault(key, entry.place(key))
        kept = [one for one in left if one in self.known and entry.value[one] not in (None, {}, [])]
        if kept:
            self.where = self.where or entry.where
            self.entries += 1
            self.kept.update(dict.fromkeys(self._named(entry, kept)))

    def _named(self, entry: View, kept: list[str]) -> Iterable[str]:
        """Arguments by their own names."""
        for key in kept:
            inner = entry.value[key]
            if key == "arguments" and isinstance(inner, dict):
                yield from inner
            else:
                yield key

    def tell(self, drafts: Drafts, why: str = INSIDE) -> None:
        """Say it, in one note and one for each key that is not known."""
        if self.where:
            drafts.aside(self.where, f"{names(self.kept)} of {self.entries} {self.what}", why)
        for key, where in self.strange.items():
            drafts.aside(where, f"{label(key)} of {self.what}", "it is not known here")


def group(what: str, modelled: str, known: str = "") -> Group:
    """A group whose modelled and known keys are given as words."""
    return Group(what, frozenset(modelled.split()), frozenset(known.split()))


def tell_rest(entry: View, modelled: str, known: str, what: str, drafts: Drafts, why: str) -> None:
    """The same for a single entry."""
    one = group(what, modelled, known)
    one.note(entry)
    if one.where:
        drafts.aside(entry.where, f"{names(one.kept)} of {what}", why)
    for key, where in one.strange.items():
        drafts.aside(where, f"{label(key)} of {what}", "RabbitMQ does not know it, nor is it here")
