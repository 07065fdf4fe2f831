"""A protocol's file to its automaton; every fault of the file is told at once, with its line.

    protocol: purchase
    messages:                          # who says what to whom
      buyer -> seller: [order, cancel]
      seller -> buyer: [accept, reject]
    initial: start
    accepting: [agreed, over]
    transitions:
      - start -> ordered: order
      - ordered -> agreed: {message: accept, when: price <= 100}
      - ordered -> over: reject
      - ordered -> late: {timeout_s: 7200, at: buyer}
      - late -> over: cancel

A state is what a transition names. States and letters keep the order in which the file names them.
Instead of `initial`, `accepting` and `transitions` a file may have `constraints` (`precedence`).
"""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ropewalk.errors import ProtocolError
from ropewalk.federation.yaml_text import TextFault, parse
from ropewalk.findings import Finding, Where
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.notebook import Faulty, Notebook
from ropewalk.protocol.precedence import constrained
from ropewalk.protocol.transitions import drawn

KEYS = ("protocol", "roles", "conversation", "message", "messages", "initial", "accepting",
        "transitions", "constraints")  # fmt: skip
_PLACES = "write {header: NAME} or {field: PATH}"


def load_automaton(path: Path | str) -> Automaton:
    """The protocol in a file; raises ProtocolError, with every fault."""
    try:
        text = Path(path).read_text("utf-8")
    except UnicodeDecodeError:
        raise _unreadable(path, "this is not text: save the protocol as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot be read ({reason.lower()}): name a protocol file"
        raise _unreadable(path, message) from None
    return automaton(text, file=str(path))


def load_automata(protocols: Mapping[str, str], folder: Path) -> dict[str, Automaton]:
    """The protocols of a federation by name; their files are named from its folder.

    Raises ProtocolError, with every fault of all of them.
    """
    found: dict[str, Automaton] = {}
    faults: list[Finding] = []
    for name, path in protocols.items():
        try:
            found[name] = load_automaton(folder / path)
        except ProtocolError as error:
            faults += error.findings
    if faults:
        raise ProtocolError(faults)
    return found


def automaton(text: str, *, file: str = "protocol") -> Automaton:
    """The protocol in a text; raises ProtocolError, with every fault and its line.

    >>> one = automaton(
    ...     "{protocol: p, initial: idle, accepting: [done], transitions: [idle -> done: ask]}"
    ... )
    >>> one.states, one.labels, one.table.tolist()
    (('idle', 'done'), ('ask',), [[1], [-1]])
    """
    parsed = parse(text, with_lines=True)
    book = Notebook(parsed, file)
    for fault in parsed.faults:
        book.say(_code(fault), fault.line, fault.message)
    if not parsed.broken:
        try:
            made = _made(book)
        except Faulty:  # what is left cannot be read without what is wrong
            made = None
        if made is not None and not book.faults:
            return made
    raise ProtocolError(book.findings())


def _made(book: Notebook) -> Automaton | None:
    root = book.value
    if not isinstance(root, Mapping):
        what = "it is empty" if root is None else "this is no map"
        book.say("P003", 1, f"{what}: write protocol, messages, initial, accepting, transitions")
        return None
    _unknown_keys(book, root)
    name = book.name(("protocol",), "the protocol's name", "write protocol: NAME")
    roles, senders = _messages(book, root)
    places = {key: _place(book, key) for key in ("conversation", "message")}
    if "transitions" in root and "constraints" in root:
        book.say("P003", ("constraints",), "there are transitions as well: keep one of the two")
        return None
    if "constraints" in root:
        return constrained(book, name, roles, senders, places)
    return drawn(book, name, roles, senders, places)


def _unknown_keys(book: Notebook, root: Mapping[str, Any]) -> None:
    for key in root:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, 1)
            meant = f"did you mean {near[0]}?" if near else f"use {', '.join(KEYS)}"
            book.say("P004", (key,), f"{key!r} is not known: {meant}")


def _place(book: Notebook, key: str) -> dict[str, str]:
    """Where a message says what it is, or which conversation it belongs to."""
    value = book.value.get(key)
    if value is None:
        return {"header": key}
    if isinstance(value, Mapping) and len(value) == 1 and set(value) <= {"header", "field"}:
        [(kind, name)] = value.items()
        if isinstance(name, str) and name:
            return {kind: name}
    book.say("P003", (key,), f"{key} is told neither by a header nor by a field: {_PLACES}")
    return {"header": key}


def _messages(
    book: Notebook, root: Mapping[str, Any]
) -> tuple[tuple[str, ...], dict[str, tuple[str, str]]]:
    """The roles, and of every message who says it to whom."""
    roles = book.names(("roles",), "roles", "write roles: [A, B]") if "roles" in root else []
    given = root.get("messages")
    if given is None:
        return tuple(roles), {}
    shape = "write messages: {A -> B: [NAME, NAME]}"
    if not isinstance(given, Mapping) or not given:
        book.say("P003", ("messages",), f"messages names nobody who speaks: {shape}")
        return tuple(roles), {}
    known, senders = list(roles), dict[str, tuple[str, str]]()
    for arrow in given:
        ends = book.arrow(("messages", arrow), arrow, "roles", "write A -> B: [NAME]")
        if ends is None:
            continue
        if ends[0] == ends[1]:
            book.say("P007", ("messages", arrow), f"{ends[0]!r} speaks to itself: name two roles")
        for role in ends:
            if roles and role not in roles:
                what = f"no role is called {role!r}"
                book.say("P007", ("messages", arrow), f"{what}: use {', '.join(roles)}")
            elif role not in known:
                known.append(role)
        for message in book.names(("messages", arrow), f"what {ends[0]} says", shape):
            _add_message(book, senders, arrow, message, ends)
    return tuple(known), senders


def _add_message(
    book: Notebook,
    senders: dict[str, tuple[str, str]],
    arrow: str,
    message: str,
    ends: tuple[str, str],
) -> None:
    before = senders.setdefault(message, ends)
    if before is not ends:
        what = f"{message!r} is also said by {before[0]} to {before[1]}"
        book.say("P008", ("messages", arrow), f"{what}: give each its own name")


def _code(fault: TextFault) -> str:
    return "P001" if fault.code == "F001" else "P002"


def _unreadable(path: Path | str, message: str) -> ProtocolError:
    return ProtocolError([Finding("P001", message, Where(str(path)))])
