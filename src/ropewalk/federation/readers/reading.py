"""Brokers' own configuration files, read into one federation."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote

from ropewalk.errors import ConfigurationError
from ropewalk.federation.facts import Federation
from ropewalk.federation.readers.asyncapi import read_asyncapi
from ropewalk.federation.readers.clashes import lead_home
from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.joining import join
from ropewalk.federation.readers.mapping import Mapping as Said
from ropewalk.federation.readers.mapping import read_mapping
from ropewalk.federation.readers.mosquitto import leads_to, listens, read_mosquitto
from ropewalk.federation.readers.nats import includes_of, read_nats
from ropewalk.federation.readers.others import PROSE, foreign
from ropewalk.federation.readers.rabbitmq import read_erlang, read_rabbitmq_conf
from ropewalk.federation.readers.rabbitmq.several import FOLDER
from ropewalk.federation.readers.recognise import Family, family_of_text
from ropewalk.federation.readers.scripted import gathered
from ropewalk.federation.readers.sources import (
    Read,
    beside,
    is_marked,
    parsed_file,
    sources,
    tell_passed_over,
    text_of,
    together,
)
from ropewalk.federation.readers.whose import as_name, home
from ropewalk.federation.saving import LARGE_FILES
from ropewalk.federation.sense import check
from ropewalk.federation.source import Source
from ropewalk.federation.yaml_text import parse
from ropewalk.findings import Finding, Where

GENERIC = re.compile(
    r"(mosquitto|nats|nats-server|server|rabbitmq|rabbit|definitions|rabbitmq[-_]definitions|config"
    r"|conf|default|bridge|bridges|broker|main|settings|application|custom|local|node|export"
    r"|advanced)\Z",
    re.IGNORECASE,
)
"""Names of files that say nothing about whose they are: the folder's name is taken."""
_ASYNCAPI = re.compile(rb"^[\"']?asyncapi[\"']?\s*:", re.MULTILINE)
_EXPORT = re.compile(
    rb'\A\s*\{.*?"(?:rabbit(?:mq)?_version|vhosts|exchanges|bindings)"\s*:', re.DOTALL
)
"""RabbitMQ's definitions are JSON, whatever their file is called."""
_FEDERATION = re.compile(rb"^\s*[\"'{]*\s*[\"']?federation[\"']?\s*:", re.MULTILINE)
_MANIFEST = re.compile(rb"^apiVersion:.*?^kind:", re.MULTILINE | re.DOTALL)
TASK = re.compile(
    r"(setup|set|init|create|add|config|configure|install|run|start|up|deploy|provision|enable|declare"
    r"|bootstrap|entrypoint|post|pre|and|docker|script|federation|federate|upstreams?|polic(y|ies)"
    r"|shovels?|exchanges?|queues?|cluster|clusters|vhosts?|rabbit|rabbitmq|mq|topology|\d*)\Z",
    re.IGNORECASE,
)
"""Words of scripts' names that say what they do, and not for which server."""
_KEPT_IN = re.compile(
    r"(configs?|configuration|conf|conf\.d|cfg|etc|settings|definitions\.d)\Z", re.IGNORECASE
)
"""Folders that any server keeps its configuration in."""
BESIDE = ("rabbitmq-conf", "erlang")
"""Files of a server that stand beside its definitions."""
LATER = (*BESIDE, "rabbitmq-script")
_REFS = re.compile(r"[\"']?\$ref[\"']?\s*:\s*[\"']?([^\"'#\s{}]+)")
_INCLUDES = re.compile(
    r"^\s*include(?:_dir)?[\s:=]+['\"]?([^'\"\n;]+?)['\"]?\s*;?\s*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Native:
    """A server's configuration as it was read, to be started elsewhere or to be written anew."""

    server: str
    family: Family
    file: str
    text: str
    parts: Mapping[str, str] = field(default_factory=dict)
    """Files that it includes, by the path as it is written."""
    assumed: tuple[tuple[str, str], ...] = ()
    """RabbitMQ: virtual host and name of exchanges that stand for those which clients declare."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A federation that was read from brokers' own files, and what there is to say about it."""

    federation: Federation
    findings: tuple[Finding, ...]
    meant: Mapping[tuple[str, str, int], str]
    """The server that an address means, by file, host and port as they are written there."""
    natives: tuple[Native, ...]

    @property
    def telling(self) -> tuple[Finding, ...]:
        """What the files say otherwise than people think."""
        found = self.findings
        return tuple(one for one in found if one.severity == "warning" or one.code == "C011")

    @property
    def not_modelled(self) -> int:
        """How many settings of the files are left out."""
        return sum(one.code == "C010" for one in self.findings)


def read_native(
    paths: Iterable[str | Path],
    *,
    mapping: str | Path | None = None,
    name: str | None = None,
    family: Family | None = None,
    known: Mapping[tuple[str, int | None], str] = MappingProxyType({}),
) -> Reading:
    """Read configuration files, and folders of them, into one federation.

    `mapping` is a file that says which broker an address means; `known` says it by host and port.
    Raises ConfigurationError with every fault; what is not modelled is in the findings.
    """
    drafts = Drafts()
    files = [Path(one) for one in paths]
    said = _said(Path(mapping), drafts) if mapping is not None else None
    if known:
        said = said or Said()
        said = replace(said, brokers={**known, **said.brokers})
    beside_them = Path(mapping) if mapping is not None and Path(mapping).is_file() else None
    passed_over: list[Path] = []
    read = list(sources(files, drafts, family=family, without=beside_them, passed_over=passed_over))
    natives = _drafted(read, drafts, said)
    tell_passed_over(passed_over, drafts)
    if not (drafts.faults or drafts.brokers or drafts.topics or drafts.later):
        drafts.fault(Where(str(files[0]) if files else ""), "C008", _nothing(natives))
    if drafts.faults:
        raise ConfigurationError(_sorted(drafts.findings))
    lead_home(drafts, said)
    joined = join(as_name(name or _name(files)), drafts, said)
    for fault in check(joined.federation):
        drafts.fault(Where(str(files[0])), fault.code, fault.in_words())
    if drafts.faults:
        raise ConfigurationError(_sorted(drafts.findings))
    if said is not None:
        brokers = joined.federation.brokers
        servers = {one.server for one in brokers.values() if one.server}
        named = [one.file for one in read]
        for where, what in said.idle(joined.asked, named, {*brokers, *servers}):
            drafts.warn(where, "C005", f"{what}: correct it, or remove the entry")
    federation = joined.federation.written_in(Source(", ".join(map(str, files))))
    return Reading(federation, _sorted(drafts.findings), joined.meant, tuple(natives))


def _nothing(natives: Sequence[Native]) -> str:
    if natives and all(one.family == "asyncapi" for one in natives):
        what = "no channel of an AsyncAPI document is sent to or received from at a known broker"
        return f"{what}: name its MQTT, AMQP or NATS servers, and who does what on its channels"
    what = "there is no broker's configuration here"
    return f"{what}: name mosquitto.conf, definitions.json, nats.conf"


def is_native(path: Path) -> bool:
    """Whether a path is to be read as brokers' own configuration rather than as a federation.

    A federation is in a YAML file, in JSON with the key `federation`, or in a folder of tables.
    """
    if path.is_dir():
        return not any((path / one).is_file() for one in LARGE_FILES[1:])
    if path.suffix.lower() in (".yaml", ".yml"):
        beginning = _beginning(path)
        if any(one.search(beginning) for one in (_ASYNCAPI, _EXPORT, _MANIFEST)):
            return True
        text = beginning.decode(errors="replace")
        flat = _FEDERATION.search(beginning) is None and family_of_text(text) == "nats"
        return foreign(path, text) is not None or (flat and _holds_some(path))
    if path.suffix.lower() == ".json":
        return all(one.family != "federation" for one in sources([path], Drafts()))
    # Templates and samples, too: mosquitto.conf.j2, nats.conf.example.
    names = {one.lower() for one in path.suffixes}
    if not names.isdisjoint((".conf", ".config", ".cfg", ".json", ".sh", ".bash", *PROSE)):
        return True
    if not path.is_file() or path.suffix.lower() == ".parquet":
        return False
    if path.suffix or path.name.lower().endswith("file"):  # Makefile, Dockerfile
        return _FEDERATION.search(_beginning(path)) is None
    text = _beginning(path).decode(errors="replace")
    return foreign(path, text) is not None or _holds_some(path)


def _holds_some(path: Path) -> bool:
    """Whether something of it is a broker's own, or was meant to be and is broken."""
    return any(one.family != "federation" for one in sources([path], Drafts()))


def _beginning(path: Path) -> bytes:
    """A look that costs nothing: large federation files are not read twice."""
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def _said(path: Path, drafts: Drafts) -> Said | None:
    text = text_of(path)
    if text is None:
        drafts.fault(Where(str(path)), "C001", "cannot be read: give a YAML file for --map")
        return None
    parsed = parse(text, with_lines=True)
    for fault in parsed.faults:
        drafts.fault(Where(str(path), fault.line), "C004", fault.message)
    return read_mapping(parsed, str(path), drafts) if not parsed.faults else None


def _drafted(read: Sequence[Read], drafts: Drafts, said: Said | None) -> list[Native]:
    included = {path for one in read for path in _included(one)}
    whole = ("asyncapi",)  # such a document may be a part of another one, and is one itself
    read = [one for one in read if one.family in whole or one.path.resolve() not in included]
    read = together(read, drafts)
    known: dict[str, str] = {}
    twins = _twins([one for one in read if said is None or said.name_of(one.file) is None])

    def host_of(one: Read) -> str:
        return _host(one, said, known, twins)

    for one in read:
        if one.family == "mosquitto" and _is_main(one):
            host_of(one)  # before its parts, which stand beside it
    natives = []
    exports: dict[str, list[Read]] = {}
    for one in read:
        if one.family == "federation":
            what = "passed over: it is a federation file"
            drafts.note(Where(one.file), "C013", f"{what}: read it alone to convert it")
        elif one.family == "rabbitmq":
            exports.setdefault(host_of(one), []).append(one)
        elif one.family not in LATER:
            host, parts = host_of(one), {each.path.name: each.text for each in one.more}
            _READERS[one.family](one, host, drafts, parts)
            text = "\n".join((one.text, *(each.text for each in one.more)))
            natives.append(Native(host, one.family, one.file, text, parts))
    scripts = [one for one in read if one.family == "rabbitmq-script"]
    clusters = gathered(exports, scripts, host_of, drafts)
    for host, cluster in clusters.items():
        assumed = cluster.read(host, drafts)
        text = cluster.text
        natives.append(Native(host, "rabbitmq", cluster.file, text, assumed=assumed))
    for one in sorted(read, key=lambda each: each.family == "erlang"):
        if one.family in BESIDE:
            host = host_of(one)
            near = clusters.get(host)
            definitions = (near.document, near.file) if near is not None else None
            read_beside = read_erlang if one.family == "erlang" else read_rabbitmq_conf
            read_beside(one.text, one.file, host, drafts, definitions)
    return natives


def _included(one: Read) -> Iterable[Path]:
    if one.family == "asyncapi":
        parts = (beside(one.path, unquote(match[1])) for match in _REFS.finditer(one.text))
        yield from (path.resolve() for path in parts if path is not None)
    if one.family not in ("mosquitto", "nats"):
        return
    nats = one.family == "nats"
    names = includes_of(one.text) if nats else [each[1] for each in _INCLUDES.finditer(one.text)]
    for name in names:
        found = beside(one.path, name.strip(), anywhere=not nats)
        if found is not None and found.is_dir():
            yield from (path.resolve() for path in found.glob("*.conf"))
        elif found is not None:
            yield found.resolve()


def _is_main(one: Read) -> bool:
    return one.path.name == "mosquitto.conf" or listens(one.text)


def _twins(read: Sequence[Read]) -> dict[str, str]:
    """Names with the folder above, of files whose folders have one name: eu_edge and us_edge."""
    wanted: dict[str, list[Read]] = {}
    for one in read:
        if one.family == "mosquitto" and _is_main(one) and _is_usual(one.path):
            wanted.setdefault(as_name(_folder(one.path).name).lower(), []).append(one)
    found: dict[str, str] = {}
    for twins in wanted.values():
        folders = {one.file: _folder(one.path) for one in twins}
        names = {file: f"{path.parent.name}_{path.name}" for file, path in folders.items()}
        if len(twins) > 1 and len(set(names.values())) == len(twins):
            found.update(names)
    return found


def _is_usual(path: Path) -> bool:
    """Whether a file is called as any broker's, or as a part of one's."""
    stem = path.name.partition(".")[0] or path.name
    return GENERIC.match(stem) is not None or path.parent.name == "conf.d"


def _host(one: Read, said: Said | None, known: dict[str, str], twins: Mapping[str, str]) -> str:
    """What a server is called: as the user says, as its file, or as that file's folder."""
    told = said.name_of(one.file) if said is not None else None
    if told is not None:
        return told
    stem = one.path.name.partition(".")[0] or one.path.name
    script = one.family == "rabbitmq-script" and all(map(TASK.match, re.split(r"[-_. ]", stem)))
    if one.family in BESIDE or script:
        # The server's settings, or what sets it up, beside its definitions.
        near = [name for name, file in known.items() if home(file) == home(one.file)]
        if len(near) == 1:
            return near[0]
    folder = _folder(one.path).name
    usual = script or _is_usual(one.path)
    names = [folder, f"{folder}_{stem}"] if usual else [stem, f"{folder}_{stem}"]
    owner = one.file
    if one.family == "rabbitmq" and one.path.parent.name == FOLDER:
        owner, names = str(one.path.parent), [folder, f"{folder}_definitions"]
    if one.family == "mosquitto":
        names = [name for name in names if not leads_to(one.text, name)] or names[1:]
        names = [*([twins[one.file]] if one.file in twins else []), *names]
    for name in chain(names, (f"{names[-1]}_{i}" for i in count(2))):
        made = as_name(name)
        if known.setdefault(made, owner) == owner:
            return made
    raise AssertionError("numbers do not end")


def _folder(path: Path) -> Path:
    """The folder that says whose a file is: of sites/hub/config/mosquitto.conf it is hub."""
    folders = path.resolve().parents
    return next((one for one in folders if one.name and not _KEPT_IN.match(one.name)), folders[0])


def _name(paths: Sequence[Path]) -> str:
    first = paths[0].resolve() if paths else Path("federation")
    return first.name if first.is_dir() else first.parent.name or "federation"


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    unique = {(str(one.where), one.code, one.message): one for one in findings}
    return tuple(sorted(unique.values(), key=lambda one: (one.where.file, one.where.line)))


# --- one function per family ------------------------------------------------------------------


def _mosquitto(one: Read, host: str, drafts: Drafts, parts: dict[str, str]) -> None:
    def include(written: str) -> Sequence[tuple[str, str]] | None:
        found = beside(one.path, written, anywhere=True)
        if found is None:
            return None
        files = [found] if found.is_file() else sorted(found.glob("*.conf"))
        texts = [(path, text) for path in files if (text := text_of(path)) is not None]
        parts[written] = "\n".join(text for _, text in texts)
        return [(str(path), _as_it_is(path, text)) for path, text in texts]

    text, *more = [(each.file, _as_it_is(each.path, each.text)) for each in (one, *one.more)]
    read_mosquitto(text[1], one.file, host, drafts, include=include, more=more)


def _as_it_is(path: Path, text: str) -> str:
    """A text with the mark before it that keeps Mosquitto and NATS from starting."""
    return "\ufeff" + text if is_marked(path) else text


def _nats(one: Read, host: str, drafts: Drafts, parts: dict[str, str]) -> None:
    def include(written: str) -> str | None:
        found = beside(one.path, written)
        text = text_of(found) if found is not None else None
        if text is not None:
            parts[written] = text
            drafts.included.add(str(found))
        return text

    read_nats(_as_it_is(one.path, one.text), one.file, host, drafts, include=include)


def _asyncapi(one: Read, host: str, drafts: Drafts, _: dict[str, str]) -> None:
    read_asyncapi(
        one.document,
        one.file,
        host,
        drafts,
        resolve_file=lambda written: (
            parsed_file(found) if (found := beside(one.path, written)) is not None else None
        ),
    )


_READERS: Mapping[Family, Callable[[Read, str, Drafts, dict[str, str]], None]] = {
    "mosquitto": _mosquitto,
    "nats": _nats,
    "asyncapi": _asyncapi,
}
