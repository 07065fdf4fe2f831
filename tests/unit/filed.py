"""Documents as verbs print them, and what a page may not have, for tests of the report."""

from dataclasses import asdict
from html.parser import HTMLParser
from typing import Any

from ropewalk.pipeline.shares import Share

SCRIPT = "<script>alert(1)</script>"


def document(command: str, ok: bool, summary: dict[str, Any], *findings: Any) -> dict[str, Any]:
    return {"command": command, "ok": ok, "summary": summary, "findings": list(findings)}


def finding(code: str, message: str, **witness: Any) -> dict[str, Any]:
    where = {"file": "fed.yaml", "line": 3}
    return {
        "code": code,
        "severity": "error",
        "message": message,
        "where": where,
        "witness": witness or None,
    }


def drive(lost: int = 0, doubled: int = 0) -> dict[str, Any]:
    pair = {
        "topic": "prices/equity",
        "publisher": {"broker": "lon-1", "client": "feed-7"},
        "subscriber": {"broker": "par-1", "client": "desk-9"},
        "sent": 4321,
        "acknowledged": 4321,
        "resent": 0,
        "received": 4321 - lost,
        "lost": lost,
        "lost_numbers": [],
        "uncertain": 0,
        "uncertain_lost": 0,
        "doubled": doubled,
        "disordered": 0,
        "longest_gap_ms": 187.25,
        "gap_at_s": 3.01,
        "quiet_p999_ms": 12.1,
        "quiet_longest_ms": 15.6,
        "outages": [[3.01, 187.25]],
        "p50_ms": 2.5,
        "p99_ms": 63.2,
        "p999_ms": 72.7,
        "slowest_ms": 190.5,
    }
    summary = {
        "seconds": 10.0,
        "sent": 4321,
        "rate_msgs_s": 432.1,
        "skipped": 0,
        "strange": 0,
        "refused": {},
        "stalls": [],
        "silent": [],
        "pairs": [pair],
        "faults": [{"at_s": 3.0, "what": "blackhole lon-1--par-1"}],
    }
    found = [finding("D001", f"{lost} of 4321 acknowledged messages never came")] if lost else []
    return document("lab drive", not lost, summary, *found)


def audit(violations: int = 0) -> dict[str, Any]:
    codes = {f"A{number:03}": 0 for number in range(1, 14)} | {"A001": violations}
    return {
        "rows": 5678,
        "events": 5600,
        "violations": violations,
        "codes": codes,
        "unchecked": [{"code": "A007", "reason": "no `rank`", "topics": 2}],
        "conversations": {"orders": {"ended": 5, "open": 1, "left": 0, "unknown": 3}},
    }


def pipeline(violations: int = 0) -> dict[str, Any]:
    one = finding("A001", "message 27 of feed-7 on prices never reached desk-9")
    ingest = {
        "files": 2,
        "passed_over": 0,
        "in": 6001,
        "good": 6000,
        "quarantined": 1,
        "reasons": {"no li": 1},
        "put_aside": [],
        "buckets": 8,
        "seconds": 1.0,
        "stored": {"events": 5600, "control": 78, "samples": 322, "quarantine": 1},
    }
    rates = {
        "messages": 2468,
        "topics": 12,
        "window_s": 1.0,
        "chosen_windows": 60,
        "mean_total_rate_msgs_s": 41.13,
        "peak": "all windows",
    }
    capacity = {"receive_us": 48.81, "filter_us": 0.162, "send_us": 16.4}
    results = [
        {"broker": "lon-1", "capacity": capacity, "notes": []},
        {"broker": "par-1", "capacity": None, "notes": ["too few windows"]},
    ]
    calibrate = {"brokers": 2, "calibrated": 1, "results": results}
    summary = {"ingest": ingest, "rates": rates, "calibrate": calibrate, "audit": audit(violations)}
    return document("pipeline all", not violations, summary, *([one] if violations else []))


def replay(predicted: float, observed: float, *, placement: str = "plan") -> dict[str, Any]:
    low, high = observed / 2, min(2 * observed, 1.0)
    inside = low <= predicted <= high
    row = {
        "broker": "lon-1",
        "predicted": predicted,
        "normal": predicted,
        "lognormal": predicted,
        "observed": observed,
        "low": low,
        "high": high,
        "windows": 600,
        "over": int(600 * observed),
        "confirmed": inside,
        "text": "lon-1: told",
    }
    summary = {
        "model": "normal",
        "level": 0.95,
        "window_s": 1.0,
        "peak": "all windows",
        "windows": 600,
        "messages": 9753,
        "confirmed": int(inside),
        "brokers": [row],
        "placement": placement,
        "counted": "delivered",
        "anywhere": asdict(Share(600, 74, 0.1, 0.15, 600.0, 0.95)),
    }
    return document(
        "place replay", inside, summary, *([] if inside else [finding("L002", "lon-1: told")])
    )


class Page(HTMLParser):
    """What a page would run or ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.runs: list[str] = []
        self.asks: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object", "embed", "base", "form"):
            self.runs.append(tag)
        for name, value in attrs:
            if name.startswith("on") or (value or "").strip().startswith("javascript:"):
                self.runs.append(f"{tag} {name}")
            asks = name in ("src", "href", "srcset", "data", "xlink:href", "action")
            if asks and not (value or "").startswith("#"):
                self.asks.append(f"{tag} {name}={value}")

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.get_starttag_text() == "<style>" and ("url(" in data or "@import" in data):
            self.asks.append("style")

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())
