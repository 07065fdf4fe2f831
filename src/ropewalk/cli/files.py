"""Federations from and to what a command line names: files, folders, or `-` for the pipes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ropewalk.cli.contract import finish, say
from ropewalk.errors import InputError, UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.federation import Federation
    from ropewalk.federation.readers.reading import Reading
    from ropewalk.federation.readers.recognise import Family
    from ropewalk.findings import Finding

PIPE = Path("-")

Source = Annotated[
    Path, typer.Argument(help="A federation file, a folder in the large form, or - for stdin.")
]


def load_from(path: Path, *, max_mb: float) -> "Federation":
    """Load the federation that an argument names, from brokers' own files as well."""
    from ropewalk.federation import load

    if read := read_from([path]):
        return read.federation
    return load("/dev/stdin" if path == PIPE else path, max_mb=max_mb)


def read_from(
    paths: Sequence[Path],
    *,
    mapping: Path | None = None,
    name: str | None = None,
    family: "Family | None" = None,
) -> "Reading | None":
    """What brokers' own configuration files say; None if the paths are a federation's file."""
    if list(paths) == [PIPE]:
        return None
    from ropewalk.federation.readers.reading import is_native, read_native

    if len(paths) == 1 and family is None and mapping is None and not is_native(paths[0]):
        return None
    return read_native(paths, mapping=mapping, name=name, family=family)


@contextmanager
def reported(command: str, sarif: Path | None, junit: Path | None) -> Iterator[list[Document]]:
    """Also write what a verb has to say in the forms that other tools read.

    The verb adds its document to the list; faults of the input are reported as well. A report that
    cannot be written hides nothing: that is said on stderr, after the rest.
    """
    for path in (sarif, junit):
        if path is not None and not path.parent.is_dir():
            raise UsageError(f"{path}: there is no folder {path.parent}: make it, or name another")
    told: list[Document] = []
    try:
        yield told
    except InputError as error:
        told.append(Document(command, "refused", {}, error.findings))
        raise
    finally:
        for document in told:
            _write(document, sarif, junit)


def _write(document: Document, sarif: Path | None, junit: Path | None) -> None:
    from ropewalk import __version__
    from ropewalk.federation.saving import write_text
    from ropewalk.report import exchange

    try:
        if sarif is not None:
            write_text(sarif, exchange.sarif(document, __version__))
        if junit is not None:
            write_text(junit, exchange.junit(document))
    except UsageError as error:
        typer.echo(f"ropewalk {document.command}: {error}", err=True)


def deliver(
    command: str,
    federation: "Federation",
    out: Path,
    *,
    as_json: bool,
    findings: "Sequence[Finding]" = (),
) -> None:
    """Write a federation where `-o` says, and say so; through a pipe it is all that is said.

    What there is to say about it goes to stderr then.
    """
    from ropewalk.federation import save
    from ropewalk.federation.dump import dump
    from ropewalk.report.tables import summary_line, summary_of

    if out == PIPE and not as_json:
        for one in findings:
            typer.echo(str(one), err=True)
        say(dump(federation))
        return
    summary = {**summary_of(federation), "file": None if out == PIPE else str(out)}
    if out == PIPE:
        summary["yaml"] = dump(federation)
    else:
        save(federation, out)
    text = f"Wrote {out}: {summary_line(summary)}."
    finish(Document(command, "ok", summary, findings), as_json=as_json, text=text)
