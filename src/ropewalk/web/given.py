"""What a console was started with, and how much of it may be changed."""

from dataclasses import dataclass, replace
from pathlib import Path

from ropewalk.web.desk import MOST_CHARACTERS, Desk
from ropewalk.web.watcher import Watcher


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Given:
    """The federation, and files and folders beside it; None for what was not given."""

    desk: Desk
    file: Path | None = None
    """Where changes are saved; None where the federation was read from brokers' own files."""
    plan: Path | None = None
    """A plan that `ropewalk place` wrote."""
    stats: Path | None = None
    """Statistics, to place by."""
    work: Path | None = None
    """A working folder of the pipeline, with its results."""
    lab: Path | None = None
    """The folder of a running lab."""
    agents: tuple[tuple[str, str], ...] = ()
    """A fleet's agents by broker: HOST:PORT of their HTTP."""
    agents_token: str = ""
    """What these agents want to be shown."""
    protocols: tuple[Path, ...] = ()
    """Protocol files to look at beside the federation's own."""
    watcher: Watcher | None = None
    """Who follows the agents; made when the console starts."""


def as_saved(given: Given) -> Given:
    """The same with the file as it is now: it may have been saved since the console started."""
    if given.file is None:
        return given
    try:
        text = given.file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError):
        return given
    if text == given.desk.saved or len(text) > MOST_CHARACTERS:
        return given
    return replace(given, desk=replace(given.desk, saved=text).typed(text))
