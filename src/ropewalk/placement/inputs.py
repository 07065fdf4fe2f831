"""A problem made of a federation and the statistics of its topics."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Federation, Performance
from ropewalk.federation.items import brokers_for, items_of, place_of
from ropewalk.federation.topics import held, is_pattern
from ropewalk.placement.judge import floor_of
from ropewalk.placement.performance import US, Reals, Traffic, averaged, work_s
from ropewalk.placement.problems import NOWHERE, Ints, Problem, Rules, Spread, check_matrix, problem
from ropewalk.placement.repair import repaired
from ropewalk.placement.risk import Peaks

MOST_DENSE = 1000
"""Beyond so many items, factors stand for the covariance where they are known."""
ROWS = 512


class Statistics(Protocol):
    """What has to be known of topics, all in one order; the pipeline's `Stats` is one."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of topics."""

    @property
    def mean_msgs_s(self) -> Reals:
        """Mean rates."""

    @property
    def replication(self) -> Reals:
        """Copies of a message."""

    @property
    def filters(self) -> Reals:
        """Filters that a message is held against."""

    @property
    def message_bytes(self) -> Reals:
        """Bytes of a message."""

    @property
    def loadings(self) -> Reals | None:
        """Topics x factors."""

    @property
    def own(self) -> Reals | None:
        """What factors leave of each variance."""

    def block(self, rows: Any, columns: Any) -> Reals:
        """Part of the covariance, in (msgs/s)^2."""


@dataclass(frozen=True, slots=True)
class Input:
    """A problem, and what was done to make it one."""

    problem: Problem
    members: csr_array
    """topics of the statistics x items."""
    notes: tuple[str, ...]
    """What a user should know."""


def problem_of(
    federation: Federation,
    stats: Statistics,
    *,
    capacities: Mapping[str, Performance] | None = None,
    without: Collection[str] = (),
    silent: bool = False,
) -> Input:
    """The problem of a federation: items, rates, costs, rules.

    `capacities` stand in where the file has none; brokers `without` are emptied; with `silent`
    items of which no rate is known carry nothing. Raises UsageError, which names the item or
    broker, for what is missing or cannot be.
    """
    brokers, out = tuple(federation.brokers), _left_out(federation, without)
    speeds = _speeds(federation, capacities or {}, out)
    items = items_of(federation)
    if not items:
        raise UsageError("nothing to place: the federation has no topics")
    members, notes = _members(items, stats, silent=silent)
    traffic = _traffic(members, stats)
    spread, repair = _spread(tuple(items), members, stats)
    rules, assumed = _rules(federation, tuple(items), brokers, out)
    limits = [federation.placement.limits_of(name) for name in brokers]
    used = np.array([1.0 if one.utilisation is None else one.utilisation for one in limits])
    found = problem(
        traffic.rate_msgs_s,
        spread,
        used,
        work_s=work_s(speeds, traffic),
        items=tuple(items),
        brokers=brokers,
        replication=traffic.replication,
        bytes_each=averaged(members, stats.mean_msgs_s, stats.message_bytes),
        rules=rules,
    )
    return Input(found, members, (*repair, *notes, *assumed))


def peaks_of(found: Input, counts: Any, window_s: float) -> Peaks:
    """Messages of items in the windows of the peak, from those of topics (windows x topics)."""
    return Peaks((counts @ found.members).toarray(), window_s)


def _left_out(federation: Federation, without: Collection[str]) -> frozenset[str]:
    for name in without:
        if name not in federation.brokers:
            raise UsageError(f"there is no broker {name!r} in {federation.name}")
    if not set(federation.brokers) - set(without):
        raise UsageError("all brokers are left out: there is nowhere to place anything")
    return frozenset(without)


def _speeds(
    federation: Federation, capacities: Mapping[str, Performance], out: frozenset[str]
) -> list[Performance]:
    """What a message costs each broker; of one that is left out it need not be known."""
    known = {
        name: _speed(federation, name, capacities) for name in federation.brokers if name not in out
    }
    some = next(iter(known.values()))
    return [
        known.get(name) or federation.brokers[name].capacity or capacities.get(name) or some
        for name in federation.brokers
    ]


def _speed(federation: Federation, name: str, capacities: Mapping[str, Performance]) -> Performance:
    speed = federation.brokers[name].capacity or capacities.get(name)
    if speed is None:
        raise UsageError(
            f"broker {name}: its capacity is not known: give `capacity` in the file, or run"
            f" `ropewalk pipeline calibrate`, or leave it out with --without {name}"
        )
    if speed.receive_us <= 0 and speed.send_us <= 0 and speed.filter_us <= 0:
        raise UsageError(f"broker {name}: a message costs it nothing: give costs above 0")
    return speed


