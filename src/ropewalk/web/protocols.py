"""The protocols that a console shows: the federation's own, and files that it was given beside."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ropewalk.errors import ProtocolError, RopewalkError
from ropewalk.federation import Federation
from ropewalk.findings import Finding
from ropewalk.protocol import Automaton, load_automaton
from ropewalk.protocol.realize.verdict import Realizability, Transport, realizability
from ropewalk.report.protocol import TRANSPORTS, VERDICTS
from ropewalk.web.audits import changed_at, stamp_of

WORDS = {True: "yes", False: "no", None: "unknown"}
HOW_TO_ADD = """\
protocols: {order-entry: protocols/order-entry.yaml}   # beside this file
topics:
  orders: {publishers: [...], subscribers: [...], protocol: order-entry}
"""
NOT_NAMED = "the console was not started with this file: open it with --protocol FILE"


@dataclass(frozen=True, eq=False, slots=True)
class Drawn:
    """A protocol's file, as an automaton or with why it is none."""

    name: str
    file: Path
    automaton: Automaton | None = None
    faults: tuple[Finding, ...] = ()
    refused: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Kept:
    """Whether peers can keep to a protocol, over each transport, in words."""

    words: str
    good: bool | None
    """Over channels that keep order; None where that is not known."""
    transports: tuple[tuple[str, str, str], ...] = ()
    """Each with whether it is safe and live."""
    findings: tuple[Finding, ...] = ()


def protocols_of(
    federation: Federation, beside: Sequence[Path] = (), allowed: frozenset[str] | None = None
) -> dict[str, Drawn]:
    """All protocols by name.

    `allowed` are the paths that may be read, None for all: whoever only looks at a console may
    type another path into the text, and must not have the console read it.
    """
    home = Path(federation.source.file).parent
    named = [(name, path, home / path) for name, path in federation.protocols.items()]
    found = {
        name: _drawn(name, file)
        if allowed is None or path in allowed
        else Drawn(name, file, refused=NOT_NAMED)
        for name, path, file in named
    }
    return found | {str(file): _drawn(file.stem, file) for file in beside}


def _drawn(name: str, file: Path) -> Drawn:
    try:
        return Drawn(name, file, load_automaton(file))
    except ProtocolError as error:
        return Drawn(name, file, faults=tuple(error.findings))


def kept(automaton: Automaton) -> Kept:
    """What `ropewalk protocol check` says of it.

    >>> from ropewalk.protocol import automaton
    >>> kept(automaton("{protocol: p, initial: a, accepting: [b], transitions: [a -> b: m]}")).words
    'Not checked: who says what to whom is not told: write messages: {A -> B: [NAME]}'
    """
    try:
        found = realizability(automaton)
    except RopewalkError as error:
        return Kept(f"Not checked: {str(error).removeprefix(f'{automaton.file}: ')}", None)
    transport: Transport = "fifo"
    return Kept(
        VERDICTS.get(
            found.verdict, f"Unknown: up to {found.bound} messages in each channel tried."
        ),
        found.fifo.ok,
        tuple(_transports(found)),
        tuple(found.findings(transport)),
    )


def _transports(found: Realizability) -> Iterator[tuple[str, str, str]]:
    for transport, words in TRANSPORTS.items():
        over = found.over(transport)
        yield words, WORDS[over.safe], WORDS[over.live]


State = tuple[object, ...]


def state_of(federation: Federation, beside: Sequence[Path], work: Path | None) -> State:
    """Another when there is something else to be read: other protocols, files or results."""
    home = Path(federation.source.file).parent
    files = [*(home / path for path in federation.protocols.values()), *beside]
    return (
        tuple(federation.protocols.items()),
        tuple((name, tuple(some)) for name, some in topics_by_protocol(federation).items()),
        tuple(map(changed_at, files)),
        stamp_of(work) if work is not None else (),
    )


def topics_by_protocol(federation: Federation) -> Mapping[str, list[str]]:
    """The topics that follow each protocol."""
    found: dict[str, list[str]] = {name: [] for name in federation.protocols}
    for name, topic in federation.topics.items():
        if topic.protocol is not None:
            found.setdefault(topic.protocol, []).append(name)
    return found
