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
    from ropewalk.federation.opening import opened

    return load("/dev/stdin", max_mb=max_mb) if path == PIPE else opened(path, max_mb=max_mb)


def read_from(
    paths: Sequence[Path],
    *,
    mapping: Path | None = None,
    name: str | None = None,
    family: "Family | None" = None,
) -> "Reading | None":
    """What brokers' own configuration files say; None if the paths are a federation's file.

    Of a federation that was read with a mapping its files are read again with the same one.
    """
    if list(paths) == [PIPE]:
        return None
    from ropewalk.federation.readers.reading import is_native, read_native

    if len(paths) == 1 and family is None and not is_native(paths[0]):
        return None
    return read_native(paths, mapping=mapping, name=name, family=family)


def files_of(federation: "Federation") -> list[Path]:
    """The files that a federation was read from, each once."""
    places = [one.written.get("entry", "") for one in federation.brokers.values()]
    return list(dict.fromkeys(Path(file) for one in places if (file := one.rpartition(":")[0])))


def missing_files(federation: "Federation") -> list[Path]:
    """Those of them that are not there."""
    return [one for one in files_of(federation) if not one.is_file()]


def read_again(federation: "Federation", mapping: Path | None) -> "Reading | None":
    """What the files say that a federation was read from, as far as they are still there.

    None if there are none; UsageError if its brokers are none of theirs.
    """
    from ropewalk.federation.readers.reading import read_native

    found = [one for one in files_of(federation) if one.is_file()]
    if not found:
        return None
    # RabbitMQ loads all of such a folder, and its brokers are named in some of its files only.
    whole = [one.parent if one.parent.name == "definitions.d" else one for one in found]
    reading = read_native(dict.fromkeys(whole), mapping=mapping, name=federation.name)
    for name, one in federation.brokers.items():
        held = one.written.get("entry", "").rpartition(":")[0]
        if held and Path(held) in found and name not in reading.federation.brokers:
            raise UsageError(
                f"{name} is none of the files' brokers: give --map as it was given to read,"
                " or read them anew if they have changed"
            )
    return reading


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
