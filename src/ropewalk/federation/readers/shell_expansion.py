"""What a shell makes of a known value: `${X%:*}`, `${X//a/b}`, `$((X + 1))`, `printf`."""

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_LONGEST = 2_000
"""Values that are cut; the work grows with the square of their length."""
_GLOB = re.compile(r"\\(.)|\[[!^]?\]?[^\]]*\]|\*|\?|.", re.DOTALL)
_NAME = re.compile(r"\$?\{?([A-Za-z_]\w*)\}?")
_DIRECTIVE = re.compile(r"%(?:%|-?\d*(?:\.\d+)?([a-zA-Z]))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}
_ESCAPE = re.compile(r"\\([ntr\\\"'])")
_SUMS: Mapping[type, Callable[[Any, Any], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def glob(pattern: str) -> str:
    """A shell's pattern as a regular expression."""

    def part(found: "re.Match[str]") -> str:
        one = found[0]
        if found[1] is not None:
            return re.escape(found[1])
        if one[0] == "[" and len(one) > 2:
            return "[^" + one[2:] if one[1] in "!^" else one
        return {"*": ".*", "?": "."}.get(one, re.escape(one))

    return _GLOB.sub(part, pattern)


def cut(text: str, sign: str, pattern: str) -> str | None:
    """A text without a beginning (`#`) or an end (`%`); doubled, without the longest.

    >>> cut("amqp://h:5672", "%", ":*"), cut("amqp://h:5672", "##", "*/"), cut("a", "#", "b")
    ('amqp://h', 'h:5672', 'a')
    """
    if len(text) > _LONGEST:
        return None
    fits = re.compile(glob(pattern), re.DOTALL).fullmatch
    places = range(len(text) + 1)
    if sign[0] == "#":
        order = reversed(places) if sign == "##" else places
        return next((text[i:] for i in order if fits(text[:i])), text)
    order = places if sign == "%%" else reversed(places)
    return next((text[:i] for i in order if fits(text[i:])), text)


def exchanged(text: str, sign: str, rest: str) -> str | None:
    r"""A text with what fits a pattern exchanged: `${X/a/b}`, for all of it `${X//a/b}`.

    >>> exchanged("/a/b", "//", "\\//%2F"), exchanged("a-b-c", "/", "-/")
    ('%2Fa%2Fb', 'ab-c')
    """
    found = re.match(r"((?:\\.|[^/\\])*)(?:/(.*))?\Z", rest, re.DOTALL)
    if found is None or not found[1] or len(text) > _LONGEST:
        return None
    put = found[2] or ""
    return re.sub(glob(found[1]), lambda _: put, text, count=sign == "/", flags=re.DOTALL)


def counted_out(text: str, value: Callable[[str], str | None]) -> int | None:
    """What arithmetic gives; None if a name in it is not known.

    >>> counted_out("$i * 1000 + (b % 2)", {"i": "3", "b": "5"}.get)
    3001
    """

    def number(found: "re.Match[str]") -> str:
        known = value(found[1])
        return known.strip() if known and known.strip().lstrip("-").isdecimal() else found[0]

    made = re.sub(r"(?<!/)/(?!/)", "//", _NAME.sub(number, text)).strip()
    if len(made) > 200 or not re.fullmatch(r"[\d\s+\-*/%()<>=!]+", made) or "**" in made:
        return None
    try:
        return _computed(ast.parse(made, mode="eval").body)
    except (SyntaxError, ZeroDivisionError, KeyError, RecursionError):
        return None


def _computed(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp):
        return _SUMS[type(node.op)](_computed(node.left), _computed(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_computed(node.operand)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return int(_SUMS[type(node.ops[0])](_computed(node.left), _computed(node.comparators[0])))
    raise KeyError(type(node))


def formatted(words: Sequence[str]) -> str | None:
    """What `printf` says; None if it has more than texts and numbers.

    >>> formatted(['{"uri": "%s"}', "amqp://h"]), formatted(["%s,", "a", "b"]), formatted(["%x"])
    ('{"uri": "amqp://h"}', 'a,b,', None)
    """
    form = _ESCAPE.sub(lambda one: _ESCAPES[one[1]], words[0])
    directives = [one[1] for one in _DIRECTIVE.finditer(form) if one[1]]
    if any(one not in "sdib" for one in directives):
        return None
    left, made = list(words[1:]), ""
    while True:
        made += _DIRECTIVE.sub(lambda one: (left.pop(0) if left else "") if one[1] else "%", form)
        if not left or not directives:
            return made
