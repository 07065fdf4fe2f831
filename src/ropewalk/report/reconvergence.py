"""The scenario "jia-6.3.2" for a terminal 80 columns wide, as data, and as figures 6-15 to 6-17."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from statistics import mean
from textwrap import wrap
from typing import Any

from ropewalk.errors import UsageError
from ropewalk.federation.saving import write_bytes
from ropewalk.overlay.simulate.measures import Course
from ropewalk.overlay.simulate.scenario_jia import SCENARIO, Comparison, Trial

WIDTH = 80
PICTURES = ("latency", "loss")
ARRIVED, LOST, MARK = "#4c72b0", "#c44e52", "#55a868"
HEAD = f"{'':17}{'lost':>5}{'dup':>5}{'detected':>10}{'again':>8}{'back':>8}"
HEAD += f"{'control':>9}{'of it news':>12}"
AVERAGED = ("lost", "duplicated", "detected", "reconverged", "back", "control_packets")


def summary(comparison: Comparison) -> dict[str, Any]:
    """What `ropewalk lab simulate --json` prints."""
    return {
        "scenario": SCENARIO,
        "federation": comparison.federation,
        "link": comparison.link,
        "seed": comparison.seed,
        "unit_us": comparison.unit_us,
        "course": asdict(comparison.course),
        "schemes": [asdict(run.measures) for run in comparison.runs],
    }


def lines(comparison: Comparison) -> list[str]:
    """The same for a person."""
    course, what = comparison.course, f"{comparison.federation}: {comparison.link}"
    told = [
        f"{what} fails at {course.fail:g}, recovers at {course.recover:g};",
        f"a packet every {course.every:g} until {course.until:g} (units of time).",
        "",
        HEAD,
        *(_row(asdict(run.measures)) for run in comparison.runs),
        "",
    ]
    for way, runs in _ways(comparison).items():
        who = "all" if len(runs) == len(comparison.runs) else ", ".join(runs)
        told += wrap(f"With the link down, {who}: {way}", WIDTH, break_on_hyphens=False)
    told.append("detected, again: after the failure; back, on the old path: after the recovery.")
    return told


def mean_lines(comparisons: Sequence[Comparison]) -> list[str]:
    """Means over several seeds."""
    rows = [_row(one, digits=2) for one in means(comparisons)]
    return [f"Means of {len(comparisons)} runs", HEAD, *rows]


def means(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Every scheme's figures, on average; None where it did not happen in some run."""
    rows = []
    for runs in zip(*(one.runs for one in comparisons), strict=True):
        figures = [asdict(run.measures) for run in runs]
        row: dict[str, Any] = {"scheme": figures[0]["scheme"]}
        for name in (*AVERAGED, "news_packets", "control_bits", "news_bits"):
            values = [one[name] for one in figures]
            row[name] = None if None in values else mean(values)
        rows.append(row)
    return rows


def _row(one: Mapping[str, Any], digits: int = 1) -> str:
    counts = _figure(one["lost"], 5) + _figure(one["duplicated"], 5)
    times = _figure(one["detected"], 10, digits)
    times += _figure(one["reconverged"], 8, digits) + _figure(one["back"], 8, digits)
    control = _figure(one["control_packets"], 9) + _figure(one["news_packets"], 12)
    return f"{one['scheme'][:17]:17}{counts}{times}{control}"


def _figure(number: float | None, width: int, digits: int | None = None) -> str:
    if number is None:
        return f"{'never':>{width}}"
    if digits is None:
        digits = 0 if float(number).is_integer() or width > 5 else 1
    return f"{number:>{width},.{digits}f}"


def _ways(comparison: Comparison) -> dict[str, list[str]]:
    """The paths round the link, and which schemes took them."""
    ways: dict[str, list[str]] = {}
    for run in comparison.runs:
        way = " > ".join(run.measures.path_during) or "nothing arrives"
        ways.setdefault(way, []).append(run.measures.scheme)
    return ways


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Pictures into a folder: latency.png (figures 6-15, 6-16) and loss.png (6-17)."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder: make it, or name another")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from matplotlib.figure import Figure

    made = []
    for name, paint in zip(PICTURES, (_draw_latency, _draw_loss), strict=True):
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        paint(figure, comparison)
        picture = BytesIO()
        figure.savefig(picture, dpi=120, format="png")
        made.append(folder / f"{name}.png")
        write_bytes(made[-1], picture.getvalue())
    return made


def _draw_latency(figure: Any, comparison: Comparison) -> None:
    """A panel per scheme, as figures 6-15 and 6-16: latency of packets by when they were sent."""
    figure.set_size_inches(8, 1.7 * len(comparison.runs) + 0.8)
    panels = figure.subplots(len(comparison.runs), sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, run in zip(panels, comparison.runs, strict=True):
        _draw_packets(axes, run)
        _draw_times(axes, run, comparison.course)
        axes.set_title(run.measures.scheme, loc="left", fontsize=10)
        axes.set_ylabel("latency")
    panels[0].set_ylim(0.1, 20)  # all share it
    panels[-1].set_xlabel("sent at; all in units of time; lost packets are red")


def _draw_packets(axes: Any, run: Trial) -> None:
    there = [one for one in run.fates if one.latency is not None]
    gone = [one.sent for one in run.fates if one.latency is None]
    axes.set_yscale("log")
    axes.plot([one.sent for one in there], [one.latency for one in there], ".", color=ARRIVED)
    if gone:  # nothing, drawn beyond the panel, would upset the layout
        floor = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot(gone, [0] * len(gone), "x", color=LOST, markersize=4, **floor)
    axes.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _draw_times(axes: Any, run: Trial, course: Course) -> None:
    """The thesis' t1 to t4, and the time to reconverge."""
    found, first = run.measures, next((one for one in run.fates if one.latency is not None), None)
    times = {
        "$t_1$": None if first is None else first.sent,
        "$t_2$": course.fail,
        "$t_3$": None if found.reconverged is None else course.fail + found.reconverged,
        "$t_4$": None if found.back is None else course.recover + found.back,
    }
    for name, time in times.items():
        if time is not None:
            axes.axvline(time, color=MARK, linewidth=0.8, linestyle=":")
            _write(axes, name, time, 0.92, left=name == "$t_2$")  # t3 may be close to it
    if found.reconverged is not None:
        again = course.fail + found.reconverged
        axes.plot(
            [course.fail, again], [0.82] * 2, color=MARK, transform=axes.get_xaxis_transform()
        )
        _write(axes, f"$\\Delta t$ = {found.reconverged:.1f}", again, 0.78, left=False)


def _write(axes: Any, text: str, time: float, height: float, *, left: bool) -> None:
    """Beside a line; at a share of the panel's height."""
    axes.annotate(
        text,
        (time, height),
        (-3 if left else 3, 0),
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        ha="right" if left else "left",
        fontsize=8,
    )


def _draw_loss(figure: Any, comparison: Comparison) -> None:
    axes = figure.add_subplot()
    names = [run.measures.scheme for run in comparison.runs]
    bars = axes.bar(names, [run.measures.lost for run in comparison.runs], 0.6, color=LOST)
    axes.bar_label(bars, padding=2)
    axes.set_ylabel("packets lost")
    sent = comparison.runs[0].measures.sent if comparison.runs else 0
    axes.set_title(f"Lost of {sent} while {comparison.link} failed and recovered")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
