"""Whatever is in brokers' files, they are read or refused: never anything else, and then verified."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.errors import ConfigurationError
from ropewalk.export.design import native_design
from ropewalk.export.meaning import differences
from ropewalk.export.writing import write_native
from ropewalk.federation import loads
from ropewalk.federation.dump import dump
from ropewalk.federation.readers.reading import read_native
from ropewalk.verify import verify

NATIVE = Path("examples/native")
CASES = sorted(
    str(case.relative_to(NATIVE))
    for family in NATIVE.iterdir()
    for case in ([family] if family.name in ("mixed", "asyncapi") else family.iterdir())
)
TOKENS = [
    "{",
    "}",
    "[",
    '"',
    "'",
    "#",
    "\n",
    "\t",
    "topic",
    "both",
    "in",
    ":",
    "-1",
    "\\",
    "é",
    "$X",
]


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """A text with lines and tokens taken out, doubled or put in."""
    for _ in range(draw(st.integers(1, 4))):
        lines = text.split("\n")
        at = draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(["drop", "double", "swap", "cut", "insert"]))
        if kind == "drop":
            del lines[at]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            column = draw(st.integers(0, len(lines[at])))
            token = draw(st.sampled_from(TOKENS)) if kind == "insert" else ""
            rest = lines[at][column + (kind == "cut") :]
            lines[at] = lines[at][:column] + token + rest
        text = "\n".join(lines)
    return text


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_mutated_files_are_read_or_refused(case: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(shutil.copytree(NATIVE / case, Path(scratch) / "case"))
        files = sorted(one for one in folder.rglob("*") if one.is_file())
        chosen = data.draw(st.sampled_from(files))
        chosen.write_text(data.draw(mutated(chosen.read_text())))
        try:
            reading = read_native([folder])
        except ConfigurationError as refused:
            errors = [one for one in refused.findings if one.severity == "error"]
            assert errors
            assert all(one.where.file and one.message and "\n" not in one.message for one in errors)
            return
        federation = reading.federation
        assert loads(dump(federation)) == federation
        verify(federation, failures=["brokers=1"])
        _written_and_read_again(reading.federation, Path(scratch) / "again")


def _written_and_read_again(federation: object, folder: Path) -> None:
    """What can be written without loss means the same when it is read again."""
    made = native_design(federation).federation  # type: ignore[arg-type]
    for one in write_native(made):
        place = folder / one.file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(one.text)
    if not folder.exists():
        return
    try:
        again = read_native([folder], name=made.name).federation
    except ConfigurationError as refused:
        pytest.fail(f"what was written is refused: {refused}")
    differences(made, again)
