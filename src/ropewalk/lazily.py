"""Packages whose names are imported when they are first asked for; packages that are verbs.

An agent needs a few small modules of `placement`; the solvers beside them take a second to load.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def lazily(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: by name, the module that has it (and its name there after `:`)."""

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, there = home[name].partition(":")
        return getattr(import_module(f"{package}.{module}"), there or name)

    return get


def as_a_verb(package: str, home: str) -> None:
    """Let a package be called: `ropewalk.verify(...)` is the function of this name in `home`.

    Of a package and a function with one name, Python gives the package to whoever imported both:
    so that `import ropewalk` offers all verbs alike, the package answers for its function.
    """
    name = package.rpartition(".")[2]

    class Verb(ModuleType):
        def __call__(self, *given: Any, **options: Any) -> Any:
            return self.__wrapped__(*given, **options)

        @property
        def __wrapped__(self) -> Callable[..., Any]:
            """The function, for `help` and `inspect.signature`."""
            found: Callable[..., Any] = getattr(import_module(home), name)
            return found

    sys.modules[package].__class__ = Verb
