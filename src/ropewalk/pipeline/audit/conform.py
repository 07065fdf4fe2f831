"""Conformance alone: every conversation of a store held against its protocol, and nothing else.

The audit does the same among all else; this reads only the columns that conversations need.
"""

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from ropewalk.federation.facts import Federation
from ropewalk.pipeline.audit import conversations, protocol
from ropewalk.pipeline.audit.bucket import topics_of
from ropewalk.pipeline.audit.contracts import Contracts, contracts_of
from ropewalk.pipeline.audit.gathering import (
    ARROW_TOLD,
    PARTS,
    TOLD,
    gathered,
    looked_up,
    tables_told,
)
from ropewalk.pipeline.audit.rows import read, starts
from ropewalk.pipeline.batches import Batches, batch, rows
from ropewalk.pipeline.shapes import VIOLATIONS
from ropewalk.pipeline.store import Store, contents
from ropewalk.protocol.automaton import Automaton

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Conformance(NamedTuple):
    """Conversations that left their protocol, and how many ended how."""

    violations: pa.Table
    conversations: Mapping[str, Mapping[str, int]]


def conformance(
    spark: "SparkSession", store: Store, federation: Federation, protocols: Mapping[str, Automaton]
) -> Conformance:
    """Hold every conversation against the protocol that its topics name."""
    automata = dict(sorted(protocols.items()))
    contracts = contracts_of(federation, store.names("topic"), automata)
    tables = protocol.tables_of(list(automata.values()))
    files = [one for one in store.manifest.files if one.table == "events"]
    if not files:
        return Conformance(VIOLATIONS.empty_table(), {})
    nodes = protocol.nodes_of(store.last_seen())
    pieces = given_away(contents(spark, store.folder, files), contracts, nodes, tables)
    told = gathered(pieces, tables, nodes).toArrow()
    off = pa.concat_tables([conversations.OFF.empty_table(), *tables_told(told, "off")])
    return Conformance(
        looked_up(spark, store, files, off, None),
        conversations.total(tables_told(told, "counts"), list(automata)),
    )


def given_away(
    files: "DataFrame", contracts: Contracts, nodes: protocol.Nodes, tables: protocol.Tables
) -> "DataFrame":
    """The messages of conversations in the files of buckets, in pieces."""

    def run(batches: Batches) -> Batches:
        for number, group in groupby(rows(batches), lambda row: row[0]):
            files = [content for _, content in group]
            some = read(files, protocol.COLUMNS)
            if protocol.repeats(some):
                some = read(files, (*protocol.COLUMNS, *protocol.MESSAGE))
            runs = starts(some.topic)
            topics = topics_of(some, runs, runs, contracts)
            for part, piece in protocol.pieces(some, topics, number, nodes, tables, PARTS):
                yield batch(ARROW_TOLD, (part, "conversations", piece))

    return files.mapInArrow(run, TOLD)
