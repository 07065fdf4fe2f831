"""Whose configuration a file is, told by what is in it: names of files say too little."""

import re
from collections import Counter
from difflib import get_close_matches
from typing import Any, Literal

from ropewalk.federation.readers.mosquitto.known import KNOWN, PLUGIN_OPTIONS

Family = Literal[
    "mosquitto",
    "nats",
    "rabbitmq",
    "rabbitmq-script",
    "rabbitmq-conf",
    "erlang",
    "asyncapi",
    "federation",
]

_DEFINITIONS = {
    *("rabbit_version", "rabbitmq_version", "vhosts", "exchanges", "queues", "bindings"),
    *("policies", "operator_policies", "parameters", "global_parameters", "permissions"),
    *("topic_permissions", "rabbitmq_definition_format"),
}
_VERSIONS = ("rabbit_version", "rabbitmq_version", "rabbitmq_definition_format")
_COMMON = ("permissions", "policies", "parameters", "queues")
_WITHIN = {"vhost", "component", "pattern", "durable", "configure"}
"""What entries of sections have whose names others use, too."""
_NATS = {
    *("port", "host", "net", "listen", "client_advertise", "server_name", "cluster", "gateway"),
    *("gateways", "leafnodes", "leaf", "jetstream", "accounts", "authorization", "mqtt"),
    *("websocket", "system_account", "system", "operator", "resolver", "resolver_preload", "http"),
    *("http_port", "https", "https_port", "monitor_port", "max_payload", "max_connections"),
    *("lame_duck_duration", "no_auth_user", "tls", "debug", "trace", "logfile", "log_file"),
    *("pid_file", "ping_interval", "write_deadline", "mappings", "store_dir", "include"),
}
_MOSQUITTO = {
    *("listener", "port", "bind_address", "connection", "address", "addresses", "topic"),
    *("allow_anonymous", "password_file", "acl_file", "persistence", "persistence_location"),
    *("persistence_file", "log_dest", "log_type", "pid_file", "include_dir", "user", "cafile"),
    *("certfile", "keyfile", "require_certificate", "per_listener_settings", "remote_username"),
    *("remote_password", "remote_clientid", "clientid", "cleansession", "try_private"),
    *("notifications", "start_type", "round_robin", "restart_timeout", "bridge_cafile"),
    *("bridge_protocol_version", "bridge_insecure", "bridge_certfile", "bridge_keyfile"),
    *("protocol", "max_inflight_messages", "max_queued_messages", "autosave_interval"),
    *("keepalive_interval", "message_size_limit", "max_connections", "connection_messages"),
    *("log_timestamp", "sys_interval", "retain_available", "plugin", "auth_plugin", "http_dir"),
    *("bridge_attempt_unsubscribe", "set_tcp_nodelay", "max_keepalive", "psk_file", "crlfile"),
    *("bridge_capath", "capath", "mount_point", "idle_timeout", "threshold", "tls_version"),
    *("use_identity_as_username", "allow_zero_length_clientid", "remote_user", "username"),
    *("bridge_tls_version", "bridge_identity", "bridge_psk", "log_timestamp_format", "password"),
}
_INI = re.compile(
    # What EMQX, VerneMQ and Kafka have is written in the same way.
    r"\s*(?!(?:node|cluster|listener|zone|bridge|broker|vmq_\w+|plugins|zookeeper|leveldb|rpc)\.)"
    r"(?:[a-z_]+(?:\.[A-Za-z0-9_${}/-]+)+|default_(?:user|pass|vhost|queue_type|user_tags)"
    r"|loopback_users|load_definitions|cluster_(?:name|partition_handling|keepalive_interval)"
    r"|channel_max|frame_max|heartbeat|consumer_timeout|queue_master_locator|queue_leader_locator"
    r"|collect_statistics(?:_interval)?|handshake_timeout|reverse_dns_lookups|log)\s*="
)
_ERLANG = re.compile(r"\A(?:\s|%[^\n]*)*\[\s*(?:%[^\n]*\s*)*(\{|\]\s*\.)")
_ACCESS = {"user", "topic", "pattern"}
"""What a file of access rights for Mosquitto has; a configuration has more than these."""
_NGINX = re.compile(
    r"\s*(?:(location|upstream)\s[^:=]*\{|(proxy_pass|try_files|worker_\w+|root)\s[^:=]"
    r"|(listen|server_name)\s[^={]*;|(server|events)\s*\{)"
)
"""What stands beside brokers in many folders, and has braces like NATS."""
_TABLE = re.compile(r"\[\[?[A-Za-z_][\w.-]*\]\]?\s*(?:#.*)?\Z")
"""What TOML and INI files have, as Telegraf's, and no broker's."""
_ONLY_NATS = {
    *("server_name", "http_port", "https_port", "monitor_port", "max_payload", "ping_interval"),
    *("write_deadline", "lame_duck_duration", "client_advertise", "store_dir"),
}
"""Settings of which Mosquitto has none that is called alike: NATS takes a space after them, too."""
_FIRST_WORD = re.compile(r"\s*([A-Za-z_]+)")


