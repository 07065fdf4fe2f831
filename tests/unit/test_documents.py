"""Every command that README and docs show is run here, and prints what they say."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from ropewalk.demo import telling
from ropewalk.federation import load
from ropewalk.protocol import load_automaton
from tests.conftest import Run
from tests.demo_output import SEEN, without_figures

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def shown(page: Path) -> list[tuple[str, str]]:
    """The commands of a page and what it says they print."""
    blocks = [body for kind, body in FENCE.findall(page.read_text("utf-8")) if kind == "console"]
    parts = [part for body in blocks for part in body.split("$ ")[1:]]
    return [(command, out.strip()) for command, _, out in (part.partition("\n") for part in parts)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_print_what_the_page_says(
    ropewalk: Run, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for command, expected in shown(page):
        program, *arguments = shlex.split(command.partition(" > ")[0])
        assert program == "ropewalk"
        ran = ropewalk(*arguments)
        printed = ran.out.strip()
        said = re.search(r"^\d+ (findings?|notes?);", expected, re.MULTILINE)
        if arguments[0] == "verify" and " error " not in expected:
            said = None  # warnings alone are ok
        refused = re.search(" error (F|Q003|Q005)", expected) is not None
        assert expected == "" or ran.code == (2 if refused else 1 if said else 0), command
        if expected:
            assert printed == expected, command


def test_the_readme_shows_commands() -> None:
    assert len(shown(ROOT / "README.md")) >= 6


def test_the_demo_ends_as_the_readme_says() -> None:
    """But for its figures, which are those of a run; `tests/pipeline/test_demo.py` makes one."""
    blocks = dict(FENCE.findall((ROOT / "README.md").read_text("utf-8")))
    told = telling.ending(SEEN, "ok", "demo/report.html", {"seconds": 120.0})
    assert without_figures(blocks["text"]) == without_figures(told)


def test_python_in_the_pages_runs(
    ropewalk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    ropewalk("new", "mine.yaml")
    programs = [
        body
        for page in PAGES
        for kind, body in FENCE.findall(page.read_text("utf-8"))
        if kind == "python"
    ]
    assert programs
    for program in programs:
        exec(compile(program, "page", "exec"), {})


def test_yaml_in_the_pages_and_examples_loads(tmp_path: Path) -> None:
    for page in PAGES:
        for kind, body in FENCE.findall(page.read_text("utf-8")):
            if kind == "yaml":
                (tmp_path / "f.yaml").write_text(body, "utf-8")
                read = load_automaton if body.startswith("protocol:") else load
                read(tmp_path / "f.yaml")
    for example in sorted((ROOT / "examples").glob("*.yaml")):
        if example.name != "broken.yaml":
            load(example)
