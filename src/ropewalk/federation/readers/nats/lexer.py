"""The words of a NATS configuration: keys, values, braces and includes, each with its place.

It takes and refuses what nats-server 2.15 does, oddities included: a block may stay open at the
end of the file, a bare number swallows a `]` that follows it, keys may stand lines before values.
What is open is on a list: nesting costs no stack.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ropewalk.federation.showing import label

MAX_DEPTH = 64
_SPACES = " \t\n\v\f\r\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACE = re.compile(f"[{_SPACES}]*")
_BLANK = re.compile(r"[ \t]*")
_COMMENT = re.compile(r"[^\n\r\0]*")
_BARE_KEY = re.compile(f"[^{_SPACES}:=\0]*")
_BARE_TEXT = re.compile(r"[^\n\r\0;,\]} \t'\\]*")
_INCLUDED = re.compile(r"[^\n\r\0;} \t']*")
_BLOCK_END = re.compile(r"\n\)(?=\n|\0|\Z)")
_QUOTED = {"'": re.compile(r"[^'\0]*"), '"': re.compile(r'[^"\0]*')}
_DIGITS = re.compile(r"\d*")
_UNIT = re.compile(r"[kKmMgGtTpPeE][bBiI]*")
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_IP_REST = re.compile(r"[\d.:-]*")
_HEX = re.compile(r"[0-9a-fA-F]{2}")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", '"': '"', "\\": "\\"}
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15, "e": 10**18}
_SIZES |= {
    unit + tail: 1024**power for power, unit in enumerate("kmgtpe", 1) for tail in ("b", "i", "ib")
}
_TOP, _BLOCK, _MAP, _LIST = range(4)


class Word(NamedTuple):
    """A word: its kind, what it says, and where it starts."""

    kind: str
    """key, value, date, variable, include, or a bracket."""
    value: Any
    at: int


class Bad(Exception):  # noqa: N818 - nothing that leaves this package
    """The server refuses the file here."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at, self.what = at, what


State = Callable[[], Any]


