"""The site of the docs: it is built offline, every link leads somewhere, and no other host is asked."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
import yaml

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
"""What a browser fetches by itself; of links those that are no mere mention of a page."""
MENTIONS = {"canonical", "next", "prev", "alternate", "me"}


@dataclass
class Page(HTMLParser):
    """What a page links to, what it loads, and what can be linked to in it."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.classes |= set(given.get("class", "").split())
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if (name := LOADED.get(tag)) and name in given:
            self.loads.append(given[name])
        if tag == "link" and not MENTIONS & set(given.get("rel", "").split()):
            self.loads.append(given.get("href", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("docs")
    for name in ("docs", "tools", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.rmtree(folder / "docs" / "reference", ignore_errors=True)
    commands: list[list[str | Path]] = [
        [sys.executable, "tools/reference.py"],
        [Path(sys.executable).with_name("zensical"), "build", "--clean"],
    ]
    for command in commands:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said = done.stdout + done.stderr
    assert "No issues found" in said, said
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = {}
    for path in sorted(site.rglob("*.html")):
        found[path] = Page()
        found[path].feed(path.read_text("utf-8"))
    return found


def navigated(entry: object) -> list[str]:
    """All pages of the navigation."""
    if isinstance(entry, str):
        return [entry]
    inner = entry.values() if isinstance(entry, dict) else entry
    assert hasattr(inner, "__iter__")
    return [page for one in inner for page in navigated(one)]


def test_every_page_is_in_the_navigation_and_is_there() -> None:
    told = navigated(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])
    assert len(told) == len(set(told))
    there = {one.relative_to(ROOT / "docs").as_posix() for one in (ROOT / "docs").rglob("*.md")}
    made = {"reference/commands.md", "reference/findings.md", "reference/fields.md"}
    assert set(told) - made == there - made


def test_every_link_of_the_site_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    broken = [
        f"{path.relative_to(site)}: {link}"
        for path, page in pages.items()
        if path.name != "404.html"
        for link in (*page.links, *page.loads)
        if not urlsplit(link).scheme and not leads(path, link, pages)
    ]
    assert not broken


def leads(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    """Whether a file is there, and the anchor in it."""
    where, anchor = urldefrag(link)
    to = (path.parent / unquote(where)).resolve() if where else path
    to = to / "index.html" if to.is_dir() else to
    return to.is_file() and (not anchor or unquote(anchor) in pages[to].anchors)


def test_no_page_asks_another_host_for_anything(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        outside = [one for one in page.loads if urlsplit(one).netloc]
        assert not outside, path
        assert "mermaid" not in page.classes, (
            f"{path}: it would be drawn by a script from elsewhere"
        )
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text("utf-8")), (
            style
        )


def test_the_readme_links_to_what_is_there() -> None:
    for link in re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text("utf-8")):
        if not urlsplit(link).scheme:
            assert (ROOT / link.partition("#")[0]).is_file(), link


def test_a_broken_link_would_be_noticed(site: Path, pages: dict[Path, Page]) -> None:
    home = site / "index.html"
    assert leads(home, "papers/#wang-2015", pages)
    assert not leads(home, "papers/#wang-2016", pages)
    assert not leads(home, "paper/", pages)
