"""Simulated runs for a terminal 80 columns wide, and one of them as a picture."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ropewalk.federation.saving import write_bytes
from ropewalk.overlay.simulate.account import Account
from ropewalk.overlay.simulate.run import Run
from ropewalk.report.verification import plural

BINS = 120
MOST_POINTS = 20_000
SHOWN_TOPICS = 6
NAMED = 12
TAIL_S = 1.0
COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#8172b3", "#937860", "#64b5cd")
FAULT, WRONG = "#c44e52", "#c44e52"


def simulation_text(totals: Mapping[str, Any], rival: Mapping[str, Any] | None = None) -> str:
    """The figures of all runs, beside a rival's where there is one."""
    columns = [totals] if rival is None else [totals, rival]
    head = [] if rival is None else [f"{'':28}{'agents':>14}{'rival':>14}"]
    rows = [
        f"{title:28}" + "".join(f"{_figure(one, key):>14}" for one in columns)
        for title, key in ROWS
        if any(_value(one, key) is not None for one in columns)
    ]
    told = f"{plural(totals['runs'], 'run')}, {plural(totals['faults'], 'fault')}"
    return "\n".join([f"Simulated {told}.", *head, *rows])


ROWS = (
    ("messages accepted", "accepted"),
    ("deliveries due", "due"),
    ("first deliveries", "delivered"),
    ("lost", "lost"),
    ("went down with a disk", "excused"),
    ("kept for brokers away", "waiting"),
    ("delivered again", "doubled"),
    ("dropped by the last hop", "dropped"),
    ("outage p50 (ms)", "outage_ms.p50"),
    ("outage p99 (ms)", "outage_ms.p99"),
    ("outage max (ms)", "outage_ms.max"),
    ("convergence p50 (ms)", "convergence_ms.p50"),
    ("convergence max (ms)", "convergence_ms.max"),
    ("changes too soon to settle", "unsettled_changes"),
    ("control words per s", "control_per_s"),
    ("frames", "frames"),
)


def _value(totals: Mapping[str, Any], key: str) -> Any:
    value: Any = totals
    for part in key.split("."):
        value = value[part]
    return value


def _figure(totals: Mapping[str, Any], key: str) -> str:
    value = _value(totals, key)
    if value is None:
        return "-"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def draw(run: Run, path: Path) -> None:
    """A picture of a run: how late deliveries came, how many, who was wrong; faults as bands."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6.5), layout="constrained")
    late, many, wrong = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2, 1.4))
    topics = _by_topic(run.account)
    _draw_delay(late, topics)
    _draw_rate(many, topics, run)
    _draw_wrong(wrong, run)
    for axes in (late, many, wrong):
        _draw_faults(axes, run)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    if len(run.plan.faults) <= NAMED:
        _name_faults(late, run)
    late.set_xlim(0, _end_s(run))
    late.set_title(f"{run.federation.name}, seed {run.plan.seed}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a letter that the font lacks is a box
        picture = BytesIO()
        figure.savefig(picture, dpi=120, format="png")
    write_bytes(path, picture.getvalue())


def _end_s(run: Run) -> float:
    """A little after the last thing that is worth a look."""
    times = [us for us, kind, *_ in run.journal.entries if kind in ("deliver", "heal", "things")]
    faults = [fault.at_us for fault in run.plan.faults]
    return min(max([*times, *faults], default=0) / 1e6 + TAIL_S, run.plan.end_us / 1e6)


def _by_topic(account: Account) -> dict[str, Any]:
    """Of each topic the times of first deliveries and how late they were, in s and ms."""
    found: dict[str, list[tuple[float, float]]] = {}
    for some in account.first.values():
        for one in some.values():
            accepted = account.accepted.get(one.number)
            since = account.publications[one.number].at_us
            since = min(since, accepted.published_us) if accepted else since
            topic = account.publications[one.number].topic
            found.setdefault(topic, []).append((one.us / 1e6, (one.us - since) / 1e3))
    return {topic: np.array(sorted(some)) for topic, some in sorted(found.items())}


def _draw_delay(axes: Any, topics: Mapping[str, Any]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    shown = list(topics)[:SHOWN_TOPICS]
    every = max(1, sum(map(len, topics.values())) // MOST_POINTS)
    for i, (topic, points) in enumerate(topics.items()):
        label = topic if topic in shown else None
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(*points[::every].T, ".", color=colour, markersize=2.5, label=label)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("delivery after\npublishing (ms)")
    more = len(topics) - len(shown)
    title = f"and {more} more topics" if more > 0 else None
    if topics:
        axes.legend(
            loc="upper left",
            bbox_to_anchor=(1.01, 1),
            frameon=False,
            fontsize=8,
            title=title,
            title_fontsize=8,
            markerscale=3,
        )


def _draw_rate(axes: Any, topics: Mapping[str, Any], run: Run) -> None:
    edges = np.linspace(0, _end_s(run), BINS + 1)
    times = np.concatenate([points[:, 0] for points in topics.values()] or [np.zeros(0)])
    counts = np.histogram(times, edges)[0] / np.diff(edges)
    axes.fill_between(edges[:-1], counts, step="post", color=COLOURS[0], alpha=0.5, linewidth=0)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("deliveries/s")


def _draw_wrong(axes: Any, run: Run) -> None:
    astray = run.beliefs.astray
    times = [us / 1e6 for us, _ in astray] + [run.plan.end_us / 1e6]
    counts = [count for _, count in astray]
    axes.step(times, [*counts, counts[-1]], where="post", color=WRONG, linewidth=1.2)
    axes.set_ylim(0, max([*counts, 1]) * 1.15)
    axes.set_ylabel("agents wrong on\nwhat is down")
    axes.set_xlabel("time (s); shaded: faults")
    axes.yaxis.get_major_locator().set_params(integer=True)


def _draw_faults(axes: Any, run: Run) -> None:
    for fault in run.plan.faults:
        end_us = run.plan.end_us if fault.end_us is None else fault.end_us
        axes.axvspan(fault.at_us / 1e6, end_us / 1e6, color=FAULT, alpha=0.12, linewidth=0)


def _name_faults(axes: Any, run: Run) -> None:
    for fault in run.plan.faults:
        axes.text(
            fault.at_us / 1e6,
            0.98,
            f" {fault.kind} {', '.join(fault.where)}",
            transform=axes.get_xaxis_transform(),
            rotation=90,
            va="top",
            ha="left",
            fontsize=7,
            color=FAULT,
            clip_on=True,
        )


def fault_lines(run: Run, most: int = 12) -> list[str]:
    """What went wrong in a run, for people."""
    lines: Sequence[str] = [str(fault) for fault in run.plan.faults]
    more = [f"... and {len(lines) - most} more"] if len(lines) > most else []
    return [*lines[:most], *more]
