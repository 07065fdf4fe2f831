"""NATS configuration text to plain values, with the file and line of every value.

Included files become a part of the map that includes them, and keep their names in places. A
variable that only the environment of the server knows stays as it is written (`Unset`).
"""

import posixpath
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ropewalk.federation.readers.nats.lexer import MAX_DEPTH, Bad, Lexer, Word
from ropewalk.federation.showing import label
from ropewalk.federation.yaml_text import Parsed, Path
from ropewalk.findings import Finding, Severity, Where

Include = Callable[[str], str | None]
MAX_INCLUDES = 200
_HASHES = "2a$"
"""Bare bcrypt hashes start with $ and are no variables."""
_SUBJECT = re.compile(r"(?:SYS|JS|KV|O|MQTT|NRG)\.|.*[*>]")
"""What follows the $ of subjects that are the server's own."""
_OWN = ("SYS", "G")
"""Accounts of the server's own are called so after a $."""
_SECRET = re.compile(r"pass|token|nkey|seed|secret|creds|key\Z|jwt", re.IGNORECASE)
"""Settings whose value is nobody's business, even if the server takes it for a variable."""
_REMARK = re.compile(r"(?:^|\s)(?:#|//).*")
_WILD = re.compile(r"[*?]|\[[^\]]+\]")
_TEMPLATE = re.compile(
    r"\{%.*%\}|<%.*%>|%\{ *(?:if|for|else|end)"
    r"|\{\{(?!\s*(?:wildcard|partition|random|split|left|right|slice)\w*\s*\().*\}\}",
    re.IGNORECASE,
)
"""What Helm, Ansible and Terraform fill in; mappings of subjects have functions in such braces."""


class Unset(str):
    """A variable's name with its $: what it holds is not known here."""

    __slots__ = ()


@dataclass(slots=True)
class NatsText(Parsed):
    """The values of a text and of what it includes, each with its own file."""

    file: str = ""
    findings: list[Finding] = field(default_factory=list)
    included: list[str] = field(default_factory=list)
    """Files that were included, by their paths seen from the first one's folder."""
    files: dict[int, dict[str | int, str]] = field(default_factory=dict)
    complete: bool = True
    """Whether every include and variable was there, and nothing is to be filled in."""
    used: set[tuple[int, str | int]] = field(default_factory=set)
    """Keys that a variable stands for: the server lets them have any name."""
    kept: list[Any] = field(default_factory=list)
    """Maps and lists that another one replaced: their ids must not come again."""

    def where(self, path: Path) -> Where:
        """The file and line of the deepest value on the path that the text has."""
        file, line, value = self.file, 1 if self.value else 0, self.value
        for step in path:
            lines = (self.lines or {}).get(id(value), {})
            if step not in lines:
                break
            file, line = self.files[id(value)][step], lines[step]
            value = value[step]
        return Where(file, line)


def parse_nats(
    text: str,
    file: str,
    *,
    include: Include,
    environment: Mapping[str, str] | None = None,
) -> NatsText:
    """Read a NATS configuration; what is wrong with it is in the result's `findings`.

    >>> read = parse_nats("port: 4222, cluster { name: c }", "a.conf", include=lambda _: None)
    >>> read.value, str(read.where(("cluster", "name")))
    ({'port': 4222, 'cluster': {'name': 'c'}}, 'a.conf:1')
    """
    parsed = NatsText(lines={}, file=file, value={})
    environment = environment or {}
    if (template := _template(text)) is not None:
        what = "this is a template, and what is in its braces is not known"
        advice = "fill it in (helm template, Ansible, Terraform), and read what comes of it"
        _fault(parsed, Where(file, template), "C003", f"{what}: {advice}")
        parsed.complete = False
        return parsed
    parsed.value = _Builder(parsed, file, "", include, environment, ()).build(text)
    if not parsed.value and not parsed.broken and parsed.complete:
        _fault(parsed, Where(file), "C003", "the file is empty: write at least a port")
    return parsed


def includes_of(text: str) -> list[str]:
    """The files that a text includes, as far as it can be read.

    >>> includes_of("authorization { include 'users.conf' } # include nothing")
    ['users.conf']
    """
    lexer = Lexer(text)
    with suppress(Bad):
        lexer.run()
    return [one.value for one in lexer.words if one.kind == "include"]


