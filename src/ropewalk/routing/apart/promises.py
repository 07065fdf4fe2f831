"""What a study finds fault with: pairs that a region cuts off, by the choice of paths or anyway."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ropewalk.findings import Finding, Where
from ropewalk.routing.apart.regions import Words, in_words
from ropewalk.routing.apart.study import Study


def findings(found: Study, where: Where, *, circles_only: bool) -> list[Finding]:
    """R002 for pairs that lose all paths although there is a way round, R003 for separated ones.

    A file promises a radius, so only circles break it; who is strict counts polygons and risk
    groups as well.
    """
    counted = found.tests.regions.of_circles(circles_only)
    return [
        *(one for i in range(len(found.plans)) for one in _of_pair(found, i, counted, where)),
        *(
            Finding("R003", f"there is no path between {a} and {b}", where)
            for a, b in found.unjoined
        ),
    ]


def _of_pair(found: Study, i: int, counted: Words, where: Where) -> Iterator[Finding]:
    (start, end), plan, tests = found.pairs[i], found.plans[i], found.tests
    ends = plan.primary.nodes[0], plan.primary.nodes[-1]
    paths = [tests.terrain.named(path) for path in plan.paths]
    kinds = (
        ("R002", tests.left_to_avoid(plan.paths), "although there is a way round"),
        ("R003", tests.separated(*ends), "and leave no way, although neither end is in them"),
    )
    for code, bits, words in kinds:
        if (bits & counted).any():
            share, region = _share(found, bits & counted, counted), _first(found, bits & counted)
            text = f"{share} cut off {start} from {end} {words}: {_spot(region, found)}"
            yield Finding(code, text, where, witness={"region": region, "paths": paths})


def _share(found: Study, bits: Words, counted: Words) -> str:
    kinds = found.tests.regions.kinds
    words = np.split(counted, np.cumsum([kind.words for kind in kinds])[:-1])
    total = sum(kind.count for kind, one in zip(kinds, words, strict=True) if one.any())
    return f"{int(np.bitwise_count(bits).sum()):,} of {total:,} regions"


def _first(found: Study, bits: Words) -> dict[str, Any]:
    kind, number = next(found.tests.regions.among(bits))
    return kind.where(number)


def _spot(region: dict[str, Any], found: Study) -> str:
    """A region in words."""
    centre = region.get("centre")
    if not isinstance(centre, list):
        return in_words(region)
    axes = "lat, lon" if found.tests.terrain.globe else "x, y in km"
    return f"one is around {centre[0]:g}, {centre[1]:g} ({axes})"
