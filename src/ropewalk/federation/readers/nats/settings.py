"""Every setting of nats-server up to 2.15, by block, with the other names that it goes by."""

from collections.abc import Mapping

Names = Mapping[str, str]
"""A setting's names, in small letters, to the one that is used here."""


def _names(*settings: str) -> Names:
    found: dict[str, str] = {}
    for one in settings:
        first, *others = one.split()
        found.update(dict.fromkeys((first, *others), first))
    return found


_PLACE = ("listen", "port", "host net")
_TIMES = ("write_deadline", "write_timeout")

TOP = _names(
    *_PLACE,
    *_TIMES,
    "client_advertise",
    "server_name",
    "cluster",
    "gateway",
    "leafnodes leaf",
    "accounts",
    "authorization",
    "mqtt",
    "websocket ws",
    "mappings maps",
    "system_account system",
    "no_auth_user",
    "tls",
    "jetstream",
    "operator operators roots root root_operators root_operator",
    "resolver account_resolver accounts_resolver",
    "resolver_tls",
    "resolver_preload",
    "resolver_pinned_accounts",
    "trusted_keys trusted",
    "no_system_account no_system no_sys_acc",
    "allow_non_tls",
    "server_tags",
    "server_metadata",
    "default_js_domain",
    *("debug", "trace", "trace_verbose", "trace_headers", "logtime", "logtime_utc", "syslog"),
    *("log_file logfile", "log_size_limit logfile_size_limit", "log_max_num logfile_max_num"),
    *("remote_syslog", "pid_file pidfile", "ports_file_dir", "prof_port", "prof_block_rate"),
    *("http", "https", "http_port monitor_port", "https_port", "http_base_path"),
    *("max_control_line", "max_payload", "max_pending", "max_connections max_conn"),
    *("max_subscriptions max_subs", "max_sub_tokens max_subscription_tokens", "max_closed_clients"),
    *("max_traced_msg_len", "ping_interval", "ping_max", "lame_duck_duration"),
    *("lame_duck_grace_period", "connect_error_reports", "reconnect_error_reports"),
    *("disable_sublist_cache no_sublist_cache", "no_header_support", "no_fast_producer_stall"),
    *("ocsp", "ocsp_cache", "default_sentinel", "proxies", "feature_flags", "store_dir storedir"),
    "proxy_protocol",
)
CLUSTER = _names(
    *_PLACE,
    *_TIMES,
    "name",
    "routes",
    "tls",
    "advertise cluster_advertise",
    *("authorization", "no_advertise", "permissions", "accounts", "pool_size", "compression"),
    *("connect_retries", "connect_backoff", "ping_interval", "ping_max"),
)
GATEWAY = _names(
    *_PLACE,
    *_TIMES,
    "name",
    "gateways",
    "tls",
    "advertise",
    "reject_unknown_cluster reject_unknown",
    *("authorization", "connect_retries", "connect_backoff"),
)
FAR_CLUSTER = _names("name", "url", "urls", "tls")
LEAFNODES = _names(
    *_PLACE,
    *_TIMES,
    "remotes",
    "tls",
    "authorization",
    "advertise leafnode_advertise",
    "no_advertise",
    "isolate_leafnode_interest isolate",
    *("reconnect reconnect_delay reconnect_interval", "min_version minimum_version"),
    *("compression", "dial_timeout"),
)
REMOTE = _names(
    "url urls",
    "account local",
    "deny_imports deny_import",
    "deny_exports deny_export",
    "no_randomize dont_randomize",
    "disabled",
    "tls",
    "credentials creds",
    "nkey seed",
    "hub",
    "ignore_discovered_servers",
    "isolate_leafnode_interest isolate",
    "request_isolation",
    *("jetstream_cluster_migrate js_cluster_migrate", "compression", "proxy", "dial_timeout"),
    "websocket_compression ws_compress ws_compression websocket_compress",
    *("websocket_no_masking ws_no_masking", "first_info_timeout"),
)
LOGINS = _names(
    *("user username", "password pass", "token", "users", "timeout", "auth_callout"),
    *("default_permissions default_permission permissions", "proxy_required"),
)
LEAF_LOGINS = _names(
    *("user username", "password pass", "users", "timeout", "account", "nkey", "proxy_required")
)
LEAF_LOGIN = _names("user username", "password pass", "account", "proxy_required")
ACCOUNT = _names(
    *("users", "exports", "imports", "mappings maps", "jetstream", "default_permissions"),
    *("limits", "nkey", "msg_trace trace_dest"),
)
EXPORT = _names(
    *("stream", "service", "accounts", "account_token_position", "latency", "allow_trace"),
    *("response_type response", "threshold response_threshold response_max_time response_time"),
)
IMPORT = _names("stream", "service", "prefix", "to", "share", "allow_trace")
SOURCE = _names("account", "subject")
JETSTREAM = _names(
    *("domain", "store_dir store storedir", "enabled enable", "cipher"),
    *(
        "max_mem max_mem_store max_memory_store",
        "max_file max_file_store",
        "key ek encryption_key",
        "prev_key prev_ek prev_encryption_key",
    ),
    *("limits", "unique_tag", "extension_hint", "max_outstanding_catchup", "max_buffered_msgs"),
    *("max_buffered_size", "max_concurrent_io", "meta_compact", "meta_compact_size", "strict"),
    *("meta_compact_sync", "info_queue_limit", "request_queue_limit", "sync_interval sync", "tpm"),
)
DOOR = _names(
    *_PLACE,
    "tls",
    *("authorization", "no_auth_user", "advertise", "compression compress", "handshake_timeout"),
    *("allowed_origins allowed_origin allow_origins allow_origin origins origin", "same_origin"),
    *("headers", "jwt_cookie", "user_cookie", "pass_cookie", "token_cookie", "no_tls"),
    *("ping_interval", "ack_wait", "consumer_auto_cleanup", "consumer_inactive_threshold"),
    *("consumer_memory_storage", "consumer_replicas", "stream_replicas", "js_domain"),
    *("js_api_timeout api_timeout", "max_ack_pending max_inflight max_pending"),
    *("reject_qos2_publish", "downgrade_qos2_subscribe downgrade_qos2_sub"),
)
"""Of `mqtt` and of `websocket`: where clients of other kinds come in."""

