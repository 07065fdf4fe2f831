"""A shell script's simple commands with their words and lines, as far as these can be known.

Nothing is run. Variables that the script sets are filled in, loops over given words and lines are
unrolled and functions followed; of a condition that is not known every branch is taken. Its parts,
in the order of use: `shell_text` (the grammar), `shell_facts` (what is known on the way),
`shell_expansion` and `shell_words` (what words are), `shell_conditions`, `shell_settings`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk.federation.readers.shell_expansion import counted_out
from ropewalk.federation.readers.shell_facts import UNKNOWN, Command, State, Word
from ropewalk.federation.readers.shell_settings import Settings
from ropewalk.federation.readers.shell_text import MOST, counted, glued, tree

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Command", "Shell", "Word"]

DEPTH = 16
"""Functions that call each other."""
ROUNDS = 1_000
"""Of a loop that counts."""
_OTHERWISE = ("elif_clause", "else_clause")
_REDIRECTS = ("heredoc_redirect", "herestring_redirect", "heredoc_start", "heredoc_body")


class Shell(State):
    """What is known while a script is followed."""

    __slots__ = ()

    def commands(self, text: str, line: int = 1) -> Iterator[Command]:
        """The commands of a text that begins on a line.

        >>> [one.words[1].text for one in Shell().commands("for i in a b; do echo $i.x; done")]
        ['a.x', 'b.x']
        """
        source = text.replace("\r\n", "\n").encode()
        yield from _Reader(self, source, line).walk(tree(source))

    def uncalled(self) -> Iterator[tuple[str, int, str]]:
        """Functions that nothing called, with their lines and texts."""
        for name, (node, source, first) in self.functions.items():
            if name not in self.called:
                text = source[node.start_byte : node.end_byte].decode(errors="replace")
                yield name, first + int(node.start_point[0]), text


@dataclass(frozen=True, slots=True)
class _Reader(Settings):
    """Follows one text of a script."""

    def walk(self, node: "Node", stdin: Word | None = None) -> Iterator[Command]:
        kind = node.type
        if self.shell.spent[0] >= MOST or kind in ("comment", "heredoc_body") or self.shell.leaves:
            return
        if kind == "command":
            yield from self._command(node, stdin)
        elif kind == "variable_assignment":
            yield from self._inside(node)
            self._assign(node)
        elif kind == "function_definition":
            self._define(node)
        elif kind == "for_statement":
            yield from self._for(node)
        elif kind == "c_style_for_statement":
            yield from self._counting(node)
        elif kind == "list" and len(node.children) == 3:
            yield from self._list(node, stdin)
        elif kind == "if_statement":
            yield from self._if(node, stdin)
        elif kind == "while_statement":
            yield from self._while(node, stdin)
        elif kind == "case_statement":
            yield from self._case(node, stdin)
        elif kind == "pipeline":
            yield from self._piped(node, stdin)
        elif kind == "redirected_statement":
            yield from self._redirected(node, stdin)
        elif kind == "compound_statement" and self._raw(node).startswith("(("):
            self._step(self._raw(node)[2:-2])
        else:
            if kind == "ERROR":
                self.shell.odd.append(self._line(node))
            for child in node.named_children:
                yield from self.walk(child, stdin)

    # --- simple commands --------------------------------------------------------------------

    def _command(self, node: "Node", stdin: Word | None) -> Iterator[Command]:
        parts: list[Node] = []
        for child in node.named_children:
            if child.type == "herestring_redirect":
                stdin = self._word(child.named_children[-1]) if child.named_children else stdin
            elif child.type == "heredoc_redirect":
                stdin = self._here(child) or stdin
            elif child.type not in ("variable_assignment", "file_redirect", "comment"):
                parts.append(child)
                yield from self._inside(child)
        found = [word for group in glued(parts) for word in self._argument(group)]
        if not found or not found[0].text:
            return
        body = self.shell.functions.get(found[0].text)
        self.shell.spent[0] += 1
        if body is not None and len(self.shell.arguments) < DEPTH:
            yield from self._call(body, found, stdin)
            return
        if found[0].text == "eval" and len(found) > 1:
            text = " ".join(one.text for one in found[1:]).encode()
            yield from _Reader(self.shell, text, found[1].line).walk(tree(text), stdin)
            return
        own = tuple(self._own(node))
        self._built_in(found, stdin, dict(own))
        yield Command(tuple(found), stdin, own, bool(self.shell.doubt))

    def _inside(self, node: "Node") -> Iterator[Command]:
        """Commands whose words are used: `CODE=$(curl ...)`."""
        if node.type == "process_substitution" or self._runs_here(node):
            for one in node.named_children:
                yield from self.walk(one)
        elif node.type not in ("heredoc_body", "raw_string"):
            for child in node.named_children:
                yield from self._inside(child)

    def _runs_here(self, node: "Node") -> bool:
        return node.type == "command_substitution" and self._runs(node)

    def _call(
        self, body: tuple["Node", bytes, int], words: Sequence[Word], stdin: Word | None
    ) -> Iterator[Command]:
        self.shell.called.add(words[0].text)
        self.shell.arguments.append(tuple(words))
        before = self.shell.unsure, self.shell.loops
        self.shell.unsure = self.shell.loops = 0
        node, source, first = body
        yield from _Reader(self.shell, source, first).walk(node, stdin)
        self.shell.arguments.pop()
        self.shell.unsure, self.shell.loops = before
        self.shell.leaves = ""

    # --- files and pipes --------------------------------------------------------------------

    def _redirected(self, node: "Node", stdin: Word | None) -> Iterator[Command]:
        """`cat > f <<EOF | tee g && x`: the grammar takes what follows `<<` for a part of it."""
        given = self._given(node) or stdin
        here = [one for one in node.named_children if one.type == "heredoc_redirect"]
        parts = [*node.named_children, *(each for one in here for each in one.named_children)]
        files = [one for one in parts if one.type == "file_redirect"]
        body = node.child_by_field_name("body")
        if body is not None:
            yield from self.walk(body, given)
        said = self._output_given(body, given) if body is not None else None
        for one in files:
            yield from self._inside(one)
            if re.match(r"1?>>?[^&]", self._raw(one)):
                self._write(self._text(one.named_children[-1]), said)
        for one in parts:
            if one.type == "pipeline" and one is not body:
                yield from self._piped(one, said or given)
            elif one not in (body, *files) and one.type not in _REDIRECTS:
                yield from self.walk(one, None)

    def _output_given(self, body: "Node", stdin: Word | None) -> Word | None:
        if body.type == "command" and self._raw(body).strip() == "cat":
            return stdin
        return self.output(body) if body.type == "command" else None

    def _piped(self, node: "Node", stdin: Word | None) -> Iterator[Command]:
        """`echo "$JSON" | curl -d @-`: what one says is given to the next."""
        given = stdin
        for child in node.named_children:
            yield from self.walk(child, given)
            given = self._output_given(child, given) or stdin

    # --- loops ------------------------------------------------------------------------------

    def _for(self, node: "Node") -> Iterator[Command]:
        """A round for each word; a loop over what is not known is followed once."""
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        values = node.children_by_field_name("value")
        texts = [word.text for child in values for word in self._words(child)]
        if not values and self.shell.arguments:
            texts = [one.text for one in self.shell.arguments[-1][1:]]
        words = [one for text in texts for one in counted(text)]
        yield from self._rounds(body, (_one(self._raw(name), word) for word in words or [""]))

    def _rounds(self, body: "Node", rounds: Iterable[dict[str, str]]) -> Iterator[Command]:
        """A loop's body with the variables of each round; nothing stands for what is not known."""
        self.shell.unsure, before = 0, self.shell.unsure
        self.shell.loops += 1
        for one in rounds:
            for name, text in one.items():
                self._set(name, None if not text or text.startswith("$") else text)
            yield from self.walk(body)
            leaves = self.shell.leaves
            self.shell.leaves = leaves if leaves == "return" else ""
            if leaves in ("break", "return"):
                break
        self.shell.unsure, self.shell.loops = before, self.shell.loops - 1

    def _counting(self, node: "Node") -> Iterator[Command]:
        """`for ((i = 0; i < 3; i++))`."""
        body = node.child_by_field_name("body")
        head = re.match(r"for\s*\(\(([^;]*);([^;]*);(.*?)\)\)\s*(?:;|do|\{|\n)", self._raw(node))
        if body is None or head is None:
            return
        self._step(head[1])

        def rounds() -> Iterator[dict[str, str]]:
            for i in range(ROUNDS):
                holds = counted_out(self._filled(head[2], 1), self.shell.text)
                if holds == 0 or (holds is None and i):
                    return
                yield {}
                self._step(head[3])

        yield from self._rounds(body, rounds())

    def _while(self, node: "Node", stdin: Word | None) -> Iterator[Command]:
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if condition is None or body is None:
            return
        if condition.type == "command" and stdin is not None and self._reads(condition):
            yield from self._lines(condition, body, stdin)
            return
        wanted = node.children[0].type == "while"
        if self._holds(condition) is (not wanted):
            return
        yield from self.walk(condition, stdin)
        if condition.type == "command" or self._holds(condition) is None or not self._steps(body):
            yield from self._perhaps([body], stdin, certain=not wanted)
            return
        counting = (_NOTHING for _ in range(ROUNDS) if self._holds(condition) is wanted)
        yield from self._rounds(body, counting)

    def _reads(self, condition: "Node") -> bool:
        name = condition.child_by_field_name("name")
        return name is not None and self._raw(name) == "read"

    def _steps(self, body: "Node") -> bool:
        """Whether a loop counts, so that it comes to an end."""
        return re.search(r"\+\+|--|\$\(\(|\+=|\blet\b|\bexpr\b", self._raw(body)) is not None

    def _lines(self, condition: "Node", body: "Node", stdin: Word) -> Iterator[Command]:
        """`while read -r a b; do ...; done`: a round for each line."""

        def rounds() -> Iterator[dict[str, str]]:
            for i, line in enumerate(stdin.text.splitlines()):
                if line.strip():
                    for _ in self.walk(condition, Word(line, stdin.line + i)):
                        pass
                    yield _NOTHING

        yield from self._rounds(body, rounds())

    # --- conditions -------------------------------------------------------------------------

    def _list(self, node: "Node", stdin: Word | None) -> Iterator[Command]:
        """`a && b`: what is compared is compared, of all else both are taken."""
        left, operator, right = node.children
        holds = self._holds(left)
        yield from self.walk(left, stdin)
        if holds is None:
            # Who writes `a && b` means b to be done.
            meant = operator.type == "&&" and right.type != "variable_assignment"
            yield from self._perhaps([right], stdin, certain=meant)
        elif holds == (operator.type == "&&"):
            yield from self.walk(right, stdin)

    def _if(self, node: "Node", stdin: Word | None) -> Iterator[Command]:
        condition = node.child_by_field_name("condition")
        if condition is None:
            return
        holds = self._holds(condition)
        yield from self.walk(condition, stdin)
        clauses = [one for one in node.named_children if one.type in _OTHERWISE]
        ours = [one for one in node.named_children if one not in clauses and one != condition]
        if holds is None:
            yield from self._perhaps([*ours, *clauses], stdin)
        elif holds:
            yield from (each for one in ours for each in self.walk(one, stdin))
        else:
            yield from self._clauses(clauses, stdin)

    def _clauses(self, clauses: "Sequence[Node]", stdin: Word | None) -> Iterator[Command]:
        for one in clauses:
            holds = self._holds(one.named_children[0]) if one.type == "elif_clause" else True
            if holds is None:
                yield from self._perhaps([one], stdin)
            elif holds:
                yield from (each for part in one.named_children for each in self.walk(part, stdin))
                return

    def _case(self, node: "Node", stdin: Word | None) -> Iterator[Command]:
        value = node.child_by_field_name("value")
        items = [one for one in node.named_children if one.type == "case_item"]
        text = "$" if value is None or self._doubtful(value) else self._text(value)
        fits = [None if UNKNOWN.search(text) else self._fits(text, one) for one in items]
        if None in fits:
            yield from self._perhaps(items, stdin)
        elif True in fits:
            yield from self._item(items[fits.index(True)], stdin)

    def _item(self, item: "Node", stdin: Word | None) -> Iterator[Command]:
        patterns = item.children_by_field_name("value")
        for one in item.named_children:
            if one not in patterns:
                yield from self.walk(one, stdin)

    def _perhaps(
        self, nodes: "Sequence[Node]", stdin: Word | None, *, certain: bool = False
    ) -> Iterator[Command]:
        self.shell.unsure += 1
        self.shell.doubt += not certain
        for one in nodes:
            yield from self.walk(one, stdin)
        self.shell.unsure -= 1
        self.shell.doubt -= not certain


_NOTHING: dict[str, str] = {}


def _one(name: str, text: str) -> dict[str, str]:
    return {name: text}
