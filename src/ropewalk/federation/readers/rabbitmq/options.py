"""Options and words of a command, as rabbitmqctl, rabbitmqadmin and curl take them."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ropewalk.federation.readers.shell import Word


@dataclass(slots=True)
class Said:
    """Options and the other words of a command."""

    words: list[Word] = field(default_factory=list)
    options: dict[str, Word] = field(default_factory=dict)

    def option(self, *names: str) -> str | None:
        """What an option says, under any of its names."""
        found = next((self.options[one] for one in names if one in self.options), None)
        return None if found is None else found.text

    def without_unknown(self) -> "Said":
        """Without `$OPTIONS` before the command that nobody knows here."""
        known = next((i for i, one in enumerate(self.words) if one.text[:1] != "$"), 0)
        return Said(self.words[known:], self.options)

    def text(self, at: int) -> str:
        """A word, or nothing."""
        return self.words[at].text if at < len(self.words) else ""


def said(words: Sequence[Word], with_value: Collection[str]) -> Said:
    """Options may stand anywhere and say their value in the next word or after `=`."""
    made, left = Said(), iter(words)
    for word in left:
        name, equals, value = word.text.partition("=")
        if word.text == "--":
            made.words += left
        elif word.text.startswith("--") and equals:
            made.options[name] = Word(value, word.line)
        elif word.text in with_value:
            made.options[word.text] = next(left, Word("", word.line))
        elif re.fullmatch(r"-[A-Za-z]|--[a-z][\w-]*", word.text):
            made.options[word.text] = Word("", word.line)
        else:
            made.words.append(word)
    return made
