"""What brokers do on the last hop: S19 where clients may get a message twice, S22 priorities."""

from collections.abc import Iterator

from ropewalk.findings import Finding, Severity
from ropewalk.verify.contracts.makes import LAST_HOP
from ropewalk.verify.contracts.promised import Promised, Served, some

RANK: tuple[Severity, ...] = ("error", "warning", "note")


def doubles(promised: Promised) -> Iterator[Finding]:
    """S19: readers whose broker may give them a message again that they were promised once.

    Where consumers drop what they have had (`idempotent`) it does not matter.
    """
    for served in promised.by_links:
        contract = served.contract
        if contract.delivery in ("at-most-once", "exactly-once") and not contract.idempotent:
            reasons = sorted(_reasons(promised, served), key=lambda one: RANK.index(one[0]))
            if reasons:
                told = "; ".join(why for _, why in reasons)
                told = f"promises {contract.delivery}, but {told}: {_NEXT}"
                yield promised.finding("S19", served, told, reasons[0][0])


_NEXT = "if consumers drop what they have had, write idempotent: true, else promise at-least-once"


def _reasons(promised: Promised, served: Served) -> Iterator[tuple[Severity, str]]:
    """Only what an agent hands over: a broker's own clients get each other's messages from it."""
    readers = served.fetching
    by_make: dict[str, list[str]] = {}
    for reader in readers:
        by_make.setdefault(promised.make(reader), []).append(reader)
    for make, brokers in sorted(by_make.items()):
        hop = LAST_HOP[make]
        if served.contract.delivery == "at-most-once":
            if hop.gives_again:
                why = f"{make} at {some(brokers)} is given again what it had not confirmed"
                yield "warning", f"{why} when its connection broke"
        else:
            yield "note" if hop.drops_doubles else "error", f"at {some(brokers)} {hop.doubles}"
    if promised.survive.brokers and served.contract.delivery == "exactly-once":
        yield from _taken_over(promised, readers)


def _taken_over(promised: Promised, readers: list[str]) -> Iterator[tuple[Severity, str]]:
    """A broker that dies may have given out what its mirror gives again."""
    brokers = promised.federation.brokers
    moving = [one for one in readers if brokers[one].takeover.subscribers]
    if moving:
        first, others = moving[0], len(moving) - 1
        like = f" (and so of {others} more)" if others else ""
        taker = brokers[first].takeover.subscribers[0]
        yield "warning", f"what {first} gave out before it failed may come again at {taker}{like}"


def priorities(promised: Promised) -> Iterator[Finding]:
    """S22: priorities that nobody can give, or that the readers' brokers do not look at."""
    for served in promised.by_links:
        if served.contract.order == "priority":
            yield from _priority(promised, served)


def _priority(promised: Promised, served: Served) -> Iterator[Finding]:
    telling = [b for b in served.publishers if LAST_HOP[promised.make(b)].tells_priority]
    if not telling:
        told = (
            f"promises order by priority, and its publishers cannot give one: all its messages have"
            f" priority {served.contract.priority}, and go in the order of their publishers; write"
            " order: fifo, unless it is to pass other topics on its way"
        )
        yield promised.finding("S22", served, told, "note")
        return
    flat = [b for b in served.readers if not LAST_HOP[promised.make(b)].sorts]
    if flat:
        told = (
            f"promises order by priority, but at {some(flat)} what waits in the broker keeps its"
            " place, whatever comes behind it: read it at RabbitMQ, from a queue with"
            " x-max-priority, or write order: fifo"
        )
        yield promised.finding("S22", served, told, "warning", {"readers": flat[:20]})
