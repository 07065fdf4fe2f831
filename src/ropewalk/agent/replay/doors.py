"""Which port of the lab an address of a file means."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from ropewalk.agent.replay.cast import Actor, Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """The lab's ports of every server, and who is meant by the addresses in its files."""

    ports: Mapping[str, Mapping[str, int]]
    """By server, then by what they are for."""
    reach: Reach
    closed: int
    """A port at which nobody ever listens: where unknown addresses lead."""

    def door(self, files: Sequence[str], host: str, port: int, use: str) -> tuple[str | None, int]:
        """The server that is meant, and its port of a use; None and a closed port if unknown.

        `files`: those that may hold the address; included ones go by several names.
        """
        for file in files:
            server = self.reach(file, host, port)
            if server is not None and server in self.ports:
                return server, self.ports[server].get(use, self.closed)
        return None, self.closed


def files_of(actor: Actor) -> tuple[str, ...]:
    """A server's files: the main one, then what it includes, as written and seen from there.

    >>> files_of(Actor(name="a", make="nats", text="", file="d/a.conf", parts={"b": ""}, spaces={}))
    ('d/a.conf', 'd/b', 'b')
    """
    folder = posixpath.dirname(actor.file)
    names = [actor.file]
    for part in actor.parts:
        names += [posixpath.normpath(posixpath.join(folder, part)), part]
    return tuple(dict.fromkeys(names))


def host_and_port(text: str, default: int) -> tuple[str, int]:
    """A host and port as configuration files write them.

    >>> host_and_port("a:1", 9), host_and_port("a", 9), host_and_port("[::1]:2", 9)
    (('a', 1), ('a', 9), ('::1', 2))
    """
    if text.count(":") > 1 and not (text.startswith("[") and "]" in text):
        return text, default
    parts = urlsplit(f"//{text}")
    try:
        port = parts.port
    except ValueError:  # no number: nobody is there
        return text, default
    return parts.hostname or "", port or default
