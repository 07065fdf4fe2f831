"""Clusters of RabbitMQ as exports describe them, with what scripts change there."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.growing import Change, grown, stays, undone
from ropewalk.federation.readers.rabbitmq import read_rabbitmq, read_script
from ropewalk.federation.readers.rabbitmq.several import put_together
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
        partial = bool(self.changes)
        return read_rabbitmq(
            self.document, self.file, host, drafts, partial=partial, aliases=self.aliases
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
            known = [server, root, *(a for a in joined if _root(a, joined) == root)]
            names = (name for each in known if each for name in names_of(each))
            cluster.aliases.update(dict.fromkeys([*names, *script.names.get(server, ())]))
    for cluster in clusters.values():
        _tell_undone(cluster.changes, drafts)
    return clusters


def _loaded(exports: Sequence[Read], drafts: Drafts) -> Cluster:
    """A cluster as its export says, or all of the files that it loads."""
    first = exports[0]
    if len(exports) == 1:
        return Cluster(first.file, first.document, first.text)
    return Cluster(first.file, put_together([(one.document, one.file) for one in exports], drafts))


def _tell_undone(changes: Iterable[Change], drafts: Drafts) -> None:
    """A script that sets up and tears down leaves nothing to verify: that is to be seen."""
    for put, gone in undone(changes):
        kind = str(put.value.get("component", put.section))
        what = f"{label(kind)} {label(str(put.value.get('name', '')))}".rstrip()
        where = Where(gone.file, gone.line)
        why = f"{where} takes it away again: leave that out to verify it"
        if stays(gone, put):
            when = "if a condition holds" if gone.perhaps else "in another script"
            why = f"{where} takes it away again {when}: it is taken to be there"
        drafts.aside(Where(put.file, put.line), what, why)


def _root(server: str, joined: Mapping[str, str]) -> str:
    """The node whose cluster a node has joined in the end."""
    seen = {server}
    while server in joined and joined[server] not in seen:
        server = joined[server]
        seen.add(server)
    return server
