"""The servers that files describe or speak of, found by what they are called and where they listen.

There may be thousands of each, so nobody looks through them all for every address.
"""

from collections.abc import Iterable, Mapping

from ropewalk.federation.readers.drafts import BrokerDraft

Found = dict[str, None]
"""Names of servers, in the order in which they came."""


class Servers:
    """Servers by name, each with its virtual hosts or accounts."""

    def __init__(self) -> None:
        self._spaces: dict[str, list[BrokerDraft]] = {}
        self._called: dict[str, Found] = {}
        self._listening: dict[tuple[str, int], Found] = {}
        self._ports: dict[int, Found] = {}

    def __contains__(self, server: object) -> bool:
        return server in self._spaces

    def __getitem__(self, server: str) -> list[BrokerDraft]:
        return self._spaces[server]

    def get(self, server: str) -> list[BrokerDraft] | None:
        """Its virtual hosts or accounts, if it is known."""
        return self._spaces.get(server)

    def add(self, one: BrokerDraft, instead: BrokerDraft | None = None) -> None:
        """A broker of a server, perhaps in the place of one that said less."""
        spaces = self._spaces.setdefault(one.host, [])
        if instead is not None:
            spaces[spaces.index(instead)] = one
        else:
            spaces.append(one)
        for name in (one.host, *one.aliases):
            self._called.setdefault(name.lower(), {})[one.host] = None
        for host, port in one.listens:
            self._listening.setdefault((host.lower(), port), {})[one.host] = None
            self._ports.setdefault(port, {})[one.host] = None

    def called(self, name: str) -> Iterable[str]:
        """Servers of a name, in small letters."""
        return self._called.get(name, ())

    def listening(self, host: str, port: int) -> Iterable[str]:
        """Servers that say they listen there; the host in small letters."""
        return self._listening.get((host, port), ())

    def at_port(self, port: int) -> Mapping[str, None]:
        """Servers that listen at a port of any host."""
        return self._ports.get(port, {})
