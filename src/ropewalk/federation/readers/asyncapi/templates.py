"""Texts with `{names}` in them: what stands in for each, and how many texts that makes."""

import re
from collections.abc import Mapping
from itertools import product
from math import prod

_HOLE = re.compile(r"\{([^{}]*)\}")


def holes(text: str) -> tuple[str, ...]:
    """The names in a text, each once.

    >>> holes("{a}.example:{port}/{a}")
    ('a', 'port')
    """
    return tuple(dict.fromkeys(_HOLE.findall(text)))


def filled(text: str, values: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A text with every combination of values; names without any stay as they are.

    >>> filled("{a}/{b}", {"a": ("x", "y")})
    ('x/{b}', 'y/{b}')
    """
    names = [one for one in holes(text) if values.get(one)]
    found = []
    for chosen in product(*(values[one] for one in names)):
        known = dict(zip(names, chosen, strict=True))
        found.append(_put(text, known))
    return tuple(dict.fromkeys(found))


def _put(text: str, known: Mapping[str, str]) -> str:
    return _HOLE.sub(lambda hole: known.get(hole[1], hole[0]), text)


def too_many(text: str, values: Mapping[str, tuple[str, ...]], most: int) -> str | None:
    """The name with the most values, if these make more texts than `most`.

    >>> too_many("{a}/{b}", {"a": ("x", "y"), "b": ("1", "2", "3", "4", "5")}, 8)
    'b'
    """
    used = {one: len(values[one]) for one in holes(text) if values.get(one)}
    return max(used, key=lambda one: used[one]) if prod(used.values()) > most else None


def patterned(text: str, separator: str, wild: str) -> tuple[str, bool]:
    """A text with a wildcard for each level with a name in it; whether that says too much.

    >>> patterned("a/{id}/b-{n}", "/", "+"), patterned("a.{x.y}", ".", "*")
    (('a/+/+', True), ('a.*', False))
    """
    found, wide = levels(text, separator)
    return separator.join(wild if one is None else one for one in found), wide


def levels(text: str, separator: str) -> tuple[list[str | None], bool]:
    """The levels of an address, None for one with a name in it; whether that says too much.

    >>> levels("a/{id}/b-{n}", "/"), levels("a.{x.y}", ".")
    ((['a', None, None], True), (['a', None], False))
    """
    parts = _HOLE.sub("\0", text).split(separator)
    found = [None if "\0" in one else one for one in parts]
    return found, any("\0" in one and one != "\0" for one in parts)
