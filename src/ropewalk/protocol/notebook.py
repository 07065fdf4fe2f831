"""What is wrong with a protocol's text, noted down while it is read: each fault with its line."""

from collections.abc import Sequence
from typing import Any

from ropewalk.federation.yaml_text import Parsed
from ropewalk.findings import Finding, Where

At = tuple[str | int, ...]


class Faulty(Exception):  # noqa: N818 - nothing that leaves this package
    """What is wrong makes the rest unreadable; it has been noted."""


class Notebook:
    """The values of a text, and the faults found in them so far."""

    def __init__(self, parsed: Parsed, file: str) -> None:
        self._parsed, self.file = parsed, file
        self.value: Any = parsed.value
        self.faults: list[tuple[int, str, str]] = []

    def line(self, at: At) -> int:
        """Where a value is written."""
        return self._parsed.line_of(at)

    def say(self, code: str, at: At | int, message: str) -> None:
        """Note a fault."""
        self.faults.append((at if isinstance(at, int) else self.line(at), code, message))

    def findings(self) -> list[Finding]:
        """All faults, in the order of their lines."""
        told = dict.fromkeys(sorted(self.faults, key=lambda one: one[0]))
        return [Finding(code, message, Where(self.file, line)) for line, code, message in told]

    def get(self, at: At) -> Any:
        """The value at a place, or None."""
        value = self.value
        for step in at:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def name(self, at: At, what: str, write: str) -> str:
        """A name; raises Faulty if there is none."""
        found = self._named(self.get(at), at, what, write)
        if found is None:
            raise Faulty
        return found

    def names(self, at: At, what: str, write: str) -> list[str]:
        """Several names, or one of its own; those that are none are noted and left out."""
        value = self.get(at)
        if value is None or isinstance(value, dict) or value == []:
            self.say("P003", at, f"{what}: there is no list of names: {write}")
            return []
        some = value if isinstance(value, list) else [value]
        places = [(*at, i) for i in range(len(some))] if isinstance(value, list) else [at]
        found = [
            self._named(one, where, f"a name in {what}", write)
            for one, where in zip(some, places, strict=True)
        ]
        return [one for one in dict.fromkeys(found) if one is not None]

    def _named(self, value: Any, at: At, what: str, write: str) -> str | None:
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if value is None or value == "":
            missing = self.get(at[:-1]) is not None and at[-1] not in _keys(self.get(at[:-1]))
            said = "is missing" if missing else "is empty"
            self.say("P003", at, f"{what} {said}: {write}")
        elif isinstance(value, bool | float):
            self.say("P003", at, f"{what} is {value}: write a name that looks like one in quotes")
        else:
            self.say("P003", at, f"{what} is no text: {write}")
        return None

    def arrow(self, at: At, text: object, between: str, write: str) -> tuple[str, str] | None:
        """The two ends of an arrow; None, and noted, if it is none."""
        ends = [end.strip() for end in str(text).split("->")]
        if len(ends) != 2 or not all(ends):
            self.say("P005", at, f"{text!r} is not one arrow between {between}: {write}")
            return None
        return ends[0], ends[1]


def _keys(value: Any) -> Sequence[Any]:
    return list(value) if isinstance(value, dict) else range(len(value))
