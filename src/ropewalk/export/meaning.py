"""Whether two federations' bridges mean the same, however their files write them."""

from collections.abc import Iterator

from ropewalk.federation.bridges import Bridge
from ropewalk.federation.facts import Federation

Carried = tuple[object, ...]


def carried(federation: Federation) -> dict[Carried, str]:
    """What bridges carry, one way and one pattern at a time, with how to name it."""
    return {key: words for one in federation.bridges for key, words in _each(one)}


def differences(old: Federation, new: Federation) -> list[str]:
    """What only one of them carries, in sentences; empty if both mean the same."""
    before, after = carried(old), carried(new)
    lost = [f"lost: {words}" for key, words in before.items() if key not in after]
    return lost + [f"new: {words}" for key, words in after.items() if key not in before]


def _each(one: Bridge) -> Iterator[tuple[Carried, str]]:
    for direction in ("out", "in") if one.direction == "both" else (one.direction,):
        for pattern in one.patterns:
            sides = (one.prefixes.local, one.prefixes.remote)
            key = (
                *(one.from_, one.to, one.addresses if one.kind != "gateway" else (), one.kind),
                *(direction, pattern, tuple(sorted(one.except_)), sides, one.max_hops, one.qos),
                *(one.choice if one.addresses else "", one.echoes and direction == "in"),
            )
            renaming = f", {sides[0]!r} here and {sides[1]!r} there" if any(sides) else ""
            hops = f", at most {one.max_hops} hops" if one.max_hops else ""
            where = " or ".join((one.to, *one.addresses))
            way = "to" if direction == "out" else "from"
            words = f"{one.kind} of {one.from_} {way} {where}: {pattern}{renaming}{hops}"
            yield key, words
