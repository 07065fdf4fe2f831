"""Mosquitto's files for the lab: one listener without logins; bridges as they are written."""

import getpass
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ropewalk.agent.lab.ports import HOST
from ropewalk.agent.replay.cast import Actor, Link, Script
from ropewalk.agent.replay.doors import Doors, files_of, host_and_port
from ropewalk.agent.replay.rewrite.notes import Notes, table
from ropewalk.federation.readers.mosquitto.lines import TRUTH, before_comment, parts, words_of

PORT = 1883
STATE = "$SYS/broker/connection/{}/state"
"""Where a bridge's state is kept, by its id at the far broker."""

_LISTENER = "the lab has one listener of its own"
_SECRETS = "everybody may do everything in the lab"
_SYSTEM = "nothing of the machine is used"
_LIMITS = "the lab has limits of its own, so that no copy is dropped"

_LEFT = table(
    (
        _LISTENER,
        "listener port bind_address bind_interface socket_domain protocol http_dir max_connections"
        " max_qos max_topic_alias max_topic_alias_broker use_username_as_clientid"
        " use_identity_as_username use_subject_as_username websockets_log_level"
        " websockets_headers_size websockets_origin accept_protocol_versions"
        " global_max_connections proxy_protocol_v2 proxy_protocol_v2_require_tls",
    ),
    ("topics of its clients keep their names in the lab", "mount_point"),
    (
        _SECRETS,
        "allow_anonymous allow_zero_length_clientid acl_file password_file psk_file psk_hint"
        " auth_plugin plugin global_plugin plugin_load plugin_use auth_plugin_deny_special_chars"
        " clientid_prefixes auto_id_prefix per_listener_settings cafile capath certfile keyfile"
        " crlfile ciphers ciphers_tls1.3 dhparamfile require_certificate tls_engine"
        " tls_engine_kpass_sha1 tls_keyform tls_version listener_allow_anonymous"
        " listener_auto_id_prefix enable_control_api disable_client_cert_date_checks"
        " local_username local_password remote_username remote_password username password"
        " bridge_cafile bridge_capath bridge_certfile bridge_keyfile bridge_identity bridge_psk"
        " bridge_alpn bridge_insecure bridge_require_ocsp bridge_tls_version bridge_ciphers"
        " bridge_ciphers_tls1.3 bridge_tls_use_os_certs",
    ),
    (
        _SYSTEM,
        "user pid_file persistence persistence_file persistence_location autosave_interval"
        " autosave_on_changes persistent_client_expiration log_dest log_facility log_timestamp"
        " log_timestamp_format log_type log_dest_level connection_messages sys_interval"
        " bridge_bind_address bridge_tcp_keepalive bridge_tcp_user_timeout set_tcp_nodelay",
    ),
    (
        _LIMITS,
        "max_queued_messages max_queued_bytes max_inflight_messages max_inflight_bytes"
        " memory_limit max_keepalive message_size_limit max_packet_size packet_max_simple_packet"
        " packet_buffer_size",
    ),
    (
        "the lab looks at a bridge's state itself",
        "notifications notifications_local_only notification_topic",
    ),
)
_OPTIONS = ("plugin_opt_", "auth_opt_")
_BRIDGES = frozenset(
    ("connection", "address", "addresses", "restart_timeout", "remote_clientid", "clientid")
)
_QUICK_S = 1
_ERROR_AT = re.compile(r"Error found at (?P<file>.+):(?P<line>\d+)\.")
_UNKNOWN = re.compile(r"Unknown configuration variable [\"'](?P<word>[^\"']+)[\"']")


@dataclass(slots=True)
class _Bridge:
    name: str
    client: str
    to: list[str] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    spread: bool = False
    lazy: bool = False


def rewrite_mosquitto(actor: Actor, doors: Doors, *, client: int, folder: Path) -> Script:
    """A Mosquitto server's files as the lab runs them, at a port and in a folder of the lab's."""
    writer = _Writer(actor, doors)
    body = list(writer.body())
    head = _head(client, folder)
    links = tuple(
        Link(
            server=actor.name,
            name=one.client,
            kind="bridge",
            to=tuple(one.to),
            ports=tuple(one.ports),
            first=not one.spread,
        )
        for one in writer.bridges
        if one.to and not one.lazy
    )
    return Script(text="\n".join((*head, *body)) + "\n", left_out=writer.notes.told(), links=links)


