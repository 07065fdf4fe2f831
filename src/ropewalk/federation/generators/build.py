"""What every generator uses: options within bounds, brokers by number, links by pairs."""

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Broker, Federation, Link

MOST_BROKERS = 100_000
MOST_LINKS = 5_000_000


def bounded(option: str, value: float, least: float, most: float) -> None:
    """Refuse an option that is too small or too large."""
    if not least <= value <= most:
        name = option.replace("_", "-")
        raise UsageError(f"--{name} is {value:g}: it must be from {least:,g} to {most:,g}")


def sized(brokers: float, links: float) -> None:
    """Refuse to make a federation that no machine would hold."""
    if brokers > MOST_BROKERS or links > MOST_LINKS:
        would = f"this would make {brokers:,.0f} brokers and {links:,.0f} links"
        raise UsageError(f"{would}: at most {MOST_BROKERS:,} and {MOST_LINKS:,} are made")


def check_options(name: str, make: Callable[..., Federation], options: dict[str, Any]) -> None:
    """Refuse options that a generator does not have, or of another kind than it takes."""
    kinds = {key: kind for key, kind in get_type_hints(make).items() if key != "return"}
    for option, value in options.items():
        if option not in kinds:
            has = ", ".join(kinds) or "none"
            raise UsageError(f"{name} has no option {option!r}: it has {has}")
        try:
            TypeAdapter(kinds[option]).validate_python(value, strict=True)
        except ValidationError as error:
            message = error.errors()[0]["msg"].lower()
            raise UsageError(f"{option} is {value!r}: {message}") from None
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"{option} is {value}: it must be a finite number")


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
