"""Files and folders that a user names, as texts of known families; nothing else is opened.

An absolute path in a file (`include_dir /etc/mosquitto/conf.d`) speaks of the broker's machine, not
of this one: it is looked for beside the file, never followed.
"""

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.json_text import parse_json
from ropewalk.federation.readers.nats.syntax import is_written_for_nats
from ropewalk.federation.readers.others import (
    IN_MANIFEST,
    MANIFEST,
    SCRIPTS,
    for_rabbitmq,
    foreign,
    hidden,
)
from ropewalk.federation.readers.rabbitmq.scripts import is_script
from ropewalk.federation.readers.recognise import Family, family_of_map, family_of_text, is_bare
from ropewalk.federation.readers.view import tell_repeated
from ropewalk.federation.yaml_text import Parsed, parse
from ropewalk.findings import Where

MAX_MB = 64
MAX_FILES = 20_000
NAMED = 20
"""So many files that are passed over are named, others only counted."""
_SUFFIXES = (".conf", ".config", ".json", ".yaml", ".yml", ".cfg", ".txt", "", *SCRIPTS)
_SURE = ("rabbit_version", "rabbitmq_version", "asyncapi", '"exchanges"', '"vhosts"')
"""A broken document with one of these was meant to be read."""
_RABBITMQ = re.compile(
    r'"(?:src-uri|dest-uri|apply-to|destination_type|federation-upstream(?:-set)?)"\s*:'
)
"""What entries of definitions have, if the document has no section that is theirs alone."""
_ERLANG = re.compile(r"(?:advanced|rabbitmq)(?:\..*)?\.config\Z", re.IGNORECASE)
"""Names of files that RabbitMQ takes for Erlang terms."""
_BARE: Mapping[str, Family] = {"mosquitto.conf": "mosquitto", "rabbitmq.conf": "rabbitmq-conf"}
"""Files that may set nothing, installed as they come: their broker starts all the same."""
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_TEMPLATE = ("{%", "{{", "{#")
"""What a template may start with, and JSON does not."""


@dataclass(frozen=True, slots=True)
class Read:
    """A file of a known family; `parsed` where it is JSON or YAML."""

    file: str
    path: Path
    text: str
    family: Family
    parsed: Parsed | None = field(default=None, repr=False)
    asked: bool = False
    """Whether it was named itself, not the folder it is in."""
    more: tuple["Read", ...] = ()
    """Files of a folder that are of the same broker."""

    @property
    def document(self) -> Parsed:
        """Its values; nothing where it is no document."""
        return self.parsed or Parsed(value={}, lines={})


def sources(
    paths: Iterable[Path],
    drafts: Drafts,
    *,
    family: Family | None = None,
    without: Path | None = None,
    passed_over: list[Path] | None = None,
) -> Iterator[Read]:
    """Every file that is somebody's configuration; why others are not is noted.

    `without` is a file that is something else, as the caller knows. `passed_over` gets the files
    of folders that are nobody's.
    """
    for path in paths:
        if not path.is_dir():
            one = _read(path, drafts, family, asked=True)
            if one is not None:
                yield one
            continue
        for file in _files(path, drafts):
            if without is not None and file.samefile(without):
                continue
            told = len(drafts.findings)
            one = _read(file, drafts, family, asked=False)
            if one is not None:
                yield one
            elif (what := hidden(file)) is not None:
                drafts.warn(Where(str(file)), "C013", f"passed over: {what}")
            elif passed_over is not None and told == len(drafts.findings):
                passed_over.append(file)


def tell_passed_over(files: Iterable[Path], drafts: Drafts) -> None:
    """Say which files of a folder were not read; others may have included some of them."""
    included = {Path(one).resolve() for one in drafts.included}
    folders: dict[Path, list[str]] = {}
    for file in files:
        if file.resolve() not in included:
            folders.setdefault(file.parent, []).append(file.name)
    for folder, names in folders.items():
        some = ", ".join(names[:NAMED]) + (" ..." if len(names) > NAMED else "")
        count = f"{len(names)} file{'s' if len(names) > 1 else ''}"
        looks = "look" if len(names) > 1 else "looks"
        message = f"passed over: {count} that {looks} like no broker's configuration: {some}"
        drafts.note(Where(str(folder)), "C013", message)


