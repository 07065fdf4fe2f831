"""Alternate paths in words, for a terminal 80 columns wide."""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from ropewalk.report.verification import plural
from ropewalk.routing.apart.hazards import RADIUS_KM

WIDTH = 80


def paths_text(summary: Mapping[str, Any]) -> str:
    """What was asked, the paths of every pair, and what they are worth together."""
    return "\n".join(_lines(summary))


def _lines(summary: Mapping[str, Any]) -> Iterator[str]:
    thing = "underlay node" if summary["network"] == "underlay" else "broker"
    nodes, links = plural(summary["nodes"], thing), plural(summary["links"], "link")
    yield f"{nodes}, {links}; method {summary['method']}"
    yield _feared(summary)
    for row in summary["paths"]:
        yield from _pair(row, summary["regions"])
    yield from _notes(summary)
    yield _verdict(summary)


def _feared(summary: Mapping[str, Any]) -> str:
    radius = summary["radius_km"]
    if radius is None:
        return "regions as given"
    rough = "; a rough figure, see docs" if summary["radius_from"] in RADIUS_KM else ""
    return f"regions of radius {radius:g} km ({summary['radius_from']}{rough})"


def _pair(row: Mapping[str, Any], regions: int) -> Iterator[str]:
    yield f"{row['from']} - {row['to']}"
    if not row["primary"]["hops"]:
        yield f"  both at {row['primary']['path'][0]}: nothing to keep apart"
        return
    yield from _path("primary", row["primary"])
    for path in row["alternates"]:
        yield from _path("alternate", path)
    if not row["alternates"]:
        yield "  no alternate within the limits"
    if row.get("curve"):
        yield "  exposure of alternates, from the quickest to the least exposed:"
    for point in row.get("curve", ()):
        yield from _path(f"{point['exposure']:.4f}", point)
    yield f"  {_fate(row, regions)}"


def _path(label: str, path: Mapping[str, Any]) -> Iterator[str]:
    figures = f"{path['delay_ms']:.2f} ms, {plural(path['hops'], 'hop')}"
    if "proximity_factor" in path:
        figures += f", near {path['proximity_factor']:.2f}"
    way = wrap(" > ".join(path["path"]), WIDTH - 13, break_on_hyphens=False)
    yield f"  {label:<9}  {figures}"
    yield from (f"             {line}" for line in way)


def _fate(row: Mapping[str, Any], regions: int) -> str:
    hit, saved = row["avoidable_by_primary"], row["captured"]
    if saved is None:
        return f"no region of {regions:,} hits the primary and leaves a way round"
    return f"{hit:,} of {regions:,} regions hit it and leave a way round: {saved:.1%} avoided"


def _notes(summary: Mapping[str, Any]) -> Iterator[str]:
    if summary["pairs"] < summary["pairs_in_all"]:
        left = summary["pairs_in_all"] - summary["pairs"]
        yield f"{plural(left, 'pair')} left out: name them with --pair, or raise --most-pairs."
    if summary["without_path"]:
        shown = ", ".join(" - ".join(pair) for pair in summary["without_path"][:5])
        yield f"Without any path: {shown}"
    if summary["without_place"]:
        yield f"{plural(summary['without_place'], 'node')} without a place: no circle reaches them."


def _verdict(summary: Mapping[str, Any]) -> str:
    saved = summary["captured"]
    if saved is None:
        return "No region hits a primary and leaves a way round."
    return f"Of all avoidable losses {saved:.1%} are avoided."
