"""A tree of values as NATS configuration text, and what its maps say under several spellings."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

Tree = Mapping[str, Any]


def dump(tree: Tree) -> str:
    """A tree as a configuration file.

    >>> print(dump({"port": 1, "cluster": {"routes": ["a"]}}), end="")
    "port": 1
    "cluster": {"routes": ["a"]}
    """
    return "".join(f"{_text(key)}: {_value(value)}\n" for key, value in tree.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(key)}: {_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else _text(str(value))


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def lowered(tree: Any) -> dict[str, Any]:
    """A map with small letters in its names, as NATS reads them; empty if it is no map."""
    return {str(key).lower(): tree[key] for key in tree} if isinstance(tree, Mapping) else {}


def inside(tree: Tree, *names: str) -> dict[str, Any]:
    """The map under the first of some names that a map has."""
    return lowered(next((tree[name] for name in names if name in tree), None))


def maps(value: Any) -> list[dict[str, Any]]:
    """The maps of a list, or the one map."""
    found = value if isinstance(value, list | tuple) else [value]
    return [lowered(one) for one in found if isinstance(one, Mapping)]


def texts(tree: Tree, *names: str) -> list[str]:
    """All texts under some names, each of which may hold one or a list."""
    return list(_texts(tree, names))


def _texts(tree: Tree, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        value = tree.get(name)
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, str):
                yield one
