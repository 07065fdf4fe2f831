"""A stream that runs until it is stopped, or until nothing more is there."""

import fcntl
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.federation.saving import write_text
from ropewalk.pipeline.audit.job import DEADLINE_NS
from ropewalk.pipeline.folders import alone
from ropewalk.pipeline.plainly import plainly
from ropewalk.pipeline.stream.kept import CHECKPOINT, Pause, last_step, load, log, publish
from ropewalk.pipeline.stream.sources import Growing
from ropewalk.pipeline.stream.step import (
    DELAY_NS,
    WINDOW_NS,
    Plan,
    catch_up,
    no_pause,
    take_batch,
)
from ropewalk.protocol.automaton import Automaton

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BUSY, TOKEN = "busy", "token"
LOOKS_EVERY_S = 1
"""How often a running stream looks whether it is to stop."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """What a run did, and how things stand at its end."""

    batches: int
    rows: int
    quarantined: int
    found: int
    withdrawn: int
    closed: int
    corrected: int
    violations: int
    watermark_ns: int | None
    stopped: bool

    @property
    def summary(self) -> dict[str, Any]:
        """For a report."""
        return {name: getattr(self, name) for name in self.__slots__}


def run(
    spark: "SparkSession",
    source: Growing,
    folder: Path,
    federation: Federation,
    *,
    once: bool = False,
    interval_s: float = 10.0,
    delay_ns: int = DELAY_NS,
    window_ns: int = WINDOW_NS,
    deadline_ns: int = DEADLINE_NS,
    protocols: Mapping[str, Automaton] | None = None,
    buckets: int | None = None,
    pause: Pause = no_pause,
) -> Streamed:
    """Take in what a source gives, into the store in `folder`, and tell what changes.

    With `once` it ends when all that is there now is done; else at SIGINT or SIGTERM. Raises
    UsageError for settings that do not fit what is there, and for a source that cannot be read.
    """
    for name, value, least in (
        ("delay", delay_ns, 0),
        ("window", window_ns, 1),
        ("deadline", deadline_ns, 0),
        ("interval", interval_s, 0),
    ):
        if value < least:
            raise UsageError(f"the {name} is {value}: {least} is the least")
    plan = Plan(
        folder.resolve(),
        federation,
        delay_ns,
        window_ns,
        deadline_ns,
        protocols or {},
        buckets,
        pause=pause,
    )
    plan.stage.mkdir(parents=True, exist_ok=True)
    with alone(plan.folder), _stopping() as stop:
        before = last_step(plan.stage)
        plan = replace(plan, checkpoint=_checkpoint(plan.stage))
        catch_up(spark, plan)
        _flow(spark, source, plan, once, interval_s, stop)
        publish(plan.stage, load(plan.stage))
        return _streamed(plan.stage, before, stop.is_set())


def _flow(
    spark: "SparkSession",
    source: Growing,
    plan: Plan,
    once: bool,
    interval_s: float,
    stop: threading.Event,
) -> None:
    """Batch after batch, until nothing is left or somebody says stop."""
    token = uuid4().hex
    write_text(plan.stage / TOKEN, token)
    frame = source.frame(spark)
    writer = frame.writeStream.foreachBatch(_taker(plan, token, source.reads_twice))
    writer = writer.option("checkpointLocation", str(plan.stage / CHECKPOINT))
    with plainly():
        if once:
            query = writer.trigger(availableNow=True).start()
        else:
            query = writer.trigger(processingTime=f"{interval_s} seconds").start()
        try:
            while not stop.is_set() and not query.awaitTermination(LOOKS_EVERY_S):
                pass
        finally:
            _end(plan.stage, query)


def _taker(plan: Plan, token: str, reads_twice: bool) -> Callable[["DataFrame", int], None]:
    """What Spark calls for each batch; all that it needs goes along, also to another process."""

    def take(frame: "DataFrame", batch: int) -> None:
        with _held(plan.stage / BUSY):
            if not (plan.stage / TOKEN).exists() or (plan.stage / TOKEN).read_text() != token:
                raise InterruptedError("the stream was stopped")  # Spark must not count the batch
            if reads_twice:
                take_batch(plan, frame, batch)
                return
            frame = frame.persist()
            try:
                take_batch(plan, frame, batch)
            finally:
                frame.unpersist()

    return take


def _end(stage: Path, query: "StreamingQuery") -> None:
    """Let the batch that is on end, and no other begin."""
    with _held(stage / BUSY):
        (stage / TOKEN).unlink(missing_ok=True)
    query.stop()


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """A lock that other processes see, and that ends with this one however it ends."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set, where signals can be had."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {one: signal.signal(one, ask) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _checkpoint(stage: Path) -> str:
    """The name of Spark's checkpoint, which is given to it when it is made.

    Who removes the checkpoint removes the name: numbers of batches then begin anew.
    """
    path = stage / CHECKPOINT / ".name"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        write_text(path, uuid4().hex)
    return path.read_text()


def _streamed(stage: Path, before: int, stopped: bool) -> Streamed:
    steps = [line for line in log(stage, before) if line["op"] == "batch"]
    kept = load(stage)
    names = ("rows", "quarantined", "found", "withdrawn", "closed", "corrected")
    sums = {name: sum(step[name] for step in steps) for name in names}
    mark = kept.figures.watermark_ns if kept.figures.files else None
    return Streamed(
        batches=len(steps),
        **sums,
        violations=len(kept.violations),
        watermark_ns=mark,
        stopped=stopped,
    )
