"""What files of Mosquitto brokers say against each other, when addresses are brokers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address

from ropewalk.federation.readers.drafts import Address, BridgeDraft, BrokerDraft, Door, Drafts
from ropewalk.federation.readers.whose import Directory, Said, is_here
from ropewalk.federation.showing import label
from ropewalk.federation.topics import common
from ropewalk.findings import Where


@dataclass(frozen=True, slots=True)
class _Connection:
    """A connection: its bridges, who holds it, and the brokers that its addresses mean."""

    holder: BrokerDraft
    bridges: Sequence[BridgeDraft]
    far: Sequence[tuple[Address, BrokerDraft]]

    @property
    def name(self) -> str:
        return label(self.bridges[0].name)

    def line(self, field: str) -> Where:
        """The line of a field, or that of the connection."""
        lines = self.bridges[0].lines
        return lines.get(field, lines["connection"])


def lead_home(drafts: Drafts, said: Said | None) -> None:
    """Let addresses of this machine mean their holder, where it listens at that port itself.

    No other broker of the machine can have the port; what the user says of it counts all the same.
    """
    ports = {
        one.name: {each.port for each in one.doors if _is_open(each)} for one in drafts.brokers
    }
    for i, one in enumerate(drafts.bridges):
        own = ports.get(one.at)
        if own and not isinstance(one.far, str):
            far = tuple(_home(each, one.at, own, said) for each in one.far)
            if far != one.far:
                drafts.bridges[i] = replace(one, far=far)


def _home(address: Address, at: str, own: set[int], said: Said | None) -> Address:
    if address.port not in own or not is_here(address.host) or _is_told(address, said):
        return address
    return replace(address, said=at)


def _is_open(door: Door) -> bool:
    """Whether a line opens it to bridges of the same machine."""
    return door.where is not None and not door.web and door.port > 0 and is_here(door.host)


def _is_told(address: Address, said: Said | None) -> bool:
    return said is not None and said.broker_of(address.host, address.port) is not None


def tell_clashes(directory: Directory, drafts: Drafts, said: Said | None) -> None:
    """Tell connections that their brokers' files show not to work, or not as they are meant."""
    connections = list(_connections(directory, drafts))
    for one in connections:
        _tell_itself(one, drafts)
        _tell_repeated(one, drafts)
        for address, far in one.far:
            if far.name != one.holder.name:
                what = _no_way_in(address, far, told=_is_told(address, said))
                if what:
                    drafts.warn(address.where, "C020", what)
    _tell_same_clients(connections, drafts)


def _connections(directory: Directory, drafts: Drafts) -> Iterator[_Connection]:
    found: dict[tuple[str, Where], list[BridgeDraft]] = {}
    for one in drafts.bridges:
        if one.kind == "bridge" and "connection" in one.lines:
            found.setdefault((one.at, one.lines["connection"]), []).append(one)
    for (at, _), bridges in found.items():
        if at in directory.brokers:
            far = list(_far(bridges[0], directory))
            yield _Connection(directory.brokers[at], bridges, far)


def _far(one: BridgeDraft, directory: Directory) -> Iterator[tuple[Address, BrokerDraft]]:
    for address in one.far:
        if isinstance(address, Address):
            server = directory.meant.get((address.where.file, address.host, address.port))
            if server is not None:
                yield address, directory.spaces(server)[0]


# --- to itself -------------------------------------------------------------------------------


def _tell_itself(one: _Connection, drafts: Drafts) -> None:
    """A connection to its own broker: what comes back under a name that it carries never ends."""
    if not any(far.name == one.holder.name for _, far in one.far):
        return
    ways = [way for bridge in one.bridges for way in _renamings(bridge)]
    after = {
        i: [j for j, (near, _) in enumerate(ways) if common(beyond, near)]
        for i, (_, beyond) in enumerate(ways)
    }
    if any(_comes_back(i, after) for i in after):
        what = f"connection {one.name} leads back to {one.holder.name}, which holds it, and sends "
        what += "it its own messages again and again, without end"
        fix = "remove the connection, or correct its address"
        drafts.warn(one.line("addresses"), "C020", f"{what}: {fix}")


