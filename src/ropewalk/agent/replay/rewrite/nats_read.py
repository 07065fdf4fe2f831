"""A NATS server's file, with what it includes, as a tree of plain values."""

import posixpath
from dataclasses import dataclass, field
from typing import Any

from ropewalk.agent.replay.cast import Actor
from ropewalk.errors import LabError
from ropewalk.federation.readers.nats.syntax import NatsText, Unset, parse_nats


@dataclass(frozen=True, slots=True, kw_only=True)
class NatsFile:
    """The settings of a server, and what of its text is not known."""

    tree: dict[str, Any] = field(repr=False)
    told: tuple[str, ...] = ()


def read_nats(actor: Actor) -> NatsFile:
    """The settings of a server's file; LabError if it cannot be read."""
    parts = {posixpath.normpath(path): text for path, text in actor.parts.items()}
    read = parse_nats(
        actor.text, actor.file, include=lambda path: parts.get(posixpath.normpath(path))
    )
    if read.broken:
        faults = [str(one) for one in read.findings if one.severity == "error"]
        raise LabError(f"{actor.name} cannot be read: {faults[0]}")
    notes = [one.message for one in read.findings if one.code in ("C006", "C010")]
    return NatsFile(
        tree=_known(read.value, read), told=tuple(f"{actor.name}: {one}" for one in notes)
    )


def _known(value: Any, read: NatsText) -> Any:
    """Without the names of variables, and settings whose value nobody knows."""
    if isinstance(value, dict):
        return {
            str(key): _known(one, read)
            for key, one in value.items()
            if (id(value), key) not in read.used and not isinstance(one, Unset)
        }
    if isinstance(value, list):
        return [_known(one, read) for one in value if not isinstance(one, Unset)]
    return value
