"""Where an agent has its tables from: what it was given, what it kept, or what it computes now.

To compute them means to load a compiler and its kernels first, for a second or two. So what was
computed is kept beside the log: an agent that was killed is at work again without that.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from ropewalk.errors import InputError, UsageError
from ropewalk.federation.facts import Federation
from ropewalk.routing.ahead import Tables, tables_of
from ropewalk.routing.ahead.network import ahead_of, same_graph
from ropewalk.routing.ahead.store import read_tables, write_tables

Failures = str | Iterable[str]


def tables_at(
    folder: Path, given: Tables | None = None
) -> Callable[[Federation, Failures], Tables]:
    """Tables of a federation: those that are `given` if they are its own, else kept in a folder."""

    def tables(federation: Federation, failures: Failures) -> Tables:
        if given is not None and same_graph(federation, given.network):
            return given
        return _kept(folder, federation, failures) or _computed(folder, federation, failures)

    return tables


def read_given(folder: Path, federation: Federation, file: Path) -> Tables:
    """Tables that `ropewalk route` wrote; UsageError if they are of another federation."""
    tables = read_tables(folder)
    if not same_graph(federation, tables.network):
        told = "its tables are of another federation: run `ropewalk route` again"
        raise UsageError(f"{folder}: {told} for {file}")
    return tables


def _kept(folder: Path, federation: Federation, failures: Failures) -> Tables | None:
    """What is there, if it is whole and just what would be computed."""
    try:
        tables = read_tables(folder)
    except (UsageError, InputError):
        return None
    own = same_graph(federation, tables.network)
    return tables if own and tables.network.ahead == ahead_of(federation, failures) else None


def _computed(folder: Path, federation: Federation, failures: Failures) -> Tables:
    tables = tables_of(federation, failures)
    with suppress(UsageError):  # no room, or no right: the next start takes longer
        write_tables(tables, folder)
    return tables