def is_written_for_nats(text: str) -> bool:
    r"""Whether the server can take a text apart; nested YAML it cannot.

    >>> is_written_for_nats("cluster: {port: 6222}"), is_written_for_nats("cluster:\n  port: 6222")
    (True, False)
    """
    try:
        Lexer(text).run()
    except Bad:
        return False
    return True


def _template(text: str) -> int | None:
    """The first line with something to be filled in."""
    lines = enumerate(text.split("\n"), 1)
    return next((i for i, line in lines if _TEMPLATE.search(_REMARK.sub("", line))), None)


def _fault(parsed: NatsText, where: Where, code: str, message: str) -> None:
    parsed.broken = True
    parsed.findings.append(Finding(code, message, where, "error"))


class _Builder:
    """Puts the words of one file together; `names` holds keys that wait for their value."""

    def __init__(
        self,
        parsed: NatsText,
        file: str,
        folder: str,
        include: Include,
        environment: Mapping[str, str],
        above: tuple[str, ...],
    ) -> None:
        self.parsed, self.file, self.folder = parsed, file, folder
        self.include, self.environment, self.above = include, environment, above
        self.lines = parsed.lines if parsed.lines is not None else {}
        self.names: list[tuple[str, int]] = []
        self.open: list[Any] = []
        self.waiting: list[int] = []  # of `names`, when each map or list was opened
        self.starts: list[int] = [0]
        self.keys: list[Word] = []
        self.wanted: set[str] = set()
        """Variables that were used before they are set."""
        self.braced = False
        """Whether a variable in braces was met: what follows it is a fault of it, and not told."""

    def build(self, text: str) -> dict[str | int, Any]:
        """The map of a file; faults are noted."""
        self.starts += [i + 1 for i, one in enumerate(text) if one == "\n"]
        root = self._container({})
        self.open.append(root)
        lexer = Lexer(text)
        fault: Bad | None = None
        try:
            lexer.run()
        except Bad as bad:
            fault = bad
        self.keys = [word for word in lexer.words if word.kind == "key"]
        for word in lexer.words:
            try:
                self._take(word)
            except Bad as bad:
                fault = bad if fault is None or bad.at < fault.at else fault
                break
        if fault is not None and not self.braced:
            self._fault(fault.at, "C003", fault.what)
        return root  # type: ignore[no-any-return]

    def _place(self, at: int) -> Where:
        return Where(self.file, bisect_right(self.starts, at))

    def _fault(self, at: int, code: str, message: str) -> None:
        _fault(self.parsed, self._place(at), code, message)

    def _note(self, at: int, code: str, message: str) -> None:
        self.parsed.complete = False
        self.parsed.findings.append(Finding(code, message, self._place(at), "note"))

    def _container(self, made: Any) -> Any:
        self.parsed.kept.append(made)
        self.lines[id(made)], self.parsed.files[id(made)] = {}, {}
        return made

    def _take(self, word: Word) -> None:
        if word.kind == "key":
            self.names.append((word.value, word.at))
        elif word.kind in ("{", "["):
            self.open.append(self._container({} if word.kind == "{" else []))
            self.waiting.append(len(self.names))
        elif word.kind in ("}", "]"):
            if len(self.names) > self.waiting.pop():
                # The server gives the next value to this key, and so on: all names are amiss.
                name, at = self.names[-1]
                raise Bad(at, f"{label(name)} has no value: write one after it")
            self._set(self.open.pop(), word.at)
        elif word.kind == "variable":
            self._set(self._variable(word.value, word.at), word.at)
        elif word.kind == "include":
            self._included(word.value, word.at)
        else:
            if word.kind == "date":
                self._dated(word)
            self._set(word.value, word.at)

    def _dated(self, word: Word) -> None:
        try:
            datetime.fromisoformat(word.value)
        except ValueError:
            raise Bad(word.at, "there is no such date: put texts in quotes") from None

    def _set(self, value: Any, at: int) -> None:
        into = self.open[-1]
        if isinstance(into, list):
            self._put(into, len(into), value, self._place(at))
            return
        if not self.names:
            raise Bad(at, "a value has no key: write key: value")
        name, at = self.names.pop()
        self._put(into, name, value, self._place(at))

    def _put(self, into: Any, step: str | int, value: Any, where: Where) -> None:
        lines, files = self.lines[id(into)], self.parsed.files[id(into)]
        if isinstance(into, list):
            into.append(value)
        else:
            if step in into:
                old = Where(files[step], lines[step])
                message = f"{label(str(step))} stands at {old} as well: only this one counts"
                undone = isinstance(into[step], dict | list) and into[step] != value
                severity: Severity = "warning" if undone else "note"
                self.parsed.findings.append(Finding("C020", message, where, severity))
            into[step] = value
            if step in self.wanted:
                self.parsed.used.add((id(into), step))
        lines[step], files[step] = where.line, where.file

    # --- variables and included files -------------------------------------------------------

    def _variable(self, name: str, at: int) -> Any:
        if name.startswith(_HASHES):
            return f"${name}"
        for into in reversed(self.open):
            if isinstance(into, dict) and name in into:
                self.parsed.used.add((id(into), name))
                return into[name]
        if name in self.environment:
            return self._of_environment(name, at)
        called = self._called(name)
        if name.startswith("{"):
            self.braced = True
            what = "NATS takes no braces around a variable's name"
            self._fault(at, "C006", f"{what}: write {self._called(name.strip('{}'))}")
            return Unset(f"${name}")
        if _SUBJECT.match(name):
            what = f"without quotes {called} is a variable, which is not set"
            self._fault(at, "C006", f"{what}: write '{called}'")
            return Unset(f"${name}")
        if name in _OWN:
            what = f"without quotes ${name} is a variable, which this file does not set"
            advice = f"so the server does not start: for the account write '${name}'"
            self.parsed.findings.append(
                Finding("C020", f"{what}, {advice}", self._place(at), "warning")
            )
        later = next((one for one in self.keys if one.value == name and one.at > at), None)
        if later is not None:
            self.wanted.add(name)
            self.parsed.complete = False
            what = (
                f"{called} is set only in line {self._place(later.at).line}, and the server reads"
            )
            what += " in order, so it does not start: move that line above this one"
            self.parsed.findings.append(Finding("C020", what, self._place(at), "warning"))
            return Unset(f"${name}")
        what = f"{called} is not set in this file, so it comes from the environment"
        self._note(at, "C010", f"not modelled: {what}: what it holds is not known here")
        return Unset(f"${name}")

    def _called(self, name: str) -> str:
        """A variable's name, but for one that is a secret which begins with $."""
        setting = self.names[-1][0] if self.names and isinstance(self.open[-1], dict) else ""
        return "what stands here" if _SECRET.search(setting) else f"${label(name)}"

    def _of_environment(self, name: str, at: int) -> Any:
        if f"${name}" in self.above or len(self.above) > MAX_DEPTH:
            self._fault(
                at, "C006", f"the variable ${label(name)} goes in a circle: give it a value"
            )
            return Unset(f"${name}")
        above = (*self.above, f"${name}")
        inner = _Builder(self.parsed, self.file, self.folder, self.include, self.environment, above)
        return inner.build(f"pk={self.environment[name]}").get("pk", Unset(f"${name}"))

    def _included(self, written: str, at: int) -> None:
        path = posixpath.normpath(posixpath.join(self.folder, written)) if written else ""
        if path in self.above:
            what = f"include of {label(written)} goes in a circle"
            self._fault(at, "C006", f"{what}: remove it here, or in that file")
            return
        if len(self.parsed.included) >= MAX_INCLUDES:
            self._fault(
                at, "C006", f"more than {MAX_INCLUDES} files are included: write them as one"
            )
            return
        given = path if self.folder else written
        text = self.include(given) if path else None
        if text is None and _WILD.search(written):
            what = f"include takes no wildcards, so the server finds no file {label(written)}"
            self._fault(at, "C006", f"{what}: write an include for each file")
            return
        if text is None:
            what = f"include {label(written)}"
            self._note(
                at, "C006", f"{what}: the file is not here: what it holds is not known; give it too"
            )
            return
        self.parsed.included.append(path)
        file = posixpath.normpath(posixpath.join(posixpath.dirname(self.parsed.file), path))
        inner = _Builder(
            self.parsed,
            file,
            posixpath.dirname(path),
            self.include,
            self.environment,
            (*self.above, path),
        )
        found = inner.build(text)
        self._merge(found)

    def _merge(self, found: dict[str | int, Any]) -> None:
        into = self.open[-1]
        lines, files = self.lines[id(found)], self.parsed.files[id(found)]
        for step, value in found.items():
            place = Where(files[step], lines[step])
            if isinstance(into, dict):
                self._put(into, step, value, place)
            if (id(found), step) in self.parsed.used:
                self.parsed.used.add((id(into), step))
