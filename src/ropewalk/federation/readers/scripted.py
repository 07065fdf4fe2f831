"""Clusters of RabbitMQ as exports describe them, with what scripts change there."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.growing import Change, grown, replaced, stays
from ropewalk.federation.readers.rabbitmq import read_rabbitmq, read_script
from ropewalk.federation.readers.rabbitmq.several import put_together
from ropewalk.federation.readers.rabbitmq.siblings import tell_siblings
from ropewalk.federation.readers.rabbitmq.targets import names_of
from ropewalk.federation.readers.sources import Read
from ropewalk.federation.readers.whose import as_name
from ropewalk.federation.showing import label
from ropewalk.federation.yaml_text import Parsed
from ropewalk.findings import Where


@dataclass(slots=True)
class Cluster:
    """A server's definitions as they are gathered: from an export, from scripts, or from both."""

    file: str
    base: Parsed | None = None
    """What its exports say."""
    original: str | None = None
    """The text of its export, if that is one file."""
    changes: list[Change] = field(default_factory=list)
    aliases: dict[str, None] = field(default_factory=dict)
    unread: bool = False
    """Whether its scripts set more than is in them."""
    guessed: bool = False
    """Whether a variable names it, and it may be several."""

    @property
    def document(self) -> Parsed:
        """Its definitions in the end."""
        if self.changes:
            return grown(self.changes, self.base)
        return self.base or Parsed(value={}, lines={})

    @property
    def text(self) -> str:
        """The same as a file that the server can load."""
        if self.original is not None and not self.changes:
            return self.original
        return json.dumps(self.document.value, indent=2, ensure_ascii=False) + "\n"

    def read(self, host: str, drafts: Drafts) -> tuple[tuple[str, str], ...]:
        """Draft what it describes; gives the exchanges that stand for those of its clients."""
        return read_rabbitmq(
            self.document,
            self.file,
            host,
            drafts,
            partial=bool(self.changes),
            unread=self.unread,
            aliases=self.aliases,
        )


def gathered(
    exports: Mapping[str, Sequence[Read]],
    scripts: Iterable[Read],
    own: Callable[[Read], str],
    drafts: Drafts,
) -> dict[str, Cluster]:
    """All clusters by their server's name; `own` is what a script's own server is called."""
    clusters = {host: _loaded(files, drafts) for host, files in exports.items()}
    found = [(one, read_script(one.text, one.file, drafts)) for one in scripts]
    joined = {a: b for _, script in found for a, b in script.joined.items()}
    for one, script in found:
        if not script.changes and one.asked and not drafts.faults:
            what = "it changes nothing of federation or shovels: name the script that does"
            drafts.fault(Where(one.file), "C008", what)
        for server, changes in script.changes.items():
            root = _root(server, joined)
            name = as_name(root) if root else own(one)
            cluster = clusters.setdefault(name, Cluster(one.file))
            cluster.changes += changes
            cluster.unread |= script.unread
            cluster.guessed |= "$" in server
            known = [server, root, *(a for a in joined if _root(a, joined) == root)]
            names = (name for each in known if each for name in names_of(each))
            cluster.aliases.update(dict.fromkeys([*names, *script.names.get(server, ())]))
    for cluster in clusters.values():
        _tell_replaced(cluster, drafts)
    exported = (one for one in clusters.values() if one.base is not None)
    tell_siblings({one.file: one.document for one in exported}, drafts)
    return clusters


def _loaded(exports: Sequence[Read], drafts: Drafts) -> Cluster:
    """A cluster as its export says, or all of the files that it loads."""
    first = exports[0]
    if len(exports) == 1:
        return Cluster(first.file, first.document, first.text)
    return Cluster(first.file, put_together([(one.document, one.file) for one in exports], drafts))


def _tell_replaced(cluster: Cluster, drafts: Drafts) -> None:
    """A script that sets up and tears down leaves nothing to verify: that is to be seen."""
    for put, later in replaced(cluster.changes):
        kind = str(put.value.get("component", put.section))
        what = f"{label(kind)} {label(str(put.value.get('name', '')))}".rstrip()
        here, there = Where(put.file, put.line), Where(later.file, later.line)
        if later.gone:
            drafts.aside(here, what, f"{there} takes it away again{_when_gone(later, put)}")
        elif when := _when_anew(later, put, guessed=cluster.guessed):
            drafts.aside(here, what, f"{there} says it otherwise {when}: that is taken")
        else:
            what = f"{what} is said otherwise at {there} for the same server, and only that holds"
            drafts.warn(here, "C020", f"{what}: give it another name, or name its server")


def _when_gone(later: Change, put: Change) -> str:
    if not stays(later, put):
        return ": leave that out to verify it"
    when = "if a condition holds" if later.perhaps else "in another script"
    return f" {when}: it is taken to be there"


def _when_anew(later: Change, put: Change, *, guessed: bool) -> str:
    """On what it depends that a later change holds; nothing if it does."""
    if put.file != later.file:
        return "in another script"
    if guessed:
        return "for a server that a variable names as well"
    return "if a condition holds" if put.perhaps or later.perhaps else ""


def _root(server: str, joined: Mapping[str, str]) -> str:
    """The node whose cluster a node has joined in the end."""
    seen = {server}
    while server in joined and joined[server] not in seen:
        server = joined[server]
        seen.add(server)
    return server
