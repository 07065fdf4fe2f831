"""Many small traces as one that grows, and what brute force says of it at a watermark."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from ropewalk.federation.facts import Federation
from ropewalk.pipeline.stream.kept import log
from ropewalk.protocol.automaton import Automaton
from ropewalk.trace.ids import id_of
from tests.pipeline.audited import apart, ids_of_key
from tests.pipeline.oracle import audit
from tests.pipeline.oracle_due import tidy
from tests.pipeline.small_brinks import DEADLINE_NS, Row
from tests.pipeline.small_traces import Small, small_trace

WINDOW_NS = 200

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Growth:
    """Traces with names of their own, and all their rows in the parts in which they come."""

    traces: list[Small]
    parts: list[list[Row]]

    @property
    def federation(self) -> Federation:
        topics = {
            name: one for trace in self.traces for name, one in trace.federation.topics.items()
        }
        return Federation(name="many", brokers={}, topics=topics)

    @property
    def protocols(self) -> dict[str, Automaton]:
        return self.traces[0].protocols

    def come(self, parts: int) -> list[Row]:
        """What has come after so many parts."""
        return [row for part in self.parts[:parts] for row in part]

    def verdict(self, parts: int, mark: int) -> set[Key]:
        """Violations on rows up to the watermark; a node with later rows was there at it."""
        rows = self.come(parts)
        seen = {(row["node"], row.get("incarnation", 0)) for row in rows if row["ts_ns"] > mark}
        alive = [beat(node, incarnation, mark) for node, incarnation in (*seen, ("clock", 0))]
        found = audit(
            [*(row for row in rows if row["ts_ns"] <= mark), *alive],
            self.federation,
            deadline_ns=DEADLINE_NS,
            protocols=self.protocols,
        )
        return {ids_of_key(key) for key in found}

    def rates(self, parts: int, mark: int) -> dict[tuple[int, int], int]:
        """Messages per topic and closed window."""
        rows = [
            row
            for row in tidy(self.come(parts))
            if row["kind"] in ("publish", "accepted")
            and (row["ts_ns"] // WINDOW_NS + 1) * WINDOW_NS <= mark
        ]
        custody = {row["topic"] for row in rows if row["kind"] == "accepted"}
        chosen = (row for row in rows if (row["kind"] == "accepted") == (row["topic"] in custody))
        return dict(Counter((id_of(row["topic"]), row["ts_ns"] // WINDOW_NS) for row in chosen))


def growth(seeds: Iterable[int], parts: int) -> Growth:
    """Rows roughly as they happen; some come late, and some twice."""
    traces = [apart(small_trace(seed), seed) for seed in seeds]
    random = Random(parts)
    come: list[list[Row]] = [[] for _ in range(parts)]
    latest = max(row["ts_ns"] for trace in traces for row in trace.rows)
    for trace in traces:
        at_least: dict[Key, int] = {}
        for row in trace.rows:
            at = at_least.setdefault(place(row), row["ts_ns"] * parts // (latest + 1))
            for _ in range(2 if random.random() < 0.05 else 1):
                late = random.randrange(at, parts) if random.random() < 0.15 else at
                come[late].append(row)
    for part in come:
        random.shuffle(part)
    return Growth(traces, come)


def place(row: Row) -> Key:
    return row["node"], row.get("incarnation", 0), row["li"]


def beat(node: str, incarnation: int, ts: int) -> Row:
    row = {"ts_ns": ts, "node": node, "incarnation": incarnation, "li": 10**9, "kind": "sample"}
    return {**row, "window_ns": 1, "messages_in": 0}


def as_lines(rows: Iterable[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def put(folder: Path, name: str, rows: list[Row]) -> None:
    """As agents do: write beside, then rename."""
    part = folder / f"{name}.part"
    part.write_bytes(as_lines(rows))
    part.rename(folder / name)


def net(stage: Path) -> set[tuple[Any, ...]]:
    """All that was found and not withdrawn, by the log; each line must make sense."""
    stands: dict[Key, Key] = {}
    for line in log(stage):
        if line["op"] in ("found", "withdrawn"):
            names = ("code", "topic", "producer", "pseq", "consumer", "other")
            key = tuple(line[name] for name in names)
            whole = (*key, line["amount"], json.dumps(line["evidence"]))
            if line["op"] == "found":
                assert key not in stands, f"told twice: {line}"
                stands[key] = whole
            else:
                assert stands.pop(key) == whole, f"withdrawn but never told: {line}"
    return set(stands.values())


def net_rates(stage: Path) -> dict[tuple[int, int], int]:
    """The totals of windows, by the log."""
    told: dict[tuple[int, int], int] = {}
    for line in log(stage):
        if line["op"] in ("closed", "corrected"):
            key = line["topic"], line["window"]
            assert line["op"] == "corrected" or key not in told, f"closed twice: {line}"
            told[key] = line["messages"]
    return {key: one for key, one in told.items() if one}
