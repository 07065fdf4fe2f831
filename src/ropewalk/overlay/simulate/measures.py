"""What a run of the packet network shows: every packet's fate, and the figures of 6.3.2."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ropewalk.federation.arrays import Graph
from ropewalk.overlay.simulate.packets import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Who sends what to whom, and what happens meanwhile; brokers and links are numbers.

    Times are in units, from when data is first sent. The values are those of Jia 2014, 6.3.2, but
    for `warm_up`: the thesis' figures start with a network that has found its routes.
    """

    source: int
    to: int
    link: int
    fail: float = 50
    recover: float = 100
    until: float = 150
    every: float = 1
    """Between two data packets."""
    warm_up: float = 60
    """How long the routers run before."""
    drain: float = 10
    """How long packets have to arrive after the last was sent."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one data packet; times in units."""

    number: int
    sent: float
    latency: float | None
    """None: lost."""
    path: tuple[str, ...]
    lost_at: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """One scheme's figures; times in units, None where it never happened."""

    scheme: str
    sent: int
    lost: int
    lost_in_loops: int
    """Of those, by the hop limit or a full queue."""
    duplicated: int
    """Deliveries beyond the first."""
    detected: float | None
    """From the failure to the first end that holds the link for down."""
    reconverged: float | None
    """From the failure to the first arrival of a packet that was sent after it."""
    back: float | None
    """From the recovery to the first arrival by the path from before the failure."""
    path_before: tuple[str, ...]
    path_during: tuple[str, ...]
    """The most used from reconvergence to the recovery."""
    latency_before: float | None
    latency_during: float | None
    """Medians."""
    control_packets: int
    control_bits: int
    """From the first data packet to the last, hellos and heartbeats included."""
    news_packets: int
    news_bits: int
    """Of those, what is not a hello or heartbeat."""


REGULAR = frozenset(["Hello", "HeartBeat", "Beat", "BeatAck"])
"""Control packets that are sent whether anything happens or not."""


def fates_of(log: Log, graph: Graph, course: Course, unit_us: int) -> tuple[Fate, ...]:
    """Every data packet in the order of sending."""
    zero_us = course.warm_up * unit_us
    return tuple(
        _fate(log, graph, number, (sent_us - zero_us) / unit_us, unit_us)
        for number, sent_us in sorted(log.sent.items())
    )


def _fate(log: Log, graph: Graph, number: int, sent: float, unit_us: int) -> Fate:
    path = tuple(graph.names[b] for b in log.path(number))
    if number in log.arrived:
        latency = (log.arrived[number][0] - log.sent[number]) / unit_us
        return Fate(number, sent, latency, path)
    _, where, why = log.losses.get(number, [(0, "", "on the way at the end")])[-1]
    return Fate(number, sent, None, path, where, why)


def measure(
    scheme: str, log: Log, fates: tuple[Fate, ...], course: Course, unit_us: int
) -> Measures:
    """The figures of one run."""
    lost = [one for one in fates if one.latency is None]
    before = [one for one in fates if one.sent < course.fail]
    path_before = _most_used(before)
    again = _first_arrival(fates, course.fail)
    settled = course.recover if again is None else again
    during = [one for one in fates if settled <= one.sent < course.recover - course.every]
    old = tuple(one for one in fates if one.path == path_before)
    back = _first_arrival(old, course.recover)
    start_us, end_us = _us(course.warm_up, unit_us), _us(course.warm_up + course.until, unit_us)
    control = [one for one in log.control if start_us <= one[0] < end_us]
    news = [one for one in control if one[2] not in REGULAR]
    return Measures(
        scheme=scheme,
        sent=len(fates),
        lost=len(lost),
        lost_in_loops=sum(one.why in ("hop limit", "queue full") for one in lost),
        duplicated=sum(len(times) - 1 for times in log.arrived.values()),
        detected=_detected(log, course, unit_us),
        reconverged=None if again is None else again - course.fail,
        back=None if back is None else back - course.recover,
        path_before=path_before,
        path_during=_most_used(during),
        latency_before=_median(before),
        latency_during=_median(during),
        control_packets=len(control),
        control_bits=sum(bits for _, bits, _ in control),
        news_packets=len(news),
        news_bits=sum(bits for _, bits, _ in news),
    )


def phases(fates: tuple[Fate, ...]) -> list[tuple[float, tuple[str, ...] | None]]:
    """When packets began to take another path; None while they are lost."""
    told = [(one.sent, None if one.latency is None else one.path) for one in fates]
    return told[:1] + [new for old, new in pairwise(told) if old[1] != new[1]]


def _first_arrival(fates: tuple[Fate, ...], since: float) -> float | None:
    arrivals = [
        one.sent + one.latency for one in fates if one.latency is not None and one.sent >= since
    ]
    return min(arrivals, default=None)


def _most_used(fates: list[Fate]) -> tuple[str, ...]:
    paths = Counter(one.path for one in fates if one.latency is not None)
    return paths.most_common(1)[0][0] if paths else ()


def _median(fates: list[Fate]) -> float | None:
    latencies = [one.latency for one in fates if one.latency is not None]
    return median(latencies) if latencies else None


def _detected(log: Log, course: Course, unit_us: int) -> float | None:
    fail_us = _us(course.warm_up + course.fail, unit_us)
    times = [
        when
        for when, _, link, up in log.noticed
        if link == course.link and not up and when >= fail_us
    ]
    return (min(times) - fail_us) / unit_us if times else None


def _us(units: float, unit_us: int) -> int:
    return round(units * unit_us)
