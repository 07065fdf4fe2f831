"""One micro-batch: rows are taken in, windows counted, buckets judged, and what changed is told.

Each part can be done again. Files that are in the store already are known by their digests, and
what a step has to count and judge follows from what the store has more than the step before saw.
So a step that was killed anywhere is simply done again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.pipeline.audit.job import DEADLINE_NS, Ground, audited, ground_of
from ropewalk.pipeline.ingest.job import opened, take_in
from ropewalk.pipeline.store import MANIFEST, Manifest, Store, Stored, contents, write_manifest
from ropewalk.pipeline.stream import closing, windows
from ropewalk.pipeline.stream.changes import (
    OF_CONTROL,
    OF_CONVERSATIONS,
    Differences,
    differences,
    in_order,
    owners_of,
)
from ropewalk.pipeline.stream.kept import Figures, Kept, Pause, load, save
from ropewalk.protocol.automaton import Automaton

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELAY_NS = 10_000_000_000
WINDOW_NS = 60_000_000_000
BUCKETS = 16
SMALL = 32 << 20
"""A batch of so many bytes goes through this process: starting more costs more than it saves."""
STAGE = "stream"
"""Where in a store's folder a stream keeps its own."""


def no_pause(_: str) -> None:
    """Go on at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What a stream does, the same for all its batches."""

    folder: Path
    federation: Federation
    delay_ns: int = DELAY_NS
    window_ns: int = WINDOW_NS
    deadline_ns: int = DEADLINE_NS
    protocols: Mapping[str, Automaton] = field(default_factory=dict)
    buckets: int | None = None
    checkpoint: str = ""
    """Of which checkpoint the numbers of batches are."""
    pause: Pause = no_pause

    @property
    def stage(self) -> Path:
        """The folder of the stream's own files."""
        return self.folder / STAGE

    def settings(self) -> str:
        """What verdicts depend on beside rows: if it changes, everything is judged again."""
        automata = [
            (name, one.states, one.labels, one.initial, one.table.tolist())
            for name, one in sorted(self.protocols.items())
        ]
        told = (list(self.federation.topics.items()), self.deadline_ns, automata)
        return blake2b(repr(told).encode(), digest_size=16).hexdigest()


def take_batch(plan: Plan, frame: "DataFrame", batch: int) -> None:
    """What a stream does with the rows (path, content) of a micro-batch."""
    kept = load(plan.stage)
    if kept.figures.checkpoint == plan.checkpoint and batch <= kept.figures.batch:
        return  # it was done, and only Spark had not noted so
    spark = frame.sparkSession
    store = taken_in(spark, frame, plan)
    if _is_behind(kept.figures, store, plan):
        figures = replace(kept.figures, checkpoint=plan.checkpoint, batch=batch)
        _step(spark, store, plan, replace(kept, figures=figures))


def catch_up(spark: "SparkSession", plan: Plan) -> bool:
    """A step without new input, if the store or the settings ask for one; whether they did."""
    if not (plan.folder / MANIFEST).exists():
        return False
    kept = load(plan.stage)
    store = Store(plan.folder, opened(plan.folder, [], plan.buckets))
    _check_window(kept.figures, plan)
    if not _is_behind(kept.figures, store, plan):
        return False
    _step(spark, store, plan, kept)
    return True


def _is_behind(figures: Figures, store: Store, plan: Plan) -> bool:
    """Whether there is anything that the last step did not see."""
    files = store.manifest.files
    mark = closing.watermark(files, plan.delay_ns, figures.watermark_ns)
    now = mark, len(files), plan.settings() if files else ""
    return now != (figures.watermark_ns, figures.files, figures.settings)


def taken_in(spark: "SparkSession", frame: "DataFrame", plan: Plan) -> Store:
    """The store with the rows of a batch, which count when this ends."""
    manifest = opened(plan.folder, [], plan.buckets or (None if _exists(plan) else BUCKETS))
    found = frame.selectExpr("path", "octet_length(content) as size").collect()
    if not found:
        return Store(plan.folder, manifest)
    paths, small = [row.path for row in found], sum(row.size for row in found) <= SMALL
    taken = take_in(spark, frame, paths, plan.folder, manifest, small=small)
    plan.pause("taken in")
    if _adds_nothing(manifest, taken):
        return Store(plan.folder, manifest)
    write_manifest(plan.folder, taken)
    plan.pause("manifest")
    return Store(plan.folder, taken)


def _exists(plan: Plan) -> bool:
    return (plan.folder / MANIFEST).exists()


def _adds_nothing(before: Manifest, taken: Manifest) -> bool:
    """Whether all files of a batch are known: then it was taken in when it was killed."""
    known = {one.digest for one in before.sources}
    return all(one.digest in known for one in taken.sources[len(before.sources) :])


