"""What a script sets: variables, arrays, functions, files, and what commands of the shell do."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk.federation.readers.shell_conditions import Conditions
from ropewalk.federation.readers.shell_expansion import counted_out, formatted
from ropewalk.federation.readers.shell_facts import Word, fields
from ropewalk.federation.readers.shell_text import tree

if TYPE_CHECKING:
    from tree_sitter import Node

_PLACED = re.compile(r"\[([^\]]*)\]=(.*)", re.DOTALL)
_STEP = re.compile(r"\s*([A-Za-z_]\w*)\s*(\+\+|--|([-+*/%]?)=(?!=)(.*))\s*", re.DOTALL)
_STEP_BEFORE = re.compile(r"\s*(\+\+|--)\s*([A-Za-z_]\w*)\s*")
_READ_WITH_VALUE = ("-d", "-p", "-t", "-u", "-n", "-N", "-i", "-a")


@dataclass(frozen=True, slots=True)
class Settings(Conditions):
    """Keeps what a script sets."""

    def _built_in(self, words: Sequence[Word], stdin: Word | None, own: dict[str, str]) -> None:
        """What commands of the shell itself change."""
        name, rest = words[0].text, [one.text for one in words[1:]]
        left = self.shell.arguments if name == "return" else self.shell.loops
        if name in ("continue", "break", "return") and left and not self.shell.unsure:
            self.shell.leaves = name
        elif name == "shift":
            self._shift(rest[0] if rest else "1")
        elif name == "set" and "--" in rest[:1]:
            self.shell.arguments[-1:] = [(words[0], *words[2:])]
        elif name == "trap" and rest:
            self.shell.called.add(rest[0].partition(" ")[0])
        elif name == "let":
            for one in rest:
                self._step(one)
        elif name == "read":
            self._read(rest, stdin.text if stdin is not None else None, own.get("IFS"))
        elif name == "printf" and rest[:1] == ["-v"] and len(rest) > 2:
            self._set(rest[1], formatted(rest[2:]))
        elif name == "tee":
            for one in rest:
                self._write(one, stdin)

    def _own(self, node: "Node") -> Iterator[tuple[str, str]]:
        for child in node.named_children:
            name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
            if child.type == "variable_assignment" and name is not None and value is not None:
                yield self._raw(name), self._text(value)

    def _shift(self, many: str) -> None:
        """`shift 2` in a function: the third argument is the first from now on."""
        if self.shell.arguments and many.isdecimal():
            name, *given = self.shell.arguments[-1]
            self.shell.arguments[-1] = (name, *given[int(many) :])

    def _read(self, words: Sequence[str], text: str | None, marks: str | None) -> None:
        """`read -r a b <<< "$TEXT"`: its first line in parts, the last has what is left."""
        left, names, options = iter(words), [], {}
        for one in left:
            if one.startswith("-"):
                taken = next((each for each in _READ_WITH_VALUE if one.endswith(each[1])), "")
                options[taken or one] = next(left, "") if taken else ""
            else:
                names.append(one)
        if text is not None and options.get("-d") != "":
            text = text.partition("\n")[0]
        if text is None:
            for one in [*names, *filter(None, [options.get("-a")])]:
                self.shell.forget(one)
            return
        parts = self.shell.split(text) if marks is None else fields(text, marks)
        if options.get("-a"):
            self.shell.put_all(options["-a"], _numbered(parts))
        elif len(names) == 1:
            self.shell.put(
                names[0], text if marks == "" or options.get("-d") == "" else text.strip()
            )
        else:
            self._put_parts(names, parts, marks)

    def _put_parts(self, names: Sequence[str], parts: Sequence[str], marks: str | None) -> None:
        joint = marks[:1] if marks and marks.strip() else " "
        for i, name in enumerate(names):
            last = i == len(names) - 1
            text = joint.join(parts[i:]) if last else parts[i] if i < len(parts) else ""
            self.shell.put(name, text)

    # --- variables and functions ------------------------------------------------------------

    def _define(self, node: "Node") -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.shell.functions[self._raw(name)] = (body, self.source, self.first)

    def _assign(self, node: "Node") -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return
        more = any(child.type == "+=" for child in node.children)
        if value is not None and value.type == "array":
            self._assign_array(self._raw(name), value, more=more)
            return
        text = "" if value is None else None if self._runs(value) else self._text(value)
        if name.type == "subscript":
            self._assign_place(self._raw(name), text, more=more)
        else:
            before = self.shell.text(self._raw(name)) if more else ""
            self._set(self._raw(name), None if text is None or before is None else before + text)

    def _set(self, name: str, text: str | None) -> None:
        if text is None:
            self.shell.forget(name)
        else:
            self.shell.put(name, text)

    def _assign_array(self, name: str, value: "Node", *, more: bool) -> None:
        places = dict(self.shell.values.get(name, {})) if more else {}
        for child in value.named_children:
            placed = _PLACED.fullmatch(self._raw(child))
            if placed:
                key = self._place(name, placed[1])
                places[key] = self._argument_text(placed[2], self._line(child))
            elif child.type != "comment":
                for word in self._words(child):
                    places[str(len(places))] = word.text
        self.shell.put_all(name, places)

    def _argument_text(self, text: str, line: int) -> str:
        """What a piece of the script is as one word."""
        source = b": " + text.encode()
        found = list(type(self)(self.shell.aside(), source, line).walk(tree(source)))
        return " ".join(word.text for one in found[-1:] for word in one.words[1:])

    def _assign_place(self, written: str, text: str | None, *, more: bool) -> None:
        name, _, place = written.removesuffix("]").partition("[")
        key = self._place(name, place)
        if text is None:
            self.shell.values.get(name, {}).pop(key, None)
        else:
            before = self.shell.values.get(name, {}).get(key, "") if more else ""
            self.shell.put(name, before + text, key)

    def _runs(self, node: "Node") -> bool:
        """Whether a value holds what a command says on the machine: then it is not known."""
        if node.type == "command_substitution":
            return self._known(self._raw(node), self._line(node)) is None
        return node.type != "raw_string" and any(map(self._runs, node.named_children))

    def _step(self, text: str) -> None:
        """`i++` and `i += 2` in arithmetic."""
        if before := _STEP_BEFORE.fullmatch(text):
            text = before[2] + before[1]
        for one in text.split(","):
            if found := _STEP.fullmatch(one):
                name, verb, sign, rest = found.groups()
                rest = "1" if verb in ("++", "--") else rest
                sign = verb[0] if verb in ("++", "--") else sign
                made = f"{name} {sign} ({rest})" if sign else rest
                counted = counted_out(self._filled(made, 1), self.shell.text)
                self._set(name, None if counted is None else str(counted))

    def _write(self, name: str, said: Word | None) -> None:
        self.shell.made.add(name.rpartition("/")[2])
        if said is None:
            self.shell.files.pop(name, None)
        else:
            self.shell.files[name] = said


def _numbered(texts: Iterable[str]) -> dict[str, str]:
    return {str(i): one for i, one in enumerate(texts)}