def family_of_map(value: Any) -> Family | None:
    """Whose a document is that was read as JSON or YAML."""
    if not isinstance(value, dict):
        return None
    if "asyncapi" in value:
        return "asyncapi"
    if "federation" in value:
        return "federation"
    if any(_is_section(key, value[key]) for key in value.keys() & _DEFINITIONS):
        return "rabbitmq"
    return "nats" if {str(key).lower() for key in value} & _NATS else None


def _is_section(key: str, value: Any) -> bool:
    """Whether it is RabbitMQ's: other programs have parameters, policies and queues as well."""
    if key in _VERSIONS:
        return True
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        return False
    return key not in _COMMON or any(one.keys() & _WITHIN for one in value) or not value


def family_of_text(text: str) -> Family | None:
    r"""Whose a file is that is neither JSON nor YAML; None if it is nobody's.

    >>> family_of_text("connection hub\naddress hub:1883\n"), family_of_text("leafnodes { }")
    ('mosquitto', 'nats')
    >>> family_of_text("listeners.tcp.default = 5672"), family_of_text("[{rabbit, []}].")
    ('rabbitmq-conf', 'erlang')
    """
    if _ERLANG.match(text):
        return "erlang"
    votes: Counter[Family] = Counter()
    lines = _said(text)
    names = {line.split()[0] for line in lines}
    if (names <= _ACCESS and names != {"user"}) or any(map(_TABLE.match, lines)):
        return None
    if len({found.lastindex for line in lines if (found := _NGINX.match(line))}) > 1:
        return None
    for line in lines:
        if _INI.match(line):
            votes["rabbitmq-conf"] += 2
            continue
        votes.update(_votes(line))
    best = votes.most_common(1)
    if not best or (best[0][0] == "mosquitto" and not _is_for_mosquitto(lines)):
        return None
    return best[0][0]


def _is_for_mosquitto(lines: list[str]) -> bool:
    """Whether at least half of the lines begin with a setting, if perhaps a misspelt one."""
    lines = [line for line in lines if not line.lstrip().startswith(("{", "%"))]
    names = Counter(re.split(r"[\s=:]", line.strip(), maxsplit=1)[0].lower() for line in lines)
    return 2 * sum(count for name, count in names.items() if _is_setting(name)) >= len(lines)


def _is_setting(name: str) -> bool:
    known = name in KNOWN or name.startswith(PLUGIN_OPTIONS)
    return known or bool(get_close_matches(name, KNOWN, 1, 0.8))


def is_bare(text: str) -> bool:
    """Whether a file sets nothing: all of it is comments."""
    return not _said(text)


def _said(text: str) -> list[str]:
    lines = text.splitlines()[:5000]
    return [line for line in lines if line.strip() and not line.lstrip().startswith(("#", "//"))]


def _votes(line: str) -> dict[Family, int]:
    """A line's votes: braces and `:` speak for NATS, a setting's name followed by a space not."""
    word = _FIRST_WORD.match(line)
    if word is None:
        return {"nats": 1} if line.strip()[:1] in ("{", "}", "]") else {}
    name, after = word[1], line[word.end() :].lstrip(" \t")[:1]
    votes: dict[Family, int] = {}
    if after in (":", "{", "=", "["):
        if name.lower() in _NATS:
            votes["nats"] = 3
    elif name in _MOSQUITTO and not line[word.end() :][:1].strip():
        votes["mosquitto"] = 2
    if name.lower() in _NATS and "nats" not in votes:
        votes["nats"] = 2 if name.lower() in _ONLY_NATS else 1
    return votes
