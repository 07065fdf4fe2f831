"""Small things of a shell's language: how words hang together, where expansions end."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 20_000
"""Commands of a script: one with loops in loops is cut there."""
_RANGE = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})\}")
_CHOICE = re.compile(r"\{([^{}\"'$\s]*,[^{}\"'$\s]*)\}")
_BARE = re.compile(rb"""("(?:\\.|[^"\\])*"|'[^']*'|\\.)|\$([A-Za-z_]\w*|\d)""", re.DOTALL)
"""A variable without braces; what is quoted is passed over."""
_SPAN = re.compile(r"\\.|\$\(|\$\{|\$\[|`|\$(?:[A-Za-z_]\w*|[\d@*#?!$-])", re.DOTALL)
_CLOSES = {"(": ")", "{": "}", "[": "]"}


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
    """The texts of `rabbit{1..3}` and `{a,b}`; `seq` is taken to say the like.

    >>> counted("r{1..2}"), counted("{a,b}-{c,d}"), counted("x")
    (['r1', 'r2'], ['a-c', 'a-d', 'b-c', 'b-d'], ['x'])
    """
    found = _RANGE.search(text) or _CHOICE.search(text)
    if found is None:
        return [text]
    if len(found.groups()) == 2:
        several = [str(i) for i in range(int(found[1]), min(int(found[2]), MOST) + 1)]
    else:
        several = found[1].split(",")
    rest = counted(text[found.end() :])
    return [text[: found.start()] + one + end for one in several for end in rest][:MOST]


def unescaped(match: "re.Match[str]") -> str:
    """What a backslash leaves; of the end of a line nothing."""
    return "" if match[1].endswith("\n") else match[1]


def braced(text: bytes) -> bytes:
    """The same with braces around names of variables.

    >>> braced(b"$URL/$NAME/x '$Z'")
    b"${URL}/${NAME}/x '$Z'"
    """
    return _BARE.sub(lambda one: one[1] or b"${" + one[2] + b"}", text)


def spans(text: str) -> Iterator[tuple[int, int]]:
    r"""Where expansions stand in a quoted text.

    >>> [text[a:b] for text in ['$1_x ${a:-${b}} $(c ")" d)', "\\$x `y`"] for a, b in spans(text)]
    ['$1', '${a:-${b}}', '$(c ")" d)', '`y`']
    """
    at = 0
    while found := _SPAN.search(text, at):
        at = found.end()
        if found[0][0] == "\\":
            continue
        if found[0] == "`":
            at = text.find("`", at) + 1 or len(text)
        elif found[0][-1] in _CLOSES:
            at = _closed(text, at, found[0][-1])
        yield found.start(), at


def _closed(text: str, at: int, opened: str) -> int:
    """The end of what a bracket opened; brackets in quotes do not count."""
    depth, quote = 1, ""
    while at < len(text):
        sign = text[at]
        at += 2 if sign == "\\" and quote != "'" else 1
        if sign == quote:
            quote = ""
        elif not quote and sign in "'\"":
            quote = sign
        elif not quote and sign in (opened, _CLOSES[opened]):
            depth += 1 if sign == opened else -1
            if not depth:
                return at
    return len(text)
