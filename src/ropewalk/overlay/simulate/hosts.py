"""A broker's host in the simulated world: the agent's process, its clock, its disk, its clients."""

from collections import deque
from typing import Any

from ropewalk.overlay.events import Event
from ropewalk.overlay.simulate.cores import Core
from ropewalk.overlay.simulate.faults import MOST_PPM
from ropewalk.overlay.simulate.lanes import Lane
from ropewalk.overlay.simulate.plan import Publication, Wish


class Clock:
    """A clock that drifts and jumps; like a monotonic clock it never goes back."""

    __slots__ = ("_drift_ppm", "_from_us", "_local_us")

    def __init__(self) -> None:
        self._from_us = self._local_us = 0
        self._drift_ppm = 0

    def local(self, now_us: int) -> int:
        """What it shows at a true time."""
        gone = now_us - self._from_us
        return self._local_us + gone + gone * self._drift_ppm // MOST_PPM

    def true(self, local_us: int) -> int:
        """The first true time at which it shows at least that."""
        gone = local_us - self._local_us
        if gone <= 0:
            return self._from_us
        rate = MOST_PPM + self._drift_ppm
        return self._from_us + -(-gone * MOST_PPM // rate)

    def change(self, now_us: int, *, jump_us: int, drift_ppm: int) -> None:
        """From now on it is so much ahead of before and drifts so much faster."""
        self._local_us, self._from_us = self.local(now_us) + jump_us, now_us
        self._drift_ppm += drift_ppm


class Disk:
    """An agent's log: records are safe once a sync that began after they were written is done."""

    __slots__ = ("safe", "syncing", "waiting")

    def __init__(self) -> None:
        self.safe: list[Any] = []
        self.waiting: list[Any] = []
        self.syncing = 0
        """How many of the waiting records the sync that runs now covers."""

    def crash(self, *, disk: bool) -> None:
        """What was not synced is gone; without the disk everything is."""
        self.waiting.clear()
        self.syncing = 0
        if not disk:
            self.safe.clear()


class Host:
    """One broker with its agent and its clients."""

    __slots__ = (
        *("agent", "agent_away", "backlog", "broker_away", "busy_us", "clock", "disk", "due_us"),
        *("frozen", "inbox", "incarnation", "kept", "lanes", "life", "logged", "name", "number"),
        *("retired", "seen", "slow_us", "things", "wants", "waiting"),
    )

    def __init__(self, number: int, name: str) -> None:
        self.number, self.name = number, name
        self.lanes: dict[int, Lane] = {}
        """By link: the way out."""
        self.agent: Core | None = None
        self.incarnation = 0
        self.life = 0
        """Counts starts and crashes: what was begun in another life does not happen."""
        self.agent_away = self.broker_away = 0
        """How many faults keep them down."""
        self.frozen = 0
        """How many faults hold the process still for ever."""
        self.retired = False
        """It leaves the federation: its clients have gone."""
        self.busy_us = 0
        """Until then nothing is handled: what happens waits in the inbox."""
        self.slow_us = 0
        self.inbox: deque[Event] = deque()
        self.clock: Clock | None = None
        self.disk = Disk()
        self.logged = 0
        """Records of this incarnation that are safe."""
        self.due_us = -1
        """When its next `Due` is scheduled; -1 for not at all."""
        self.things: tuple[int, ...] = ()
        self.seen: set[tuple[Any, str]] = set()
        """What the broker has given its clients exactly once: it outlives the agent."""
        self.wants: dict[tuple[str, str], Wish] = {}
        self.waiting: dict[int, tuple[Publication, int]] = {}
        """By ticket: publications without an answer, and how often they were tried."""
        self.backlog: list[tuple[Publication, int]] = []
        """Publications that wait for the agent to come back."""
        self.kept: set[Any] = set()
        """What was in custody when it went away with its disk intact."""
