"""An agent's tables: computed once, kept beside its log, never those of another federation."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ropewalk.agent import tables as kept
from ropewalk.agent.tables import read_given, tables_at
from ropewalk.errors import UsageError
from ropewalk.federation.generators import generate
from ropewalk.federation.saving import save
from ropewalk.overlay import chart_of
from ropewalk.routing.ahead import tables_of
from ropewalk.routing.ahead.store import write_tables

SIX = generate("six-node")


def refuse(*_given: object) -> None:
    raise AssertionError("computed again")


def test_what_was_computed_is_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = chart_of(SIX, tables=tables_at(tmp_path / "tables"))
    monkeypatch.setattr(kept, "tables_of", refuse)
    second = chart_of(SIX, tables=tables_at(tmp_path / "tables"))
    rows = [
        [chart.tables.row(name, "b1--b2").tolist() for name in SIX.brokers]
        for chart in (first, second)
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("what", ["another graph", "other failures", "a torn file", "nothing"])
def test_what_does_not_fit_is_computed_anew(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "tables"
    tables_at(folder)(SIX, "links=1")
    federation, failures = SIX, "links=1"
    if what == "another graph":
        federation = replace(SIX, links=SIX.links[:-1])
    elif what == "other failures":
        failures = "links=2"
    elif what == "a torn file":
        file = next(folder.glob("*.table"))
        file.write_bytes(file.read_bytes()[:-3])
    else:
        (folder / "network.json").unlink()
    found = tables_at(folder)(federation, failures)
    assert found.network.fingerprint == tables_of(federation, failures).network.fingerprint
    assert found.row("b1").tolist() == tables_of(federation, failures).row("b1").tolist()


def test_tables_that_were_given_are_those_of_the_federation_or_refused(tmp_path: Path) -> None:
    write_tables(tables_of(SIX, "any=2"), tmp_path / "given")
    given = read_given(tmp_path / "given", SIX, Path("six.yaml"))
    assert tables_at(tmp_path / "kept", given)(SIX, "links=1") is given
    assert not (tmp_path / "kept").exists()
    other = replace(SIX, links=SIX.links[:-1])
    with pytest.raises(UsageError, match="of another federation"):
        read_given(tmp_path / "given", other, Path("other.yaml"))


def test_an_agent_that_starts_again_loads_no_compiler(tmp_path: Path) -> None:
    """It takes longer than everything else: seconds in which nothing is delivered."""
    save(SIX, tmp_path / "six.yaml")
    tables_at(tmp_path / "tables")(SIX, ("links=1", "brokers=1"))
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "import ropewalk.agent.process, ropewalk.agent.makes, ropewalk.cli.agent\n"
        "from ropewalk import load\n"
        "from ropewalk.agent.tables import tables_at\n"
        "from ropewalk.agent.trace_files import without_pandas\n"
        "from ropewalk.overlay import chart_of\n"
        "without_pandas()\n"
        "import pyarrow as pa; pa.table({'a': [1]})\n"
        f"chart = chart_of(load({str(tmp_path / 'six.yaml')!r}),"
        f" tables=tables_at(Path({str(tmp_path / 'tables')!r})))\n"
        "roads = chart.roads(0, slow_cost=8)\n"
        "roads.row((0,), ()); roads.row((0, 1, 2), (3,)); roads.row((), (), (1,))\n"
        "print([name for name in ('numba', 'scipy', 'pandas') if name in sys.modules])\n"
        "import pandas\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
