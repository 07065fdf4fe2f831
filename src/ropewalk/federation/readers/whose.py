"""Which broker an address means: by what the user said, by names and ports, else one of its own."""

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import PurePath
from typing import Protocol

from ropewalk.federation.facts import Make
from ropewalk.federation.names import is_name
from ropewalk.federation.readers.drafts import Address, BrokerDraft, Drafts
from ropewalk.federation.readers.namesakes import Namesakes, first_label
from ropewalk.federation.readers.servers import Servers
from ropewalk.findings import Where

SPOKEN = {"mosquitto": "MQTT", "rabbitmq": "AMQP", "nats": "NATS"}
_MANY = 200
"""Of more names than this the nearest is not looked for."""
_ODD = re.compile(r"[^\w.-]+|--+", re.ASCII)


class Said(Protocol):
    """What the user said that addresses mean."""

    def broker_of(self, host: str, port: int, server_name: str = "") -> str | None:
        """The broker that an address means; None if the user did not say."""

    def name_of(self, file: str) -> str | None:
        """What a file's broker is to be called; None if the user did not say."""

    def place_of(self, broker: str) -> Where | None:
        """Where the user says that something is this broker; None if that is not known."""


def as_name(text: str) -> str:
    """A text as a name that a federation file takes.

    >>> as_name("hub.example.net:1883"), as_name("--")
    ('hub.example.net_1883', 'unnamed')
    """
    made = _ODD.sub("_", text).strip("_-.")[:190]
    return made if is_name(made) else "unnamed"


def home(file: str) -> PurePath:
    """The folder of a server's files; what is in a `conf.d` belongs to the folder above."""
    folder = PurePath(file).parent
    return folder.parent if folder.name in ("conf.d", "definitions.d") else folder


def is_here(host: str) -> bool:
    """Whether a host is the machine that the file is for."""
    if host.lower() in ("", "localhost"):
        return True
    try:
        return ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:
        return False


