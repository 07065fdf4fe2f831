"""Load imbalance in a domain: a broker that stays far from the mean utilisation of all.

The distance from the mean is watched like any figure of a broker, above and below it apart, so a
broker that swings from one side to the other is on neither for long.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ropewalk.placement.reactive.detector import Event, Watched, follow_all
from ropewalk.placement.reactive.watching import Watch, check_gap, check_time, usable

ABOVE = "utilisation over the domain's mean"
BELOW = "utilisation under the domain's mean"


@dataclass(frozen=True, slots=True)
class Balance:
    """How far from the mean is too far, and how long readings may lie apart."""

    watch: Watch
    gap_s: float

    def __post_init__(self) -> None:
        check_gap(self.gap_s)


@dataclass(frozen=True, slots=True)
class Balanced:
    """The state: what is known of each broker's distance."""

    at_s: float | None = None
    brokers: Mapping[str, Watched] = field(default_factory=dict)

    @property
    def out(self) -> tuple[str, ...]:
        """The brokers that are out of balance, by name."""
        return tuple(sorted(name for name, one in self.brokers.items() if one.overloaded))


@dataclass(frozen=True, slots=True)
class OfBroker:
    """What there is to tell of one broker."""

    broker: str
    event: Event

    def __str__(self) -> str:
        return f"{self.broker}: {self.event}"


def balance_step(
    balance: Balance, state: Balanced, utilisations: Mapping[str, float | None], now_s: float
) -> tuple[Balanced, tuple[OfBroker, ...]]:
    """The state after the utilisations of a domain; a broker not named any more is forgotten.

    Of a single broker, or of several that are not known, nothing can be said.

    >>> balance = Balance(Watch(high=0.2, low=0.1, hold_s=0, release_s=5), gap_s=10)
    >>> _, events = balance_step(balance, Balanced(), {"a": 0.9, "b": 0.5, "c": 0.4}, 0)
    >>> print(*events)
    a: utilisation over the domain's mean is 0.3, above 0.2 for 0 s (since 0 s)
    """
    check_time(now_s)
    watches = {ABOVE: balance.watch, BELOW: balance.watch}
    brokers: dict[str, Watched] = {}
    told: list[OfBroker] = []
    for name, distances in sorted(_distances(utilisations).items()):
        before = state.brokers.get(name, Watched())
        after, events = follow_all(watches, balance.gap_s, before, distances, now_s)
        brokers[name] = after
        told += [OfBroker(name, event) for event in events]
    return Balanced(now_s, brokers), tuple(told)


def _distances(
    utilisations: Mapping[str, float | None],
) -> dict[str, dict[str, float | None]]:
    """Per broker how far over and under the mean; what cannot be used goes through as it is."""
    known = [value for value in utilisations.values() if value is not None and usable(value)]
    mean = sum(known) / len(known) if len(known) > 1 else None
    return {name: _sides(value, mean) for name, value in utilisations.items()}


def _sides(value: float | None, mean: float | None) -> dict[str, float | None]:
    if value is not None and not usable(value):
        return {ABOVE: value, BELOW: None}
    if value is None or mean is None:
        return {ABOVE: None, BELOW: None}
    distance = round(value - mean, 12)
    return {ABOVE: max(0.0, distance), BELOW: max(0.0, -distance)}
