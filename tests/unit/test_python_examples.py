"""The examples in Python: what they find, and that it changes when what they look at does."""

import shutil
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

PYTHON = Path(__file__).parents[2] / "examples" / "python"


def script(name: str) -> dict[str, Any]:
    return run_path(str(PYTHON / name))


def fits(text: str) -> bool:
    return max(map(len, text.splitlines())) <= 80


def test_the_ring_is_safe_from_loops_and_not_complete(capsys: pytest.CaptureFixture[str]) -> None:
    as_it_is, mended, doubled = script("ring_safe.py")["main"]()
    assert (as_it_is.missing, as_it_is.copies, as_it_is.loops) == (4, 0, 0)
    assert (mended.missing, mended.copies, mended.loops) == (0, 0, 0)
    assert mended.cut_by_one > 0
    assert doubled.copies > 0
    assert doubled.cut_by_one == 0
    out = capsys.readouterr().out
    assert "Write max-hops 3 in each upstream" in out
    assert "east.json:58" in out
    assert fits(out)


def test_a_ring_that_is_mended_in_its_files_is_complete(tmp_path: Path) -> None:
    ring = PYTHON.parent / "native" / "rabbitmq" / "ring"
    shutil.copytree(ring, tmp_path / "ring")
    for file in (tmp_path / "ring").glob("*.json"):
        text = file.read_text("utf-8")
        file.write_text(text.replace('"max-hops": 2', '"max-hops": 3'), "utf-8")
    assert script("ring_safe.py")["main"](tmp_path / "ring")[0].missing == 0


def test_the_backup_that_survives_most_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    backups = {one.method: one for one in script("regional_outage.py")["main"]()}
    assert backups["exposure"].survives > backups["gap"].survives > backups["disjoint"].survives
    assert backups["exposure"].survives == pytest.approx(0.7, abs=0.1)
    assert backups["disjoint"].delay_ms < backups["exposure"].delay_ms
    paths = [one.path.split(" > ") for one in backups.values()]
    assert all(path[0] == "Hamburg" and path[-1] == "Muenchen" for path in paths)
    out = capsys.readouterr().out
    assert "Take the exposure backup" in out
    assert fits(out)