class Lexer:
    """Splits a text into words; `words` holds those before a fault."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.open = [_TOP]
        self.words: list[Word] = []

    def run(self) -> list[Word]:
        """All words; raises Bad."""
        state: State | None = self._before
        while state is not None:
            state = state()
        if self.words and self.words[-1].kind == "key" and self.words[-1].value != "}":
            last = self.words[-1]
            raise Bad(last.at, f"{label(last.value)} has no value: write one after it")
        return self.words

    # --- places ---------------------------------------------------------------------------

    @property
    def _next(self) -> str:
        """The character here; the server takes a NUL for the end as well."""
        return self.text[self.at : self.at + 1] or "\0"

    def _skip(self, pattern: "re.Pattern[str]") -> str:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match is not None else self.at
        return match[0] if match is not None else ""

    def _add(self, kind: str, value: Any, at: int) -> None:
        self.words.append(Word(kind, value, at))

    def _comment(self) -> bool:
        if self._next == "#" or self.text.startswith("//", self.at):
            self._skip(_COMMENT)
            return True
        return False

    # --- what is open -----------------------------------------------------------------------

    def _before(self) -> State | None:
        """Before a key, or before an item of a list."""
        self._skip(_SPACE)
        if self._comment():
            return self._before
        found = self._next
        if self.open[-1] in (_LIST, _MAP):
            return (self._before_item if self.open[-1] == _LIST else self._before_map_key)(found)
        if found == "/" or (found == "\0" and self.at < len(self.text)):
            raise Bad(self.at, "a key cannot start here: comments start with # or //")
        if found == "\0":
            return None
        if found == "{":
            self.at += 1
            return self._opened(_BLOCK)
        if found == "}" and self.open[-1] == _BLOCK:
            return self._close_block()
        return self._key

    def _before_item(self, found: str) -> State:
        if found in ",/":
            raise Bad(self.at, "a list has an empty item here: remove the comma, or write the item")
        if found == "]":
            return self._close()
        return self._value

    def _before_map_key(self, found: str) -> State:
        if found == "]":
            raise Bad(self.at, "']' ends a list, but a map is open here: write '}'")
        if found == "}":
            return self._close()
        if found == "/":
            self.at += 1
        elif found == "\0":
            raise Bad(self.at, "a map is not closed: write '}'")
        return self._key

    def _opened(self, what: int) -> State:
        self.open.append(what)
        if len(self.open) > MAX_DEPTH:
            raise Bad(self.at, f"nested more than {MAX_DEPTH} levels deep")
        return self._before

    def _close(self) -> State:
        self._add(self._next, None, self.at)
        self.at += 1
        self.open.pop()
        return self._after

    def _close_block(self) -> State:
        self.at += 1
        self.open.pop()
        return self._before if self.open[-1] == _TOP else self._after_block

    def _after(self) -> State:
        """After a value: what ends it."""
        kind = self.open[-1]
        self._skip(_BLANK)
        if self._comment():
            return self._before if kind == _TOP else self._after
        found = self._next
        if found == "/":
            self.at += 1
            return self._after if kind in (_TOP, _BLOCK) else self._before
        if found in {_TOP: "\n\r\0;,}", _BLOCK: "\n\r;,", _MAP: "\n\r;,", _LIST: "\n\r,"}[kind]:
            self.at += self.at < len(self.text)
            return self._before
        if found == "}" and kind == _BLOCK:
            return self._close_block()
        if found == {_MAP: "}", _LIST: "]"}.get(kind):
            return self._close()
        raise Bad(self.at, self._unended(kind, found))

    def _unended(self, kind: int, found: str) -> str:
        if found == "\0":
            return f"a {'list' if kind == _LIST else 'map'} is not closed at the end of the file"
        ends = {_LIST: "a comma, a new line or ']'", _TOP: "a new line"}
        what = ends.get(kind, "a comma, a new line or '}'")
        return f"a value ends here, and something follows: write {what}, or quotes around the value"

    def _after_block(self) -> State:
        self._skip(_BLANK)
        if self._comment():
            return self._before
        found = self._next
        if found in "\n\r/":
            self.at += 1
            return self._after_block
        if found in ";,":
            self.at += 1
            return self._before
        if found == "}":
            return self._close_block()
        raise Bad(self.at, "a block is not closed: write '}'")

    # --- keys -------------------------------------------------------------------------------

    def _key(self) -> State | None:
        start, found = self.at, self._next
        if found in ":=":
            raise Bad(start, f"a key is missing before {found!r}")
        if found in "\"'":
            return self._quoted_key(found)
        self.at += 1
        self._skip(_BARE_KEY)
        name = self.text[start : self.at]
        if self._next == "\0" and self.open[-1] == _MAP:
            raise Bad(start, "a map is not closed: write '}'")
        if name.lower() == "include" and self._next not in ":=\0":
            return self._include
        self._add("key", name, start)
        return self._key_end

    def _quoted_key(self, quote: str) -> State | None:
        start = self.at
        self.at += 1
        inside = self._skip(_QUOTED[quote])
        if self._next != quote:
            if self.open[-1] != _MAP and not inside:
                return None
            raise Bad(start, f"a key in quotes does not end: write {quote} after it")
        self._add("key", inside, start)
        self.at += 1
        return self._key_end

    def _key_end(self) -> State | None:
        self._skip(_SPACE)
        if self._next in ":=":
            self.at += 1
        elif self._next == "\0" and self.open[-1] != _MAP:
            return None
        if self.open[-1] == _MAP:
            self._skip(_SPACE)
            if self._next == ",":
                raise Bad(self.at, "a value is missing before the comma")
            if self._next == "}":
                return self._close()
        return self._value

    def _include(self) -> State:
        self._skip(_BLANK)
        start, found = self.at, self._next
        if found in "\"'":
            end = self.text.find(found, start + 1)
            if end < 0:
                raise Bad(start, f"the name of the included file does not end: write {found}")
            self._add("include", self.text[start + 1 : end], start)
            self.at = end + 1
            return self._after
        if found in "[{(-\\\n\r" or found.isdecimal():
            raise Bad(start, "include needs a file's name: write include ./other.conf")
        self._add("include", self._skip(_INCLUDED), start)
        self.at += self._next == "'"
        return self._after

    # --- values -----------------------------------------------------------------------------

    def _value(self) -> State | None:
        self._skip(_BLANK)
        start, found = self.at, self._next
        if found in "[{":
            self._add(found, None, start)
            self.at += 1
            return self._opened(_LIST if found == "[" else _MAP)
        if found in "'\"":
            return self._quoted(found)
        if found == "(":
            return self._block_text()
        if found == "-" or found.isdecimal():
            return self._number()
        if found == ".":
            raise Bad(start, "a number starts with a digit: write 0 before it, or './x' in quotes")
        if found in "\n\r":
            raise Bad(start, "a value is missing: write it on the line of its key")
        return self._bare()

    def _quoted(self, quote: str) -> State | None:
        start = self.at
        self.at += 1
        if quote == '"':
            return self._double(start)
        part = self.at
        inside = self._skip(_QUOTED[quote])
        if self._next != quote:
            return self._endless(start, part)
        self._add("value", inside, start)
        self.at += 1
        return self._after

    def _double(self, start: int) -> State | None:
        parts: list[str] = []
        while True:
            part = self.at
            while self._next not in '"\\\0':
                self.at += 1
            parts.append(self.text[part : self.at])
            if self._next == "\0":
                return self._endless(start, part)
            if self._next == '"':
                self.at += 1
                self._add("value", "".join(parts), start)
                return self._after
            parts.append(self._escape())

    def _endless(self, start: int, part: int) -> State | None:
        if part == len(self.text):
            return None
        raise Bad(start, "a text in quotes does not end: write the closing quote")

    def _escape(self) -> str:
        code = self.text[self.at + 1 : self.at + 2]
        if code in _ESCAPES:
            self.at += 2
            return _ESCAPES[code]
        value = _HEX.match(self.text, self.at + 2) if code == "x" else None
        if value is None:
            raise Bad(self.at, r'after \ only t, n, r, ", \ or x and two digits: write \\ for \ ')
        self.at = value.end()
        return chr(int(value[0], 16))

    def _block_text(self) -> State:
        start = self.at
        end = _BLOCK_END.search(self.text, start)
        if end is None or "\0" in self.text[start : end.end()]:
            raise Bad(start, "a text in ( ) does not end: write ) on a line of its own")
        self._add("value", self.text[start + 1 : end.start() + 1], start)
        self.at = end.end()
        return self._after

    def _bare(self, start: int | None = None) -> State:
        """A text without quotes; `start` is before `at` where it began like a number."""
        begin = self.at if start is None else start
        parts, part = [], begin
        self._skip(_BARE_TEXT)
        while self._next == "\\":
            parts.append(self.text[part : self.at])
            parts.append(self._escape())
            part = self.at
            self._skip(_BARE_TEXT)
        text = "".join([*parts, self.text[part : self.at]])
        quote = self._next == "'"
        self.at += quote
        if quote or parts:
            self._add("value", text, begin)
        elif text.lower() in _WORDS:
            self._add("value", _WORDS[text.lower()], begin)
        elif text.startswith("$"):
            self._add("variable", text[1:], begin)
        else:
            self._add("value", text, begin)
        return self._after

    def _number(self) -> State:
        start = self.at
        self.at += self._next == "-"
        digits = self._skip(_DIGITS)
        negative = self.text[start] == "-"
        if not digits:
            raise Bad(start, "a text that starts with - goes in quotes")
        if self._next == "-" and not negative:
            return self._date(start)
        if self._next == ".":
            return self._float(start)
        unit = self._skip(_UNIT)
        ended = self._next in "\n\r\0;,} \t" or (negative and not unit)
        if not ended:
            # The server has taken one more character by now, whatever it is.
            self.at += not unit
            return self._bare(start)
        return self._whole(start, digits, unit)

    def _whole(self, start: int, digits: str, unit: str) -> State:
        if not digits.isascii() or int(digits[:20]) >= 2**63 or len(digits.lstrip("0")) > 19:
            raise Bad(start, "this number is too large, or has digits that are none: write another")
        sign = -1 if self.text[start] == "-" else 1
        if unit.lower() in _SIZES:
            self._add("value", sign * int(digits) * _SIZES[unit.lower()], start)
        return self._after

    def _date(self, start: int) -> State:
        found = _DATE.match(self.text, start)
        if found is None:
            raise Bad(
                start, "a text with - after digits goes in quotes (or is 2026-01-31T12:00:00Z)"
            )
        self.at = found.end()
        self._add("date", found[0], start)
        return self._after

    def _float(self, start: int) -> State:
        self.at += 1
        if not self._skip(_DIGITS):
            raise Bad(start, "a digit is missing after the point: put texts in quotes")
        if self._next == ".":
            self._skip(_IP_REST)
            self._add("value", self.text[start : self.at], start)
            return self._after
        text = self.text[start : self.at]
        if not text.isascii() or len(text) > 300:
            raise Bad(start, "this number is too large, or has digits that are none: write another")
        self._add("value", float(text), start)
        return self._after
