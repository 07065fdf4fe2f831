"""When to break what: `at 3 s blackhole a--b for 2 s` as calls of a lab's control."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from ropewalk.agent.lab.targets import HEAL
from ropewalk.errors import UsageError
from ropewalk.federation.facts import Federation
from ropewalk.overlay.simulate.fault_text import TIME, time_us

FaultCall = Callable[[str], Awaitable[None]]
"""Does to a lab what a text such as `blackhole a--b` or `heal a--b` says."""

_LINE = re.compile(rf"at (?P<at>{TIME}) (?P<what>\S+ .+?)(?: for (?P<for>{TIME}))?")
_LINK = re.compile(r"(\S+?)(?:--|->)(\S+)")


@dataclass(frozen=True, slots=True)
class Order:
    """Something to tell the lab, and when, in seconds after the start of the run."""

    at_s: float
    text: str


def orders_of(faults: Iterable[str], federation: Federation, seconds: float) -> tuple[Order, ...]:
    """Faults as orders in the order of time; one that ends is healed by an order of its own.

    Raises UsageError for a text that is no fault, a link that is not there, or a time that the run
    does not reach.
    """
    lines = [line.strip() for text in faults for line in text.split(";")]
    orders = [one for line in lines if line for one in _orders(line, federation, seconds)]
    return tuple(sorted(orders, key=lambda order: order.at_s))


def _orders(line: str, federation: Federation, seconds: float) -> list[Order]:
    found = _LINE.fullmatch(" ".join(line.split()))
    if found is None:
        raise UsageError(f"{line!r} is no fault: write it like `at 3 s blackhole a--b for 2 s`")
    at_s, what = time_us(found["at"]) / 1e6, found["what"]
    if at_s >= seconds:
        raise UsageError(f"{line!r}: the run ends after {seconds:g} s: raise --seconds")
    target = _target(what, line, federation)
    if found["for"] is None:
        return [Order(at_s, what)]
    return [Order(at_s, what), Order(at_s + time_us(found["for"]) / 1e6, f"{HEAL} {target}")]


def _target(what: str, line: str, federation: Federation) -> str:
    """What is broken: a link of the federation, or all that follows the verb."""
    link = _LINK.search(what)
    if link is None:
        return what.split(" ", 1)[1]
    if not any({*link.groups()} == {*one.between} for one in federation.links):
        raise UsageError(f"{line!r}: {federation.name} has no link {link[0]}")
    return link[0]


async def carry_out(
    orders: Iterable[Order], fault: FaultCall, start_s: float, done: list[Order]
) -> None:
    """Tell the lab each order when its time has come.

    `done` is what was: a fault from the time on at which the lab was told, a healing from the time
    on at which the lab was through with it (an agent that is started again takes a while).
    """
    loop = asyncio.get_running_loop()
    for order in orders:
        await asyncio.sleep(max(0.0, start_s + order.at_s - loop.time()))
        told_s = loop.time() - start_s
        await fault(order.text)
        healed = order.text.startswith(HEAL)
        done.append(Order(loop.time() - start_s if healed else told_s, order.text))
