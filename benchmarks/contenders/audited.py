"""The agents' traces of a lab through Spark, and whether they tell what clients have counted."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk.agent.drive import DriveResult
from ropewalk.federation import Federation
from ropewalk.pipeline.audit.job import audit
from ropewalk.pipeline.audit.results import result_of
from ropewalk.pipeline.ingest.job import ingest
from ropewalk.pipeline.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEADLINE_NS = 120 * 10**9
LOST = "A001"


@contextmanager
def spark_here() -> Iterator["SparkSession"]:
    """A session of this benchmark's own."""
    spark = session()
    try:
        yield spark
    finally:
        spark.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What the traces of a lab prove."""

    rows: int
    quarantined: int
    violations: dict[str, int]
    lost: dict[str, int]
    """Messages that never came, by topic."""
    unchecked: list[str]
    """Codes that could not be checked: then nothing is agreed on."""

    def agrees(self, lost: dict[str, int]) -> bool:
        """Whether clients missed just what the traces say is lost."""
        return LOST not in self.unchecked and self.lost == lost

    def as_dict(self, lost: dict[str, int]) -> dict[str, Any]:
        """For the benchmark's document."""
        names = ("rows", "quarantined", "violations", "unchecked")
        return {**{name: getattr(self, name) for name in names}, "agrees": self.agrees(lost)}


def audited(spark: "SparkSession", lab: Path, federation: Federation) -> Audited:
    """Take a lab's traces in and hold them against the contracts."""
    done = ingest(spark, [lab / "traces"], lab / "store")
    found = result_of(audit(spark, done.store, federation, deadline_ns=DEADLINE_NS), done.store)
    rows = found.violations.select(["code", "topic"]).to_pylist()
    return Audited(
        rows=done.good,
        quarantined=done.quarantined,
        violations=dict(sorted(Counter(row["code"] for row in rows).items())),
        lost=dict(Counter(row["topic"] for row in rows if row["code"] == LOST)),
        unchecked=sorted({one["code"] for one in found.summary["unchecked"]}),
    )


def lost_by_topic(results: Iterable[DriveResult]) -> dict[str, int]:
    """What clients missed, by topic; topics of which nothing was lost are left out."""
    lost: Counter[str] = Counter()
    for result in results:
        for pair in result.pairs:
            lost[pair.stream.topic] += pair.figures.lost
    return dict(+lost)
