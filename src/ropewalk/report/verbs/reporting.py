"""`report`: all that is known of a federation, verified for it, on one page or as data."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.federation.loading import load
from ropewalk.federation.readers.reading import Reading, is_native, read_native
from ropewalk.federation.saving import write_text
from ropewalk.findings import Finding
from ropewalk.protocol.reading import load_automata
from ropewalk.report.document import Document
from ropewalk.report.filed.facts import Proof
from ropewalk.report.filed.gather import gather
from ropewalk.report.filed.page import page_of
from ropewalk.report.filed.sources import making
from ropewalk.report.filed.whole import Report, report_of
from ropewalk.verify.protocols import protocol_findings
from ropewalk.verify.result import Verification, verify

if TYPE_CHECKING:
    import pandas as pd

PathText = str | PathLike[str]
PAGE, DATA = (".html", ".htm"), ".json"


@dataclass(frozen=True, slots=True)
class Filed:
    """A report that was made, to be looked at and written."""

    report: Report

    @property
    def ok(self) -> bool:
        """Whether all was decided, and nothing is wrong in what was looked at."""
        return self.report.ok

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of all parts, each once."""
        return self.report.findings

    @property
    def summary(self) -> dict[str, Any]:
        """All of it as data."""
        return self.report.as_dict()

    def document(self) -> Document:
        """As the command line has it."""
        return Document("report", self.report.outcome, self.summary, self.findings)

    def html(self) -> str:
        """The page."""
        return page_of(self.report)

    def save(self, out: PathText) -> None:
        """Write the page to *.html, or the data to *.json, whole or not at all."""
        path = check_out(Path(out))
        data = json.dumps(self.document().as_dict(), ensure_ascii=False) + "\n"
        write_text(path, data if path.suffix.lower() == DATA else self.html())

    def frame(self) -> "pd.DataFrame":
        """A row per part: its verdict, what it says, and how much was not checked."""
        import pandas as pd

        rows = [
            (one.chapter, one.title, one.status, one.says, len(one.unchecked))
            for one in self.report.sections
        ]
        return pd.DataFrame(rows, columns=["chapter", "part", "verdict", "says", "not_checked"])


def report(
    federation: Federation | Reading | Verification | PathText,
    *,
    plans: Sequence[PathText] = (),
    work: Sequence[PathText] = (),
    documents: Sequence[PathText] = (),
    title: str | None = None,
    made: datetime | None = None,
    command: str = "ropewalk.report(...)",
) -> Filed:
    """Put together what was described, proved, planned and observed.

    A verification is taken as it is; anything else is verified as its requirements ask. `plans` are
    files of `place`, `work` working folders of the pipeline, `documents` what verbs printed with
    --json. `made` is the time it names, by default now. Raises UsageError for unusable files.
    """
    when = (made or datetime.now(UTC)).astimezone(UTC)
    return Filed(
        report_of(
            gather(
                proof_of(federation),
                making=making(when.strftime("%Y-%m-%d %H:%M:%S UTC"), command),
                plans=list(map(Path, plans)),
                work=list(map(Path, work)),
                documents=list(map(Path, documents)),
                title=title,
            )
        )
    )


def proof_of(given: Federation | Reading | Verification | PathText) -> Proof:
    """What was proved of a federation, with its protocols and what brokers' own files say."""
    if isinstance(given, str | PathLike):
        path = Path(given)
        given = read_native([path]) if is_native(path) else load(path)
    if isinstance(given, Reading):
        return proof(verify(given.federation), given)
    return proof(given if isinstance(given, Verification) else verify(given))


def proof(result: Verification, reading: Reading | None = None) -> Proof:
    """A verification with what stands beside it."""
    federation = result.check.federation
    found = [*reading.telling] if reading else []
    if federation.protocols:
        beside = Path(federation.source.file).parent
        found += protocol_findings(federation, load_automata(federation.protocols, beside))
    return Proof(result, tuple(found), reading.not_modelled if reading else 0)


def check_out(out: Path) -> Path:
    """A file that a report can be written to; UsageError for another."""
    if out.suffix.lower() not in (*PAGE, DATA):
        raise UsageError(f"{out}: name the page *.html, or *.json for the same as data")
    if not out.parent.is_dir():
        raise UsageError(f"{out}: there is no folder {out.parent}: make it, or name another")
    return out
