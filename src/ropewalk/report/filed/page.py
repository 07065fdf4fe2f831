"""A report as one HTML page that needs nothing else: no script, no font, no other file."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ropewalk.findings import SEVERITIES, Finding, rules
from ropewalk.report.filed.blocks import STATUSES, Block, Cell, Section, Status
from ropewalk.report.filed.whole import Report
from ropewalk.report.filed.words import plain, shortened, size, spoken

if TYPE_CHECKING:
    from jinja2 import Template

WORDS: Mapping[Status, str] = {
    "findings": "errors",
    "undecided": "not decided",
    "ok": "ok",
    "told": "told",
}
VERDICTS: Mapping[Status, str] = {
    "findings": "There are errors: what is promised is not kept, or was not.",
    "undecided": "Not everything could be decided: what is open is told, and is not ok.",
    "ok": "Nothing is wrong in what was looked at.",
    "told": "Nothing was judged.",
}
OF_A_CODE = 10
"""So many findings of a code are shown; the JSON has them all."""
WITNESS = (*("path", "failure", "failures", "lines", "steps", "trace"),)
"""Parts of a witness that people follow, in this order."""


def page_of(report: Report) -> str:
    """The page."""
    return _template().render(
        report=report,
        words=WORDS,
        verdict=VERDICTS[report.status],
        statuses=STATUSES,
        size=size,
        drawn=_drawn,
        cell=_cell,
        by_code=by_code,
        label=label,
    )


@cache
def _template() -> "Template":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("ropewalk.report.filed"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    return found.get_template("report.html.j2")


def label(section: Section) -> str:
    """The verdict in a word; ok is said of what was looked at alone."""
    if section.status == "ok" and section.unchecked:
        return "ok, in part"
    return WORDS[section.status]


def _drawn(block: Any) -> Markup:
    """Markup that this package has made, with every text of others escaped."""
    return Markup(block.markup)  # noqa: S704


def _cell(value: str | Cell) -> Cell:
    return value if isinstance(value, Cell) else Cell(value)


def by_code(block: Block) -> Iterator[dict[str, Any]]:
    """Findings by severity and code, with what the code means and what to do about it."""
    findings: Sequence[Finding] = getattr(block, "findings", ())
    order = sorted(findings, key=lambda one: (SEVERITIES.index(one.severity), one.code))
    known = rules()
    for (severity, code), some in groupby(order, key=lambda one: (one.severity, one.code)):
        every, rule = list(some), known.get(code)
        yield {
            "severity": severity,
            "code": code,
            "name": rule.name if rule else "",
            "meaning": rule.meaning if rule else "",
            "fix": rule.fix if rule else "",
            "shown": [
                (one.message, str(one.where), list(witness_lines(one.witness)))
                for one in every[:OF_A_CODE]
            ],
            "more": max(0, len(every) - OF_A_CODE),
        }


def witness_lines(witness: object) -> Iterator[str]:
    """The parts of a witness that a person follows; all of it is in the JSON."""
    if not isinstance(witness, Mapping):
        if witness is not None:
            yield shortened(plain(witness))
        return
    for key in WITNESS:
        value = witness.get(key)
        if not value:
            continue
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            between = " > " if key == "path" else "; " if key in ("lines", "steps") else ", "
            yield shortened(f"{spoken(key)}: {between.join(value)}")
        elif isinstance(value, str):
            yield shortened(f"{spoken(key)}: {value}")
