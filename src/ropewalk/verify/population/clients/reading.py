"""A population's file to its facts; every fault of the file is told at once, with its line.

    population: leader-election
    semantics: local                   # local, retained or global: what the broker does
    messages: [claim]
    topics: [lead]
    clients:
      node:
        count: any                     # or 2+ (at least two), or 3
        start: idle
        steps:
          - idle -> asking: {subscribe: lead}
          - asking -> leader: {publish: claim, on: lead, when: {not_received: claim}}
          - asking -> follower: {when: {received: claim}}
    bad:
      two-leaders: {in: leader, at_least: 2}

What a topic or a kind of clients may say may also stand at the top: it holds where nothing else
is said. A state is what a step names.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ropewalk.errors import PopulationError, UsageError
from ropewalk.federation.showing import shown
from ropewalk.federation.yaml_text import TextFault, parse
from ropewalk.findings import Finding, Where
from ropewalk.protocol.notebook import Faulty
from ropewalk.verify.population.clients.drawing import KIND_DEFAULTS, kinds_of
from ropewalk.verify.population.clients.facts import ALONE, SEMANTICS, Link, Population, Topic
from ropewalk.verify.population.clients.notes import Notes, near
from ropewalk.verify.population.clients.unwanted import patterns_of

TOPIC_WORDS = {
    "semantics": SEMANTICS,
    "retain": ("last", "all"),
    "notification": ("atomic", "asynchronous"),
}
TOPIC_KEYS = (*TOPIC_WORDS, "echo")
KEYS = ("population", *TOPIC_KEYS, *KIND_DEFAULTS, "messages", "topics", "brokers", "links",
        "clients", "bad")  # fmt: skip


def load_population(path: Path | str, *, semantics: str | None = None) -> Population:
    """The population in a file; `semantics` holds for all topics, whatever the file says.

    Raises PopulationError, with every fault; UsageError, if there are no such semantics.
    """
    try:
        text = Path(path).read_text("utf-8")
    except UnicodeDecodeError:
        raise _unreadable(path, "this is not text: save the population as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot be read ({reason.lower()}): name a population's file"
        raise _unreadable(path, message) from None
    return population(text, file=str(path), semantics=semantics)


def population(text: str, *, file: str = "population", semantics: str | None = None) -> Population:
    """The population in a text; raises PopulationError, with every fault and its line.

    >>> one = population(
    ...     "{population: p, messages: m, topics: t, bad: {met: {in: done}},"
    ...     " clients: {node: {start: idle, steps: [idle -> done: {publish: m, on: t}]}}}"
    ... )
    >>> one.kinds["node"].states, one.topics["t"].semantics
    (('idle', 'done'), 'local')
    """
    if semantics is not None and semantics not in SEMANTICS:
        raise UsageError(f"no semantics are called {semantics!r}: {near(semantics, SEMANTICS)}")
    parsed = parse(text, with_lines=True)
    book = Notes(parsed, file)
    for fault in parsed.faults:
        book.say(_code(fault), fault.line, fault.message)
    if not parsed.broken:
        try:
            made = _made(book)
        except Faulty:  # what is left cannot be read without what is wrong
            made = None
        if made is not None and not book.faults:
            return made if semantics is None else _all_with(made, semantics)
    raise PopulationError(book.findings())


def _made(book: Notes) -> Population | None:
    root = book.value
    if not isinstance(root, Mapping):
        what = "it is empty" if root is None else "this is no map"
        book.say("N003", 1, f"{what}: write population, messages, topics, clients, bad")
        return None
    book.fields((), "the file", KEYS, "")
    try:
        name = book.name(("population",), "the population's name", "write population: NAME")
    except Faulty:  # it has been noted; the rest is read all the same
        name = ""
    messages = _named(book, "messages", "write messages: [NAME]")
    topics = _topics(book)
    brokers = _named(book, "brokers", "write brokers: [NAME]") or (ALONE,)
    links = tuple(_links(book, brokers, topics))
    kinds = kinds_of(book, topics, messages, brokers)
    patterns = patterns_of(book, kinds, topics, messages, brokers) if kinds else {}
    return Population(name, topics, messages, kinds, patterns, brokers, links, book.file)


def _named(book: Notes, key: str, write: str) -> tuple[str, ...]:
    if key not in book.value:
        return ()
    said = book.get((key,))
    for i, one in enumerate(said if isinstance(said, list) else ()):
        if one in said[:i]:
            book.say("N002", (key, i), f"{shown(one)} is written twice in {key}: keep one")
    return tuple(book.names((key,), key, write))


# --- topics -----------------------------------------------------------------------------------


def _topics(book: Notes) -> dict[str, Topic]:
    given = book.value.get("topics")
    usual = _topic(book, (), "", Topic(""))
    if not isinstance(given, Mapping):
        return {
            name: replace(usual, name=name)
            for name in _named(book, "topics", "write topics: [NAME]")
        }
    found = {}
    for name, said in given.items():
        at, what = ("topics", name), f"topic {name}"
        if said is not None:
            book.fields(at, what, TOPIC_KEYS, f"write {', '.join(TOPIC_KEYS)}, or nothing")
        told = isinstance(said, Mapping)
        found[name] = replace(_topic(book, at, f"{what}: ", usual) if told else usual, name=name)
    return found


def _topic(book: Notes, at: tuple[str, ...], what: str, usual: Topic) -> Topic:
    words: dict[str, Any] = {
        key: book.choice((*at, key), f"{what}{key}", words, getattr(usual, key))
        for key, words in TOPIC_WORDS.items()
    }
    echo = book.truth((*at, "echo"), f"{what}echo", usual.echo)
    return Topic("", echo=bool(echo), **words)


def _all_with(made: Population, semantics: Any) -> Population:
    topics = {name: replace(one, semantics=semantics) for name, one in made.topics.items()}
    return replace(made, topics=topics)


# --- brokers ----------------------------------------------------------------------------------


def _links(book: Notes, brokers: tuple[str, ...], topics: Mapping[str, Topic]) -> list[Link]:
    given = book.value.get("links")
    if "links" not in book.value:
        return []
    write = "write links: [A -- B, {between: [A, B], topics: [TOPIC]}]"
    if not isinstance(given, list):
        book.say("N003", ("links",), f"links is no list: {write}")
        return []
    found = [_link(book, i, one, brokers, topics, write) for i, one in enumerate(given)]
    links = [one for one in found if one is not None]
    seen = set[frozenset[str]]()
    for i, one in enumerate(found):
        if one is not None and (ends := frozenset(one.ends)) in seen:
            book.say("N012", ("links", i), f"{' -- '.join(one.ends)} is there twice: keep one")
        elif one is not None:
            seen.add(ends)
    return links


def _link(
    book: Notes,
    number: int,
    said: Any,
    brokers: tuple[str, ...],
    topics: Mapping[str, Topic],
    write: str,
) -> Link | None:
    at, carried = ("links", number), frozenset(topics)
    if isinstance(said, Mapping):
        book.fields(at, "the link", ("between", "topics"), write)
        ends = book.names((*at, "between"), "between", write)
        if "topics" in said:
            carried = book.among((*at, "topics"), topics, "N007", "topic")
    else:
        ends = [one.strip() for one in str(said).split("--")]
    if len(ends) != 2 or not all(ends) or ends[0] == ends[1]:
        book.say("N012", at, f"this link does not join two brokers: {write}")
        return None
    for end in ends:
        if end not in brokers:
            book.strange(at, end, brokers, "N012", "broker")
    return Link((ends[0], ends[1]), carried)


def _code(fault: TextFault) -> str:
    return "N001" if fault.code == "F001" else "N002"


def _unreadable(path: Path | str, message: str) -> PopulationError:
    return PopulationError([Finding("N001", message, Where(str(path)))])
