"""A shell script's simple commands with their words and lines, as far as these can be known.

Nothing is run. Variables that the script sets are filled in, loops over given words are unrolled
and functions followed; of a condition every branch is taken. What only the machine it runs on knows
stays as it is written (`$HOST`), so that whoever reads a word can say so.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 20_000
"""Commands of a script: one with loops in loops is cut there."""
DEPTH = 16
"""Functions that call each other."""
_ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)
_QUOTED_ESCAPE = re.compile(r"\\(\r?\n|[\"\\$`])")
_ANSI = {"n": "\n", "t": "\t", "r": "\r"}
_NAME = re.compile(r"[A-Za-z_]\w*|\d+|[@*#?!$-]")
_ARRAY_ALL = re.compile(r"\$\{([A-Za-z_]\w*)\[[@*]\]\}")
_TEXTS = ("word", "number", "raw_string", "ansi_c_string", "string", "concatenation")
_EXPANSIONS = ("simple_expansion", "expansion")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command, and the line on which it begins."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: its words, and what a here-document gives to it."""

    words: tuple[Word, ...]
    stdin: Word | None = None

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.words[0].line


@dataclass(slots=True)
class Shell:
    """What is known while a script is followed."""

    values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Variables that the script sets; an array has several words."""
    odd: list[int] = field(default_factory=list)
    """Lines that are no shell."""
    _functions: dict[str, tuple["Node", bytes, int]] = field(default_factory=dict)
    _arguments: list[tuple[str, ...]] = field(default_factory=list)
    _count: int = 0

    def commands(self, text: str, line: int = 1) -> Iterator[Command]:
        """The commands of a text that begins on a line.

        >>> [one.words[1].text for one in Shell().commands("for i in a b; do echo $i.x; done")]
        ['a.x', 'b.x']
        """
        # Loaded late: most folders have no script.
        import tree_sitter_bash
        from tree_sitter import Language, Parser

        source = text.replace("\r\n", "\n").encode()
        tree = Parser(Language(tree_sitter_bash.language())).parse(source)
        reader = _Reader(self, source, line)
        yield from reader.walk(tree.root_node)


@dataclass(frozen=True, slots=True)
class _Reader:
    """One text of a script: the nodes of its tree are read against it."""

    shell: Shell
    source: bytes
    first: int

    def walk(self, node: "Node", stdin: Word | None = None) -> Iterator[Command]:
        kind = node.type
        if self.shell._count >= MOST or kind in ("comment", "heredoc_body"):
            return
        if kind == "command":
            yield from self._command(node, stdin)
        elif kind == "variable_assignment":
            self._assign(node)
        elif kind == "function_definition":
            self._define(node)
        elif kind == "for_statement":
            yield from self._for(node)
        elif kind == "redirected_statement":
            given = self._given(node)
            for child in node.named_children:
                yield from self.walk(child, given or stdin)
        else:
            if kind == "ERROR":
                self.shell.odd.append(self._line(node))
            for child in node.named_children:
                yield from self.walk(child, stdin)

    def _command(self, node: "Node", stdin: Word | None) -> Iterator[Command]:
        found: list[Word] = []
        for child in node.named_children:
            if child.type in ("variable_assignment", "file_redirect", "comment"):
                continue
            if child.type == "herestring_redirect":
                stdin = self._word(child.named_children[-1]) if child.named_children else stdin
            elif child.type == "heredoc_redirect":
                stdin = self._here(child) or stdin
            else:
                found += self._words(child)
        if not found or not found[0].text:
            return
        body = self.shell._functions.get(found[0].text)
        if body is not None and len(self.shell._arguments) < DEPTH:
            yield from self._call(body, found)
            return
        self.shell._count += 1
        yield Command(tuple(found), stdin)

    def _call(self, body: tuple["Node", bytes, int], words: Sequence[Word]) -> Iterator[Command]:
        self.shell._arguments.append(tuple(one.text for one in words))
        node, source, first = body
        yield from _Reader(self.shell, source, first).walk(node)
        self.shell._arguments.pop()

    def _define(self, node: "Node") -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.shell._functions[self._raw(name)] = (body, self.source, self.first)

    def _assign(self, node: "Node") -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type != "variable_name":
            return
        if value is not None and value.type == "array":
            words = [word.text for child in value.named_children for word in self._words(child)]
            self.shell.values[self._raw(name)] = tuple(words)
        else:
            text = self._text(value) if value is not None else ""
            self.shell.values[self._raw(name)] = (text,)

    def _for(self, node: "Node") -> Iterator[Command]:
        """A round for each word; a loop over what is not known is followed once."""
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        values = node.children_by_field_name("value")
        for word in [word.text for child in values for word in self._words(child)] or [""]:
            if word and not word.startswith("$"):
                self.shell.values[self._raw(name)] = (word,)
            else:
                self.shell.values.pop(self._raw(name), None)
            yield from self.walk(body)

    # --- words ------------------------------------------------------------------------------

    def _words(self, node: "Node") -> list[Word]:
        """The words of an argument: what is not quoted is split where the shell would."""
        if node.type == "command_name":
            return [word for child in node.named_children for word in self._words(child)]
        line = self._line(node)
        every = _ARRAY_ALL.fullmatch(self._raw(node).strip('"'))
        if every and every[1] in self.shell.values:
            return [Word(one, line) for one in self.shell.values[every[1]]]
        if self._raw(node) in ('"$@"', "$@", '"${@}"') and self.shell._arguments:
            return [Word(one, line) for one in self.shell._arguments[-1][1:]]
        text = self._text(node)
        if node.type in _EXPANSIONS and text != self._raw(node):
            return [Word(one, line) for one in text.split()]
        return [Word(text, line)]

    def _word(self, node: "Node") -> Word:
        return Word(self._text(node), self._line(node))

    def _text(self, node: "Node") -> str:
        """What a word is, with known variables in it."""
        kind, raw = node.type, self._raw(node)
        if kind == "word":
            return _ESCAPE.sub(_unescaped, raw)
        if kind == "raw_string":
            return raw[1:-1]
        if kind == "ansi_c_string":
            return _ESCAPE.sub(lambda match: _ANSI.get(match[1], match[1]), raw[2:-1])
        if kind == "string":
            return self._filled(node, raw_start=node.start_byte + 1, raw_end=node.end_byte - 1)
        if kind == "concatenation":
            return "".join(self._text(child) for child in node.children)
        if kind in _EXPANSIONS:
            return self._expanded(node)
        return "_".join(raw.split()) if kind == "command_substitution" else raw

    def _filled(self, node: "Node", *, raw_start: int, raw_end: int) -> str:
        """Text in double quotes or of a here-document: between its expansions it is as it is."""
        made, at = [], raw_start
        for child in node.children:
            if child.type in _EXPANSIONS:
                made += [self._quoted(at, child.start_byte), self._expanded(child)]
                at = child.end_byte
        return "".join([*made, self._quoted(at, raw_end)])

    def _quoted(self, start: int, end: int) -> str:
        return _QUOTED_ESCAPE.sub(_unescaped, self.source[start:end].decode(errors="replace"))

    def _expanded(self, node: "Node") -> str:
        """A variable's value; as it is written if that is not known."""
        raw = self._raw(node)
        names = [one for one in node.named_children if _NAME.fullmatch(self._raw(one))]
        if not names:
            return raw
        known = self._value(self._raw(names[0]))
        if node.type == "simple_expansion" or raw == f"${{{self._raw(names[0])}}}":
            return raw if known is None else known
        operator = next((one.type for one in node.children if one.type in (":-", "-", ":=")), "")
        if not operator:
            return raw
        if known:
            return known
        rest = node.named_children[1:]
        return "".join(self._text(one) for one in rest) if rest else ""

    def _value(self, name: str) -> str | None:
        if name.isdecimal() or name in ("@", "*"):
            given = self.shell._arguments[-1] if self.shell._arguments else ()
            if name in ("@", "*"):
                return " ".join(given[1:]) if given else None
            return given[int(name)] if 0 < int(name) < len(given) else None
        found = self.shell.values.get(name)
        return " ".join(found) if found is not None else None

    # --- here-documents ---------------------------------------------------------------------

    def _given(self, node: "Node") -> Word | None:
        for child in node.named_children:
            if child.type == "heredoc_redirect":
                return self._here(child)
            if child.type == "herestring_redirect" and child.named_children:
                return self._word(child.named_children[-1])
        return None

    def _here(self, node: "Node") -> Word | None:
        start = next((one for one in node.children if one.type == "heredoc_start"), None)
        body = next((one for one in node.children if one.type == "heredoc_body"), None)
        if start is None or body is None:
            return None
        if self._raw(start)[:1] in ("'", '"', "\\"):  # nothing is filled in there
            return Word(self._raw(body), self._line(body))
        text = self._filled(body, raw_start=body.start_byte, raw_end=body.end_byte)
        return Word(text, self._line(body))

    def _raw(self, node: "Node") -> str:
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def _line(self, node: "Node") -> int:
        return self.first + int(node.start_point[0])


def _unescaped(match: "re.Match[str]") -> str:
    return "" if match[1].endswith("\n") else match[1]
