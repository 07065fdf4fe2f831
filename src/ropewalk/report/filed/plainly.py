"""Any document's summary, laid out without knowing what it says."""

from collections.abc import Iterator, Mapping
from typing import Any

from ropewalk.report.filed.blocks import Block, Entries, table
from ropewalk.report.filed.words import plain, spoken


def plain_blocks(summary: Mapping[str, Any]) -> Iterator[Block]:
    """Values by their names; lists of records as tables."""
    flat = {key: one for key, one in summary.items() if not _records(one)}
    if flat:
        yield Entries("Summary", tuple((spoken(key), plain(one)) for key, one in flat.items()))
    for key, one in summary.items():
        if _records(one):
            head = list(dict.fromkeys(name for row in one for name in row))
            rows = [[plain(row.get(name)) for name in head] for row in one]
            titles = [spoken(str(name)) for name in head]
            yield table(spoken(key), titles, rows, words=range(len(head)))


def _records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
