"""What the words of a script are, with what it has set so far filled in.

What only the machine that it runs on knows stays as it is written (`$HOST`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk.federation.readers.shell_expansion import counted_out, cut, exchanged, formatted
from ropewalk.federation.readers.shell_facts import Command, State, Word
from ropewalk.federation.readers.shell_text import braced, spans, tree, unescaped

if TYPE_CHECKING:
    from tree_sitter import Node

EXPANSIONS = ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion")
_SPLIT = ("simple_expansion", "expansion", "command_substitution")
_STRINGS = ("string", "translated_string")
_ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)
_QUOTED_ESCAPE = re.compile(r"\\(\r?\n|[\"\\$`])")
_HERE_ESCAPE = re.compile(r"\\(\r?\n|[\\$`])")
_ANSI = {"n": "\n", "t": "\t", "r": "\r"}
_APART = re.compile(r"[\s\"'\\]+")
_EVERY = re.compile(r'"?\$\{(!?)([A-Za-z_]\w*)\[[@*]\](?::(\d+))?\}"?')
_ARGUMENTS = re.compile(r'"?(?:\$@|\$\*|\$\{[@*](?::(\d+))?\})"?')
_INNER = re.compile(
    r"([!#]?)([A-Za-z_]\w*|\d+|[@*#])(?:\[((?:[^\[\]]|\[[^\]]*\])*)\])?"
    r"(:?[-=?+]|##?|%%?|//?|\^\^?|,,?|:)?(.*)",
    re.DOTALL,
)
"""What stands in `${}`: a name, a place of it, what is made of the value."""
_CASES = {"^^": str.upper, ",,": str.lower}
_DEEPEST = 16


@dataclass(frozen=True, slots=True)
class Words:
    """One text of a script: the nodes of its tree are read against it."""

    shell: State
    source: bytes
    first: int

    def walk(self, node: "Node", stdin: Word | None = None) -> Iterator[Command]:
        """The commands below a node."""
        raise NotImplementedError

    def _argument(self, group: "list[Node]") -> list[Word]:
        """The words of nodes that nothing separates; alone they would be read wrongly."""
        if len(group) == 1:
            return self._words(group[0])
        text, line = self.source[group[0].start_byte : group[-1].end_byte], self._line(group[0])
        again = b": " + braced(text)
        if again[2:] == text:
            return [Word("".join(self._text(one) for one in group), line)]
        found = type(self)(self.shell, again, line).walk(tree(again))
        return [word for one in found for word in one.words[1:]]

    def _words(self, node: "Node") -> list[Word]:
        """The words of an argument: what is not quoted is split where the shell would."""
        if node.type == "command_name":
            return [word for child in node.named_children for word in self._words(child)]
        line, raw = self._line(node), self._raw(node)
        if self.shell.arguments and (rest := _ARGUMENTS.fullmatch(raw)):
            return list(self.shell.arguments[-1][int(rest[1] or 1) :])
        if (every := _EVERY.fullmatch(raw)) and every[2] in self.shell.values:
            places = self.shell.values[every[2]]
            return [Word(one, line) for one in (places if every[1] else places.values())][
                int(every[3] or 0) :
            ]
        text = self._text(node)
        if node.type in _SPLIT and text != raw:
            return [Word(one, line) for one in self.shell.split(text)]
        return [Word(text, line)]

    def _word(self, node: "Node") -> Word:
        return Word(self._text(node), self._line(node))

    def _text(self, node: "Node") -> str:
        """What a word is, with known variables in it."""
        kind, raw = node.type, self._raw(node)
        if kind == "word":
            return _ESCAPE.sub(unescaped, raw)
        if kind == "raw_string":
            return raw[1:-1]
        if kind == "ansi_c_string":
            return _ESCAPE.sub(lambda match: _ANSI.get(match[1], match[1]), raw[2:-1])
        if kind in _STRINGS:
            return self._filled(raw[raw.index('"') + 1 : -1], self._line(node), _QUOTED_ESCAPE)
        if kind == "concatenation":
            return "".join(self._text(child) for child in node.children)
        return self._expanded(raw, self._line(node)) if kind in EXPANSIONS else raw

    def _filled(self, text: str, line: int, escape: "re.Pattern[str]" = _HERE_ESCAPE) -> str:
        """Text in double quotes or of a here-document: between its expansions it is as it is."""
        made, at = [], 0
        for start, end in spans(text):
            made.append(escape.sub(unescaped, text[at:start]))
            made.append(self._expanded(text[start:end], line + text.count("\n", 0, start)))
            at = end
        return "".join([*made, escape.sub(unescaped, text[at:])])

    # --- expansions -------------------------------------------------------------------------

    def _expanded(self, raw: str, line: int) -> str:
        """What an expansion stands for; as it is written if that is not known."""
        known = self._known(raw, line)
        return known if known is not None else self._unknown(raw)

    def _known(self, raw: str, line: int) -> str | None:
        if raw.startswith("$(("):
            return self._sum(raw[3:-2])
        if raw.startswith(("$(", "`")):
            return self._said(raw[2:-1] if raw[0] == "$" else raw[1:-1], line)
        if raw.startswith("${"):
            return self._made(raw[2:-1], line)
        if raw.startswith("$["):
            return self._sum(raw[2:-1])
        name = raw[1:]
        if name[:1].isdecimal() and len(name) > 1:  # the grammar takes `$1_x` for one name
            first = self.shell.text(name[0])
            return None if first is None else first + name[1:]
        return self.shell.text(name)

    def _unknown(self, raw: str) -> str:
        """A command without its spaces, a variable without what would be made of it."""
        if raw.startswith(("$(", "`")):
            return "_".join(_APART.split(raw))
        made = _INNER.fullmatch(raw[2:-1]) if raw.startswith("${") else None
        return f"${{{made[2]}}}" if made and made[4] and not made[1] and not made[3] else raw

    def _sum(self, text: str) -> str | None:
        counted = counted_out(self._filled(text, 1), self.shell.text)
        return None if counted is None else str(counted)

    def _made(self, inner: str, line: int) -> str | None:
        """What is made of a variable in braces."""
        found = _INNER.fullmatch(inner)
        if found is None:
            return None
        sign, name, place, verb, rest = found.groups()
        value = self._value(sign, name, place)
        if not verb:
            return value
        if verb[-1] in "-=?+":
            return self._otherwise(verb, name, value, self._filled(rest, line).strip("\"'"))
        if value is None:
            return None
        if verb[0] in "#%":
            return cut(value, verb, self._filled(rest, line).strip("\"'"))
        if verb[0] == "/":
            return exchanged(value, verb, rest)
        return _CASES[verb](value) if verb in _CASES else self._part(value, rest)

    def _otherwise(self, verb: str, name: str, value: str | None, rest: str) -> str | None:
        """`${X:-rest}` and its like; whoever starts the script is meant to say what is missing."""
        if verb[-1] == "+":
            return rest if value else None if value is None else ""
        if value:
            return value
        if verb[-1] == "?":
            return value
        if verb[-1] == "=" and rest:
            self.shell.put(name, rest)
        return rest or None

    def _part(self, value: str, rest: str) -> str | None:
        """`${X:2}` and `${X:2:3}`."""
        ends = [self._sum(one) for one in rest.split(":")]
        if len(ends) > 2 or any(one is None for one in ends):
            return None
        start, *many = [int(one or 0) for one in ends]
        start = start if start >= 0 else max(0, len(value) + start)
        if many and many[0] < 0:
            return value[start : many[0]]
        return value[start : start + many[0]] if many else value[start:]

    def _value(self, sign: str, name: str, place: str | None) -> str | None:
        if sign == "!":
            other = self.shell.text(name)
            return self.shell.text(other) if other and place is None else None
        places = self.shell.values.get(name)
        if place in ("@", "*"):
            several = list(places.values()) if places is not None else None
            value = None if several is None else " ".join(several)
            return str(len(several)) if sign and several is not None else value
        value = self.shell.text(name) if place is None else self._at(name, place)
        return str(len(value)) if sign and value is not None else value

    def _at(self, name: str, place: str) -> str | None:
        places = self.shell.values.get(name)
        return None if places is None else places.get(self._place(name, place))

    def _place(self, name: str, place: str) -> str:
        """Which place of an array is meant: a text, or a number that may be counted out."""
        text = self._filled(place, 1).strip("\"'")
        if text in self.shell.values.get(name, {}):
            return text
        # What is in a value stays as it is: it may name the place itself.
        counted = counted_out(text, self.shell.text)
        return text if counted is None else str(counted)

    # --- what commands say ------------------------------------------------------------------

    def _said(self, text: str, line: int) -> str | None:
        """What commands in `$()` say, if that is known."""
        if text.lstrip().startswith("<"):
            file = self.shell.file(self._filled(text.lstrip()[1:].strip(), line))
            return file.text.rstrip("\n") if file is not None else None
        source = text.encode()
        said = type(self)(self.shell, source, line).output(tree(source))
        return None if said is None else said.text.rstrip("\n")

    def output(self, node: "Node") -> Word | None:
        """What `cat` of a here-document, `echo`, `printf` and `seq` say; else None."""
        if len(self.shell.arguments) > _DEEPEST or self.shell.spent[0] > _BUSY:
            return None
        self.shell.spent[0] += 1
        inner = self.shell.aside()
        found = list(type(self)(inner, self.source, self.first).walk(node))
        if len(found) != 1:
            return None
        text = _spoken([one.text for one in found[0].words], found[0].stdin, inner)
        line = found[0].stdin.line if found[0].stdin is not None else found[0].line
        return None if text is None else Word(text, line)

    # --- here-documents ---------------------------------------------------------------------

    def _given(self, node: "Node") -> Word | None:
        for child in node.named_children:
            if child.type == "heredoc_redirect":
                return self._here(child)
            if child.type == "herestring_redirect" and child.named_children:
                return self._word(child.named_children[-1])
            if child.type == "file_redirect" and self._raw(child).startswith("<"):
                named = child.named_children  # none if it is closed: <&-
                return self._from_file(named[-1]) if named else None
        return None

    def _from_file(self, node: "Node") -> Word | None:
        if node.type == "process_substitution":
            return self._group(node)
        return self.shell.file(self._text(node))

    def _group(self, node: "Node") -> Word | None:
        """What one command in brackets says."""
        inner = node.named_children
        return self.output(inner[0]) if len(inner) == 1 else None

    def _here(self, node: "Node") -> Word | None:
        start = next((one for one in node.children if one.type == "heredoc_start"), None)
        body = next((one for one in node.children if one.type == "heredoc_body"), None)
        if start is None or body is None:
            return None
        text, line = self._raw(body), self._line(body)
        if self._raw(node).startswith("<<-"):
            text = re.sub(r"^\t+", "", text, flags=re.MULTILINE)
        if self._raw(start)[:1] in ("'", '"', "\\"):  # nothing is filled in there
            return Word(text, line)
        return Word(self._filled(text, line), line)

    def _raw(self, node: "Node") -> str:
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def _line(self, node: "Node") -> int:
        return self.first + int(node.start_point[0])


_BUSY = 5_000
"""Commands after which no more is asked what others say."""


def _spoken(words: Sequence[str], stdin: Word | None, shell: State) -> str | None:
    if words[0] == "sudo":
        words = words[1:] or words
    name, rest = words[0], list(words[1:])
    if name.startswith("docker") and (container := _container(rest)):
        return container
    if name == "cat":
        file = shell.file(rest[0]) if len(rest) == 1 and rest[0] != "-" else stdin
        return file.text if file is not None else None
    if name == "seq" and len(rest) in (1, 2) and all(map(str.isdecimal, rest)):
        return f"{{{rest[0] if len(rest) == 2 else 1}..{rest[-1]}}}"
    if name == "echo":
        while rest and re.fullmatch("-[neE]+", rest[0]):
            rest.pop(0)
        return " ".join(rest) + "\n"
    return formatted(rest) if name == "printf" and rest and rest[0] != "-v" else None


def _container(words: Sequence[str]) -> str | None:
    """The container that a command of docker finds; in one network that is its address, too."""
    if words[:1] == ["inspect"] and any("IPAddress" in one for one in words):
        return words[-1]
    if "port" in words[:2] and words[-1] == "15672":
        return f"{words[-2]}:15672"
    named = next((one for one in words if re.search(r"\bname=", one)), "")
    return named.rpartition("name=")[2].strip("^$/") or None if "ps" in words[:2] else None
