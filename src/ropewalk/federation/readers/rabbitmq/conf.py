"""rabbitmq.conf: one setting to a line. Where it listens and its name are modelled, no more."""

import re
from dataclasses import dataclass

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.rabbitmq.contents import DEFAULT, Cluster
from ropewalk.federation.showing import label
from ropewalk.findings import Where

_LINE = re.compile(r"([A-Za-z0-9_.$/\\@-]+)\s*=\s*(.*)")
_LISTENER = re.compile(r"listeners\.(tcp|ssl)\.(\w[\w-]*)\Z")
_PLACE = re.compile(r"(?:(\[[0-9A-Fa-f:.]+\]|[\w.-]+|[0-9A-Fa-f:]+):)?(\d{1,5})\Z")
_USUAL = (("", 5672),)


@dataclass(frozen=True, slots=True)
class Setting:
    """A line of the file."""

    key: str
    value: str
    where: Where


def read_rabbitmq_conf(text: str, file: str, host: str, drafts: Drafts) -> None:
    """Read a rabbitmq.conf: a broker, where it listens, and its cluster's name."""
    cluster = Cluster(file, host, drafts)
    rest: dict[str, list[Setting]] = {}
    listens: list[tuple[str, int]] = []
    plain = True
    for one in _settings(text, file, drafts):
        if one.key == "cluster_name":
            cluster.called(one.value)
        elif _LISTENER.match(one.key):
            listens += _listener(one, drafts)
        elif one.key in ("listeners.tcp", "listeners.ssl") and one.value == "none":
            plain = plain and one.key != "listeners.tcp"
        else:
            rest.setdefault(one.key.split(".")[0], []).append(one)
    for family, found in rest.items():
        keys = ", ".join(dict.fromkeys(label(one.key) for one in found[:6]))
        drafts.aside(found[0].where, f"{len(found)} of {label(family)} ({keys})", _why(family))
    cluster.listens = tuple(dict.fromkeys(listens)) or (_USUAL if plain else ())
    cluster.space(DEFAULT, Where(file, 1))
    cluster.draft_brokers()


def _why(family: str) -> str:
    if family == "cluster_formation":
        return "nodes of one cluster are one broker here"
    if family in ("load_definitions", "management", "definitions"):
        return "read the definitions themselves as well"
    return "it does not change where messages go"


def _settings(text: str, file: str, drafts: Drafts) -> list[Setting]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        bare, where = line.strip().lstrip("\ufeff"), Where(file, number)
        if not bare or bare.startswith("#"):
            continue
        match = _LINE.match(bare)
        if match:
            value = match[2].split(" #")[0].strip().strip("'\"")
            found.append(Setting(match[1], value, where))
        else:
            drafts.fault(where, "C004", "no setting: write KEY = VALUE")
    return found


def _listener(one: Setting, drafts: Drafts) -> list[tuple[str, int]]:
    """A host and port, or a port alone; a few hosts stand for all of the machine's."""
    match = _PLACE.match(one.value)
    if not match or not 0 < int(match[2]) < 65536:
        drafts.fault(one.where, "C005", f"{label(one.key)} is no port: write 5672 or HOST:5672")
        return []
    host = (match[1] or "").strip("[]")
    return [("" if host in ("0.0.0.0", "::") else host, int(match[2]))]  # noqa: S104
