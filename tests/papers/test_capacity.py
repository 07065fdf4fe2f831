"""Wang 2015, 4.2 and table 4-5: what a message costs ActiveMQ, and how many it keeps up with."""

import numpy as np
import pytest

from ropewalk.federation.facts import Performance
from ropewalk.pipeline.calibrate import Calibration, Observations, fit

TABLE_4_5 = Performance(receive_us=48.81, filter_us=0.162, send_us=16.4)
PRINTED_MSGS_S = 4688


def test_the_printed_capacity_follows_from_the_printed_costs() -> None:
    capacity = TABLE_4_5.capacity_msgs_s(filters=3, replication=10)
    assert int(capacity) == PRINTED_MSGS_S


def test_calibration_of_a_broker_with_these_costs_gives_the_printed_capacity() -> None:
    """Windows around the table's setting, r = 10 and n = 3, a twentieth of them wild."""
    rng = np.random.default_rng(1)
    filters, replication = rng.uniform(0, 300, 400), rng.uniform(1, 20, 400)
    true = np.array(
        [
            TABLE_4_5.service_us(filters=n, replication=r)
            for n, r in zip(filters, replication, strict=True)
        ]
    )
    seen = true * (1 + 0.02 * rng.standard_normal(400))
    seen[:20] *= 5
    found = Calibration("activemq", fit(Observations(filters, replication, seen, np.ones(400))))
    assert found.capacity_msgs_s(filters=3, replication=10) == pytest.approx(
        PRINTED_MSGS_S, rel=0.01
    )