class Directory:
    """The brokers that were read, and those that addresses only speak of."""

    def __init__(self, drafts: Drafts, said: Said | None = None) -> None:
        self._drafts, self._said = drafts, said
        self.brokers: dict[str, BrokerDraft] = {}
        self._servers = Servers()
        self._unseen: dict[tuple[str, int], str] = {}
        self._hearsay: set[str] = set()
        """Servers that no file describes, named by their address or by the user."""
        self._ports: dict[tuple[str, str], int] = {}
        """Ports for peers of a kind, of NATS servers that no file describes."""
        self._peers: dict[str, set[str]] = {}
        """The servers that a server's routes lead to."""
        self._namesakes = Namesakes(drafts)
        self._known_as: dict[str, Address] = {}
        self.meant: dict[tuple[str, str, int], str] = {}
        """The server that an address means, by the file it is in, host and port."""
        self.asked: set[tuple[str, int, str]] = set()
        """Host, port and server's name of every address that was looked up."""
        for one in drafts.brokers:
            self._add(one)

    def _add(self, one: BrokerDraft) -> None:
        other = self.brokers.get(one.name)
        if other is not None and _one_server(one, other):
            self.brokers[one.name] = merged = _merged(other, one)
            self._servers.add(merged, instead=other)
            return
        if other is not None:
            what = f"a broker {one.name} is described at {other.where} as well"
            advice = "read one of them, or name them in --map"
            if self._said is not None and self._said.name_of(one.where.file) == one.host:
                advice = "--map calls it so: correct it there, or read one of them"
            self._drafts.fault(one.where, "C007", f"{what}: {advice}")
            return
        self.brokers[one.name] = one
        self._servers.add(one)

    def spaces(self, server: str) -> list[BrokerDraft]:
        """A server's virtual hosts or accounts."""
        return self._servers[server]

    def make_of(self, name: str) -> Make | None:
        """The make of a server or of a broker; None if no file describes it."""
        if name in self._servers:
            return self._servers[name][0].make
        return self.brokers[name].make if name in self.brokers else None

    def url(self, draft: BrokerDraft) -> tuple[str, int, bool] | None:
        """Host, port and whether with TLS: as others say, else where it says that it listens."""
        known = self._known_as.get(draft.name)
        if known is not None and known.make == draft.make:
            ports = [port for _, port in draft.listens]
            # A NATS server is known by a port for its peers; clients have the first of its own.
            port = ports[0] if ports and draft.make == "nats" else known.port
            secure = (bool(ports) and draft.secure) or (known.secure and port == known.port)
            return known.host, port, secure
        return (*draft.listens[0], draft.secure) if draft.listens else None

    def broker(self, address: Address, holder: BrokerDraft | None) -> str:
        """The broker that an address means, which may be a new one."""
        said = self._said_of(address)
        server = self._server(address, holder, said)
        self._conflict(server, address, said)
        self.meant[address.where.file, address.host, address.port] = server
        if holder is not None and address.peer == "route":
            self._peers.setdefault(holder.host, set()).add(server)
        # The user may say a server, or one of its virtual hosts or accounts.
        exact = said in self.brokers and said != server
        found = said if exact and said is not None else self._space(server, address)
        if not is_here(address.host) and not address.web:
            self._known_as.setdefault(found, address)
        return found

    def _conflict(self, server: str, address: Address, said: str | None) -> None:
        """Tell an address that is another program's."""
        if self._speaks(server, address):
            return
        one = self._servers[server][0]
        what = f"{address} is said to speak {SPOKEN[address.make]}, and "
        what += f"means {server}, which speaks {SPOKEN[one.make]} ({one.where})"
        wrong = (
            "the address or its protocol" if said is None else "--map, the address or its protocol"
        )
        self._drafts.fault(address.where, "C007", f"{what}: correct {wrong}")

    def _speaks(self, server: str, address: Address) -> bool:
        """Whether a server may be at such an address: MQTT is of all makes, and so says of none."""
        make = self._servers[server][0].make
        guessed = server in self._hearsay and make == "mosquitto"
        return guessed or address.make in (make, "mosquitto")

    def _said_of(self, address: Address) -> str | None:
        if address.said:
            return address.said
        self.asked.add((address.host, address.port, address.server))
        if self._said is None:
            return None
        return self._said.broker_of(address.host, address.port, address.server)

    def _server(self, address: Address, holder: BrokerDraft | None, said: str | None) -> str:
        if said is not None:
            return self._told(said, address)
        if not address.host and holder is not None:
            return holder.host  # RabbitMQ's `amqp://` is the node itself
        at = holder.host if holder is not None else ""
        here = is_here(address.host)
        fits = self._by_port(address, holder) if here else self._by_name(address, at)
        if len(fits) > 1:
            names = " and ".join(fits[:3])
            self._drafts.warn(
                address.where,
                "C012",
                f"{address.host}:{address.port} may mean {names}: say which in --map",
            )
        return fits[0] if len(fits) == 1 else self._new(address, at)

    def _told(self, said: str, address: Address) -> str:
        if said in self._servers:
            return said
        if said in self.brokers:
            return self.brokers[said].host
        self._tell_unknown(said)
        self._make(said, address)
        return said

    def _tell_unknown(self, said: str) -> None:
        """A name in --map that is of no file may be a slip."""
        where = self._said.place_of(said) if self._said is not None else None
        if where is not None:
            known = [name for name in self.brokers if name not in self._hearsay]
            near = get_close_matches(said, known, 1) if len(known) <= _MANY else []
            what = f"--map names {said}, of which there is no file: taken for a broker of its own"
            advice = f"write {near[0]}, if that is meant" if near else "read its file as well"
            self._drafts.note(where, "C011", f"{what}: {advice}")

    def _by_port(self, address: Address, holder: BrokerDraft | None) -> list[str]:
        """Servers that listen at a port of this machine, the holder left out if it is no route."""
        if holder is not None and address.peer == "route" and _here_at(holder, address.port):
            return [holder.host]  # all servers of a cluster may have the same list
        return [
            server
            for server in self._servers.at_port(address.port)
            if holder is None or server != holder.host
            if _here_at(self._servers[server][0], address.port)
        ]

    def _by_name(self, address: Address, holder: str) -> list[str]:
        host = address.host.lower()
        if exact := list(self._servers.listening(host, address.port)):
            return exact
        there = self._servers.at_port(address.port)
        for name in dict.fromkeys((host, first_label(host))):
            fits = [
                server
                for server in self._servers.called(name)
                if self._speaks(server, address) or server in there
                if not self._other_port(server, address)
                if not self._far(server, address, holder)
            ]
            if len(fits) > 1:
                fits = [one for one in fits if one in there] or fits
            if len(fits) > 1:
                same = [one for one in fits if self._servers[one][0].make == address.make]
                fits = same or fits
            if len(fits) == 1 and name != host and self._torn(fits[0], address):
                return []
            if fits:
                return fits
        return []

    def _other_port(self, server: str, address: Address) -> bool:
        """Whether a server has another port for such peers: two ports are two servers."""
        return self._ports.get((server, address.peer), address.port) != address.port

    def _far(self, server: str, address: Address, holder: str) -> bool:
        """Whether an address is a gateway's to another cluster than that of a server."""
        ours = self._servers.get(holder)
        if not address.cluster or not ours or address.cluster == ours[0].cluster:
            return False
        same = bool(ours[0].cluster) and self._servers[server][0].cluster == ours[0].cluster
        return server == holder or same or server in self._peers.get(holder, ())

    def _torn(self, server: str, address: Address) -> bool:
        """Whether another address with the same first label may mean a server as well."""
        return any(
            not self._far(server, other, holder) and not self._is_another(server, other)
            for other, holder in self._namesakes.of(address)
        )

    def _is_another(self, server: str, address: Address) -> bool:
        """Whether an address is known to mean another server, by its whole host."""
        said = self._said
        if said is not None and said.broker_of(address.host, address.port, address.server):
            return True
        called = self._servers.called(address.host.lower())
        known = [one for one in called if one not in self._hearsay]
        return bool(known) and server not in known

    def _new(self, address: Address, holder: str) -> str:
        """A server that no file describes; one for each host, or host and port."""
        # A NATS server has a port for each kind of peer; on one machine there are several.
        key = (address.host, 0)
        known = self._unseen.get(key, "")
        other = known and (self._other_port(known, address) or self._far(known, address, holder))
        if address.make != "nats" or is_here(address.host) or other:
            key = (address.host, address.port)
        if key not in self._unseen:
            name = as_name(
                f"{address.host}_{address.port}" if is_here(address.host) else address.host
            )
            if name in self._servers or name in self.brokers:
                name = as_name(f"{address.host}_{address.port}")
            while name in self._servers or name in self.brokers:
                name += "_"
            self._unseen[key] = name
            self._make(name, address)
            place = f"{address.host or 'localhost'}:{address.port}"
            self._drafts.note(
                address.where,
                "C011",
                f"no file describes {place}: taken for a broker of its own, {name}: "
                "read its file as well, or say in --map which broker it is",
            )
        if address.peer:
            self._ports.setdefault((self._unseen[key], address.peer), address.port)
        return self._unseen[key]

    def _make(self, name: str, address: Address) -> None:
        made = BrokerDraft(
            name=f"{as_name(address.space)}@{name}" if address.space else name,
            make=address.make,
            where=address.where,
            host=name,
            space=address.space,
            listens=() if address.web or not address.port else ((address.host, address.port),),
            secure=address.secure,
        )
        self._hearsay.add(name)
        self._add(made)

    def _space(self, server: str, address: Address) -> str:
        spaces = self._servers[server]
        if address.login and (server in self._hearsay or spaces[0].elsewhere):
            # Two users of one account would close a circle, which its server refuses.
            space = f"login-{address.login + 1}"
            what = f"{address.host}:{address.port} has another user than before"
            advice = (
                "read its file as well" if server in self._hearsay else "say so in a file with it"
            )
            message = f"{what}: taken to be of another account, {space}: {advice}"
            self._drafts.warn(address.where, "C012", message)
            return self._space(server, replace(address, space=space, login=0))
        logged_in = [one.name for one in spaces if address.user and address.user in one.users]
        if not address.space and len(logged_in) == 1:
            return logged_in[0]
        for one in spaces:
            if one.space == address.space:
                return one.name
        shared = address.peer in ("route", "gateway")  # these carry all accounts
        if shared and server not in self._hearsay:
            return spaces[0].name
        if not address.space:
            if len(spaces) > 1 and not shared and server not in self._hearsay:
                which = f"{address.host}:{address.port}" if address.port else "this document"
                what = f"which of {server}'s accounts {which} is for"
                message = f"{what} is not known: taken to be {spaces[0].space}: say so in --map"
                self._drafts.warn(address.where, "C012", message)
            return spaces[0].name
        other = any(one.where != address.where for one in spaces)
        other = other and server not in self._hearsay and not spaces[0].elsewhere
        if other and _described(spaces[0]):
            what = f"{server} has no virtual host or account {address.space}"
            self._drafts.warn(
                address.where, "C020", f"{what}: create it there, or correct the name"
            )
        made = BrokerDraft(
            name=f"{as_name(address.space)}@{server}",
            make=spaces[0].make,
            where=address.where,
            host=server,
            space=address.space,
            listens=spaces[0].listens,
            secure=spaces[0].secure,
        )
        self._add(made)
        return made.name


