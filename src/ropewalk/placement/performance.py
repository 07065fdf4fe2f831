"""What a set of items costs a broker (Wang 2015, 4.4.2 and 4.5.6.1).

The work of a message is T = t_rcv + n_fltr * t_fltr + r * t_tx. Of several items, n_fltr and r are
averages over their messages; as T is linear in both, the work of a set is the sum of its items'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.federation.facts import Performance

Reals = npt.NDArray[np.float64]
US = 1e-6


@dataclass(frozen=True, slots=True)
class Traffic:
    """What items bring: a number each."""

    rate_msgs_s: Reals
    replication: Reals
    """Copies that leave, of a message."""
    filters: Reals
    """Filters that a message is held against."""


def averaged(members: Any, rate_msgs_s: Reals, values: Reals) -> Reals:
    """Averages of topics over the messages of each item (4.5.6.1); over topics where it has none.

    `members` is topics x items.

    >>> averaged(np.ones((2, 1)), np.array([30.0, 10.0]), np.array([2.0, 6.0])).tolist()
    [3.0]
    """
    rate, above = members.T @ rate_msgs_s, members.T @ (rate_msgs_s * values)
    plain = (members.T @ values) / np.maximum(members.sum(0), 1)
    found: Reals = np.where(rate > 0, above / np.where(rate > 0, rate, 1), plain)
    return found


def work_s(brokers: Sequence[Performance], traffic: Traffic) -> Reals:
    """Seconds of work of one message: brokers x items.

    >>> activemq = Performance(receive_us=48.81, filter_us=0.162, send_us=16.4)
    >>> one = Traffic(np.array([100.0]), np.array([10.0]), np.array([3.0]))
    >>> round(1 / float(work_s([activemq], one)[0, 0]))
    4688
    """
    receive, filter_, send = (
        np.array([getattr(one, name) for one in brokers])[:, None]
        for name in ("receive_us", "filter_us", "send_us")
    )
    found: Reals = (receive + filter_ * traffic.filters + send * traffic.replication) * US
    return found


def delay_s(service_s: Reals, utilisation: Reals) -> Reals:
    """Mean time of a message in a broker, waiting included: T / (1 - utilisation).

    Arrivals at random and work of any length, shared fairly. A broker at its capacity never ends.
    """
    free = 1 - utilisation
    return np.where(free > 0, service_s / np.where(free > 0, free, 1.0), np.inf)
