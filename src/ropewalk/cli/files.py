"""Federations from and to what a command line names: files, folders, or `-` for the pipes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ropewalk.cli.contract import say

if TYPE_CHECKING:
    from ropewalk.federation import Federation

PIPE = Path("-")

Source = Annotated[
    Path, typer.Argument(help="A federation file, a folder in the large form, or - for stdin.")
]


def load_from(path: Path, *, max_mb: float) -> "Federation":
    """Load the federation that an argument names."""
    from ropewalk.federation import load

    return load("/dev/stdin" if path == PIPE else path, max_mb=max_mb)


def save_to(federation: "Federation", path: Path) -> None:
    """Write a federation where an option says."""
    from ropewalk.federation import save
    from ropewalk.federation.dump import dump

    if path == PIPE:
        say(dump(federation))
    else:
        save(federation, path)
