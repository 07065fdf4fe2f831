"""A mosquitto.conf for one broker of a federation, and what cannot be said in one.

What is written is read again: whatever Mosquitto would make of it otherwise than the federation
means is in the sentences.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from ropewalk.export.mosquitto_lines import Change
from ropewalk.federation.bridges import Bridge
from ropewalk.federation.facts import Federation
from ropewalk.federation.readers.drafts import BridgeDraft, Drafts
from ropewalk.federation.readers.mosquitto import read_mosquitto
from ropewalk.federation.readers.mosquitto.known import OF_BRIDGE
from ropewalk.federation.readers.mosquitto.lines import parts
from ropewalk.federation.topics import common

PORT = 1883
_OURS = frozenset(
    {"connection", "address", "addresses", "topic", "round_robin", "bridge_attempt_unsubscribe"}
)
"""Settings of a connection that are written anew; the others are kept as they were."""
_ON_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


def write_mosquitto(
    federation: Federation, server: str, original: str | None, before: Federation | None = None
) -> tuple[str, list[str]]:
    """The configuration of one broker, and sentences on what it cannot say.

    Lines of `original` that belong to no connection stay as they were; of connections that stay,
    so do their credentials, certificates and clocks. `before` is what the original says: of its
    connections only lines change that mean something else now.
    """
    tells: list[str] = []
    blocks = list(_blocks(federation, server, tells))
    if original is None:
        text = "\n".join([*_head(federation, server, tells), ""])
        text += "".join("\n" + "\n".join(_block(one, (), tells)) + "\n" for one in blocks)
    else:
        old = list(_blocks(before, server, [])) if before is not None else []
        text, unproved = _woven(original, blocks, [], old), list[str]()
        _prove(text, blocks, unproved)
        if unproved:  # the order of lines matters
            text = _woven(original, blocks, tells)
    _prove(text, blocks, tells)
    return text, list(dict.fromkeys(tells))


# --- listeners -------------------------------------------------------------------------------


def _head(federation: Federation, server: str, tells: list[str]) -> list[str]:
    url = federation.brokers[server].url
    found = urlsplit(url) if url else None
    port = (found.port if found else None) or PORT
    if found is None:
        tells.append(f"where {server} listens is not known: port {PORT} on all addresses is taken")
    elif found.scheme == "mqtts":
        tells.append("its listener uses TLS: add cafile, certfile and keyfile below it")
    host = found.hostname if found and found.hostname in _ON_THIS_MACHINE else ""
    tells.append("who may connect is in no federation: add password_file or allow_anonymous")
    return [f"# {server}", f"listener {port}{' ' + host if host else ''}"]


# --- connections -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    """A connection to be written."""

    name: str
    addresses: tuple[str, ...]
    bridges: tuple[Bridge, ...]

    @property
    def echoes(self) -> bool:
        return any(one.echoes for one in self.bridges)


def _blocks(federation: Federation, server: str, tells: list[str]) -> Iterator[_Block]:
    """One connection for the bridges of a name that go to the same addresses."""
    groups: dict[tuple[object, ...], list[Bridge]] = {}
    for one in federation.bridges:
        if one.from_ != server:
            continue
        if one.kind != "bridge":
            tells.append(f"the {one.kind} to {one.to} is left out: Mosquitto has bridges only")
            continue
        reached = (one.to, one.addresses, one.reached_at, one.choice)
        groups.setdefault((one.name or f"to-{one.to}", *reached), []).append(one)
    names: set[str] = set()
    for (wanted, *_), bridges in groups.items():
        name = _free("-".join(str(wanted).split()), names)
        if name != wanted:
            tells.append(f"the connection {wanted} to {bridges[0].to} is called {name} here")
        names.add(name)
        addresses = tuple(_addresses(federation, bridges[0], tells))
        yield _Block(name, addresses, tuple(_in_order(bridges)))
        _tell_limits(bridges, tells)


def _free(name: str, names: Iterable[str]) -> str:
    taken = set(names)
    return next(
        one for one in (name, *(f"{name}-{i}" for i in range(2, 10_000))) if one not in taken
    )


def _tell_limits(bridges: Iterable[Bridge], tells: list[str]) -> None:
    for one in bridges:
        if one.max_hops is not None:
            tells.append(
                f"max_hops of the bridge to {one.to} is left out: Mosquitto counts no hops"
            )
        if one.choice == "any" and one.addresses:
            tells.append(f"the bridge to {one.to} takes its addresses in turn, and not any of them")


def _addresses(federation: Federation, bridge: Bridge, tells: list[str]) -> Iterator[str]:
    for i, end in enumerate((bridge.to, *bridge.addresses)):
        reached = bridge.reached_at[i] if i < len(bridge.reached_at) else ""
        yield _unbracketed(reached or _reached(federation, end, tells))


def _reached(federation: Federation, end: str, tells: list[str]) -> str:
    broker = federation.brokers.get(end)
    if broker is None:
        return end  # HOST:PORT as it is
    found = urlsplit(broker.url) if broker.url else None
    if found is None or not found.hostname:
        tells.append(f"where {end} listens is not known: {end}:{PORT} is written")
        return f"{end}:{PORT}"
    if found.scheme in ("mqtts", "ssl"):
        tells.append(f"{end} is reached by TLS: add bridge_cafile to the connection")
    return f"{found.hostname}:{found.port or PORT}"


def _unbracketed(address: str) -> str:
    """Mosquitto cuts at the last colon, and wants no brackets."""
    return address.replace("[", "").replace("]", "")


def _in_order(bridges: Sequence[Bridge]) -> Iterator[Bridge]:
    """Bridges so that each comes after those that take what it does not carry."""
    left = list(bridges)
    while left:
        first = next(
            (one for one in left if not any(_before(o, one) for o in left if o is not one)), left[0]
        )
        left.remove(first)
        yield first


def _before(one: Bridge, other: Bridge) -> bool:
    """Whether the other leaves to this one what both match."""
    for way in ("out", "in"):
        if way in _ways(one) and way in _ways(other):
            excepts = _full(other, way, other.except_)
            for a in _full(one, way, one.patterns):
                for b in _full(other, way, other.patterns):
                    met = common(a, b)
                    if met is not None and met in excepts:
                        return True
    # What is sent is written before what is fetched: an out line unsubscribes what it names.
    return one.direction == "out" and other.direction == "in"


def _ways(bridge: Bridge) -> tuple[str, ...]:
    return ("out", "in") if bridge.direction == "both" else (bridge.direction,)


def _full(bridge: Bridge, way: str, patterns: Iterable[str]) -> list[str]:
    prefix = bridge.prefixes.local if way == "out" else bridge.prefixes.remote
    return [prefix + one for one in patterns]


# --- text ------------------------------------------------------------------------------------


def _block(one: _Block, kept: Sequence[str], tells: list[str]) -> list[str]:
    topics = [line for bridge in one.bridges for line in _topic_lines(bridge, tells)]
    if not topics:
        return [f"# connection {one.name}: none of its topics can be written here"]
    lines = [f"connection {one.name}", f"address {' '.join(one.addresses)}"]
    if one.bridges[0].choice != "first":
        lines.append("round_robin true")
    lines += topics
    if _unsubscribes(one.bridges):
        lines.append("bridge_attempt_unsubscribe false")
    return [*lines, *_private(one, kept)]


def _topic_lines(bridge: Bridge, tells: list[str]) -> Iterator[str]:
    local, remote = bridge.prefixes.local, bridge.prefixes.remote
    for pattern in bridge.patterns:
        if any(set(one) & set(' \t\r\n"') or one.startswith("#") for one in (local, remote)):
            tells.append(f"{local}{pattern} is left out: a prefix has no spaces or quotes there")
            continue
        if set(pattern) & set("\t\r\n") or pattern[:1] == '"' or {'"', " "} <= set(pattern):
            tells.append(f"{local}{pattern} is left out: names have no tabs or quotes there")
            continue
        shown = pattern
        if " " in pattern:
            tells.append(f"{pattern} needs Mosquitto 2.1: older ones know no spaces in names")
            shown = f'"{pattern}"'
        prefixes = [one or '""' for one in (local, remote)] if local or remote else []
        yield " ".join(["topic", shown, bridge.direction, str(bridge.qos), *prefixes])


def _unsubscribes(bridges: Sequence[Bridge]) -> bool:
    """Whether an out line names what an earlier line fetches."""
    fetched: set[str] = set()
    for one in bridges:
        full = _full(one, "in", one.patterns)
        if "in" in _ways(one):
            fetched |= set(full)
        elif fetched & set(full):
            return True
    return False


def _private(one: _Block, kept: Sequence[str]) -> list[str]:
    """The settings that are kept; try_private as the bridge's echoes need it."""
    said = [found for line in kept if (found := parts(line))]
    version = next((value for name, value in reversed(said) if name == _VERSION), "mqttv311")
    private = next((value for name, value in reversed(said) if name == "try_private"), "true")
    fetches = any("in" in _ways(bridge) for bridge in one.bridges)
    as_read = private.split()[:1] in (["false"], ["0"]) and version != "mqttv50" and fetches
    lines = [line.rstrip("\r\n") for line in kept]
    if as_read == one.echoes:
        return lines
    lines = [
        line for line in lines if (parts(line) or ("", ""))[0] not in ("try_private", _VERSION)
    ]
    return [*lines, "try_private false"] if one.echoes else lines


