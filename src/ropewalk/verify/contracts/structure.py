"""Rules of structure: S1 to S6 and S15 (P/S-CoM's D_C1, with what it leaves out)."""

import numpy as np

from ropewalk.federation.arrays import Bools, Ints
from ropewalk.verify.contracts.breach import WHOLE, Breach, Broken, broken, listed
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
    back = is_in(style.link_keys(style.links[:, ::-1]), style.link_keys(style.links))
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
    """S15: what nobody may get twice goes over a tree, or dispatchers drop the second copy."""
    if not len(style.once):
        return WHOLE
    cyclic = _cyclic_parts(style)
    wanted = style.subscriptions[is_in(style.subscriptions[:, 1], _meeting_once(style))]
    wanted = unique_pairs(wanted)
    forgetful = ~style.remembers & style.declared & cyclic[style.parts]
    risky = style.listening[forgetful[style.listening[:, 1]]]
    pairs = joined(wanted, risky)

    def words(i: int) -> tuple[str, tuple[str, ...]]:
        component, topic, at = pairs[i]
        who, where = style.components[component], style.dispatchers[at]
        what = style.topics[topic]
        told = f"{who} may get {what} twice at {where}: links make a cycle there"
        return f"{told}, and {where} forgets what it had", (who, what, where)

    return broken(np.arange(len(pairs), dtype=np.int32), words)


def _cyclic_parts(style: Style) -> Bools:
    """Of each part, whether it has more edges than a tree."""
    many = int(style.parts.max(initial=-1)) + 1
    size = np.bincount(style.parts, minlength=many)
    edges = np.bincount(style.parts[style.edges[:, 0]], minlength=many)
    return edges >= size


def _meeting_once(style: Style) -> Ints:
    return style.meets[is_in(style.meets[:, 0], style.once)][:, 1]
