"""The large form: brokers, links and topics as Parquet tables in a folder, the rest as YAML.

For federations beyond what YAML text is good for; Spark reads the same tables.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from ropewalk.errors import FederationError
from ropewalk.federation.dump import dump_plain
from ropewalk.federation.facts import Federation
from ropewalk.federation.plain import plain
from ropewalk.federation.rest import well_shaped, without_empty
from ropewalk.federation.saving import LARGE_FILES
from ropewalk.federation.schema import adapter
from ropewalk.federation.shape import explain
from ropewalk.federation.yaml_text import parse
from ropewalk.findings import Finding, Where

VERSION = b"4"
_VERSION_KEY = b"ropewalk.large"
_REST = "federation.yaml"

_TEXTS = pa.list_(pa.string())
_NUMBERS = pa.list_(pa.float64())
_PLACES = pa.map_(pa.string(), pa.string())
_CLIENTS = {"publishers": "publisher_clients", "subscribers": "subscriber_clients"}
"""Beside the column of brokers, one of their clients' names; null where a topic names none."""

TABLES = {
    "brokers": pa.schema(
        [
            ("name", pa.string()),
            ("site", pa.string()),
            ("make", pa.string()),
            ("url", pa.string()),
            ("watch", pa.string()),
            ("credentials", pa.string()),
            ("address", pa.string()),
            ("takeover", pa.struct([("publishers", _TEXTS), ("subscribers", _TEXTS)])),
            (
                "capacity",
                pa.struct([(f"{step}_us", pa.float64()) for step in ("receive", "filter", "send")]),
            ),
            ("fails", pa.float64()),
            ("at", _NUMBERS),
            ("xy", _NUMBERS),
            ("server", pa.string()),
            ("space", pa.string()),
            ("cluster", pa.string()),
            ("node", pa.string()),
            ("risk_groups", _TEXTS),
            ("written", _PLACES),
        ]
    ),
    "links": pa.schema(
        [
            ("between", _TEXTS),
            ("latency_ms", pa.float64()),
            ("cost", pa.int32()),
            ("loss", pa.float64()),
            ("fails", pa.float64()),
            ("risk_groups", _TEXTS),
            ("via", _TEXTS),
            ("jitter", pa.struct([("shape", pa.string()), ("sd_ms", pa.float64())])),
            (
                "histogram",
                pa.struct(
                    [
                        ("edges_ms", _NUMBERS),
                        ("counts", pa.list_(pa.int64())),
                        ("error_ms", pa.float64()),
                    ]
                ),
            ),
        ]
    ),
    "topics": pa.schema(
        [
            ("name", pa.string()),
            ("publishers", _TEXTS),
            ("publisher_clients", _TEXTS),
            ("subscribers", _TEXTS),
            ("subscriber_clients", _TEXTS),
            ("scope", pa.string()),
            (
                "contract",
                pa.struct(
                    [
                        ("delivery", pa.string()),
                        ("order", pa.string()),
                        ("within_ms", pa.float64()),
                        ("probability", pa.float64()),
                        ("priority", pa.int8()),
                        ("home", pa.string()),
                        ("paths", pa.int8()),
                        ("retained", pa.bool_()),
                        ("idempotent", pa.bool_()),
                    ]
                ),
            ),
            ("protocol", pa.string()),
            ("assumed", pa.bool_()),
            ("written", _PLACES),
        ]
    ),
}


def write(federation: Federation, folder: Path) -> None:
    """Write a federation into a new folder."""
    folder.mkdir()
    values = plain(federation)
    rows = {
        "brokers": _named(values.pop("brokers")),
        "links": values.pop("links", []),
        "topics": [_attachments_out(row) for row in _named(values.pop("topics", {}))],
    }
    for row in rows["brokers"]:
        if isinstance(one := row.get("takeover"), list):
            row["takeover"] = {"publishers": one, "subscribers": one}
    for name, schema in TABLES.items():
        marked = schema.with_metadata({_VERSION_KEY: VERSION})
        table = pa.Table.from_pylist(rows[name], schema=marked)
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
    (folder / _REST).write_text(dump_plain(values), encoding="utf-8")


def is_large(folder: Path) -> bool:
    """Whether a folder holds a federation in the large form."""
    return all((folder / name).is_file() for name in LARGE_FILES)


def read(folder: Path) -> Federation:
    """Read a federation back; raises FederationError for a folder that is none or is damaged."""
    if not is_large(folder):
        holds = ", ".join(LARGE_FILES)
        raise _damaged(folder, f"a folder without a federation: name a file, or one with {holds}")
    parsed = parse((folder / _REST).read_text(encoding="utf-8", errors="replace"))
    if parsed.faults or not isinstance(parsed.value, dict) or parsed.value.keys() & TABLES.keys():
        raise _damaged(folder / _REST, "not readable as YAML: write the folder again")
    rows = {name: _rows(folder / f"{name}.parquet") for name in TABLES}
    try:
        rows["topics"] = [_attachments_in(row) for row in rows["topics"]]
    except ValueError:
        raise _damaged(folder / "topics.parquet", "a client without its broker") from None
    values = {
        **parsed.value,
        "brokers": {row.pop("name", ""): row for row in rows["brokers"]},
        "links": rows["links"],
        "topics": {row.pop("name", ""): row for row in rows["topics"]},
    }
    if len(values["brokers"]) < len(rows["brokers"]) or len(values["topics"]) < len(rows["topics"]):
        raise _damaged(folder, "a broker or topic is written twice: write the folder again")
    try:
        return adapter().validate_python(without_empty(values))
    except ValidationError as error:
        rest = well_shaped(values)
        faults = [*explain(error, values), *(rest.faults() if rest else ())]
        found = [Finding(one.code, one.in_words(), Where(str(folder))) for one in faults]
        raise FederationError(found) from None


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        table = pq.read_table(file)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file, f"not a whole Parquet file ({str(error).splitlines()[0]})") from None
    version = (table.schema.metadata or {}).get(_VERSION_KEY)
    if version != VERSION or not table.schema.equals(TABLES[file.stem]):
        raise _damaged(file, "not written by this version of the large form: write it again")
    # Columns without a single value are left out at once: most of a table's cells are such.
    used = [name for name in table.column_names if table[name].null_count < len(table)]
    columns = [table[name].to_pylist() for name in used]
    return [_without_nulls(zip(used, row, strict=True)) for row in zip(*columns, strict=True)]


def _without_nulls(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {key: _cell(key, value) for key, value in fields if value is not None}


def _cell(key: str, value: Any) -> Any:
    if key == "written":
        return dict(value)  # Arrow gives maps as pairs
    return _without_nulls(value.items()) if type(value) is dict else value


def _named(entries: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": name, **entry} for name, entry in entries.items()]


def _attachments_out(row: dict[str, Any]) -> dict[str, Any]:
    for role, clients in _CLIENTS.items():
        attached = row.get(role, [])
        if not all(isinstance(one, str) for one in attached):
            row[clients] = [None if isinstance(one, str) else one["client"] for one in attached]
            row[role] = [one if isinstance(one, str) else one["broker"] for one in attached]
    return row


def _attachments_in(row: dict[str, Any]) -> dict[str, Any]:
    for role, clients in _CLIENTS.items():
        if clients in row:
            row[role] = [
                broker if client is None else {"broker": broker, "client": client}
                for broker, client in zip(row.get(role, ()), row.pop(clients), strict=True)
            ]
    return row


def _damaged(path: Path, message: str) -> FederationError:
    return FederationError([Finding("F040", message, Where(str(path)))])
