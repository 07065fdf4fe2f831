"""An agent's metrics: their names in one table, and their text for Prometheus.

Names that OpenTelemetry has for messaging are its own, as Prometheus spells them; the others begin
with `ropewalk_`. A snapshot gives a number for a name; or, where the table has labels, a mapping
from the label's value (several: a tuple of them) to numbers; or a `Spread` for a histogram.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Spread:
    """What a histogram has counted."""

    counts: tuple[tuple[float, int], ...]
    """Up to which value, and how many were not above it; rising, without the last."""
    total: int
    """How many there were."""
    sum: float
    """Of all values."""


Value = float | Spread
Labelled = Mapping[Any, Value]
"""By the value of a label, or by a tuple of the values of several."""
Snapshot = Mapping[str, Value | Labelled]


@dataclass(frozen=True, slots=True)
class Named:
    """A metric."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


_WAY = ("messaging_system", "messaging_operation_name")
TABLE = (
    Named(
        "messaging_client_sent_messages_total",
        "counter",
        "Messages given to brokers: deliver to clients of its own, forward to neighbours.",
        _WAY,
    ),
    Named(
        "messaging_client_consumed_messages_total",
        "counter",
        "Messages taken from brokers: take from clients of its own, receive from neighbours.",
        _WAY,
    ),
    Named(
        "messaging_process_duration_seconds",
        "histogram",
        "From the reading of a message to its custody, delivery or forwarding.",
        _WAY,
    ),
    Named("ropewalk_agent_info", "gauge", "Always 1.", ("broker", "make", "version")),
    Named("ropewalk_broker_up", "gauge", "1 if the agent's own broker can be reached."),
    Named(
        "ropewalk_links", "gauge", "Links of this broker by state: up, suspect, down.", ("state",)
    ),
    Named("ropewalk_link_up", "gauge", "1 if the link to a neighbour is up.", ("neighbour",)),
    Named("ropewalk_link_reconnects_total", "counter", "Connections made anew.", ("neighbour",)),
    Named("ropewalk_false_alarms_total", "counter", "Links held for down that were not."),
    Named("ropewalk_deaths_total", "counter", "Links held for down."),
    Named("ropewalk_custody_messages", "gauge", "Messages in custody, by destination.", ("to",)),
    Named("ropewalk_held_messages", "gauge", "Messages held back for their order."),
    Named("ropewalk_resent_messages_total", "counter", "Messages sent again."),
    Named("ropewalk_doubles_dropped_total", "counter", "Messages that had come before."),
    Named("ropewalk_log_bytes", "gauge", "Size of the custody log."),
    Named("ropewalk_log_records_total", "counter", "Records that are safe in the custody log."),
    Named("ropewalk_log_failing", "gauge", "1 while the custody log cannot be written."),
    Named("ropewalk_refused_words_total", "counter", "Neighbours' words refused.", ("reason",)),
    Named("ropewalk_refused_messages_total", "counter", "Publications refused.", ("reason",)),
    Named("ropewalk_broker_utilisation", "gauge", "Of what the broker keeps up with."),
    Named("ropewalk_broker_overloaded", "gauge", "1 while some figure of it is too high."),
    Named("ropewalk_carried_items", "gauge", "Items of dead brokers that this one carries."),
    Named("ropewalk_epoch", "gauge", "Epoch of the chart in use."),
    Named("ropewalk_stalled_seconds_total", "counter", "Time that the agent itself slept through."),
)
"""Every metric; shown in this order."""
_BY_NAME = {one.name: one for one in TABLE}


def exposition(values: Snapshot) -> bytes:
    """The text for Prometheus of what a snapshot holds.

    Raises ValueError for a name that the table does not have.

    >>> print(exposition({"ropewalk_links": {"up": 2, "down": 1}}).decode(), end="")
    # HELP ropewalk_links Links of this broker by state: up, suspect, down.
    # TYPE ropewalk_links gauge
    ropewalk_links{state="up"} 2.0
    ropewalk_links{state="down"} 1.0
    """
    if strange := values.keys() - _BY_NAME.keys():
        raise ValueError(f"no metrics of this table: {', '.join(sorted(strange))}")
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Taken(values))
    return generate_latest(registry)


class _Taken(Collector):
    """A snapshot, as Prometheus' library wants to collect it."""

    def __init__(self, values: Snapshot) -> None:
        self._values = values

    def collect(self) -> Iterator[Metric]:
        """Every metric that has a value."""
        for named in TABLE:
            if named.name in self._values:
                yield _family(named, self._values[named.name])


def _family(named: Named, value: Value | Labelled) -> Metric:
    cells: list[tuple[Sequence[str], Value]] = (
        [((), value)]
        if not isinstance(value, Mapping)
        else [((key,) if isinstance(key, str) else key, one) for key, one in value.items()]
    )
    make = {"counter": _counter, "gauge": _gauge, "histogram": _histogram}[named.kind]
    return make(named, cells)


Cells = Sequence[tuple[Sequence[str], Value]]


def _counter(named: Named, cells: Cells) -> Metric:
    family = CounterMetricFamily(named.name, named.help, labels=named.labels)
    for labels, value in cells:
        family.add_metric(labels, _number(value))
    return family


def _gauge(named: Named, cells: Cells) -> Metric:
    family = GaugeMetricFamily(named.name, named.help, labels=named.labels)
    for labels, value in cells:
        family.add_metric(labels, _number(value))
    return family


def _histogram(named: Named, cells: Cells) -> Metric:
    family = HistogramMetricFamily(named.name, named.help, labels=named.labels)
    for labels, value in cells:
        if not isinstance(value, Spread):
            raise TypeError(f"{named.name} is a histogram: give it a Spread")
        buckets = [(str(float(upto)), float(count)) for upto, count in value.counts]
        family.add_metric(labels, [*buckets, ("+Inf", value.total)], value.sum)
    return family


def _number(value: Value) -> float:
    if isinstance(value, Spread):
        raise TypeError("a Spread is for histograms only")
    return value
