"""What changes of the lines of a connection that stays; its other lines, and comments, stay too."""

from collections import Counter
from collections.abc import Sequence

from ropewalk.federation.readers.mosquitto.lines import parts

_DEFAULTS = ("", "out", "0", '""', '""')
"""Of a topic line: pattern, direction, quality of service, local and remote prefix."""
_PLACES = ("address", "addresses", "topic")


class Change:
    """Goes through the lines of a connection: those that are gone make room for the new ones."""

    def __init__(self, had: Sequence[str] = (), wanted: Sequence[str] = ()) -> None:
        before, after = Counter(map(_meaning, had)), Counter(map(_meaning, wanted))
        self._gone = before - after
        self._new = [one for one in wanted if _meaning(one) in after - before]
        self._known = bool(wanted)
        self._at = 0

    def __bool__(self) -> bool:
        return self._known

    def take(self, line: str, out: list[str], end: str) -> None:
        """A line of the original that is a setting of the connection."""
        meaning = _meaning(line)
        if self._gone[meaning]:
            self._gone[meaning] -= 1
            same = [one for one in self._new if _meaning(one)[0] == meaning[0]]
            for one in same[:1]:
                self._new.remove(one)
                out.append(one + end)
        else:
            out.append(line)
        if meaning[0] in _PLACES or not self._at:
            self._at = len(out)

    def finish(self, out: list[str], end: str) -> None:
        """What is new and has taken no other line's place comes after the last topic."""
        out[self._at : self._at] = [one + end for one in self._new] if self._at else []


def _meaning(line: str) -> tuple[str, ...]:
    """A line's setting and values, whatever is written out of what goes without saying."""
    name, value = parts(line) or ("", "")
    words = value.split()
    if name == "topic":
        return (name, *words, *_DEFAULTS[len(words) :])
    if name in ("address", "addresses"):
        return ("address", *(one if ":" in one else f"{one}:1883" for one in words))
    return (name, *words)
