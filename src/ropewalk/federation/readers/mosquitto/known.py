"""Settings of Mosquitto 1.4 to 2.1 that have no part in forwarding, and why they are left out."""

NO_START = "so Mosquitto does not start"
"""In every message on a line with which it does not."""

WHO = "who may connect, publish or subscribe is not looked at"
SECURE = "certificates and keys are not looked at"
STORE = "what a broker keeps on disk is not looked at"
LOGS = "what a broker logs is not looked at"
LIMITS = "a broker's own limits are not looked at"
PLUGINS = "what a plug-in does is not looked at"
WEB = "bridges do not use websockets"
PROCESS = "it is about the process, not about what it forwards"
PROTOCOL = "it is about the protocol, not about what is forwarded"
REPEATS = "it counts where lines of a connection overlap, and is told there"
STATE = "state messages of a connection are not topics of the federation"
RETRY = "how fast a connection comes back is not looked at"
OLD = "it has no effect any more"

_BY_REASON = {
    WHO: (
        "acl_file allow_anonymous allow_zero_length_clientid auto_id_prefix clientid_prefixes "
        "listener_allow_anonymous listener_auto_id_prefix password_file per_listener_settings "
        "psk_file use_identity_as_username use_subject_as_username use_username_as_clientid "
        "check_retain_source clientid remote_clientid local_clientid username remote_username "
        "password remote_password local_username local_password"
    ),
    SECURE: (
        "cafile capath ciphers ciphers_tls1.3 crlfile dhparamfile disable_client_cert_date_checks "
        "keyfile certfile psk_hint require_certificate tls_engine tls_engine_kpass_sha1 "
        "tls_keyform tls_version bridge_alpn bridge_cafile bridge_capath bridge_certfile "
        "bridge_ciphers bridge_ciphers_tls1.3 bridge_identity bridge_insecure bridge_keyfile "
        "bridge_psk bridge_require_ocsp bridge_tls_use_os_certs bridge_tls_version"
    ),
    STORE: (
        "autosave_interval autosave_on_changes persistence persistence_file persistence_location "
        "persistent_client_expiration retained_persistence retain_available "
        "retain_expiry_interval bridge_outgoing_retain"
    ),
    LOGS: (
        "connection_messages log_dest log_facility log_timestamp log_timestamp_format log_type "
        "websockets_log_level sys_interval"
    ),
    LIMITS: (
        "global_max_clients global_max_connections max_connections max_inflight_bytes "
        "max_inflight_messages max_packet_size max_queued_bytes max_queued_messages max_qos "
        "maximum_qos memory_limit message_size_limit packet_buffer_size queue_qos0_messages "
        "websockets_headers_size bridge_max_packet_size bridge_receive_maximum"
    ),
    PLUGINS: (
        "auth_plugin auth_plugin_deny_special_chars enable_control_api global_plugin plugin "
        "plugin_load plugin_use"
    ),
    WEB: "http_dir websockets_origin",
    PROCESS: (
        "bind_interface bridge_bind_address bridge_mptcp bridge_reload_type bridge_tcp_keepalive "
        "bridge_tcp_user_timeout enable_proxy_protocol pid_file proxy_protocol_v2_require_tls "
        "set_tcp_nodelay socket_domain user"
    ),
    PROTOCOL: (
        "accept_protocol_versions bridge_max_topic_alias bridge_session_expiry_interval "
        "keepalive_interval max_keepalive max_topic_alias max_topic_alias_broker "
        "upgrade_outgoing_qos"
    ),
    REPEATS: "allow_duplicate_messages",
    STATE: "notifications notifications_local_only notification_topic",
    RETRY: "restart_timeout idle_timeout threshold",
    OLD: (
        "retry_interval ffdc_output max_log_entries trace_level trace_output "  # and RSMB's
        "store_clean_interval"
    ),
}

