"""YAML text to plain values, quickly and safely, with the line of every value on demand.

Driven by libyaml's events instead of a composed tree: nothing recurses, so no nesting overflows
the stack; aliases cannot expand without end; duplicate keys are seen. Scalars follow YAML 1.2's
core schema (`no` and `on` are text), except that numbers with leading zeros are text too. Garbage
collection is paused by the caller: it is most of the time that a plain load takes.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from ropewalk.federation.showing import shown
from ropewalk.federation.slips import slip

MAX_DEPTH = 32
MAX_ALIASED_VALUES = 1_000_000

Path = tuple[str | int, ...]

_NUMBER_STARTS = frozenset("0123456789+-.")
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INFINITIES = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
_NO_KEY: Any = object()
_NO_TAGS = "tags are not known here: a text that starts with ! goes in quotes"
_NO_ANCHOR = "no anchor above has this alias's name: a text that starts with * goes in quotes"


@dataclass(frozen=True, slots=True)
class TextFault:
    """Something in the text that stops it from being read as it was meant."""

    code: str
    message: str
    line: int


@dataclass(slots=True)
class Parsed:
    """The values of a text, the faults met, and the lines of entries two levels down.

    A `broken` text was not read to its end: its values are not worth checking.
    """

    value: Any = None
    broken: bool = False
    faults: list[TextFault] = field(default_factory=list)
    entry_lines: dict[str, list[int]] = field(default_factory=dict)
    lines: dict[int, dict[str | int, int]] | None = None
    repeated: list[tuple[str, int, int]] = field(default_factory=list)
    """Of JSON: names that are twice in one map, where the last counts, and the lines of both."""

    def line_of(self, path: Path) -> int:
        """The line of the deepest value on the path that the text has (needs `with_lines`)."""
        line, value = 1, self.value
        for step in path:
            inner = (self.lines or {}).get(id(value), {})
            if step not in inner:
                continue  # a step that only the checker knows, such as the branch of a union
            line, value = inner[step], value[step]
        return line


def scalar(text: str) -> Any:
    """A plain scalar's value.

    >>> scalar("8"), scalar("1e3"), scalar("no"), scalar("~"), scalar("8ms")
    (8, 1000.0, 'no', None, '8ms')
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if _INT.match(text):
        return int(text) if len(text) < 300 else float(text)
    if _FLOAT.match(text):
        return float(text)
    if _INFINITIES.match(text):
        return float(text.replace(".", ""))
    return text


def parse(text: str, *, with_lines: bool = False) -> Parsed:
    """Read a YAML text; what is wrong with it is in the result's `faults`."""
    parsed = Parsed(lines={} if with_lines else None)
    try:
        _Builder(text, parsed).run()
    except yaml.MarkedYAMLError as error:
        parsed.broken = True
        line, message = slip(text, error)
        parsed.faults.append(TextFault(getattr(error, "code", "F004"), message, line))
    except UnicodeEncodeError as error:
        parsed.broken = True
        line = text.count("\n", 0, error.start) + 1
        parsed.faults.append(TextFault("F001", "half a character: save as UTF-8 text", line))
    except yaml.reader.ReaderError as error:
        parsed.broken = True
        line = text.encode()[: error.position].count(b"\n") + 1
        parsed.faults.append(TextFault("F004", f"{error.reason}: remove the character", line))
    return parsed


class _Stop(yaml.MarkedYAMLError):
    """Something that YAML allows and a federation file does not; nothing after it is read."""

    def __init__(self, problem: str, event: Any, code: str = "F004") -> None:
        super().__init__(problem=problem, problem_mark=event.start_mark)
        self.code = code


