"""Rules of routing tables: S10 to S14 (the refined D_C1, and what the paper only names)."""

from typing import NamedTuple

import numpy as np

from ropewalk.federation.arrays import Bools
from ropewalk.verify.contracts.breach import Broken, broken
from ropewalk.verify.contracts.following import leads
from ropewalk.verify.contracts.relations import Rows, is_in, joined, unique_pairs
from ropewalk.verify.contracts.style import Style


class Side(NamedTuple):
    """One of the two tables: who issues what it holds, where, and who is to hear of it."""

    table: Rows
    issued: Rows
    attached: Rows
    others: Rows
    """What those issue that are to be reached."""
    theirs: Rows
    what: str


def wanting(style: Style) -> Side:
    """Subscriptions: consumers issue them, and producers' messages have to find them."""
    return Side(
        *(style.sub_table, style.subscriptions, style.listening),
        *(style.advertisements, style.speaking, "wanted"),
    )


def offering(style: Style) -> Side:
    """Advertisements: producers issue them, and consumers' subscriptions have to find them."""
    return Side(
        *(style.adv_table, style.advertisements, style.speaking),
        *(style.subscriptions, style.listening, "published"),
    )


def sources_are_attached(style: Style) -> Broken:
    """S10: a component that an entry names as its source is attached to that dispatcher."""
    return _attached(style, wanting(style)) + _attached(style, offering(style))


def _attached(style: Style, side: Side) -> Broken:
    def words(i: int) -> tuple[str, tuple[str, ...]]:
        at, topic, who = _names(style, side.table[i])
        return f"{at} has {topic} of {who}, which is not at {at}", (at, topic, who)

    return broken(_is_component(side.table) & ~_at_hand(style, side), words)


def sources_are_linked(style: Style) -> Broken:
    """S11: a dispatcher that an entry names as its source is linked to the entry's own."""
    return _linked(style, style.sub_table) + _linked(style, style.adv_table)


def _linked(style: Style, table: Rows) -> Broken:
    def words(i: int) -> tuple[str, tuple[str, ...]]:
        at, topic, other = _names(style, table[i])
        return f"{at} has {topic} from {other}, and no link joins them", (at, topic, other)

    return broken(~_is_component(table) & ~_next_door(style, table), words)


def sources_are_near(style: Style) -> Broken:
    """S12: a dispatcher without clients has entries from neighbours only; S10 and S11 say so."""
    return _near(style, wanting(style)) + _near(style, offering(style))


def _near(style: Style, side: Side) -> Broken:
    lonely = np.ones(len(style.dispatchers), np.bool_)
    lonely[side.attached[:, 1]] = False
    table = side.table

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        at, topic, other = _names(style, table[i])
        told = f"{at} has no clients, and yet {topic} from {other}, which is no neighbour"
        return told, (at, topic, other)

    neighbour = ~_is_component(table) & _next_door(style, table)
    return broken(lonely[table[:, 0]] & ~neighbour, words)


def subscriptions_are_kept(style: Style) -> Broken:
    """S13: a subscription is known where its consumer is, and on the way of what it matches."""
    return known_at_home(style, wanting(style)) + known_on_the_way(style, wanting(style))


def advertisements_are_kept(style: Style) -> Broken:
    """S14: an advertisement is known where its producer is, and on the way to who wants it."""
    return known_at_home(style, offering(style)) + known_on_the_way(style, offering(style))


def known_at_home(style: Style, side: Side) -> Broken:
    """Each is in the table of every dispatcher that its component is at, and it is at one."""
    issued = unique_pairs(side.issued)
    homeless = ~is_in(issued[:, 0], side.attached[:, 0])

    def lost(i: int) -> tuple[str, tuple[str, ...]]:
        who, topic = style.components[issued[i, 0]], style.topics[issued[i, 1]]
        return f"{topic} of {who} is known nowhere: it has no dispatcher", (who, topic)

    here = joined(issued, side.attached)
    entry = np.stack((here[:, 2], here[:, 1], -1 - here[:, 0]), axis=1)
    known = is_in(style.table_keys(entry), style.table_keys(side.table))

    def unknown(i: int) -> tuple[str, tuple[str, ...]]:
        at, topic, who = _names(style, entry[i])
        return f"{at} does not know that {topic} is {side.what} by {who}", (at, topic, who)

    return broken(homeless, lost) + broken(~known, unknown)


def known_on_the_way(style: Style, side: Side, asked: Rows | None = None) -> Broken:
    """Entries lead from everyone that is to hear of it to where it was issued.

    Where no links join the two there is no way that could have them: that is S4's to say.
    """
    some = ways(style, side) if asked is None else asked
    some = some[style.parts[some[:, 1]] == style.parts[some[:, 2]]]
    arrived = leads(side.table, some, len(style.dispatchers))

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        topic = style.topics[some[i, 0]]
        a, b = (style.dispatchers[d] for d in some[i, 1:])
        return f"from {a} no entries lead to {b}, where {topic} is {side.what}", (topic, a, b)

    return broken(~arrived, words)


def ways(style: Style, side: Side, *, of: Rows | None = None, to: Rows | None = None) -> Rows:
    """(topic, from, to): who must be able to find whom; `of` and `to` narrow down who issued."""
    issued = unique_pairs(joined(side.issued if of is None else of, side.attached)[:, 1:])
    others = unique_pairs(joined(side.others if to is None else to, side.theirs)[:, 1:])
    # (topic as it was issued, from): the others' topics, as those that meet them.
    there = unique_pairs(joined(style.meets, others)[:, 1:])
    return joined(there, issued)


def _is_component(table: Rows) -> Bools:
    return np.asarray(table[:, 2] < 0)


def _at_hand(style: Style, side: Side) -> Bools:
    pairs = np.stack((-1 - side.table[:, 2], side.table[:, 0]), axis=1)
    return is_in(style.pair_keys(pairs), style.pair_keys(side.attached))


def _next_door(style: Style, table: Rows) -> Bools:
    pairs = table[:, (0, 2)]
    joins = style.links[style.links[:, 0] != style.links[:, 1]]
    return is_in(style.pair_keys(pairs), style.pair_keys(joins))


def _names(style: Style, entry: Rows) -> tuple[str, str, str]:
    at, topic, source = (int(one) for one in entry)
    return style.dispatchers[at], style.topics[topic], style.source(source)
