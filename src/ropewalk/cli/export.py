"""`ropewalk export`: a federation as configuration files of its brokers."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import load_from, missing_files, read_again, read_from
from ropewalk.cli.read import Map
from ropewalk.errors import InputError, UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.export.writing import Written
    from ropewalk.federation import Federation
    from ropewalk.federation.readers.reading import Reading

OF_RABBITMQ = ("rabbitmq.conf", "advanced.config")


def export(
    path: Annotated[
        Path, typer.Argument(help="A federation, or brokers' own files (a file or a folder).")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A new folder: one folder for each server.")
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what changes against the files that were read.")
    ] = False,
    mapping: Map = None,
    as_json: Json = False,
) -> None:
    """Write the configuration of each broker: bridges, leaf nodes, upstreams with their limits.

    Links become bridges that make no loop, with backup addresses where the make has them. What
    was read and is not modelled is kept as it was. What no configuration can say is told.
    """
    with contract("export", as_json=as_json):
        from ropewalk.export.design import native_design
        from ropewalk.export.writing import without_static, write_native
        from ropewalk.federation.loading import MAX_YAML_MB

        if out is None and not diff:
            raise UsageError("give -o FOLDER to write the files, or --diff to see what changes")
        with progress(f"writing configurations of {path}"):
            reading = read_from([path], mapping=mapping)
            federation = reading.federation if reading else load_from(path, max_mb=MAX_YAML_MB)
            gone = missing_files(federation)
            if gone and diff:
                what = f"{gone[0]}: this file was read, and is not there"
                raise UsageError(f"{what}: go to where it was read, or read the files anew")
            reading = reading or read_again(federation, mapping)
            originals = {one.server: one.text for one in reading.natives} if reading else {}
            before = reading.federation if reading else None
            design = native_design(federation)
            natives = reading.natives if reading else ()
            parts = {one.server: one.parts for one in natives if one.family == "nats"}
            written = write_native(design.federation, originals, before, parts)
            meant = without_static(design.federation) if before else design.federation
            changed = _read_again(meant, written, mapping)
        anew = "is not there: its broker is written without what no federation holds, as logins"
        left = [f"{one} {anew}" for one in gone]
        left += [*design.left, *(f"{one.server}: {text}" for one in written for text in one.left)]
        if out is not None:
            left += _beside(reading) if reading else []
            _save(written, out)
        summary = {
            "files": [one.file for one in written],
            "folder": str(out) if out else None,
            "roots": list(design.roots),
            "not_expressed": left,
            "read_again": changed,
            "diff": "".join(_diffs(written)) if diff else None,
        }
        finish(Document("export", "ok", summary), as_json=as_json, text=_text(summary, written))


def _beside(reading: "Reading") -> list[str]:
    """Settings of RabbitMQ that are in other files than its definitions, and are not written."""
    homes = {Path(one.file).parent for one in reading.natives if one.family == "rabbitmq"}
    files = (home / name for home in sorted(homes) for name in OF_RABBITMQ)
    return [f"{one} stays as it is: copy it beside the new files" for one in files if one.is_file()]


def _text(summary: Mapping[str, object], written: Sequence["Written"]) -> str:
    lines = []
    if summary["diff"] is not None:
        lines.append(str(summary["diff"]).rstrip() or "Nothing changes in the files.")
    if summary["folder"]:
        lines.append(f"Wrote {len(written)} configurations to {summary['folder']}.")
    left: Sequence[str] = summary["not_expressed"]  # type: ignore[assignment]
    changed: Sequence[str] = summary["read_again"]  # type: ignore[assignment]
    lines += [f"not expressed: {text}" for text in left]
    lines += [f"read again: {text}" for text in changed]
    if not changed:
        lines.append("Read again, the files mean what the federation says.")
    return "\n".join(lines)


def _read_again(
    federation: "Federation", written: Sequence["Written"], mapping: Path | None
) -> list[str]:
    """What the files, read again, would say otherwise."""
    from tempfile import TemporaryDirectory

    from ropewalk.export.meaning import differences
    from ropewalk.federation.readers.reading import read_native

    if not written:
        return []
    with TemporaryDirectory(prefix="ropewalk-") as scratch:
        folder = Path(scratch) / "files"
        _put(written, folder)
        try:
            again = read_native(
                [folder], mapping=mapping, name=federation.name, known=_addresses(federation)
            ).federation
        except InputError as error:
            return [str(one) for one in error.findings]
        return differences(federation, again)


def _addresses(federation: "Federation") -> dict[tuple[str, int | None], str]:
    """Which server each address of a federation means, where it means one only."""
    from urllib.parse import urlsplit

    found: dict[tuple[str, int | None], set[str]] = {}
    server = {name: one.server or name for name, one in federation.brokers.items()}
    urls = [(one.url, server[name]) for name, one in federation.brokers.items() if one.url]
    for one in federation.bridges:
        ends = (one.to, *one.addresses)
        urls += [
            (f"tcp://{address}", server[end])
            for address, end in zip(one.reached_at, ends, strict=False)
            if end in server
        ]
    for url, name in urls:
        parts = urlsplit(url)
        found.setdefault(((parts.hostname or "").lower(), parts.port), set()).add(name)
    return {address: min(names) for address, names in found.items() if len(names) == 1}


def _save(written: Sequence["Written"], out: Path) -> None:
    """All files or none, into a folder that is new or empty."""
    from tempfile import TemporaryDirectory

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: it is there already: name a new folder")
    if not out.parent.is_dir():
        raise UsageError(f"{out}: there is no folder {out.parent}: make it, or name another")
    with TemporaryDirectory(prefix=".ropewalk-", dir=out.parent) as scratch:
        folder = Path(scratch) / "new"
        _put(written, folder)
        if out.is_dir():
            out.rmdir()
        folder.replace(out)


def _put(written: Sequence["Written"], folder: Path) -> None:
    for one in written:
        place = folder / one.file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(one.text, encoding="utf-8")
        _put_parts(one, place.parent)
    folder.mkdir(parents=True, exist_ok=True)


def _put_parts(one: "Written", home: Path) -> None:
    """Files that a configuration includes, beside it; those of its machine's root as well."""
    for name, text in one.parts.items():
        parts = [part for part in Path(name).parts if part != Path(name).anchor]
        if ".." not in parts:
            place = home.joinpath(*parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")


def _diffs(written: Sequence["Written"]) -> Iterator[str]:
    for one in written:
        before = (one.original or "").splitlines(keepends=True)
        after = one.text.splitlines(keepends=True)
        name = f"a/{one.file}" if one.original is not None else "/dev/null"
        for line in unified_diff(before, after, name, f"b/{one.file}"):
            yield line if line.endswith("\n") else line + "\n"
