"""A report in a few lines, for a terminal 80 columns wide."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from ropewalk.report.filed.blocks import Section
from ropewalk.report.filed.page import VERDICTS, label
from ropewalk.report.filed.whole import Report
from ropewalk.report.verification import plural


def report_text(report: Report, out: Path | None) -> str:
    """Every part with its verdict, what was not checked, and where the page is."""
    return "\n".join(_lines(report, out))


def _lines(report: Report, out: Path | None) -> Iterator[str]:
    yield report.title
    for section in report.sections:
        yield from _part(section)
    yield VERDICTS[report.status]
    if errors := sum(one.severity == "error" for one in report.findings):
        yield f"{plural(errors, 'error')}: each is told with its place and what to do about it."
    if out is None:
        yield "Nothing is written: add -o report.html for the page."
    else:
        yield f"Wrote {out}: {len(report.sections)} parts of {len(report.inputs)} files."


def _part(section: Section) -> Iterator[str]:
    text = f"{section.title}: {section.says}"
    yield fill(
        text,
        80,
        initial_indent=f"  {label(section):<12}",
        subsequent_indent=" " * 14,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for one in section.unchecked:
        yield fill(
            f"not checked: {one}",
            80,
            initial_indent=" " * 14,
            subsequent_indent=" " * 16,
            break_long_words=False,
            break_on_hyphens=False,
        )
