"""Lines that Mosquitto knows and still does not start with, as tried with 2.0.11.

It takes most texts once only: a second one in the same place ends it. `per_listener_settings true`
gives each listener files of its own for who may connect.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.mosquitto.known import (
    ACCESS,
    BOOLEANS,
    GONE,
    NO_START,
    OF_BRIDGE,
    ONCE,
    ONCE_A_LISTENER,
    ONCE_FOR_ACCESS,
    PLUGIN_OPTIONS,
    RANGES,
    WORDS,
)
from ropewalk.federation.readers.mosquitto.lines import TRUTH, Setting
from ropewalk.findings import Where

_ALL = str(IPv4Address(0))
_PLUGINS = ("auth_plugin", "plugin", "global_plugin", "plugin_load", "plugin_use")
_NUMBER = re.compile(r"[-+]?\d{1,12}")
_DURATION = re.compile(r"0*[1-9]\d*[hdwmy]\Z")
_CERTIFICATES = ("bridge_cafile", "bridge_capath", "bridge_certfile", "bridge_keyfile")
_SAME = {name: f"remote_{name}" for name in ("clientid", "username", "password")}


@dataclass(slots=True)
class Starting:
    """What was given so far in the files of one broker."""

    drafts: Drafts
    per_listener: bool = False
    plugin: bool = False
    access: bool = False
    """Whether something was said of who may connect."""
    _given: dict[tuple[str, int], Where] = field(default_factory=dict)

    def look(self, setting: Setting, listener: int, connection: int) -> None:
        """Tell if this line keeps Mosquitto from starting; places are any numbers of their own."""
        name = setting.name
        self.plugin = self.plugin or name in _PLUGINS
        if name in GONE:
            self._tell(setting, f"it is unknown from 2.0 on, {NO_START}: remove the line")
        elif name.startswith(PLUGIN_OPTIONS):
            if not self.plugin:
                what = f"it stands before any plugin, {NO_START}"
                self._tell(setting, f"{what}: write auth_plugin or plugin above it")
            self.plugin = True  # told once
        elif setting.value:
            self._look_at_value(setting)
            self._look_for_another(setting, listener, connection)

    def _look_at_value(self, setting: Setting) -> None:
        truth = TRUTH.get(setting.words[0])
        if setting.name in BOOLEANS and truth is None:
            what = f"it is neither true nor false, {NO_START}"
            self._tell(setting, f"{what}: write true or false")
        self._look_at_number(setting)
        words = WORDS.get(setting.name)
        if words is not None and setting.words[0] not in words:
            what = f"Mosquitto does not know this value, {NO_START}"
            self._tell(setting, f"{what}: write {', '.join(sorted(words))}")
        if setting.name == "log_dest" and setting.words == ["file"]:
            self._tell(setting, f"the file has no path, {NO_START}: write log_dest file PATH")
        lasts = setting.name == "persistent_client_expiration"
        if lasts and not _DURATION.match(setting.words[0]):
            what = f"it needs a number with h, d, w, m or y at its end, {NO_START}"
            self._tell(setting, f"{what}: write 14d for two weeks")
        self.access = self.access or setting.name in ACCESS
        if setting.name == "per_listener_settings":
            self.per_listener = bool(truth)
            if truth and self.access:
                what = f"it stands after settings of who may connect, {NO_START}"
                self._tell(setting, f"{what}: move it to the beginning")

    def _look_at_number(self, setting: Setting) -> None:
        numbers = [int(found[0]) if (found := _NUMBER.match(word)) else 0 for word in setting.words]
        least, most = RANGES.get(setting.name, (numbers[0], numbers[0]))
        if not least <= numbers[0] <= most:
            bound = f"{least} or more" if numbers[0] < least else f"at most {most}"
            self._tell(setting, f"it is out of range, {NO_START}: write {bound}")
        if setting.name == "restart_timeout" and numbers[1:] and numbers[1] < numbers[0]:
            what = f"what follows the first number is less, {NO_START}"
            self._tell(setting, f"{what}: write the longest wait second, and no comment")

    def _look_for_another(self, setting: Setting, listener: int, connection: int) -> None:
        name = _SAME.get(setting.name, setting.name)
        each = name in ONCE_A_LISTENER or (name in ONCE_FOR_ACCESS and self.per_listener)
        if name not in ONCE | ONCE_A_LISTENER | ONCE_FOR_ACCESS:
            return
        place = connection if name in OF_BRIDGE else listener if each else 0
        before = self._given.setdefault((name, place), setting.where)
        if before != setting.where:
            at = seen_from(before, setting.where)
            self._tell(setting, f"given {at} already, {NO_START}: remove one")

    def _tell(self, setting: Setting, what: str) -> None:
        self.drafts.warn(setting.where, "C020", f"{setting.name}: {what}")


def tell_half_secrets(settings: Iterable[Setting], drafts: Drafts) -> None:
    """A connection's key that has no name, or a name without a key, or certificates beside them."""
    given = {one.name: one.where for one in settings if one.value}
    pair = ("bridge_psk", "bridge_identity")
    halves = [name for name in pair if name in given]
    other = next((name for name in _CERTIFICATES if name in given), None)
    if len(halves) == 1:
        missing = next(name for name in pair if name not in given)
        what = f"{halves[0]} stands without {missing}, {NO_START}"
        drafts.warn(given[halves[0]], "C020", f"{what}: write both, or neither")
    if halves and other is not None:
        what = f"{other} stands beside {halves[0]}, {NO_START}"
        drafts.warn(given[other], "C020", f"{what}: write a key or certificates")


def seen_from(there: Where, here: Where) -> str:
    """Where another line is, as seen from this one."""
    return f"in line {there.line}" if there.file == here.file else f"at {there}"


def tell_same_ports(listeners: Iterable[tuple[Where, str, int]], drafts: Drafts) -> None:
    """Two listeners that need the same port of the same address."""
    before: list[tuple[Where, str, int]] = []
    for where, host, port in listeners:
        other = next((at for at, name, one in before if one == port and _meet(name, host)), None)
        if other is not None:
            what = f"port {port} is listened at {seen_from(other, where)} already"
            fix = "remove one, or give each an address of its own"
            drafts.warn(where, "C020", f"{what}, {NO_START}: {fix}")
        before.append((where, host, port))


def _meet(a: str, b: str) -> bool:
    if a == b or "" in (a, b):
        return True
    return _ALL in (a, b) and ":" not in a + b
