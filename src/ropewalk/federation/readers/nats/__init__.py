"""NATS configurations: a server's accounts, routes, gateways, leaf nodes and imports.

In reading order: `lexer` and `syntax` (text to values with file and line), `settings` (all that
nats-server knows), `block` (a map, by any of its names), `addresses`, `subjects`, and what they
mean: `accounts`, `peers` (routes and gateways), `leaf`, and `conf`, which puts them together.
"""

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.nats.conf import read_server
from ropewalk.federation.readers.nats.settings import TOP
from ropewalk.federation.readers.nats.syntax import Include, NatsText, includes_of, parse_nats
from ropewalk.findings import Where

__all__ = ["includes_of", "parse_nats", "read_nats"]

_MARK = "\ufeff"


def read_nats(text: str, file: str, host: str, drafts: Drafts, *, include: Include) -> None:
    """Draft a server of one configuration file; `include` gives the text of others, or None."""
    if text.startswith(_MARK):
        what = "the file begins with a byte order mark, so the server does not start"
        drafts.warn(Where(file, 1), "C020", f"{what}: save it as UTF-8 without one")
    parsed = parse_nats(text.removeprefix(_MARK), file, include=include)
    drafts.findings += parsed.findings
    drafts.included.update(parsed.included)
    if parsed.broken:
        return
    if _foreign(parsed):
        what = "passed over: most of its settings are none of nats-server's"
        advice = "it is another program's, or a part: read the file that includes it"
        drafts.note(Where(file), "C013", f"{what}: {advice}")
        return
    read_server(parsed, host, drafts)


def _foreign(parsed: NatsText) -> bool:
    """Whether a text has more keys that are no settings than such that are."""
    names = [key for key in parsed.value if (id(parsed.value), key) not in parsed.used]
    known = sum(str(key).lower() in TOP for key in names)
    return known < len(names) - known or bool(parsed.value and not names)
