"""mosquitto.conf to drafts, as Mosquitto 1.4 to 2.1 reads it.

In reading order: `lines` (text to settings), `known` (settings with no part in forwarding),
`conf` (listeners, connections, included files), `connections` (addresses, flags), `topic_lines`
(one line), `topics` (what the lines of a connection carry together).
"""

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.mosquitto.conf import Conf, Include
from ropewalk.federation.readers.mosquitto.connections import draft_connection


def read_mosquitto(text: str, file: str, host: str, drafts: Drafts, *, include: Include) -> None:
    """Draft the broker of a mosquitto.conf and its bridges; never raises.

    `host` is what the broker is to be called. `include` gives the files of a folder by name, in
    Mosquitto's order, each with its text; None if the folder is not there.
    """
    conf = Conf(host, file, drafts, include)
    conf.read(text, file)
    drafts.brokers.append(conf.broker())
    for connection in conf.connections:
        draft_connection(connection, host, drafts)