class _Builder:
    """One pass over the events; containers being filled are on a stack of its own."""

    def __init__(self, text: str, parsed: Parsed) -> None:
        self.events = CParser(text)
        self.parsed = parsed
        self.stack: list[tuple[Any, Any, str | None, int, int]] = []
        self.current: Any = None
        self.key: Any = _NO_KEY
        self.anchor: str | None = None
        self.anchors: dict[str, tuple[Any, int, int]] = {}  # value, how many values, how deep
        self.count = 0
        self.counted_at_start = 0
        self.height = 0
        self.aliased = 0
        self.merges: dict[int, dict[str, Any]] = {}
        self.documents = 0

    def run(self) -> None:
        handlers: dict[type, Callable[[Any], None]] = {
            SequenceStartEvent: lambda event: self.open([], event),
            MappingStartEvent: lambda event: self.open({}, event),
            SequenceEndEvent: self.close,
            MappingEndEvent: self.close,
            AliasEvent: self.alias,
            DocumentStartEvent: self.document,
        }
        next_event: Callable[[], Any] = self.events.get_event
        # The loop below is what a large file's load is made of: scalars go first and stay inline.
        while True:
            event = next_event()
            kind = type(event)
            if kind is ScalarEvent:
                self.count += 1
                if self.key is _NO_KEY and type(self.current) is dict:
                    self.take_key(event)
                    continue
                text = event.value
                value = scalar(text) if not event.style and event.tag is None else text
                if event.anchor or event.tag:
                    self.unusual_scalar(event, value)
                self.add(value, event)
            elif kind is StreamEndEvent:
                return
            elif kind in handlers:
                handlers[kind](event)

    def fault(self, code: str, message: str, event: Any) -> None:
        self.parsed.faults.append(TextFault(code, message, event.start_mark.line + 1))

    def document(self, event: Any) -> None:
        self.documents += 1
        if self.documents == 2:
            raise _Stop("a second document starts here: keep one per file", event)

    def take_key(self, event: Any) -> None:
        key = event.value
        if key in self.current:
            self.fault("F005", f"{shown(key)} is written twice: keep one of them", event)
        if 1 < len(self.stack) < 4 and key != "<<":
            self.note_entry(event)
        if self.parsed.lines is not None:
            self.parsed.lines[id(self.current)].setdefault(key, event.start_mark.line + 1)
        self.key = key
        if event.anchor:
            self.anchors[event.anchor] = (key, 1, 0)

    def note_entry(self, event: Any) -> None:
        """Keep the line of an entry of a section, such as `links`, or `links` of `underlay`."""
        section = self.stack[1][1]
        if len(self.stack) == 3:
            if section not in ("underlay", "placement"):
                return
            section = f"{section}.{self.stack[2][1]}"
        self.parsed.entry_lines.setdefault(section, []).append(event.start_mark.line + 1)

    def add(self, value: Any, event: Any) -> None:
        current = self.current
        if type(current) is list:
            if 1 < len(self.stack) < 4:
                self.note_entry(event)
            if self.parsed.lines is not None:
                self.parsed.lines[id(current)][len(current)] = event.start_mark.line + 1
            current.append(value)
        elif type(current) is dict:
            if self.key == "<<":
                self.merge(value, event)
            else:
                current.setdefault(self.key, value)  # of a key written twice, the first stays
            self.key = _NO_KEY
        elif self.documents == 1:
            self.parsed.value = value

    def open(self, container: Any, event: Any) -> None:
        if type(self.current) is dict and self.key is _NO_KEY:
            raise _Stop("a name must be a text, not a list or map", event)
        if event.tag:
            raise _Stop(_NO_TAGS, event, "F006")
        self.check_depth(1, event)
        outer = (self.current, self.key, self.anchor, self.counted_at_start, self.height)
        at_top = len(self.stack) == 1 and type(self.current) is dict
        written = self.current.get(self.key) if at_top else None
        if type(written) is type(container):
            container = written  # a section written twice: its entries are checked all the same
        elif self.parsed.lines is not None:
            self.parsed.lines[id(container)] = {}  # the id may be that of one that is gone
        if self.key != "<<":  # what is merged is merged when it is complete
            self.add(container, event)
        self.stack.append(outer)
        self.current, self.key, self.anchor = container, _NO_KEY, event.anchor
        self.counted_at_start, self.height = self.count, 0
        self.count += 1

    def check_depth(self, more: int, event: Any) -> None:
        if len(self.stack) + more > MAX_DEPTH:
            raise _Stop(f"nested more than {MAX_DEPTH} levels deep", event)

    def close(self, event: Any) -> None:
        closed, anchor, size = self.current, self.anchor, self.count - self.counted_at_start
        height = self.height + 1
        if id(closed) in self.merges:
            for key, value in self.merges.pop(id(closed)).items():
                closed.setdefault(key, value)
        self.current, key, self.anchor, self.counted_at_start, outer = self.stack.pop()
        self.height = max(outer, height)
        if key == "<<":
            self.merge(closed, event)
        self.key = _NO_KEY
        if anchor:
            self.anchors[anchor] = (closed, size, height)

    def merge(self, value: Any, event: Any) -> None:
        merged = self.merges.setdefault(id(self.current), {})
        for part in value if type(value) is list else [value]:
            if type(part) is not dict:
                raise _Stop("'<<' takes a map or a list of maps", event, "F006")
            for key, inner in part.items():
                merged.setdefault(key, inner)

    def alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            raise _Stop(_NO_ANCHOR, event, "F006")
        value, size, height = self.anchors[event.anchor]
        self.check_depth(height, event)
        self.height = max(self.height, height)
        self.count += size
        self.aliased += size
        if self.aliased > MAX_ALIASED_VALUES:
            raise _Stop(f"aliases repeat more than {MAX_ALIASED_VALUES:,} values", event)
        if type(self.current) is dict and self.key is _NO_KEY:
            raise _Stop("a name must be a text, not an alias", event)
        self.add(value, event)

    def unusual_scalar(self, event: Any, value: Any) -> None:
        if event.anchor:
            self.anchors[event.anchor] = (value, 1, 0)
        if event.tag and event.tag not in ("!", "tag:yaml.org,2002:str"):
            raise _Stop(_NO_TAGS, event, "F006")