_VERSION = "bridge_protocol_version"


def _woven(
    original: str, blocks: Sequence[_Block], tells: list[str], old: Sequence[_Block] = ()
) -> str:
    """The original with our connections in the place of its own; those of `old` are changed."""
    lines = original.split("\n")
    end = "\r" if lines[0].endswith("\r") else ""
    kept = _kept(lines)
    left = {one.name: one for one in blocks}
    was = {one.name: one for one in old}
    out: list[str] = []
    inside, change = False, Change()
    for line in lines:
        name, value = parts(line) or ("", "")
        if name == "connection":
            change.finish(out, end)
            inside, change = True, Change()
            ours = left.pop((value.split() or [""])[0], None)
            if ours is not None and (mine := _change(was.get(ours.name), ours)):
                change = mine
                out.append(line)
            elif ours is not None:
                out += [one + end for one in _block(ours, kept.get(ours.name, ()), tells)]
        elif not (inside and name in OF_BRIDGE):
            out.append(line)
        elif change:
            change.take(line, out, end)
    change.finish(out, end)
    while out and not out[-1].strip() and left:
        out.pop()
    for one in left.values():
        out += [end, *(new + end for new in _block(one, (), tells))]
    if left and any((parts(line) or ("",))[0] == "include_dir" for line in lines):
        listed = ", ".join(left)
        tells.append(f"if {listed} is in a folder that include_dir names, remove it there")
    return "\n".join(out) + ("" if out and not out[-1].strip() else "\n")