def _head(port: int, folder: Path) -> Iterator[str]:
    yield f"user {getpass.getuser()}"  # root would become `mosquitto`, who cannot write here
    yield f"listener {port} {HOST}"
    yield "allow_anonymous true"
    yield "set_tcp_nodelay true"  # the default holds small packets back for 40 ms
    yield "max_queued_messages 0"
    yield "max_inflight_messages 65534"  # bridges of MQTT 5 do not connect with more
    yield "sys_interval 1"
    yield "persistence false"
    yield f"pid_file {folder / 'pid'}"
    yield "log_dest stderr"
    for kind in ("error", "warning", "notice"):
        yield f"log_type {kind}"


class _Writer:
    """Goes through a server's lines and writes those that the lab has too."""

    def __init__(self, actor: Actor, doors: Doors) -> None:
        self.actor, self.doors = actor, doors
        self.notes = Notes(actor.name)
        self.bridges: list[_Bridge] = []

    def body(self) -> Iterator[str]:
        for file, word, rest in _lines(self.actor):
            if word in _BRIDGES:
                yield from self._bridge_line(file, word, rest)
            elif word in _LEFT:
                self.notes.add(word, _LEFT[word])
            elif word.startswith(_OPTIONS):
                self.notes.add(word, _SECRETS)
            else:
                yield f"{word} {rest}"
                self._look(word, rest)
        yield from self._end()

    def _bridge_line(self, file: str, word: str, rest: str) -> Iterator[str]:
        if word == "connection":
            yield from self._end()
            # Its own default is the machine's name, which all of the lab's servers have in common.
            self.bridges.append(_Bridge(rest, f"{self.actor.name}.{rest}".replace(" ", "_")))
            yield f"connection {rest}"
        elif not self.bridges:
            self.notes.add(word, "it belongs to no connection")
        elif word in ("remote_clientid", "clientid"):
            self.bridges[-1].client = rest
        elif word == "restart_timeout":
            self.notes.add(word, f"a bridge of the lab tries again after {_QUICK_S} s")
        else:
            doors = [self._door(file, one) for one in before_comment(words_of(rest))]
            yield f"addresses {' '.join(doors)}"

    def _door(self, file: str, address: str) -> str:
        host, port = host_and_port(address, PORT)
        server, door = self.doors.door((file, *files_of(self.actor)), host, port, "mqtt")
        if server is None:
            self.notes.add(f"address {host}:{port}", "no server of the replay is known by it")
        else:
            self.bridges[-1].to.append(server)
            self.bridges[-1].ports.append(door)
        return f"{HOST}:{door}"

    def _look(self, word: str, rest: str) -> None:
        if self.bridges and word == "round_robin":
            self.bridges[-1].spread = TRUTH.get(rest.partition(" ")[0], False)
        if self.bridges and word == "start_type":
            self.bridges[-1].lazy = rest in ("lazy", "manual")

    def _end(self) -> Iterator[str]:
        if self.bridges:
            yield f"remote_clientid {self.bridges[-1].client}"
            yield f"restart_timeout {_QUICK_S}"
            yield "notifications true"
            yield "notifications_local_only true"


def _lines(actor: Actor) -> Iterator[tuple[str, str, str]]:
    """File, setting and value of every line, those of included folders in their place."""
    for word, rest in _settings(actor.text):
        if word != "include_dir":
            yield actor.file, word, rest
            continue
        for file in sorted(one for one in actor.parts if _is_in(one, rest)):
            for inner, value in _settings(actor.parts[file]):
                if inner != "include_dir":  # Mosquitto allows it in the main file alone
                    yield file, inner, value


def _is_in(file: str, folder: str) -> bool:
    return file == folder or PurePosixPath(folder) in PurePosixPath(file).parents


def _settings(text: str) -> Iterator[tuple[str, str]]:
    yield from (said for line in text.split("\n") if (said := parts(line)) is not None)


def without_refused(text: str, said: str) -> tuple[str, str] | None:
    r"""A file without the line that Mosquitto does not know, and its setting; None: another fault.

    >>> without_refused("a 1\nnews 2\n", 'Error: Unknown configuration variable "news".\n'
    ...                 "Error found at m.conf:2.")
    ('a 1\n', 'news')
    """
    unknown, place = _UNKNOWN.search(said), _ERROR_AT.search(said)
    if unknown is None:
        return None
    lines = text.splitlines(keepends=True)
    number = int(place["line"]) if place else 0
    if not 0 < number <= len(lines) or unknown["word"] not in lines[number - 1]:
        number = next((i for i, o in enumerate(lines, 1) if o.split()[:1] == [unknown["word"]]), 0)
    if not number:
        return None
    return "".join(lines[: number - 1] + lines[number:]), unknown["word"]
