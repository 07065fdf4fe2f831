"""Curves of a federation that grows: tables, words and time by the number of brokers."""

import logging
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from ropewalk.federation.saving import write_bytes

COLOURS = {"gateway link": "#4c72b0", "gateway": "#c44e52", "edge": "#55a868"}


def draw(rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Three panels into a PNG file: rows are those that `benchmarks/overlay_scale.py` prints."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    tables, words, times = figure.subplots(1, 3)
    _tables(tables, rows)
    _by_failure(words, rows, "words", "words per failure")
    _by_failure(times, rows, "converged_ms", "until all know, ms")
    times.set_yscale("linear")
    times.set_ylim(bottom=0, top=times.get_ylim()[1])
    for axes in (tables, words, times):
        axes.set_xlabel("brokers")
        axes.grid(alpha=0.3)
    picture = BytesIO()
    figure.savefig(picture, dpi=120, format="png")
    write_bytes(file, picture.getvalue())


def _tables(axes: Any, rows: Sequence[dict[str, Any]]) -> None:
    flat = [row for row in rows if "flat_table_bytes" in row]
    axes.loglog([row["brokers"] for row in rows], [row["table_bytes"] for row in rows], "o-")
    axes.loglog([row["brokers"] for row in flat], [row["flat_table_bytes"] for row in flat], "s--")
    axes.legend(["gateways only", "all brokers"])
    axes.set_title("bytes of all tables")


def _by_failure(axes: Any, rows: Sequence[dict[str, Any]], field: str, title: str) -> None:
    for what, colour in COLOURS.items():
        points = [
            (row["brokers"], one[field])
            for row in rows
            for one in row["failures"]
            if one["what"] == what
        ]
        if points:
            axes.loglog(*zip(*points, strict=True), "o-", color=colour, label=what)
    axes.legend()
    axes.set_title(title)
