"""What is wrong with a population's file, noted while it is read, with the nearest known names."""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from ropewalk.federation.showing import shown
from ropewalk.protocol.notebook import At, Notebook

_OURS = {"P003": "N003", "P005": "N005"}


class Notes(Notebook):
    """The values of a population's file, and the faults found in them so far."""

    def say(self, code: str, at: At | int, message: str) -> None:
        """Note a fault, under this kind of file's codes."""
        super().say(_OURS.get(code, code), at, message)

    def fields(self, at: At, what: str, known: Collection[str], write: str) -> Mapping[str, Any]:
        """A map with known keys; an empty one where there is none, which is noted."""
        value = self.get(at)
        if not isinstance(value, Mapping):
            said = "is empty" if value is None else f"is {shown(value)}, no map"
            self.say("N003", at, f"{what} {said}: {write}")
            return {}
        for key in value:
            if key not in known:
                self.say("N004", (*at, key), f"{what}: {key!r} is not known: {near(key, known)}")
        return value

    def choice(self, at: At, what: str, words: Collection[str], default: str) -> str:
        """One of a few words."""
        value = self.get(at)
        if value is None:
            if at[-1] in (self.get(at[:-1]) or ()):
                self.say("N010", at, f"{what} is empty: write {' or '.join(words)}")
            return default
        if isinstance(value, str) and value in words:
            return value
        hint = near(value, words, otherwise="write") if isinstance(value, str) else ""
        said = hint or f"write {' or '.join(words)}"
        self.say("N010", at, f"{what} is {shown(value)}: {said}")
        return default

    def truth(self, at: At, what: str, default: bool | None) -> bool | None:
        """True or false."""
        value = self.get(at)
        if isinstance(value, bool) or (value is None and at[-1] not in self.get(at[:-1])):
            return default if value is None else value
        self.say("N010", at, f"{what} is {shown(value)}: write true or false")
        return default

    def among(self, at: At, known: Collection[str], code: str, what: str) -> frozenset[str]:
        """Names that are known; none if the file has none here."""
        if at[-1] not in (self.get(at[:-1]) or ()):
            return frozenset()
        found = self.names(at, str(at[-1]), f"write {at[-1]}: [{what.upper()}]")
        some = isinstance(self.get(at), list)
        for i, name in enumerate(found):
            if name not in known:
                self.strange((*at, i) if some else at, name, known, code, what)
        return frozenset(found) & frozenset(known)

    def strange(self, at: At, name: str, known: Collection[str], code: str, what: str) -> None:
        """Note a name that nothing has."""
        self.say(code, at, f"no {what} is called {name!r}: {near(name, known)}")


def near(name: str, known: Iterable[str], *, otherwise: str = "use") -> str:
    """What may have been meant.

    >>> near("ide", ["idle", "asking"]), near("x", ["idle", "asking"])
    ("did you mean 'idle'?", 'use idle, asking')
    """
    known = [one for one in known if one]
    found = get_close_matches(name, known, 1)
    if found:
        return f"did you mean {found[0]!r}?"
    more = ", ..." if len(known) > 8 else ""
    return f"{otherwise} {', '.join(known[:8])}{more}" if known else "there are none in this file"
