"""What a RabbitMQ cluster has, by virtual host: exchanges, queues, bindings, and its topics."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ropewalk.federation.readers.drafts import Address, BrokerDraft, Drafts, TopicDraft
from ropewalk.federation.readers.rabbitmq.naming import (
    BUILT_IN,
    VARIABLE,
    carried,
    exchange_prefix,
    queue_prefix,
    safe,
    taken_as,
)
from ropewalk.federation.readers.rabbitmq.uris import BadUri, Uri, read_uri
from ropewalk.federation.showing import label
from ropewalk.findings import Where

DEFAULT = "/"
End = tuple[str | Address, str | None]
_ODD = re.compile(r"[^\w.-]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange; `kind` is its type, that of the inner one for delayed messages."""

    name: str
    kind: str
    where: Where
    internal: bool = False


@dataclass(frozen=True, slots=True)
class Binding:
    """From an exchange to a queue, or to another exchange."""

    source: str
    destination: str
    to_exchange: bool
    key: str
    where: Where


@dataclass(slots=True)
class Space:
    """A virtual host, and the draft that stands for it."""

    vhost: str
    draft: str
    where: Where
    exchanges: dict[str, Exchange] = field(default_factory=dict)
    queues: dict[str, Where] = field(default_factory=dict)
    bindings: list[Binding] = field(default_factory=list)
    active: dict[str, None] = field(default_factory=dict)
    """Exchanges that pass messages on, or get them from elsewhere."""
    filled: set[str] = field(default_factory=set)
    """Queues that shovels put messages into."""
    drained: set[str] = field(default_factory=set)
    """Queues that shovels take messages from."""

    def exchange(self, name: str) -> Exchange:
        """An exchange, also one that nobody declared here: that is taken for a topic exchange."""
        built_in = Exchange(name, BUILT_IN.get(name, "topic"), self.where)
        return self.exchanges.get(name, built_in)

    def knows(self, exchange: str) -> bool:
        """Whether the type of an exchange is known."""
        return exchange in self.exchanges or exchange in BUILT_IN

    def pattern(self, binding: Binding) -> str | None:
        """What a binding lets through."""
        if not binding.key and not self.knows(binding.source):
            return "#"  # an empty key is for fanout exchanges; in others it would be for nothing
        return carried(self.exchange(binding.source).kind, binding.key)


@dataclass(slots=True)
class Cluster:
    """All that is being read of one cluster."""

    file: str
    host: str
    drafts: Drafts
    aliases: tuple[str, ...] = ()
    name: str = ""
    listens: tuple[tuple[str, int], ...] = ()
    secure: bool = False
    """Whether it listens with TLS only."""
    listed: bool = False
    """Whether its virtual hosts are listed, so that others are mistakes."""
    spaces: dict[str, Space] = field(default_factory=dict)
    _topics: dict[str, tuple[Where, dict[End, None], dict[End, None]]] = field(default_factory=dict)

    def space(self, vhost: str, where: Where) -> Space:
        """The virtual host of that name; one that is new is added."""
        if vhost not in self.spaces:
            if VARIABLE.search(vhost):
                what = "a variable stands for a virtual host: fill it in, such as /"
                self.drafts.fault(where, "C006", what)
            self.spaces[vhost] = Space(vhost, self._name(vhost), where)
        return self.spaces[vhost]

    def _name(self, vhost: str) -> str:
        name = (
            self.host
            if vhost == DEFAULT
            else f"{_ODD.sub('_', safe(vhost)).strip('_-.') or 'space'}@{self.host}"
        )
        name, taken = name or "rabbitmq", {one.draft for one in self.spaces.values()}
        return next(one for one in _numbered(name) if one not in taken)

    def called(self, name: str) -> None:
        """Its name: other clusters may use it, or the host part of it, as an address."""
        self.name = safe(name)
        host = self.name.rpartition("@")[2]
        self.aliases = tuple(dict.fromkeys(one for one in (self.name, host) if one))

    def has_nodes(self, names: Iterable[str]) -> None:
        """Its nodes, which others may use as addresses, unless another server is called so."""
        others = {one.host for one in self.drafts.brokers if one.host != self.host}
        hosts = [safe(one.rpartition("@")[2]) for one in names if not VARIABLE.search(one)]
        hosts = [one for one in hosts if one and one != "localhost" and one not in others]
        self.aliases = tuple(dict.fromkeys((*self.aliases, *hosts)))

    def is_here(self, uri: Uri) -> bool:
        """Whether an address is one of this cluster's."""
        host = uri.host.lower()
        ours = {one.lower() for one in (self.host, *self.aliases)}
        short = "." not in self.host and host.split(".")[0] == self.host.lower()
        return uri.local or (uri.usual and (host in ours or short))

    def address(self, uri: Uri, vhost: str, where: Where) -> Address:
        """An address as drafts have it."""
        space = "" if vhost == DEFAULT else safe(vhost)
        return Address(
            host=uri.host,
            port=uri.port,
            where=where,
            make="rabbitmq",
            space=space,
            secure=uri.secure,
        )

    def draft_brokers(self) -> None:
        """Every virtual host is a broker."""
        self.drafts.brokers += [
            BrokerDraft(
                name=one.draft,
                make="rabbitmq",
                where=one.where,
                host=self.host,
                space="" if one.vhost == DEFAULT else safe(one.vhost),
                listens=self.listens,
                aliases=self.aliases,
                cluster=self.name,
                secure=self.secure,
            )
            for one in self.spaces.values()
        ]

    def tell_wider(self, kind: str, key: str, where: Where) -> None:
        """Tell a key for which a wider one is taken: topics have `#` at the end only."""
        wider = taken_as(kind, key)
        if wider is not None:
            why = f"it is taken as {label(wider)}, so more is followed than goes there"
            self.drafts.aside(where, f"the key {label(key)}", why)

    # --- topics -----------------------------------------------------------------------------

    def topic(
        self, name: str, where: Where, publishers: Iterable[End] = (), served: Iterable[End] = ()
    ) -> None:
        """Somebody may publish a topic, or be served; nobody states it."""
        if name:
            _, had, have = self._topics.setdefault(name, (where, {}, {}))
            had.update(dict.fromkeys(publishers))
            have.update(dict.fromkeys(served))

    def draft_topics(self) -> None:
        """The topics of all exchanges that matter, and those that were added by name."""
        for space in self.spaces.values():
            for name in list(space.active):
                self._exchange_topics(space, name)
            for queue in sorted(space.filled):
                served: list[End] = [] if queue in space.drained else [(space.draft, queue)]
                self.topic(f"{queue_prefix(queue)}#", space.where, (), served)
        for name, (where, had, have) in self._topics.items():
            self.drafts.topics.append(
                TopicDraft(
                    name=name,
                    where=where,
                    publishers=_once(had),
                    subscribers=_once(have),
                    assumed=True,
                )
            )

    def _exchange_topics(self, space: Space, name: str) -> None:
        """What queues are bound for; if nothing is bound in the file, clients may bind later."""
        exchange, prefix = space.exchange(name), exchange_prefix(name)
        ours: list[End] = [] if exchange.internal else [(space.draft, None)]
        bound = [one for one in space.bindings if one.source == name]
        if not bound:
            self.topic(f"{prefix}#", exchange.where, ours, [(space.draft, None)])
        for one in bound:
            pattern = space.pattern(one)
            if pattern is None:
                continue
            gone = one.to_exchange or one.destination in space.drained
            served: list[End] = [] if gone else [(space.draft, safe(one.destination))]
            self.topic(prefix + pattern, one.where, ours, served)


