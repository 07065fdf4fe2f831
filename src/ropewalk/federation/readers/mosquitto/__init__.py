"""mosquitto.conf to drafts, as Mosquitto 1.4 to 2.1 reads it.

In reading order: `lines` (text to settings), `known` (settings with no part in forwarding),
`starting` (lines that keep Mosquitto from starting), `conf` (listeners, connections, included
files), `connections` (addresses, flags), `topic_lines` (one line), `topics` (what the lines of a
connection carry together).
"""

import re
from collections.abc import Iterable

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.mosquitto.conf import Conf, Include
from ropewalk.federation.readers.mosquitto.connections import draft_connection
from ropewalk.federation.readers.mosquitto.known import REPEATS

_LISTENS = re.compile(r"^ *(?:listener|port) ", re.MULTILINE)
_ADDRESS = re.compile(r"^ *address(?:es)? +(.+)$", re.MULTILINE)


def leads_to(text: str, name: str) -> bool:
    r"""Whether a part of a configuration is called as the broker that it connects to.

    >>> leads_to("connection hub\naddress hub.example:1883\ntopic a\n", "hub")
    True
    """
    words = [word for found in _ADDRESS.finditer(text) for word in found[1].split()]
    hosts = {word.partition(":")[0].partition(".")[0].lower() for word in words}
    return name.lower() in hosts and not listens(text)


def listens(text: str) -> bool:
    """Whether a configuration says where it listens, as the main one of a broker does."""
    return _LISTENS.search(text) is not None


def read_mosquitto(
    text: str,
    file: str,
    host: str,
    drafts: Drafts,
    *,
    include: Include,
    more: Iterable[tuple[str, str]] = (),
) -> None:
    """Draft the broker of a mosquitto.conf and its bridges; never raises.

    `host` is what the broker is to be called. `include` gives the files of a folder by name, in
    Mosquitto's order, each with its text; None if the folder is not there. `more` are files, each
    with its text, of the same broker, whose main one is not known.
    """
    conf = Conf(host, file, drafts, include)
    for path, content in ((file, text), *more):
        conf.read(content, path)
    drafts.brokers.append(conf.broker())
    before = len(drafts.bridges)
    for connection in conf.connections:
        draft_connection(connection, host, drafts, repeats=conf.repeats)
    said = conf.duplicates
    used = conf.repeats is not None and len(drafts.bridges) > before
    if said is not None and not used:
        drafts.aside(said.where, said.name, REPEATS)
