"""A run from the first connection to the verdict."""

import asyncio
from dataclasses import replace
from itertools import combinations
from time import monotonic_ns, time, time_ns

from ropewalk.agent.drive.cast import Cast, cast_of
from ropewalk.agent.drive.plan import Disagreement, DrivePlan, DriveResult, Pair
from ropewalk.agent.drive.stage import Stage
from ropewalk.agent.drive.stalls import Stall, watch
from ropewalk.agent.drive.tally import Span, disagreement, judge
from ropewalk.agent.drive.timing import Order, carry_out, orders_of
from ropewalk.errors import RopewalkError


async def drive(plan: DrivePlan) -> DriveResult:
    """Publish and subscribe as a plan says, and check every number.

    Raises UsageError if a broker cannot be reached or a fault cannot be made.
    """
    cast = cast_of(plan.federation)
    if plan.bursts is not None:
        plan.bursts.check(one.topic for one in cast.streams)
    orders = orders_of(plan.faults, plan.federation, plan.seconds)
    async with Stage(plan, cast) as stage:
        silent = await stage.warm_up()
        if silent:
            return DriveResult(silent=silent)
        stalls: list[Stall] = []
        done: list[Order] = []
        start_ns, end_ns = await _measured(plan, stage, orders, done, stalls)
        await stage.drain()
    first_s = orders[0].at_s if orders else 0.0
    uneven = plan.bursts is not None
    span = Span(start_ns, end_ns, start_ns + round(first_s * 1e9), uneven=uneven)
    result = replace(_result(stage, span), done=tuple(done), stalls=tuple(stalls))
    if plan.bursts is None:
        return result
    return replace(result, steps=plan.steps, step_s=plan.bursts.step_s)


async def _measured(
    plan: DrivePlan,
    stage: Stage,
    orders: tuple[Order, ...],
    done: list[Order],
    stalls: list[Stall],
) -> tuple[int, int]:
    """Publish and break; when that began and ended."""
    loop = asyncio.get_running_loop()
    if plan.bursts is not None:
        await asyncio.sleep(plan.bursts.step_s - time() % plan.bursts.step_s)
    start_s, start_ns = loop.time(), monotonic_ns()
    try:
        async with asyncio.TaskGroup() as group:
            if plan.fault is not None:
                group.create_task(carry_out(orders, plan.fault, start_s, done))
            watching = group.create_task(watch(stalls, start_s))
            await stage.publish(start_s)
            end_ns = monotonic_ns()
            watching.cancel()
    except* RopewalkError as some:
        raise _first(some) from None
    return start_ns, end_ns


def _first(some: BaseExceptionGroup[RopewalkError]) -> RopewalkError:
    one = some.exceptions[0]
    return _first(one) if isinstance(one, BaseExceptionGroup) else one


def _result(stage: Stage, span: Span) -> DriveResult:
    pairs = tuple(
        Pair(
            stream,
            reader,
            judge(
                stage.feeds[stream.number].sent,
                stage.ears[reader.number].heard.of(stream.number),
                span,
            ),
        )
        for stream, reader in stage.cast.pairs
    )
    return DriveResult(
        pairs=pairs,
        began_ns=time_ns() - (monotonic_ns() - span.start_ns),
        disagreements=tuple(_disagreements(stage, stage.cast)),
        seconds=(span.until_ns - span.start_ns) / 1e9,
        sent=sum(len(feed.sent) for feed in stage.feeds.values()),
        skipped=stage.skipped,
        strange=stage.strange(),
        refused=stage.refused(),
    )


def _disagreements(stage: Stage, cast: Cast) -> list[Disagreement]:
    """Of each topic with a total order, subscribers that disagree about it."""
    found: list[Disagreement] = []
    total = {one.topic for one in cast.streams if one.contract.order == "total"}
    for topic in sorted(total):
        streams = [one.number for one in cast.streams if one.topic == topic]
        readers = {reader.number: reader for one, reader in cast.pairs if one.topic == topic}
        keys = {number: stage.ears[number].heard.keys(streams) for number in readers}
        for one, other in combinations(readers, 2):
            if (apart := disagreement(keys[one], keys[other])) is not None:
                found.append(Disagreement(topic, readers[one], readers[other], *apart))
    return found
