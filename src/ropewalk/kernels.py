"""How kernels are compiled: when first called, and kept on disk for the next process.

Numba itself is loaded by the first call, too: it takes half a second, and who computes nothing (an
agent that finds its tables on disk) should not wait for it.

Numba asks only whether a function's own file has changed, not the files of what it calls: a
kernel could go on with an old version of another. So they are kept in folders whose names stand
for the sources of all that are kept there.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache, update_wrapper
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree
from threading import RLock
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])

OLD_S = 7 * 24 * 3600
TABLES = ("routing", "verify")
"""Packages whose kernels call each other; a job of the pipeline has kernels of its own."""


class Kernel:
    """A function that is compiled when it is first called, from Python or by another kernel."""

    def __init__(self, function: Callable[..., object], made: Callable[[Any], Any]) -> None:
        self._function, self._made, self._compiled = function, made, None
        update_wrapper(self, function)

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call it, compiled."""
        return (self._compiled or self._ready())(*given, **named)

    def __getattr__(self, name: str) -> Any:
        """What numba asks of a function that another one calls, its `_numba_type_` before all."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._compiled or self._ready(), name)

    def _ready(self) -> Any:
        with _compiling:
            if self._compiled is None:
                self._compiled = self._made(self._function)
            return self._compiled


_compiling = RLock()


def kernel(function: F) -> F:
    """Compile a function when it is first called; it lets go of the interpreter's lock."""
    return cast("F", Kernel(function, _kept_on_disk))


def inlined(function: F) -> F:
    """A piece of kernels, put into each of them: for what a loop does millions of times.

    Calls between compiled functions count references of every array that is passed along.
    """
    return cast("F", Kernel(function, _inlined))


def _kept_on_disk(function: Callable[..., object]) -> Any:
    from numba import config, njit

    settings: Any = config
    elsewhere, folder = settings.CACHE_DIR, _folder(_sources(function.__module__))
    settings.CACHE_DIR = str(folder or elsewhere)
    try:
        return njit(cache=folder is not None, nogil=True)(function)
    finally:
        settings.CACHE_DIR = elsewhere


def _inlined(function: Callable[..., object]) -> Any:
    from numba import njit

    return njit(inline="always", nogil=True)(function)


def _sources(module: str) -> tuple[str, ...]:
    """The folders whose sources a kernel of this module may depend on.

    >>> _sources("ropewalk.pipeline.audit.fifo"), _sources("ropewalk.routing.trees")
    (('trace', 'pipeline/audit'), ('routing', 'verify'))
    """
    parts = module.split(".")[1:]
    if parts[0] in ("placement", "protocol"):
        return (parts[0],)
    if parts[:2] == ["verify", "population"]:
        return ("verify/population",)
    return ("trace", "/".join(parts[:2])) if parts[:1] == ["pipeline"] else TABLES


@cache
def _folder(sources: tuple[str, ...] = TABLES) -> Path | None:
    """Where compiled kernels are kept: beside the sources, in the user's cache, or nowhere."""
    package = Path(__file__).parent
    digest = blake2b(digest_size=8)
    for source in sources:
        for file in sorted((package / source).rglob("*.py")):
            digest.update(file.read_bytes())
    homes: tuple[Callable[[], Path], ...] = (lambda: package / "__pycache__", _users_cache)
    for home in homes:
        with suppress(OSError, RuntimeError):  # no place to write, or no home at all
            folder = home() / f"kernels-{digest.hexdigest()}"
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                _forget_old(folder)
                return folder
    return None


def _users_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ropewalk"


def _forget_old(folder: Path) -> None:
    """Drop folders that are long out of use; a younger one may be another process's."""
    now = folder.stat().st_mtime
    for other in folder.parent.glob("kernels-*"):
        if other.stat().st_mtime < now - OLD_S:
            rmtree(other, ignore_errors=True)
