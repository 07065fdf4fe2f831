"""A mosquitto.conf to settings with their lines; what Mosquitto's own reader stumbles over.

A line is a name, a space and a value. `#` starts a comment at the very beginning of a line only.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.mosquitto.known import ASIDE, KNOWN, LOGS, OLD, PLUGIN_OPTIONS
from ropewalk.findings import Where

_TEMPLATE = re.compile(r"\{\{|\{%|<%")


@dataclass(frozen=True, slots=True)
class Setting:
    """A line that says something."""

    name: str
    value: str
    where: Where

    @property
    def words(self) -> list[str]:
        """The value as Mosquitto takes it apart: at spaces. A comment may follow numbers."""
        return self.value.split()


def parts(line: str) -> tuple[str, str] | None:
    r"""A line's name and value; None if it is empty or a comment.

    >>> parts("topic  a/# out\r"), parts("# topic a/#"), parts("   ")
    (('topic', 'a/# out'), None, None)
    """
    line = line.removeprefix("\ufeff").rstrip("\r\n")
    if line.startswith("#"):
        return None
    name, _, value = line.replace("\t", " ").strip(" ").partition(" ")
    return (name, value.strip()) if name and not name.startswith("#") else None


def settings(text: str, file: str, drafts: Drafts) -> Iterator[Setting]:
    """Every setting that Mosquitto knows, in the order of the file; others are told."""
    for number, line in enumerate(text.split("\n"), 1):
        where = Where(file, number)
        said = parts(line)
        _stumbles(line.rstrip("\r"), where, drafts)
        if said is None:
            continue
        name, value = said
        if _TEMPLATE.search(line):
            what = "this line is a template's"
            drafts.fault(where, "C006", f"{what}: fill it in first, Mosquitto cannot read it")
        elif name in KNOWN:
            if not value and ASIDE.get(name, OLD) not in (OLD, LOGS):
                what = f"{name} has no value, so Mosquitto does not start"
                drafts.warn(where, "C020", f"{what}: write one, or remove the line")
            yield Setting(name, value, where)
        elif name.startswith(PLUGIN_OPTIONS):
            option = next(one for one in PLUGIN_OPTIONS if name.startswith(one))
            drafts.aside(where, f"{option}...", "what a plug-in does is not looked at")
        else:
            near = get_close_matches(name, KNOWN, 1)
            meant = f" (is {near[0]} meant?)" if near else ""
            # What stands there is not repeated: it may be a password without its name.
            drafts.aside(where, "this line", f"it is no setting of Mosquitto up to 2.1{meant}")


def _stumbles(line: str, where: Where, drafts: Drafts) -> None:
    """Marks that people do not see, and that keep Mosquitto from starting."""
    if line.startswith("\ufeff"):
        what = "a byte order mark stands before the first line, which Mosquitto does not know then"
        drafts.warn(where, "C020", f"{what}: save the file as UTF-8 without it")
    bare = line.removeprefix("\ufeff")
    if bare.startswith((" ", "\t")) and bare.strip().startswith("#"):
        what = "a comment that is indented keeps Mosquitto from starting"
        drafts.warn(where, "C020", f"{what}: move the # to the line's very beginning")
    elif "\t" in bare.lstrip(" ").partition(" ")[0] and bare.strip() and not bare.startswith("#"):
        what = "Mosquitto takes a tab as part of the setting's name and does not start"
        drafts.warn(where, "C020", f"{what}: write a space")
