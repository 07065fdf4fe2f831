"""The words of a formula or of an SMV text, with where they stand."""

import re
from dataclasses import dataclass

from ropewalk.errors import RopewalkError

_NUMBER = r"\d+"
_NAME = r"[^\W\d](?:\w|[$#@]|-(?=\w)|\.(?=\w))*"
_QUOTED = r"\"[^\"\n]*\"|'[^'\n]*'"
_SIGN = r"<->|->|:=|\.\.|!=|<=|>=|&&|\|\||[-+*/&|!=<>()\[\]{}:;,?]"
_TOKEN = re.compile(
    rf"(?P<skip>\s+|(?<!\w)--[^\n]*)|(?P<number>{_NUMBER})|(?P<name>{_NAME})"
    rf"|(?P<quoted>{_QUOTED})|(?P<sign>{_SIGN})|(?P<other>.)"
)


class FormulaError(RopewalkError):
    """A text that cannot be read: what is wrong, and at which character (from 0)."""

    def __init__(self, message: str, at: int, text: str = "") -> None:
        self.message, self.at, self.text = message, at, text
        super().__init__(f"column {self.column}: {message}")

    def __reduce__(self) -> tuple[type, tuple[str, int, str]]:
        """It goes from process to process."""
        return type(self), (self.message, self.at, self.text)

    @property
    def line(self) -> int:
        """The line, from 1."""
        return self.text.count("\n", 0, self.at) + 1

    @property
    def column(self) -> int:
        """The column, from 1."""
        return self.at - (self.text.rfind("\n", 0, self.at) + 1) + 1

    def pointed(self) -> str:
        """The line with a mark below the place."""
        start = self.text.rfind("\n", 0, self.at) + 1
        line = self.text[start:].partition("\n")[0]
        return f"{line}\n{' ' * (self.column - 1)}^"


@dataclass(frozen=True, slots=True)
class Token:
    """A word: its kind (number, name, quoted, sign, other, end), its text, and where it starts."""

    kind: str
    text: str
    at: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"'{self.text}'"


def tokens(text: str) -> list[Token]:
    """All words of a text, and the end.

    Characters that nothing is written with are words of their own: names of topics may have them.

    >>> [one.text for one in tokens("G(!up(b1) -> a-b)")]
    ['G', '(', '!', 'up', '(', 'b1', ')', '->', 'a-b', ')', '']
    """
    found = []
    for match in _TOKEN.finditer(text):
        kind, word = match.lastgroup or "", match.group()
        if kind != "skip":
            found.append(Token(kind, word[1:-1] if kind == "quoted" else word, match.start()))
    return [*found, Token("end", "", len(text))]
