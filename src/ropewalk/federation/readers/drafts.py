"""What one configuration file says, before it is known which brokers its addresses mean."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ropewalk.federation.bridges import BridgeKind, Choice
from ropewalk.federation.facts import Make
from ropewalk.findings import Finding, Severity, Where

Direction = Literal["in", "out", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a broker is said to be, and the line that says so; never with a user or password."""

    host: str
    port: int
    where: Where
    make: Make
    space: str = ""
    """The virtual host or account there; empty: the make's default one."""
    secure: bool = False
    server: str = ""
    """What an AsyncAPI document calls it."""
    said: str = ""
    """The broker that the user says it is, of a document that names no servers."""
    web: bool = False
    """Whether it is for WebSockets, and not for clients of the protocol itself."""
    peer: str = ""
    """Of NATS: what connects there (route, gateway, leaf); a server has one port for each."""
    cluster: str = field(default="", compare=False)
    """Of a NATS gateway: the cluster that it leads to."""
    login: int = 0
    """Of NATS: which of the users that one file has for this host; they may be of any account."""
    user: int = field(default=0, repr=False, compare=False)
    """Of NATS: tells the name that it logs in with, which is never kept; 0 if there is none."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" + (f" ({self.space})" if self.space else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class NatsFacts:
    """Of a NATS server that has a file: which other servers it takes connections from."""

    whole: bool = True
    """Whether all of its settings are known: what is not said then is not there."""
    name: str = ""
    gateway: str | None = None
    """The name of its gateway, empty if it is not known; None if there is no gateway."""
    route_user: int = 0
    """Tells the user of `cluster`; 0 if routes need no login."""
    asks: bool = False
    """Whether leaf nodes have to log in."""
    logins: frozenset[int] | None = None
    """Who they may be; None if that is not known, or anybody."""
    unlisted: bool = False
    """Whether leaf nodes do not hear of it from others of its cluster (no_advertise)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A listener of Mosquitto, and the line that opens it; None: it is there without one."""

    host: str
    port: int
    where: Where | None
    web: bool = False
    secure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDraft:
    """A broker, or of one with several virtual hosts or accounts one of these.

    `host` is what they have in common: the server's own name, the same for each of its spaces.
    """

    name: str
    make: Make
    where: Where
    host: str
    space: str = ""
    """Its virtual host or account; empty: the make's default one."""
    listens: tuple[tuple[str, int], ...] = ()
    """Hosts and ports it listens at; host empty: all of the machine's."""
    aliases: tuple[str, ...] = ()
    """Host names and cluster names that addresses may call it by."""
    cluster: str = ""
    """Its cluster, as its make names it."""
    only: tuple[str, ...] | None = None
    """The clusters whose gateways it takes and goes to; None: all."""
    secure: bool = False
    users: frozenset[int] = field(default=frozenset(), repr=False, compare=False)
    """Of NATS: who logs in is of this account, told as in addresses."""
    elsewhere: bool = False
    """Of NATS: whether its accounts are kept elsewhere, by an operator, and none is known."""
    risk_groups: tuple[str, ...] = ()
    nats: NatsFacts | None = field(default=None, repr=False, compare=False)
    doors: tuple[Door, ...] = ()
    """Of Mosquitto: all of its listeners; none if a part of its files is not known."""
    repeats: Where | None = None
    """Of Mosquitto: the line that lets it send a message once for each pattern that matches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeDraft:
    """A connection's patterns of one direction and one renaming."""

    at: str
    """The name of the draft of the broker that holds it."""
    far: tuple[Address, ...] | str
    """Where it connects, in the order that is written; or a draft's name, where that is known."""
    name: str
    kind: BridgeKind
    where: Where
    patterns: tuple[str, ...] = ("#",)
    excepts: tuple[str, ...] = ()
    direction: Direction = "out"
    qos: int = 0
    local: str = ""
    remote: str = ""
    max_hops: int | None = None
    choice: Choice = "first"
    echoes: bool = False
    private: bool = False
    """Of Mosquitto: whether it says that it is a bridge (try_private), as its own kind takes it."""
    client: str = field(default="", repr=False)
    """Of Mosquitto: the client id that is written for it at the far broker."""
    overlaps: bool = False
    """Of Mosquitto: whether several of its connection's lines fetch the same."""
    lines: Mapping[str, Where] = field(default_factory=dict)
    """Fields with lines of their own: addresses, max_hops, direction; of NATS settings, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDraft:
    """A topic that somebody stated, or (`assumed`) that a configuration only makes likely.

    Ends are names of drafts, or addresses, each with a client's name or None.
    """

    name: str
    where: Where
    publishers: tuple[tuple[str | Address, str | None], ...] = ()
    subscribers: tuple[tuple[str | Address, str | None], ...] = ()
    assumed: bool = False
    sent_qos: int | None = None
    """MQTT's quality of service that publishers state; None if they state none."""
    received_qos: int | None = None


Later = Callable[[Make | None], None]
"""Reads a document, when the make of the broker that the user says it is at is known."""


@dataclass(slots=True)
class Drafts:
    """All that was read so far, and what there is to say about it.

    A fault makes the whole unreadable; whoever notes one goes on reading, so that all are told.
    """

    brokers: list[BrokerDraft] = field(default_factory=list)
    bridges: list[BridgeDraft] = field(default_factory=list)
    topics: list[TopicDraft] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    included: set[str] = field(default_factory=set)
    """Files that others include: they are no brokers of their own."""
    documents: dict[str, str] = field(default_factory=dict)
    """The brokers that AsyncAPI documents are at, by path or its ending, as the user says."""
    later: list[tuple[str, Later]] = field(default_factory=list)
    """What is read when all brokers are, each with the name of its broker."""
    clients: dict[str, str] = field(default_factory=dict)
    """Names of clients that are taken, and the documents that have them."""

    def fault(self, where: Where, code: str, message: str) -> None:
        """Something that cannot be read as it was meant: what is wrong, and what to write."""
        self.findings.append(Finding(code, message, where, "error"))

    def warn(self, where: Where, code: str, message: str) -> None:
        """Something that a broker will not do as it was meant."""
        self.findings.append(Finding(code, message, where, "warning"))

    def aside(self, where: Where, what: str, why: str) -> None:
        """Something that a federation file has no room for: `what` is it, `why` is it left out."""
        self.note(where, "C010", f"not modelled: {what}: {why}")

    def note(self, where: Where, code: str, message: str, severity: Severity = "note") -> None:
        """Anything else worth knowing."""
        self.findings.append(Finding(code, message, where, severity))

    @property
    def broken(self) -> set[str]:
        """Files of which something could not be read, so that others of their entries miss it."""
        return {one.where.file for one in self.faults if one.code in ("C004", "C006")}

    @property
    def faults(self) -> list[Finding]:
        """What makes it unreadable."""
        return [one for one in self.findings if one.severity == "error"]
