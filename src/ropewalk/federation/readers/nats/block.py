"""A map of a NATS configuration: the server takes its keys in any case, and by all their names."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.nats.refused import LEAST_LAME_S, is_subject, seconds_of
from ropewalk.federation.readers.nats.settings import (
    FLAGS,
    NUMBERS,
    OTHERWISE,
    TIMES,
    WHY,
    Names,
)
from ropewalk.federation.readers.nats.syntax import NatsText, Unset
from ropewalk.federation.readers.view import KINDS
from ropewalk.federation.showing import label
from ropewalk.federation.yaml_text import Path
from ropewalk.findings import Where


class Block:
    """Every setting that is asked for is taken; `rest` tells the others."""

    def __init__(
        self,
        text: NatsText,
        drafts: Drafts,
        names: Names,
        path: Path = (),
        value: Mapping[str, Any] | None = None,
    ) -> None:
        self._text, self.drafts, self._names, self.path = text, drafts, names, path
        self.value: Mapping[str, Any] = {} if value is None else value
        self._written: dict[str, str] = {}
        self._taken: set[str] = set()
        for key in self.value:
            self._know(key)

    def _know(self, key: str) -> None:
        name = self._names.get(key.lower())
        if name is None:
            return
        if name in self._written:
            other = self._written[name]
            what = f"{label(key)} and {label(other)} are the same setting"
            self.drafts.warn(self._place(key), "C020", f"{what}: keep one: either may win")
        self._written[name] = key

    # --- places -----------------------------------------------------------------------------

    def _place(self, *steps: str | int) -> Where:
        return self._text.where((*self.path, *steps))

    @property
    def where(self) -> Where:
        """Where it is written."""
        return self._place()

    def place(self, name: str, *steps: str | int) -> Where:
        """Where a setting is written, or a value in it."""
        key = self._written.get(name)
        return self.where if key is None else self._place(key, *steps)

    # --- values -----------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether there is such a setting."""
        return name in self._written

    def take(self, name: str) -> Any:
        """A setting's raw value, or None."""
        self._taken.add(name)
        key = self._written.get(name)
        return None if key is None else self.value[key]

    def wrong(self, name: str, should: str, *steps: int) -> None:
        """Note a fault: a setting is not what it should be."""
        self.drafts.fault(
            self.place(name, *steps), "C005", f"{name} is not {should}: write {should}"
        )

    def text(self, name: str) -> str:
        """A text, or empty; a variable that is not set is empty and was told."""
        return self._of(name, str, "")  # type: ignore[no-any-return]

    def name(self, name: str = "name") -> str:
        """A server's or cluster's name, which has no spaces."""
        found = self.text(name)
        if " " in found:
            self.wrong(name, "a name without spaces")
        return found

    def subjects(self, name: str) -> list[tuple[str, Where]]:
        """A list of subjects, or one."""
        found = self.texts(name)
        for one, where in found:
            if not is_subject(one):
                what = f"{name} has {label(one)}, which is no subject"
                self.drafts.fault(where, "C005", f"{what}: write levels with a dot between")
        return [pair for pair in found if is_subject(pair[0])]

    def number(self, name: str) -> int | None:
        """A whole number."""
        return self._of(name, int, None)  # type: ignore[no-any-return]

    def flag(self, name: str) -> bool:
        """True or false; without it false."""
        return self._of(name, bool, False)  # type: ignore[no-any-return]

    def _of(self, name: str, kind: type, default: Any) -> Any:
        value = self.take(name)
        if value is None or isinstance(value, Unset):
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.wrong(name, KINDS[kind])
            return default
        return value

    def texts(self, name: str, *, alone: bool = True) -> list[tuple[str, Where]]:
        """A list of texts, or (`alone`) one text, each with its place."""
        value = self.take(name)
        if value is None or isinstance(value, Unset):
            return []
        if isinstance(value, str) and alone:
            return [(value, self.place(name))]
        if not isinstance(value, list):
            self.wrong(name, "a list of texts: [ ... ]")
            return []
        found = []
        for i, one in enumerate(value):
            if isinstance(one, str) and not isinstance(one, Unset):
                found.append((one, self.place(name, i)))
            elif not isinstance(one, str):
                self.wrong(name, "a list of texts: [ ... ]", i)
        return found

    def block(self, name: str, names: Names) -> "Block | None":
        """A map in it, or None."""
        value = self.take(name)
        if value is None or isinstance(value, Unset):
            return None
        if not isinstance(value, dict):
            self.wrong(name, "a map")
            return None
        return self._inner(names, (self._written[name],), value)

    def blocks(self, name: str, names: Names) -> Iterator["Block"]:
        """A list of maps."""
        value = self.take(name)
        if value is None or isinstance(value, Unset):
            return
        if not isinstance(value, list):
            self.wrong(name, "a list of maps: [ {...} ]")
            return
        for i, one in enumerate(value):
            if isinstance(one, dict):
                yield self._inner(names, (self._written[name], i), one)
            elif not isinstance(one, Unset):
                self.wrong(name, "a list of maps: [ {...} ]", i)

    def named(self, names: Names) -> Iterator[tuple[str, "Block"]]:
        """Maps by their names, which may be any."""
        for key, one in self.value.items():
            if (id(self.value), key) in self._text.used:
                continue
            if isinstance(one, dict):
                yield key, self._inner(names, (key,), one)
            else:
                what = f"{label(key)} is not a map: write {{ ... }} after it"
                self.drafts.fault(self._place(key), "C005", what)

    def _inner(self, names: Names, steps: Path, value: Mapping[str, Any]) -> "Block":
        return Block(self._text, self.drafts, names, (*self.path, *steps), value)

    # --- what is left -----------------------------------------------------------------------

    def leave(self, *names: str) -> None:
        """Tell settings that are known and have no room in a federation."""
        for name in names:
            if self.has(name):
                self._check(name)
                self.drafts.aside(
                    self.place(name), label(self._written[name]), WHY.get(name, OTHERWISE)
                )

    def _check(self, name: str) -> None:
        """Take a setting that is only told; the server looks at what kind of value it has."""
        if name in FLAGS:
            self.flag(name)
        elif name in NUMBERS:
            self.number(name)
        elif name in TIMES:
            self._time(name)
        self._taken.add(name)

    def _time(self, name: str) -> None:
        value = self.take(name)
        if not isinstance(value, str) or isinstance(value, Unset):
            return
        seconds = seconds_of(value)
        if seconds is None:
            self.wrong(name, "a time with its unit, such as 10s")
        elif name == "lame_duck_duration" and seconds < LEAST_LAME_S:
            self.wrong(name, f"at least {LEAST_LAME_S}s")

    def skip(self, *names: str) -> None:
        """Settings that need not be told: they are part of what is told elsewhere."""
        self._taken.update(names)

    def rest(self) -> None:
        """Tell every setting that nobody has asked for."""
        self.leave(*(name for name in self._written if name not in self._taken))
        for key in self.value:
            known = key.lower() in self._names or (id(self.value), key) in self._text.used
            if not known:
                what = f"{label(key)} is no setting of nats-server up to 2.15"
                advice = "so it does not start: correct the name, or remove it"
                self.drafts.warn(self._place(key), "C020", f"{what}, {advice}")


def unique(names: Iterable[str]) -> list[str]:
    """Names without repetitions, in their order."""
    return list(dict.fromkeys(names))