def _one_server(one: BrokerDraft, other: BrokerDraft) -> bool:
    """Whether two files of a folder describe one server: rabbitmq.conf and its definitions."""
    folders = {home(each.where.file) for each in (one, other)}
    files = {each.where.file for each in (one, other)}
    return one.make == other.make == "rabbitmq" and len(folders) == 1 and len(files) == 2


def _merged(one: BrokerDraft, other: BrokerDraft) -> BrokerDraft:
    return replace(
        one,
        listens=tuple(dict.fromkeys((*one.listens, *other.listens))),
        aliases=tuple(dict.fromkeys((*one.aliases, *other.aliases))),
        cluster=one.cluster or other.cluster,
        secure=one.secure or other.secure,
    )


def _described(one: BrokerDraft) -> bool:
    return bool(one.aliases or one.listens)


def _here_at(one: BrokerDraft, port: int) -> bool:
    """Whether it listens at a port of this machine."""
    return any(port == at and is_here(host) for host, at in one.listens)


def place_text(where: Where) -> str:
    """A place as a federation file keeps it."""
    return f"{where.file}:{where.line}"


def places(lines: Mapping[str, Where], entry: Where) -> dict[str, str]:
    """Places of an entry and of its fields, as a federation file keeps them."""
    return {"entry": place_text(entry), **{key: place_text(one) for key, one in lines.items()}}
