"""Conversations as a trace has them: what was said in each, by the brokers' clocks.

Read from a working folder's store as the plain files that it is; Spark is not started.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ropewalk.errors import UsageError
from ropewalk.federation import Federation
from ropewalk.pipeline.audit.contracts import contracts_of
from ropewalk.pipeline.audit.results import read_result
from ropewalk.pipeline.folders import Work
from ropewalk.pipeline.store import Store, open_store
from ropewalk.trace.columns import KIND

MOST_ROWS = 5_000_000
"""Events of a store that is looked through."""
MOST = 300
"""Conversations of a protocol that are shown: those that left it first."""
COLUMNS = ["kind", "topic", "conversation", "label", "ts_ns", "producer", "pseq", "node", "li"]
LEFT = "A013"


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said, and at which brokers; `left` as the audit has judged it."""

    name: str
    labels: tuple[str, ...]
    brokers: tuple[str, ...]
    left: bool


@dataclass(frozen=True, eq=False, slots=True)
class Recorded:
    """By protocol, conversations and how many there are; `note` where none can be shown."""

    conversations: Mapping[str, tuple[Conversation, ...]]
    total: Mapping[str, int]
    note: str = ""


def recorded(folder: Path, federation: Federation) -> Recorded:
    """The conversations of a working folder; never raises for what is not there."""
    work = Work(folder)
    try:
        store = open_store(work.store)
    except UsageError as error:
        return Recorded({}, {}, str(error))
    if store.manifest.rows["events"] > MOST_ROWS:
        return Recorded({}, {}, f"The trace is too long to be looked through here: {folder}.")
    protocols = list(federation.protocols)
    rows = _said(store, federation, protocols)
    left = _left(work)
    shown, total = {}, {}
    for number, protocol in enumerate(protocols):
        mine = rows.filter(pc.equal(rows["protocol"], number))
        shown[protocol], total[protocol] = _conversations(mine, store, left)
    return Recorded(shown, total, "")


def _said(store: Store, federation: Federation, protocols: list[str]) -> pa.Table:
    """Publications in conversations, with the numbers of their topics' protocols."""
    contracts = contracts_of(federation, store.names("topic"), protocols)
    follow = contracts.protocol >= 0
    topics = pa.array(contracts.topic[follow])
    tables = [_of_file(path, topics) for path in store.paths("events")]
    rows = pa.concat_tables(tables) if tables else _no_rows()
    places = np.searchsorted(contracts.topic, rows["topic"].to_numpy())
    return rows.append_column("protocol", pa.array(contracts.protocol[places]))


def _of_file(path: str, topics: pa.Array) -> pa.Table:
    said = (
        (pc.field("kind") == KIND["publish"])
        & pc.field("topic").isin(topics)
        & pc.is_valid(pc.field("conversation"))
    )
    return pq.read_table(path, columns=COLUMNS, filters=said, partitioning=None)


def _no_rows() -> pa.Table:
    return pa.table({name: pa.array([], pa.int64()) for name in COLUMNS})


def _left(work: Work) -> frozenset[str]:
    """Conversations that left their protocol, as far as anybody has judged them."""
    for folder in (work.audit, work.conformance):
        try:
            found = read_result(folder).violations
        except UsageError:
            continue
        return frozenset(found.filter(pc.equal(found["code"], LEFT))["other"].to_pylist())
    return frozenset()


def _conversations(
    rows: pa.Table, store: Store, left: frozenset[str]
) -> tuple[tuple[Conversation, ...], int]:
    if not len(rows):
        return (), 0
    names, labels, nodes = (store.names(one) for one in ("conversation", "label", "node"))
    wrong = {number for number, name in names.items() if name in left}
    known = pc.unique(rows["conversation"]).to_pylist()
    known.sort(key=lambda one: (one not in wrong, str(names.get(one))))
    mine = rows.filter(pc.is_in(rows["conversation"], pa.array(known[:MOST], pa.int64())))
    by: dict[int, list[dict[str, Any]]] = {}
    for row in mine.sort_by([("ts_ns", "ascending"), ("li", "ascending")]).to_pylist():
        by.setdefault(row["conversation"], []).append(row)
    return tuple(
        Conversation(
            str(names.get(one, one)),
            tuple(labels.get(row["label"], "?") for row in _once(by[one])),
            tuple(dict.fromkeys(nodes.get(row["node"], "?") for row in by[one])),
            names.get(one) in left,
        )
        for one in known[:MOST]
    ), len(known)


def _once(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An agent that was killed may tell the same message twice."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        found.setdefault((row["topic"], row["producer"], row["pseq"]), row)
    return list(found.values())