def _files(folder: Path, drafts: Drafts) -> list[Path]:
    """The files of a folder and of those in it; of a folder that cannot be read, why."""

    def closed(error: OSError) -> None:
        reason = (error.strerror or str(error)).lower()
        drafts.fault(Where(str(error.filename)), "C001", f"cannot be read: {reason}")

    found = []
    for place, folders, names in os.walk(folder, onerror=closed):
        folders[:] = [one for one in folders if not one.startswith(".")]
        paths = (Path(place, one) for one in names if not one.startswith("."))
        found += [path for path in paths if path.is_file()]
    found.sort()
    if len(found) > MAX_FILES:
        what = f"it holds {len(found):,} files, and {MAX_FILES:,} at most are looked at"
        drafts.fault(Where(str(folder)), "C001", f"{what}: name the folders of the brokers")
    return found[:MAX_FILES]


def _read(path: Path, drafts: Drafts, family: Family | None, *, asked: bool) -> Read | None:
    """A file, or None; of one that was asked for by name, why it cannot be read is a fault."""
    if not asked and path.suffix.lower() not in _SUFFIXES:
        return None
    file = str(path)
    try:
        with path.open("rb") as opened:
            content = opened.read(MAX_MB * 1_000_000 + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        drafts.fault(Where(file), "C001", f"cannot be read: {reason.lower()}")
        return None
    text = _decoded(content, file, drafts, asked=asked)
    if text is None:
        return None
    if MANIFEST.match(text):
        if asked:
            drafts.fault(Where(file), "C001", for_rabbitmq(text) or IN_MANIFEST)
        return None
    if family in (None, "rabbitmq") and _script(path, text, sure=family is not None):
        return Read(file, path, text, "rabbitmq-script", asked=asked)
    if family is None and (other := foreign(path, text)) is not None:
        if asked:
            drafts.fault(Where(file), "C001", other)
        return None
    parsed = _document(path, text) if family in (None, "rabbitmq", "asyncapi") else None
    if parsed is None and family in ("rabbitmq", "asyncapi"):
        parsed = parse_json(text)
    known = family or _family(path, text, parsed)
    sure = known is not None or _sure(text)
    if parsed is not None and parsed.faults and (asked or sure) and known != "nats":
        for fault in parsed.faults:
            drafts.fault(Where(file, fault.line), "C004", fault.message)
        return None
    if parsed is not None and known in ("rabbitmq", "asyncapi"):
        tell_repeated(parsed, file, drafts)
    if known is None and asked:
        what = "it is no configuration of Mosquitto, NATS or RabbitMQ, and no AsyncAPI document: "
        what += "if it is, say whose with --as"
        if is_bare(text):
            what = "it sets nothing: it is empty, or all of it is comments: write what it is to set"
        drafts.fault(Where(file), "C001", what)
    return Read(file, path, text, known, parsed, asked) if known is not None else None


def _script(path: Path, text: str, *, sure: bool) -> bool:
    """Whether it is a script that sets up RabbitMQ; prose and other files may name its commands."""
    shell = path.suffix.lower() in SCRIPTS or (text.startswith("#!") and "sh" in text[:40])
    shell = shell or (sure and text.lstrip()[:1] not in ("{", "["))
    return shell and is_script(text)


def _decoded(content: bytes, file: str, drafts: Drafts, *, asked: bool) -> str | None:
    wrong = None
    if len(content) > MAX_MB * 1_000_000:
        wrong = f"more than {MAX_MB} MB: read the part that describes exchanges and bridges"
    elif content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        wrong = "it is UTF-16: save the file as UTF-8 text"
    elif b"\0" in content:
        wrong = "it is a binary file: give a text file"
    if wrong is not None:
        if asked:
            drafts.fault(Where(file), "C001", wrong)
        return None
    # Old files have comments in Latin-1: these are no reason to refuse all of it.
    return content.decode("utf-8-sig", errors="replace")


def _document(path: Path, text: str) -> Parsed | None:
    """A JSON or YAML document, if it looks like one."""
    start = text.lstrip()[:2]
    if path.suffix.lower() in (".yaml", ".yml"):
        return parse(text, with_lines=True)
    if path.suffix.lower() == ".json" or (
        start[:1] == "{" and '"' in text and start not in _TEMPLATE
    ):
        return parse_json(text)
    if text.lstrip().startswith("asyncapi:"):
        return parse(text, with_lines=True)
    return None


def _family_of_words(path: Path, text: str) -> Family | None:
    """Whose a file is that is no document; its name counts where what is in it does not tell."""
    found = family_of_text(text)
    if _ERLANG.match(path.name):
        return found if found == "rabbitmq-conf" else "erlang"
    return found or (_BARE.get(path.name.lower()) if is_bare(text) else None)


def _family(path: Path, text: str, parsed: Parsed | None) -> Family | None:
    if parsed is None:
        return _family_of_words(path, text)
    if parsed.broken:
        # NATS takes JSON with comments and without quotes.
        return "nats" if family_of_text(text) == "nats" and not _sure(text) else None
    found = family_of_map(parsed.value)
    # Values of charts and settings of other programs have the same words, in nested YAML.
    nested = found == "nats" and path.suffix.lower() in (".yaml", ".yml")
    return None if nested and not is_written_for_nats(text) else found


def _sure(text: str) -> bool:
    return any(word in text for word in _SURE) or _RABBITMQ.search(text) is not None


def together(read: Sequence[Read], drafts: Drafts) -> list[Read]:
    """Files of one conf.d, which no file read here includes, as one broker's."""
    folders: dict[Path, list[Read]] = {}
    for one in read:
        if one.family == "mosquitto" and one.path.parent.name == "conf.d":
            folders.setdefault(one.path.parent, []).append(one)
    whole: dict[str, Read] = {}
    for parts in folders.values():
        whole.update({one.file: replace(parts[0], more=tuple(parts[1:])) for one in parts[:1]})
        if parts[1:]:
            what = f"read as one broker: {len(parts)} files that no file here includes"
            where = Where(str(parts[0].path.parent))
            drafts.note(where, "C013", f"{what}: read the file with include_dir, too")
    later = {each.file for one in whole.values() for each in one.more}
    return [whole.get(one.file, one) for one in read if one.file not in later]


def beside(main: Path, written: str, *, anywhere: bool = False) -> Path | None:
    """The file or folder that a path in a file means, looked for beside that file.

    With `anywhere` a relative path is not seen from that file: from the folder of the process.
    """
    if not written or "\0" in written:
        return None
    wanted = PurePosixPath(written.replace("\\", "/"))
    elsewhere = wanted.is_absolute() or _DRIVE.match(written) is not None
    names: Sequence[PurePosixPath] = (
        [PurePosixPath(*wanted.parts[i:]) for i in range(elsewhere, len(wanted.parts))]
        if elsewhere or anywhere
        else [wanted]
    )
    for name in names:
        found = main.parent / name
        try:
            if found.exists():
                return found
        except OSError:
            return None
    return None


def text_of(path: Path) -> str | None:
    """The text of an included file, or None."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_MB * 1_000_000:
            return None
        return path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError:
        return None


def is_marked(path: Path) -> bool:
    """Whether a file begins with a byte order mark, which few broker's own readers take."""
    try:
        with path.open("rb") as opened:
            return path.is_file() and opened.read(3) == codecs.BOM_UTF8
    except OSError:
        return False


def parsed_file(path: Path) -> Parsed | None:
    """A JSON or YAML file that another one refers to, or None."""
    text = text_of(path)
    return _document(path, text) if text is not None else None