ASIDE = {name: why for why, names in _BY_REASON.items() for name in names.split()}
"""Every setting that is told and left out, with the reason."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


GONE = frozenset(_BY_REASON[OLD].split()) - {"retry_interval"}
"""Settings of releases before 2.0 that later ones do not start with."""

NOT_EMPTY = frozenset({*ASIDE, "mount_point"} - GONE) - _names(
    "log_type max_connections persistent_client_expiration retry_interval"
)
"""Settings left out that 2.0.11 does not start with if they have no value."""

BOOLEANS = _names(
    "allow_anonymous allow_duplicate_messages allow_zero_length_clientid autosave_on_changes "
    "bridge_insecure bridge_outgoing_retain bridge_require_ocsp check_retain_source "
    "connection_messages log_timestamp notifications notifications_local_only "
    "per_listener_settings persistence queue_qos0_messages require_certificate "
    "retain_available retained_persistence set_tcp_nodelay upgrade_outgoing_qos "
    "use_identity_as_username use_subject_as_username use_username_as_clientid"
)
"""Settings left out that are true or false."""

RANGES: dict[str, tuple[int, float]] = {
    "keepalive_interval": (-(2**31), 65535),
    "log_facility": (0, 7),
    "max_inflight_messages": (-(2**31), 65535),
    "max_keepalive": (0, 65535),
    "max_packet_size": (20, float("inf")),
    "max_qos": (0, 2),
    "max_topic_alias": (0, 65535),
    "maximum_qos": (0, 2),
    "memory_limit": (0, float("inf")),
    "message_size_limit": (0, 268_435_455),
    "sys_interval": (0, 65535),
    "websockets_headers_size": (0, 65535),
}
"""Settings left out that are numbers, with the least and the most that any release takes."""

WORDS = {
    "log_dest": _names("none stdout stderr syslog topic file dlt android"),
    "log_type": _names(
        "none all error warning notice information debug subscribe unsubscribe websockets internal"
    ),
    "socket_domain": _names("ipv4 ipv6"),
}
"""Settings left out that are one of a few words."""

ACCESS = _names(
    "acl_file allow_anonymous allow_zero_length_clientid auth_plugin auto_id_prefix "
    "check_retain_source password_file plugin psk_file"
)
"""Settings that `per_listener_settings true` has to stand before."""

ONCE = _names(
    "bind_address bridge_alpn bridge_bind_address bridge_cafile bridge_capath bridge_certfile "
    "bridge_identity bridge_keyfile bridge_psk bridge_tls_version clientid_prefixes "
    "local_clientid local_password local_username log_timestamp_format notification_topic "
    "persistence_file persistence_location pid_file remote_clientid remote_password "
    "remote_username user"
)
"""Settings that a broker, or a connection, has once."""

ONCE_A_LISTENER = _names(
    "bind_interface cafile capath certfile ciphers ciphers_tls1.3 crlfile dhparamfile http_dir "
    "keyfile mount_point psk_hint tls_engine tls_version"
)

OPENING: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(ONCE_A_LISTENER - {"http_dir", "mount_point", "tls_version"}, ()),
    "max_connections": ("-1",),
    "max_qos": ("2",),
    "maximum_qos": ("2",),
    "socket_domain": (),
    **dict.fromkeys(("require_certificate", "use_identity_as_username"), ("false", "0")),
    **dict.fromkeys(("use_subject_as_username", "use_username_as_clientid"), ("false", "0")),
}
"""Settings that open port 1883 where they stand before any listener, but for these values."""

ONCE_FOR_ACCESS = frozenset({"acl_file", "auto_id_prefix", "password_file", "psk_file"})
"""Settings that a broker has once, or each of its listeners."""

TEXTS = (
    ONCE | ONCE_A_LISTENER | ONCE_FOR_ACCESS | {"clientid", "include_dir", "username"}
) - _names("local_password log_timestamp_format remote_password")
"""Settings whose value is all that follows, a comment too. A password may have a # itself."""

PLUGIN_OPTIONS = ("auth_opt_", "plugin_opt_")

OF_LISTENER = frozenset({"listener", "port", "bind_address", "protocol", "mount_point"})
"""Settings of a listener that are modelled, or that change what names clients see."""

TLS_OF_BRIDGE = frozenset(
    {"bridge_cafile", "bridge_capath", "bridge_psk", "bridge_tls_use_os_certs"}
)
"""Any of these makes a connection use TLS."""

OF_BRIDGE = frozenset(
    {
        *("address", "addresses", "topic", "round_robin", "try_private", "start_type"),
        *("cleansession", "local_cleansession", "clientid", "username", "password"),
        *("local_clientid", "local_username", "local_password", "keepalive_interval"),
        *("remote_clientid", "remote_username", "remote_password"),
        *("notifications", "notifications_local_only", "notification_topic"),
        *("restart_timeout", "idle_timeout", "threshold"),
        *("bridge_protocol_version", "bridge_attempt_unsubscribe"),
        *(name for name in ASIDE if name.startswith("bridge_")),
    }
)
"""Settings that belong to the connection above them."""

KNOWN = frozenset({*ASIDE, *OF_LISTENER, *OF_BRIDGE, "connection", "include_dir"})
"""All of them."""