def _renamings(bridge: BridgeDraft) -> Iterator[tuple[str, str]]:
    """The names that it takes, and those that it makes of them."""
    for pattern in bridge.patterns:
        near, beyond = bridge.local + pattern, bridge.remote + pattern
        if bridge.direction in ("out", "both"):
            yield near, beyond
        if bridge.direction in ("in", "both"):
            yield beyond, near


def _comes_back(start: int, after: Mapping[int, Sequence[int]]) -> bool:
    met: set[int] = set()
    waiting = list(after[start])
    for one in waiting:
        if one not in met:
            met.add(one)
            waiting += after[one]
    return start in met


# --- the far broker's listeners --------------------------------------------------------------


def _no_way_in(address: Address, far: BrokerDraft, *, told: bool) -> str:
    """Why a broker's listeners do not let a connection in, and what to write; empty: they do."""
    port = address.port
    doors = [one for one in far.doors if one.port == port]
    mqtt = [one for one in doors if not one.web]
    at = f"at port {port} ({next((one.where for one in doors), None)})"
    if not doors:
        return "" if told else _another_port(address, far)
    if not mqtt:
        return f"{far.name} has WebSockets only {at}: write a port of MQTT itself"
    if not is_here(address.host) and all(_is_inside(one.host) for one in mqtt):
        if mqtt[0].where is None:
            what = f"{far.name} has no listener ({far.where.file}), so nobody else reaches it from"
            return f"{what} 2.0 on: write listener {port} there"
        return f"{far.name} listens for its own machine only {at}: write listener {port} there"
    if all(one.secure for one in mqtt) and not address.secure:
        return f"{far.name} uses TLS {at}, and this connection does not: write bridge_cafile"
    if address.secure and not any(one.secure for one in mqtt):
        what = f"{far.name} has no certificate {at}, and this connection uses TLS"
        return f"{what}: write certfile and keyfile there, or no TLS here"
    return ""


def _another_port(address: Address, far: BrokerDraft) -> str:
    ports = sorted({one.port for one in far.doors if one.port and not one.web})
    if not ports:
        return ""
    some = ", ".join(map(str, ports[:5]))
    what = f"{far.name} has no listener at port {address.port}, only at {some} ({far.where.file})"
    return f"{what}: write that port, or say in --map that {address} is {far.name}"


def _is_inside(host: str) -> bool:
    """Whether nobody but its own machine reaches a host.

    >>> _is_inside("127.0.0.1"), _is_inside(""), _is_inside("0.0.0.0")
    (True, False, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


# --- one far broker, several connections -----------------------------------------------------


def _tell_repeated(one: _Connection, drafts: Drafts) -> None:
    """Lines that overlap, at a broker that sends a message for each of them."""
    for _, far in one.far if any(bridge.overlaps for bridge in one.bridges) else ():
        if far.repeats is not None:
            what = f"{far.name} has allow_duplicate_messages ({far.repeats}), so connection "
            what += f"{one.name} fetches what several of its lines match more than once"
            drafts.warn(one.line("connection"), "C020", f"{what}: write lines that do not overlap")


def _tell_same_clients(connections: Iterable[_Connection], drafts: Drafts) -> None:
    """Connections that a far broker takes for one client: the new one ends the one before."""
    first: dict[tuple[str, str], _Connection] = {}
    for one in connections:
        client = one.bridges[0].client
        for _, far in one.far if client else ():
            other = first.setdefault((far.name, client), one)
            if other is not one:
                what = f"{far.name} knows connection {other.name} by this client id, too "
                what += f"({other.line('client')}), and each ends the other again and again"
                fix = "write remote_clientid with a name of its own"
                drafts.warn(one.line("client"), "C020", f"{what}: {fix}")
                break
