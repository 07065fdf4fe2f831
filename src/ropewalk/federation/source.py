"""Where a federation's facts were written: the file, and a line for every entry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ropewalk.findings import Where


@dataclass(frozen=True, slots=True)
class Source:
    """A file and the line of each entry of its sections, in the order of the entries."""

    file: str = "<memory>"
    lines: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def where(self, section: str, index: int) -> Where:
        """The place of entry number `index` of a section; line 0 when it is not known."""
        lines = self.lines.get(section, ())
        return Where(self.file, int(lines[index]) if index < len(lines) else 0)


def written_at(entry: object, field: str = "entry") -> Where | None:
    """Where an entry, or a field of it, was read; None if it was read from no other file.

    >>> from ropewalk.federation.bridges import Bridge
    >>> bridge = Bridge(from_="a", to="b", written={"entry": "a/mosquitto.conf:7"})
    >>> str(written_at(bridge)), str(written_at(bridge, "addresses"))
    ('a/mosquitto.conf:7', 'a/mosquitto.conf:7')
    """
    written: Mapping[str, str] = getattr(entry, "written", {})
    place = written.get(field) or written.get("entry")
    if not place:
        return None
    file, _, line = place.rpartition(":")
    return Where(file, int(line)) if file and line.isdecimal() else Where(place)
