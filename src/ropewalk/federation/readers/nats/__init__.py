"""NATS configurations: a server's accounts, routes, gateways, leaf nodes and imports.

In reading order: `lexer` and `syntax` (text to values with file and line), `settings` (all that
nats-server knows), `block` (a map, by any of its names), `addresses`, `subjects`, and what they
mean: `accounts`, `peers` (routes and gateways), `leaf`, and `conf`, which puts them together.
"""

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.nats.conf import read_server
from ropewalk.federation.readers.nats.syntax import Include, parse_nats

__all__ = ["parse_nats", "read_nats"]


def read_nats(text: str, file: str, host: str, drafts: Drafts, *, include: Include) -> None:
    """Draft a server of one configuration file; `include` gives the text of others, or None."""
    parsed = parse_nats(text, file, include=include)
    drafts.findings += parsed.findings
    drafts.included.update(parsed.included)
    if not parsed.broken:
        read_server(parsed, host, drafts)
