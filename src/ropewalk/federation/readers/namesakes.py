"""Addresses whose hosts begin alike: `hub.east.example` and `hub.west.example` are two servers."""

from collections.abc import Iterable, Iterator

from ropewalk.federation.readers.drafts import Address, Drafts


class Namesakes:
    """All addresses of the drafts by the first label of their hosts, each with who holds it."""

    def __init__(self, drafts: Drafts) -> None:
        servers = {one.name: one.host for one in drafts.brokers}
        self._by_label: dict[str, dict[tuple[str, ...], tuple[Address, str]]] = {}
        for address, at in _every(drafts):
            host, holder = address.host.lower(), servers.get(at, "")
            key = (host, address.make, *((address.cluster, holder) if address.cluster else ()))
            self._by_label.setdefault(first_label(host), {}).setdefault(key, (address, holder))

    def of(self, address: Address) -> Iterator[tuple[Address, str]]:
        """Addresses that begin as this one and are another server's, with who holds them."""
        for other, holder in self._by_label.get(first_label(address.host.lower()), {}).values():
            if other.make == address.make and not _alike(other.host, address.host):
                yield other, holder


def first_label(host: str) -> str:
    """What stands before the first dot."""
    return host.partition(".")[0]


def _every(drafts: Drafts) -> Iterable[tuple[Address, str]]:
    for bridge in drafts.bridges:
        if not isinstance(bridge.far, str):
            yield from ((one, bridge.at) for one in bridge.far)
    for topic in drafts.topics:
        for end, _ in (*topic.publishers, *topic.subscribers):
            if not isinstance(end, str):
                yield end, ""


def _alike(one: str, other: str) -> bool:
    """Whether two hosts may be one: the shorter name is what the longer one begins with."""
    short, long = sorted((f"{one.lower().rstrip('.')}.", f"{other.lower().rstrip('.')}."), key=len)
    return long.startswith(short)
