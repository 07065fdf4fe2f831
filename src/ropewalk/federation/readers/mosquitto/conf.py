"""The files of one broker: its listeners, its connections, and what they include."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from ropewalk.federation.readers.drafts import BrokerDraft, Door, Drafts
from ropewalk.federation.readers.mosquitto.connections import (
    PORT,
    Connection,
    tell_same_ids,
    tell_unbounded,
)
from ropewalk.federation.readers.mosquitto.known import (
    ASIDE,
    NO_START,
    OF_BRIDGE,
    OF_LISTENER,
    OPENING,
    PLUGIN_OPTIONS,
)
from ropewalk.federation.readers.mosquitto.lines import (
    TRUTH,
    Setting,
    is_template,
    settings,
    variable,
)
from ropewalk.federation.readers.mosquitto.starting import Starting, tell_same_ports
from ropewalk.federation.showing import shown
from ropewalk.findings import Where

_NUMBER = re.compile(r"[0-9]{1,8}(?![0-9])")
_URL = re.compile(r"(?:\w+://)?(?P<host>[^:/]*|\[[^]]*\]):(?P<port>\d{1,5})/?", re.ASCII)

Include = Callable[[str], Sequence[tuple[str, str]] | None]


@dataclass(slots=True)
class Listener:
    """Where it listens, as the lines of the file fill it in."""

    where: Where | None = None
    host: str = ""
    port: int = 0
    protocol: str = "mqtt"
    socket: bool = False
    certificate: bool = False
    interface: bool = False


@dataclass(slots=True)
class Conf:
    """All that the files of one broker say."""

    host: str
    file: str
    drafts: Drafts
    include: Include
    default: Listener = field(default_factory=Listener)
    listeners: list[Listener] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    template: bool = False
    """Whether a file of it has to be filled in first: what it lacks says nothing then."""
    partly: bool = False
    """Whether a folder that it includes, or the file that includes it, is not here."""
    duplicates: Setting | None = None
    """The line that says whether what several patterns match comes more than once."""
    _listener: Listener | None = None
    _opened: Setting | None = None
    _connection: Connection | None = None
    _inflight: Setting | None = None
    _starting: Starting = field(init=False)

    def __post_init__(self) -> None:
        self._starting = Starting(self.drafts)
        self.partly = PurePath(self.file).parent.name == "conf.d"

    def read(self, text: str, file: str, above: tuple[str, ...] = ()) -> None:
        """Read a file and what it includes; a connection ends with its file."""
        self._listener, self._connection = None, None
        if is_template(text, file, self.drafts):
            self.template = True
            return
        for setting in settings(text, file, self.drafts):
            if setting.name == "include_dir":
                self._include(setting, (*above, file))
            else:
                self._take(setting)
                listener = self._listener or self.default
                self._starting.look(setting, id(listener), id(self._connection))

    def _take(self, setting: Setting) -> None:
        name = setting.name
        if name == "connection":
            self._connection = self._begin(setting)
        elif name in OF_BRIDGE:
            self._of_bridge(setting)
        elif name in OF_LISTENER:
            _OF_LISTENER[name](self, setting)
        elif not name.startswith(PLUGIN_OPTIONS):
            listener = self._listener or self.default
            listener.certificate = listener.certificate or name in ("certfile", "psk_hint")
            listener.interface = listener.interface or name == "bind_interface"
            if listener is self.default and name in OPENING:
                self._open(setting)
            if name == "max_inflight_messages":
                self._inflight = setting
            if name == "allow_duplicate_messages":
                self.duplicates = setting
            else:
                self.drafts.aside(setting.where, name, ASIDE[name])

    @property
    def repeats(self) -> Where | None:
        """The line that lets it send a message once for each pattern of a client that matches."""
        said = self.duplicates
        return said.where if said is not None and TRUTH.get(said.value.split(" ")[0]) else None

    def _open(self, setting: Setting) -> None:
        if self.default.where is None and not {*setting.words[:1]} & {*OPENING[setting.name]}:
            self.default.where, self._opened = setting.where, setting

    def broker(self) -> BrokerDraft:
        """The broker: where others reach it by MQTT itself."""
        found = [*([self.default] if self.default.where else []), *self.listeners]
        usable = [one for one in found if one.protocol == "mqtt" and not one.socket]
        if not found:
            if not self.template:
                self._tell_no_listener()
            usable = [self.default]
        self._tell_clashes()
        first = next((one.where for one in found if one.where), Where(self.file, 1))
        return BrokerDraft(
            name=self.host,
            make="mosquitto",
            where=first,
            host=self.host,
            listens=tuple(dict.fromkeys((one.host, one.port or PORT) for one in usable)),
            secure=bool(usable) and all(one.certificate for one in usable),
            doors=() if self.template or self.partly else tuple(map(_door, found or _ONE_MACHINE)),
            repeats=self.repeats,
        )

    def _tell_no_listener(self) -> None:
        what = "there is no listener here: from 2.0 on only this machine reaches the broker"
        fix = f"write listener {PORT}"
        if self.connections:
            fix += ", or give the file that includes this one as well"
        self.drafts.note(Where(self.file, 1), "C020", f"{what} at port {PORT}: {fix}")

    def _tell_clashes(self) -> None:
        if (
            self._opened is not None
            and self.listeners
            and not (self.default.port or self.default.host)
        ):
            what = f"{self._opened.name} stands before any listener, so port {PORT} is open as well"
            self.drafts.warn(self._opened.where, "C020", f"{what}: move it below its listener")
        default = [(self.default, self.default.port or PORT)] if self.default.where else []
        listening = [*default, *((one, one.port) for one in self.listeners if one.port)]
        tell_same_ports(
            [
                (one.where, one.host, port)
                for one, port in listening
                if one.where and not one.interface
            ],
            self.drafts,
        )
        tell_same_ids(self.connections, self.drafts)
        if self._inflight is not None and self._inflight.words[:1] in (["0"], ["65535"]):
            tell_unbounded(self._inflight, self.connections, self.drafts)

    # --- connections -------------------------------------------------------------------------

    def _begin(self, setting: Setting) -> Connection:
        words, drafts = setting.words, self.drafts
        if not words:
            drafts.fault(setting.where, "C002", "connection has no name: write connection NAME")
            words = [""]
        if len(words) > 1 and not words[1].startswith("#"):
            what = "the name of a connection ends at the first space"
            drafts.warn(setting.where, "C020", f"{what}: write one word")
        known = next((one for one in self.connections if one.name == words[0]), None)
        connection = Connection(words[0], setting.where)
        self.connections.append(connection)
        if known is not None:
            what = f"connection {shown(words[0])} is at {known.where} already"
            drafts.fault(setting.where, "C007", f"{what}: give each connection a name of its own")
        return connection

    def _of_bridge(self, setting: Setting) -> None:
        if self._connection is None:
            what = f"{setting.name} stands before any connection, {NO_START}"
            self.drafts.fault(setting.where, "C002", f"{what}: write connection NAME above it")
        else:
            self._connection.settings.append(setting)

    # --- files -------------------------------------------------------------------------------

    def _include(self, setting: Setting, above: tuple[str, ...]) -> None:
        drafts, path = self.drafts, setting.value
        if not path:
            drafts.fault(setting.where, "C002", "include_dir has no folder: write include_dir PATH")
            return
        if len(above) > 1:
            what = "include_dir counts in the first file only, elsewhere Mosquitto does not start"
            drafts.fault(setting.where, "C006", f"{what}: move it to {above[0]}")
            return
        found = self.include(path)
        if found is None:
            self.partly = True
            why = "the folder is not here; give it as well"
            drafts.aside(setting.where, f"include_dir {shown(path)}", why)
            return
        kept = self._listener, self._connection
        for file, text in found:
            if file in above:
                what = f"include_dir {shown(path)} holds this file itself"
                drafts.fault(setting.where, "C006", f"{what}: keep what it includes elsewhere")
                continue
            drafts.included.add(file)
            self.read(text, file, above)
        self._listener, self._connection = kept

    # --- listeners ---------------------------------------------------------------------------

    def _listen(self, setting: Setting) -> None:
        words = setting.words
        if self._is_turned_round(setting):
            return
        port = _port(setting, 0, self.drafts)
        host = words[1] if len(words) > 1 and not words[1].startswith("#") else ""
        if variable(host):
            what = f"{shown(host)} looks like a variable, and Mosquitto fills in none"
            self.drafts.warn(setting.where, "C020", f"{what}: write the address itself")
        self._listener = Listener(setting.where, host, port or 0, socket=port == 0)
        self.listeners.append(self._listener)
        if port == 0:
            if host:
                why = "bridges do not use sockets of the machine"
                self.drafts.aside(setting.where, "listener 0", why)
            else:
                what = "listener 0 needs the path of a socket"
                self.drafts.fault(setting.where, "C002", f"{what}: write listener {PORT}")

    def _is_turned_round(self, setting: Setting) -> bool:
        """Whether its host stands before its port, or both are one word; told."""
        url = _URL.fullmatch(setting.words[0] if setting.words else "")
        host, port = (url["host"], url["port"]) if url else (*setting.words[:2], "", "")[:2]
        if host.isdecimal() or not _NUMBER.fullmatch(port):
            return False
        what = f"the port comes first and the address after a space, {NO_START}"
        fix = f"write listener {port} {host}".strip()
        self.drafts.fault(setting.where, "C005", f"{what}: {fix}")
        self._listener = Listener(setting.where, host, int(port))
        self.listeners.append(self._listener)
        return True

    def _port_of_default(self, setting: Setting) -> None:
        if self.default.port:
            what = f"port is given again in line {setting.where.line}, and that counts"
            place = self.default.where or setting.where
            self.drafts.note(place, "C007", f"{what}: write listener PORT for each", "warning")
        self.default.port = _port(setting, 1, self.drafts) or 0
        self.default.where = setting.where
        self._listener = self.default

    def _bind(self, setting: Setting) -> None:
        if not setting.value:
            self.drafts.fault(setting.where, "C002", "bind_address is empty: write bind_address IP")
            return
        self.default.host = setting.words[0]
        self.default.where = self.default.where or setting.where
        self._listener = self.default

    def _protocol(self, setting: Setting) -> None:
        if not setting.words:
            why = "it is empty, and Mosquitto passes it over"
            self.drafts.aside(setting.where, "protocol", why)
            return
        protocol = setting.words[0]
        if protocol not in ("mqtt", "websockets", "http_api"):
            what = "Mosquitto does not know this protocol"
            self.drafts.fault(setting.where, "C005", f"{what}: write mqtt or websockets")
            return
        listener = self._listener or self.default
        listener.protocol = protocol
        if protocol != "mqtt":
            listener.where = listener.where or setting.where
        if protocol != "mqtt":
            why = "bridges use MQTT itself, so this listener is left out"
            self.drafts.aside(setting.where, f"protocol {protocol}", why)

    def _mount(self, setting: Setting) -> None:
        if self._listener is None or self._listener is self.default:
            what = f"mount_point stands before any listener, {NO_START}"
            self.drafts.warn(setting.where, "C020", f"{what}: write listener PORT above it")
        if "+" in setting.value or "#" in setting.value:
            what = f"a mount_point has no wildcards, {NO_START}"
            self.drafts.warn(setting.where, "C020", f"{what}: write a name that ends with /")
        why = "clients and bridges of this listener see other topic names than the federation"
        self.drafts.note(
            setting.where, "C010", f"not modelled: mount_point: {why}", severity="warning"
        )


_OF_LISTENER: dict[str, Callable[[Conf, Setting], None]] = {
    "listener": Conf._listen,
    "port": Conf._port_of_default,
    "bind_address": Conf._bind,
    "protocol": Conf._protocol,
    "mount_point": Conf._mount,
}


_ONE_MACHINE = (Listener(host="localhost"),)
"""Where a broker listens from 2.0 on, if no line of it says so."""


def _door(one: Listener) -> Door:
    return Door(
        host=one.host,
        port=0 if one.socket else one.port or PORT,
        where=one.where,
        web=one.protocol != "mqtt",
        secure=one.certificate,
    )


def _port(setting: Setting, least: int, drafts: Drafts) -> int | None:
    word = setting.words[0] if setting.words else ""
    number = _NUMBER.match(word)
    port = int(number[0]) if number else -1
    if least <= port <= 65535:
        if number and number[0] != word:
            what = f"{shown(word)} is read as port {port}"
            drafts.warn(setting.where, "C020", f"{what}: write {port}")
        return port
    what = f"{setting.name} needs a port from 1 to 65535, and not {shown(word)}"
    if variable(word):
        fix = "Mosquitto fills in no variables: write the port itself"
        drafts.fault(setting.where, "C006", f"{what}: {fix}")
    else:
        drafts.fault(setting.where, "C005", f"{what}: write {PORT}")
    return None
