"""Rules of what has happened: S7 to S9, S16 and S17 (the states of components)."""

from functools import lru_cache

import numpy as np

from ropewalk.federation.arrays import Bools
from ropewalk.federation.topics import common
from ropewalk.verify.contracts.breach import Breach, Broken, broken, listed
from ropewalk.verify.contracts.relations import Rows, is_in, joined, unique_pairs
from ropewalk.verify.contracts.style import Style


def one_sequence(style: Style) -> Broken:
    """S7: only members have a state, and a consumer has one sequence of notifications.

    The schema quantifies over all that could be consumers, not over those that there are.
    """
    state = style.state
    return (
        _members_only(style, style.subscriptions, style.consumer, "subscribes, and is no consumer")
        + _members_only(style, state.sequences, style.consumer, "is given events, and no consumer")
        + _members_only(style, style.advertisements, style.producer, "advertises, and no producer")
        + _members_only(style, state.produced, style.producer, "produces, and is no producer")
        + _two_sequences(style)
    )


def _members_only(style: Style, rows: Rows, member: Bools, told: str) -> Broken:
    strange = np.unique(rows[~member[rows[:, 0]], 0])

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        who = style.components[i]
        return f"{who} {told}", (who,)

    return broken(strange, words)


def _two_sequences(style: Style) -> Broken:
    owner, many = np.unique(style.state.sequences[:, 0], return_counts=True)
    return listed(
        Breach(f"{style.components[c]} has two sequences", (style.components[c],))
        for c in owner[many > 1].tolist()
        if len({_content(style, c, n) for n in _numbers(style, c)}) > 1
    )


def _numbers(style: Style, component: int) -> list[int]:
    return [number for owner, number in style.state.sequences.tolist() if owner == component]


def _content(style: Style, component: int, number: int) -> tuple[int, ...]:
    received = style.state.received
    return tuple(received[(received[:, :2] == (component, number)).all(axis=1)][:, 2].tolist())


def notifications_match(style: Style) -> Broken:
    """S8: what a consumer is given matches a subscription of its own.

    At the moment it is given: a subscription that has ended since makes the rule false later.
    """
    received = unique_pairs(style.state.received[:, (0, 2)])

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        who, event, topic = _told(style, received[i])
        return f"{who} was given {event} of {topic}, and subscribes to nothing that matches", (
            who,
            event,
            topic,
        )

    return broken(~_covered(style, received, style.subscriptions), words)


def nothing_is_made_up(style: Style) -> Broken:
    """S9: what a consumer is given was produced."""
    received = unique_pairs(style.state.received[:, (0, 2)])

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        who, event, topic = _told(style, received[i])
        return f"{who} was given {event} of {topic}, which nobody produced", (who, event, topic)

    return broken(~is_in(received[:, 1], style.state.produced[:, 1]), words)


def events_are_advertised(style: Style) -> Broken:
    """S16: what a producer produces matches an advertisement of its own."""
    produced = unique_pairs(style.state.produced)

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        who, event, topic = _told(style, produced[i])
        told = f"{who} produced {event} of {topic}, and advertises nothing that matches"
        return told, (who, event, topic)

    return broken(~_covered(style, produced, style.advertisements), words)


def nothing_is_issued_twice(style: Style) -> Broken:
    """S17: nobody issues a subscription, an advertisement or an event twice."""
    topic, event = style.topics, style.state.events
    return (
        _twice(style, style.subscriptions, "subscribes", topic)
        + _twice(style, style.advertisements, "advertises", topic)
        + _twice(style, style.state.produced, "produces", event)
    )


def _twice(style: Style, rows: Rows, verb: str, names: tuple[str, ...]) -> Broken:
    keys = np.sort((rows[:, 0].astype(np.int64) << 32) | rows[:, 1])
    again, many = np.unique(keys[1:][keys[1:] == keys[:-1]], return_counts=True)

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        who, what = style.components[again[i] >> 32], names[again[i] & 0xFFFFFFFF]
        return f"{who} {verb} {what} {many[i] + 1} times", (who, what)

    return broken(np.arange(len(again), dtype=np.int32), words)


def _covered(style: Style, events: Rows, issued: Rows) -> Bools:
    """Of (component, event): whether something that the component issued stands for the event."""
    place = np.arange(len(events), dtype=np.int32)
    topic = style.state.topic[events[:, 1]]
    pairs = joined(np.stack((events[:, 0], place), axis=1), issued)  # component, place, pattern
    ends = np.stack((pairs[:, 2], topic[pairs[:, 1]]), axis=1)
    kinds, which = np.unique(ends, axis=0, return_inverse=True)
    same = [style.scope[a] == style.scope[b] for a, b in kinds]
    fits = [_stands_for(style.topics[a], style.topics[b]) for a, b in kinds]
    good = (np.array(same, np.bool_) & np.array(fits, np.bool_))[which.reshape(-1)]
    found = np.zeros(len(events), np.bool_)
    found[pairs[good, 1]] = True
    return found


@lru_cache(65_536)
def _stands_for(pattern: str, name: str) -> bool:
    return common(pattern, name) == name


def _told(style: Style, row: Rows) -> tuple[str, str, str]:
    event = int(row[1])
    topic = style.topics[style.state.topic[event]]
    return style.components[row[0]], style.state.events[event], topic
