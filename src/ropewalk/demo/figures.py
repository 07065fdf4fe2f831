"""What the commands' JSON documents say, as the few figures that the demo is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Driven:
    """A run of clients, all pairs together."""

    sent: int
    acknowledged: int
    lost: int
    doubled: int
    disordered: int
    refused: int
    skipped: int
    slowest_ms: float
    """The longest that a message was on its way."""
    p50_ms: float
    stalls: int
    """How often the clients' own process stood still: the machine was busy."""
    silent: int
    """Pairs that never heard each other: then nothing was measured."""
    window_s: float
    peak: str
    """The run's windows, as `--peak` takes them."""


@dataclass(frozen=True, slots=True)
class Risk:
    """The risk that any broker is overloaded in a window, predicted and observed."""

    predicted: float
    over: int
    windows: int

    @property
    def observed(self) -> float:
        """Part of the windows in which a broker was above its limit."""
        return self.over / self.windows if self.windows else 0.0


@dataclass(frozen=True, slots=True)
class Audited:
    """What Spark has found in a trace."""

    messages: int
    """That agents had accepted."""
    lost: int
    violations: int


def driven(document: Json) -> Driven:
    """Of a `lab drive --bursts`."""
    told = document["summary"]
    pairs: Sequence[Json] = told["pairs"]
    windows = told["windows"] or {"window_s": 0.0, "peak": ""}

    def total(name: str) -> int:
        return sum(one[name] for one in pairs)

    return Driven(
        sent=total("sent"),
        acknowledged=total("acknowledged"),
        lost=total("lost"),
        doubled=total("doubled"),
        disordered=total("disordered"),
        refused=sum(told["refused"].values()),
        skipped=told["skipped"],
        slowest_ms=max((one["slowest_ms"] or 0.0 for one in pairs), default=0.0),
        p50_ms=_middle([one["p50_ms"] for one in pairs if one["p50_ms"] is not None]),
        stalls=len(told["stalls"]),
        silent=len(told["silent"]),
        window_s=windows["window_s"],
        peak=windows["peak"],
    )


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


def audited(document: Json) -> Audited:
    """Of a `pipeline all`."""
    told = document["summary"]
    codes = told["audit"]["codes"]
    return Audited(
        told["rates"]["messages"], codes.get("A001", 0), int(told["audit"]["violations"])
    )


def risk(plan: Json, replayed: Json) -> Risk:
    """Of a `place` and a `place replay`: today's if that was asked for, else the plan's."""
    told = replayed["summary"]
    when = "today" if told["placement"] == "today" else "after"
    nobody = float(plan["summary"]["outcome"]["nobody_overloaded"][when])
    seen = told["anywhere"]
    return Risk(1.0 - nobody, int(seen["happened"]), int(seen["windows"]))


def moved(document: Json) -> tuple[int, int]:
    """Of a `lab plan`: how many items have gone, and how many had to."""
    moves = document["summary"]["moves"]
    return sum(one["state"] == "done" for one in moves), len(moves)