def _change(was: _Block | None, now: _Block) -> Change | None:
    """What changes of a connection's lines; None if it has to be written anew."""
    if was is None or was.echoes != now.echoes:
        return None
    had, wanted = _block(was, (), []), _block(now, (), [])
    return Change(had, wanted) if had[0] == wanted[0] else None


def _kept(lines: Iterable[str]) -> dict[str, list[str]]:
    """Of each connection the settings that a federation does not hold."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        name, value = parts(line) or ("", "")
        if name == "connection":
            current = found.setdefault((value.split() or [""])[0], [])
        elif name in OF_BRIDGE and name not in _OURS:
            current.append(line)
    return found


# --- proof -----------------------------------------------------------------------------------


def _prove(text: str, blocks: Iterable[_Block], tells: list[str]) -> None:
    """Read it again and tell what has become otherwise."""
    drafts = Drafts()
    read_mosquitto(text, "mosquitto.conf", "it", drafts, include=lambda _: None)
    for one in blocks:
        became = [piece for draft in drafts.bridges for piece in _pieces_read(draft, one.name)]
        for piece in (piece for bridge in one.bridges for piece in _pieces(bridge)):
            if piece in became:
                continue
            pattern, way, local, excepts = piece[0], piece[1], piece[2], piece[5]
            what = f"{way} of {one.name} is not carried as the federation says: {local}{pattern}"
            left = f" without {', '.join(sorted(excepts))}" if excepts else ""
            tells.append(f"{what}{left} cannot be said by the order of topic lines")


Piece = tuple[str, str, str, str, int, frozenset[str]]


def _pieces(bridge: Bridge) -> Iterator[Piece]:
    """Each pattern, each way, with the exceptions that touch it."""
    local, remote = bridge.prefixes.local, bridge.prefixes.remote
    for pattern in bridge.patterns:
        excepts = {met for one in bridge.except_ if (met := common(one, pattern))}
        for way in _ways(bridge):
            yield pattern, way, local, remote, bridge.qos, frozenset(excepts)


def _pieces_read(draft: BridgeDraft, name: str) -> Iterator[Piece]:
    if draft.name != name:
        return
    ways = ("out", "in") if draft.direction == "both" else (draft.direction,)
    for pattern in draft.patterns:
        excepts = {met for one in draft.excepts if (met := common(one, pattern))}
        for way in ways:
            yield pattern, way, draft.local, draft.remote, draft.qos, frozenset(excepts)
