"""Alternate paths in words, for a terminal 80 columns wide."""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from ropewalk.report.verification import plural
from ropewalk.routing.apart.hazards import RADIUS_KM
from ropewalk.routing.apart.regions import in_words

WIDTH = 80
SHOWN_CUTS = 5


def paths_text(summary: Mapping[str, Any]) -> str:
    """What was asked, the paths of every pair, and what they are worth together."""
    return "\n".join(_lines(summary))


def _lines(summary: Mapping[str, Any]) -> Iterator[str]:
    thing = "underlay node" if summary["network"] == "underlay" else "broker"
    nodes, links = plural(summary["nodes"], thing), plural(summary["links"], "link")
    yield f"{nodes}, {links}; method {summary['method']}"
    yield from _wrapped(_feared(summary))
    for row in summary["paths"]:
        yield from _pair(row, summary)
    yield from _notes(summary)
    yield _verdict(summary)


def _feared(summary: Mapping[str, Any]) -> str:
    radius, feared = summary["radius_km"], []
    if radius is not None:
        rough = "; a rough figure, see docs" if summary["radius_from"] in RADIUS_KM else ""
        feared.append(f"regions of radius {radius:g} km ({summary['radius_from']}{rough})")
    for key, noun in (("polygons", "polygon"), ("risk_groups", "risk group")):
        if summary[key]:
            feared.append(plural(summary[key], noun))
    return ", ".join(feared)


def _pair(row: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[str]:
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
    yield from _wrapped(_fate(row, summary), "  ")
    yield from _cuts(row)


def _path(label: str, path: Mapping[str, Any]) -> Iterator[str]:
    figures = f"{path['delay_ms']:.2f} ms, {plural(path['hops'], 'hop')}"
    if "proximity_factor" in path:
        figures += f", near {path['proximity_factor']:.2f}"
    way = wrap(" > ".join(path["path"]), WIDTH - 13, break_on_hyphens=False)
    yield f"  {label:<9}  {figures}"
    yield from (f"             {line}" for line in way)


def _fate(row: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    hit, saved, regions = row["avoidable_by_primary"], row["captured"], summary["regions"]
    path = "the shortest path" if summary["method"] == "joint" else "the primary"
    if saved is None:
        return f"no region of {regions:,} hits {path} and leaves a way round"
    return f"{hit:,} of {regions:,} regions hit {path}, with a way round: {saved:.1%} avoided"


def _cuts(row: Mapping[str, Any]) -> Iterator[str]:
    """The polygons and risk groups that cut all paths."""
    cuts = [in_words(one) + " (there is a way round)" * one["avoidable"] for one in row["cut_by"]]
    more = f" and {len(cuts) - SHOWN_CUTS:,} more" if len(cuts) > SHOWN_CUTS else ""
    if cuts:
        yield from _wrapped(f"all paths are cut by {', '.join(cuts[:SHOWN_CUTS])}{more}", "  ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,
    )


def _notes(summary: Mapping[str, Any]) -> Iterator[str]:
    if summary["pairs"] < summary["pairs_in_all"]:
        left = summary["pairs_in_all"] - summary["pairs"]
        yield f"{plural(left, 'pair')} left out: name them with --pair, or raise --most-pairs."
    if summary["without_path"]:
        shown = ", ".join(" - ".join(pair) for pair in summary["without_path"][:5])
        yield f"Without any path: {shown}"
    if summary["without_place"]:
        yield f"{plural(summary['without_place'], 'node')} without a place: no circle reaches them."
    for note in summary["notes"]:
        yield from _wrapped(note)
    if "map" in summary:
        yield f"Wrote {summary['map']}."


def _verdict(summary: Mapping[str, Any]) -> str:
    saved = summary["captured"]
    if saved is None:
        return "No region hits a primary and leaves a way round."
    return f"Of all avoidable losses {saved:.1%} are avoided."
