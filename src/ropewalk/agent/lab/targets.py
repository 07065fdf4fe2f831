"""What a fault is and what it hits: checked before anything is broken."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from ropewalk.errors import UsageError
from ropewalk.federation.names import LINK_MARK, link_name

Kind = Literal["link", "broker", "agent"]
LINK_FAULTS = ("cut", "blackhole", "slow", "loss")
PROCESS_FAULTS = ("kill", "pause")
HEAL = "heal"
FAULTS = (*LINK_FAULTS, *PROCESS_FAULTS, HEAL)
ALL = "all"
AGENT_MARK = "agent:"
_SHOWN = 8
_VALUES = {"slow": "milliseconds, such as 50, or 50@200 for 200 kB/s as well", "loss": "percent"}


@dataclass(frozen=True, slots=True)
class Target:
    """A link, a broker or an agent."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{AGENT_MARK}{self.name}" if self.kind == "agent" else self.name


def target_of(text: str, *, brokers: Collection[str], links: Collection[str]) -> Target:
    """What a text stands for; UsageError that names what there is."""
    if text.startswith(AGENT_MARK):
        name = text.removeprefix(AGENT_MARK)
        if name not in brokers:
            raise UsageError(f"no agent is called {text!r}: there are {_listed(brokers, 'agent:')}")
        return Target("agent", name)
    if LINK_MARK in text:
        name = link_name(*text.split(LINK_MARK, 1))
        if name not in links:
            raise UsageError(f"no link is called {text!r}: there are {_listed(links)}")
        return Target("link", name)
    if text not in brokers:
        raise UsageError(f"no broker is called {text!r}: there are {_listed(brokers)}")
    return Target("broker", text)


def check_fault(what: str, target: Target) -> None:
    """Refuse a fault that the target cannot have."""
    if what not in FAULTS:
        raise UsageError(f"no fault is called {what!r}: there are {', '.join(FAULTS)}")
    fitting = LINK_FAULTS if target.kind == "link" else PROCESS_FAULTS
    if what not in (*fitting, HEAL):
        a = "an" if target.kind == "agent" else "a"
        raise UsageError(
            f"{target} is {a} {target.kind}, which cannot suffer {what}: try {' or '.join(fitting)}"
        )


def numbers_of(what: str, value: str | None) -> tuple[float, float]:
    """The numbers of a fault: milliseconds and kB/s of `slow`, percent and 0 of `loss`."""
    if what not in _VALUES:
        if value is not None:
            raise UsageError(f"{what} takes no value, and {value!r} was given")
        return 0.0, 0.0
    try:
        first, at, second = (value or "").partition("@" if what == "slow" else "\0")
        pair = float(first), float(second) if at else 0.0
    except ValueError:
        pair = -1.0, 0.0
    most = 100.0 if what == "loss" else 3_600_000.0
    if not (0 <= pair[0] <= most and 0 <= pair[1] < float("inf")) or pair == (0, 0):
        raise UsageError(f"{what} needs a value in {_VALUES[what]}; {value!r} is none")
    return pair


def _listed(names: Collection[str], mark: str = "") -> str:
    shown = ", ".join(f"{mark}{name}" for name in sorted(names)[:_SHOWN])
    more = len(names) - _SHOWN
    return (f"{shown} and {more} more" if more > 0 else shown) or "none"