def _step(spark: "SparkSession", store: Store, plan: Plan, before: Kept) -> None:
    """Count and judge what the store has more than before, and tell what changed."""
    _check_window(before.figures, plan)
    _check_store(before.figures, store, plan)
    files = store.manifest.files
    since = before.figures.watermark_ns
    mark = closing.watermark(files, plan.delay_ns, since)
    counted = _counted(spark, store, plan, files[before.figures.files :])
    folded = windows.added(before.windows, counted.counts)
    folded, told = windows.told(folded, plan.window_ns, since, mark)
    ground = ground_of(store, plan.federation, plan.deadline_ns, mark, plan.protocols, mark)
    figures = _figures(before.figures, store, plan, mark, ground, counted.latest)
    chosen = _chosen(store, before.figures, figures, ground)
    differing, unchecked = _judged(spark, store, before, figures, ground, chosen)
    plan.pause("judged")
    lines = [
        _summary(figures, store, before, chosen, differing, told),
        *differing.lines(ground.topics),
        *_window_lines(told, ground.topics),
    ]
    save(plan.stage, Kept(figures, differing.violations, unchecked, folded), lines, plan.pause)


def _check_window(figures: Figures, plan: Plan) -> None:
    if figures.window_ns not in (0, plan.window_ns):
        raise UsageError(
            f"{plan.stage}: its windows are {figures.window_ns} ns long, not {plan.window_ns}:"
            " leave the length out, or stream into another folder"
        )


def _check_store(figures: Figures, store: Store, plan: Plan) -> None:
    """A store only grows: one that lacks what was counted is another."""
    files = store.manifest.files[: figures.files]
    if figures.files and (len(files) < figures.files or files[-1].path != figures.last_file):
        raise UsageError(
            f"{plan.stage}: does not belong to the store as it is now:"
            " remove it (the store stays) and start the stream anew"
        )


def _counted(
    spark: "SparkSession", store: Store, plan: Plan, new: Iterable[Stored]
) -> windows.Counted:
    events = [one for one in new if one.table == "events"]
    if not events:
        return windows.Counted(windows.COUNTS.empty_table(), {})
    found = windows.count_windows(contents(spark, store.folder, events), plan.window_ns)
    return windows.counted(found.toArrow())


def _figures(
    before: Figures, store: Store, plan: Plan, mark: int, ground: Ground, latest: Mapping[int, int]
) -> Figures:
    """How far the stream is after this step."""
    files = store.manifest.files
    published = {**before.published_ns}
    for bucket, one in latest.items():
        published[bucket] = max(one, published.get(bucket, one))
    return replace(
        before,
        step=before.step + 1,
        watermark_ns=mark,
        files=len(files),
        last_file=files[-1].path if files else "",
        settings=plan.settings(),
        window_ns=plan.window_ns,
        published_ns=published,
        marks=closing.marks_of(ground.due, store.manifest.buckets, mark),
    )


def _chosen(store: Store, before: Figures, now: Figures, ground: Ground) -> set[int]:
    """The buckets that are judged now."""
    events = [one for one in store.manifest.files if one.table == "events"]
    there = {one.bucket for one in events}
    if before.settings != now.settings:
        return there
    new = [one for one in store.manifest.files[before.files :] if one.table == "events"]
    within = int(ground.contracts.within_ns.max(initial=0))
    grace = max(ground.deadline_ns, within)
    chosen = closing.to_judge(before.judgement(), now.judgement(), events, new, grace)
    together = closing.talking(ground.contracts, store.manifest.buckets) & there
    return chosen | together if chosen & together else chosen


def _judged(
    spark: "SparkSession",
    store: Store,
    before: Kept,
    now: Figures,
    ground: Ground,
    chosen: set[int],
) -> tuple[Differences, pa.Table]:
    """Violations with what was judged now, and what is not checked."""
    buckets = store.manifest.buckets
    judged = audited(spark, store, ground, chosen)
    owners = {*chosen, OF_CONTROL}
    if before.figures.settings != now.settings:
        owners |= {*range(buckets), OF_CONVERSATIONS}
    elif chosen & closing.talking(ground.contracts, buckets):
        owners.add(OF_CONVERSATIONS)
    differing = differences(before.violations, judged.violations, owners, buckets)
    stay = [one not in owners for one in owners_of(before.unchecked, buckets).tolist()]
    unchecked = pa.concat_tables(
        [before.unchecked.filter(pa.array(stay, pa.bool_())), judged.unchecked]
    )
    return differing, in_order(unchecked)


def _summary(
    figures: Figures,
    store: Store,
    before: Kept,
    chosen: set[int],
    differing: Differences,
    told: list[windows.WindowChange],
) -> dict[str, Any]:
    """The first line of a step's log."""
    new = store.manifest.files[before.figures.files :]
    return {
        "op": "batch",
        "batch": figures.step,
        "spark_batch": figures.batch,
        "watermark_ns": figures.watermark_ns,
        "rows": sum(one.rows for one in new if one.table in ("events", "control", "samples")),
        "quarantined": sum(one.rows for one in new if one.table == "quarantine"),
        "judged": sorted(chosen),
        "found": len(differing.found),
        "withdrawn": len(differing.withdrawn),
        "closed": sum(one.op == windows.CLOSED for one in told),
        "corrected": sum(one.op == windows.CORRECTED for one in told),
        "violations": len(differing.violations),
    }


def _window_lines(
    told: Iterable[windows.WindowChange], names: Mapping[int, str]
) -> list[dict[str, Any]]:
    return [
        {
            "op": one.op,
            "topic": one.topic,
            "topic_name": names.get(one.topic),
            "window": one.window,
            "messages": one.messages,
        }
        for one in told
    ]
