"""Erlang terms as configuration files have them, with lines; nesting costs no stack."""

import re
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 64
_SEGMENT = r"""(?:"(?:\\.|[^"\\])*"|-?\d+)(?::\d+)?(?:/[a-z][a-z0-9-]*)?"""
_PIECE = re.compile(
    rf"""
    (?P<space>\s+|%[^\n]*)
    | (?P<binary><<\s*(?:{_SEGMENT}(?:\s*,\s*{_SEGMENT})*)?\s*>>)
    | (?P<text>"(?:\\.|[^"\\])*")
    | (?P<quoted>'(?:\\.|[^'\\])*')
    | (?P<number>\$(?:\\.|[^\\\s])|[-+]?\d+\#[0-9A-Za-z]+|[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)
    | (?P<atom>[a-z][A-Za-z0-9_@]*)
    | (?P<mark>\#\{{|=>|[\[\]{{}}(),.|\#])
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSES = {"[": "]", "{": "}", "#{": "}"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_BETWEEN = (",", "|", "=>")
_TEMPLATE = re.compile(r"<%|\{%-?\s*\w+[^%\n]*%\}|\{\{[^{}\[\],<>\n]*\}\}|\{#(?!\{)|\$\{\w+")
"""What Jinja, ERB and shells fill in; none of it can stand in a term, but in texts it can."""
_BYTES = re.compile(r'"((?:\\.|[^"\\])*)"|(?<![:\w])(\d+)', re.DOTALL)
"""Of a binary the texts, and the numbers that are no sizes."""
_TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')


@dataclass(slots=True)
class Term:
    """A value and its line: `kind` is list, tuple, atom, text or number."""

    kind: str
    line: int
    value: Any = None
    items: list["Term"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What an atom, text or number says; of anything else nothing."""
        return str(self.value) if self.kind in ("atom", "text", "number") else ""


class TermFault(Exception):  # noqa: N818 - nothing that leaves the reader
    """Where the text is no term."""

    def __init__(self, line: int, message: str, code: str = "C004") -> None:
        super().__init__(message)
        self.line, self.message, self.code = line, message, code


@dataclass(slots=True)
class _Level:
    """What is being read: the file itself, or a list, tuple or map in it."""

    closer: str
    made: Term
    last: str = ""
    """What was there last: a value, or what stands between two of them."""
    line: int = 1
    """Where that is."""


def read_terms(text: str) -> list[Term]:
    """The terms of a text, each of which ends with a full stop.

    >>> [one.kind for one in read_terms('[{a, "b"}].')[0].items[0].items]
    ['atom', 'text']
    """
    _no_template(text)
    levels = [_Level(".", Term("file", 1))]
    at, line = 0, 1
    while at < len(text):
        match = _PIECE.match(text, at)
        if match is None:
            raise TermFault(line, "no Erlang term: look for a missing quote or comma here")
        at, piece, here = match.end(), match[0], line
        line += piece.count("\n")
        if match.lastgroup != "space":
            _take(levels, match.lastgroup or "", piece, here)
    if len(levels) > 1:
        raise TermFault(levels[-1].made.line, f"what begins here is not closed: {_write(levels)}")
    if levels[0].last == "value":
        raise TermFault(line, f"the full stop at the end is missing: {_write(levels)}")
    return levels[0].made.items


def _write(levels: list[_Level]) -> str:
    return f"write {levels[-1].closer}"


def _take(levels: list[_Level], kind: str, piece: str, line: int) -> None:
    """Take in a piece of the text."""
    level = levels[-1]
    if piece == "." and len(levels) == 1 and level.last == "value":
        level.last = ""
    elif piece in _BETWEEN:
        if level.last != "value" or len(levels) == 1:
            raise TermFault(line, f"{piece} separates nothing here: remove it")
        level.last, level.line = piece, line
    elif kind == "mark" and piece not in _CLOSES:
        _close(levels, piece, line)
    elif kind == "text" and level.last == "value" and level.made.items[-1].kind == "text":
        level.made.items[-1].value += _leaf(kind, piece, line).value  # two texts beside are one
    elif level.last == "value":
        raise TermFault(line, f"a {'full stop' if len(levels) == 1 else 'comma'} is missing here")
    elif piece in _CLOSES:
        levels.append(_Level(_CLOSES[piece], Term("list" if piece == "[" else "tuple", line)))
        if len(levels) > MAX_DEPTH:
            raise TermFault(line, f"nested more than {MAX_DEPTH} levels deep")
    else:
        _put(level, _leaf(kind, piece, line))


def _close(levels: list[_Level], piece: str, line: int) -> None:
    level = levels[-1]
    if piece == "#":
        raise TermFault(line, "# begins no comment in Erlang terms: write %")
    if len(levels) == 1 or level.closer != piece:
        raise TermFault(line, f"{piece} closes nothing here: remove it")
    if level.last in _BETWEEN:
        raise TermFault(level.line, f"nothing follows this {level.last} before {piece}: remove it")
    levels.pop()
    _put(levels[-1], level.made)


def _put(level: _Level, made: Term) -> None:
    level.made.items.append(made)
    level.last = "value"


def _no_template(text: str) -> None:
    """Refuse what is to be filled in first: in part it would be a term, of another meaning."""
    for number, line in enumerate(text.splitlines(), 1):
        bare = _TEXT.sub('""', line)
        if not line.lstrip().startswith("%") and _TEMPLATE.search(bare):
            raise TermFault(number, "this line is a template's: fill it in first", "C006")


def _leaf(kind: str, piece: str, line: int) -> Term:
    if kind == "binary":
        parts = (
            _ESCAPE.sub(r"\1", a) if a or not n else _byte(n) for a, n in _BYTES.findall(piece)
        )
        return Term("text", line, "".join(parts))
    if kind in ("text", "quoted"):
        shown = "text" if kind == "text" else "atom"
        return Term(shown, line, _ESCAPE.sub(r"\1", piece[1:-1]))
    return Term(kind, line, _number(piece) if kind == "number" else piece)


def _byte(number: str) -> str:
    return chr(int(number[-3:]) % 256)


def _number(piece: str) -> str:
    """A number as Python writes it, if its base is one of Erlang's.

    >>> _number("16#1628"), _number("5_672"), _number("2.5")
    ('5672', '5672', '2.5')
    """
    base, mark, digits = piece.partition("#")
    if mark and base.isdecimal() and 2 <= int(base[:3]) <= 36 and len(digits) < 20:
        try:
            return str(int(digits, int(base)))
        except ValueError:
            return piece
    return piece.replace("_", "")


def pairs(term: Term | None) -> dict[str, Term]:
    """Of a list of {name, value} the values by name; a bare atom is its own value."""
    found: dict[str, Term] = {}
    for one in term.items if term else []:
        if one.kind == "tuple" and len(one.items) > 1:
            found.setdefault(one.items[0].text, one.items[1])
        elif one.kind == "atom":
            found.setdefault(one.text, one)
    return found
