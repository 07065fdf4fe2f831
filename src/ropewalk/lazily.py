"""Packages whose names are imported when they are first asked for.

An agent needs a few small modules of `placement`; the solvers beside them take a second to load.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: by name, the module that has it (and its name there after `:`)."""

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, there = home[name].partition(":")
        return getattr(import_module(f"{package}.{module}"), there or name)

    return get
