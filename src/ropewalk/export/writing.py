"""A federation as the configuration files of its servers, each in its make's own form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from ropewalk.export.meaning import Carried, carried, differences
from ropewalk.export.mosquitto import write_mosquitto
from ropewalk.export.nats import write_nats
from ropewalk.export.rabbitmq import write_rabbitmq
from ropewalk.federation.bridges import Bridge
from ropewalk.federation.facts import Broker, Federation

BESIDE = (".conf", ".config")
"""How the files of a RabbitMQ server end that are not written: rabbitmq.conf, advanced.config."""
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
    parts: Mapping[str, str] = field(default_factory=dict)
    """Files that its text includes, by the path as it is written there."""


def servers_of(federation: Federation) -> dict[str, str]:
    """Servers that a configuration can be written for, with their make.

    A broker that only an address speaks of has no file of its own: whoever runs it has that.
    """
    held = {one.from_ for one in federation.bridges}
    files = {name: _file(one) for name, one in federation.brokers.items()}
    described = {files[name] for name in held}
    # Addresses may be in a file that a server's own includes.
    places = (one.written.get("addresses", "") for one in federation.bridges)
    described |= {place.rpartition(":")[0] for place in places}
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
    parts: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> list[Written]:
    """Every server's configuration; what was read of it and is not modelled is kept as it was.

    `before` is what the originals say: where a server's bridges are those, so is its file.
    `parts` are the files that a server's original includes.
    """
    made = []
    for server, make in servers_of(federation).items():
        original, own = (originals or {}).get(server), parts.get(server, {})
        file = f"{server}/{FILES[make]}"
        same = before is not None and _same(server, federation, before)
        if original is not None and same:
            made.append(Written(server, file, original, (), original, own))
            continue
        if (
            before is not None
            and same
            and (_hearsay(server, before) or _set_elsewhere(server, before))
        ):
            continue
        write = _WRITERS[make]
        if make == "nats":
            write = partial(write_nats, parts=own)
        if make == "mosquitto":
            write = partial(write_mosquitto, before=before)
        # What was never read from files has to be written, wherever it was set once.
        text, left = write(without_static(federation) if before else federation, server, original)
        left += _by_hand(server, before, federation) if before else []
        made.append(Written(server, file, text, tuple(left), original))
    return made


def without_static(federation: Federation) -> Federation:
    """Without the shovels of advanced.config, which stays as it is and is not written anew."""
    bridges = tuple(one for one in federation.bridges if not _is_static(one))
    return replace(federation, bridges=bridges)


def _is_static(bridge: Bridge) -> bool:
    return bridge.kind == "shovel" and _file(bridge).endswith(BESIDE)


def _file(one: Bridge | Broker) -> str:
    return one.written.get("entry", "").rpartition(":")[0]


def _by_hand(server: str, before: Federation, after: Federation) -> list[str]:
    """What somebody has to change in a server's advanced.config."""
    had, wanted = (
        replace(
            each,
            bridges=tuple(
                one
                for one in each.bridges
                if _is_static(one) and (each.brokers[one.from_].server or one.from_) == server
            ),
        )
        for each in (before, after)
    )
    files = ", ".join(dict.fromkeys(_file(one) for one in (*had.bridges, *wanted.bridges)))
    return [f"{text}: change {files} by hand" for text in differences(had, wanted)]


def _set_elsewhere(server: str, federation: Federation) -> bool:
    """Whether all of a server was read in rabbitmq.conf and advanced.config, which say it still."""
    entries = [
        _file(one)
        for name, one in federation.brokers.items()
        if one.make == "rabbitmq" and (one.server or name) == server
    ]
    return bool(entries) and all(one.endswith(BESIDE) for one in entries)


def _hearsay(server: str, federation: Federation) -> bool:
    """Whether a server without a file holds bridges: NATS servers hear of them from others."""
    return any(
        (federation.brokers[one.from_].server or one.from_) == server for one in federation.bridges
    )
