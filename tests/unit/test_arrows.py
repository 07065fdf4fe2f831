"""The arrows between packages: they hold, and the check of them can fail."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache", "--config", "pyproject.toml"],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("module", "line", "holds"),
    [
        ("federation/facts.py", "", True),
        ("federation/facts.py", "import ropewalk.report.document\n", False),
        ("report/document.py", "import ropewalk.cli.contract\n", False),
        ("findings.py", "import ropewalk.federation.facts\n", False),
        ("cli/verify.py", "import pyspark\n", False),
        ("nowhere.py", '"""A module that has no room."""\n', False),
    ],
)
def test_the_arrows_go_one_way(tmp_path: Path, module: str, line: str, holds: bool) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "src" / "ropewalk" / module).open("a") as file:
        file.write(line)
    done = lint_imports(tmp_path)
    assert (done.returncode == 0) == holds, done.stdout + done.stderr
