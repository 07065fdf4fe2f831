"""JSON text to plain values with the line of every value; nesting costs no stack.

RabbitMQ's exports and AsyncAPI documents are JSON. Python's own reader knows no lines, and YAML's
does not take all of JSON (tabs, escaped slashes).
"""

import re
from bisect import bisect_right
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from ropewalk.federation.showing import shown
from ropewalk.federation.yaml_text import Parsed, TextFault

MAX_DEPTH = 64
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}
_TEMPLATE = re.compile(r"\{[{%#]|<%|\$[{(]|%\w+%|__?[A-Z]|@\w+@")
_OPENED = ("{{", "{%", "{#")
"""What a template begins with, and JSON takes for a map at first."""
_WORD = re.compile(r"[A-Za-z]+")


class _Bad(Exception):  # noqa: N818 - nothing that leaves this module
    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at, self.what = at, what


def parse_json(text: str) -> Parsed:
    """Read a JSON text; what is wrong with it is in the result's `faults`.

    >>> parse_json('{"a": [1, true]}').value, parse_json('{"a" 1}').faults[0].message
    ({'a': [1, True]}, "':' is missing after the name 'a'")
    """
    parsed = Parsed(lines={})
    reader = _Reader(text, parsed)
    try:
        reader.run()
    except _Bad as bad:
        parsed.broken = True
        parsed.faults.append(TextFault("C004", bad.what, reader.line(bad.at)))
    return parsed


class _Reader:
    def __init__(self, text: str, parsed: Parsed) -> None:
        self.text, self.parsed = text, parsed
        self.starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def line(self, at: int) -> int:
        return bisect_right(self.starts, at)

    def run(self) -> None:
        """Containers being filled are on a stack; `key` is the name that the next value gets."""
        stack: list[Any] = []
        key: str | int = 0
        at = self._skip(0)
        if at == len(self.text):
            raise _Bad(0, "the file is empty: export the definitions again")
        while True:
            opened, value, end = self._value(at)
            self._put(stack, key, value, at)
            at = self._skip(end)
            if opened:
                self.parsed.lines[id(value)] = {}  # type: ignore[index]
                stack.append(value)
                if len(stack) > MAX_DEPTH:
                    raise _Bad(at, f"nested more than {MAX_DEPTH} levels deep")
                if not self._ends(at, value):
                    key, at = self._key(value, at)
                    continue
            while stack and self._ends(at, stack[-1]):
                stack.pop()
                at = self._skip(at + 1)
            if not stack:
                break
            if self.text[at : at + 1] != ",":
                what = "',' or the end of the list or map is missing here"
                raise _Bad(*self._odd(at, what))
            key, at = self._key(stack[-1], self._skip(at + 1))
        if at < len(self.text):
            raise _Bad(at, "something stands after the end of the document: remove it")

    def _put(self, stack: list[Any], key: str | int, value: Any, at: int) -> None:
        if not stack:
            self.parsed.value = value
        elif isinstance(stack[-1], list):
            self.parsed.lines[id(stack[-1])][len(stack[-1])] = self.line(at)  # type: ignore[index]
            stack[-1].append(value)
        else:
            lines = self.parsed.lines[id(stack[-1])]  # type: ignore[index]
            if key in stack[-1]:
                self.parsed.repeated.append((str(key), lines[key], self.line(at)))
            lines[key] = self.line(at)
            stack[-1][key] = value

    def _ends(self, at: int, container: Any) -> bool:
        return self.text[at : at + 1] == ("]" if isinstance(container, list) else "}")

    def _key(self, container: Any, at: int) -> tuple[str | int, int]:
        if isinstance(container, list):
            return 0, at
        if self.text[at : at + 1] != '"':
            raise _Bad(*self._odd(at, "a name in double quotes is missing here"))
        name, end = self._string(at)
        end = self._skip(end)
        if self.text[end : end + 1] != ":":
            raise _Bad(end, f"':' is missing after the name {shown(name)}")
        return name, self._skip(end + 1)

    def _value(self, at: int) -> tuple[bool, Any, int]:
        start = self.text[at : at + 1]
        if start == "{":
            return True, {}, at + 1
        if start == "[":
            return True, [], at + 1
        if start == '"':
            return False, *self._string(at)
        if number := _NUMBER.match(self.text, at):
            real = number[1] or number[2] or len(number[0]) > 300
            return False, float(number[0]) if real else int(number[0]), number.end()
        word = _WORD.match(self.text, at)
        if word and word[0] in _WORDS:
            return False, _WORDS[word[0]], word.end()
        what = "a value is missing here" if start else "the text ends too early"
        raise _Bad(*self._odd(at, what))

    def _odd(self, at: int, otherwise: str) -> tuple[int, str]:
        """What people write where JSON takes it not."""
        before = len(self.text[:at].rstrip()) - 1
        if self.text[at : at + 1] in ("]", "}") and self.text[before : before + 1] == ",":
            return before, "nothing follows this comma: remove it"
        if _TEMPLATE.match(self.text, at) or self.text.startswith(_OPENED, max(at - 1, 0)):
            return at, "this is a template's: fill it in first"
        if self.text.startswith(("//", "/*", "#"), at):
            return at, "a comment, which JSON does not have: remove it"
        if self.text[at : at + 1] == "\\":
            return at, "a backslash, which JSON has in texts only: remove it"
        return at, otherwise

    def _string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self.text, at + 1, False)
            text.encode()
        except UnicodeEncodeError:
            raise _Bad(at, "half a character: write both halves, or the character itself") from None
        except ValueError:
            raise _Bad(at, "a text that does not end, or has an escape that is none") from None
        return text, end

    def _skip(self, at: int) -> int:
        return _SPACE.match(self.text, at).end()  # type: ignore[union-attr]
