"""Rows of a store by their keys, with the file and line that each comes from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ropewalk.pipeline.audit.results import Names
from ropewalk.pipeline.store import Store
from ropewalk.trace.columns import COLUMNS, KINDS, TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Key = tuple[int, int, int]
"""Node, incarnation and li."""


def rows_of(spark: "SparkSession", store: Store, keys: Sequence[Key]) -> list[dict[str, Any]]:
    """The rows with these keys, in their order, with names, file and line."""
    found: dict[Key, dict[str, Any]] = {}
    for table in TABLES:
        if store.paths(table):
            for row in with_keys(store.frame(spark, table), keys).collect():
                one = row.asDict()
                found[one["node"], one["incarnation"], one["li"]] = one
    names = Names(store)
    return [_named(found[key], names) for key in keys if key in found]


def with_keys(frame: "DataFrame", keys: Sequence[Key]) -> "DataFrame":
    """The rows of a table that have one of these keys."""
    from pyspark.sql import functions as f

    wanted = f.lit(False)
    for node, incarnation, li in keys:
        one = (f.col("node") == node) & (f.col("incarnation") == incarnation) & (f.col("li") == li)
        wanted = wanted | one
    return frame.where(wanted)


def _named(row: dict[str, Any], names: Names) -> dict[str, Any]:
    sources = names.store.manifest.sources
    shown: dict[str, Any] = {"file": sources[row["source"]].path, "line": row["line"]}
    for name, value in row.items():
        if value is None or name in ("source", "line"):
            continue
        if name == "kind":
            shown[name] = KINDS[value]
        elif name in COLUMNS and COLUMNS[name].is_name and name != "event_id":
            shown[name] = names[name].get(value, value)
        else:
            shown[name] = value
    return shown
