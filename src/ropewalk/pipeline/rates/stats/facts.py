"""What is known of topics: how much they carry, how they vary together, what a message costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ropewalk.pipeline.rates.covariance import Part, Precision
from ropewalk.pipeline.rates.grid import Numbers, Reals
from ropewalk.pipeline.rates.tally import Longs


@dataclass(frozen=True, slots=True)
class Counts:
    """Messages of windows x topics, row after row; windows without messages have no row."""

    starts: Longs
    """Where each row begins, and the end."""
    columns: Longs
    """Topics, by place."""
    counts: Longs
    at: Longs
    """The number of each row's window, ascending: numbers in a row are neighbours in time."""
    ranges: Longs
    """The windows that were chosen, as [start, stop) each; also those without messages."""

    @property
    def windows(self) -> int:
        """How many windows were chosen, with those that have no message."""
        return int((self.ranges[:, 1] - self.ranges[:, 0]).sum())

    def matrix(self, topics: int) -> Any:
        """The rows that have messages, as a scipy array of float64."""
        shape = (len(self.at), topics)
        return csr_array((self.counts.astype(np.float64), self.columns, self.starts), shape=shape)

    def by_window(self, topics: int) -> Any:
        """The same with a row for every window that was chosen, in order of time."""
        wide = self.ranges[:, 1] - self.ranges[:, 0]
        before = np.cumsum(wide) - wide
        at = np.searchsorted(self.ranges[:, 0], self.at, "right") - 1
        filled = np.zeros(self.windows, np.int64)
        filled[before[at] + self.at - self.ranges[at, 0]] = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(filled)])
        shape = (self.windows, topics)
        return csr_array((self.counts.astype(np.float64), self.columns, starts), shape=shape)


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of topics, all in one order."""

    names: tuple[str, ...]
    mean_msgs_s: Reals
    stored: Numbers
    """The covariance in its own unit, maybe on disk: use `block` or `dense`."""
    scale: float
    """What makes (msgs/s)^2 of it."""
    replication: Reals
    """Deliveries per message; 0 where there was no message."""
    filters: Reals
    """Clients that were delivered to."""
    message_bytes: Reals
    """Bytes per message, on average; an unknown size is 0."""
    window_s: float | None = None
    """Length of the windows that were counted; None where it is not known."""
    windows: int | None = None
    """How many windows were counted; None where it is not known."""
    loadings: Reals | None = None
    """Topics x factors, in msgs/s; None where nobody looked for factors."""
    own: Reals | None = None
    """What factors leave of each variance, in (msgs/s)^2."""
    counts: Counts | None = None

    def place(self, names: Sequence[str]) -> list[int]:
        """The places of some topics; raises KeyError for a topic that is not there."""
        known = {name: place for place, name in enumerate(self.names)}
        return [known[name] for name in names]

    def block(self, rows: Part, columns: Part) -> Reals:
        """Covariances of some rows and columns, by place, in (msgs/s)^2."""
        part: Reals = np.array(self.stored[rows][:, columns], np.float64)
        part *= self.scale
        return part

    def dense(self, *, precision: Precision = "float64") -> Numbers:
        """The whole covariance, in memory, in (msgs/s)^2."""
        whole: Numbers = np.array(self.stored, precision)
        whole *= whole.dtype.type(self.scale)
        return whole

    @property
    def variance(self) -> Reals:
        """The variance of each topic, in (msgs/s)^2."""
        values: Reals = np.array(self.stored.diagonal(), np.float64) * self.scale
        return values
