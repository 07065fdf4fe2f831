"""Erlang terms as configuration files have them, with lines; nesting costs no stack."""

import re
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 64
_PIECE = re.compile(
    r"""
    (?P<space>\s+|%[^\n]*)
    | (?P<binary><<\s*(?:"(?:\\.|[^"\\])*"(?:/utf8)?)?\s*>>)
    | (?P<text>"(?:\\.|[^"\\])*")
    | (?P<quoted>'(?:\\.|[^'\\])*')
    | (?P<number>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)
    | (?P<atom>[a-z][A-Za-z0-9_@]*)
    | (?P<mark>\#\{|=>|[\[\]{}(),.|\#])
    """,
    re.VERBOSE,
)
_CLOSES = {"[": "]", "{": "}", "#{": "}"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


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

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line, self.message = line, message


def read_terms(text: str) -> list[Term]:
    """The terms of a text, each of which ends with a full stop.

    >>> [one.kind for one in read_terms('[{a, "b"}].')[0].items[0].items]
    ['atom', 'text']
    """
    found: list[Term] = []
    stack: list[tuple[str, Term]] = []
    at, line = 0, 1
    while at < len(text):
        match = _PIECE.match(text, at)
        if match is None:
            raise TermFault(line, "no Erlang term: look for a missing quote or comma here")
        at, piece = match.end(), match[0]
        kind, here = match.lastgroup or "", line
        line += piece.count("\n")
        if kind == "space" or piece in (",", ".", "|", "=>"):
            continue
        if piece in _CLOSES:
            stack.append((_CLOSES[piece], Term("list" if piece == "[" else "tuple", here)))
            if len(stack) > MAX_DEPTH:
                raise TermFault(here, f"nested more than {MAX_DEPTH} levels deep")
            continue
        if kind == "mark":
            if not stack or stack[-1][0] != piece:
                raise TermFault(here, f"{piece} closes nothing here: remove it")
            made = stack.pop()[1]
        else:
            made = Term(*_leaf(kind, piece, here))
        (stack[-1][1].items if stack else found).append(made)
    if stack:
        raise TermFault(stack[-1][1].line, f"what begins here is not closed: write {stack[-1][0]}")
    return found


def _leaf(kind: str, piece: str, line: int) -> tuple[str, int, str]:
    if kind in ("binary", "text"):
        inner = piece[piece.find('"') + 1 : piece.rfind('"')] if '"' in piece else ""
        return "text", line, _ESCAPE.sub(r"\1", inner)
    if kind == "quoted":
        return "atom", line, _ESCAPE.sub(r"\1", piece[1:-1])
    return kind, line, piece


def pairs(term: Term | None) -> dict[str, Term]:
    """Of a list of {name, value} the values by name; a bare atom is its own value."""
    found: dict[str, Term] = {}
    for one in term.items if term else []:
        if one.kind == "tuple" and len(one.items) > 1:
            found.setdefault(one.items[0].text, one.items[1])
        elif one.kind == "atom":
            found.setdefault(one.text, one)
    return found
