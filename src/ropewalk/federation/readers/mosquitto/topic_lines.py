"""One topic line: `topic PATTERN [[[out|in|both] QOS] LOCAL-PREFIX REMOTE-PREFIX]`."""

import re
from dataclasses import replace

from ropewalk.federation.names import topic_fault
from ropewalk.federation.readers.drafts import Direction, Drafts
from ropewalk.federation.readers.mosquitto.known import NO_START
from ropewalk.federation.readers.mosquitto.lines import (
    Setting,
    before_comment,
    variable,
    words_of,
)
from ropewalk.federation.readers.mosquitto.topics import Line, single
from ropewalk.federation.showing import shown
from ropewalk.findings import Where

EMPTY = '""'
_QUOTED = re.compile(r'"([^"]*)"(?: +(.*))?\Z')
_NUMBER = re.compile(r"[-+]?\d{1,9}")
_WAYS: dict[str, Direction] = {"out": "out", "in": "in", "both": "both"}


def topic_line(setting: Setting, drafts: Drafts) -> Line | None:
    """A topic line as Mosquitto reads it; None if it carries nothing, and that is told."""
    where = setting.where
    words = _words(setting, drafts)
    if words is None:
        return None
    line = _qualified(words, where, drafts)
    if line is None:
        return None
    _tell_variable(line, drafts)
    if not line.pattern:
        return _single(line, drafts)
    return line if _sound(line, drafts) else None


def _tell_variable(line: Line, drafts: Drafts) -> None:
    names = (line.pattern, line.local, line.remote)
    held = next((one for one in names if variable(one, topic=True)), None)
    if held is not None:
        what = f"{shown(held)} looks like it holds a variable, and Mosquitto fills in none"
        drafts.warn(line.where, "C020", f"{what}: write the topic itself")


def _words(setting: Setting, drafts: Drafts) -> list[str] | None:
    """The pattern, and what follows it; a pattern in quotes may hold spaces from 2.1 on."""
    words, where = setting.filled, setting.where
    if not words:
        drafts.fault(where, "C002", "topic has no pattern: write topic PATTERN out 0")
        return None
    if words[0] == EMPTY:
        return ["", *words[1:]]
    if not words[0].startswith('"'):
        return words
    quoted = _QUOTED.match(setting.value)
    if quoted is None:
        drafts.fault(where, "C002", 'the quote that opens is not closed: write " once more')
        return None
    if " " in quoted[1]:
        what = "only Mosquitto 2.1 reads a pattern with spaces; others do not start"
        drafts.warn(where, "C020", f"{what}: do without spaces in names")
        return [quoted[1], *words_of(quoted[2] or "")]
    what = "Mosquitto takes the quotes as part of the pattern, so the line carries nothing you mean"
    drafts.warn(where, "C020", f"{what}: write the pattern without quotes")
    return words if topic_fault(words[0]) is None else None


def _qualified(words: list[str], where: Where, drafts: Drafts) -> Line | None:
    line = Line(where=where, pattern=words[0])
    if len(words) == 1:
        return line
    way = _WAYS.get(words[1].lower())
    if way is None:
        comment = words[1].startswith("#")
        what = "a comment cannot follow here" if comment else f"{shown(words[1])} is no direction"
        drafts.fault(where, "C002", f"{what}: write topic PATTERN out, in or both")
        return None
    given = before_comment(words[2:])
    if EMPTY in words[2 + len(given) :]:
        what = "a word that starts with # begins a comment, so the prefixes after it do not count"
        drafts.warn(where, "C020", f"{what}: write the quality of service, 0, 1 or 2, instead")
    if len(given) > 3:
        what = "Mosquitto passes over what follows the two prefixes"
        drafts.warn(where, "C020", f"{what}: remove it; names with spaces cannot be renamed")
    qos = _qos(given[0], where, drafts) if given else 0
    local, remote = (_prefix(one, where, drafts) for one in (*given[1:3], "", "")[:2])
    if len(given) == 2 and local:
        what = f"a single prefix is the one of names here, not of the far broker's: {shown(local)}"
        drafts.note(where, "C020", f'{what}; if it is meant for there, write "" before it')
    return (
        None if qos is None else replace(line, direction=way, qos=qos, local=local, remote=remote)
    )


def _qos(word: str, where: Where, drafts: Drafts) -> int | None:
    """As C reads numbers: what begins with none is 0."""
    number = _NUMBER.match(word)
    qos = int(number[0]) if number else 0
    if not 0 <= qos <= 2:
        drafts.fault(where, "C005", f"{shown(word)} is no quality of service: write 0, 1 or 2")
        return None
    if word not in ("0", "1", "2"):
        what = f"{shown(word)} is read as quality of service {qos}"
        drafts.warn(where, "C020", f"{what}: write 0, 1 or 2 before the prefixes")
    return qos


def _prefix(word: str, where: Where, drafts: Drafts) -> str:
    if word == EMPTY:
        return ""
    if '"' in word:
        what = f"Mosquitto takes the quotes as part of the prefix {shown(word)}"
        drafts.warn(where, "C020", f"{what}: write it without quotes")
    return word


def _single(line: Line, drafts: Drafts) -> Line | None:
    """An empty pattern: one topic, renamed."""
    if not line.local or not line.remote:
        what = 'an empty pattern "" needs both prefixes, the topic here and the topic there'
        drafts.fault(line.where, "C002", f'{what}: write topic "" out 0 here/topic there/topic')
        return None
    if not all(_good(name, line.where, drafts) for name in (line.local, line.remote)):
        return None
    found = single(line)
    if found is None:
        why = "a topic renamed to a name that ends otherwise has no place in a federation"
        what = f"not modelled: this topic line: {why}, so loops and copies by it are not seen"
        drafts.note(line.where, "C010", what, "warning")
    return found


def _good(name: str, where: Where, drafts: Drafts) -> bool:
    """Whether a name without wildcards is one."""
    wild = "+" in name or "#" in name
    advice = "a prefix has no wildcards" if wild else topic_fault(name)
    if advice:
        drafts.fault(where, "C005", f"{shown(name)} cannot stand before a name: {advice}")
    return not advice


def _sound(line: Line, drafts: Drafts) -> bool:
    if line.pattern.startswith("$share/"):
        drafts.note(
            line.where, "C010", "not modelled: this topic line: shared subscriptions", "warning"
        )
        return False
    if advice := topic_fault(line.pattern):
        drafts.fault(line.where, "C005", f"{shown(line.pattern)} is no topic pattern: {advice}")
        return False
    prefixes = [one for one in (line.local, line.remote) if one]
    if not all(_good(one, line.where, drafts) for one in prefixes):
        return False
    for prefix in prefixes:
        joined = prefix + line.pattern
        if topic_fault(joined):
            what = f"prefix and pattern make {shown(joined)}, {NO_START}"
            meant = prefix.replace('"', "") + "/"
            drafts.fault(line.where, "C005", f"{what}: write the prefix {shown(meant)}")
            return False
        ends, starts = prefix.endswith(("/", '"')), line.pattern.startswith("/")
        if not ends and not starts:
            what = f"Mosquitto puts no / between them: the names are {shown(joined)}"
            drafts.warn(line.where, "C020", f"{what}: end the prefix with / if a level is meant")
        elif starts and prefix.endswith("/"):
            what = f"prefix and pattern both have a /, which makes an empty level: {shown(joined)}"
            drafts.warn(line.where, "C020", f"{what}: leave one out unless that is meant")
    return True
