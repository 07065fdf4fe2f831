"""Values of a text with their lines, and what of them nobody has asked for: that is told."""

from collections.abc import Iterator
from typing import Any

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.growing import Grown
from ropewalk.federation.showing import shown
from ropewalk.federation.yaml_text import Parsed, Path
from ropewalk.findings import Where

KINDS: dict[type, str] = {
    dict: "a map",
    list: "a list",
    str: "a text",
    int: "a number",
    bool: "true or false",
}


def tell_repeated(parsed: Parsed, file: str, drafts: Drafts, above: int = 0) -> None:
    """Names that a JSON text has twice; `above` are the lines before it in its file."""
    for name, first, last in parsed.repeated:
        what = f"{shown(name)} is written twice (line {first + above}), and only this one counts"
        drafts.warn(Where(file, last + above), "C020", f"{what}: keep one of them")


class View:
    """A map of a text. Every key that is asked for is taken; `rest` tells the others."""

    def __init__(self, parsed: Parsed, file: str, drafts: Drafts, path: Path = ()) -> None:
        self._parsed, self.file, self._drafts, self.path = parsed, file, drafts, path
        value: Any = parsed.value
        for step in path:
            value = value[step]
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}
        self._taken: set[str] = set()

    @property
    def where(self) -> Where:
        """Where it is written."""
        return self.place()

    def place(self, *steps: str | int) -> Where:
        """Where a value in it is written."""
        path = (*self.path, *steps)
        file = self._parsed.file_of(path) if isinstance(self._parsed, Grown) else self.file
        return Where(file or self.file, self._parsed.line_of(path))

    def has(self, key: str) -> bool:
        """Whether there is such a key, with a value."""
        return self.value.get(key) is not None

    def take(self, key: str) -> Any:
        """The raw value of a key, or None."""
        self._taken.add(key)
        return self.value.get(key)

    def text(self, key: str, default: str = "") -> str:
        """A text; a fault is noted if it is none."""
        value = self._of(key, str)
        return default if value is None else value

    def number(self, key: str) -> int | None:
        """A whole number, also one that is written as a text; a fault is noted if it is none."""
        value = self.take(key)
        if isinstance(value, str) and value.strip().removeprefix("-").isdecimal():
            return int(value)
        return self._of(key, int) if value is not None else None

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false; a fault is noted if it is neither."""
        value = self._of(key, bool)
        return default if value is None else value

    def texts(self, key: str) -> list[tuple[str, Where]]:
        """A list of texts, or one text, each with its place; what is none is noted."""
        value = self.take(key)
        if isinstance(value, str):
            return [(value, self.place(key))]
        found = self._of(key, list) or []
        for i, one in enumerate(found):
            if not isinstance(one, str):
                self._wrong(self.place(key, i), f"{key}[{i}]", str)
        return [(one, self.place(key, i)) for i, one in enumerate(found) if isinstance(one, str)]

    def map(self, key: str) -> "View":
        """A map in it; an empty one if it is not there, and a fault if it is no map."""
        if self._of(key, dict) is None:
            return View(Parsed(value={}, lines={}), self.file, self._drafts)
        return View(self._parsed, self.file, self._drafts, (*self.path, key))

    def maps(self, key: str) -> list["View"]:
        """A list of maps; what is none is noted and left out."""
        found = self._of(key, list) or []
        for i, one in enumerate(found):
            if not isinstance(one, dict):
                self._wrong(self.place(key, i), f"{key}[{i}]", dict)
        return [
            View(self._parsed, self.file, self._drafts, (*self.path, key, i))
            for i, one in enumerate(found)
            if isinstance(one, dict)
        ]

    def named(self, key: str) -> Iterator[tuple[str, "View"]]:
        """Maps by name, one after the other; what is none is noted and left out."""
        inner = self.map(key)
        for name in inner.value:
            if inner.value[name] is None or isinstance(inner.value[name], dict):
                yield name, inner.map(name)
            else:
                self._wrong(inner.place(name), name, dict)

    def leave(self, why: str, *keys: str) -> None:
        """Tell keys that are known, and why a federation has no room for them."""
        for key in keys:
            if key in self.value:
                self._taken.add(key)
                self._drafts.aside(self.place(key), key, why)

    def rest(self, why: str = "it is not known here") -> None:
        """Tell every key that nobody has asked for."""
        self.leave(why, *(key for key in self.value if key not in self._taken))

    def _of(self, key: str, kind: type) -> Any:
        value = self.take(key)
        good = isinstance(value, kind) and (kind is not int or not isinstance(value, bool))
        if value is not None and not good:
            self._wrong(self.place(key), key, kind)
        return value if good else None

    def _wrong(self, where: Where, what: str, kind: type) -> None:
        self._drafts.fault(where, "C005", f"{what} is not {KINDS[kind]}: write {KINDS[kind]}")
