"""What is known while a shell script is followed: words, commands, variables and files."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

UNKNOWN = re.compile(r"[$`]")
"""What is left in a text whose variables are not all known."""
_BLANK = " \t\n"
_PLAIN = "0"
"""The place of a variable that is no array: the first."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command, and the line on which it begins."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: its words, and what a here-document gives to it."""

    words: tuple[Word, ...]
    stdin: Word | None = None
    own: tuple[tuple[str, str], ...] = ()
    """Variables that are set for it alone, before its name."""
    perhaps: bool = False
    """Whether it stands under a condition that is not known."""

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.words[0].line

    def variable(self, name: str, state: "State") -> str:
        """What it knows a variable to be; nothing if that is not known."""
        return dict(self.own).get(name) or state.text(name) or ""


@dataclass(slots=True)
class State:
    """What a script has set so far, and where in it the reader is."""

    values: dict[str, dict[str, str]] = field(default_factory=dict)
    """Variables by their places: an array has several, of which a text may be the name."""
    files: dict[str, Word] = field(default_factory=dict)
    """Texts that the script writes to files."""
    made: set[str] = field(default_factory=set)
    """Names of all files that it writes, also where the text is not known."""
    odd: list[int] = field(default_factory=list)
    """Lines that are no shell."""
    functions: dict[str, tuple["Node", bytes, int]] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    arguments: list[tuple[Word, ...]] = field(default_factory=list)
    doubtful: dict[str, int] = field(default_factory=dict)
    """Variables that are set under conditions that are not known, and how many of them."""
    spent: list[int] = field(default_factory=lambda: [0])
    """How many commands were followed, also by what was made from it."""
    unsure: int = 0
    """How many conditions around a command are not known, within its loop and function."""
    doubt: int = 0
    """The same, within the whole script."""
    leaves: str = ""
    """`continue`, `break` or `return` that ends what is being followed."""
    loops: int = 0

    def aside(self) -> "State":
        """The same for commands that are only asked what they say."""
        values = {name: dict(places) for name, places in self.values.items()}
        inner = replace(self, values=values, odd=[], unsure=0, loops=0, leaves="")
        inner.arguments, inner.files = list(self.arguments), dict(self.files)
        return inner

    def text(self, name: str) -> str | None:
        """A variable's value, as `$name` has it; None if that is not known."""
        if name.isdecimal() or name in ("@", "*", "#"):
            return self._argument(name)
        places = self.values.get(name)
        return None if places is None else places.get(_PLAIN, "")

    def _argument(self, name: str) -> str | None:
        if not self.arguments:
            return None
        given = self.arguments[-1]
        if name == "#":
            return str(len(given) - 1)
        if name in ("@", "*"):
            return " ".join(one.text for one in given[1:])
        return given[int(name)].text if 0 < int(name) < len(given) else None

    def put(self, name: str, text: str, place: str = _PLAIN) -> None:
        """Set a variable, or one place of it.

        What whoever starts the script may say instead of a default leaves the default.
        """
        before = self.values.get(name, {}).get(place, "")
        if self.doubt and UNKNOWN.search(text) and before and not UNKNOWN.search(before):
            return
        self._doubt(name)
        if place == _PLAIN and name not in self.values:
            self.values[name] = {}
        self.values.setdefault(name, {})[place] = text

    def put_all(self, name: str, places: Mapping[str, str]) -> None:
        """Set an array."""
        self._doubt(name)
        self.values[name] = dict(places)

    def forget(self, name: str) -> None:
        """A variable's value is not known any more."""
        self.values.pop(name, None)

    def _doubt(self, name: str) -> None:
        self.doubtful[name] = self.doubt

    def split(self, text: str) -> list[str]:
        """The words of a text that is not quoted, at what `IFS` says."""
        marks = self.text("IFS")
        if marks is None or UNKNOWN.search(marks) or set(marks) >= set(_BLANK):
            return text.split()
        return fields(text, marks)

    def file(self, name: str) -> Word | None:
        """What the script wrote to a file, also if it was copied to another folder since."""
        alike = {path: one for path, one in self.files.items() if _base(path) == _base(name)}
        return self.files.get(name) or (next(iter(alike.values())) if len(alike) == 1 else None)

    def makes(self, name: str) -> bool:
        """Whether the script itself writes a file, whatever it writes there."""
        return _base(name) in self.made


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def fields(text: str, marks: str) -> list[str]:
    """A text's parts between marks; blanks count as one.

    >>> fields("a|b||c", "|"), fields(" a  b ", " "), fields("a b", "")
    (['a', 'b', '', 'c'], ['a', 'b'], ['a b'])
    """
    if not marks:
        return [text] if text else []
    blank = not marks.strip()
    text = text.strip(marks if blank else "\n")
    return re.split(f"[{re.escape(marks)}]" + ("+" if blank else ""), text) if text else []
