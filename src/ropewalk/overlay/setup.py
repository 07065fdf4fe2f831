"""All that an agent is given at its start."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ropewalk.overlay.chart import Chart
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.rules import Rules
from ropewalk.overlay.settings import Settings
from ropewalk.protocol.automaton import Automaton


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """All that an agent is given at its start."""

    me: int
    chart: Chart
    rules: Rules
    settings: Settings = field(default_factory=Settings)
    incarnation: int = 1
    """Greater than at any start before."""
    deliver_local: bool = True
    """Whether clients of this broker get each other's messages from the agent; brokers that hand
    them on by themselves need not."""
    alternates: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Second paths to some destinations, as links."""
    protocols: Mapping[str, Automaton] = field(default_factory=dict)
    """By the names that topics know them by."""
    items: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Topics that are moved together."""
    disconnects: bool = True
    """Whether the driver can have clients disconnected: without it, no item leaves this broker."""
    council: Pace | None = None
    """How patient its council is; None for an agent without one."""
    preference: tuple[int, ...] = ()
    """Who should be master, the strongest first."""
