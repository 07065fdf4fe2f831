"""What jobs of the pipeline did, in words, for a terminal 80 columns wide."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from ropewalk.findings import rules
from ropewalk.pipeline.audit.results import Result, sentence


def ingest_text(summary: dict[str, Any]) -> str:
    """What was taken in."""
    lines = [
        f"{summary['in']:,} rows of {summary['files']} files:"
        f" {summary['good']:,} stored, {summary['quarantined']:,} put aside"
        + (f"; {summary['passed_over']} files passed over" if summary["passed_over"] else "")
    ]
    lines += [f"  {count:,} x {reason}" for reason, count in summary["reasons"].items()]
    lines += [f"  {one['file']}:{one['line']}: {one['reason']}" for one in summary["put_aside"]]
    if summary["quarantined"] > len(summary["put_aside"]):
        lines.append("  all of them are in store/quarantine, with file, line and text")
    return "\n".join(lines)


def rates_text(summary: dict[str, Any]) -> str:
    """What was counted."""
    return (
        f"{summary['messages']:,} messages on {summary['topics']:,} topics;"
        f" {summary['chosen_windows']:,} of {summary['windows']:,} windows of"
        f" {summary['window_s']:g} s:\n  {summary['peak']},"
        f" {summary['mean_total_rate_msgs_s']:,.1f} messages/s on average\n"
        f"  covariance of {summary['covariance_topics']:,} topics; {summary['factors']} factors"
        f" leave {summary['factors_error']:.1%} of it"
    )


def calibrate_text(summary: dict[str, Any]) -> str:
    """What messages cost."""
    lines = [
        f"{summary['calibrated']} of {summary['brokers']} brokers calibrated"
        f" from {summary['windows']:,} windows ({summary['outliers']} outliers)",
        f"  {'broker':<16} {'receive':>9} {'filter':>9} {'send':>9}  us per message",
    ]
    for one in summary["results"]:
        costs = one["capacity"]
        if costs is None:
            lines.append(f"  {one['broker']:<16} {'; '.join(one['notes'])}")
        else:
            numbers = (costs["receive_us"], costs["filter_us"], costs["send_us"])
            cells = " ".join(f"{number:9.4g}" for number in numbers)
            lines.append(f"  {one['broker']:<16} {cells}")
    return "\n".join(lines)


def audit_text(summary: dict[str, Any], folder: Path) -> str:
    """What was found, by code, and what was put in if that is known."""
    known = rules()
    kinds = summary.get("kinds", {})
    lines = [f"{summary['violations']:,} violations in {summary['rows']:,} rows"]
    for code, count in summary["codes"].items():
        if count or code in kinds:
            line = f"  {code} {known[code].name:<20} {count:>9,}"
            if code in kinds:
                one = kinds[code]
                line += (
                    f"  ({one['injected']:,} put in, {one['missed']} missed,"
                    f" {one['spurious']} too many)"
                )
            lines.append(line)
    for one in summary["unchecked"]:
        where = f" on {one['topics']} topics" if one["topics"] > 1 else ""
        lines.append(
            f"  {one['code']} {known[one['code']].name}: not checked{where}: {one['reason']}"
        )
    lines += conversation_lines(summary["conversations"])
    if "missed" in summary:
        lines.append(
            f"against the ledger: {summary['missed']} missed, {summary['spurious']} too many,"
            f" of {summary['injected']:,} faults and bad rows"
        )
    if summary["violations"]:
        lines.append(f"`ropewalk trace show {folder} 1` shows the rows behind the first")
    return "\n".join(lines)


def conversation_lines(conversations: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """How the conversations of each protocol ended."""
    for protocol, counts in conversations.items():
        total = sum(counts.values())
        told = f"{counts['ended']:,} ended, {counts['open']:,} open, {counts['left']:,} left it"
        unknown = f", {counts['unknown']:,} cannot be told" if counts["unknown"] else ""
        yield f"  {protocol}: {total:,} conversations: {told}{unknown}"


def conform_text(summary: dict[str, Any], folder: Path) -> str:
    """How conversations ended, and where those are that left their protocol."""
    lines = [f"{summary['violations']:,} violations in {summary['events']:,} rows"]
    lines += conversation_lines(summary["conversations"])
    if not summary["conversations"]:
        lines.append("  no topic of the federation names a protocol, or nobody talked on it")
    return "\n".join([*lines, f"Wrote {folder}."])


def all_text(summary: dict[str, Any], folder: Path) -> str:
    """All jobs, one after the other."""
    parts = [ingest_text(summary["ingest"]), rates_text(summary["rates"])]
    if summary["calibrate"] is not None:
        parts.append(calibrate_text(summary["calibrate"]))
    return "\n".join([*parts, audit_text(summary["audit"], folder)])


def survive_text(summary: dict[str, Any]) -> str:
    """What became of path pairs in many disasters."""
    captured = summary["captured"]
    of_all = "" if captured is None else f", {captured:.1%} of what could be avoided is"
    return (
        f"{summary['regions']:,} regions of {summary['radius_km']:g} km over"
        f" {summary['pairs']:,} pairs of brokers:\n"
        f"  primaries alone are cut {summary['lost_before']:,} times,"
        f" pairs of paths {summary['lost_after']:,} times{of_all}"
    )


def stream_text(summary: dict[str, Any]) -> str:
    """What a stream did."""
    return (
        f"{summary['batches']} batches, {summary['rows']:,} rows"
        f" ({summary['quarantined']:,} put aside)\n"
        f"  violations: {summary['found']:,} found, {summary['withdrawn']:,} withdrawn,"
        f" {summary['violations']:,} now\n"
        f"  windows: {summary['closed']:,} closed, {summary['corrected']:,} corrected"
    )


def generate_text(summary: dict[str, Any]) -> str:
    """What was made."""
    faults = sum(summary.get("faults", {}).values())
    return (
        f"{summary['rows']:,} rows in {summary['files']} files, {summary['topics']:,} topics,"
        f" {summary['brokers']} brokers, {faults:,} faults\n"
        f"next: ropewalk pipeline all {quote(summary['folder'])}"
    )


def violations_view(result: Result, code: str | None, most: int) -> tuple[dict[str, Any], str]:
    """Violations, one line each."""
    rows = [
        {"number": number, **row}
        for number, row in enumerate(result.violations.to_pylist(), 1)
        if code in (None, row["code"])
    ]
    shown = [
        {key: row[key] for key in row if key != "evidence"} | {"text": sentence(row)}
        for row in rows[:most]
    ]
    lines = [f"{row['number']:>6} {row['code']} {row['text']}" for row in shown]
    lines.append(f"{len(shown):,} of {len(rows):,} violations")
    return {"violations": len(rows), "shown": shown}, "\n".join(lines)


def evidence_text(number: int, violation: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """A violation and the rows that prove it."""
    lines = [f"{number} {violation['code']}: {sentence(violation)}"]
    for row in rows:
        lines.append(f"  {row['file']}:{row['line']}")
        shown = {key: value for key, value in row.items() if key not in ("file", "line")}
        lines += _fields(shown)
    return "\n".join(lines)


def _fields(row: dict[str, Any]) -> list[str]:
    """Fields in lines that fit a terminal."""
    lines, line = [], "   "
    for key, value in row.items():
        part = f" {key}={value}"
        if len(line) + len(part) > 78 and line.strip():
            lines.append(line)
            line = "   "
        line += part
    return [*lines, line]
