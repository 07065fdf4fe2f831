"""`$ref`: what stands in a document's place, in this file or another one."""

import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.view import View, tell_repeated
from ropewalk.federation.showing import label, shown
from ropewalk.federation.yaml_text import Parsed, Path
from ropewalk.findings import Where

MAX_CHAIN = 64
Spot = tuple[str, Path]
"""A value's file, and its path there."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_EFFECTIVE = {
    *("host", "url", "pathname", "protocol", "protocolVersion", "variables", "bindings", "enum"),
    *("default", "schema", "address", "servers", "parameters", "publish", "subscribe", "action"),
    *("channel", "reply", "traits"),
}
"""Fields that decide where messages go."""
PARSED = (
    "'$ref:$...' is how a parser's output speaks of another part of itself: "
    "give the document that was parsed"
)
_NOT_THERE = "nothing stands there: correct it, or write what it refers to"


class References:
    """The documents that belong together, and what their references lead to.

    Another file is asked for once, by its path as seen from the first document's folder.
    """

    def __init__(
        self,
        parsed: Parsed,
        file: str,
        drafts: Drafts,
        resolve_file: Callable[[str], Parsed | None],
    ) -> None:
        self._drafts, self._resolve_file = drafts, resolve_file
        # Documents by their paths as seen from the first one's folder, and as messages name them.
        self._folder, self._first = posixpath.split(file)
        self._documents: dict[str, Parsed | None] = {self._first: parsed}
        self._files = {self._first: file}
        self._paths = {file: self._first, posixpath.normpath(file): self._first}
        self._found: dict[Spot, Spot | None] = {}
        self._under_way: list[Spot] = []
        self._reached: set[Spot] = set()

    def root(self, file: str) -> View:
        """A document as a whole."""
        return self._view((self._paths[file], ()))

    def is_reached(self, view: View, name: str) -> bool:
        """Whether a reference that was followed led to an entry."""
        return (self._paths[view.file], (*view.path, name)) in self._reached

    def at(self, view: View | None, *steps: str | int) -> View | None:
        """The map that stands there, or that its `$ref` leads to; a fault is noted if it is none.

        None if there is nothing, or nothing that can be read.
        """
        if view is None or _inner(view.value, steps) is None:
            return None
        start = (self._paths[view.file], (*view.path, *steps))
        spot = self._follow(start)
        if spot is None:
            return None
        if not isinstance(self._value(spot), dict):
            name = label(str(steps[-1])) if steps else "the document"
            what = f"{name} {_no_map(self._value(spot))}"
            what = PARSED if is_parsed(self._value(spot)) else what
            self._drafts.fault(self._where(spot), "C005", what)
            return None
        return self._view(spot)

    def entries(self, section: View | None) -> Iterator[tuple[str, Where, View]]:
        """The maps in a section by name, with the place of each name."""
        for name in section.value if section is not None else ():
            view = self.at(section, name)
            if section is not None and view is not None:
                yield name, section.place(name), view

    def _view(self, spot: Spot) -> View:
        parsed = self._documents[spot[0]] or Parsed(value={}, lines={})
        return View(parsed, self._files[spot[0]], self._drafts, spot[1])

    def _value(self, spot: Spot) -> Any:
        parsed = self._documents[spot[0]]
        value: Any = parsed.value if parsed else None
        for step in spot[1]:
            value = value[step]
        return value

    def _where(self, spot: Spot, *more: str) -> Where:
        parsed = self._documents[spot[0]]
        line = parsed.line_of((*spot[1], *more)) if parsed else 0
        return Where(self._files[spot[0]], line)

    def _follow(self, start: Spot) -> Spot | None:
        if start not in self._found:
            self._found[start] = self._chain(start)
        return self._found[start]

    def _chain(self, start: Spot) -> Spot | None:
        """Reference after reference; those under way are remembered, or a circle had no end."""
        before = len(self._under_way)
        spot: Spot | None = start
        while spot is not None and self._refers(spot):
            where = self._where(spot, "$ref")
            if spot in self._under_way:
                what = "this $ref leads back to itself: write what is meant in one of these places"
                self._drafts.fault(where, "C006", what)
                spot = None
            elif len(self._under_way) >= MAX_CHAIN:
                what = f"more than {MAX_CHAIN} $refs lead to one another: refer to what is meant"
                self._drafts.fault(where, "C006", what)
                spot = None
            else:
                self._under_way.append(spot)
                spot = self._target(spot, where)
                if spot is not None:
                    self._reached.add(spot)
        del self._under_way[before:]
        return spot

    def _refers(self, spot: Spot) -> bool:
        value = self._value(spot)
        return isinstance(value, dict) and "$ref" in value

    def _target(self, spot: Spot, where: Where) -> Spot | None:
        value = self._value(spot)
        ref = value["$ref"]
        if not isinstance(ref, str):
            self._drafts.fault(where, "C005", "$ref is not a text: write '#/...' or FILE#/...")
            return None
        self._tell_beside(spot, value)
        place, _, pointer = ref.partition("#")
        file = self._file(spot[0], place, where)
        if file is None:
            return None
        if pointer and not pointer.startswith("/"):
            what = f"$ref {shown(ref)} has no / after its #: write it as '#/channels/NAME'"
            self._drafts.fault(where, "C006", what)
            return None
        steps = [_unescaped(one) for one in pointer.split("/")[1:]]
        found = self._walk(file, steps)
        if found is None:
            self._drafts.fault(where, "C006", f"$ref {shown(ref)}: {_NOT_THERE}")
        return found

    def _tell_beside(self, spot: Spot, value: dict[str, Any]) -> None:
        beside = [one for one in value if one != "$ref" and not one.startswith("x-")]
        beside.sort(key=lambda one: one not in _EFFECTIVE)
        if beside and beside[0] not in _EFFECTIVE:
            why = "such fields are ignored"
            self._drafts.aside(
                self._where(spot, beside[0]), f"{label(beside[0])} beside a $ref", why
            )
        elif beside:
            what = f"{label(beside[0])} stands beside a $ref, and such fields are ignored: "
            what += "write it where the $ref leads, or write all of it here"
            self._drafts.warn(self._where(spot, beside[0]), "C020", what)

    def _file(self, base: str, place: str, where: Where) -> str | None:
        if not place:
            return base
        if _SCHEME.match(place):
            why = "what is on the web is not fetched: save it as a file, and refer to that"
            self._drafts.aside(where, "a $ref to a web address", why)
            return None
        file = posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(place)))
        name = posixpath.normpath(posixpath.join(self._folder, file))
        file = self._paths.get(name, file)  # the first document may be reached from outside
        if file not in self._documents:
            self._files[file], self._paths[name] = name, file
            self._documents[file] = self._read(file)
        if self._documents[file] is None:
            why = "the file is not there: put it beside this one"
            self._drafts.aside(where, f"a $ref to {label(place)}", why)
            return None
        return file

    def _read(self, file: str) -> Parsed | None:
        parsed = self._resolve_file(file)
        if parsed is None:
            return None
        for one in parsed.faults:
            self._drafts.fault(Where(self._files[file], one.line), "C004", one.message)
        tell_repeated(parsed, self._files[file], self._drafts)
        if not (isinstance(parsed.value, dict) and "asyncapi" in parsed.value):
            self._drafts.included.add(self._files[file])  # only a part: nothing to read alone
        return parsed

    def _walk(self, file: str, steps: list[str]) -> Spot | None:
        """Step by step, through the references on the way as well."""
        spot: Spot | None = (file, ())
        for step in steps:
            spot = self._follow(spot) if spot is not None else None
            if spot is None:
                return None
            value = self._value(spot)
            if isinstance(value, dict) and step in value:
                spot = (spot[0], (*spot[1], step))
            elif isinstance(value, list) and step in map(str, range(len(value))):
                spot = (spot[0], (*spot[1], int(step)))
            else:
                return None
        return spot


def is_parsed(value: object) -> bool:
    """Whether it stands for another part of a document, in a parser's output (`x-parser-...`)."""
    return isinstance(value, str) and value.startswith("$ref:$")


def _no_map(value: object) -> str:
    if isinstance(value, str) and "#/" in value:
        return f"is a text: write {{$ref: {shown(value)}}}"
    return "is not a map: write its fields below it"


def _inner(value: Any, steps: tuple[str | int, ...]) -> Any:
    for step in steps:
        there = step in value if isinstance(value, dict) else isinstance(value, list)
        if not there:
            return None
        value = value[step]
    return value


def _unescaped(step: str) -> str:
    """A step of a JSON pointer in a URI: first the URI's escapes, then the pointer's own."""
    return unquote(step).replace("~1", "/").replace("~0", "~")
