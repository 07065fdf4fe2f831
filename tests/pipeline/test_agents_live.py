"""Agents beside real NATS servers: broken in every way, they lose nothing, and the audit agrees."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ropewalk import load, loads
from ropewalk.agent.drive import DrivePlan, DriveResult, drive
from ropewalk.agent.drive.shaking import random_faults
from ropewalk.agent.lab.lab import Lab
from ropewalk.pipeline.audit.job import audit
from ropewalk.pipeline.audit.results import result_of
from ropewalk.pipeline.ingest.job import ingest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DIAMOND = loads("""
federation: diamond
brokers: {a: {}, b: {}, c: {}, d: {}}
links:
  - {between: [a, b], latency_ms: 1}
  - {between: [b, d], latency_ms: 1}
  - {between: [a, c], latency_ms: 1, cost: 2}
  - {between: [c, d], latency_ms: 1, cost: 2}
topics:
  there/x: {publishers: [a], subscribers: [d]}
  back/y: {publishers: [d], subscribers: [a, b]}
""")
SEED, FAULTS = 8, 4


class Running:
    """A lab at work, and all that was sent and came in its runs."""

    def __init__(self, runner: asyncio.Runner, lab: Lab) -> None:
        self.runner, self.lab = runner, lab
        self.received = 0
        self.stopped = False

    def drive(self, *faults: str, seconds: float = 4.0) -> DriveResult:
        plan = DrivePlan(
            federation=load(self.lab.layout.file),
            rate_msgs_s=300,
            seconds=seconds,
            faults=faults,
            fault=self._fault,
            settle_s=30,
            warm_up_s=60,
        )
        result = self.runner.run(drive(plan))
        self.runner.run(self.lab.fault("heal", "all"))
        self.received += sum(pair.figures.received for pair in result.pairs)
        return result

    def stop(self) -> None:
        self.stopped = True
        self.runner.run(self.lab.stop())

    async def _fault(self, text: str) -> None:
        await self.lab.fault(*text.split(" ", 2))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with asyncio.Runner() as runner:
        found = Running(runner, Lab(DIAMOND, tmp_path_factory.mktemp("lab")))
        try:
            runner.run(found.lab.start())
            yield found
        finally:
            if not found.stopped:
                found.stop()


def check(result: DriveResult, *, doubles: bool = False) -> None:
    assert not result.silent
    for pair in result.pairs:
        figures = pair.figures
        assert figures.acknowledged > 100
        assert (figures.lost, figures.uncertain_lost, figures.disordered) == (0, 0, 0), figures
        assert doubles or figures.doubled == 0, figures


def test_a_transit_broker_that_dies_costs_nothing(running: Running) -> None:
    result = running.drive("at 1 s kill b for 1 s")
    check(result)
    there = next(one.figures for one in result.pairs if one.reader.broker == "d")
    assert there.received == there.sent


def test_a_destination_that_stands_still_while_its_backup_path_is_used(running: Running) -> None:
    # With local failover and transit de-duplication this loses hundreds: the neighbour takes the
    # destination for dead and turns messages back.
    check(running.drive("at 1 s blackhole a--b for 2 s", "at 2 s pause agent:d for 120 ms"))


@pytest.mark.timeout(400)
def test_random_faults_lose_nothing_and_the_audit_agrees(
    running: Running, spark: "SparkSession", tmp_path: Path
) -> None:
    faults = random_faults(DIAMOND, seed=SEED, count=FAULTS, seconds=4.0 * FAULTS)
    check(running.drive(*faults, seconds=4.0 * FAULTS + 2), doubles=True)
    running.stop()
    done = ingest(spark, [running.lab.layout.folder / "traces"], tmp_path / "store", buckets=1)
    assert done.quarantined == 0
    assert done.good > 1.5 * running.received, "accepted by one agent, delivered by one or two"
    result = result_of(audit(spark, done.store, DIAMOND, deadline_ns=120 * 10**9), done.store)
    assert not result.violations.num_rows, result.violations.to_pylist()[:5]
    assert not {one["code"] for one in result.summary["unchecked"]} & {"A001", "A002", "A004"}
