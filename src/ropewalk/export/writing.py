"""A federation as the configuration files of its servers, each in its make's own form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ropewalk.export.meaning import Carried, carried
from ropewalk.export.mosquitto import write_mosquitto
from ropewalk.export.nats import write_nats
from ropewalk.export.rabbitmq import write_rabbitmq
from ropewalk.federation.facts import Federation

FILES = {"mosquitto": "mosquitto.conf", "nats": "nats.conf", "rabbitmq": "definitions.json"}
_WRITERS: Mapping[str, Callable[[Federation, str, str | None], tuple[str, list[str]]]] = {
    "mosquitto": write_mosquitto,
    "nats": write_nats,
    "rabbitmq": write_rabbitmq,
}


@dataclass(frozen=True, slots=True)
class Written:
    """A server's configuration: what it is called, its text, and what it cannot say."""

    server: str
    file: str
    """Its place in the folder that is written."""
    text: str
    left: tuple[str, ...]
    original: str | None = None
    """The text that it was read from."""


def servers_of(federation: Federation) -> dict[str, str]:
    """Servers that a configuration can be written for, with their make.

    A broker that only an address speaks of has no file of its own: whoever runs it has that.
    """
    held = {one.from_ for one in federation.bridges}
    files = {
        name: one.written.get("entry", "").rpartition(":")[0]
        for name, one in federation.brokers.items()
    }
    described = {files[name] for name in held}
    found: dict[str, str] = {}
    for name, one in federation.brokers.items():
        if name not in held and files[name] and files[name] in described:
            continue
        found.setdefault(one.server or name, one.make)
    return found


def _same(server: str, one: Federation, other: Federation) -> bool:
    def held(federation: Federation) -> set[Carried]:
        names = {
            name for name, each in federation.brokers.items() if (each.server or name) == server
        }
        return {key for key in carried(federation) if key[0] in names}

    return held(one) == held(other)


def write_native(
    federation: Federation,
    originals: Mapping[str, str] | None = None,
    before: Federation | None = None,
) -> list[Written]:
    """Every server's configuration; what was read of it and is not modelled is kept as it was.

    `before` is what the originals say: where a server's bridges are those, so is its file.
    """
    made = []
    for server, make in servers_of(federation).items():
        original = (originals or {}).get(server)
        if original is not None and before is not None and _same(server, federation, before):
            made.append(Written(server, f"{server}/{FILES[make]}", original, (), original))
            continue
        text, left = _WRITERS[make](federation, server, original)
        made.append(Written(server, f"{server}/{FILES[make]}", text, tuple(left), original))
    return made
