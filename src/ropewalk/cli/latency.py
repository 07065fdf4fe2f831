"""`ropewalk verify --latency`: which pairs are too slow for what their contracts promise."""

from dataclasses import dataclass, fields, replace
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ropewalk.errors import UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.federation import Federation
    from ropewalk.federation.facts import Histogram
    from ropewalk.routing import Table
    from ropewalk.verify.latency.load import Rate

CHECKED = "contract.within_ms"
"""What is no longer left unchecked."""

Asked = Annotated[
    bool,
    typer.Option("--latency", help="Also tell which pairs miss the time that they promise."),
]
Within = Annotated[
    float | None,
    typer.Option("--within-ms", help="With --latency: the time of topics that promise none."),
]
Probability = Annotated[
    float | None,
    typer.Option(help="With --within-ms: the part of messages in time. Default: 0.99."),
]
Slot = Annotated[
    float | None,
    typer.Option("--slot-ms", help="With --latency: how finely time is cut. Default: as needed."),
]
Again = Annotated[
    float | None,
    typer.Option("--retry-ms", help="With --latency: when a loss is sent again. Default: 100."),
]
Retries = Annotated[
    int | None,
    typer.Option(min=0, help="With --latency: how often at most. Default: while there is time."),
]
Stats = Annotated[
    Path | None,
    typer.Option(help="With --latency: rates of topics, as `place` takes them: load of brokers."),
]
Measured = Annotated[
    Path | None,
    typer.Option(help="With --latency: latencies.yaml of `pipeline latency`, or its folder."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The options as they were given."""

    latency: bool = False
    within_ms: float | None = None
    probability: float | None = None
    slot_ms: float | None = None
    retry_ms: float | None = None
    retries: int | None = None
    stats: Path | None = None
    latency_from: Path | None = None

    def refuse_odd(self, *, observed: bool) -> None:
        """Refuse what makes no sense; UsageError says what to write."""
        given = [one.name for one in fields(self) if getattr(self, one.name) not in (None, False)]
        if given and not self.latency:
            raise UsageError(f"{_option(given[0])} goes with --latency: add it")
        if self.latency and observed:
            raise UsageError("--observed tells what failed, nothing else: leave out --latency")
        for name in ("within_ms", "slot_ms", "retry_ms"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and 1e-3 <= value <= 1e9):
                raise UsageError(f"{_option(name)} {value:g}: write milliseconds, 0.001 to 1e9")
        if self.probability is not None and not 0 < self.probability <= 1:
            raise UsageError(f"--probability {self.probability:g}: write more than 0, at most 1")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def with_latency(
    done: Document,
    text: str,
    federation: "Federation",
    table: "Table | None",
    pairs: str | None,
    wishes: Wishes,
) -> tuple[Document, str]:
    """What was found, and which pairs miss the time that they promise."""
    from ropewalk.report.latency import latency_text
    from ropewalk.verify.latency import RETRY, latency

    start = perf_counter()
    described, rates = _busy(federation, wishes.stats)
    measured = _measured(federation, wishes.latency_from)
    again = RETRY.after_ns if wishes.retry_ms is None else round(wishes.retry_ms * 1e6)
    found = latency(
        described,
        pairs=pairs,  # type: ignore[arg-type]
        table=table,
        within_ms=wishes.within_ms,
        probability=wishes.probability,
        slot_ms=wishes.slot_ms,
        retry=replace(RETRY, after_ns=again, most=wishes.retries),
        rates=rates,
        measured=measured,
    )
    summary: dict[str, Any] = {**found.summary, "links_measured": len(measured)}
    findings = [*done.findings, *found.findings]
    summary["seconds"] = round(perf_counter() - start, 3)
    outcomes = {done.outcome, found.outcome}
    worst = next((one for one in ("findings", "undecided") if one in outcomes), "ok")
    document = replace(
        done,
        outcome=worst,  # type: ignore[arg-type]
        summary={**done.summary, "latency": summary},
        findings=findings,
    )
    return document, f"{text}\n{latency_text(summary)}"


def _busy(
    federation: "Federation", stats: Path | None
) -> tuple["Federation", dict[str, "Rate"] | None]:
    """The federation with calibrated capacities where it has none, and the rates of topics."""
    if stats is None:
        return federation, None
    from ropewalk.pipeline.calibrate.results import read_capacities
    from ropewalk.report.verbs.plans import existing, stats_of
    from ropewalk.verify.latency.load import Rate

    loaded = stats_of(stats)
    columns = zip(loaded.names, loaded.mean_msgs_s.tolist(), loaded.filters.tolist(), strict=True)
    rates = {name: Rate(mean, filters) for name, mean, filters in columns}
    beside = existing(stats.parent / "capacities.yaml") if stats.is_dir() else None
    if beside is not None:
        costs = read_capacities(beside)
        brokers = {
            name: replace(one, capacity=one.capacity or costs.get(name))
            for name, one in federation.brokers.items()
        }
        federation = replace(federation, brokers=brokers).written_in(federation.source)
    if not any(one.capacity for one in federation.brokers.values()):
        raise UsageError(
            f"{stats}: rates say nothing where no broker has a `capacity`: give them in the file,"
            " or run `ropewalk pipeline calibrate`"
        )
    return federation, rates


def _measured(federation: "Federation", path: Path | None) -> dict[str, "Histogram"]:
    if path is None:
        return {}
    from ropewalk.pipeline.latencies import FILE, read_latencies
    from ropewalk.routing.scenarios import link_names

    file = path / FILE if path.is_dir() else path
    known = set(link_names(federation))
    found = {name: one for name, one in read_latencies(file).items() if name in known}
    if not found:
        raise UsageError(f"{file}: none of its links is in {federation.name}")
    return found