def _members(
    items: Mapping[str, Sequence[str]], stats: Statistics, *, silent: bool
) -> tuple[csr_array, list[str]]:
    """Which topics of the statistics are in which item."""
    place = {name: number for number, name in enumerate(stats.names)}
    number = {topic: i for i, topics in enumerate(items.values()) for topic in topics}
    holder = {topic: number[topic] for topic in place if topic in number}
    patterns = [topic for topic in number if is_pattern(topic)]
    for pattern, topic in held(patterns, stats.names):
        holder.setdefault(topic, number[pattern])
    rows, columns = [place[topic] for topic in holder], list(holder.values())
    known = set(columns)
    missing = [item for i, item in enumerate(items) if i not in known]
    if missing and not silent:
        raise UsageError(
            f"item {missing[0]}: no rate is known of it"
            + (f" (nor of {len(missing) - 1} others)" if len(missing) > 1 else "")
            + ": give one, or say --silent if it carries nothing"
        )
    notes = (
        [f"{_items(len(missing))} without a rate, and taken to carry nothing"] if missing else []
    )
    if spare := len(place) - len(holder):
        notes.append(f"topics of the statistics that are in no item, and left out: {spare}")
    shape = (len(place), len(items))
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape), notes


def _traffic(members: csr_array, stats: Statistics) -> Traffic:
    return Traffic(
        members.T @ stats.mean_msgs_s,
        averaged(members, stats.mean_msgs_s, stats.replication),
        averaged(members, stats.mean_msgs_s, stats.filters),
    )


def _spread(
    items: tuple[str, ...], members: csr_array, stats: Statistics
) -> tuple[Spread, list[str]]:
    if len(items) > MOST_DENSE and stats.loadings is not None and stats.own is not None:
        text = f"factors stand for the covariance of {len(items):,} items"
        return Spread.factors(members.T @ stats.loadings, members.T @ stats.own), [text]
    across = np.zeros((len(stats.names), len(items)))
    everything = slice(0, len(stats.names))
    for first in range(0, len(stats.names), ROWS):
        rows = slice(first, min(first + ROWS, len(stats.names)))
        across[rows] = stats.block(rows, everything) @ members
    matrix = members.T @ across
    check_matrix(items, matrix)
    found = repaired(matrix)
    return Spread.dense(found.matrix), [found.text] if found.changed else []


def _rules(
    federation: Federation, items: tuple[str, ...], brokers: tuple[str, ...], out: frozenset[str]
) -> tuple[Rules, list[str]]:
    placement = federation.placement
    number = {name: b for b, name in enumerate(brokers)}
    today, guessed = _today(federation, items, number)
    allowed = np.zeros((len(brokers), len(items)), np.bool_)
    pinned, notes = set(placement.pinned), []
    for i, item in enumerate(items):
        may = [number[name] for name in brokers_for(federation, item) if name not in out]
        if item in pinned and today[i] >= 0:
            if brokers[today[i]] not in out:
                may = [int(today[i])]
            else:
                notes.append(
                    f"{item} is pinned to {brokers[today[i]]}, which is left out: it moves"
                )
        allowed[may, i] = True
        if not may:
            raise UsageError(f"item {item}: no broker is left that it may be on")
    limits = [placement.limits_of(name) for name in brokers]

    def most(name: str, scale: float = 1.0) -> Reals:
        given = [getattr(one, name) for one in limits]
        return np.array([np.inf if one is None else one * scale for one in given])

    sites = tuple(dict.fromkeys(federation.brokers[name].site or "" for name in brokers))
    at = [placement.sites.get(site) for site in sites]
    place = {item: i for i, item in enumerate(items)}
    rules = Rules(
        allowed,
        today,
        apart=tuple(tuple(place[item] for item in group) for group in placement.apart),
        most_moves=placement.limits.moves,
        least_margin=np.array([floor_of(one.risk) for one in limits]),
        most_service_s=most("service_us", US),
        most_delay_s=most("delay_us", US),
        most_replication=most("replication"),
        most_items=most("items"),
        most_bytes_s=most("volume_bytes_s"),
        site=np.array([sites.index(federation.brokers[name].site or "") for name in brokers]),
        sites=sites,
        most_items_at=np.array(
            [np.inf if one is None or one.items is None else one.items for one in at]
        ),
        most_rate_at=np.array(
            [np.inf if one is None or one.rate_msgs_s is None else one.rate_msgs_s for one in at]
        ),
    )
    if guessed:
        notes.append(f"{_items(guessed)} taken to be where most publishers of it are")
    return rules, notes


def _items(count: int) -> str:
    return "1 item is" if count == 1 else f"{count:,} items are"


def _today(
    federation: Federation, items: tuple[str, ...], number: Mapping[str, int]
) -> tuple[Ints, int]:
    """Where items are; of those with publishers at several brokers, where most of these are."""
    topics = items_of(federation)
    place, guessed = np.full(len(items), NOWHERE), 0
    for i, item in enumerate(items):
        at = place_of(federation, item)
        if at is None:
            publishers = [
                broker_of(one)
                for name in topics[item]
                for one in federation.topics[name].publishers
            ]
            if publishers:
                order = federation.lookup.number.__getitem__
                at = max(sorted(set(publishers), key=order), key=publishers.count)
                guessed += at in number
        place[i] = number.get(at, NOWHERE) if at is not None else NOWHERE
    return place, guessed