FLAGS = frozenset(
    (
        *("debug", "trace", "trace_verbose", "trace_headers", "logtime", "logtime_utc", "syslog"),
        *("allow_non_tls", "no_system_account", "no_fast_producer_stall", "no_header_support"),
        *("disable_sublist_cache", "no_advertise", "connect_backoff", "hub", "request_isolation"),
        *("isolate_leafnode_interest", "ignore_discovered_servers", "websocket_compression"),
        *("websocket_no_masking", "no_tls", "same_origin", "consumer_memory_storage"),
        *("reject_qos2_publish", "downgrade_qos2_subscribe"),
    )
)
"""Settings that are true or false; the server does not load a file with anything else."""
NUMBERS = frozenset(
    (
        *("http_port", "https_port", "prof_port", "prof_block_rate", "ping_max", "pool_size"),
        *("max_payload", "max_pending", "max_connections", "max_control_line", "max_sub_tokens"),
        *("max_subscriptions", "max_closed_clients", "max_traced_msg_len", "connect_retries"),
        *("connect_error_reports", "reconnect_error_reports", "max_ack_pending"),
        *("stream_replicas",),
    )
)
"""Settings that are whole numbers, sizes without quotes among them."""

TIMES = frozenset(
    ("lame_duck_duration", "lame_duck_grace_period", "write_deadline", "ping_interval")
)
"""Settings that are times; the server does not load a file with a text that is none."""

WHY = {
    **dict.fromkeys(("authorization", "permissions", "default_permissions"), "who may log in"),
    **dict.fromkeys(("users", "user", "password", "token", "nkey"), "who may log in"),
    **dict.fromkeys(("http", "https", "http_port", "https_port", "http_base_path"), "monitoring"),
    **dict.fromkeys(("debug", "trace", "trace_verbose", "trace_headers", "logtime"), "logging"),
    **dict.fromkeys(("log_file", "log_size_limit", "log_max_num", "syslog"), "logging"),
    **dict.fromkeys(("remote_syslog", "logtime_utc", "max_traced_msg_len"), "logging"),
    **dict.fromkeys(("pid_file", "ports_file_dir", "prof_port", "prof_block_rate"), "the process"),
    **dict.fromkeys(("compression", "write_deadline", "write_timeout"), "how it is sent"),
    **dict.fromkeys(("reconnect", "connect_retries", "connect_backoff"), "how soon it is retried"),
    **dict.fromkeys(("ping_interval", "ping_max", "dial_timeout"), "how soon a failure is seen"),
    **dict.fromkeys(("jetstream", "store_dir", "default_js_domain"), "what is stored"),
    **dict.fromkeys(("limits", "max_payload", "max_connections", "max_pending"), "a limit"),
    **dict.fromkeys(("max_subscriptions", "max_sub_tokens", "max_control_line"), "a limit"),
    **dict.fromkeys(("ocsp", "ocsp_cache", "allow_non_tls", "tls"), "encryption"),
    "no_advertise": "addresses that are passed on",
    "mappings": "it gives published subjects other names inside its account",
    "no_auth_user": "the account of clients that do not log in",
    "resolver": "accounts are kept elsewhere",
    "resolver_preload": "accounts are kept elsewhere: what is in their tokens is not read",
    "operator": "accounts are kept elsewhere: those that are not in this file are not known",
    "credentials": "the account at the hub depends on the user it logs in as",
    "isolate_leafnode_interest": "leaf nodes of one server do not hear of each other",
    "request_isolation": "the hub shall not tell it of other leaf nodes' subscriptions",
}
OTHERWISE = "it does not change where messages go"
