"""rabbitmq.conf: one setting to a line. Where it listens and its name are modelled, no more."""

import re
from dataclasses import dataclass

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.rabbitmq.contents import DEFAULT, Cluster
from ropewalk.federation.readers.rabbitmq.definitions import take_in
from ropewalk.federation.readers.rabbitmq.leftovers import why_not
from ropewalk.federation.showing import label
from ropewalk.federation.yaml_text import Parsed
from ropewalk.findings import Where

_LINE = re.compile(r"([A-Za-z0-9_.$/\\@-]+)\s*=\s*(.*)")
_LISTENER = re.compile(r"listeners\.(tcp|ssl)\.(\w[\w-]*)\Z")
_NODE = re.compile(r"cluster_formation\.classic_config\.nodes\.[\w-]+\Z")
_PLACE = re.compile(r"(?:(\[[0-9A-Fa-f:.]+\]|[\w.-]+|[0-9A-Fa-f:]+):)?(\d{1,5})\Z")
_USUAL = [("", 5672)]
_SHOVEL = re.compile(r"(shovel\.[^.]+\.)(?:sources?|destinations?|src|dest)[.-]|(shovels\.)")
_NO_SHOVEL = (
    "{key}: RabbitMQ has no such setting here, and does not start with it: write static shovels in "
    "advanced.config"
)
_VARIABLE = re.compile(r"\$[({]|\$\w|\{\{|<%")
_TEMPLATE = re.compile(r"\{[{%#]|<%|%\}|#\}")


@dataclass(frozen=True, slots=True)
class Setting:
    """A line of the file."""

    key: str
    value: str
    where: Where


def read_rabbitmq_conf(
    text: str, file: str, host: str, drafts: Drafts, beside: tuple[Parsed, str] | None = None
) -> None:
    """Read a rabbitmq.conf: a broker, where it listens, and its cluster's name.

    `beside` are the same server's definitions, and their file.
    """
    cluster = Cluster(file, host, drafts)
    if beside is not None:
        take_in(cluster, *beside)
    rest: list[Setting] = []
    listens: dict[str, list[tuple[str, int]]] = {"tcp": [], "ssl": []}
    plain = True
    for one in _settings(text, file, drafts):
        if one.key == "cluster_name":
            _named(one, cluster)
        elif listener := _LISTENER.match(one.key):
            listens[listener[1]] += _listener(one, drafts)
        elif one.key in ("listeners.tcp", "listeners.ssl") and one.value == "none":
            plain = plain and one.key != "listeners.tcp"
        elif beside is None or not one.key.endswith("load_definitions"):
            rest.append(one)
    if beside is not None:  # else the node has a folder of its own, as the others may have
        cluster.has_nodes(one.value for one in rest if _NODE.match(one.key))
    _tell_rest(_without_shovels(rest, drafts), drafts)
    # Listeners with TLS are there as well as the usual one, not instead of it.
    tcp = listens["tcp"] or (_USUAL if plain else [])
    cluster.listens = tuple(dict.fromkeys((*tcp, *listens["ssl"])))
    cluster.secure = bool(listens["ssl"] and not tcp)
    if not cluster.spaces:
        cluster.space(DEFAULT, Where(file, 1))
    cluster.draft_brokers()


def _tell_rest(rest: list[Setting], drafts: Drafts) -> None:
    """What is not modelled, in one note for each family of settings and reason."""
    groups: dict[tuple[str, str], list[Setting]] = {}
    for one in rest:
        family, *keys = one.key.split(".")
        groups.setdefault((family, why_not(family, *keys)), []).append(one)
    for (family, why), found in groups.items():
        keys = list(dict.fromkeys(label(one.key) for one in found))
        some = ", ".join(keys[:6]) + (", ..." if len(keys) > 6 else "")
        what = some if len(keys) == 1 else f"{len(found)} of {label(family)} ({some})"
        drafts.aside(found[0].where, what, why)


def _without_shovels(rest: list[Setting], drafts: Drafts) -> list[Setting]:
    """Shovels as many examples have them, and no release of RabbitMQ takes them, are told."""
    found: dict[str, Setting] = {}
    for one in rest:
        if match := _SHOVEL.match(one.key):
            found.setdefault(match[1] or match[2], one)
    for one in found.values():
        drafts.warn(one.where, "C020", _NO_SHOVEL.format(key=label(one.key)))
    return [one for one in rest if not one.key.startswith(tuple(found))]


def _named(one: Setting, cluster: Cluster) -> None:
    if _VARIABLE.search(one.value):
        what = "a variable stands for the cluster's name: fill it in, or leave the line out"
        cluster.drafts.fault(one.where, "C006", what)
    else:
        cluster.called(one.value)


def _settings(text: str, file: str, drafts: Drafts) -> list[Setting]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        bare, where = line.strip().lstrip("\ufeff"), Where(file, number)
        if not bare or bare.startswith("#"):
            continue
        match = _LINE.match(bare)
        if not match and _TEMPLATE.search(bare):
            drafts.fault(where, "C006", "this line is a template's: fill it in first")
        elif match:
            value = match[2].split(" #")[0].strip().strip("'\"")
            found.append(Setting(match[1], value, where))
        else:
            drafts.fault(where, "C004", "no setting: write KEY = VALUE")
    return found


def _listener(one: Setting, drafts: Drafts) -> list[tuple[str, int]]:
    """A host and port, or a port alone; a few hosts stand for all of the machine's."""
    if _VARIABLE.search(one.value):
        what = f"a variable stands for {label(one.key)}: fill it in, such as 5672"
        drafts.fault(one.where, "C006", what)
        return []
    match = _PLACE.match(one.value)
    if not match or not 0 < int(match[2]) < 65536:
        drafts.fault(one.where, "C005", f"{label(one.key)} is no port: write 5672 or HOST:5672")
        return []
    host = (match[1] or "").strip("[]")
    return [("" if host in ("0.0.0.0", "::") else host, int(match[2]))]  # noqa: S104
