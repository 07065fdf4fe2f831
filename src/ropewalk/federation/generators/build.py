"""Small helpers that every generator uses: brokers by number, links by pairs of numbers."""

from collections.abc import Iterable, Sequence

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Broker, Federation, Link


def at_least(option: str, value: float, least: float) -> None:
    """Refuse an option that is too small."""
    if value < least:
        raise UsageError(
            f"--{option.replace('_', '-')} is {value:g}: it must be at least {least:g}"
        )


def numbered(
    name: str, places: Sequence[tuple[float, float]], pairs: Iterable[tuple[int, int]]
) -> Federation:
    """A federation of brokers b1, b2, ... at places on a plane, linked by pairs counted from 0."""
    names = [f"b{i + 1}" for i in range(len(places))]
    return Federation(
        name=name,
        brokers={
            one: Broker(xy=(round(float(x), 3), round(float(y), 3)))
            for one, (x, y) in zip(names, places, strict=True)
        },
        links=tuple(Link(between=(names[min(a, b)], names[max(a, b)])) for a, b in pairs),
    )
