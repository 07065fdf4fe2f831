"""Rules of structure: S1 to S6 and S15 (P/S-CoM's D_C1, with what it leaves out)."""

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.verify.contracts.breach import WHOLE, Breach, Broken, broken, listed
from ropewalk.verify.contracts.graphs import parts_of
from ropewalk.verify.contracts.relations import is_in, joined, unique_pairs
from ropewalk.verify.contracts.style import Style, Way


def access_is_declared(style: Style) -> Broken:
    """S1: an access link joins a declared dispatcher and a component that may use it so."""
    component, dispatcher, way = style.access.T
    may = np.where(way == Way.IN, style.producer[component], style.consumer[component])

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        who, at = style.components[component[i]], style.dispatchers[dispatcher[i]]
        if not style.declared[dispatcher[i]]:
            return f"{who} is joined to {at}, which is no dispatcher", (who, at)
        kind = "producer" if way[i] == Way.IN else "consumer"
        return f"{who} is joined to {at} as a {kind}, and is none", (who, at)

    return broken(~may | ~style.declared[dispatcher], words)


def links_are_declared(style: Style) -> Broken:
    """S2: a link joins declared dispatchers."""

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        ends = tuple(style.dispatchers[d] for d in style.links[i])
        missing = next(d for d in style.links[i] if not style.declared[d])
        return f"{ends[0]} > {ends[1]}: {style.dispatchers[missing]} is no dispatcher", ends

    known = style.declared[style.links[:, 0]] & style.declared[style.links[:, 1]]
    return broken(~known, words)


def links_go_both_ways(style: Style) -> Broken:
    """S3: a link goes both ways, and joins two.

    The schema lets a dispatcher be its own peer.
    """
    back = is_in(style.pair_keys(style.links[:, ::-1]), style.pair_keys(style.links))
    loop = style.links[:, 0] == style.links[:, 1]

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        a, b = (style.dispatchers[d] for d in style.links[i])
        if a == b:
            return f"{a} is linked to itself", (a,)
        return f"{a} > {b} has no way back", (a, b)

    return broken(~back | loop, words)


def dispatchers_are_connected(style: Style) -> Broken:
    """S4: links lead from every dispatcher to every other."""
    known = np.flatnonzero(style.declared)
    if not len(known):
        return WHOLE
    parts, at = np.unique(style.parts[known], return_index=True)
    ones = [style.dispatchers[known[i]] for i in np.sort(at)]
    several = [Breach(f"no links lead from {ones[0]} to {one}", (ones[0], one)) for one in ones[1:]]
    return listed(several) if len(parts) > 1 else WHOLE


def one_access(style: Style) -> Broken:
    """S5: a consumer has exactly one dispatcher that it gets its messages from."""
    listening = style.listening[style.declared[style.listening[:, 1]]]
    count = np.bincount(listening[:, 0], minlength=len(style.components))

    def words(c: int) -> tuple[str, tuple[str, ...]]:
        who = style.components[c]
        places = [style.dispatchers[d] for d in style.listening[style.listening[:, 0] == c][:, 1]]
        at = f"is at {' and '.join(places)}" if count[c] else "has no dispatcher"
        return f"{who} {at}", (who, *places)

    return broken(style.consumer & (count != 1), words)


def no_cut_vertex(style: Style) -> Broken:
    """S6: no dispatcher holds others together; so between any two there are two ways (Menger)."""

    def one(vertex: int, left: int, right: int) -> Breach:
        names = tuple(style.dispatchers[d] for d in (vertex, left, right))
        return Breach(f"without {names[0]} no links lead from {names[1]} to {names[2]}", names)

    return listed(one(*cut) for cut in style.cuts.vertices)


def once_needs_a_tree_or_a_memory(style: Style) -> Broken:
    """S15: what nobody may get twice goes over no cycle, or dispatchers drop the second copy."""
    if not len(style.once):
        return WHOLE
    wanted = style.subscriptions[is_in(style.subscriptions[:, 1], _meeting_once(style))]
    wanted = unique_pairs(wanted)
    risky = style.listening[_doubling(style)[style.listening[:, 1]]]
    pairs = joined(wanted, risky)

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        component, topic, at = pairs[i]
        who, where = style.components[component], style.dispatchers[at]
        what = style.topics[topic]
        told = f"{who} may get {what} twice at {where}: a cycle of links brings doubles there"
        return f"{told}, and {where} forgets what it had", (who, what, where)

    return broken(np.arange(len(pairs), dtype=np.int32), words)


def _on_cycles(style: Style) -> Bools:
    """Dispatchers that links lead away from and back to by another way."""
    cut = np.sort(np.array(style.cuts.edges, np.int32).reshape(-1, 2), axis=1)
    round_ = ~is_in(style.pair_keys(style.edges), style.pair_keys(cut))
    found = np.zeros(len(style.dispatchers), np.bool_)
    found[style.edges[round_]] = True
    return found


def _doubling(style: Style) -> Bools:
    """Forgetful dispatchers on a cycle, and those that get its doubles from them.

    One that remembers passes each message on once, so beyond it nothing comes twice.
    """
    forgetful = ~style.remembers & style.declared
    passing = style.edges[forgetful[style.edges].all(axis=1)]
    part = parts_of(passing, len(style.dispatchers))
    bad = np.unique(part[forgetful & _on_cycles(style)])
    return forgetful & is_in(part, bad)


def _meeting_once(style: Style) -> Ints:
    return style.meets[is_in(style.meets[:, 0], style.once)][:, 1]
