"""Bad patterns, as a file draws them: which clients must never be there at once."""

from collections.abc import Mapping
from typing import Any

from ropewalk.federation.showing import shown
from ropewalk.protocol.notebook import At
from ropewalk.verify.population.clients.facts import Kind, Need, Pattern, Topic
from ropewalk.verify.population.clients.notes import Notes

MOST_NEEDED = 200
_TOPICS = ("subscribed", "not_subscribed")
_MESSAGES = ("received", "not_received", "missed")
_KEYS = ("in", "kind", "at_least", "at", "connected", *_TOPICS, *_MESSAGES)
_SHAPE = "write {in: STATE, kind: KIND, at_least: 2}, or a list of such needs"


def patterns_of(
    book: Notes,
    kinds: Mapping[str, Kind],
    topics: Mapping[str, Topic],
    messages: tuple[str, ...],
    brokers: tuple[str, ...],
) -> dict[str, Pattern]:
    """What must never be, by name."""
    given = book.value.get("bad")
    if not isinstance(given, Mapping) or not given:
        where: At = ("bad",) if "bad" in book.value else ()
        said = "bad names nothing that must never be" if where else "bad is missing"
        book.say("N003", where, f"{said}: write bad: {{NAME: {{in: STATE, at_least: 2}}}}")
        return {}
    found, sure = {}, not book.faults
    for name, said in given.items():
        at = ("bad", name)
        each: list[At] = [(*at, i) for i in range(len(said))] if isinstance(said, list) else [at]
        if not each or said == {}:
            book.say("N009", at, f"{name} needs no clients, so it is always there: {_SHAPE}")
        needs = tuple(_need(book, one, kinds, topics, messages, brokers, sure) for one in each)
        found[name] = Pattern(name, needs, book.line(at))
    return found


def _need(
    book: Notes,
    at: At,
    kinds: Mapping[str, Kind],
    topics: Mapping[str, Topic],
    messages: tuple[str, ...],
    brokers: tuple[str, ...],
    sure: bool,
) -> Need:
    given = book.fields(at, "a need of a bad pattern", _KEYS, _SHAPE)
    of = book.among((*at, "kind"), kinds, "N009", "kind") or frozenset(kinds)
    known = list(dict.fromkeys(state for one in kinds.values() if one.name in of
                               for state in one.states))  # fmt: skip
    # with faults before, a state may be missing for those
    states = book.among((*at, "in"), known, "N006", "state") if sure else frozenset[str]()
    if states:  # only kinds that have one of them can be meant
        of = frozenset(one for one in of if states & set(kinds[one].states))
    words: dict[str, Any] = {
        key: book.among((*at, key), topics, "N007", "topic") for key in _TOPICS
    }
    for key in _MESSAGES:
        words[key] = book.among((*at, key), messages, "N008", "message")
    for one, other in (_TOPICS, _MESSAGES[:2]):
        for name in sorted(words[one] & words[other]):
            book.say("N009", at, f"{name!r} is in {one} and in {other}: no client can be both")
    return Need(
        of,
        states,
        _at_least(book, (*at, "at_least"), given),
        book.among((*at, "at"), brokers, "N012", "broker"),
        book.truth((*at, "connected"), "connected", None) if given else None,
        **words,
    )


def _at_least(book: Notes, at: At, given: Mapping[str, Any]) -> int:
    value = given.get("at_least", 1)
    if type(value) is int and 1 <= value <= MOST_NEEDED:
        return value
    book.say("N011", at, f"at_least is {shown(value)}: write a number from 1 to {MOST_NEEDED:,}")
    return 1
