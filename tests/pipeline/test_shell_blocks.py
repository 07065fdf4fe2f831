"""Commands in `sh` blocks of README and docs that need Spark: each is run once, in this session.

The rest, and the control, are in tests/unit/test_shell_blocks.py.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import Run
from tests.shell import PAGES, ROOT, Command, commands, words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(400)

DONE: set[str] = set()
"""What was run: several pages show the same commands on the same trace."""


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, ropewalk_once: Run, spark: "SparkSession"
) -> Iterator[Path]:
    """A trace under every name that pages give to one, a plan, and what goes with them."""
    folder, before = tmp_path_factory.mktemp("shown"), Path.cwd()
    os.chdir(folder)
    try:
        shutil.copytree(ROOT / "examples", folder / "examples")
        lab = folder / "lab"
        made = ropewalk_once("trace", "generate", "--events", "2e4", "--faults", "all", "-o", lab)
        assert made.code == 0, made.err
        shutil.copytree("lab", "t")
        assert ropewalk_once("pipeline", "ingest", lab).code == 0
        shutil.copytree("lab", "DIR")
        shutil.copy("lab/federation.yaml", "federation.yaml")
        shutil.copytree("lab/protocols", "protocols")
        placed = "examples/placement/federation.yaml"
        shutil.copy(placed, "fed.yaml")
        ropewalk_once("place", "fed.yaml", "--stats", "examples/placement", "-o", "plan.yaml")
        Path("verified.json").write_text(ropewalk_once("verify", "fed.yaml", "--json").out)
        yield folder
    finally:
        os.chdir(before)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_that_needs_spark_runs(
    ropewalk: Run, folder: Path, page: Path
) -> None:
    for command in commands(page.read_text("utf-8"), page.name):
        if command.on_spark and not command.reason and command.smaller not in DONE:
            run(ropewalk, command, folder)
            DONE.add(command.smaller)


def run(ropewalk: Run, command: Command, folder: Path) -> None:
    given, _ = words(command.smaller, folder)
    assert given[0] == "ropewalk", f"{command.page}: {command.text}"
    # Java's own folder stays what it was when Spark was started.
    whole = [str(folder / one) if (folder / one).exists() else one for one in given[1:]]
    ran = ropewalk(*whole)
    told = (0, 1) if command.exits is None else (command.exits,)
    assert ran.code in told, f"{command.page}: {command.smaller}: {ran.code}: {ran.out}{ran.err}"
