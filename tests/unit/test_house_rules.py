"""The house rules that no linter knows."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ropewalk
from ropewalk import errors
from ropewalk.findings import rules

ROOT = Path(ropewalk.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


def test_the_public_face_is_what_it_says() -> None:
    assert ropewalk.__all__ == sorted(ropewalk.__all__)
    also = {"diff": "difference", "route": "tables_of"}  # verbs of the command line
    for name in ropewalk.__all__:
        assert getattr(ropewalk, name).__name__.rpartition(".")[2] == also.get(name, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ropewalk.nothing


def test_importing_ropewalk_costs_next_to_nothing() -> None:
    program = "import sys, ropewalk; print([m for m in ('numpy', 'pydantic', 'typer') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_code_in_the_source_has_a_rule_and_every_rule_is_used() -> None:
    used = {
        code
        for module in MODULES
        for code in re.findall(
            r'"([ABCDFLMNPQRTUVX]\d{3}|S\d{1,2})"', module.read_text(encoding="utf-8")
        )
    }
    assert used == set(rules())


def test_rule_names_are_unique() -> None:
    names = [rule.name for rule in rules().values()]
    assert len(set(names)) == len(names)


def test_every_exception_is_in_the_tree_drawn_at_the_top() -> None:
    defined = [
        name
        for name, one in vars(errors).items()
        if isinstance(one, type) and name.endswith("Error")
    ]
    drawn = re.findall(r"(\w+Error)\b", errors.__doc__ or "")
    assert sorted(drawn) == sorted(defined)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_opens_with_its_purpose_and_stays_short(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "no docstring"
    assert len(text.splitlines()) <= 400
