"""One fault while numbers are published: how long nothing came, what is missing, what came twice.

Publishing goes on until messages come in step again, at least for a while after the fault. Then all
is healed, so that what was only held back still comes: what has not come then is lost.
"""

import asyncio
from dataclasses import dataclass
from time import monotonic_ns

from contenders.rig import Contender
from ropewalk.agent.drive.cast import cast_of
from ropewalk.agent.drive.ears import Ear
from ropewalk.agent.drive.feeds import Feed
from ropewalk.agent.drive.pace import Schedule
from ropewalk.agent.drive.plan import DrivePlan
from ropewalk.agent.drive.stage import Stage
from ropewalk.agent.drive.tally import Arrivals, Figures, Span, judge, longest_gap
from ropewalk.errors import LabError

LOOK_S = 0.1
PAUSE_S = 0.5
"""Nothing for so long is a pause; a message that takes so long is late."""

HEALED_S = 2.0
"""So long what was held back has to begin to come, where no acknowledgement tells of it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is broken; after `for_s`, if it is not 0, it is healed again while numbers go on."""

    what: str
    target: str
    for_s: float = 0.0


FAULTS = {
    "kill -9 the transit broker": Fault("kill", "b"),
    "blackhole the source's link": Fault("blackhole", "a--b"),
    "blackhole a link further on": Fault("blackhole", "b--d"),
    "cut the source's link for 1 s": Fault("cut", "a--b", 1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds of a trial."""

    before_s: float = 2.0
    least_s: float = 4.0
    """Published at least so long after the fault."""
    steady_s: float = 2.0
    """In step for so long: it has recovered."""
    most_s: float = 12.0
    """Not in step so long after the fault: it never recovers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a trial has shown."""

    outage_ms: float
    """The longest time without a new message after the fault; of one that never recovers, until
    publishing ended."""
    began_ms: float
    """When that time began, after the fault: what begins much later has another cause."""
    recovered: bool
    quiet_ms: float
    """The longest time without a new message before the fault: the noise of this machine."""
    sent: int
    undelivered: int
    """Missing when publishing had ended, before anything was healed."""
    lost: int
    """Missing after all was healed."""
    duplicated: int
    skipped: int
    """Publications that this machine was too slow for."""


async def trial(contender: Contender, fault: Fault, times: Times) -> Outcome:
    """Put a contender that runs through a fault; LabError if nothing comes before it."""
    plan = DrivePlan(
        federation=contender.federation,
        rate_msgs_s=contender.rate_msgs_s,
        mode=contender.mode,
        settle_s=15.0,
    )
    async with Stage(plan, cast_of(plan.federation)) as stage:
        if await stage.warm_up():
            raise LabError("nothing of what is published at a comes to d")
        return await _Trial(contender, stage, fault, times).run()


class _Trial:
    def __init__(self, contender: Contender, stage: Stage, fault: Fault, times: Times) -> None:
        self._contender, self._fault, self._times = contender, fault, times
        self._stage = stage
        self._feed: Feed = stage.feeds[0]
        self._ear: Ear = stage.ears[0]
        self._over = asyncio.Event()

    async def run(self) -> Outcome:
        times = self._times
        schedule = Schedule(
            rate_msgs_s=self._contender.rate_msgs_s,
            seconds=times.before_s + times.most_s + 1.0,
            start_s=asyncio.get_running_loop().time(),
        )
        start_ns = monotonic_ns()
        publishing = asyncio.create_task(self._publish(schedule))
        try:
            await asyncio.sleep(times.before_s)
            await self._contender.check()
            broken_ns = monotonic_ns()
            recovered = await self._suffer(broken_ns)
        finally:
            self._over.set()
            await publishing
        span = Span(start_ns, monotonic_ns(), broken_ns)
        return await self._outcome(span, recovered, schedule.skipped)

    async def _publish(self, schedule: Schedule) -> None:
        loop = asyncio.get_running_loop()
        while not self._over.is_set() and not schedule.over(now_s := loop.time()):
            if (count := schedule.due(now_s, len(self._feed.sent), self._feed.room)) > 0:
                await self._feed.send(count)
            await asyncio.sleep(schedule.next_s(now_s) - loop.time())

    async def _suffer(self, broken_ns: int) -> bool:
        """Break something and wait until messages are in step again; whether they ever are."""
        fault, times = self._fault, self._times
        async with asyncio.TaskGroup() as group:
            group.create_task(self._break(fault))
            while (since_s := (monotonic_ns() - broken_ns) / 1e9) < times.most_s:
                await asyncio.sleep(LOOK_S)
                if since_s > times.least_s and in_step(self._ear.heard.of(0), times.steady_s):
                    return True
        return flowing(self._ear.heard.of(0), 1.0)  # if not yet in step

    async def _break(self, fault: Fault) -> None:
        await self._contender.fault(fault.what, fault.target)
        if fault.for_s:
            await asyncio.sleep(fault.for_s)
            await self._contender.fault("heal", fault.target)

    async def _outcome(self, span: Span, recovered: bool, skipped: int) -> Outcome:
        if recovered:
            await self._stage.drain()
        held = self._judged(span)
        await self._contender.fault("heal", self._fault.target)
        await asyncio.sleep(HEALED_S)
        await self._stage.drain()
        after = self._judged(span)
        return Outcome(
            outage_ms=held.longest_gap_ms,
            began_ms=round(held.gap_at_s * 1000 - (span.after_ns - span.start_ns) / 1e6, 1),
            recovered=recovered,
            quiet_ms=self._quiet_ms(span),
            sent=after.sent,
            undelivered=_missing(held),
            lost=_missing(after),
            duplicated=after.doubled,
            skipped=skipped,
        )

    def _quiet_ms(self, span: Span) -> float:
        came_ns = self._ear.heard.of(0).firsts().came_ns
        before = Span(span.start_ns, span.after_ns)
        return round(longest_gap(came_ns[came_ns < span.after_ns], before)[0] / 1e6, 3)

    def _judged(self, span: Span) -> Figures:
        return judge(self._feed.sent, self._ear.heard.of(0), span)


def _missing(figures: Figures) -> int:
    """Of what was acknowledged; of everything, where nothing ever is."""
    return figures.lost if figures.acknowledged else figures.uncertain_lost


def in_step(heard: Arrivals, seconds: float) -> bool:
    """Whether for so long messages have come without a pause, and none of them late."""
    recent = heard.came_ns > monotonic_ns() - seconds * 1e9
    late_ns = (heard.came_ns - heard.sent_ns)[recent]
    return flowing(heard, seconds) and bool(late_ns.max() < PAUSE_S * 1e9)


def flowing(heard: Arrivals, seconds: float) -> bool:
    """Whether for so long messages have come without a pause, however late."""
    now_ns = monotonic_ns()
    span = Span(now_ns - round(seconds * 1e9), now_ns)
    recent = heard.came_ns[heard.came_ns > span.start_ns]
    return longest_gap(recent, span)[0] < PAUSE_S * 1e9