def _numbered(name: str) -> Iterable[str]:
    yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1


def _once(ends: Iterable[End]) -> tuple[End, ...]:
    """Each end once, also if its address stands on several lines."""
    by_place: dict[tuple[str, str | None], End] = {}
    for end in ends:
        by_place.setdefault((str(end[0]), end[1]), end)
    return tuple(by_place.values())


def read_ends(
    cluster: Cluster,
    texts: list[tuple[str, Where]],
    what: str,
    vhost: str,
    *,
    amqp10: bool = False,
    local: bool = False,
) -> tuple[tuple[Address, ...] | Space | None, list[Where]]:
    """Where a list of addresses leads: elsewhere, or to a virtual host here; None if nowhere.

    `vhost` is what the plug-in takes if an address names none. If it is `local`, the plug-in takes
    a virtual host from the first address, and connects to none.
    """
    found: list[Address] = []
    here: Space | None = None
    lines: list[Where] = []
    for text, where in texts[:1] if local else texts:
        uri = read_uri(text, amqp10=amqp10)
        if isinstance(uri, BadUri):
            _tell(cluster.drafts, where, what, uri)
            continue
        if uri.vhost == "" and "" not in cluster.spaces:
            cluster.drafts.warn(where, "C020", _EMPTY.format(what=what))
            continue
        if uri.parameters:
            _parameters(cluster.drafts, where, what, uri)
        space = vhost if uri.vhost is None else uri.vhost
        lines.append(where)
        if local or cluster.is_here(uri):
            here = here or _here(cluster, space, where, what)
        else:
            found.append(cluster.address(uri, space, where))
    if here and found:
        why = "it names this cluster as well as others: only this cluster is taken"
        cluster.drafts.aside(lines[0], what, why)
    return here or tuple(found) or None, lines


_EMPTY = (
    "{what} ends with / and no virtual host: RabbitMQ looks for one with an empty name and never "
    "connects: write /%2f for the default one, or leave the / out"
)


def _here(cluster: Cluster, vhost: str, where: Where, what: str) -> Space:
    if cluster.listed and vhost not in cluster.spaces:
        message = f"{what} leads to a virtual host that is not listed here: add it to vhosts"
        cluster.drafts.warn(where, "C020", message)
    return cluster.space(vhost, where)


def _tell(drafts: Drafts, where: Where, what: str, bad: BadUri) -> None:
    if bad.code == "C010":
        drafts.aside(where, what, bad.message)
    elif bad.code == "C020":
        drafts.warn(where, "C020", f"{what}: {bad.message}")
    else:
        drafts.fault(where, bad.code, f"{what}: {bad.message}")


def _parameters(drafts: Drafts, where: Where, what: str, uri: Uri) -> None:
    known = [one for one in uri.parameters if re.fullmatch(r"[a-z_]{1,40}", one)]
    drafts.aside(where, f"parameters of {what}", f"how it connects ({', '.join(known)})")
