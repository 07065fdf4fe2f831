"""Topic names between the federation (`a/b/c`, `+`, `#`) and each make, there and back.

Every federation name has exactly one name at a make; what comes from a make and is not that one
name of anything stays local (`None`): two names never become one.

| federation | NATS | RabbitMQ | Mosquitto |
|---|---|---|---|
| `a/b/c` | `a.b.c` | `a.b.c` | `a/b/c` |
| `a/b.c` | `a.b//c` | `a.b/c` | `a/b.c` |
| `a//b`, `/a` | `a./.b`, `/.a` | `a..b`, `.a` | `a//b`, `/a` |
| `a/+/c` | `a.*.c` | `a.*.c` | `a/+/c` |
| `a/#` | `a` and `a.>` | `a.#` | `a/#` |

NATS: as its own MQTT listener does; white space, `*`, `>` and `%` inside a level are written `%20`.
RabbitMQ: as its MQTT plug-in does; a level `*` or `#` is written `%2A`, `%23`, and `%` as `%25`.
"""

import re
from collections.abc import Iterable
from urllib.parse import unquote

from ropewalk.federation.topics import common

_NATS_UNSAFE = re.compile(r"[\s*>%\x00-\x1f\x7f]")
_ESCAPED = re.compile(r"%[0-9A-F]{2}")


def _percent(match: "re.Match[str]") -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


# --- NATS -----------------------------------------------------------------------------------


def to_nats(topic: str) -> str:
    """A federation topic as a NATS subject.

    >>> to_nats("a/b.c"), to_nats("/a//b"), to_nats("50% off/x y")
    ('a.b//c', '/.a./.b', '50%25%20off.x%20y')
    """
    return ".".join(_nats_level(level) for level in topic.split("/"))


def _nats_level(level: str) -> str:
    if not level:
        return "/"
    return _NATS_UNSAFE.sub(_percent, level).replace(".", "//")


def from_nats(subject: str) -> str | None:
    """The federation topic that a subject stands for; None if it is that of none.

    >>> from_nats("a.b//c"), from_nats("a/b"), from_nats("a%41")
    ('a/b.c', None, None)
    """
    levels = ["" if one == "/" else one.replace("//", ".") for one in subject.split(".")]
    topic = "/".join(unquote(one) for one in levels)
    return topic if to_nats(topic) == subject else None


def patterns_to_nats(pattern: str) -> tuple[str, ...]:
    """A federation pattern as subjects to subscribe to: `a/#` is both `a` and `a.>`.

    >>> patterns_to_nats("a/#"), patterns_to_nats("a/+/c"), patterns_to_nats("#")
    (('a', 'a.>'), ('a.*.c',), ('>',))
    """
    levels = pattern.split("/")
    rest = levels[-1] == "#"
    head = ".".join(
        "*" if one == "+" else _nats_level(one) for one in levels[: -1 if rest else None]
    )
    if not rest:
        return (head,)
    return (head, f"{head}.>") if head else (">",)


def pattern_from_nats(subject: str) -> str | None:
    """The federation pattern that a subscription's subject stands for; None if there is none.

    >>> pattern_from_nats("a.>"), pattern_from_nats("a.*.c"), pattern_from_nats(">")
    ('a/+/#', 'a/+/c', '#')
    """
    if subject == ">":
        return "#"
    found: list[str] = []
    for one in subject.split("."):
        if one == ">":
            found += ["+", "#"]
        elif one == "*":
            found.append("+")
        else:
            level = from_nats(one)
            if level is None or level in ("+", "#"):
                return None
            found.append(level)
    return "/".join(found)


# --- RabbitMQ -------------------------------------------------------------------------------

_SWAP = str.maketrans("/.", "./")


def to_amqp(topic: str) -> str:
    """A federation topic as a routing key.

    >>> to_amqp("a/b.c"), to_amqp("a//b"), to_amqp("a/*")
    ('a.b/c', 'a..b', 'a.%2A')
    """
    if "%" in topic or "*" in topic or "#" in topic:
        levels = (one.replace("%", "%25") for one in topic.split("/"))
        topic = "/".join({"*": "%2A", "#": "%23"}.get(one, one) for one in levels)
    return topic.translate(_SWAP)


def from_amqp(key: str) -> str | None:
    """The federation topic that a routing key stands for; None if it is that of none."""
    topic = key.translate(_SWAP)
    if "%" in topic or "*" in topic or "#" in topic:
        topic = _ESCAPED.sub(lambda found: unquote(found[0]), topic)
        return topic if to_amqp(topic) == key else None
    return topic


def pattern_to_amqp(pattern: str) -> str:
    """A federation pattern as a binding key.

    >>> pattern_to_amqp("a/#"), pattern_to_amqp("a/+/c")
    ('a.#', 'a.*.c')
    """
    wild = {"+": "*", "#": "#"}
    return ".".join(wild.get(one) or to_amqp(one) for one in pattern.split("/"))


def pattern_from_amqp(key: str) -> str | None:
    """The narrowest federation pattern that holds all a binding key does; None if there is none.

    >>> pattern_from_amqp("a.#"), pattern_from_amqp("a.*.c"), pattern_from_amqp("a.#.b")
    ('a/#', 'a/+/c', 'a/#')
    """
    found: list[str] = []
    for one in key.split("."):
        if one == "#":
            return "/".join([*found, "#"])
        level = "+" if one == "*" else from_amqp(one)
        if level is None or (level in ("+", "#") and one != "*"):
            return None
        found.append(level)
    return "/".join(found)


# --- which subscription a message belongs to ------------------------------------------------


def cover(patterns: Iterable[str]) -> tuple[str, ...]:
    """Patterns without those that another one of them covers.

    >>> cover(["a/b", "a/#", "+/b"])
    ('a/#', '+/b')
    """
    wide = dict.fromkeys(patterns)
    return tuple(one for one in wide if not any(o != one and common(o, one) == one for o in wide))
