"""Small things of a shell's language: how words hang together, what a range counts."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 20_000
"""Commands of a script: one with loops in loops is cut there."""
_RANGE = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})\}")
_BARE = re.compile(rb"""("(?:\\.|[^"\\])*"|'[^']*'|\\.)|\$([A-Za-z_]\w*|\d)""", re.DOTALL)
"""A variable without braces; what is quoted is passed over."""


def tree(source: bytes) -> "Node":
    """A script as the grammar of bash sees it."""
    # Loaded late: most folders have no script.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language())).parse(source).root_node


def glued(nodes: "Sequence[Node]") -> "list[list[Node]]":
    """Nodes that are one word in a list: of `$URL/$NAME/x` the grammar ends one after a `$`."""
    groups: list[list[Node]] = []
    for one in nodes:
        if groups and groups[-1][-1].end_byte == one.start_byte:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def counted(text: str) -> list[str]:
    """The numbers of `{1..3}`, which `seq` is taken to say as well."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return [text]
    return [str(i) for i in range(int(found[1]), min(int(found[2]), MOST) + 1)]


def unescaped(match: "re.Match[str]") -> str:
    """What a backslash leaves; of the end of a line nothing."""
    return "" if match[1].endswith("\n") else match[1]


def braced(text: bytes) -> bytes:
    """The same with braces around names of variables.

    >>> braced(b"$URL/$NAME/x '$Z'")
    b"${URL}/${NAME}/x '$Z'"
    """
    return _BARE.sub(lambda one: one[1] or b"${" + one[2] + b"}", text)
