"""Values that nats-server 2.15 refuses: times, sizes, subjects and URLs."""

import re

_TIME = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|[+-]?0")
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6}
_SIZE = re.compile(r"(?:[+-]?\d+[KMGT])?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_USER = re.compile(r"(?:[A-Za-z0-9._:~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})*")
_HOST = re.compile(r"(?:[^\x00-\x20\x7f|\\^`{}/?#%\[]|%[89A-Fa-f][0-9A-Fa-f])*")
_INSIDE = re.compile(r"\[(?:[^\x00-\x20\x7f|\\^`{}/?#%]|%25|%[89A-Fa-f][0-9A-Fa-f])+")
_PORT = re.compile(r"(?::\d*)?", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_BRACES = re.compile(r"\$\{|\{\{|\{\w+\}")
LEAST_LAME_S = 30


def seconds_of(text: str) -> float | None:
    """A time as Go writes it, in seconds; None if it is none.

    >>> seconds_of("1m30s"), seconds_of("10")
    (90.0, None)
    """
    if not _TIME.fullmatch(text):
        return None
    found = sum(float(one[1]) * _SECONDS.get(one[2], 1e-9) for one in _PART.finditer(text))
    return -found if text.startswith("-") else found


def is_size(text: str) -> bool:
    """Whether a text says how much JetStream may store.

    >>> is_size("10G"), is_size("10GB")
    (True, False)
    """
    return _SIZE.fullmatch(text) is not None


def is_subject(text: str) -> bool:
    """Whether a text is a subject, with wildcards or without.

    >>> is_subject("a.*.>"), is_subject("a..b"), is_subject("a.>.b")
    (True, False, False)
    """
    levels = text.split(".")
    return all(levels) and ">" not in levels[:-1] and not re.search(r"\s", text)


def is_filled_in(text: str) -> bool:
    """Whether a URL has no braces as templates have them."""
    return _BRACES.search(text) is None


def is_url(text: str) -> bool:
    """Whether the server can take a URL apart, wherever it then leads.

    >>> is_url("nats://h:1"), is_url("h:1"), is_url("nats://h:foo"), is_url("1.2.3.4:5")
    (True, True, False, False)
    """
    text, _, fragment = text.strip().partition("#")
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme is not None else text
    rest = rest.partition("?")[0]
    if scheme is None and (text.startswith(":") or ":" in rest.partition("/")[0]):
        return False
    if _CONTROL.search(text) or _BAD_ESCAPE.search(fragment):
        return False
    if scheme is not None and not rest.startswith("/"):
        return True
    place, path = "", rest
    if rest.startswith("//") and (scheme is not None or not rest.startswith("///")):
        place, slash, path = rest[2:].partition("/")
        path = slash + path
    return _BAD_ESCAPE.search(path) is None and _is_place(place)


def _is_place(text: str) -> bool:
    """What stands between // and a path: perhaps a user, a host, perhaps a port."""
    user, _, place = text.rpartition("@")
    if _USER.fullmatch(user) is None:
        return False
    if place.startswith("["):
        inside, end, port = place.rpartition("]")
        return (
            bool(end)
            and _INSIDE.fullmatch(inside) is not None
            and _PORT.fullmatch(port) is not None
        )
    host, colon, port = place.rpartition(":")
    return (
        _HOST.fullmatch(host or place) is not None
        and _PORT.fullmatch(colon + port if colon else "") is not None
    )
