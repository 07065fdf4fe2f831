"""Schemes side by side, outages and mixed colours, for a terminal 80 columns wide."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from textwrap import fill
from typing import TYPE_CHECKING, Any

from ropewalk.report.verification import plural
from ropewalk.routing.mixed import Mixed
from ropewalk.routing.rivals import Comparison, Row
from ropewalk.routing.rivals.outage import Outages

if TYPE_CHECKING:
    import pandas as pd

KINDS = {"links": "single link", "brokers": "single broker"}
COLUMNS = {"covered": 9, "stretch": 9, "p95": 7, "max": 7, "entries": 10, "tables": 8, "labels": 8}
HEAD = " " * 14 + "".join(f"{name:>{width}}" for name, width in COLUMNS.items())


def comparison_summary(
    comparison: Comparison, outages: Outages, plain: Mixed, carrying: Mixed, *, rate_msgs_s: float
) -> dict[str, Any]:
    """What `--json` says of a comparison."""
    graph = comparison.federation.graph
    return {
        "federation": comparison.federation.name,
        "brokers": graph.brokers,
        "links": graph.links,
        "schemes": [asdict(row) for row in comparison.rows],
        "timers": asdict(outages.timers),
        "rate_msgs_s": rate_msgs_s,
        "outages": [asdict(row) | {"lost": row.lost(rate_msgs_s)} for row in outages.rows],
        "mixed": {
            **plain.counts,
            "loops_carrying": carrying.counts["loops"],
            "witness": asdict(plain.witnesses[0]) if plain.witnesses else None,
        },
    }


def comparison_text(
    comparison: Comparison, outages: Outages, plain: Mixed, carrying: Mixed, *, rate_msgs_s: float
) -> str:
    """The same for a person."""
    graph = comparison.federation.graph
    lines = [f"{comparison.federation.name}: {plural(graph.brokers, 'broker')}, "]
    lines[0] += plural(graph.links, "link")
    for kind, words in KINDS.items():
        rows = [row for row in comparison.rows if row.failures == kind]
        if rows:
            lines += ["", f"Every {words} fails: {plural(rows[0].cases, 'recoverable case')}", HEAD]
            lines += [_row_text(row) for row in rows]
    lines += ["", *_outage_lines(outages, rate_msgs_s), "", *_mixed_lines(plain, carrying)]
    return "\n".join(lines)


def _row_text(row: Row) -> str:
    covered = "-" if row.coverage is None else f"{100 * row.coverage:.1f} %"
    stretch = _figure(row.stretch_mean, 9, 2)
    stretch += _figure(row.stretch_p95, 7, 2) + _figure(row.stretch_max, 7, 2)
    kept = f"{_figure(row.entries, 10)}{row.tables:>8}{row.labels:>8}"
    return f"{row.scheme:14}{covered:>9}{stretch}{kept}"


def _outage_lines(outages: Outages, rate_msgs_s: float) -> Iterator[str]:
    yield "A link fails: ms until messages get through again"
    lost = f"lost at {rate_msgs_s:g}/s"
    yield f"{'':14}{'mean':>12}{'p95':>12}{'max':>12}{lost:>20}"
    for row in outages.rows:
        times = "".join(_figure(one, 12) for one in (row.mean_ms, row.p95_ms, row.max_ms))
        yield f"{row.method:14}{times}{_figure(row.lost(rate_msgs_s), 20)}"


def _figure(number: float | None, width: int, digits: int = 1) -> str:
    return f"{'-':>{width}}" if number is None else f"{number:>{width},.{digits}f}"


def _mixed_lines(plain: Mixed, carrying: Mixed) -> Iterator[str]:
    share = f"{100 * plain.looping:.1f} %"
    yield f"While only the ends of the link know, {share} of the cases loop (plain PCRT);"
    yield f"when messages carry what is known, {carrying.counts['loops'] or 'none'} of them."
    if plain.witnesses:
        one = plain.witnesses[0]
        told = f"One that loops: {one.link} is down, {' > '.join(_short(one.path))}, for {one.to}."
        yield fill(told, 80, break_long_words=False, break_on_hyphens=False)


def _short(path: Sequence[str], most: int = 8) -> Sequence[str]:
    return path if len(path) <= most else [*path[: most - 2], "...", path[-1]]


def maps_text(rows: "pd.DataFrame", summary: Mapping[str, Any]) -> str:
    """Schemes over many maps: how often they cover all, how badly they do."""
    left = ", ".join(f"{count} {why}" for why, count in summary["left_out"].items() if count)
    lines = [f"{plural(summary['maps'], 'map')}" + (f" (left out: {left})" if left else "")]
    for kind, words in KINDS.items():
        some = rows[(rows["failures"] == kind) & (rows["cases"] > 0)]
        head = f"{'':14}{'all':>7}{'covered':>10}{'least':>8}{'stretch':>9}{'worst':>8}{'max':>8}"
        lines += ["", f"Every {words} fails", head]
        for scheme, group in some.groupby("scheme", sort=False):
            lines.append(_map_row(str(scheme), group))
    lines += ["", f"While only the ends know, {_looping(summary)} of the cases loop (plain PCRT)."]
    return "\n".join(lines)


def _map_row(scheme: str, group: "pd.DataFrame") -> str:
    full = 100 * (group["recovered"] == group["cases"]).mean()
    covered = 100 * group["coverage"].mean()
    least = 100 * group["coverage"].min()
    stretch, worst = group["stretch_mean"].mean(), group["stretch_mean"].max()
    shares = f"{full:>5.0f} %{covered:>8.1f} %{least:>6.0f} %"
    return f"{scheme:14}{shares}{stretch:>9.2f}{worst:>8.2f}{group['stretch_max'].max():>8.1f}"


def _looping(summary: Mapping[str, Any]) -> str:
    low, middle, high = (100 * summary["looping"][key] for key in ("least", "mean", "most"))
    return f"{middle:.1f} % ({low:.1f} to {high:.1f} %)"
