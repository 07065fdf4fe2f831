"""Driven runs for a terminal 80 columns wide, and as a JSON summary."""

from typing import Any

from ropewalk.agent.drive.plan import DriveResult, Pair

NAME = 24
COLUMNS = (
    ("sent", 8),
    ("acked", 8),
    ("came", 8),
    ("lost", 6),
    ("again", 6),
    ("gap ms", 7),
    ("p50", 6),
    ("p99", 7),
)


def summary_of(result: DriveResult) -> dict[str, Any]:
    """The run as data."""
    return {
        "seconds": round(result.seconds, 3),
        "sent": result.sent,
        "rate_msgs_s": round(result.rate_msgs_s, 1),
        "began_ns": result.began_ns,
        "windows": windows_of(result),
        "faults": [{"at_s": round(one.at_s, 3), "what": one.text} for one in result.done],
        "skipped": result.skipped,
        "strange": result.strange,
        "refused": result.refused,
        "stalls": [{"at_s": at_s, "ms": ms} for at_s, ms in result.stalls],
        "silent": [
            {"topic": stream.topic, "publisher": str(stream), "subscriber": str(reader)}
            for stream, reader in result.silent
        ],
        "pairs": [pair.as_dict() for pair in result.pairs],
    }


def windows_of(result: DriveResult) -> dict[str, Any] | None:
    """The windows of the bursts' steps, as `ropewalk pipeline` has to be told; None without."""
    if not result.steps:
        return None
    first = round(result.began_ns / 1e9 / result.step_s) * result.step_s
    last = first + result.steps * result.step_s
    return {"window_s": result.step_s, "peak": f"between:{first:.3f}..{last:.3f}"}


def driving_text(result: DriveResult) -> str:
    """One line per publisher and subscriber, under the topic's name."""
    if result.silent:
        return "Nothing was measured: are the lab and its agents up?"
    lines = ["".join([f"{'ms: p50, p99':{NAME}}", *(f"{n:>{w}}" for n, w in COLUMNS)])]
    topic = ""
    for pair in result.pairs:
        if pair.stream.topic != topic:
            topic = pair.stream.topic
            lines.append(_short(topic, 80))
        lines.append(_line(pair))
    return "\n".join([*lines, *_notes(result)])


def _line(pair: Pair) -> str:
    one = pair.figures
    cells = (
        str(one.sent),
        str(one.acknowledged),
        str(one.received),
        str(one.lost),
        str(one.doubled),
        f"{one.longest_gap_ms:.0f}",
        _ms(one.p50_ms),
        _ms(one.p99_ms),
    )
    name = _short(f"  {pair.stream} -> {pair.reader}", NAME)
    widths = (width for _, width in COLUMNS)
    return f"{name:{NAME}}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def _short(text: str, width: int) -> str:
    """A text that fits: its middle goes first."""
    if len(text) <= width:
        return text
    half = (width - 2) // 2
    return f"{text[:half]}..{text[-(width - 2 - half) :]}"


def _notes(result: DriveResult) -> list[str]:
    pairs = result.pairs
    unsure = sum(pair.figures.uncertain_lost for pair in pairs)
    late = sum(pair.figures.disordered for pair in pairs)
    rate = f"{result.rate_msgs_s:,.0f} messages/s over {result.seconds:.1f} s"
    notes = [
        (unsure, "were never acknowledged and never came: nobody had promised them"),
        (late, "came after newer ones of the same publisher"),
        (result.skipped, "were left out: this machine or the window was too slow for them"),
        (result.strange, "came that were not of this run, or were changed on the way"),
    ]
    windows = windows_of(result)
    if windows is not None:
        options = f"--window-s {windows['window_s']:g} --peak {windows['peak']}"
        rate += f".\nEach step of the bursts is a window of ropewalk pipeline all\n  {options}"
    refused = [f"{count:,} were refused: {why}" for why, count in result.refused.items()]
    return [f"Sent {rate}.", *(f"{count:,} {told}." for count, told in notes if count), *refused]
