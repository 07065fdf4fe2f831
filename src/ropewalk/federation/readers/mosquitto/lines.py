"""A mosquitto.conf to settings with their lines; what Mosquitto's own reader stumbles over.

A line is a name, a space and a value. `#` starts a comment at the very beginning of a line only.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.mosquitto.known import (
    KNOWN,
    NO_START,
    NOT_EMPTY,
    PLUGIN_OPTIONS,
    TEXTS,
)
from ropewalk.findings import Where

_TEMPLATE = re.compile(r"\{\{.*\}\}|\{%.*%\}|\{#.*#\}|<%.*%>")
_FILLED_IN = r"%[A-Za-z_]{2,}%|@[A-Z_]{2,}@|\{[^{}]+\}|__[A-Z][A-Z0-9_]*__"
_IN_ADDRESS = rf"\$|{_FILLED_IN}"
# Names of topics may begin a level with $ themselves: $SYS, $aws, homie's $state.
_IN_TOPIC = rf"\$[{{(]|\$(?!SYS\b|CONTROL\b)[A-Z][A-Z0-9_]*(?![a-z])|{_FILLED_IN}"
_FILLED_LATER = {
    **dict.fromkeys(
        ("listener", "port", "bind_address", "connection", "address", "addresses", "include_dir"),
        re.compile(_IN_ADDRESS),
    ),
    "topic": re.compile(_IN_TOPIC),
}
"""What a tool fills in, by the settings that decide what is forwarded."""
_VARIABLE = re.compile(rf"<[^<>]*>|{_IN_ADDRESS}")
_VARIABLE_IN_TOPIC = re.compile(rf"<[^<>]*>|(?:^|/)\[[A-Za-z][^/]*\](?:/|$)|{_IN_TOPIC}")
_TO_FILL_IN = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\{[^{}]*\}")
_NUMBERED = re.compile(r"\S+ (?:[^\s:]+:)?-?\d+\s*|(?:max_|autosave|keepalive)\w+ -?\d+\s*#.*")
TRUTH = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Setting:
    """A line that says something."""

    name: str
    value: str
    where: Where

    @property
    def words(self) -> list[str]:
        """The value as Mosquitto takes it apart: at spaces. A comment may follow numbers."""
        return words_of(self.value)

    @property
    def filled(self) -> list[str]:
        """The same, where `<your host>` is one word: nobody means its parts."""
        return words_of(_TO_FILL_IN.sub(lambda found: found[0].replace(" ", "-"), self.value))


def words_of(text: str) -> list[str]:
    r"""What stands between spaces; other white space is a part of words.

    >>> words_of("a/#\u00a0out  0")
    ['a/#\xa0out', '0']
    """
    return [one for one in text.split(" ") if one]


def before_comment(words: Sequence[str]) -> list[str]:
    """Words up to the first that begins with #.

    >>> before_comment(["hub:1883", "#", "the", "cloud"])
    ['hub:1883']
    """
    end = next((i for i, word in enumerate(words) if word.startswith("#")), len(words))
    return list(words[:end])


def parts(line: str) -> tuple[str, str] | None:
    r"""A line's name and value; None if it is empty or a comment.

    >>> parts("topic  a/# out\r"), parts("# topic a/#"), parts("   ")
    (('topic', 'a/# out'), None, None)
    """
    line = line.removeprefix("\ufeff").rstrip("\r\n")
    if line.startswith("#"):
        return None
    name, _, value = line.replace("\t", " ").strip(" ").partition(" ")
    return (name, value.strip(" ")) if name and not name.startswith("#") else None


def variable(text: str, *, topic: bool = False) -> bool:
    """Whether an address, or a topic, looks as if it is to be filled in: Mosquitto does not.

    >>> variable("$hub"), variable("$aws/x", topic=True), variable("site/${ID}/", topic=True)
    (True, False, True)
    """
    return (_VARIABLE_IN_TOPIC if topic else _VARIABLE).search(text) is not None


def is_template(text: str, file: str, drafts: Drafts) -> bool:
    """Whether a file has to be filled in before it is a configuration; told, once."""
    marked = [
        number
        for number, line in enumerate(text.split("\n"), 1)
        if (said := parts(line)) is not None and (_TEMPLATE.search(line) or _is_filled_later(*said))
    ]
    if marked:
        what = f"this file is a template{_also(marked)}, and Mosquitto fills in nothing"
        fix = "fill it in first, and read what comes out"
        drafts.fault(Where(file, marked[0]), "C006", f"{what}: {fix}")
    return bool(marked)


def _is_filled_later(name: str, value: str) -> bool:
    """Whether a line that is read holds what a tool fills in, `${HOST}` or `__HOST__`."""
    found = _FILLED_LATER.get(name)
    words = words_of(value)
    said = " ".join([*words[:1], *before_comment(words[1:])])
    return found is not None and found.search(said) is not None


def settings(text: str, file: str, drafts: Drafts) -> Iterator[Setting]:
    """Every setting that Mosquitto knows, in the order of the file; others are told."""
    _tell_stumbles(text, file, drafts)
    for number, line in enumerate(text.split("\n"), 1):
        where, said = Where(file, number), parts(line)
        if said is None:
            continue
        name, value = said
        if name in KNOWN:
            if not value and name in NOT_EMPTY:
                what = f"{name} has no value, {NO_START}"
                drafts.warn(where, "C020", f"{what}: write one, or remove the line")
            if " #" in value and (name in TEXTS or value.startswith("file ")):
                what = f"Mosquitto takes the # and what follows it as part of {name}"
                drafts.warn(where, "C020", f"{what}: write a comment on a line of its own")
            yield Setting(name, value, where)
        elif name.startswith(PLUGIN_OPTIONS):
            option = next(one for one in PLUGIN_OPTIONS if name.startswith(one))
            drafts.aside(where, f"{option}...", "what a plug-in does is not looked at")
            yield Setting(f"{option}...", "", where)  # without what may be a password
        else:
            near = get_close_matches(re.split("[=:]", name.lower())[0], KNOWN, 1)
            meant = f" (is {near[0]} meant?)" if near else ""
            # What stands there is not repeated: it may be a password without its name.
            what = f"not modelled: this line: it is no setting of Mosquitto up to 2.1{meant}"
            fix = "correct it, or remove the line"
            drafts.warn(where, "C010", f"{what}, {NO_START}: {fix}")


def _tell_stumbles(text: str, file: str, drafts: Drafts) -> None:
    """Marks that people do not see, and that keep Mosquitto from starting: each kind once."""
    lines = [line.rstrip("\r") for line in text.removeprefix("\ufeff").split("\n")]
    if text.startswith("\ufeff"):
        what = f"a byte order mark stands before the first line, {NO_START}"
        drafts.warn(Where(file, 1), "C020", f"{what}: save the file as UTF-8 without it")
    for stumbles, what, fix in _STUMBLES:
        found = [number for number, line in enumerate(lines, 1) if stumbles(line)]
        if found:
            drafts.warn(Where(file, found[0]), "C020", f"{what}{_also(found)}: {fix}")


def _also(lines: Sequence[int]) -> str:
    """The lines after the first, as a part of a message."""
    if not lines[1:]:
        return ""
    some = ", ".join(map(str, lines[1:6])) + (" ..." if len(lines) > 6 else "")
    return f" (also line{'s' if len(lines) > 2 else ''} {some})"


def _hidden_comment(line: str) -> bool:
    return line[:1] in (" ", "\t") and line.lstrip().startswith("#")


def _tab_in_name(line: str) -> bool:
    if line.startswith("#") or _hidden_comment(line):
        return False
    return "\t" in line.lstrip(" ").partition(" ")[0]


def _tab_in_value(line: str) -> bool:
    """Whether a tab is part of a word that says something else then; at the end of a number not."""
    if line.startswith("#") or _hidden_comment(line):
        return False
    name, _, value = line.strip(" ").partition(" ")
    value = value.lstrip(" ").partition(" #")[0]
    return "\t" in value and _NUMBERED.fullmatch(f"{name} {value}") is None


_STUMBLES: Sequence[tuple[Callable[[str], object], str, str]] = (
    (
        _hidden_comment,
        f"a comment is indented, {NO_START}",
        "move the # to the line's very beginning",
    ),
    (
        _tab_in_name,
        f"a tab is part of the setting's name, {NO_START}",
        "write a space",
    ),
    (
        _tab_in_value,
        "Mosquitto takes a tab as part of a word, not as what stands between two",
        "write a space",
    ),
    (
        re.compile(r"[^\r]\r+[^\r]").search,
        "a carriage return alone ends no line for Mosquitto",
        "save the file with line feeds",
    ),
    (
        re.compile(r" *bridge_protocol_version .*\S[ \t]+\Z").match,
        f"a space follows the protocol version, {NO_START}",
        "remove what follows the version",
    ),
    (
        re.compile(r" *bridge_protocol_version  +\S").match,
        f"the protocol version stands after more than one space, {NO_START}",
        "write one space",
    ),
    (
        # A password may have any of these.
        re.compile(r"(?! *#| *\w*password ).*(?:[^\S \t\r]|[\u200b\u2060\ufeff])").match,
        "a white space that is no space, as the non-breaking one, is part of a word for Mosquitto",
        "write a space",
    ),
)
