"""Subscriptions of a Mosquitto's clients, as far as its log shows them.

Mosquitto has no list of its subscriptions. With `log_dest topic` and `log_type subscribe`,
`unsubscribe` and `notice` it publishes each change as it happens. What was subscribed before the
agent came is not seen: the federation file's declared subscribers stand beside this, always.
"""

import re
from collections.abc import Callable

from ropewalk.agent.brokers.contract import PREFIX

SUBSCRIBE = "$SYS/broker/log/M/subscribe"
UNSUBSCRIBE = "$SYS/broker/log/M/unsubscribe"
NOTICE = "$SYS/broker/log/N"
WATCHED = (SUBSCRIBE, UNSUBSCRIBE, NOTICE)

_TIME = re.compile(r"^\d+: ")
_SUBSCRIBED = re.compile(r"(.+?) [012] (.+)")
_CONNECTED = re.compile(r"New client connected from \S+ as (.+) \(p(\d), c(\d), ")
_GONE = re.compile(r"Client (.+?) (?:disconnected|closed its connection|has exceeded timeout)")
_MQTT_5 = 5

Say = Callable[[str, str], None]


class Watch:
    """Reads the log of a broker and says what changes; own clients are left out."""

    def __init__(self, subscribed: Say, unsubscribed: Say, own: frozenset[str]) -> None:
        self._subscribed = subscribed
        self._unsubscribed = unsubscribed
        self._own = own
        self._wants: dict[str, dict[str, str]] = {}
        """By client: the filters that it gave, and their patterns."""
        self._brief: set[str] = set()
        """Clients whose sessions end with their connections."""

    def note(self, topic: str, payload: bytes) -> None:
        """Take one line of the log."""
        line = _TIME.sub("", payload.decode(errors="replace"))
        if topic == SUBSCRIBE:
            found = _SUBSCRIBED.fullmatch(line)
            if found:
                self._add(found[1], found[2])
        elif topic == UNSUBSCRIBE:
            self._remove(line)
        elif topic == NOTICE:
            self._notice(line)

    def _add(self, client: str, wanted: str) -> None:
        pattern = _pattern(wanted)
        known = self._wants.get(client, {})
        if client in self._own or pattern is None or wanted in known:
            return
        new = pattern not in known.values()
        self._wants.setdefault(client, {})[wanted] = pattern
        if new:
            self._subscribed(client, pattern)

    def _remove(self, line: str) -> None:
        """`CLIENT FILTER`: either may have spaces, so only what is known tells them apart."""
        for at in (found.start() for found in re.finditer(" ", line)):
            client, wanted = line[:at], line[at + 1 :]
            if wanted in self._wants.get(client, ()):
                pattern = self._wants[client].pop(wanted)
                if pattern not in self._wants[client].values():
                    self._unsubscribed(client, pattern)
                return

    def _notice(self, line: str) -> None:
        """Clean sessions begin without subscriptions; those before MQTT 5 also end so.

        An MQTT 5 session may outlive its connection for a time that is not shown: it keeps what it
        wants until its client comes with a clean one.
        """
        if found := _CONNECTED.match(line):
            client, version, clean = found[1], int(found[2]), found[3] == "1"
            if clean:
                self._forget(client)
            if clean and version < _MQTT_5:
                self._brief.add(client)
            else:
                self._brief.discard(client)
        elif (found := _GONE.match(line)) and found[1] in self._brief:
            self._forget(found[1])

    def _forget(self, client: str) -> None:
        self._brief.discard(client)
        for pattern in dict.fromkeys(self._wants.pop(client, {}).values()):
            self._unsubscribed(client, pattern)


def _pattern(wanted: str) -> str | None:
    """The pattern of a filter, without its share; None if it is none of the federation's.

    >>> _pattern("$share/workers/a/+"), _pattern("$SYS/#"), _pattern("_rw/b")
    ('a/+', None, None)
    """
    if wanted.startswith("$share/"):
        wanted = wanted.split("/", 2)[2]
    local = wanted.startswith("$") or wanted.split("/", 1)[0] == PREFIX
    return None if local else wanted
