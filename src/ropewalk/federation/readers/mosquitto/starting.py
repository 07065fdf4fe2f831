"""Lines that Mosquitto knows and still does not start with, as tried with 2.0.11.

It takes most texts once only: a second one in the same place ends it. `per_listener_settings true`
gives each listener files of its own for who may connect.
"""

from dataclasses import dataclass, field

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.mosquitto.known import (
    BOOLEANS,
    GONE,
    OF_BRIDGE,
    ONCE,
    ONCE_A_LISTENER,
    ONCE_FOR_ACCESS,
    PLUGIN_OPTIONS,
)
from ropewalk.federation.readers.mosquitto.lines import TRUTH, Setting
from ropewalk.findings import Where

_PLUGINS = ("auth_plugin", "plugin", "global_plugin", "plugin_load", "plugin_use")
_SAME = {name: f"remote_{name}" for name in ("clientid", "username", "password")}


@dataclass(slots=True)
class Starting:
    """What was given so far in the files of one broker."""

    drafts: Drafts
    per_listener: bool = False
    plugin: bool = False
    _given: dict[tuple[str, int], Where] = field(default_factory=dict)

    def look(self, setting: Setting, listener: int, connection: int) -> None:
        """Tell if this line keeps Mosquitto from starting; places are any numbers of their own."""
        name = setting.name
        self.plugin = self.plugin or name in _PLUGINS
        if name in GONE:
            self._tell(setting, "from 2.0 on Mosquitto does not start with it: remove the line")
        elif name.startswith(PLUGIN_OPTIONS):
            if not self.plugin:
                what = "it stands before any plugin, so Mosquitto does not start"
                self._tell(setting, f"{what}: write auth_plugin or plugin above it")
            self.plugin = True  # told once
        elif setting.value:
            self._look_at_value(setting)
            self._look_for_another(setting, listener, connection)

    def _look_at_value(self, setting: Setting) -> None:
        truth = TRUTH.get(setting.words[0])
        if setting.name in BOOLEANS and truth is None:
            what = "it is neither true nor false, so Mosquitto does not start"
            self._tell(setting, f"{what}: write true or false")
        if setting.name == "per_listener_settings":
            self.per_listener = bool(truth)

    def _look_for_another(self, setting: Setting, listener: int, connection: int) -> None:
        name = _SAME.get(setting.name, setting.name)
        each = name in ONCE_A_LISTENER or (name in ONCE_FOR_ACCESS and self.per_listener)
        if name not in ONCE | ONCE_A_LISTENER | ONCE_FOR_ACCESS:
            return
        place = connection if name in OF_BRIDGE else listener if each else 0
        before = self._given.setdefault((name, place), setting.where)
        if before != setting.where:
            at = f"in line {before.line}" if before.file == setting.where.file else f"at {before}"
            self._tell(setting, f"given {at} already, so Mosquitto does not start: remove one")

    def _tell(self, setting: Setting, what: str) -> None:
        self.drafts.warn(setting.where, "C020", f"{setting.name}: {what}")
