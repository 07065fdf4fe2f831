"""What a stream remembers, and the log in which it tells what changed.

    stream/changes/batch-000012.jsonl   what changed in a step; never written twice
    stream/kept/000012/                 all that the next step needs: figures and three tables
    stream/violations.parquet           what stands now; rates.parquet: closed windows
    stream/checkpoint/                  Spark's own: which input each batch has

A step counts from the moment that its log is there, whole: one file that is renamed into its
place. What is kept is written before it, and belongs to nobody until then.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.errors import UsageError
from ropewalk.federation.saving import write_bytes, write_text
from ropewalk.pipeline.audit.job import UNCHECKED
from ropewalk.pipeline.shapes import VIOLATIONS
from ropewalk.pipeline.stream.closing import NEVER, Judgement, Mark
from ropewalk.pipeline.stream.windows import WINDOWS, rates

CHANGES, KEPT, CHECKPOINT = "changes", "kept", "checkpoint"
TABLES = {"violations": VIOLATIONS, "unchecked": UNCHECKED, "windows": WINDOWS}
VERSION = 1

Pause = Callable[[str], None]
"""Called between the parts of a step with the name of the part that has just ended."""


@dataclass(frozen=True, slots=True)
class Figures:
    """How far a stream has come: what of the store it has seen, and on what it judged."""

    step: int = -1
    checkpoint: str = ""
    batch: int = -1
    watermark_ns: int = NEVER
    files: int = 0
    last_file: str = ""
    settings: str = ""
    window_ns: int = 0
    published_ns: dict[int, int] = field(default_factory=dict)
    marks: dict[int, Mark] = field(default_factory=dict)
    version: int = VERSION

    def judgement(self) -> Judgement:
        """On what buckets were judged."""
        return Judgement(self.watermark_ns, self.marks, self.published_ns)


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """All that a step leaves to the next."""

    figures: Figures = Figures()
    violations: pa.Table = field(default_factory=VIOLATIONS.empty_table)
    unchecked: pa.Table = field(default_factory=UNCHECKED.empty_table)
    windows: pa.Table = field(default_factory=WINDOWS.empty_table)


def last_step(stage: Path) -> int:
    """The number of the last step that counts; -1 if there is none."""
    return max(_numbers(stage / CHANGES, r"batch-(\d+)\.jsonl"), default=-1)


def load(stage: Path) -> Kept:
    """What the last step that counts has left; UsageError if that is not there."""
    step = last_step(stage)
    if step < 0:
        return Kept()
    place = _place(stage, step)
    try:
        said = json.loads((place / "figures.json").read_text(encoding="utf-8"))
        tables = {
            name: pq.read_table(place / f"{name}.parquet").cast(of) for name, of in TABLES.items()
        }
        return Kept(_figures(said), **tables)
    except (OSError, ValueError, TypeError, KeyError, pa.ArrowException):
        raise UsageError(
            f"{place}: cannot be read: remove {stage} (the store stays) and start the stream anew"
        ) from None


def _figures(said: Mapping[str, Any]) -> Figures:
    figures = Figures(**said)
    if figures.version != VERSION:
        raise ValueError(figures.version)
    return replace(
        figures,
        published_ns={int(bucket): one for bucket, one in said["published_ns"].items()},
        marks={int(bucket): Mark(**one) for bucket, one in said["marks"].items()},
    )


def save(stage: Path, kept: Kept, lines: Iterable[Mapping[str, Any]], pause: Pause) -> None:
    """Let a step count: what it leaves first, its log last."""
    step = kept.figures.step
    _write_kept(stage, kept)
    pause("kept")
    (stage / CHANGES).mkdir(exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    write_text(_log(stage, step), text)
    pause("told")
    publish(stage, kept)
    for one in (stage / KEPT).iterdir():
        if one != _place(stage, step):  # of earlier steps, or half written by a killed one
            rmtree(one, ignore_errors=True)


def publish(stage: Path, kept: Kept) -> None:
    """The tables that users read, as they stand now."""
    for name, table in (("violations", kept.violations), ("rates", rates(kept.windows))):
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        write_bytes(stage / f"{name}.parquet", sink.getvalue().to_pybytes())


def log(stage: Path, after: int = -1) -> Iterator[dict[str, Any]]:
    """The lines of all steps that count, in order; `after` leaves out earlier ones."""
    for number in range(after + 1, last_step(stage) + 1):
        for line in _log(stage, number).read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def _write_kept(stage: Path, kept: Kept) -> None:
    place = _place(stage, kept.figures.step)
    made = stage / KEPT / f".{uuid4().hex}"
    made.mkdir(parents=True)
    (made / "figures.json").write_text(json.dumps(asdict(kept.figures)), encoding="utf-8")
    for name in TABLES:
        pq.write_table(getattr(kept, name), made / f"{name}.parquet", compression="zstd")
    rmtree(place, ignore_errors=True)  # of a step that did not come to count
    made.replace(place)


def _place(stage: Path, step: int) -> Path:
    return stage / KEPT / f"{step:06d}"


def _log(stage: Path, step: int) -> Path:
    return stage / CHANGES / f"batch-{step:06d}.jsonl"


def _numbers(folder: Path, pattern: str) -> list[int]:
    if not folder.is_dir():
        return []
    found = (re.fullmatch(pattern, one.name) for one in folder.iterdir())
    return [int(one[1]) for one in found if one]
