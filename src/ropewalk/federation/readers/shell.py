"""A shell script's simple commands with their words and lines, as far as these can be known.

Nothing is run. Variables that the script sets are filled in, loops over given words are unrolled
and functions followed; of a condition every branch is taken. What only the machine it runs on knows
stays as it is written (`$HOST`), so that whoever reads a word can say so.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ropewalk.federation.readers.shell_text import MOST, braced, counted, glued, tree, unescaped

if TYPE_CHECKING:
    from tree_sitter import Node

DEPTH = 16
"""Functions that call each other."""
_ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)
_OTHERWISE = ("elif_clause", "else_clause")
_COMPARES = ("=", "==", "!=")
_UNKNOWN = re.compile(r"[$`*?\[]")
_APART = re.compile(r"[\s\"'\\]+")
_REST = re.compile(r'"?\$\{@:([1-9]\d?)\}"?')
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
    own: tuple[tuple[str, str], ...] = ()
    """Variables that are set for it alone, before its name."""

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.words[0].line

    def variable(self, name: str, shell: "Shell") -> str:
        """What it knows a variable to be; nothing if that is not known."""
        return dict(self.own).get(name) or " ".join(shell.values.get(name, ()))


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
    _unsure: int = 0
    """How many conditions around a command are not known."""
    _leaves: str = ""
    """`continue`, `break` or `return` that ends what is being followed."""
    _loops: int = 0

    def commands(self, text: str, line: int = 1) -> Iterator[Command]:
        """The commands of a text that begins on a line.

        >>> [one.words[1].text for one in Shell().commands("for i in a b; do echo $i.x; done")]
        ['a.x', 'b.x']
        """
        source = text.replace("\r\n", "\n").encode()
        yield from _Reader(self, source, line).walk(tree(source))


@dataclass(frozen=True, slots=True)
class _Reader:
    """One text of a script: the nodes of its tree are read against it."""

    shell: Shell
    source: bytes
    first: int

    def walk(self, node: "Node", stdin: Word | None = None) -> Iterator[Command]:
        kind = node.type
        if self.shell._count >= MOST or kind in ("comment", "heredoc_body") or self.shell._leaves:
            return
        if kind == "command":
            yield from self._command(node, stdin)
        elif kind == "variable_assignment":
            self._assign(node)
        elif kind == "function_definition":
            self._define(node)
        elif kind == "for_statement":
            yield from self._for(node)
        elif kind == "list" and len(node.children) == 3:
            yield from self._list(node, stdin)
        elif kind == "if_statement":
            yield from self._if(node, stdin)
        elif kind in ("while_statement", "case_statement", "elif_clause"):
            yield from self._perhaps(node.named_children, stdin)
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
        parts: list[Node] = []
        for child in node.named_children:
            if child.type == "herestring_redirect":
                stdin = self._word(child.named_children[-1]) if child.named_children else stdin
            elif child.type == "heredoc_redirect":
                stdin = self._here(child) or stdin
            elif child.type not in ("variable_assignment", "file_redirect", "comment"):
                parts.append(child)
        found = [word for group in glued(parts) for word in self._argument(group)]
        if not found or not found[0].text:
            return
        body = self.shell._functions.get(found[0].text)
        if body is not None and len(self.shell._arguments) < DEPTH:
            yield from self._call(body, found)
            return
        self.shell._count += 1
        left = self.shell._arguments if found[0].text == "return" else self.shell._loops
        if found[0].text in ("continue", "break", "return") and left and not self.shell._unsure:
            self.shell._leaves = found[0].text
        if found[0].text == "shift":
            self._shift(found)
        yield Command(tuple(found), stdin, tuple(self._own(node)))

    def _own(self, node: "Node") -> Iterator[tuple[str, str]]:
        for child in node.named_children:
            name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
            if child.type == "variable_assignment" and name is not None and value is not None:
                yield self._raw(name), self._text(value)

    def _shift(self, words: Sequence[Word]) -> None:
        """`shift 2` in a function: the third argument is the first from now on."""
        many = words[1].text if len(words) > 1 else "1"
        if self.shell._arguments and many.isdecimal():
            name, *given = self.shell._arguments[-1]
            self.shell._arguments[-1] = (name, *given[int(many) :])

    def _call(self, body: tuple["Node", bytes, int], words: Sequence[Word]) -> Iterator[Command]:
        self.shell._arguments.append(tuple(one.text for one in words))
        before = self.shell._unsure, self.shell._loops
        self.shell._unsure = self.shell._loops = 0
        node, source, first = body
        yield from _Reader(self.shell, source, first).walk(node)
        self.shell._arguments.pop()
        self.shell._unsure, self.shell._loops = before
        self.shell._leaves = ""

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
        elif value is not None and self._runs(value):
            self.shell.values.pop(self._raw(name), None)
        else:
            text = self._text(value) if value is not None else ""
            self.shell.values[self._raw(name)] = (text,)

    def _runs(self, node: "Node") -> bool:
        """Whether a value holds what a command says on the machine: then it is not known."""
        if node.type == "command_substitution":
            return self._said(node) is None
        return node.type != "raw_string" and any(map(self._runs, node.named_children))

    def _for(self, node: "Node") -> Iterator[Command]:
        """A round for each word; a loop over what is not known is followed once."""
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        values = node.children_by_field_name("value")
        texts = [word.text for child in values for word in self._words(child)]
        words = [one for text in texts for one in counted(text)]
        self.shell._unsure, before = 0, self.shell._unsure
        self.shell._loops += 1
        for word in words or [""]:
            if word and not word.startswith("$"):
                self.shell.values[self._raw(name)] = (word,)
            else:
                self.shell.values.pop(self._raw(name), None)
            yield from self.walk(body)
            leaves = self.shell._leaves
            self.shell._leaves = leaves if leaves == "return" else ""
            if leaves in ("break", "return"):
                break
        self.shell._unsure, self.shell._loops = before, self.shell._loops - 1

    # --- conditions -------------------------------------------------------------------------

    def _list(self, node: "Node", stdin: Word | None) -> Iterator[Command]:
        """`a && b`: what is compared is compared, of all else both are taken."""
        left, operator, right = node.children
        holds = self._holds(left)
        yield from self.walk(left, stdin)
        if holds is None:
            yield from self._perhaps([right], stdin)
        elif holds == (operator.type == "&&"):
            yield from self.walk(right, stdin)

    def _if(self, node: "Node", stdin: Word | None) -> Iterator[Command]:
        condition = node.child_by_field_name("condition")
        holds = self._holds(condition) if condition is not None else None
        if holds is None:
            yield from self._perhaps(node.named_children, stdin)
            return
        clauses = [one for one in node.named_children if one.type in _OTHERWISE]
        if holds:
            ours = [one for one in node.named_children if one not in clauses]
            yield from (each for one in ours[1:] for each in self.walk(one, stdin))
            return
        for one in clauses:
            holds = self._holds(one.named_children[0]) if one.type == "elif_clause" else True
            if holds is None:
                yield from self._perhaps([one], stdin)
            elif holds:
                yield from (each for part in one.named_children for each in self.walk(part, stdin))
                return

    def _perhaps(self, nodes: "Sequence[Node]", stdin: Word | None) -> Iterator[Command]:
        self.shell._unsure += 1
        for one in nodes:
            yield from self.walk(one, stdin)
        self.shell._unsure -= 1

    def _holds(self, node: "Node") -> bool | None:
        """Whether two texts are the same, or are not; None if that is not known."""
        inner = node.named_children[0] if node.type == "test_command" and node.children else None
        if inner is None or inner.type != "binary_expression" or len(inner.named_children) != 2:
            return None
        operator = next((one.type for one in inner.children if one.type in _COMPARES), None)
        left, right = (self._text(one) for one in inner.named_children)
        if operator is None or _UNKNOWN.search(left + right):
            return None
        return (left == right) == (operator != "!=")

    # --- words ------------------------------------------------------------------------------

    def _argument(self, group: "list[Node]") -> list[Word]:
        """The words of nodes that nothing separates; alone they would be read wrongly."""
        if len(group) == 1:
            return self._words(group[0])
        text, line = self.source[group[0].start_byte : group[-1].end_byte], self._line(group[0])
        again = b": " + braced(text)
        if again[2:] == text:
            return [Word("".join(self._text(one) for one in group), line)]
        found = _Reader(self.shell, again, line).walk(tree(again))
        return [word for one in found for word in one.words[1:]]

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
        if self.shell._arguments and (rest := _REST.fullmatch(self._raw(node))):
            return [Word(one, line) for one in self.shell._arguments[-1][int(rest[1]) :]]
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
            return _ESCAPE.sub(unescaped, raw)
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
        return self._substituted(node) if kind == "command_substitution" else raw

    def _substituted(self, node: "Node") -> str:
        """What a command says, if that is known; else the command, without its spaces."""
        said = self._said(node)
        return "_".join(_APART.split(self._raw(node))) if said is None else said

    def _said(self, node: "Node") -> str | None:
        """What `cat` of a here-document, `echo`, `printf` and `seq` say; else None."""
        inner = _Reader(Shell(dict(self.shell.values)), self.source, self.first)
        found = [one for child in node.named_children for one in inner.walk(child)]
        if len(found) != 1:
            return None
        words, stdin = [one.text for one in found[0].words], found[0].stdin
        if words[:2] == ["docker", "inspect"] and any("IPAddress" in one for one in words):
            return words[-1]  # containers of one network know each other by these names
        if words == ["cat"] and stdin is not None:
            return stdin.text.rstrip("\n")
        if words[0] == "seq" and len(words) in (2, 3) and all(map(str.isdecimal, words[1:])):
            return f"{{{words[1] if len(words) == 3 else 1}..{words[-1]}}}"
        plain = words[1:] and not any(one[:1] in ("-", "%") for one in words[1:])
        return " ".join(words[1:]) if words[0] in ("echo", "printf") and plain else None

    def _filled(self, node: "Node", *, raw_start: int, raw_end: int) -> str:
        """Text in double quotes or of a here-document: between its expansions it is as it is."""
        made, at = [], raw_start
        for child in node.children:
            if child.type in _EXPANSIONS or child.type == "command_substitution":
                made += [self._quoted(at, child.start_byte), self._text(child)]
                at = child.end_byte
        return "".join([*made, self._quoted(at, raw_end)])

    def _quoted(self, start: int, end: int) -> str:
        return _QUOTED_ESCAPE.sub(unescaped, self.source[start:end].decode(errors="replace"))

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
        rest = "".join(self._text(one) for one in node.named_children[1:])
        return rest or raw  # whoever starts the script is meant to say it

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
