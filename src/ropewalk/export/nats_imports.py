"""Imports between the accounts of a NATS server, and the exports that they need."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ropewalk.federation.bridges import Bridge
from ropewalk.federation.readers.nats.subjects import Renaming, prefixed, renamed, within
from ropewalk.federation.spelling import patterns_to_nats

Tree = dict[str, Any]


def with_imports(
    accounts: Tree, imports: Sequence[Bridge], spaces: Mapping[str, str | None]
) -> list[str]:
    """Write imports into accounts; sentences on those that cannot be written.

    Entries of the original that say the same stay as they are, and those that are not modelled.
    """
    tells: list[str] = []
    wanted: dict[str, list[tuple[str, str, str, Renaming]]] = {}
    for one in imports:
        importer, exporter = spaces.get(one.from_), spaces.get(one.to)
        if not importer or not exporter:
            tells.append(f"{one.name} of {one.from_}: accounts of one server import by their names")
            continue
        kind = "service" if one.direction == "out" else "stream"
        for pattern in one.patterns:
            how = Renaming(local=one.prefixes.local, remote=one.prefixes.remote, pattern=pattern)
            wanted.setdefault(importer, []).append((exporter, kind, pattern, how))
        if one.direction == "both":
            tells.append(f"{one.name} of {one.from_}: an import has one direction: in is written")
        if one.except_:
            tells.append(f"{one.name} of {one.from_}: an import has no exceptions")
    for name, account in accounts.items():
        if isinstance(account, dict):
            _imports(name, account, wanted.get(name, []), accounts, tells)
    return tells


def _imports(
    name: str,
    account: Tree,
    wanted: Sequence[tuple[str, str, str, Renaming]],
    accounts: Tree,
    tells: list[str],
) -> None:
    key = next((key for key in account if key.lower() == "imports"), "imports")
    old = account.get(key)
    kept: list[Any] = []
    open_ones = list(wanted)
    for entry in old if isinstance(old, list) else []:
        meaning = _meaning(entry)
        match = next((w for w in open_ones if meaning == (w[0], w[1], w[3])), None)
        if match is not None:
            open_ones.remove(match)
        if match is not None or meaning is None:
            kept.append(entry)
    for exporter, kind, _, how in open_ones:
        for here, there in _pairs(how):
            kept.append(_entry(exporter, kind, here, there))
            _exported(accounts, exporter, name, kind, there, tells)
    if kept or old:
        account[key] = kept


def _meaning(entry: Any) -> tuple[str, str, Renaming] | None:
    """What an entry of the original is modelled as; None if it is not."""
    if not isinstance(entry, dict):
        return None
    flat = {str(key).lower(): one for key, one in entry.items()}
    kind = "stream" if "stream" in flat else "service"
    source = flat.get(kind)
    if not isinstance(source, dict):
        return None
    inner = {str(key).lower(): one for key, one in source.items()}
    account, subject = inner.get("account"), inner.get("subject")
    if not isinstance(account, str) or not isinstance(subject, str):
        return None
    before, to = flat.get("prefix"), flat.get("to")
    if isinstance(before, str) and before and kind == "stream":
        how = prefixed(subject, before)
    else:
        how = renamed(to if isinstance(to, str) and to else subject, subject)
    return None if how is None else (account, kind, how)


def _pairs(how: Renaming) -> Iterator[tuple[str, str]]:
    """Subjects here and there; with a rest of no level or more there are two pairs."""
    here, there = subjects_of(how.local + how.pattern), subjects_of(how.remote + how.pattern)
    if len(here) == len(there):
        yield from zip(here, there, strict=True)
    else:
        yield here[-1], there[-1]


def subjects_of(pattern: str) -> tuple[str, ...]:
    """Subjects of a pattern; one level or more is `>` alone."""
    if pattern == "+/#":
        return (">",)
    if pattern.endswith("/+/#"):
        return (f"{patterns_to_nats(pattern[:-4])[0]}.>",)
    return patterns_to_nats(pattern)


def _entry(exporter: str, kind: str, here: str, there: str) -> Tree:
    entry: Tree = {kind: {"account": exporter, "subject": there}}
    if here == there:
        return entry
    if kind == "stream" and here.endswith(f".{there}"):
        return {**entry, "prefix": here[: -len(there) - 1]}
    return {**entry, "to": _numbered(here)}


def _numbered(subject: str) -> str:
    """Single wildcards of a new name say which of the old one's they are."""
    count = 0
    levels = []
    for one in subject.split("."):
        count += one == "*"
        levels.append(f"${count}" if one == "*" else one)
    return ".".join(levels)


def _exported(
    accounts: Tree, exporter: str, importer: str, kind: str, subject: str, tells: list[str]
) -> None:
    """See to it that an account exports a subject to another."""
    account = accounts.setdefault(exporter, {})
    key = next((key for key in account if key.lower() == "exports"), "exports")
    exports = account.setdefault(key, [])
    for one in exports:
        offered = one.get(kind) if isinstance(one, dict) else None
        if not isinstance(offered, str) or not within(subject, offered):
            continue
        allowed = one.get("accounts")
        if not isinstance(allowed, list) or importer in allowed:
            return
    exports.append({kind: subject, "accounts": [importer]})
    tells.append(f"{exporter} exports {kind} {subject} to {importer} now")
