"""Compiled kernels are kept on disk, and never outlive a change of any kernel's source."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ropewalk import kernels
from ropewalk.federation.generators import generate
from ropewalk.verify import verify


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of two kernels in two files, the second calling the first."""
    root = tmp_path / "pack"
    for source in kernels.TABLES:
        (root / source).mkdir(parents=True)
    (root / "routing" / "one.py").write_text("def one(): return 1\n")
    monkeypatch.setattr(kernels, "__file__", str(root / "kernels.py"))
    kernels._folder.cache_clear()
    yield root
    kernels._folder.cache_clear()


def test_a_change_of_any_source_gives_another_folder(package: Path) -> None:
    first = kernels._folder()
    kernels._folder.cache_clear()
    assert kernels._folder() == first
    assert first is not None
    stale = first.with_name("kernels-of-long-ago")
    stale.mkdir()
    os.utime(stale, (0, 0))
    (package / "verify" / "two.py").write_text("def two(): return 2\n")
    kernels._folder.cache_clear()
    second = kernels._folder()
    assert second is not None
    assert second != first
    # What another process may still use stays; what is long out of use does not.
    assert (second.is_dir(), first.is_dir(), stale.exists()) == (True, True, False)


def test_the_users_cache_is_used_where_the_package_cannot_be_written(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "__pycache__").write_text("a file, so no folder can be made in it")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = kernels._folder()
    assert folder is not None
    assert folder.is_relative_to(tmp_path / "cache")


def test_without_any_place_kernels_are_not_kept(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "__pycache__").write_text("a file")
    (tmp_path / "file").write_text("another")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert kernels._folder() is None
    assert kernels.kernel(lambda: 7)() == 7


def test_other_code_keeps_its_own_numba_cache() -> None:
    program = (
        "import ropewalk.routing.trees as trees; trees.grow.signatures\n"
        "from numba import config; print(repr(config.CACHE_DIR))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout.strip() == "''"


def test_a_halt_leaves_the_rest_undecided() -> None:
    halt = np.ones(1, np.bool_)
    result = verify(generate("ring", brokers=6), failures=["links=1"], halt=halt)
    assert (result.decided, result.outcome) == (False, "undecided")
