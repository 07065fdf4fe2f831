"""Faults as lines of text and back: one pattern and one phrase for each kind."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

from ropewalk.errors import UsageError
from ropewalk.federation.names import is_name
from ropewalk.overlay.simulate.faults import MOST_PPM, Curve, Fault, Kind, Tail

UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000}
NUMBER = r"\d+(?:\.\d+)?"
TIME = rf"{NUMBER} ?(?:us|ms|s|min)"
SHARE = rf"(?P<share>{NUMBER}) ?%"
LINK = r"(?P<link>\S+(?:--|->)\S+)"
BROKER = r"(?P<broker>\S+)"
DISK = r"(?P<disk> without disk)?"
TAIL = (
    rf"(?: \+ (?P<curve>exponential|lognormal|pareto) (?P<scale>{TIME})(?: (?P<shape>{NUMBER}))?)?"
)

EXAMPLES: dict[Kind, str] = {
    "cut": "at 500 ms cut a--b for 800 ms",
    "blackhole": "at 1 s blackhole a->b for 2 s",
    "hold": "at 1 s hold a--b for 2 s",
    "flap": "at 1 s flap a--b every 300 ms for 3 s",
    "lose": "at 200 ms lose 5 % on a--b for 3 s",
    "duplicate": "at 1 s duplicate 10 % on a--b for 3 s",
    "reorder": "at 1 s reorder 10 % on a--b by 20 ms for 3 s",
    "delay": "at 1 s delay a--b by 20 ms + pareto 5 ms 1.5 for 3 s",
    "partition": "at 1 s partition a, b silently for 2 s",
    "crash": "at 1 s crash a without disk for 2 s",
    "crash-agent": "at 1 s crash agent of a without disk for 2 s",
    "stall": "at 1 s stall a for 120 ms",
    "slow": "at 1 s slow a by 500 us for 2 s",
    "skew": "at 1 s skew a by 250 ms drift 200 ppm for 2 s",
}
"""One line of each kind, for messages and the documentation."""

PATTERNS: dict[Kind, str] = {
    "cut": rf"cut {LINK}",
    "blackhole": rf"blackhole {LINK}",
    "hold": rf"hold {LINK}",
    "flap": rf"flap {LINK} every (?P<by>{TIME})",
    "lose": rf"lose {SHARE} on {LINK}",
    "duplicate": rf"duplicate {SHARE} on {LINK}",
    "reorder": rf"reorder {SHARE} on {LINK} by (?P<by>{TIME})",
    "delay": rf"delay {LINK} by (?P<by>{TIME}){TAIL}",
    "partition": r"partition (?P<brokers>\S+(?:, ?\S+)*?)(?P<silent> silently)?",
    "crash-agent": rf"crash agent of {BROKER}{DISK}",
    "crash": rf"crash {BROKER}{DISK}",
    "stall": rf"stall {BROKER}",
    "slow": rf"slow {BROKER} by (?P<by>{TIME})",
    "skew": rf"skew {BROKER} by (?P<by>{TIME})(?: drift (?P<ppm>\d+) ppm)?",
}
COMPILED = {
    kind: re.compile(rf"at (?P<at>{TIME}) {pattern}(?: for (?P<for>{TIME}))?")
    for kind, pattern in PATTERNS.items()
}
BOTH_WAYS: tuple[Kind, ...] = ("cut", "flap")
"""A connection is closed for both ends."""


def fault_of(line: str) -> Fault:
    """The fault that a line tells of; UsageError with an example of its kind."""
    text = " ".join(line.split())
    for kind, pattern in COMPILED.items():
        if (found := pattern.fullmatch(text)) is not None:
            return _checked(_made(kind, found.groupdict(), line), line)
    words = text.split()
    near = [example for example in EXAMPLES.values() if set(example.split()[3:4]) & set(words)]
    known = "; ".join(near or [EXAMPLES["cut"], EXAMPLES["crash"], EXAMPLES["lose"]])
    kinds = ", ".join(sorted({one.split()[3] for one in EXAMPLES.values()}))
    raise UsageError(f"{line!r} is no fault: write it like `{known}`; kinds: {kinds}")


def _made(kind: Kind, told: dict[str, Any], line: str) -> Fault:
    tail = None
    if told.get("curve"):
        shape = _ppm(told["shape"] or "1", line)
        tail = Tail(cast("Curve", told["curve"]), time_us(told["scale"]), shape)
    hundredfold = _ppm(told.get("share") or "0", line)
    if hundredfold % 100:
        raise UsageError(f"{line!r}: write at most four digits after the point of a share")
    share = int(told["ppm"] or 0) if "ppm" in told else hundredfold // 100
    return Fault(
        kind=kind,
        at_us=time_us(told["at"]),
        for_us=time_us(told["for"]) if told["for"] else None,
        where=_where(told),
        one_way="->" in (told.get("link") or ""),
        share_ppm=share,
        by_us=time_us(told["by"]) if told.get("by") else 0,
        tail=tail,
        disk=not told.get("disk"),
        silent=bool(told.get("silent")),
    )


def _where(told: dict[str, Any]) -> tuple[str, ...]:
    if told.get("link"):
        return tuple(re.split(r"--|->", told["link"], maxsplit=1))
    if told.get("brokers"):
        return tuple(one.strip() for one in told["brokers"].split(","))
    return (told["broker"],)


def _checked(fault: Fault, line: str) -> Fault:
    for name in fault.where:
        if not is_name(name):
            raise UsageError(f"{line!r}: {name!r} is no broker's name: write links as a--b or a->b")
    if fault.one_way and fault.kind in BOTH_WAYS:
        raise UsageError(f"{line!r}: a connection closes for both ends: write a--b, or blackhole")
    if fault.kind in ("lose", "duplicate", "reorder") and not 0 < fault.share_ppm <= MOST_PPM:
        raise UsageError(f"{line!r}: write a share above 0 % and up to 100 %")
    if fault.kind == "flap" and not fault.by_us:
        raise UsageError(f"{line!r}: write how long each spell lasts, such as every 300 ms")
    return fault


def time_us(text: str) -> int:
    """Whole microseconds from a text such as `1.5 ms`; UsageError for anything else.

    >>> time_us("0.2 s"), time_us("3 ms")
    (200000, 3000)
    """
    found = re.fullmatch(rf"({NUMBER}) ?(us|ms|s|min)", text.strip())
    if found is None:
        raise UsageError(f"{text!r} is no time: write it like 500 ms or 2 s")
    return round(Decimal(found[1]) * UNITS[found[2]])


def time_text(time_us: int) -> str:
    """A time in the largest unit that needs no fraction.

    >>> time_text(1_500_000), time_text(2_000_000)
    ('1500 ms', '2 s')
    """
    unit = next(unit for unit in ("s", "ms", "us") if not time_us % UNITS[unit])
    return f"{time_us // UNITS[unit]} {unit}"


def _ppm(text: str, line: str) -> int:
    """Millionths of a decimal number, exactly."""
    exact = Decimal(text) * MOST_PPM
    if exact != int(exact):
        raise UsageError(f"{line!r}: {text} has more than six digits after the point: round it")
    return int(exact)


def _decimal(ppm: int, unit: int) -> str:
    return f"{Decimal(ppm) / unit:f}"


def text_of(fault: Fault) -> str:
    """The line of a fault."""
    until = "" if fault.for_us is None else f" for {time_text(fault.for_us)}"
    return f"at {time_text(fault.at_us)} {PHRASES[fault.kind](fault)}{until}"


def _link(fault: Fault) -> str:
    return ("->" if fault.one_way else "--").join(fault.where)


def _share(fault: Fault) -> str:
    return f"{_decimal(fault.share_ppm, 10_000)} %"


def _tail(tail: Tail | None) -> str:
    if tail is None:
        return ""
    shape = "" if tail.shape_ppm == MOST_PPM else f" {_decimal(tail.shape_ppm, MOST_PPM)}"
    return f" + {tail.curve} {time_text(tail.scale_us)}{shape}"


def _disk(fault: Fault) -> str:
    return "" if fault.disk else " without disk"


def _drift(fault: Fault) -> str:
    return f" drift {fault.share_ppm} ppm" if fault.share_ppm else ""


PHRASES: dict[Kind, Callable[[Fault], str]] = {
    "cut": lambda f: f"cut {_link(f)}",
    "blackhole": lambda f: f"blackhole {_link(f)}",
    "hold": lambda f: f"hold {_link(f)}",
    "flap": lambda f: f"flap {_link(f)} every {time_text(f.by_us)}",
    "lose": lambda f: f"lose {_share(f)} on {_link(f)}",
    "duplicate": lambda f: f"duplicate {_share(f)} on {_link(f)}",
    "reorder": lambda f: f"reorder {_share(f)} on {_link(f)} by {time_text(f.by_us)}",
    "delay": lambda f: f"delay {_link(f)} by {time_text(f.by_us)}{_tail(f.tail)}",
    "partition": lambda f: f"partition {', '.join(f.where)}{' silently' if f.silent else ''}",
    "crash": lambda f: f"crash {f.where[0]}{_disk(f)}",
    "crash-agent": lambda f: f"crash agent of {f.where[0]}{_disk(f)}",
    "stall": lambda f: f"stall {f.where[0]}",
    "slow": lambda f: f"slow {f.where[0]} by {time_text(f.by_us)}",
    "skew": lambda f: f"skew {f.where[0]} by {time_text(f.by_us)}{_drift(f)}",
}
