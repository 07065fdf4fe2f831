"""Conditions of a script: which hold, as far as that can be known."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk.federation.readers.shell_expansion import counted_out, glob
from ropewalk.federation.readers.shell_words import Words

if TYPE_CHECKING:
    from tree_sitter import Node

_COMPARES = ("=", "==", "!=")
_NUMBERS: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
_DO = {"true": True, ":": True, "echo": True, "printf": True, "false": False}
"""Commands that are known to do what they are for, or not."""
_EITHER = {"&&": False, "-a": False, "||": True, "-o": True}
"""What one side has to be for the other not to matter."""
_UNKNOWN = re.compile(r"[$`*?\[]")
_NAMES = re.compile(r"\$\{?([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Conditions(Words):
    """Reads what is compared in a script."""

    def _holds(self, node: "Node") -> bool | None:
        """Whether a condition holds; None if that is not known."""
        if self._doubtful(node):
            return None
        parts = node.named_children
        if node.type == "list" and len(parts) == 2:
            return self._both(node.children[1].type, parts[0], parts[1])
        if node.type == "negated_command" and parts:
            return _not(self._holds(parts[-1]))
        if node.type == "compound_statement" and self._raw(node).startswith("(("):
            return self._counted(node)
        if node.type == "command":
            return _DO.get(self._raw(node).partition(" ")[0])
        if node.type == "test_command":
            return self._counted(node) if self._raw(node).startswith("((") else self._tested(node)
        return None

    def _doubtful(self, node: "Node") -> bool:
        names = _NAMES.findall(self._raw(node))
        return any(self.shell.doubtful.get(one, 0) > self.shell.doubt for one in names)

    def _counted(self, node: "Node") -> bool | None:
        counted = counted_out(self._filled(self._raw(node)[2:-2], 1), self.shell.text)
        return None if counted is None else bool(counted)

    def _tested(self, node: "Node") -> bool | None:
        return self._expression(node.named_children[0]) if len(node.named_children) == 1 else None

    def _expression(self, node: "Node") -> bool | None:
        parts = node.named_children
        if node.type == "parenthesized_expression" and len(parts) == 1:
            return self._expression(parts[0])
        if node.type == "unary_expression" and parts:
            return self._alone(node.children[0], parts[-1])
        if node.type == "binary_expression" and len(parts) in (2, 3):
            return self._compared(self._raw(node.children[1]), parts[0], parts[-1])
        text = self._text(node)
        return None if _UNKNOWN.search(text) else bool(text)

    def _alone(self, sign: "Node", node: "Node") -> bool | None:
        said = self._raw(sign)
        if said == "!":
            return _not(self._expression(node))
        text = self._text(node)
        if said not in ("-z", "-n") or ("$" in text or "`" in text):
            return None
        return bool(text) == (said == "-n")

    def _compared(self, sign: str, left: "Node", right: "Node") -> bool | None:
        if sign in _EITHER:
            return self._both(sign, left, right)
        if left.type == "unary_expression" and self._raw(left).startswith("!"):
            return _not(self._compared(sign, left.named_children[-1], right))
        if any(each.type.endswith("y_expression") for each in (left, right)):
            return None  # the grammar takes `a = b -o c = d` for `a = (b -o c) = d`
        one, other = self._text(left), self._text(right)
        if sign in _NUMBERS:
            both = [each.strip() for each in (one, other)]
            if not all(each.lstrip("-").isdecimal() for each in both):
                return None
            return _NUMBERS[sign](int(both[0]), int(both[1]))
        if sign not in _COMPARES or _UNKNOWN.search(one + other):
            return None
        return (one == other) == (sign != "!=")

    def _both(self, sign: str, left: "Node", right: "Node") -> bool | None:
        enough = _EITHER.get(sign)
        sides = [self._side(left), self._side(right)]
        if enough is None or enough in sides:
            return enough
        return None if None in sides else not enough

    def _side(self, node: "Node") -> bool | None:
        return self._expression(node) if node.type.endswith("expression") else self._holds(node)

    def _fits(self, text: str, item: "Node") -> bool | None:
        """Whether a text is one of a case's patterns."""
        patterns = [self._text(one) for one in item.children_by_field_name("value")]
        if any("$" in one or "`" in one for one in patterns):
            return None
        return any(re.fullmatch(glob(one), text, re.DOTALL) for one in patterns)


def _not(held: bool | None) -> bool | None:
    return None if held is None else not held
