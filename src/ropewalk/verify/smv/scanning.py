"""What is done to an SMV text before its words are read: comments go, and so do long tables.

A table of 384 brokers has 147,000 rows `loc = 1 & dest = 2 : 3;`. Such rows are found by their
shape and kept by columns; in the text a mark is left for them, and everything stays in its place.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ropewalk.verify.logic.syntax import Expr

MARK = "\x00"
FEWEST_ROWS = 16
"""Shorter tables are read as what they are written as."""

_NAME = r"[A-Za-z_][\w$#]*+(?:[.-]\w[\w$#]*+)*+(?:\[\d++\])*+"
_WORD = r"-?[\w$#]++(?:-[\w$#]++)*+"
_SET = r"\{[^{}:;]*+\}"
_TERM = rf"\s*+{_NAME}\s*+(?:=\s*+{_WORD}|in\s*+{_SET})"
_ROW = rf"{_TERM}(?:\s*+&{_TERM})*+\s*+:\s*+{_WORD}\s*+;"
_RUN = re.compile(rf"(?:;|\bcase\b)(?=(?:{_ROW}){{{FEWEST_ROWS}}})", re.ASCII)
_ONE_ROW = re.compile(_ROW, re.ASCII)
_VALUES = re.compile(rf"[=:]\s*+({_WORD})", re.ASCII)
_PARTS = re.compile(rf"({_NAME})\s*+(=|in\b)", re.ASCII)

Shape = tuple[tuple[str, bool], ...]
"""Names that a row looks at, and whether it is for being in a set."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one shape: a column of values for each name, or of sets, and what they lead to."""

    shape: Shape
    columns: tuple[tuple[str, ...], ...]
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Run(Expr):
    """Flat rows of a `case`, one after another: they stand for branches until names are known."""

    groups: tuple[Rows, ...]
    at: int


def without_comments(text: str) -> str:
    """The text with spaces for `-- ...` and `/-- ... --/`.

    >>> without_comments("a -- b")
    'a     '
    """
    pieces, done = [], 0
    while (at := text.find("--", done)) >= 0:
        start, end = _comment(text, at, done)
        pieces += [text[done:start], re.sub(r"[^\n]", " ", text[start:end])]
        done = end
    return "".join((*pieces, text[done:]))


def _comment(text: str, at: int, done: int) -> tuple[int, int]:
    """Where the comment at `--` starts and ends."""
    closed = text.find("--/", at + 2) if at > done and text[at - 1] == "/" else -1
    if closed >= 0:
        return at - 1, closed + 3
    end = text.find("\n", at)
    return at, end if end >= 0 else len(text)


def without_tables(text: str) -> tuple[str, dict[int, Run]]:
    """The text with a mark for each long run of flat rows, and the runs by where their mark is."""
    pieces, runs, done = [], {}, 0
    while found := _RUN.search(text, done):
        start = found.end()
        groups, end = _groups(text, start)
        pieces += [text[done:start], MARK, " " * (end - start - 1)]
        runs[start], done = Run(groups, start), end
    return "".join((*pieces, text[done:])), runs


def _groups(text: str, at: int) -> tuple[tuple[Rows, ...], int]:
    groups = []
    while row := _ONE_ROW.match(text, at):
        shape = tuple((name, op == "in") for name, op in _PARTS.findall(_condition(row.group())))
        whole, one = _patterns(shape)
        run = whole.match(text, at)
        end = run.end() if run else row.end()
        *columns, values = _columns(text[at:end], shape, one)
        groups.append(Rows(shape, tuple(columns), values))
        at = end
    return tuple(groups), at


def _columns(text: str, shape: Shape, one: re.Pattern[str]) -> Iterator[tuple[str, ...]]:
    """The values of rows, by columns; one flat list is half the work of a tuple for each row."""
    if any(is_set for _, is_set in shape):
        return zip(*one.findall(text), strict=True)
    width = len(shape) + 1
    flat = _VALUES.findall(text)
    return (tuple(flat[k::width]) for k in range(width))


def _condition(row: str) -> str:
    return row.partition(":")[0]


@lru_cache(maxsize=256)
def _patterns(shape: Shape) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Rows of a shape, as many as follow, and one of them with its values."""
    many, one = (
        r"\s*+&".join(_term(name, is_set, form) for name, is_set in shape)
        + rf"\s*+:\s*+{form.format(_WORD)}\s*+;"
        for form in ("{}", "({})")
    )
    return re.compile(f"(?:{many})++", re.ASCII), re.compile(one, re.ASCII)


def _term(name: str, is_set: bool, form: str) -> str:
    value = rf"in\s*+\{{{form.format('[^{}:;]*+')}\}}" if is_set else rf"=\s*+{form.format(_WORD)}"
    return rf"\s*+{re.escape(name)}\s*+{value}"


def members(text: str) -> Iterator[str]:
    """The elements of a set as it is written."""
    yield from (one.strip() for one in text.split(","))
